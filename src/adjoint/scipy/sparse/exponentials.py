"""`scipy.sparse.linalg.expm_multiply`: exp(A) B, of which exp(A) is never made.

exp(A) = (e^(m/s) exp((A - m)/s))^s, with the mean m of the diagonal, and so many steps s that the
matrix of one has a norm of at most `_STEP`, for which a Taylor polynomial of degree `_DEGREE` is
exact to rounding. The steps are a loop of products, so that the derivative has a rule of any order;
it keeps the result of each step, and computes again what is inside of one.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from adjoint.calculus.control_flow import checkpoint, fori_loop
from adjoint.calculus.first_order.stopping import stop_gradient
from adjoint.capture.numpy.table import as_array
from adjoint.capture.scipy.refusing import refuse_sparse
from adjoint.capture.scipy.sparse_matrix import as_traced, is_sparse
from adjoint.capture.scipy.sparse_patterns import scipy_sparse
from adjoint.capture.scipy.table import implements_scipy

_STEP: Final = 4.0
_DEGREE: Final = 34  # 4^35 / 35! is 1e-19


@implements_scipy("sparse.linalg")
def expm_multiply(
    A: Any,
    B: Any,
    start: Any = None,
    stop: Any = None,
    num: Any = None,
    endpoint: Any = None,
    traceA: Any = None,
) -> Any:
    """The exponential of a sparse matrix times a vector or a dense matrix."""
    if start is not None or stop is not None or num is not None:
        raise refuse_sparse(
            "scipy.sparse.linalg.expm_multiply of traced values takes A and B alone. For several "
            "times multiply A by each of them."
        )
    if not is_sparse(A):
        raise refuse_sparse(
            "scipy.sparse.linalg.expm_multiply of traced values takes a sparse matrix. Of a dense "
            "one there is scipy.linalg.expm."
        )
    matrix = as_traced(A)
    size = matrix.shape[0]
    if matrix.shape[1] != size:
        raise ValueError("expected A to be like a square matrix")
    x = as_array(B) * np.ones((), matrix.dtype) * 1.0
    mean = stop_gradient(matrix.trace() / size)
    shifted = matrix - mean * scipy_sparse().eye_array(size)
    norm = np.max(abs(shifted).sum(axis=0)) if size else 0.0
    steps = np.maximum(np.ceil(stop_gradient(norm) / _STEP), 1.0)
    factor = np.exp(mean / steps)
    small = shifted / steps

    def step(_: Any, x: Any) -> Any:
        def term(n: Any, state: Any) -> Any:
            power, total = state
            power = (small @ power) / n
            return power, total + power

        _, total = fori_loop(1, _DEGREE + 1, term, (x, x))
        return total * factor

    return fori_loop(0, steps.astype(int), checkpoint(step), x)
