"""The entries of an inverse where its matrix, or its factor, has entries (Takahashi's equations).

Of a symmetric A = L D L^T the inverse Z has Z = D^-1 L^-1 + (I - L^T) Z. Its entries on the pattern
of L follow from one another, the last columns first, without any other entry of it: for columns J
with the same rows S below them, with Y = L_SJ L_JJ^-1,

    Z_SJ = -Z_SS Y,    Z_JJ = L_JJ^-T D_J^-1 L_JJ^-1 - Y^T Z_SJ,

and Z_SS lies on the pattern, as elimination fills it in. That takes about as long as the
factorisation; see A. M. Erisman and W. F. Tinney, "On computing certain elements of the inverse of
a sparse matrix" (1975).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from adjoint.primitives.linear_algebra.sparse.factors import Factors

_BLOCK = 64  # right-hand sides that are solved for at once


def _same_rows(lower: Any) -> Any:
    """The first columns of groups that have the same rows below them, and where the last one ends.

    A column belongs to the group of the next one if that has its rows, but for the first.
    """
    lengths = np.diff(lower.indptr)
    joins = np.append(lengths[:-1] == lengths[1:] + 1, False)  # column j to j + 1
    columns = np.repeat(np.arange(len(lengths)), lengths)
    places = np.arange(len(columns))
    rest = joins[columns] & (places > lower.indptr[columns])  # all but the first rows
    compared = places[rest]
    after = compared + lengths[columns[rest]] - 1
    differ = lower.indices[compared] != lower.indices[after]
    joins[columns[compared[differ]]] = False
    starts = np.flatnonzero(~np.concatenate([[False], joins[:-1]]))
    return np.append(starts, len(lengths))


def _filled_in(lower: Any, matrix: Any, order: Any) -> Any:
    """L with all entries that elimination makes, those too that happen to be zero.

    The rows below column j are those of A, and those of the columns whose first row below is j.
    """
    sparse, size = import_module("scipy.sparse"), lower.shape[0]
    coordinates = matrix.tocoo()
    one, other = (order[places] for places in coordinates.coords)
    ones = np.ones(len(one))
    pattern = sparse.csc_array(
        (ones, (np.maximum(one, other), np.minimum(one, other))), (size, size)
    )
    pattern.sum_duplicates()
    children: list[list[int]] = [[] for _ in range(size)]
    columns: list[Any] = []
    for column in range(size):
        own = pattern.indices[pattern.indptr[column] : pattern.indptr[column + 1]]
        below = (columns[child][1:] for child in children[column])
        rows = np.unique(np.concatenate([[column], own, *below]).astype(np.int64))
        columns.append(rows)
        if len(rows) > 1:
            children[rows[1]].append(column)
    ends = np.concatenate([[0], np.cumsum([len(rows) for rows in columns])])
    filled = sparse.csc_array((np.zeros(ends[-1]), np.concatenate(columns), ends), (size, size))
    numbers = np.arange(size, dtype=np.int64)
    keys = np.repeat(numbers, np.diff(filled.indptr)) * size + filled.indices
    given = np.repeat(numbers, np.diff(lower.indptr)) * size + lower.indices
    filled.data[np.searchsorted(keys, given)] = lower.data
    return filled


def _patterns(lower: Any, matrix: Any, order: Any) -> Iterator[Any]:
    """L as SuperLU gives it, and with the zeros that this leaves away."""
    yield lower
    yield _filled_in(lower, matrix, order)


class _Inverse:
    """Entries of Z on the lower half of a pattern, by column."""

    def __init__(self, lower: Any) -> None:
        size = lower.shape[0]
        columns = np.repeat(np.arange(size), np.diff(lower.indptr))
        self.size = size
        self.keys = columns * size + lower.indices.astype(np.int64)
        self.entries = np.zeros(len(self.keys))

    def places(self, rows: Any, columns: Any) -> Any:
        """Where entries stand; None if one is not on the pattern."""
        keys = np.minimum(rows, columns) * self.size + np.maximum(rows, columns)
        places = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return places if np.array_equal(self.keys[places], keys) else None


def _solved_on_pattern(lower: Any, pivots: Any) -> _Inverse | None:
    """Z on the pattern of L; None if that lacks what elimination has filled in."""
    (invert,) = import_module("scipy.linalg").get_lapack_funcs(("trtri",), dtype=np.dtype(float))
    inverse = _Inverse(lower)
    bounds = _same_rows(lower)
    for first, end in zip(bounds[-2::-1], bounds[:0:-1], strict=True):
        width, start = end - first, lower.indptr[first]
        rows = lower.indices[start : lower.indptr[first + 1]].astype(np.int64)
        columns = np.arange(first, end)
        block = np.zeros((len(rows), width))  # L of these columns, rows J above rows S
        for number, column in enumerate(columns):
            block[number:, number] = lower.data[lower.indptr[column] : lower.indptr[column + 1]]
        unit = block[:width]
        if width > 1:
            unit, _ = invert(unit, lower=1, unitdiag=1)
        corner = unit.T @ (unit / pivots[first:end, None])
        below = rows[width:]
        values = np.empty((len(rows), width))
        if len(below):
            one, other = np.tril_indices(len(below))
            places = inverse.places(below[one], below[other])
            if places is None:
                return None
            whole = np.empty((len(below), len(below)))
            whole[one, other] = whole[other, one] = inverse.entries[places]
            coupling = block[width:] @ unit
            values[width:] = -whole @ coupling
            corner -= coupling.T @ values[width:]
        values[:width] = corner
        for number, column in enumerate(columns):
            at = slice(lower.indptr[column], lower.indptr[column + 1])
            inverse.entries[at] = values[number:, number]
    return inverse


def selected_inverse(factors: Factors, rows: Any, columns: Any) -> Any:
    """The entries of A^-1 at places; by solving for whole columns where A is not symmetric."""
    symmetric = factors.symmetric
    if symmetric is not None:
        order = factors.lu.perm_c.astype(np.int64)
        for lower in _patterns(symmetric[0], factors.matrix, order):
            inverse = _solved_on_pattern(lower, symmetric[1])
            places = None if inverse is None else inverse.places(order[rows], order[columns])
            if inverse is not None and places is not None:
                return inverse.entries[places]
    return inverse_at(factors, (), rows, columns)


def inverse_at(factors: Factors, between: Sequence[Any], rows: Any, columns: Any) -> Any:
    """The entries at places of A^-1, or of A^-1 D A^-1 and so on with the matrices between.

    Whole columns are solved for, of those that are wanted, a block of them at a time.
    """
    size = factors.lu.shape[0]
    order = np.argsort(columns, kind="stable")
    needed, starts = np.unique(columns[order], return_index=True)
    starts = np.append(starts, len(order))
    dtype = np.result_type(factors.entries, float)
    entries = np.empty(len(rows), dtype)
    for first in range(0, len(needed), _BLOCK):
        chosen = needed[first : first + _BLOCK]
        unit = np.zeros((size, len(chosen)), dtype)
        unit[chosen, np.arange(len(chosen))] = 1
        solution = factors.solve(unit, False)
        for middle in reversed(between):
            solution = factors.solve(np.asarray(middle @ solution), False)
        places = order[starts[first] : starts[first + len(chosen)]]
        entries[places] = solution[rows[places], np.searchsorted(chosen, columns[places])]
    return entries
