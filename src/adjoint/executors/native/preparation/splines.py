"""Filters that make coefficients of splines, which SciPy computes in a call, made of equations.

Sampled at whole places, a B-spline has the weights w_0, ..., w_m, whose z-transform is a product of
factors (1 - p z)(1 - p / z) for poles |p| < 1. So the filter is one pass forward and one backward
for each pole, times a gain (M. Unser, A. Aldroubi, M. Eden, 1993). Each pass begins so far outside
of the row, which is continued in the way of the mode, that nothing is left of how it began.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from math import ceil, log, prod
from typing import Any, Final

import numpy as np

from adjoint.executors.native.preparation.filters import filtered
from adjoint.primitives.elementwise.conversion import cast
from adjoint.primitives.elementwise.selection import select
from adjoint.primitives.expression import bind
from adjoint.primitives.structure.correlation import coefficients_by_scipy
from adjoint.primitives.structure.gathering import IOTA
from adjoint.primitives.structure.moving import FILL, broadcast_to, permute
from adjoint.primitives.structure.slicing import concatenate, take
from adjoint.program import Equation

_WEIGHTS: Final = {
    2: (1, 6, 1),
    3: (1, 4, 1),
    4: (1, 76, 230, 76, 1),
    5: (1, 26, 66, 26, 1),
}
_LEFT: Final = 2.0**-60  # of how a pass began

# The place in a row of so many numbers that stands for one before or after it.
_Continuation = Callable[[int, int], int]


def _about_entries(place: int, count: int) -> int:
    place %= 2 * count - 2
    return min(place, 2 * count - 2 - place)


def _about_edges(place: int, count: int) -> int:
    place %= 2 * count
    return min(place, 2 * count - 1 - place)


def _around(place: int, count: int) -> int:
    return place % count


def has_formula(equation: Equation) -> bool:
    """Whether rows are continued in a known way, and are so long that SciPy's begin right.

    In rows of n numbers SciPy is off by p^2n at both ends.
    """
    type_, params = equation.inputs[0].type, equation.params
    if type_.dtype.kind != "f" or _continuation(params["degree"], params["mode"]) is None:
        return False
    length: int = type_.shape[params["axis"]]
    return 2 * length >= max(map(_margin, _poles(params["degree"])))


def coefficients(x: Any, degree: int, axis: int, mode: int, transposed: bool) -> Any:
    """The coefficients of the spline through the rows along an axis, or the transpose of that."""
    continuation = _continuation(degree, mode)
    order = [n for n in range(x.ndim) if n != axis % x.ndim] + [axis % x.ndim]
    rows = permute(x if x.dtype == np.float64 else cast(x, np.dtype(float)), tuple(order))
    # The transpose is D B^-1 D^-1, with the identity D but for 1/2 at both ends, where rows are
    # continued about their first and last entries; for others the filter is symmetric.
    ends = _ends(rows) if transposed and continuation is _about_entries else None
    if ends is not None:
        rows = rows / ends
    gain = prod((1 - p) * (1 - 1 / p) for p in _poles(degree))
    rows = rows * _filled(rows, rows.shape, gain)
    for pole in _poles(degree):
        rows = _both_ways(rows, pole, continuation)
    if ends is not None:
        rows = rows * ends
    rows = permute(rows, tuple(np.argsort(order).tolist()))
    return rows if x.dtype == np.float64 else cast(rows, x.dtype)


def _both_ways(rows: Any, pole: float, continuation: Any) -> Any:
    """The c with -p c_{n-1} + (1 + p^2) c_n - p c_{n+1} = -p x_n."""
    count, margin = rows.shape[-1], _margin(pole)
    pieces = _pieces(continuation, count, margin)
    wide = concatenate([_part(rows, piece) for piece in pieces], rows.ndim - 1)
    one, other = (_filled(rows, (1,), value) for value in (1.0, -pole))
    kernel = concatenate([one, other], 0)
    length = count + margin
    onward: Any = _part(filtered(kernel, wide), (margin, margin + length, 1))
    backward = _part(onward * _filled(onward, onward.shape, -pole), (length - 1, -1, -1))
    return _part(_part(filtered(kernel, backward), (length - 1, -1, -1)), (0, count, 1))


def _pieces(continuation: Any, count: int, margin: int) -> list[tuple[int, int, int]]:
    """Slices of a row that make the row with so many numbers more on both sides."""
    places = [continuation(n, count) for n in range(-margin, count + margin)]
    pieces: list[tuple[int, int, int]] = []
    start = 0
    for end in range(1, len(places) + 1):
        step = places[start + 1] - places[start] if end > start + 1 else 0
        goes_on = end < len(places) and abs(places[end] - places[end - 1]) == 1
        if goes_on and step in (0, places[end] - places[end - 1]):
            continue
        step = step or 1
        pieces.append((places[start], places[end - 1] + step, step))
        start = end
    return pieces


def _part(rows: Any, piece: tuple[int, int, int]) -> Any:
    return take(rows, (*((0, length, 1) for length in rows.shape[:-1]), piece))


def _ends(rows: Any) -> Any:
    """One, but for a half at both ends of rows."""
    count = rows.shape[-1]
    places: Any = broadcast_to(bind(IOTA, builder=rows.builder, length=count), rows.shape)
    outermost = np.logical_or(np.equal(places, 0), np.equal(places, count - 1))
    return select(outermost, _filled(rows, rows.shape, 0.5), _filled(rows, rows.shape, 1.0))


def _filled(like: Any, shape: Sequence[int], value: float) -> Any:
    dtype = np.dtype(float)
    return bind(FILL, builder=like.builder, shape=tuple(shape), dtype=dtype, value=value)


# --- what SciPy does ------------------------------------------------------------------------------


@cache
def _poles(degree: int) -> tuple[float, ...]:
    return tuple(float(p) for p in np.roots(_WEIGHTS[degree]) if abs(p) < 1)


def _margin(pole: float) -> int:
    return ceil(log(_LEFT) / log(abs(pole)))


@cache
def _continuation(degree: int, mode: int) -> _Continuation | None:
    """How SciPy continues a row in this mode: so that its coefficients give the row back."""
    if degree not in _WEIGHTS:
        return None
    weights = np.divide(_WEIGHTS[degree], sum(_WEIGHTS[degree]))
    row = np.random.default_rng(0).normal(size=100)
    fitted, beyond = coefficients_by_scipy(row, degree, mode), len(weights) // 2
    for continuation in (_about_entries, _about_edges, _around):
        places = [continuation(n, len(row)) for n in range(-beyond, len(row) + beyond)]
        if np.allclose(np.convolve(fitted[places], weights, "valid"), row, rtol=1e-9, atol=1e-12):
            return continuation
    return None
