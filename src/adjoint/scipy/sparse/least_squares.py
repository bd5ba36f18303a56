"""`scipy.sparse.linalg.lsmr` and `lsqr`: least squares with a sparse matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.capture.numpy.table import as_array, perform
from adjoint.capture.recording.tracing.applying import concrete
from adjoint.capture.scipy.operators import TracedOperator, as_operator
from adjoint.capture.scipy.refusing import refuse_sparse
from adjoint.capture.scipy.sparse_matrix import is_sparse
from adjoint.capture.scipy.sparse_patterns import scipy_sparse
from adjoint.capture.scipy.table import ALWAYS, implements_scipy
from adjoint.primitives.linear_algebra.sparse.least_squares import SPARSE_LEAST_SQUARES
from adjoint.scipy.sparse.constructors import as_matrix, block_array
from adjoint.scipy.sparse.operator_least_squares import solve_with_operator

_RESULTS = {"lsmr": 8, "lsqr": 10}
_SMALL = 1e-3  # a damp that may be too small for derivatives, as one that is traced may be


def _solved(name: str, A: Any, b: Any, damp: Any, options: dict[str, Any]) -> Any:
    matrix = as_operator(A) if hasattr(A, "matvec") and not is_sparse(A) else as_matrix(A)
    right = np.reshape(as_array(b), (-1, 1)) * 1.0
    height = matrix.shape[0]
    start = options.pop("x0", None)
    start = None if start is None else np.reshape(as_array(start), (-1,))
    if right.shape[0] != height:
        raise ValueError(f"b has {right.shape[0]} entries, and the matrix {height} rows")
    if start is not None:  # both solve for what is to be added to it, and damp that
        right = right - np.reshape(matrix @ start, (-1, 1))
    known = {key: concrete(value) for key, value in options.items()}
    if name == "lsqr":  # which damps by nothing where it is told to damp by less
        damp = max(damp, 0.0) if isinstance(damp, (int, float)) else np.maximum(damp, 0.0)
    clear = isinstance(damp, (int, float)) and not 0 < abs(damp) < _SMALL
    dtype = np.result_type(matrix.dtype or float, right.dtype, float)  # as SciPy
    # A proof looks at what a damp makes up for that is not clear.
    if isinstance(matrix, TracedOperator) or not clear:
        side = np.reshape(right, (-1,)).astype(dtype)
        x, rest = solve_with_operator(name, as_operator(matrix), side, damp, known)
    elif dtype.kind == "c":
        x, rest = _solved_in_parts(name, matrix, right, damp, known)
    else:
        x, rest = _solved_with_matrix(name, matrix, right, damp, known)
    squares = _square(rest)
    norms = [np.sqrt(squares), np.sqrt(squares + damp**2 * _square(x))]
    x = x if start is None else start + x
    known_norms = norms if name == "lsqr" else norms[1:]
    return (x, 2, None, *known_norms, *[None] * (_RESULTS[name] - 3 - len(known_norms)))


def _square(x: Any) -> Any:
    """The square of a vector's length."""
    return np.sum(x**2) if x.dtype.kind != "c" else np.sum(np.real(x) ** 2 + np.imag(x) ** 2)


def _solved_with_matrix(name: str, matrix: Any, right: Any, damp: Any, options: Any) -> Any:
    """x and the residual b - A x."""
    width = matrix.shape[1]
    whole, side = matrix, right
    if not (isinstance(damp, (int, float)) and damp == 0):  # the rows of damp x = 0
        whole = block_array([[matrix], [damp * scipy_sparse().eye_array(width)]])
        side = np.concatenate([right, np.zeros((width, 1))])
    known = tuple(sorted(options.items()))
    operands = (whole.entries.astype(float), *whole.places, side.astype(float))  # as SciPy
    x = perform(SPARSE_LEAST_SQUARES, *operands, width=width, method=name, options=known)
    x = np.reshape(x, (-1,))
    return x, np.reshape(right, (-1,)) - matrix @ x


def _solved_in_parts(name: str, matrix: Any, right: Any, damp: Any, options: Any) -> Any:
    """x and the residual of complex numbers, of which real and imaginary parts are unknowns.

    [Re A, -Im A; Im A, Re A] has the products and the lengths that A has, so that each step of the
    method is that with A; and the shortest solution is the shortest one.
    """
    real, imaginary = matrix.real, None
    if matrix.dtype.kind == "c":
        imaginary = matrix.imag
    below = None if imaginary is None else -imaginary
    whole = block_array([[real, below], [imaginary, real]])
    sides = np.concatenate([np.real(right), np.imag(right)])
    parts = _solved_with_matrix(name, whole, sides, damp, options)
    halves = (np.reshape(part, (2, -1)) for part in parts)
    return tuple(half[0] + 1j * half[1] for half in halves)


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
    """The solution, 2, None, the norm that is least, and None for what is of the iterations."""
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
    """The solution, 2, None, the norms without and with damp, and None for the rest."""
    given = {"atol": atol, "btol": btol, "conlim": conlim, "iter_lim": iter_lim, "x0": x0}
    given["calc_var"] = calc_var
    allowed = {"atol", "btol", "conlim", "iter_lim", "x0"}
    return _solved("lsqr", A, b, damp, _options(given, allowed, "lsqr"))


for _name in _RESULTS:
    ALWAYS["sparse.linalg", _name] = lambda given: any(hasattr(x, "matvec") for x in given)
