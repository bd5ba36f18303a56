"""Products with SciPy's sparse matrices, and sparse matrices whose entries are traced."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from adjoint.base.arrays import Shape
from adjoint.base.errors import ArgumentError, ShapeError, UnsupportedFunctionError
from adjoint.capture.numpy.linalg import products
from adjoint.capture.numpy.table import as_operand, perform
from adjoint.capture.recording.traced import Traced
from adjoint.primitives.linear_algebra.sparse import SPARSE_PRODUCT

_MODULE = "scipy.sparse"


def is_sparse(value: Any) -> bool:
    """Whether it is one of SciPy's sparse matrices or arrays, or one with traced entries."""
    if isinstance(value, (SparseTraced, Traced, np.ndarray)):
        return type(value) is SparseTraced
    module = sys.modules.get(_MODULE)
    return module is not None and bool(module.issparse(value))


def defers(frame: Any) -> bool:
    """Whether SciPy asks, in a product of a sparse matrix, if the other operand is an array.

    Told that it is none, it leaves the product to that operand, as Python's operators do.
    """
    home = frame.f_globals.get("__name__", "")
    return bool(frame.f_code.co_name == "_matmul_dispatch" and home.startswith(_MODULE))


class SparseTraced:
    """A sparse matrix with traced entries: products, sums and transposes of it."""

    __array_ufunc__ = None
    __slots__ = ("__weakref__", "columns", "data", "rows", "shape")

    def __init__(self, data: Any, rows: Any, columns: Any, shape: Shape) -> None:
        self.data, self.rows, self.columns = data, np.asarray(rows), np.asarray(columns)
        self.shape = (int(shape[0]), int(shape[1]))
        if np.shape(data) != self.rows.shape or self.rows.shape != self.columns.shape:
            raise ShapeError(
                f"A sparse matrix has one row and one column for each entry; got {np.shape(data)} "
                f"entries, {self.rows.shape} rows and {self.columns.shape} columns."
            )

    @property
    def ndim(self) -> int:
        """Two."""
        return 2

    @property
    def nnz(self) -> int:
        """How many entries it has."""
        return int(self.rows.size)

    @property
    def dtype(self) -> Any:
        """Their dtype."""
        return self.data.dtype

    @property
    def T(self) -> SparseTraced:
        """Its transpose."""
        return SparseTraced(self.data, self.columns, self.rows, self.shape[::-1])

    def transpose(self) -> SparseTraced:
        """Its transpose."""
        return self.T

    def _itself(self, copy: bool = False) -> SparseTraced:
        return self

    tocsr = tocsc = tocoo = copy = _itself

    def toarray(self) -> Any:
        """The dense matrix."""
        flat = self.rows.astype(np.intp) * self.shape[1] + self.columns
        dense = self.data[:0].sum() + np.zeros(self.shape[0] * self.shape[1])
        return np.reshape(_added(dense, flat, self.data), self.shape)

    todense = toarray

    def diagonal(self) -> Any:
        """Its diagonal."""
        return np.diagonal(self.toarray())

    def dot(self, other: Any) -> Any:
        """The product with a vector or a dense matrix."""
        return self @ other

    def __matmul__(self, other: Any) -> Any:
        return times(self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return times(self.T, np.transpose(as_operand(other))).T

    def __mul__(self, factor: Any) -> SparseTraced:
        if np.ndim(factor):
            raise UnsupportedFunctionError(
                "A sparse matrix with traced entries is multiplied by numbers alone; write @ for "
                "the product of matrices, or multiply its entries."
            )
        return SparseTraced(self.data * factor, self.rows, self.columns, self.shape)

    __rmul__ = __mul__

    def __truediv__(self, divisor: Any) -> Any:
        return self * (1 / divisor)

    def __neg__(self) -> SparseTraced:
        return self * -1.0

    def __add__(self, other: Any) -> SparseTraced:
        if not is_sparse(other) or other.shape != self.shape:
            return NotImplemented
        data, rows, columns = entries_of(other)
        return SparseTraced(
            np.concatenate([self.data, data]),
            np.concatenate([self.rows, rows]),
            np.concatenate([self.columns, columns]),
            self.shape,
        )

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self + (-other)

    def __rsub__(self, other: Any) -> Any:
        return other + (-self)


def _added(flat: Any, places: Any, values: Any) -> Any:
    whole = np.copy(flat)
    np.add.at(whole, places, values)
    return whole


def entries_of(matrix: Any) -> tuple[Any, Any, Any]:
    """The entries of a sparse matrix, their rows and their columns."""
    if isinstance(matrix, SparseTraced):
        return matrix.data, matrix.rows, matrix.columns
    if matrix.ndim != 2:
        raise ShapeError(f"A sparse array of {matrix.ndim} axes; products take two.")
    coordinates = matrix.tocoo()
    return coordinates.data, coordinates.coords[0], coordinates.coords[1]


def times(matrix: Any, x: Any) -> Any:
    """The product of a sparse matrix and a vector or a dense matrix."""
    if is_sparse(x):
        raise UnsupportedFunctionError(
            "The product of two sparse matrices with traced entries is not supported; apply them "
            "one after the other, or make one dense with toarray()."
        )
    x = as_operand(x)
    if np.ndim(x) not in (1, 2) or x.shape[0] != matrix.shape[1]:
        raise ShapeError(
            f"matmul: a sparse matrix of shape {matrix.shape} does not fit an array of shape "
            f"{np.shape(x)}."
        )
    wide = x if x.ndim == 2 else np.reshape(x, (-1, 1))
    product = perform(SPARSE_PRODUCT, *entries_of(matrix), wide, height=int(matrix.shape[0]))
    return product if x.ndim == 2 else np.reshape(product, (-1,))


def matmul(left: Any, right: Any) -> Any:
    """`left @ right`, of which one may be sparse."""
    if is_sparse(left):
        return times(left, right)
    if is_sparse(right):
        return np.transpose(times(right.T, np.transpose(as_operand(left))))
    return products.matmul(left, right)


def star(left: Any, right: Any) -> Any:
    """`left * right`, of which one is sparse: a product of matrices for those of class spmatrix."""
    if isinstance(left, Traced) and not left.ndim:
        left, right = right, left
    if isinstance(right, Traced) and not right.ndim:
        return SparseTraced(entries_of(left)[0] * right, *entries_of(left)[1:], left.shape)
    sparse = left if is_sparse(left) else right
    if not isinstance(sparse, sys.modules[_MODULE].spmatrix):
        raise ArgumentError(
            "The entrywise product of a sparse array and a traced one is not supported: make the "
            "sparse one dense, or write @ for the product of matrices."
        )
    return matmul(left, right)
