"""Digital filters and correlations, which SciPy and NumPy compute in calls, made of equations.

A recursive filter is one pass over time, in SciPy's direct form: it carries one number less than
it has coefficients. A correlation with a small window is a sum of shifted products, as with NumPy;
one with few places a sum for each; any other a pass over the window.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, Final

import numpy as np

from adjoint.base.arrays import array_type
from adjoint.loops import SCAN
from adjoint.primitives.elementwise.conversion import cast
from adjoint.primitives.expression import Expression, bind
from adjoint.primitives.structure.gathering import GATHER, IOTA
from adjoint.primitives.structure.moving import (
    broadcast_to,
    insert_axes,
    permute,
    reshape,
    sum_axes,
    zeros,
)
from adjoint.primitives.structure.slicing import concatenate, stack, take
from adjoint.program import Builder

_WRITTEN_OUT: Final = 32  # terms, or places, that are written one by one


def filtered(a: Any, u: Any) -> Any:
    """The y with sum_k a_k y_{n-k} = u_n along the last axis.

    A first coefficient of zero is a division by zero, and so SciPy's to answer.
    """
    a, u = _alike(a, u)
    shape, length = u.shape, u.shape[-1]
    order, rows = a.shape[0] - 1, prod(shape[:-1])
    first = take(a, (0,))
    gain: Any = 1.0 / first
    if not order:
        return u * broadcast_to(gain, shape)
    later: Any = take(a, ((1, order + 1, 1),)) / broadcast_to(first, (order,))
    signal = permute(reshape(u, (rows, length)), (1, 0))
    types = [array_type(x, u.dtype) for x in ((order,), (), (order, rows), (rows,))]
    builder = Builder()
    inputs = [Expression(builder, builder.input(type_)) for type_ in types]
    body = builder.build([x.atom for x in _step(*inputs)])
    start = zeros(u.builder, types[2])
    result = _passed((later, gain), (start,), (signal,), body)[-1]
    return reshape(permute(result, (1, 0)), shape)


def _step(later: Any, gain: Any, held: Any, row: Any) -> tuple[Any, Any]:
    """What is held is what earlier results give to the next, the one after that, and so on."""
    order, rows = held.shape
    result = take(held, (0, (0, rows, 1))) + broadcast_to(gain, (rows,)) * row
    moved = zeros(held.builder, array_type((1, rows), held.dtype))
    if order > 1:
        moved = concatenate([take(held, ((1, order, 1), (0, rows, 1))), moved], 0)
    columns = broadcast_to(reshape(later, (order, 1)), (order, rows))
    return moved - broadcast_to(reshape(result, (1, rows)), (order, rows)) * columns, result


def correlated(x: Any, w: Any) -> Any:
    """The sums of x_{i+k} w_k, where the window w lies inside of x."""
    x, w = _alike(x, w)
    shape = tuple(n - k + 1 for n, k in zip(x.shape, w.shape, strict=True))
    if prod(w.shape) <= min(_WRITTEN_OUT, prod(shape)):
        return _over_window(x, w, shape)
    if prod(shape) <= _WRITTEN_OUT:
        axes = tuple(range(x.ndim))
        sums = [sum_axes(_part(x, place, w.shape) * w, axes) for place in np.ndindex(*shape)]
        return reshape(stack(sums, 0), shape)
    return _pass_over_window(x, w, shape)


def _over_window(x: Any, w: Any, shape: tuple[int, ...]) -> Any:
    total: Any = None
    for place in np.ndindex(*w.shape):
        term = _part(x, place, shape) * broadcast_to(take(w, place), shape)
        total = term if total is None else total + term
    return total


def _pass_over_window(x: Any, w: Any, shape: tuple[int, ...]) -> Any:
    """One round for each number of the window, which says how far to look."""
    whole = np.dtype(np.intp)
    types = [x.type, array_type(shape, x.dtype), *[array_type((), whole)] * x.ndim]
    builder = Builder()
    inputs = [Expression(builder, builder.input(t)) for t in (*types, array_type((), x.dtype))]
    values, total, *shift, weight = inputs
    places = [
        broadcast_to(insert_axes(_numbers(builder, n), 1, len(shape) - axis), shape)
        + broadcast_to(shift[axis], shape)
        for axis, n in enumerate(shape)
    ]
    term: Any = bind(GATHER, values, *places) * broadcast_to(weight, shape)
    body = builder.build([(total + term).atom])
    shifts = [
        reshape(
            broadcast_to(insert_axes(_numbers(x.builder, n), 1, w.ndim - axis), w.shape),
            (prod(w.shape),),
        )
        for axis, n in enumerate(w.shape)
    ]
    start = zeros(x.builder, types[1])
    return _passed((x,), (start,), (*shifts, reshape(w, (prod(w.shape),))), body)[0]


def _numbers(builder: Builder, length: int) -> Any:
    return bind(IOTA, builder=builder, length=length)


def _part(x: Any, start: tuple[int, ...], shape: Sequence[int]) -> Any:
    return take(x, tuple((i, i + n, 1) for i, n in zip(start, shape, strict=True)))


def _alike(x: Any, y: Any) -> list[Any]:
    dtype = np.promote_types(x.dtype, y.dtype)
    return [z if z.dtype == dtype else cast(z, dtype) for z in (x, y)]


def _passed(constants: Any, start: Any, rows: Any, body: Any) -> Any:
    length = rows[0].shape[0]
    params = {"constants": len(constants), "carried": len(start), "length": length}
    inputs = (np.int64(length), *constants, *start, *rows)
    return bind(SCAN, *inputs, body=body, reverse=False, **params)
