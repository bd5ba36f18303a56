"""`scipy.linalg`: banded systems, solved densely if they are small, and else as sparse ones."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from adjoint.capture.numpy.table import as_operand, perform
from adjoint.capture.scipy.table import implements_scipy
from adjoint.primitives.linear_algebra.banded import DEFINITE_BAND
from adjoint.primitives.linear_algebra.sparse.systems import SPARSE_SOLVE
from adjoint.scipy.linalg.batches import over_batches
from adjoint.scipy.linalg.linear_systems import by_columns, symmetric

_LARGE: Final = 128  # from so many unknowns on a sparse factorisation is faster, and far smaller


def banded(ab: Any, below: int, above: int) -> Any:
    """The matrix whose diagonals stand in the rows of ab."""
    size = ab.shape[-1]
    rows, columns = np.indices((size, size))
    place = above + rows - columns
    inside = (place >= 0) & (place <= below + above)
    return np.where(inside, ab[np.where(inside, place, 0), columns], 0.0)


def _places(size: int, below: int, above: int) -> tuple[Any, Any, Any]:
    """Which entries of ab are in the matrix, and their rows and columns there."""
    numbers, columns = np.indices((below + above + 1, size))
    rows = columns + numbers - above
    inside = (rows >= 0) & (rows < size)
    return inside, rows[inside], columns[inside]


def _solve_sparse(entries: Any, rows: Any, columns: Any, b: Any, elimination: Any) -> Any:
    how = {"adjoint": False, "elimination": elimination}
    return by_columns(lambda right: perform(SPARSE_SOLVE, entries, rows, columns, right, **how), b)


@implements_scipy("linalg")
def solve_banded(
    l_and_u: Any,
    ab: Any,
    b: Any,
    overwrite_ab: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
    """A banded system; of a large one nothing is made that is not banded."""
    below, above = l_and_u
    return _solve_banded(ab, b, int(below), int(above))


@over_batches(ab=2, b="1|2")
def _solve_banded(ab: Any, b: Any, below: int, above: int) -> Any:
    ab = as_operand(ab)
    size = ab.shape[-1]
    if size >= _LARGE:
        inside, rows, columns = _places(size, below, above)
        return _solve_sparse(ab[inside], rows, columns, b, "NATURAL")
    matrix = banded(ab, below, above)
    return by_columns(lambda right: np.linalg.solve(matrix, right), b)


@implements_scipy("linalg")
@over_batches(ab=2, b="1|2")
def solveh_banded(
    ab: Any,
    b: Any,
    overwrite_ab: bool = False,
    overwrite_b: bool = False,
    lower: bool = False,
    check_finite: bool = True,
) -> Any:
    """A Hermitian banded system; of a large one nothing is made that is not banded."""
    ab = as_operand(ab)
    width = ab.shape[0] - 1
    below, above = (width, 0) if lower else (0, width)
    size = ab.shape[-1]
    if size >= _LARGE:
        inside, rows, columns = _places(size, below, above)
        half = ab[inside]
        off = rows != columns
        entries = np.concatenate([half[off], np.conjugate(half[off]), np.real(half[~off])])
        whole_rows = np.concatenate([rows[off], columns[off], rows[~off]])
        whole_columns = np.concatenate([columns[off], rows[off], columns[~off]])
        solution = _solve_sparse(entries, whole_rows, whole_columns, b, None)
        return solution * perform(DEFINITE_BAND, ab, lower=bool(lower))
    matrix = symmetric(banded(ab, below, above), lower, hermitian=True)
    np.linalg.cholesky(matrix)  # which raises where it is not positive definite
    return by_columns(lambda right: np.linalg.solve(matrix, right), b)
