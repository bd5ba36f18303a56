"""Sparse arrays of one axis with traced entries: a row of a matrix, or what is greatest in each."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from adjoint.capture.scipy.refusing import refuse_sparse
from adjoint.capture.scipy.sparse_patterns import KEEPING_ZERO, known_index

# What gives a vector again, as it gives a matrix of a matrix.
_ALIKE: Final = (
    *("__neg__", "__abs__", "conj", "conjugate", "copy", "astype", "power", "multiply"),
    *("__mul__", "__rmul__", "__truediv__", "__add__", "__radd__", "__sub__", "__rsub__"),
    *("tocsr", "tocoo", "maximum", "minimum", "__round__"),
)
_QUESTIONS: Final = ("argmax", "argmin", "count_nonzero")


class SparseVectorTraced:
    """A sparse array of one axis.

    row: the same numbers as the only row of a sparse matrix with traced entries.
    """

    __array_priority__ = 10.1
    takes_traced: Final = True
    __slots__ = ("__weakref__", "row")
    ndim = 1

    def __init__(self, row: Any) -> None:
        self.row = row

    @property
    def shape(self) -> tuple[int]:
        """Its length."""
        return (self.row.shape[1],)

    @property
    def dtype(self) -> Any:
        """That of the entries."""
        return self.row.dtype

    @property
    def format(self) -> str:
        """As SciPy names it."""
        return str(self.row.format)

    @property
    def nnz(self) -> int:
        """How many entries it has."""
        return int(self.row.pattern.nnz)

    @property
    def data(self) -> Any:
        """The entries."""
        return self.row.data

    @property
    def coords(self) -> tuple[Any]:
        """The places of the entries."""
        return (self.row.places[1],)

    @property
    def T(self) -> SparseVectorTraced:
        """Itself."""
        return self

    @property
    def real(self) -> SparseVectorTraced:
        """The real parts."""
        return SparseVectorTraced(self.row.real)

    @property
    def imag(self) -> SparseVectorTraced:
        """The imaginary parts."""
        return SparseVectorTraced(self.row.imag)

    def nonzero(self) -> tuple[Any]:
        """The places of entries that are not zero."""
        return (self.row.nonzero()[1],)

    def __len__(self) -> int:
        raise TypeError("sparse array length is ambiguous; use shape[0]")  # in SciPy's words

    def toarray(self, order: Any = None, out: Any = None) -> Any:
        """The dense vector."""
        return self.row.toarray()[0]

    todense = toarray

    def sum(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        """The sum of the entries."""
        return np.sum(self.row.entries)

    def mean(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        """The sum over the length."""
        return self.sum() / float(self.shape[0])

    def __getitem__(self, index: Any) -> Any:
        shape = self.shape
        return self.row.moved(lambda pattern: pattern.reshape(shape)[known_index(index)])

    def reshape(self, *shape: Any, **options: Any) -> Any:
        """The entries in another shape."""
        return self.row.reshape(*shape, **options)

    def dot(self, other: Any) -> Any:
        """The product with a number, a vector or a matrix."""
        return self * other if np.ndim(other) == 0 else self @ other

    def __matmul__(self, other: Any) -> Any:
        if isinstance(other, SparseVectorTraced):
            other = other.toarray()
        product = self.row @ other
        if isinstance(product, type(self.row)):
            return SparseVectorTraced(product)
        return product[0]

    def __rmatmul__(self, other: Any) -> Any:
        return other @ self.toarray()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"a sparse array of one axis has no attribute {name!r}")
        raise refuse_sparse(
            f"{name} of a sparse array of one axis with traced entries has no derivative here. Ask "
            "for a part with two, as A[[i], :] for a row, or make it dense with toarray()."
        )


def _alike(name: str) -> Any:
    def method(self: SparseVectorTraced, *args: Any, **kwargs: Any) -> Any:
        args = tuple(x.row if isinstance(x, SparseVectorTraced) else x for x in args)
        result = getattr(self.row, name)(*args, **kwargs)
        if isinstance(result, type(self.row)):
            return SparseVectorTraced(result)
        return result[0] if np.ndim(result) == 2 else result  # dense, beside a dense vector

    method.__name__ = name
    return method


def _extremum(name: str) -> Any:
    def method(
        self: SparseVectorTraced, axis: Any = None, out: Any = None, *, explicit: bool = False
    ) -> Any:
        return getattr(self.row, name)(out=out, explicit=explicit)

    method.__name__ = name
    return method


def _question(name: str) -> Any:
    def method(self: SparseVectorTraced, axis: Any = None, **options: Any) -> Any:
        return getattr(self.row, name)(**options)

    method.__name__ = name
    return method


for _name in ("max", "min", "nanmax", "nanmin"):
    setattr(SparseVectorTraced, _name, _extremum(_name))
for _name in _QUESTIONS:
    setattr(SparseVectorTraced, _name, _question(_name))
for _name in (*_ALIKE, *KEEPING_ZERO):
    setattr(SparseVectorTraced, _name, _alike(_name))
