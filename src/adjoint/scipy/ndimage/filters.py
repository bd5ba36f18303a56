"""`scipy.ndimage`: the compiled loops under its filters.

SciPy's own Python is entered, which chooses kernels, axes and dtypes (`capture.clones.users`). What
it calls in the end are compiled functions that write into an array. Here stands what these do to
traced arrays: a correlation of the image, extended beyond its borders as SciPy extends a row of
numbers from 0 on.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from adjoint.base.errors import UnsupportedFunctionError
from adjoint.capture.numpy.table import as_array, perform
from adjoint.capture.recording.values.valued import beside
from adjoint.capture.scipy.table import refuses_scipy, writes_scipy
from adjoint.primitives.structure.correlation import CORRELATION, SPLINE_FILTER

FILTERS = "ndimage._nd_image"
_RANKS = "ndimage._rank_filter_1d"


def compiled(home: str, name: str) -> Callable[..., Any]:
    """A compiled function of SciPy's; its module is slow to import, and here already."""
    function: Callable[..., Any] = getattr(import_module(f"scipy.{home}"), name)
    return function


def fills(home: str, name: str, place: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare what is recorded for a function that writes into its argument at a place.

    What is declared takes the shape of the result there, and returns the result.
    """

    def declare(ours: Callable[..., Any]) -> Callable[..., Any]:
        @writes_scipy(home, name)
        def call(*args: Any) -> None:
            output = args[place]
            shape, dtype = output.shape, output.dtype

            def theirs(*values: Any) -> Any:
                result = np.zeros(shape, dtype)
                compiled(home, name)(*values[:place], result, *values[place + 1 :])
                return result

            def recorded(*operands: Any) -> Any:
                return as_array(ours(*operands)).astype(dtype)

            if dtype.kind not in "fc":
                raise UnsupportedFunctionError(
                    f"scipy.ndimage rounds what it writes into an array of {dtype}, which has no "
                    "derivative. Make the image one of floating-point numbers: x.astype(float)."
                )
            output[...] = beside(theirs, recorded, (*args[:place], shape, *args[place + 1 :]), {})

        return ours

    return declare


# --- beyond the borders ---------------------------------------------------------------------------


@functools.lru_cache(maxsize=256)
def _reach(count: int, size: int, mode: int, origin: int) -> Any:
    """Which of `count` entries a window of this size meets from its first place to its last.

    -1 stands for the number that is given for what is beyond. SciPy is asked: windows that have
    a single 1 show the entries which they meet there.
    """
    row, reach = np.arange(float(count)), np.empty(count + size - 1)
    for place in sorted({*range(0, size, count), size - 1}):
        window, shown = np.zeros(size), np.empty(count)
        window[place] = 1.0
        compiled(FILTERS, "correlate1d")(row, window, 0, shown, mode, -1.0, origin)
        reach[place : place + count] = shown
    reach = reach.astype(np.intp)
    reach.flags.writeable = False
    return reach


def _extended(x: Any, axis: int, size: int, mode: int, cval: Any, origin: int) -> Any:
    """An image with what a window along an axis meets beyond its borders."""
    reach = _reach(x.shape[axis], size, mode, origin)
    x = np.moveaxis(x, axis, 0)
    if (reach < 0).any():
        x = np.concatenate([x, np.broadcast_to(as_array(cval).astype(x.dtype), (1, *x.shape[1:]))])
    return np.moveaxis(x[reach], 0, axis)


def _extended_about(x: Any, shape: Any, mode: int, cval: Any, origins: Any) -> Any:
    x = _wide(x)
    for axis, (size, origin) in enumerate(zip(shape, origins, strict=True)):
        x = _extended(x, axis, size, mode, cval, origin)
    return x


def _wide(x: Any) -> Any:
    """In double precision, as SciPy computes."""
    x = as_array(x)
    return x if x.dtype == float else x.astype(float)


# --- filters --------------------------------------------------------------------------------------


@fills(FILTERS, "correlate1d", 3)
def _correlate_rows(
    x: Any, weights: Any, axis: int, _: Any, mode: int, cval: Any, origin: int
) -> Any:
    weights = _wide(weights)
    x = _extended(_wide(x), axis, weights.shape[0], mode, cval, origin)
    shape = [1] * x.ndim
    shape[axis] = weights.shape[0]
    return perform(CORRELATION, x, np.reshape(weights, shape))


@fills(FILTERS, "uniform_filter1d", 3)
def _average_rows(x: Any, size: int, axis: int, _: Any, mode: int, cval: Any, origin: int) -> Any:
    return _correlate_rows(x, np.full(size, 1 / size), axis, _, mode, cval, origin)


@fills(FILTERS, "correlate", 2)
def _correlate(x: Any, weights: Any, _: Any, mode: int, cval: Any, origins: Any) -> Any:
    x = _extended_about(x, weights.shape, mode, cval, origins)
    return perform(CORRELATION, x, _wide(weights))


@fills(FILTERS, "min_or_max_filter1d", 3)
def _extreme_rows(
    x: Any, size: int, axis: int, _: Any, mode: int, cval: Any, origin: int, minimum: Any
) -> Any:
    rows = np.moveaxis(_extended(_wide(x), axis, size, mode, cval, origin), axis, 0)
    shown = [rows[place : place + x.shape[axis]] for place in range(size)]
    extreme = (np.min if minimum else np.max)(np.stack(shown), axis=0)
    return np.moveaxis(extreme, 0, axis)


def _windows(x: Any, footprint: Any, mode: int, cval: Any, origins: Any) -> list[Any]:
    """The image as each of the places of a footprint meets it."""
    wide = _extended_about(x, footprint.shape, mode, cval, origins)
    return [
        wide[tuple(slice(i, i + n) for i, n in zip(place, x.shape, strict=True))]
        for place in np.argwhere(np.asarray(footprint)).tolist()
    ]


@fills(FILTERS, "min_or_max_filter", 3)
def _extreme(
    x: Any, footprint: Any, heights: Any, _: Any, mode: int, cval: Any, origins: Any, minimum: Any
) -> Any:
    shown = _windows(x, footprint, mode, cval, origins)
    if heights is not None:
        heights = _wide(heights)[np.asarray(footprint)]
        shown = [y - h if minimum else y + h for y, h in zip(shown, heights, strict=True)]
    return (np.min if minimum else np.max)(np.stack(shown), axis=0)


@fills(FILTERS, "rank_filter", 3)
def _rank(x: Any, rank: int, footprint: Any, _: Any, mode: int, cval: Any, origins: Any) -> Any:
    return np.sort(np.stack(_windows(x, footprint, mode, cval, origins)), axis=0)[rank]


@fills(_RANKS, "rank_filter", 3)
def _rank_rows(x: Any, rank: int, size: int, _: Any, mode: int, cval: Any, origin: Any) -> Any:
    origins = np.atleast_1d(origin).tolist()
    return _rank(x, rank, np.ones(size, bool), _, mode, cval, origins)


@fills(FILTERS, "spline_filter1d", 3)
def _spline_rows(x: Any, order: int, axis: int, _: Any, mode: int) -> Any:
    x = _wide(x)
    params = {"degree": order, "axis": axis % x.ndim - x.ndim, "mode": mode}
    return perform(SPLINE_FILTER, x, **params, transposed=False)


# --- filters of transforms ------------------------------------------------------------------------


def _of_transforms(name: str) -> None:
    """A product with numbers that SciPy shows where it is given ones."""

    @fills(FILTERS, name, 4)
    def product(x: Any, sizes: Any, count: int, axis: int, shape: Any, *kind: int) -> Any:
        weights = np.zeros(shape, complex)
        compiled(FILTERS, name)(np.ones(shape), sizes, count, axis, weights, *kind)
        return x * (weights if name == "fourier_shift" else weights.real)


for _name in ("fourier_filter", "fourier_shift"):
    _of_transforms(_name)

refuses_scipy(
    "ndimage",
    "it calls a function of yours from compiled code; apply that to shifted images",
    *("generic_filter", "generic_filter1d"),
)
