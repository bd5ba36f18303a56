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

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np

from adjoint.primitives.linear_algebra.sparse.factors import Factors

_BLOCK = 64  # right-hand sides that are solved for at once


def _same_rows(lower: Any) -> Any:
    """The first columns of groups that have the same rows below them, and where the last one ends.

    A column belongs to the group of the next one if its first row is that one, and if it has one
    row more: elimination has made the others those of the next column.
    """
    lengths = np.diff(lower.indptr)
    joins = np.zeros(len(lengths), bool)  # column j to j + 1
    longer = lengths[:-1] == lengths[1:] + 1
    candidates = np.flatnonzero(longer)
    below = lower.indices[lower.indptr[candidates] + 1]
    joins[candidates] = below == candidates + 1
    starts = np.flatnonzero(~np.concatenate([[False], joins[:-1]]))
    return np.append(starts, len(lengths))


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
    linalg = import_module("scipy.linalg")
    inverse = _Inverse(lower)
    bounds = _same_rows(lower)
    for first, end in zip(bounds[-2::-1], bounds[:0:-1], strict=True):
        width, start = end - first, lower.indptr[first]
        rows = lower.indices[start : lower.indptr[first + 1]].astype(np.int64)
        columns = np.arange(first, end)
        block = np.zeros((len(rows), width))  # L of these columns, rows J above rows S
        for number, column in enumerate(columns):
            block[number:, number] = lower.data[lower.indptr[column] : lower.indptr[column + 1]]
        unit = linalg.solve_triangular(
            block[:width], np.eye(width), lower=True, unit_diagonal=True, check_finite=False
        )
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
        inverse = _solved_on_pattern(*symmetric)
        if inverse is not None:
            order = factors.lu.perm_c.astype(np.int64)
            places = inverse.places(order[rows], order[columns])
            if places is not None:
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
