"""`scipy.sparse.linalg.lsmr` and `lsqr`: least squares with a sparse matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.capture.numpy.table import as_array, perform
from adjoint.capture.recording.tracing.applying import concrete
from adjoint.capture.scipy.refusing import refuse_sparse
from adjoint.capture.scipy.sparse_matrix import is_sparse
from adjoint.capture.scipy.sparse_patterns import scipy_sparse
from adjoint.capture.scipy.table import ALWAYS, implements_scipy
from adjoint.primitives.linear_algebra.sparse.least_squares import SPARSE_LEAST_SQUARES
from adjoint.scipy.sparse.constructors import as_matrix, block_array

_RESULTS = {"lsmr": 8, "lsqr": 10}


def _solved(name: str, A: Any, b: Any, damp: Any, options: dict[str, Any]) -> Any:
    if hasattr(A, "matvec") and not is_sparse(A):
        raise refuse_sparse(
            f"scipy.sparse.linalg.{name} of traced values takes a matrix: the derivative needs its "
            "entries. For an operator solve A^H A x = A^H b with cg."
        )
    matrix = as_matrix(A)
    right = np.reshape(as_array(b), (-1, 1)) * 1.0
    height, width = matrix.shape
    start = options.pop("x0", None)
    start = None if start is None else np.reshape(as_array(start), (-1,))
    if right.shape[0] != height:
        raise ValueError(f"b has {right.shape[0]} entries, and the matrix {height} rows")
    if np.dtype(np.result_type(matrix.dtype, right.dtype)).kind == "c":
        raise refuse_sparse(f"scipy.sparse.linalg.{name} of traced values takes real ones.")
    if start is not None:  # both solve for what is to be added to it, and damp that
        right = right - np.reshape(matrix @ start, (-1, 1))
    whole, side = matrix, right
    if not (isinstance(damp, (int, float)) and damp == 0):  # the rows of damp x = 0
        whole = block_array([[matrix], [damp * scipy_sparse().eye_array(width)]])
        side = np.concatenate([right, np.zeros((width, 1))])
    known = tuple(sorted((key, concrete(value)) for key, value in options.items()))
    operands = (whole.entries.astype(float), *whole.places, side.astype(float))  # as SciPy
    x = perform(SPARSE_LEAST_SQUARES, *operands, width=width, method=name, options=known)
    x = np.reshape(x, (-1,))
    rest = np.reshape(right, (-1,)) - matrix @ x
    x = x if start is None else start + x
    unknown = [None] * (_RESULTS[name] - 4)
    return (x, 2, None, np.sqrt(np.sum(rest**2)), *unknown)


def _options(given: dict[str, Any], allowed: set[str], name: str) -> dict[str, Any]:
    given.pop("show", None)
    for argument, value in list(given.items()):
        if argument not in allowed and value is not None and value is not False:
            raise refuse_sparse(f"scipy.sparse.linalg.{name} of traced values takes no {argument}.")
    return {key: value for key, value in given.items() if key in allowed and value is not None}


@implements_scipy("sparse.linalg")
def lsmr(
    A: Any,
    b: Any,
    damp: Any = 0.0,
    atol: Any = 1e-6,
    btol: Any = 1e-6,
    conlim: Any = 1e8,
    maxiter: Any = None,
    show: bool = False,
    x0: Any = None,
) -> Any:
    """The solution, 2, None, the norm of the residual, and None for what is of the iterations."""
    given = {"atol": atol, "btol": btol, "conlim": conlim, "maxiter": maxiter, "x0": x0}
    allowed = {"atol", "btol", "conlim", "maxiter", "x0"}
    return _solved("lsmr", A, b, damp, _options(given, allowed, "lsmr"))


@implements_scipy("sparse.linalg")
def lsqr(
    A: Any,
    b: Any,
    damp: Any = 0.0,
    atol: Any = 1e-6,
    btol: Any = 1e-6,
    conlim: Any = 1e8,
    iter_lim: Any = None,
    show: bool = False,
    calc_var: bool = False,
    x0: Any = None,
) -> Any:
    """The solution, 2, None, the norm of the residual, and None for what is of the iterations."""
    given = {"atol": atol, "btol": btol, "conlim": conlim, "iter_lim": iter_lim, "x0": x0}
    given["calc_var"] = calc_var
    allowed = {"atol", "btol", "conlim", "iter_lim", "x0"}
    return _solved("lsqr", A, b, damp, _options(given, allowed, "lsqr"))


for _name in _RESULTS:
    ALWAYS["sparse.linalg", _name] = lambda given: any(hasattr(x, "matvec") for x in given)
