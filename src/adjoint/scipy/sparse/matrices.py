"""`scipy.sparse`: matrices of traced entries, and systems with sparse matrices.

The product of a sparse matrix of SciPy's and a traced array needs nothing from here: `K @ x`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.base.errors import UnsupportedFunctionError
from adjoint.capture.numpy.table import as_array, perform
from adjoint.capture.recording.applying import concrete
from adjoint.capture.scipy.sparse import SparseTraced, entries_of, is_sparse
from adjoint.capture.scipy.table import implements_scipy, refuses_scipy
from adjoint.primitives.linear_algebra.sparse import SPARSE_SOLVE
from adjoint.scipy.objects import stands_in


def _whole(values: Any) -> Any:
    return np.asarray(concrete(values))


def _declare(name: str, by_columns: bool) -> None:
    """A class of SciPy's: from entries with their places, or from a dense matrix."""

    def function(arg1: Any, shape: Any = None, dtype: Any = None, copy: bool = False) -> Any:
        if is_sparse(arg1):
            return arg1
        if not isinstance(arg1, (tuple, list)):
            dense = as_array(arg1)
            rows, columns = np.indices(dense.shape)
            return SparseTraced(
                np.reshape(dense, (-1,)), rows.ravel(), columns.ravel(), dense.shape
            )
        if len(arg1) == 2:
            data, places = arg1
            rows, columns = map(_whole, places)
        elif name.startswith(("csr", "csc")):
            data, inner, starts = arg1[0], _whole(arg1[1]), _whole(arg1[2])
            outer = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
            rows, columns = (inner, outer) if by_columns else (outer, inner)
            if shape is None:
                length = int(inner.max(initial=-1)) + 1
                sizes = (len(starts) - 1, length)
                shape = sizes[::-1] if by_columns else sizes
        else:
            raise UnsupportedFunctionError(f"scipy.sparse.{name} of traced values takes entries.")
        if shape is None:
            shape = (int(rows.max(initial=-1)) + 1, int(columns.max(initial=-1)) + 1)
        return SparseTraced(as_array(data), rows, columns, shape)

    function.__name__ = name
    implements_scipy("sparse", name)(function)


for _kind in ("csr", "csc", "coo"):
    for _suffix in ("array", "matrix"):
        _declare(f"{_kind}_{_suffix}", _kind == "csc")


@implements_scipy("sparse", "diags", "diags_array")
def diags(
    diagonals: Any, offsets: Any = 0, shape: Any = None, format: Any = None, dtype: Any = None
) -> SparseTraced:
    """A matrix given by its diagonals; one number stands for a whole diagonal."""
    numbers = [int(offset) for offset in np.atleast_1d(_whole(offsets))]
    several = isinstance(diagonals, (list, tuple)) or np.ndim(diagonals) == 2
    given = [as_array(diagonal) for diagonal in (diagonals if several else [diagonals])]
    given = [np.reshape(diagonal, (-1,)) for diagonal in given]
    if shape is None:
        size = given[0].shape[0] + abs(numbers[0])
        shape = (size, size)
    parts, rows, columns = [], [], []
    for values, offset in zip(given, numbers, strict=True):
        first = max(0, -offset)
        length = min(shape[0] - first, shape[1] - max(0, offset))
        row = np.arange(first, first + length)
        parts.append(
            np.broadcast_to(values, (length,)) if values.shape[0] == 1 else values[:length]
        )
        rows.append(row)
        columns.append(row + offset)
    places = (np.concatenate(rows), np.concatenate(columns))
    return SparseTraced(np.concatenate(parts), *places, shape)


@implements_scipy("sparse.linalg")
def spsolve(A: Any, b: Any, permc_spec: Any = None, use_umfpack: bool = True) -> Any:
    """A sparse system, with respect to its entries and its right-hand side."""
    if is_sparse(b):
        raise UnsupportedFunctionError("scipy.sparse.linalg.spsolve takes a dense right-hand side.")
    b = as_array(b)
    wide = b if b.ndim == 2 else np.reshape(b, (-1, 1))
    solution = perform(SPARSE_SOLVE, *entries_of(A), wide)
    return solution if b.ndim == 2 else np.reshape(solution, (-1,))


class _Factors:
    """Ours in the place of what `splu` makes of a known matrix: Pr^T L U Pc^T = A."""

    def __init__(self, factors: Any) -> None:
        rows, columns = np.argsort(factors.perm_r), np.argsort(factors.perm_c)
        product = (factors.L @ factors.U).tocoo()
        self._entries = product.data
        self._places = rows[product.row], columns[product.col]

    def solve(self, rhs: Any, trans: str = "N") -> Any:
        """The solution of A x = b; of A^T x = b for trans = "T", of A^H x = b for "H"."""
        if trans not in ("N", "T", "H"):
            raise ValueError("trans must be N, T, or H")
        entries = np.conjugate(self._entries) if trans == "H" else self._entries
        rows, columns = self._places if trans == "N" else self._places[::-1]
        b = as_array(rhs)
        wide = b if b.ndim == 2 else np.reshape(b, (-1, 1))
        return np.reshape(perform(SPARSE_SOLVE, entries, rows, columns, wide), b.shape)


stands_in(_Factors, "SuperLU")


def _iterative(name: str) -> None:
    def function(A: Any, b: Any, x0: Any = None, **options: Any) -> Any:
        if not is_sparse(A):
            raise UnsupportedFunctionError(
                f"scipy.sparse.linalg.{name} of traced values takes a sparse matrix. For operators "
                "there is ad.implicit.linear_solve."
            )
        return spsolve(A, b), 0

    function.__name__ = name
    implements_scipy("sparse.linalg", name)(function)


for _name in ("cg", "gmres", "bicgstab", "minres", "bicg", "cgs", "lgmres", "qmr", "tfqmr"):
    _iterative(_name)

refuses_scipy(
    "sparse.linalg",
    "eigenvalues and functions of sparse matrices are not supported; make them dense",
    *("eigs", "eigsh", "svds", "expm", "expm_multiply", "inv", "lobpcg", "lsqr", "lsmr"),
)
