"""NumPy's products of matrices under their names in `numpy.linalg`: over the last two axes."""

from __future__ import annotations

from functools import lru_cache
from operator import index
from typing import Any

import numpy as np

from adjoint.base.errors import LinearAlgebraError
from adjoint.capture.numpy.indexing.indexing import permute_plain, reshape_plain
from adjoint.capture.numpy.linalg.products import cross, dot, matmul, outer, tensordot, trace
from adjoint.capture.numpy.linalg.solving import inv, solve
from adjoint.capture.numpy.shaping.shape import diagonal, matrix_transpose, ravelled
from adjoint.capture.numpy.table import FUNCTIONS, as_array, implements


@implements(np.linalg.diagonal)
def linalg_diagonal(x: Any, /, *, offset: int = 0) -> Any:
    """Return the diagonals of a matrix, or of a stack of them, in the last two axes."""
    return diagonal(x, offset, -2, -1)


@implements(np.linalg.trace)
def linalg_trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    """Return the sums along the diagonals of the matrices in the last two axes."""
    return trace(x, offset, -2, -1, dtype)


@implements(np.linalg.cross)
def linalg_cross(x1: Any, x2: Any, /, *, axis: Any = -1) -> Any:
    """Return the cross product of vectors of length three."""
    x, y = as_array(x1), as_array(x2)
    axis = -1 if axis is None else axis  # which NumPy takes from 2.5 on
    if x.shape[axis] != 3 or y.shape[axis] != 3:
        raise ValueError(
            "Both input arrays must be (arrays of) 3-dimensional vectors, "
            f"but they are {x.shape[axis]} and {y.shape[axis]} dimensional instead."
        )
    return cross(x, y, axis=axis)


@implements(np.linalg.outer)
def linalg_outer(x1: Any, x2: Any, /) -> Any:
    """Compute the outer product of two vectors."""
    x, y = as_array(x1), as_array(x2)
    if x.ndim != 1 or y.ndim != 1:
        raise ValueError(
            "Input arrays must be one-dimensional, but they are "
            f"x1.ndim={x.ndim} and x2.ndim={y.ndim}."
        )
    return outer(x, y)


@implements(np.linalg.tensordot)
def linalg_tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> Any:
    """Compute tensor dot product along specified axes."""
    return tensordot(x1, x2, axes)


@implements(np.linalg.matmul)
def linalg_matmul(x1: Any, x2: Any, /) -> Any:
    """Compute the matrix product."""
    return matmul(x1, x2)


@implements(np.linalg.matrix_transpose)
def linalg_matrix_transpose(x: Any, /) -> Any:
    """Transpose a matrix (or a stack of matrices)."""
    return matrix_transpose(x)


@implements(np.linalg.vecdot)
def linalg_vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """Compute the vector dot product along one axis."""
    return FUNCTIONS[np.vecdot](x1, x2, axis=axis)


# --- chains ---------------------------------------------------------------------------------------


@lru_cache
def _splits(sizes: tuple[int, ...]) -> dict[tuple[int, int], int]:
    """Where to split each chain of matrices, whose sizes follow one another, at the least cost."""
    count = len(sizes) - 1
    cost: dict[tuple[int, int], int] = {(i, i): 0 for i in range(count)}
    split: dict[tuple[int, int], int] = {}
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            cost[i, j], split[i, j] = min(
                (cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k)
                for k in range(i, j)
            )
    return split


@implements(np.linalg.multi_dot)
def multi_dot(arrays: Any, *, out: Any = None) -> Any:
    """Compute the dot product of two or more arrays, in the order that costs least."""
    if out is not None:
        raise TypeError("multi_dot on traced arrays takes no out=; assign its result.")
    chain = [as_array(array) for array in arrays]
    if len(chain) < 2:
        raise ValueError("Expecting at least two arrays.")
    if len(chain) == 2:
        return dot(*chain)
    first, last = chain[0], chain[-1]
    chain[0] = first[None, :] if first.ndim == 1 else first
    chain[-1] = last[:, None] if last.ndim == 1 else last
    for factor in chain:
        if factor.ndim != 2:
            raise LinearAlgebraError(
                f"{factor.ndim}-dimensional array given. Array must be two-dimensional"
            )
    split = _splits((*(factor.shape[0] for factor in chain), chain[-1].shape[1]))

    def product(i: int, j: int) -> Any:
        return chain[i] if i == j else dot(product(i, split[i, j]), product(split[i, j] + 1, j))

    whole = product(0, len(chain) - 1)
    if first.ndim == 1 and last.ndim == 1:
        return whole[0, 0]
    return ravelled(whole) if 1 in (first.ndim, last.ndim) else whole


# --- tensors --------------------------------------------------------------------------------------


@implements(np.linalg.tensorsolve)
def tensorsolve(a: Any, b: Any, axes: Any = None) -> Any:
    """Solve the tensor equation a x = b for x."""
    a, b = as_array(a), as_array(b)
    if axes is not None:
        order = list(range(a.ndim))
        for axis in axes:
            order.remove(axis)
            order.insert(a.ndim, axis)
        a = permute_plain(a, tuple(order))
    shape = a.shape[-(a.ndim - b.ndim) :]
    size = int(np.prod(shape, dtype=int))
    if a.size != size**2:
        raise LinearAlgebraError(
            "Input arrays must satisfy the requirement prod(a.shape[b.ndim:]) == "
            f"prod(a.shape[:b.ndim]), got shapes {a.shape} and {b.shape}."
        )
    return reshape_plain(solve(reshape_plain(a, (size, size)), ravelled(b)), shape)


@implements(np.linalg.tensorinv)
def tensorinv(a: Any, ind: Any = 2) -> Any:
    """Compute the 'inverse' of an N-dimensional array."""
    a, ind = as_array(a), index(ind)
    if ind <= 0:
        raise ValueError("Invalid ind argument.")
    size = int(np.prod(a.shape[ind:], dtype=int))
    columns = a.size // size if size else 0
    flat = inv(reshape_plain(a, (size, columns)))
    return reshape_plain(flat, (*a.shape[ind:], *a.shape[:ind]))
