"""Linear recurrences with constant coefficients: the recursive half of a digital filter."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from adjoint.base.arrays import ArrayType, array_type
from adjoint.base.errors import ShapeError
from adjoint.primitives.declaration import Each, Primitive
from adjoint.primitives.elementwise.conversion import cast, conjugate
from adjoint.primitives.expression import bind
from adjoint.primitives.samples import draw, sample
from adjoint.primitives.structure.moving import broadcast_to, reshape, zeros
from adjoint.primitives.structure.slicing import concatenate, take
from adjoint.primitives.typing_rules import promoted


def _type(a: ArrayType, u: ArrayType) -> ArrayType:
    if a.ndim != 1 or not a.shape[0] or u.ndim < 1:
        raise ShapeError(f"a filter has coefficients along one axis; got {a.shape}, {u.shape}.")
    return array_type(u.shape, promoted(a, u))


def _evaluate(a: Any, u: Any) -> Any:
    dtype = np.result_type(a, u)
    filtered = import_module("scipy.signal").lfilter(np.ones(1, dtype), np.asarray(a, dtype), u)
    return np.asarray(filtered, dtype)


def _delayed(y: Any, by: int) -> Any:
    """y later by some places: zeros come in at the front of the last axis."""
    length = y.shape[-1]
    if not by:
        return y
    lead = [(0, size, 1) for size in y.shape[:-1]]
    empty = zeros(y.builder, array_type((*y.shape[:-1], min(by, length)), y.dtype))
    if by >= length:
        return empty
    return concatenate([empty, take(y, (*lead, (0, length - by, 1)))], y.ndim - 1)


def _derivative(tangents: Any, operands: Any, results: Any) -> Any:
    """From a * y = u: a * dy = du - da * y, with the convolution of sequences."""
    (a, _), (d_a, d_u), (y,) = operands, tangents, results
    right = None if d_u is None else cast(d_u, y.dtype)
    if d_a is not None:
        d_a = cast(d_a, y.dtype)
        for k in range(a.shape[0]):
            coefficient = take(d_a, (k,))
            term = coefficient * _delayed(y, k)
            right = -term if right is None else right - term
    return (recurrence(cast(a, y.dtype), right),)


def _transpose(cotangents: Any, operands: Any) -> Any:
    """Backwards in time."""
    a, u = operands
    pulled = _reversed(recurrence(conjugate(a), _reversed(cotangents[0])))
    return None, cast(pulled, u.dtype)


def _reversed(x: Any) -> Any:
    length = x.shape[-1]
    return take(x, (*((0, size, 1) for size in x.shape[:-1]), (length - 1, -1, -1)))


def _batch(operands: Any, batched: Any, size: int) -> Any:
    a, u = operands
    if not batched[0]:
        return recurrence(a, u)
    u = broadcast_to(u, (size, *u.shape)) if not batched[1] else u
    rows = [recurrence(_row(a, number), _row(u, number)) for number in range(size)]
    return concatenate([reshape(row, (1, *row.shape)) for row in rows], 0)


def _row(x: Any, number: int) -> Any:
    return take(x, (number, *((0, size, 1) for size in x.shape[1:])))


RECURRENCE = Primitive(
    "recurrence",
    infer=_type,
    evaluate=_evaluate,
    linear=Each(frozenset({1})),
    derivative=_derivative,
    transpose=_transpose,
    batch=_batch,
    samples=(
        sample(draw(3, low=0.3, high=0.6), draw(5)),
        sample(draw(2, low=0.6, high=0.9, dtype=complex), draw(2, 3, dtype=complex)),
    ),
)


def recurrence(a: Any, u: Any) -> Any:
    """The y with sum_k a_k y_{n-k} = u_n along the last axis, zero before it begins."""
    return bind(RECURRENCE, a, u)
