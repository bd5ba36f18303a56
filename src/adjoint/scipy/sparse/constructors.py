"""`scipy.sparse`: matrices made of traced numbers, and of blocks with traced entries.

SciPy is given the numbers of the entries for entries, and what it makes of these says where the
entries themselves go: its checks, errors, orders and formats are its own.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from adjoint.capture.numpy.table import as_array
from adjoint.capture.recording.tracing.applying import concrete
from adjoint.capture.recording.tracing.traced import Traced
from adjoint.capture.scipy.refusing import refuse_sparse
from adjoint.capture.scipy.sparse_matrix import (
    SparseTraced,
    as_traced,
    at,
    is_sparse,
    taken,
)
from adjoint.capture.scipy.sparse_patterns import by_entry, ones, scipy_sparse
from adjoint.capture.scipy.sparse_patterns import numbered as with_numbers
from adjoint.capture.scipy.table import implements_scipy, refuses_scipy


class _Pool:
    """Entries of several matrices and arrays one after the other, numbered from 1 on."""

    def __init__(self) -> None:
        self.parts: list[Any] = []
        self.count = 0
        self.last: Any = None  # numbers

    def _next(self, values: Any) -> Any:
        values = np.reshape(values, (-1,))
        self.parts.append(values)
        first, self.count = self.count, self.count + values.shape[0]
        self.last = np.arange(first + 1, self.count + 1)
        return self.last

    def numbers(self, value: Any) -> Any:
        """The same matrix, array, number or list of such, with numbers for entries."""
        if value is None:
            return None
        if is_sparse(value):
            matrix = as_traced(value).canonical()
            pattern = matrix.pattern.copy()
            pattern.data = self._next(matrix.entries)
            return pattern
        if isinstance(value, (list, tuple)) or (
            isinstance(value, np.ndarray) and value.dtype == object
        ):
            return [self.numbers(part) for part in value]
        value = as_array(value)
        return self._next(value).reshape(np.shape(value))[()]

    def taken(self, matrix: Any, dtype: Any = None) -> Any:
        """What SciPy made of the numbers, with the entries."""
        parts = self.parts
        entries = parts[0] if len(parts) == 1 else np.concatenate(parts)
        return taken(matrix, entries if dtype is None else entries.astype(dtype), self.last)


def _whole(values: Any) -> Any:
    return np.asarray(concrete(values)) if type(values) is Traced else values


def _declare(name: str) -> None:
    """A class of SciPy's: from entries with their places, from a dense matrix, or a sparse one."""
    family = name.partition("_")[2]

    def function(arg1: Any, shape: Any = None, dtype: Any = None, copy: bool = False) -> Any:
        kind, pool = getattr(scipy_sparse(), name), _Pool()
        by_coordinates = getattr(scipy_sparse(), f"coo_{family}")
        if is_sparse(arg1):
            matrix = as_traced(arg1).moved(lambda pattern: kind(pattern, copy=copy))
            return matrix if dtype is None else matrix.astype(dtype)
        if not isinstance(arg1, tuple):
            return pool.taken(kind(pool.numbers(as_array(arg1)), shape), dtype)
        places = [
            tuple(map(_whole, part)) if isinstance(part, tuple) else _whole(part)
            for part in arg1[1:]
        ]
        if len(arg1) == 2 and not name.startswith("dia"):  # SciPy would add numbers at one place
            numbers = pool.numbers(as_array(arg1[0]))
            matrix = pool.taken(by_coordinates((numbers, *places), shape), dtype)
            return matrix if name.startswith("coo") else matrix.moved(kind)
        numbers = pool.numbers(as_array(arg1[0]))
        return pool.taken(kind((numbers, *places), shape, copy=copy), dtype)

    function.__name__ = name
    implements_scipy("sparse", name)(function)


for _kind in ("csr", "csc", "coo", "dia", "bsr", "lil", "dok"):
    for _family in ("array", "matrix"):
        _declare(f"{_kind}_{_family}")


def _declare_moving(name: str) -> Any:
    """A function that puts entries of its first argument into a matrix."""

    def function(*args: Any, **kwargs: Any) -> Any:
        original, pool = getattr(scipy_sparse(), name), _Pool()
        given = inspect.signature(original).bind(*args, **kwargs)
        first, *_ = given.arguments
        dtype = given.arguments.pop("dtype", None)
        for argument, value in given.arguments.items():
            given.arguments[argument] = pool.numbers(value) if argument == first else _whole(value)
        if name.startswith("diags"):
            given.arguments["dtype"] = np.int64
        return pool.taken(original(*given.args, **given.kwargs), dtype)

    function.__name__ = name
    return implements_scipy("sparse", name)(function)


for _name in (
    *("diags", "diags_array", "spdiags", "tril", "triu"),
    *("hstack", "vstack", "bmat", "block_diag"),
):
    _declare_moving(_name)
block_array = _declare_moving("block_array")


@implements_scipy("sparse")
def kron(A: Any, B: Any, format: Any = None) -> Any:
    """Kronecker's product: entries are products of one of each."""
    one, other = (as_matrix(matrix).canonical() for matrix in (A, B))
    product = scipy_sparse().kron
    left = by_entry(product(one.pattern, ones(other.pattern), format))
    right = by_entry(product(ones(one.pattern), other.pattern, format))
    entries = at(one.entries, left.data) * at(other.entries, right.data)
    return SparseTraced(entries, with_numbers(left), None if format == left.format else format)


def as_matrix(value: Any) -> SparseTraced:
    """A sparse matrix, or a dense one as one with all entries."""
    if is_sparse(value):
        return as_traced(value)
    pool = _Pool()
    return pool.taken(scipy_sparse().coo_matrix(pool.numbers(value)))  # type: ignore[no-any-return]


@implements_scipy("sparse")
def kronsum(A: Any, B: Any, format: Any = None) -> Any:
    """Kronecker's sum: kron(I, A) + kron(B, I)."""
    one, other = map(as_matrix, (A, B))
    identity = scipy_sparse().eye_array
    left = kron(identity(other.shape[0]), one)
    right = kron(other, identity(one.shape[0]))
    return (left + right).asformat(format or "csr")


@implements_scipy("sparse")
def find(A: Any) -> Any:
    """Rows, columns and entries; an entry that happens to be zero is one."""
    whole = as_matrix(A).canonical().tocoo()
    return (*whole.places, whole.entries)


def issparse(x: Any) -> bool:
    """Whether it is a sparse matrix."""
    return is_sparse(x)


for _part in ("sparse", "_lib._sparse"):  # where its module says that it is
    implements_scipy(_part)(issparse)


@implements_scipy("sparse")
def isspmatrix(x: Any) -> bool:
    """Whether it is a sparse matrix of SciPy's older family."""
    return is_sparse(x) and as_traced(x).scipy_class.__name__.endswith("matrix")


def _declare_asking(form: str) -> None:
    def function(x: Any) -> bool:
        return bool(isspmatrix(x)) and bool(as_traced(x).format == form)

    implements_scipy("sparse", f"isspmatrix_{form}")(function)


for _form in ("csr", "csc", "coo", "dia", "bsr", "lil", "dok"):
    _declare_asking(_form)


@implements_scipy("sparse.linalg")
def norm(x: Any, ord: Any = None, axis: Any = None) -> Any:
    """The norm of Frobenius, and the largest sum of sizes in a column or a row; or all sums."""
    whole = as_traced(x).canonical()
    if axis is None and ord in (None, "fro", "f"):
        return np.linalg.norm(whole.entries)
    if axis is None and ord in (1, np.inf):
        return np.max(abs(whole).sum(axis=0 if ord == 1 else 1))
    if axis in (0, 1, -1, -2) and ord in (1, np.inf):
        sizes = abs(whole)
        return np.ravel(sizes.sum(axis) if ord == 1 else sizes.max(axis).toarray())
    raise refuse_sparse(
        "scipy.sparse.linalg.norm of a matrix with traced entries takes the norm of Frobenius of "
        "the whole matrix, and ord=1 and ord=np.inf of it, or along an axis."
    )


for _part, _names in {
    "_shortest_path": "shortest_path dijkstra floyd_warshall bellman_ford johnson yen",
    "_min_spanning_tree": "minimum_spanning_tree",
    "_flow": "maximum_flow",
}.items():
    refuses_scipy(
        f"sparse.csgraph.{_part}",
        "it chooses edges in compiled code. Choose them with ad.stop_gradient(A.data) in place of "
        "A.data, and add up the entries of A at the edges that were chosen",
        *_names.split(),
    )
