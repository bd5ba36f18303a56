"""`scipy.ndimage`: images between their pixels, by B-splines.

Each sample is a sum over the pixels around it, with the weights of a B-spline at its distance from
them. So the samples are a sparse matrix times the image, whose entries vary with the coordinates.
What lies beyond the borders follows SciPy's compiled loops, case by case.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from adjoint.base.errors import UnsupportedFunctionError
from adjoint.capture.numpy.table import as_array, perform
from adjoint.primitives.linear_algebra.sparse.products import SPARSE_PRODUCT
from adjoint.scipy.ndimage.filters import FILTERS, fills

# SciPy's numbers of the modes.
_NEAREST, _WRAP, _REFLECT, _MIRROR, _CONSTANT, _GRID_WRAP, _GRID_CONSTANT = range(7)


def _mirrored(c: Any, count: int) -> Any:
    period = 2 * count - 2
    below = period * np.trunc(-c / period) + c
    above = c - period * np.trunc(c / period)
    below = np.where(below <= 1 - count, below + period, -below)
    return below, np.where(above >= count, period - above, above)


def _reflected(c: Any, count: int) -> Any:
    period = 2 * count
    below = np.where(c < -period, period * np.trunc(-c / period) + c, c)
    above = c - period * np.trunc(c / period)
    turned = np.where(below > -1e-15, 1e-15, -below) - 1
    below = np.where(below < -count, below + period, turned)
    return below, np.where(above >= count, period - above - 1, above)


def _wrapped(c: Any, count: int) -> Any:
    period = count - 1
    below = c + period * (np.trunc(-c / period) + 1)
    return below, c - period * np.trunc(c / period)


def _wrapped_by_pixels(c: Any, count: int) -> Any:
    below = c + count * (np.trunc((-1 - c) / count) + 1)
    return below, c - count * np.trunc(c / count)


# Where coordinates before the first pixel and behind the last one lie instead.
_FOLDED: Final[dict[int, Callable[[Any, int], Any]]] = {
    _MIRROR: _mirrored,
    _REFLECT: _reflected,
    _WRAP: _wrapped,
    _GRID_WRAP: _wrapped_by_pixels,
    _NEAREST: lambda c, count: (0.0, count - 1.0),
    _CONSTANT: lambda c, count: (-1.0, -1.0),
}


def _folded(c: Any, count: int, mode: int) -> Any:
    if count <= 1 and mode != _CONSTANT:
        return c * 0
    below, above = _FOLDED[mode](c, count)
    return np.where(c < 0, below, np.where(c > count - 1, above, c))


def _spline(t: Any, order: int) -> list[Any]:
    """Weights of the order + 1 pixels around a place, t behind one: de Boor's recurrence."""
    weights: list[Any] = [np.ones(np.shape(t))]
    for degree in range(1, order + 1):
        padded = [0.0, *weights, 0.0]
        weights = [
            ((t + (degree - j)) * padded[j] + (j + 1 - t) * padded[j + 1]) / degree
            for j in range(degree + 1)
        ]
    return weights


def _along_axis(c: Any, count: int, order: int, mode: int) -> tuple[Any, Any, Any]:
    """For coordinates along one axis: pixels, their weights, and where they are no pixels.

    Each has an axis for the pixels behind those of the coordinates.
    """
    outside: Any = np.zeros(np.shape(c), bool)
    if mode not in (_NEAREST, _GRID_CONSTANT):
        c = _folded(c, count, mode)
        outside = c <= -1.0
    half = 0.5 * (1 - order % 2)
    first = np.floor(c + half)
    weights = np.stack(_spline(c + half - first, order), axis=-1)
    pixels = (first - order // 2)[..., None] + np.arange(order + 1)
    beyond = outside[..., None] & np.ones(order + 1, bool)
    if mode == _GRID_CONSTANT:
        beyond = (pixels < 0) | (pixels >= count)
    else:
        pixels = _folded(pixels, count, _MIRROR if mode in (_CONSTANT, _WRAP) else mode)
    return np.clip(pixels, 0, count - 1).astype(np.intp), weights, beyond


def _sampled(image: Any, c: list[Any], order: int, mode: int, cval: Any, before: int) -> Any:
    """The image at points, whose coordinates are arrays of one axis, one for each of its axes."""
    image, ndim = as_array(image).astype(float), image.ndim
    parts = [
        _along_axis(as_array(x).astype(float) + before, count, order, mode)
        for x, count in zip(c, image.shape, strict=True)
    ]
    # One axis for the points, and one for the pixels along each axis of the image.
    spread = [
        [np.reshape(x, (x.shape[0], *(-1 if a == axis else 1 for a in range(ndim)))) for x in part]
        for axis, part in enumerate(parts)
    ]
    pixels, weights, beyond = zip(*spread, strict=True)
    whole = (parts[0][0].shape[0], *(order + 1,) * ndim)
    strides = [int(np.prod(image.shape[axis + 1 :])) for axis in range(ndim)]
    columns = functools.reduce(operator.add, map(operator.mul, pixels, strides))
    entries = functools.reduce(operator.mul, weights)
    missing = functools.reduce(operator.or_, beyond)
    entries, missing, columns = (np.broadcast_to(x, whole) for x in (entries, missing, columns))
    rows = np.repeat(np.arange(whole[0]), int(np.prod(whole[1:])))
    inside = np.reshape(np.where(missing, 0.0, entries), (-1,))
    vector = np.reshape(image, (-1, 1))
    at = np.reshape(columns, (-1,))
    samples = perform(SPARSE_PRODUCT, inside, rows, at, vector, height=whole[0])[:, 0]
    if mode in (_CONSTANT, _GRID_CONSTANT):
        rest = np.where(missing, entries, 0.0)
        samples = samples + cval * np.sum(rest, axis=tuple(range(1, ndim + 1)))
    return samples


def _grid(shape: tuple[int, ...]) -> list[Any]:
    """The coordinates of the entries of an array."""
    return [np.reshape(x, (-1,)).astype(float) for x in np.indices(shape)]


@fills(FILTERS, "geometric_transform", 5)
def _transformed(
    image: Any,
    mapping: Any,
    coordinates: Any,
    matrix: Any,
    offset: Any,
    shape: Any,
    order: int,
    mode: int,
    cval: Any,
    before: int,
    *_: Any,
) -> Any:
    if mapping is not None:
        raise UnsupportedFunctionError(
            "scipy.ndimage.geometric_transform calls a function of yours from compiled code. "
            "Compute the coordinates with NumPy, and give them to scipy.ndimage.map_coordinates."
        )
    if matrix is None:
        coordinates = as_array(coordinates)
        c = [np.reshape(coordinates[axis], (-1,)) for axis in range(image.ndim)]
    else:
        places = np.stack(_grid(shape))
        mapped = np.matmul(matrix, places) + np.reshape(offset, (-1, 1))
        c = [mapped[axis] for axis in range(image.ndim)]
    return np.reshape(_sampled(image, c, order, mode, cval, before), shape)


@fills(FILTERS, "zoom_shift", 3)
def _moved(
    image: Any,
    zoom: Any,
    shift: Any,
    shape: Any,
    order: int,
    mode: int,
    cval: Any,
    before: int,
    by_pixels: bool,
) -> Any:
    c = _grid(shape)
    if shift is not None:
        c = [x + shift[axis] for axis, x in enumerate(c)]
    if zoom is not None:
        half = 0.5 if by_pixels else 0.0
        c = [(x + half) * zoom[axis] - half for axis, x in enumerate(c)]
    return np.reshape(_sampled(image, c, order, mode, cval, before), shape)
