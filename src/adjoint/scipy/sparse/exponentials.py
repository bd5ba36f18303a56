"""`scipy.sparse.linalg.expm_multiply`: exp(A) B, of which exp(A) is never made.

exp(A) = (e^(m/s) exp((A - m)/s))^s, with the mean m of the diagonal, and so many steps s that the
matrix of one has a norm of at most `_STEP`, for which a Taylor polynomial of degree `_DEGREE` is
exact to rounding. The steps are a loop of products, so that the derivative has a rule of any order;
it keeps the result of each step, and computes again what is inside of one.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from adjoint.calculus.control_flow import checkpoint, fori_loop, scan
from adjoint.calculus.first_order.stopping import stop_gradient
from adjoint.capture.numpy.table import as_array
from adjoint.capture.recording.tracing.applying import concrete
from adjoint.capture.scipy.refusing import refuse_sparse
from adjoint.capture.scipy.sparse_matrix import SparseTraced, as_traced, is_sparse
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
    """The exponential of a sparse matrix times a vector or a dense matrix; for several times."""
    if not is_sparse(A):
        raise refuse_sparse(
            "scipy.sparse.linalg.expm_multiply of traced values takes a sparse matrix. Of a dense "
            "one there is scipy.linalg.expm."
        )
    matrix = as_traced(A)
    size = matrix.shape[0]
    if matrix.shape[1] != size:
        raise ValueError("expected A to be like a square matrix")
    x = as_array(B)
    dtype = np.result_type(matrix.dtype, x.dtype)
    dtype = dtype if dtype.kind in "fc" else np.result_type(float)
    if start is None and stop is None and num is None and endpoint is None:
        return _flow(matrix, x).astype(dtype)
    several = {"num": num, "endpoint": endpoint}
    known = {name: concrete(value) for name, value in several.items() if value is not None}
    times, step = np.linspace(start, stop, retstep=True, **known)
    if np.shape(times)[0] < 2:
        raise ValueError("at least two time points are required")
    first = _flow(matrix.scaled(start), x)
    advance = matrix.scaled(step)
    _, others = scan(
        lambda x, _: (_flow(advance, x),) * 2, first, length=int(np.shape(times)[0]) - 1
    )
    return np.concatenate([first[None], others]).astype(np.result_type(dtype, float))


def _flow(matrix: SparseTraced, x: Any) -> Any:
    """exp(A) x."""
    size = matrix.shape[0]
    x = x * np.ones((), matrix.dtype) * 1.0
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
