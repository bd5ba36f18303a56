"""NumPy's norms of vectors and matrices, of every order."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.capture.numpy.indexing.indexing import permute_plain, reshape_plain
from adjoint.capture.numpy.reducing.reduce import maximum_over, minimum_over, sum_
from adjoint.capture.numpy.table import as_array, implements, normal_axis, perform
from adjoint.primitives import PRIMITIVES
from adjoint.primitives.elementwise.smooth import ROOT_OF_POWERS


@implements(np.linalg.norm)
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """Matrix or vector norm."""
    x = as_array(x)
    x = x if x.dtype.kind in "fc" else x.astype(float)
    if axis is None and (
        ord is None
        or (isinstance(ord, str) and ord in ("f", "fro") and x.ndim == 2)
        or (not isinstance(ord, str) and ord == 2 and x.ndim == 1)
    ):
        return _euclidean(x, tuple(range(x.ndim)), keepdims)
    if axis is None:
        axis = tuple(range(x.ndim))
    elif not isinstance(axis, tuple):
        try:
            axis = (int(axis),)
        except Exception as error:
            raise TypeError("'axis' must be None, an integer or a tuple of integers") from error
    axes = tuple(normal_axis(number, x.ndim) for number in axis)
    if len(axes) == 1:
        return _of_vectors(x, ord, axes[0], keepdims)
    if len(axes) == 2:
        return _of_matrices(x, ord, axes, keepdims)
    raise ValueError("Improper number of dimensions to norm.")


def _euclidean(x: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    """The root of the sum of squares. Its square has the derivatives of the sum, at 0 too."""
    squares = np.square(x) if x.dtype.kind != "c" else np.square(x.real) + np.square(x.imag)
    return np.sqrt(sum_(squares, axes, keepdims=keepdims))


def _kept(norms: Any, shape: tuple[int, ...], axes: tuple[int, ...]) -> Any:
    whole = tuple(1 if axis in axes else length for axis, length in enumerate(shape))
    return reshape_plain(norms, whole)


def _of_vectors(x: Any, ord: Any, axis: int, keepdims: bool) -> Any:
    if isinstance(ord, str):
        raise ValueError(f"Invalid norm order '{ord}' for vectors")
    if ord is None or ord == 2:
        return _euclidean(x, (axis,), keepdims)
    if ord == 0:
        return sum_((x != 0).astype(x.real.dtype), axis, keepdims=keepdims)
    size = np.abs(x)
    if ord == np.inf:
        return maximum_over(size, axis, keepdims=keepdims, initial=0)
    if ord == -np.inf:
        return minimum_over(size, axis, keepdims=keepdims)
    if ord == 1:
        return sum_(size, axis, keepdims=keepdims)
    power = sum_(size**ord, axis, keepdims=keepdims)
    return perform(ROOT_OF_POWERS, power, 1 / ord) if ord > 1 else power ** (1 / ord)


def _of_matrices(x: Any, ord: Any, axes: tuple[int, int], keepdims: bool) -> Any:
    rows, columns = axes
    if rows == columns:
        raise ValueError("Duplicate axes given.")
    if ord is None or (isinstance(ord, str) and ord in ("f", "fro")):
        return _euclidean(x, axes, keepdims)
    if isinstance(ord, str) and ord == "nuc":
        norms = sum_(_sizes(x, rows, columns), -1)
    elif isinstance(ord, str) or ord not in (1, -1, 2, -2, np.inf, -np.inf):
        raise ValueError("Invalid norm order for matrices.")
    elif abs(ord) == 2:
        sizes = _sizes(x, rows, columns)
        norms = maximum_over(sizes, -1, initial=0) if ord > 0 else minimum_over(sizes, -1)
    else:
        summed, chosen = (rows, columns) if abs(ord) == 1 else (columns, rows)
        sums = sum_(np.abs(x), summed)
        chosen -= chosen > summed
        norms = maximum_over(sums, chosen, initial=0) if ord > 0 else minimum_over(sums, chosen)
    return _kept(norms, x.shape, axes) if keepdims else norms


def _sizes(x: Any, rows: int, columns: int) -> Any:
    """The singular values of the matrices in two axes, along the last axis."""
    lead = tuple(axis for axis in range(x.ndim) if axis not in (rows, columns))
    return perform(PRIMITIVES["svdvals"], permute_plain(x, (*lead, rows, columns)))


@implements(np.linalg.matrix_norm)
def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    """Compute the matrix norm of a matrix (or a stack of matrices)."""
    return norm(x, ord, (-2, -1), keepdims)


@implements(np.linalg.vector_norm)
def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    """Compute the vector norm of a vector (or batch of vectors)."""
    x = as_array(x)
    if axis is None:
        axes = tuple(range(x.ndim))
    elif isinstance(axis, tuple):
        axes = tuple(normal_axis(number, x.ndim) for number in axis)
    else:
        axes = (normal_axis(axis, x.ndim),)
    rest = tuple(kept for kept in range(x.ndim) if kept not in axes)
    moved = permute_plain(x, (*rest, *axes)) if x.ndim else x
    count = int(np.prod([x.shape[chosen] for chosen in axes], dtype=int))
    norms = norm(reshape_plain(moved, (*(x.shape[kept] for kept in rest), count)), ord, -1)
    return _kept(norms, x.shape, axes) if keepdims else norms
