"""Sparse matrices whose entries are traced: their algebra, and all that moves entries about.

Where the result has entries, and in which order and format, is asked of SciPy, which is given the
pattern for a matrix (see `sparse_patterns`). What the entries are is one operation on arrays, so
that their derivatives lie on the pattern too, and nothing is ever made dense.

An entry whose value happens to be zero is an entry: a pattern does not depend on the values.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable
from functools import reduce
from typing import Any, Final, cast

import numpy as np

from adjoint.base.errors import ShapeError
from adjoint.capture.numpy.table import as_operand, perform
from adjoint.capture.recording.tracing.traced import Traced
from adjoint.capture.scipy.refusing import refuse_sparse
from adjoint.capture.scipy.sparse_patterns import (
    at_places,
    by_entry,
    first_places,
    found_at,
    is_matrix,
    keys_of,
    known_index,
    numbered,
    ones,
    places_of,
    scipy_sparse,
)
from adjoint.capture.scipy.sparse_vector import SparseVectorTraced
from adjoint.primitives.linear_algebra.sparse.products import SPARSE_ENTRIES, SPARSE_PRODUCT
from adjoint.primitives.structure.gathering import GATHER_ADD

# What SciPy knows of the places alone, and says of the pattern.
_OF_PLACES: Final = frozenset(
    {"indices", "indptr", "row", "col", "coords", "nnz", "size"}
    | {"has_sorted_indices", "has_canonical_format"}
)


def is_sparse(value: Any) -> bool:
    """Whether it is one of SciPy's sparse matrices or arrays, or one with traced entries."""
    if isinstance(value, (SparseTraced, Traced, np.ndarray)):
        return type(value) is SparseTraced
    module = sys.modules.get("scipy.sparse")
    return module is not None and bool(module.issparse(value))


class SparseTraced:
    """A sparse matrix with traced entries.

    entries: one number an entry, in the order of the pattern, which says where they are. form: the
    format that SciPy's matrix would have, where it is not that of the pattern.
    """

    # As SciPy's own have it: arrays leave operators to it, and NumPy's functions ask its methods.
    __array_priority__ = 10.1
    takes_traced: Final = True
    __slots__ = ("__weakref__", "entries", "form", "pattern")

    def __init__(self, entries: Any, pattern: Any, form: str | None = None) -> None:
        self.entries, self.pattern, self.form = entries, pattern, form
        if np.shape(entries) != (pattern.nnz,):
            raise ShapeError(
                f"A sparse matrix has one number for each entry; got an array of shape "
                f"{np.shape(entries)} for {pattern.nnz} entries."
            )

    # --- what it is ------------------------------------------------------------------------------

    @property
    def ndim(self) -> int:
        """Two."""
        return 2

    @property
    def shape(self) -> tuple[int, int]:
        """Its rows and columns."""
        height, width = self.pattern.shape
        return int(height), int(width)

    @property
    def dtype(self) -> Any:
        """That of the entries."""
        return self.entries.dtype

    @property
    def format(self) -> str:
        """As SciPy names it."""
        return self.form or str(self.pattern.format)

    @property
    def scipy_class(self) -> type:
        """The class of SciPy's that it would be of."""
        family = "matrix" if is_matrix(self.pattern) else "array"
        kind: type = getattr(scipy_sparse(), f"{self.format}_{family}")
        return kind

    @property
    def places(self) -> tuple[Any, Any]:
        """The row and the column of each entry."""
        return places_of(self.pattern)

    @property
    def data(self) -> Any:
        """The entries, in the order that its format has."""
        self._require_entries("data")
        return self.entries

    @data.setter
    def data(self, values: Any) -> None:
        self._require_entries("data")
        values = as_operand(values)
        if np.shape(values) != (self.pattern.nnz,):
            raise ShapeError(
                f"The data of a sparse matrix with {self.pattern.nnz} entries were set to an array "
                f"of shape {np.shape(values)}."
            )
        self.entries = values

    def _require_entries(self, name: str) -> None:
        if self.form is not None:
            raise refuse_sparse(
                f"{name} of a sparse matrix in the format {self.form!r} with traced entries is not "
                "supported: it holds more than the entries. Write tocsr() or tocoo() first."
            )

    def __getattr__(self, name: str) -> Any:
        if name in _OF_PLACES:
            self._require_entries(name)
            return getattr(self.pattern, name)
        if name.startswith("__") or not hasattr(self.scipy_class, name):
            raise AttributeError(f"{self.scipy_class.__name__!r} object has no attribute {name!r}")
        raise refuse_sparse(
            f"{name} of a sparse matrix with traced entries has no derivative here. Write it with "
            "products, sums, parts and blocks of matrices, or make the matrix dense with toarray()."
        )

    # --- the same entries elsewhere --------------------------------------------------------------

    def canonical(self) -> SparseTraced:
        """Itself, or with the entries at one place added up."""
        several = first_places(self.pattern)
        if several is None:
            return self
        keys, which = several
        total = perform(GATHER_ADD, np.zeros(len(keys), self.dtype), self.entries, which)
        rows, columns = np.divmod(keys, self.shape[1])
        pattern = at_places(rows, columns, self.shape, like=self.pattern)
        return cast("SparseTraced", SparseTraced(total, pattern).asformat(self.pattern.format))

    def moved(self, move: Callable[[Any], Any]) -> Any:
        """What SciPy makes of the matrix by moving entries: a matrix, numbers, or one number."""
        whole = self.canonical()
        return taken(move(whole.pattern), whole.entries, whole.pattern.data)

    @property
    def T(self) -> SparseTraced:
        """Its transpose."""
        return self.transpose()

    def transpose(self, axes: Any = None, copy: bool = False) -> SparseTraced:
        """Its transpose."""
        turned = taken(self.pattern.transpose(), self.entries, self.pattern.data)
        return SparseTraced(turned.entries, turned.pattern, self.form)

    @property
    def H(self) -> SparseTraced:
        """Its conjugate transpose."""
        return self.T.conj()

    def asformat(self, format: str | None, copy: bool = False) -> Any:
        """In another format; itself, or a copy, where that is its own."""
        if format in (None, self.format):
            return self.copy() if copy else self
        return self.moved(lambda pattern: pattern.asformat(format))

    def reshape(self, *shape: Any, **options: Any) -> Any:
        """The entries in another shape."""
        return self.moved(lambda pattern: pattern.reshape(*shape, **options))

    def __getitem__(self, index: Any) -> Any:
        known = known_index(index)
        return self.moved(lambda pattern: pattern.asformat(self.format)[known])

    def diagonal(self, k: int = 0) -> Any:
        """The numbers on a diagonal."""
        return self.moved(lambda pattern: pattern.diagonal(k))

    def toarray(self, order: Any = None, out: Any = None) -> Any:
        """The dense matrix."""
        zeros = np.zeros(self.shape[0] * self.shape[1], self.dtype)
        flat = perform(GATHER_ADD, zeros, self.entries, keys_of(self.pattern))
        return np.reshape(flat, self.shape)

    todense = toarray

    def copy(self) -> SparseTraced:
        """With entries of its own."""
        return SparseTraced(np.copy(self.entries), self.pattern, self.form)

    def _become(self, other: SparseTraced) -> None:
        self.entries, self.pattern, self.form = other.entries, other.pattern, other.form

    def sum_duplicates(self) -> None:
        """Add up the entries at one place."""
        self._become(self.canonical())

    def sort_indices(self) -> None:
        """Bring the entries of each row or column in order."""
        pattern = self.pattern.copy()
        pattern.sort_indices()
        self._become(taken(pattern, self.entries))

    def eliminate_zeros(self) -> None:
        """Nothing: a traced entry stays an entry where its value happens to be zero."""

    def setdiag(self, values: Any, k: int = 0) -> None:
        """Put numbers on a diagonal, in place of what is there."""
        whole = self.canonical()
        rows, columns = whole.places
        length = min(self.shape[0] + min(k, 0), self.shape[1] - max(k, 0))
        values = as_operand(values)
        values = np.broadcast_to(values, (length,)) if np.ndim(values) == 0 else values[:length]
        first = np.arange(np.shape(values)[0])
        # Fewer values than places leave what is further along the diagonal as it is.
        others = (columns - rows != k) | (np.minimum(rows, columns) >= len(first))
        entries = np.concatenate([whole.entries[others], values])
        rows = np.concatenate([rows[others], first + max(0, -k)])
        columns = np.concatenate([columns[others], first + max(0, k)])
        pattern = at_places(rows, columns, self.shape, self.pattern)
        self._become(SparseTraced(entries, pattern).asformat(self.format))

    # --- each entry by itself --------------------------------------------------------------------

    def mapped(self, function: Callable[[Any], Any]) -> SparseTraced:
        """A function of each entry, which is zero at zero."""
        whole = self.canonical()
        return SparseTraced(function(whole.entries), whole.pattern, self.form)

    def conj(self, copy: bool = True) -> SparseTraced:
        """The conjugate entries."""
        return SparseTraced(np.conjugate(self.entries), self.pattern, self.form)

    conjugate = conj

    @property
    def real(self) -> SparseTraced:
        """The real parts."""
        return SparseTraced(np.real(self.entries), self.pattern, self.form)

    @property
    def imag(self) -> SparseTraced:
        """The imaginary parts."""
        return SparseTraced(np.imag(self.entries), self.pattern, self.form)

    def astype(self, dtype: Any, casting: str = "unsafe", copy: bool = True) -> SparseTraced:
        """In another dtype."""
        return SparseTraced(self.entries.astype(dtype), self.pattern, self.form)

    def power(self, n: Any, dtype: Any = None) -> SparseTraced:
        """Each entry to a power that is not zero."""
        if np.ndim(n) or not n:
            raise NotImplementedError("input is not scalar" if np.ndim(n) else "zero power")
        return self.mapped(lambda entries: entries**n)

    def __abs__(self) -> SparseTraced:
        return self.mapped(np.abs)

    def __neg__(self) -> SparseTraced:
        return SparseTraced(-self.entries, self.pattern, self.form)

    def scaled(self, factor: Any) -> SparseTraced:
        """A multiple of it."""
        return SparseTraced(self.entries * factor, self.pattern, self.form)

    def multiply(self, other: Any) -> SparseTraced:
        """Each entry times the one at the same place, of a sparse matrix or a dense array."""
        if is_sparse(other):
            return common(self, as_traced(other))
        other = as_operand(other)
        if np.ndim(other) == 0:
            return self.scaled(other)
        whole = self.canonical()
        part = taken(whole.pattern.multiply(np.ones(np.shape(other), np.int64)), whole.entries)
        factors = np.broadcast_to(other, part.shape)[part.places]
        return SparseTraced(part.entries * factors, part.pattern)

    # --- sums ------------------------------------------------------------------------------------

    def sum(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        """The sum of all entries, or of those in each column (axis 0) or row (axis 1)."""
        shape = np.shape(self.pattern.sum(axis))  # SciPy looks at the axis
        if not shape:
            return np.sum(self.entries)
        kept = 1 if axis in (0, -2, (0,), (-2,)) else 0
        zero = np.zeros(self.shape[kept], self.dtype)
        total = perform(GATHER_ADD, zero, self.entries, self.places[kept])
        return np.reshape(total, shape)

    def mean(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        """The sum over the number of places."""
        total = self.sum(axis)
        return total / float(np.prod(self.shape) // max(np.size(total), 1))

    def trace(self, offset: int = 0) -> Any:
        """The sum of a diagonal."""
        return np.sum(self.diagonal(offset))

    def __add__(self, other: Any) -> Any:
        if is_sparse(other):
            return added(self, as_traced(other))
        if isinstance(other, (int, float)) and other == 0:
            return self.copy()
        if np.ndim(other):
            return self.toarray() + other
        if isinstance(other, (Traced, np.generic, int, float, complex)):
            raise NotImplementedError("adding a nonzero scalar to a sparse array is not supported")
        return NotImplemented

    def __radd__(self, other: Any) -> Any:
        if is_sparse(other):
            return added(as_traced(other), self)
        return self + other

    def __sub__(self, other: Any) -> Any:
        return self + (-other)

    def __rsub__(self, other: Any) -> Any:
        return (-self).__radd__(other)

    # --- products --------------------------------------------------------------------------------

    def dot(self, other: Any) -> Any:
        """The product with a vector or a matrix."""
        return self.scaled(other) if np.ndim(other) == 0 else self @ other

    def __matmul__(self, other: Any) -> Any:
        return times(self, other)

    def __rmatmul__(self, other: Any) -> Any:
        if is_sparse(other):
            return times(as_traced(other), self)
        return times(self.T, np.transpose(as_operand(other))).T

    def __mul__(self, other: Any) -> Any:
        if np.ndim(other) and is_matrix(self.pattern):
            return self @ other
        return self.multiply(other)

    def __rmul__(self, other: Any) -> Any:
        if np.ndim(other) and is_matrix(self.pattern):
            return other @ self
        return self.multiply(other)

    def __truediv__(self, divisor: Any) -> Any:
        if is_sparse(divisor):
            raise refuse_sparse(
                "The quotient of two sparse matrices is dense, and has no derivative here. Divide "
                "by dense arrays, or make the matrices dense with toarray()."
            )
        if np.ndim(divisor):
            return self.multiply(1 / as_operand(divisor))
        # Asked of SciPy, which divides by a number in double precision.
        one = scipy_sparse().csr_array(np.ones((1, 1), self.dtype))
        dtype = (one / np.ones((), np.result_type(divisor))[()]).dtype
        return self.astype(dtype).multiply(1 / as_operand(divisor))

    def __pow__(self, exponent: Any) -> Any:
        if not is_matrix(self.pattern):
            return self.power(exponent)
        if self.shape[0] != self.shape[1] or int(exponent) != exponent or exponent < 1:
            raise refuse_sparse(
                "A power of a sparse matrix with traced entries is that of a square matrix, with a "
                "whole positive exponent."
            )
        return reduce(operator.matmul, [self] * int(exponent))


# --- what SciPy made of numbers -------------------------------------------------------------------


def as_traced(matrix: Any) -> SparseTraced:
    """One of SciPy's as one of ours."""
    if isinstance(matrix, SparseTraced):
        return matrix
    if matrix.ndim != 2:
        raise ShapeError(f"A sparse array of {matrix.ndim} axes; products take two.")
    entries = by_entry(matrix)
    form = None if entries.format == matrix.format else matrix.format
    return SparseTraced(entries.data, numbered(entries), form)


def entries_of(matrix: Any) -> tuple[Any, Any, Any]:
    """The entries of a sparse matrix, their rows and their columns."""
    matrix = as_traced(matrix)
    return (matrix.entries, *matrix.places)


def taken(result: Any, pool: Any, numbers: Any = None) -> Any:
    """What SciPy made of the numbers of entries, with the entries themselves.

    result: a sparse matrix, an array or one number: k stands for entry k - 1 of the pool, and 0,
    where no entry came, for zero. numbers: the array of them that SciPy was given, if there was
    one. Entries of which SciPy made a copy are a copy: what is written to one is not in the other.
    """
    if not is_sparse(result):
        return at(pool, np.asarray(result))
    if result.ndim == 1:
        return SparseVectorTraced(taken(result.reshape((1, -1)), pool))
    matrix = by_entry(result)
    form = None if matrix.format == result.format else result.format
    entries = at(pool, matrix.data)
    if entries is pool and not (numbers is not None and np.may_share_memory(numbers, matrix.data)):
        entries = np.copy(entries)
    return SparseTraced(entries, numbered(matrix), form)


def at(pool: Any, numbers: Any) -> Any:
    """Entry k - 1 of the pool for each number k, and zero for 0."""
    count = np.shape(pool)[0]
    numbers = numbers.astype(np.int64)  # a matrix without entries is of floats
    if numbers.shape == (count,) and np.array_equal(numbers, np.arange(1, count + 1)):
        return pool
    if numbers.all():
        return pool[numbers - 1]
    return np.concatenate([np.zeros(1, pool.dtype), pool])[numbers]


def added(one: SparseTraced, other: SparseTraced) -> SparseTraced:
    """The sum of two, whose pattern has the places of both."""
    return joined(one, other, np.add)


def joined(
    one: SparseTraced, other: SparseTraced, function: Callable[[Any, Any], Any]
) -> SparseTraced:
    """A function of two entry by entry, zero where both are; zero stands for entries missing."""
    if one.shape != other.shape:
        raise ValueError("inconsistent shapes")
    one, other = one.canonical(), other.canonical()
    pattern = numbered(by_entry(ones(one.pattern) + ones(other.pattern)))
    where = keys_of(pattern)
    left, right = (at(part.entries, found_at(part.pattern, where)) for part in (one, other))
    return SparseTraced(function(left, right), pattern)


def common(one: SparseTraced, other: SparseTraced) -> SparseTraced:
    """The entrywise product of two, whose pattern has the places that both have."""
    one, other = one.canonical(), other.canonical()
    left = by_entry(one.pattern.multiply(ones(other.pattern)))
    right = by_entry(ones(one.pattern).multiply(other.pattern))
    return SparseTraced(at(one.entries, left.data) * at(other.entries, right.data), numbered(left))


def times(matrix: Any, x: Any) -> Any:
    """The product of a sparse matrix and a vector, a dense matrix or a sparse one."""
    if isinstance(x, SparseVectorTraced):
        return SparseVectorTraced(times(matrix, x.row.T).T)
    fits = np.ndim(x) in (1, 2) and np.shape(x)[0] == matrix.shape[1]
    x = x if is_sparse(x) else as_operand(x)
    if not fits:
        raise ShapeError(
            f"matmul: a sparse matrix of shape {matrix.shape} does not fit an array of shape "
            f"{x.shape if is_sparse(x) else np.shape(x)}."
        )
    if is_sparse(x):
        return sparse_times(as_traced(matrix), as_traced(x))
    wide = x if x.ndim == 2 else np.reshape(x, (-1, 1))
    product = perform(SPARSE_PRODUCT, *entries_of(matrix), wide, height=int(matrix.shape[0]))
    return product if x.ndim == 2 else np.reshape(product, (-1,))


def sparse_times(left: SparseTraced, right: SparseTraced) -> SparseTraced:
    """The product of two sparse matrices."""
    pattern = numbered(by_entry(ones(left.pattern) @ ones(right.pattern)))
    operands = (*entries_of(left), *entries_of(right), *places_of(pattern))
    entries = perform(SPARSE_ENTRIES, *operands, sizes=(left.shape[0], *right.shape))
    return SparseTraced(entries, pattern)
