"""Where the entries of sparse matrices lie: what SciPy does with a matrix that numbers its entries.

A pattern is a matrix of SciPy's whose k-th entry, in the order of its data, is k + 1. Whatever
moves entries about (a transpose, a part, a stack of blocks, another format) is asked of SciPy on
such a matrix, and the numbers in the result say where each entry has come from.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

import numpy as np

from adjoint.capture.recording.tracing.applying import concrete
from adjoint.capture.recording.tracing.traced import Traced

# Methods that are functions of each entry, and keep zeros.
KEEPING_ZERO: Final = (
    *("sin", "tan", "arcsin", "arctan", "sinh", "tanh", "arcsinh", "arctanh", "expm1", "log1p"),
    *("sqrt", "deg2rad", "rad2deg", "rint", "sign", "floor", "ceil", "trunc"),
)
_BY_ENTRY: Final = frozenset({"csr", "csc", "coo"})


def scipy_sparse() -> Any:
    """SciPy's module of sparse matrices, which takes longer to import than all of adjoint."""
    return import_module("scipy.sparse")


def numbered(matrix: Any) -> Any:
    """The same matrix with numbers from 1 on for entries, in the order of its data."""
    numbers = np.arange(1, matrix.nnz + 1)
    if matrix.format == "coo":
        return type(matrix)((numbers, matrix.coords), shape=matrix.shape)
    pattern = type(matrix)((numbers, matrix.indices, matrix.indptr), shape=matrix.shape)
    pattern.has_sorted_indices = matrix.has_sorted_indices
    return pattern


def at_places(rows: Any, columns: Any, shape: Any, like: Any = None) -> Any:
    """A pattern with entries at these places, in this order, of the family of another."""
    sparse = scipy_sparse()
    kind = sparse.coo_matrix if is_matrix(like) else sparse.coo_array
    return kind((np.arange(1, len(rows) + 1), (rows, columns)), shape=shape)


def is_matrix(pattern: Any) -> bool:
    """Whether it is of SciPy's older family of classes, of which `*` is the product of matrices."""
    return isinstance(pattern, scipy_sparse().spmatrix)


def by_entry(matrix: Any) -> Any:
    """The matrix in a format that has one number for each entry: itself, or by coordinates.

    A diagonal format holds places outside of the matrix too, and one of blocks zeros.
    """
    if matrix.format in _BY_ENTRY:
        return matrix
    coordinates = matrix.tocoo()
    there = coordinates.data != 0
    if there.all():
        return coordinates
    places = tuple(place[there] for place in coordinates.coords)
    return type(coordinates)((coordinates.data[there], places), shape=coordinates.shape)


def places_of(pattern: Any) -> tuple[Any, Any]:
    """The row and the column of each entry, in the order of the data."""
    coordinates = pattern.tocoo(copy=False)
    rows, columns = coordinates.coords
    return rows, columns


def keys_of(pattern: Any) -> Any:
    """A number for the place of each entry: row by row."""
    rows, columns = places_of(pattern)
    return rows.astype(np.int64) * pattern.shape[1] + columns


def first_places(pattern: Any) -> tuple[Any, Any] | None:
    """Places in order, and which of them each entry has; None if no two entries share one."""
    if pattern.format != "coo" and pattern.has_canonical_format:
        return None
    keys, which = np.unique(keys_of(pattern), return_inverse=True)
    return None if len(keys) == pattern.nnz else (keys, which)


def ones(pattern: Any) -> Any:
    """The pattern with ones in it, of which products and sums never cancel."""
    counting = pattern.copy()
    counting.data = np.ones(pattern.nnz, np.int64)
    return counting


def found_at(pattern: Any, keys: Any) -> Any:
    """For each place, given by its key, the number of the entry there; 0 if there is none."""
    own = keys_of(pattern)
    if not len(own):
        return np.zeros(len(keys), np.int64)
    order = np.argsort(own, kind="stable")
    near = np.minimum(np.searchsorted(own, keys, sorter=order), len(own) - 1)
    return np.where(own[order][near] == keys, order[near] + 1, 0)


def known_index(index: Any) -> Any:
    """What names a part of a matrix, whose traced numbers are asked for."""
    if isinstance(index, tuple):
        return tuple(map(known_index, index))
    return concrete(index) if type(index) is Traced else index
