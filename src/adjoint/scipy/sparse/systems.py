"""`scipy.sparse.linalg`: systems with a sparse matrix, solved by its factors."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.base.errors import ShapeError
from adjoint.capture.numpy.table import as_array, perform
from adjoint.capture.scipy.refusing import refuse_sparse
from adjoint.capture.scipy.sparse_matrix import (
    SparseTraced,
    as_traced,
    entries_of,
    is_sparse,
)
from adjoint.capture.scipy.sparse_patterns import scipy_sparse
from adjoint.capture.scipy.table import implements_scipy, refuses_scipy
from adjoint.primitives.linear_algebra.sparse.factored import FACTORED, KnownFactors
from adjoint.primitives.linear_algebra.sparse.systems import SPARSE_SOLVE
from adjoint.scipy.objects import stands_in


def _square(A: Any) -> SparseTraced:
    if not is_sparse(A):
        A = scipy_sparse().csc_array(A)
    if A.shape[0] != A.shape[1]:
        raise ValueError(f"matrix must be square (has shape {A.shape})")
    return as_traced(A)


def _solved(b: Any, trans: str, solve: Any) -> Any:
    """Solve with A, its transpose or its adjoint, for vectors as for matrices of one column."""
    if trans not in ("N", "T", "H"):
        raise ValueError("trans must be N, T, or H")
    b = as_array(b)
    wide = b if b.ndim == 2 else np.reshape(b, (-1, 1))
    if trans == "T":  # A^T x = b is A^H conj(x) = conj(b)
        return np.reshape(np.conjugate(solve(np.conjugate(wide), True)), b.shape)
    return np.reshape(solve(wide, trans == "H"), b.shape)


class TracedFactors:
    """What `splu` gives for a matrix with traced entries: its systems, all by one factorisation."""

    def __init__(self, matrix: SparseTraced, elimination: str | None) -> None:
        self._operands = entries_of(matrix)
        self.shape = matrix.shape
        self._elimination = elimination

    def solve(self, rhs: Any, trans: str = "N") -> Any:
        """The solution of A x = b; of A^T x = b for trans = "T", of A^H x = b for "H"."""

        def solve(b: Any, adjoint: bool) -> Any:
            if b.shape[0] != self.shape[0]:
                raise ShapeError(f"b has {b.shape[0]} rows, and the matrix has {self.shape[0]}.")
            how = {"adjoint": adjoint, "elimination": self._elimination}
            return perform(SPARSE_SOLVE, *self._operands, b, **how)

        return _solved(rhs, trans, solve)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in ("L", "U", "perm_r", "perm_c", "nnz"):
            raise AttributeError(f"'SuperLU' object has no attribute {name!r}")
        raise refuse_sparse(
            f"{name} of the factors of a sparse matrix with traced entries has no derivative here. "
            "Their solve has one, and ad.scipy.sparse.log_determinant of the matrix."
        )


class _KnownSuperLU:
    """Ours in the place of what `splu` or `spilu` made of a known matrix."""

    def __init__(self, lu: Any) -> None:
        self._factors = KnownFactors(lu)

    def solve(self, rhs: Any, trans: str = "N") -> Any:
        """The solution of A x = b; of A^T x = b for trans = "T", of A^H x = b for "H"."""
        return _solved(
            rhs,
            trans,
            lambda b, adjoint: perform(FACTORED, b, factors=self._factors, adjoint=adjoint),
        )


stands_in(_KnownSuperLU, "SuperLU")


@implements_scipy("sparse.linalg")
def splu(
    A: Any,
    permc_spec: Any = None,
    diag_pivot_thresh: Any = None,
    relax: Any = None,
    panel_size: Any = None,
    options: Any = None,
) -> TracedFactors:
    """The factors of a matrix, for its systems."""
    return TracedFactors(_square(A), permc_spec)


@implements_scipy("sparse.linalg")
def factorized(A: Any) -> Any:
    """The solution of A x = b, as a function of b."""
    return splu(A).solve


@implements_scipy("sparse.linalg")
def spsolve(A: Any, b: Any, permc_spec: Any = None, use_umfpack: bool = True) -> Any:
    """A sparse system; the solution for a sparse matrix b is one with all entries."""
    matrix = _square(A)
    sparse = is_sparse(b)
    right = b.toarray() if sparse else as_array(b)
    if right.shape[0] != matrix.shape[0]:
        raise ValueError(f"matrix - rhs dimension mismatch ({matrix.shape} - {right.shape[0]})")
    solution = splu(matrix, permc_spec).solve(right)
    if right.ndim == 2 and right.shape[1] == 1:
        return np.reshape(solution, (-1,))
    if not sparse:
        return solution
    kind = type(matrix.scipy_class.__name__)(matrix.scipy_class.__name__)
    return SparseTraced(*_all_entries(solution, kind.endswith("matrix")))


def _all_entries(dense: Any, of_matrix: bool) -> tuple[Any, Any]:
    """The entries of a dense matrix, column by column, and their pattern."""
    height, width = np.shape(dense)
    sparse = scipy_sparse()
    kind = sparse.csc_matrix if of_matrix else sparse.csc_array
    numbers = np.arange(1, height * width + 1).reshape(width, height).T
    return np.reshape(np.transpose(dense), (-1,)), kind(numbers)


@implements_scipy("sparse.linalg")
def spsolve_triangular(
    A: Any,
    b: Any,
    lower: bool = True,
    overwrite_A: bool = False,
    overwrite_b: bool = False,
    unit_diagonal: bool = False,
) -> Any:
    """A triangular system; what stands in the other triangle is not looked at."""
    sparse = scipy_sparse()
    matrix = _square(A).moved(sparse.tril if lower else sparse.triu)
    if unit_diagonal:
        matrix.setdiag(np.ones(matrix.shape[0], matrix.dtype))
    elif not matrix.pattern.diagonal().all():
        raise np.linalg.LinAlgError("A is singular: zero entry on diagonal.")
    right = as_array(b)
    if right.ndim not in (1, 2):
        raise ValueError(f"b must have 1 or 2 dims but its shape is {right.shape}.")
    # Of an upper triangle the factors are the triangle itself, in whose columns there is nothing
    # to pivot with; a lower one is an upper one from the end to the beginning.
    if not lower:
        return splu(matrix.tocsc(), "NATURAL").solve(right)
    turned = matrix.tocsr()[::-1][:, ::-1]
    return splu(turned.tocsc(), "NATURAL").solve(right[::-1])[::-1]


@implements_scipy("sparse.linalg")
def inv(A: Any) -> Any:
    """The inverse, which has all entries."""
    matrix = _square(A)
    return spsolve(matrix, scipy_sparse().eye_array(matrix.shape[0], format="csc"))


@implements_scipy("sparse.linalg")
def matrix_power(A: Any, power: int) -> Any:
    """The product of a matrix with itself."""
    matrix = _square(A)
    if power < 0 or int(power) != power:
        raise ValueError("exponent must be >= 0")
    if power == 0:
        return scipy_sparse().eye_array(matrix.shape[0], dtype=matrix.dtype)
    if power == 1:
        return matrix
    half = matrix_power(matrix, power // 2)
    return half @ half @ matrix if power % 2 else half @ half


refuses_scipy(
    "sparse.linalg",
    "what it makes of a sparse matrix depends on its entries in a way that has no rule. Make the "
    "matrix dense with toarray(), and use scipy.linalg",
    *("eigs", "expm", "funm_multiply_krylov", "onenormest"),
)
refuses_scipy(
    "sparse.linalg",
    "an incomplete factorisation is a preconditioner, and that of known numbers is enough: make it "
    "of ad.stop_gradient(entries)",
    "spilu",
)
