"""The factors that SuperLU makes of a sparse matrix: made once for all that asks for them.

A program has arrays alone, so that factors are no value in it. They are kept beside the numbers
they were made of, and found by these: the value, the derivative, its adjoint and further ones at
the same point factorise once.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any, Final

import numpy as np

from adjoint.base.errors import SingularError

# How many factorisations are kept, and how many numbers in all of them but the latest.
KEPT: Final = 4
NUMBERS_LIMIT: Final = 1 << 24

# The orders in which SuperLU may eliminate, as SciPy names them; and that of matrices whose
# pattern is symmetric and whose diagonal can do without pivots, as that of positive definite ones:
# it fills in half as much.
DEFAULT_ORDER: Final = "COLAMD"
SYMMETRIC_ORDER: Final = "symmetric"
_SYMMETRIC: Final = {
    "permc_spec": "MMD_AT_PLUS_A",
    "diag_pivot_thresh": 0.0,
    "options": {"SymmetricMode": True},
}
_ROUNDING: Final = 1e-12  # by which entries that should be equal may differ
_DOUBT: Final = 1e-3
_DIGIT: Final = 0.1
_RESIDUAL: Final = 1e-11  # of |A| |x| + |b|, that elimination along the diagonal may leave


@dataclass(frozen=True)
class Factors:
    """A = Pr^T L U Pc^T, as SuperLU has it.

    entries, rows, columns, elimination: copies of what they were made of. scales: the largest sizes
    in the rows of the matrix and in its columns.
    """

    entries: Any
    rows: Any
    columns: Any
    elimination: str
    lu: Any
    matrix: Any
    scales: tuple[Any, Any]

    def are_of(self, entries: Any, rows: Any, columns: Any, size: int, orders: Any) -> bool:
        """Whether they are the factors of this matrix, by one of these orders."""
        return (
            self.elimination in orders
            and self.lu.shape[0] == size
            and self.entries.dtype == entries.dtype
            and np.array_equal(self.entries, entries)
            and np.array_equal(self.rows, rows)
            and np.array_equal(self.columns, columns)
        )

    @cached_property
    def pivots(self) -> Any:
        """The diagonal of U, in the order of elimination."""
        return self.lu.U.diagonal()

    @cached_property
    def symmetric(self) -> tuple[Any, Any] | None:
        """L and D, for a real symmetric matrix that was eliminated along its diagonal."""
        along = np.array_equal(self.lu.perm_r, self.lu.perm_c)
        if not (along and is_symmetric(self.matrix)):
            return None
        lower = self.lu.L.tocsc()
        lower.sort_indices()
        return lower, self.pivots

    def solve(self, right: Any, adjoint: bool) -> Any:
        """The solutions of A x = b, or of A^H x = b, for columns b.

        SingularError where rounding is all there is to them.
        """
        solution = self._substituted(right, adjoint)
        self._refuse_rounding(right, solution, adjoint)
        return solution

    def _substituted(self, right: Any, adjoint: bool) -> Any:
        trans = "H" if adjoint else "N"
        if right.dtype.kind == "c" and self.entries.dtype.kind != "c":
            parts = self.lu.solve(np.hstack([right.real, right.imag]), trans)
            real, imaginary = np.split(parts, 2, axis=1)
            return real + 1j * imaginary
        return self.lu.solve(np.asarray(right, self.entries.dtype), trans)

    def _refuse_rounding(self, right: Any, solution: Any, adjoint: bool) -> None:
        """SingularError where a solution has no digit that is not rounding.

        It may be so where |A| |x| is as large as b / eps, equations being brought to one scale.
        There what is left is solved for once more: the correction says how much was right.
        """
        scale, other = self.scales[::-1] if adjoint else self.scales
        sums = np.max(self._sizes(adjoint) @ np.abs(solution) / scale[:, None], axis=0, initial=0.0)
        given = np.max(np.abs(right) / scale[:, None], axis=0, initial=0.0)
        doubtful = np.flatnonzero(sums > _DOUBT / np.finfo(float).eps * given)
        if not len(doubtful):
            return
        chosen = solution[:, doubtful]
        rest = right[:, doubtful] - (self.matrix.conj().T if adjoint else self.matrix) @ chosen
        correction = self._substituted(rest, adjoint)
        errors, lengths = (np.max(np.abs(x) * other[:, None], axis=0) for x in (correction, chosen))
        lost = np.flatnonzero(errors > _DIGIT * lengths)
        if len(lost):
            number = doubtful[lost[0]]
            raise SingularError(
                f"A sparse linear system of {len(scale)} unknowns is singular to working precision:"
                f" |A| |x| is {sums[number]:.1e} where b is {given[number]:.1e}, and one step of "
                f"refinement changes x by {errors[lost[0]] / lengths[lost[0]]:.1e} of it. There a "
                "solution has no derivative."
            )

    def _sizes(self, adjoint: bool) -> Any:
        sizes = abs(self.matrix)
        return sizes.T if adjoint else sizes

    def are_accurate(self, right: Any, solution: Any, adjoint: bool) -> bool:
        """Whether a solution leaves no more than rounding does."""
        matrix = self.matrix.conj().T if adjoint else self.matrix
        sums = self._sizes(adjoint) @ np.abs(solution) + np.abs(right)
        return bool(np.all(np.abs(right - matrix @ solution) <= _RESIDUAL * np.max(sums)))


def is_symmetric(matrix: Any) -> bool:
    """Whether a matrix is real and, but for rounding, its own transpose."""
    if matrix.dtype.kind == "c":
        return False
    largest = np.max(np.abs(matrix.data), initial=0.0)
    return bool(np.max(np.abs((matrix - matrix.T).data), initial=0.0) <= _ROUNDING * largest)


def _factorise(entries: Any, rows: Any, columns: Any, size: int, elimination: str) -> Factors:
    sparse, solvers = (import_module(name) for name in ("scipy.sparse", "scipy.sparse.linalg"))
    matrix = sparse.csc_array((entries, (rows, columns)), (size, size))
    sizes = abs(matrix)
    scales = tuple(sizes.max(axis=axis).toarray().ravel() for axis in (1, 0)) if size else ([], [])
    for name, scale in zip(("row", "column"), scales, strict=True):
        if not np.all(scale != 0):
            raise SingularError(
                f"A sparse linear system of {size} unknowns has no single solution: {name} "
                f"{np.flatnonzero(scale == 0)[0]} of its matrix is zero."
            )
    options: Any = _SYMMETRIC if elimination == SYMMETRIC_ORDER else {"permc_spec": elimination}
    try:
        lu = solvers.splu(matrix, **options)
    except RuntimeError as error:
        raise SingularError(
            f"A sparse linear system of {size} unknowns has no single solution: {error}."
        ) from None
    held = [np.array(given) for given in (entries, rows, columns)]
    return Factors(held[0], held[1], held[2], elimination, lu, matrix, scales)


def _by_default(entries: Any, rows: Any, columns: Any, size: int) -> Factors:
    """By the symmetric order where that may do: `solve` looks at what it leaves."""
    matrix = import_module("scipy.sparse").csc_array((entries, (rows, columns)), (size, size))
    if np.all(matrix.diagonal() > 0) and is_symmetric(matrix):
        with suppress(SingularError):
            return _factorise(entries, rows, columns, size, SYMMETRIC_ORDER)
    return _factorise(entries, rows, columns, size, DEFAULT_ORDER)


_kept: list[Factors] = []
_lock = threading.Lock()


def factors_of(
    entries: Any, rows: Any, columns: Any, size: int, elimination: str | None
) -> Factors:
    """The factors of a square matrix in double precision, those kept if it is one of the latest.

    elimination: the order; None where nobody has chosen one.
    """
    kind = complex if entries.dtype.kind == "c" else float
    given = (np.asarray(entries, kind), np.asarray(rows), np.asarray(columns))
    orders = (DEFAULT_ORDER, SYMMETRIC_ORDER) if elimination is None else (elimination,)
    with _lock:
        latest = list(_kept)
    for known in latest:
        if known.are_of(*given, size, orders):
            return known
    if elimination is None:
        factors = _by_default(*given, size)
    else:
        factors = _factorise(*given, size, elimination)
    with _lock:
        _kept.insert(0, factors)
        total, count = 0, 1
        for older in _kept[1:KEPT]:
            total += older.lu.nnz
            if total > NUMBERS_LIMIT:
                break
            count += 1
        del _kept[count:]
    return factors


def solved(
    entries: Any, rows: Any, columns: Any, right: Any, adjoint: bool, elimination: str | None
) -> Any:
    """The solutions for columns of a right-hand side."""
    size = right.shape[0]
    factors = factors_of(entries, rows, columns, size, elimination)
    solution = factors.solve(right, adjoint)
    unasked = elimination is None and factors.elimination == SYMMETRIC_ORDER
    if unasked and not factors.are_accurate(right, solution, adjoint):  # it needs pivots
        with _lock:
            _kept[:] = [known for known in _kept if known is not factors]
        factors = factors_of(entries, rows, columns, size, DEFAULT_ORDER)
        solution = factors.solve(right, adjoint)
    return solution
