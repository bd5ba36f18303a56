"""Correlations with a window that moves, and the filter that makes coefficients of a spline.

`correlation(x, w)` has, at each place i where the window lies inside of x, y_i = sum_k x_{i+k} w_k,
with one axis of w for each of x. What lies beyond the borders of x is the front end's to say, which
extends x first. Both transposes are correlations again.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from adjoint.base.arrays import ArrayType, array_type
from adjoint.base.errors import ShapeError
from adjoint.primitives.declaration import ITSELF, Each, Joint, Primitive
from adjoint.primitives.elementwise.conversion import cast, conjugate
from adjoint.primitives.expression import Expression, bind
from adjoint.primitives.samples import draw, sample
from adjoint.primitives.structure.moving import insert_axes, with_batch, zeros
from adjoint.primitives.structure.slicing import concatenate, take, update
from adjoint.primitives.typing_rules import promoted


def _type(x: ArrayType, w: ArrayType) -> ArrayType:
    if x.ndim != w.ndim or any(
        not 0 < k <= max(n, 1) for n, k in zip(x.shape, w.shape, strict=True)
    ):
        raise ShapeError(f"a window of shape {w.shape} does not fit into an array of {x.shape}.")
    shape = tuple(n - k + 1 for n, k in zip(x.shape, w.shape, strict=True))
    return array_type(shape, promoted(x, w))


def _part(x: Any, start: tuple[int, ...], shape: tuple[int, ...]) -> Any:
    return x[tuple(slice(i, i + n) for i, n in zip(start, shape, strict=True))]


def _evaluate(x: Any, w: Any) -> Any:
    shape = tuple(n - k + 1 for n, k in zip(x.shape, w.shape, strict=True))
    dtype = np.result_type(x, w)
    if np.prod(shape) < w.size:  # a wide window with few places
        result = np.empty(shape, dtype)
        for place in np.ndindex(*shape):
            result[place] = np.sum(_part(x, place, w.shape) * w)
        return result
    total = np.zeros(shape, dtype)
    for place in np.ndindex(*w.shape):
        total += _part(x, place, shape) * w[place]
    return total


def _derivative(tangents: Any, operands: Any, results: Any) -> Any:
    (d_x, d_w), (x, w), dtype = tangents, operands, results[0].dtype
    total = None if d_x is None else correlation(cast(d_x, dtype), cast(w, dtype))
    if d_w is not None:
        term = correlation(cast(x, dtype), cast(d_w, dtype))
        total = term if total is None else total + term
    return (total,)


def _transpose(cotangents: Any, operands: Any) -> Any:
    (cotangent,), (x, w) = cotangents, operands
    if isinstance(w, Expression):
        # to x_j goes sum_k c_{j-k} w_k: the window backwards over c, with zeros around it
        shape = tuple(n + k - 1 for n, k in zip(x.shape, w.shape, strict=True))
        index = tuple((k - 1, n, 1) for n, k in zip(x.shape, w.shape, strict=True))
        around = update(zeros(w.builder, array_type(shape, cotangent.dtype)), cotangent, index)
        backwards = take(w, tuple((size - 1, -1, -1) for size in w.shape))
        return cast(correlation(around, conjugate(backwards)), x.dtype), None
    return None, cast(correlation(conjugate(x), cotangent), w.dtype)


def _batch(operands: Any, batched: Any, size: int) -> Any:
    x, w = operands
    if not batched[1]:
        return correlation(x, insert_axes(w, 0, w.ndim + 1))
    x = with_batch(x, batched[0], size)
    rows = [
        correlation(*(take(y, (_one(n), *map(_all, y.shape[1:]))) for y in (x, w)))
        for n in range(size)
    ]
    return concatenate(rows, 0)


def _one(number: int) -> tuple[int, int, int]:
    return (number, number + 1, 1)


def _all(size: int) -> tuple[int, int, int]:
    return (0, size, 1)


CORRELATION = Primitive(
    "correlation",
    infer=_type,
    evaluate=_evaluate,
    linear=Each(frozenset({0, 1})),
    derivative=_derivative,
    transpose=_transpose,
    batch=_batch,
    samples=(
        sample(draw(6), draw(3)),
        sample(draw(4, 5), draw(3, 1)),
        sample(draw(4, 3, dtype=complex), draw(3, 2, dtype=complex)),
    ),
)


def correlation(x: Any, w: Any) -> Any:
    """The sums of x_{i+k} w_k, where the window w lies inside of x."""
    return bind(CORRELATION, x, w)


# --- splines --------------------------------------------------------------------------------------

# SciPy's numbers of the modes whose splines are symmetric about the outermost entries.
_ABOUT_ENTRIES = frozenset({1, 3, 4, 6})
# Up to this length SciPy's first and last coefficients differ from those of the spline.
_SHORT = 64


def _filtered(x: Any, degree: int, axis: int, mode: int, transposed: bool) -> Any:
    """Coefficients c of the spline through x, B c = x; or the transpose of that.

    Of few entries the transpose is that of SciPy's matrix. Of more it follows from B: where the
    spline is symmetric about x_0 and x_{n-1}, D B is symmetric, with the identity D but for 1/2 at
    both ends, so that the transpose of B^-1 is D B^-1 D^-1. For other modes B is symmetric.
    """
    rows = np.moveaxis(np.asarray(x, float), axis, 0)
    count = rows.shape[0]
    if not transposed:
        result = coefficients_by_scipy(rows, degree, mode)
    elif count <= _SHORT:
        result = np.tensordot(coefficients_by_scipy(np.eye(count), degree, mode).T, rows, 1)
    else:
        ends = np.ones((count, *(1,) * (rows.ndim - 1)))
        if mode in _ABOUT_ENTRIES:
            ends[[0, -1]] = 0.5
        result = ends * coefficients_by_scipy(rows / ends, degree, mode)
    return np.ascontiguousarray(np.moveaxis(result, 0, axis), x.dtype)


def coefficients_by_scipy(rows: Any, degree: int, mode: int) -> Any:
    """The coefficients of splines through what stands along the first axis."""
    result = np.empty(rows.shape)
    compiled = import_module("scipy.ndimage._nd_image")
    compiled.spline_filter1d(np.ascontiguousarray(rows), degree, 0, result, mode)
    return result


def _filter_transpose(cotangents: Any, operands: Any, *, transposed: bool, **params: Any) -> Any:
    return (bind(SPLINE_FILTER, cotangents[0], transposed=not transposed, **params),)


SPLINE_FILTER: Primitive = Primitive(
    "spline_filter",
    infer=lambda x, degree, axis, mode, transposed: array_type(x.shape, x.dtype),
    evaluate=_filtered,
    linear=Joint(),
    derivative=ITSELF,
    transpose=_filter_transpose,
    batch=lambda operands, batched, size, **params: bind(SPLINE_FILTER, operands[0], **params),
    samples=tuple(
        sample(draw(*shape), degree=degree, axis=-1, mode=mode, transposed=transposed, single=False)
        for shape, degree, transposed in (((6,), 3, False), ((2, 5), 5, True), ((70,), 2, False))
        for mode in range(7)
    ),
)
