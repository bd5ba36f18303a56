"""`scipy.linalg`: matrices built of blocks and of vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.base.errors import ShapeError
from adjoint.capture.numpy.table import as_operand
from adjoint.capture.scipy.table import implements_scipy
from adjoint.scipy.linalg.batches import over_batches


def _vector(x: Any) -> Any:
    return np.reshape(as_operand(x), (-1,))


@implements_scipy("linalg")
def block_diag(*arrs: Any) -> Any:
    """Matrices along the diagonal, zeros elsewhere."""
    blocks = [np.atleast_2d(as_operand(block)) for block in arrs]
    dtype = np.result_type(*(block.dtype for block in blocks))
    stack = np.broadcast_shapes(*(block.shape[:-2] for block in blocks))
    heights, widths = ([block.shape[axis] for block in blocks] for axis in (-2, -1))
    rows, start = [], 0
    for block, height, width in zip(blocks, heights, widths, strict=True):
        left = np.zeros((*stack, height, start), dtype)
        right = np.zeros((*stack, height, sum(widths) - start - width), dtype)
        block = np.broadcast_to(block, (*stack, height, width))
        rows.append(np.concatenate([left, block, right], axis=-1))
        start += width
    return np.concatenate(rows, axis=-2)


@implements_scipy("linalg")
def toeplitz(c: Any, r: Any = None) -> Any:
    """Constant diagonals: c is the first column, and r the first row but for its first entry."""
    c = np.atleast_1d(as_operand(c))
    return _toeplitz(c, np.conjugate(c) if r is None else np.atleast_1d(as_operand(r)))


@over_batches(c=1, r=1)
def _toeplitz(c: Any, r: Any) -> Any:
    i, j = np.indices((c.shape[0], r.shape[0]))
    values = np.concatenate([r[:0:-1], c])
    return values[i - j + r.shape[0] - 1]


@implements_scipy("linalg")
def circulant(c: Any) -> Any:
    """Columns that are c, turned."""
    c = np.atleast_1d(as_operand(c))
    i, j = np.indices((c.shape[-1], c.shape[-1]))
    return c[..., (i - j) % c.shape[-1]]


@implements_scipy("linalg")
def hankel(c: Any, r: Any = None) -> Any:
    """Constant antidiagonals: c is the first column, and r the last row but for its first entry."""
    c = _vector(c)
    r = np.zeros(c.shape[0], c.dtype) if r is None else _vector(r)
    i, j = np.indices((c.shape[0], r.shape[0]))
    return np.concatenate([c, r[1:]])[i + j]


@implements_scipy("linalg")
def companion(a: Any) -> Any:
    """The matrix whose eigenvalues are the roots of a polynomial."""
    a = np.atleast_1d(as_operand(a))
    if a.shape[-1] < 2:
        raise ValueError("The length of `a` along the last axis must be at least 2.")
    first = -a[..., 1:] / (1.0 * a[..., :1])
    count = first.shape[-1]
    below = np.broadcast_to(np.eye(count - 1, count), (*first.shape[:-1], count - 1, count))
    return np.concatenate([first[..., None, :], below.astype(first.dtype)], axis=-2)


@implements_scipy("linalg")
@over_batches(a=2, b=2)
def khatri_rao(a: Any, b: Any) -> Any:
    """The Kronecker products of columns."""
    a, b = as_operand(a), as_operand(b)
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[1]:
        raise ShapeError(
            f"khatri_rao takes two matrices with as many columns; got {a.shape} and {b.shape}."
        )
    return np.reshape(a[:, None, :] * b[None, :, :], (-1, a.shape[1]))


@implements_scipy("linalg")
def matmul_toeplitz(c_or_cr: Any, x: Any, check_finite: bool = False, workers: Any = None) -> Any:
    """A Toeplitz matrix times a vector or a matrix."""
    c, r = c_or_cr if isinstance(c_or_cr, tuple) else (c_or_cr, None)
    return toeplitz(c, r) @ as_operand(x)


@implements_scipy("linalg")
def solve_toeplitz(c_or_cr: Any, b: Any, check_finite: bool = True) -> Any:
    """A Toeplitz system, solved densely."""
    c, r = c_or_cr if isinstance(c_or_cr, tuple) else (c_or_cr, None)
    return np.linalg.solve(toeplitz(c, r), b)


@implements_scipy("linalg")
def solve_circulant(
    c: Any,
    b: Any,
    singular: str = "raise",
    tol: Any = None,
    caxis: int = -1,
    baxis: int = 0,
    outaxis: int = 0,
) -> Any:
    """A circulant system with one matrix, solved densely."""
    return np.linalg.solve(circulant(_vector(c)), b)
