"""`scipy.linalg`: functions of matrices, and the equations of Sylvester and Lyapunov."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.capture.numpy.table import as_operand, perform
from adjoint.capture.scipy.table import implements_scipy, refuses_scipy
from adjoint.primitives.linear_algebra.matrix_functions import MATRIX_FUNCTION, SYLVESTER
from adjoint.scipy.batches import over_batches


def _inexact(*arrays: Any) -> list[Any]:
    operands = [as_operand(array) for array in arrays]
    dtype = np.result_type(*(operand.dtype for operand in operands), np.float32)
    return [operand.astype(dtype) for operand in operands]


def _apply(function: str, *operands: Any) -> Any:
    return perform(MATRIX_FUNCTION, *_inexact(*operands), function=function)


def _matrix_function(name: str) -> None:
    def function(A: Any) -> Any:
        return _apply(name, A)

    function.__name__ = name
    implements_scipy("linalg", name)(function)


for _name in ("expm", "sinm", "cosm", "tanm", "sinhm", "coshm", "tanhm"):
    _matrix_function(_name)


@implements_scipy("linalg")
def logm(A: Any, disp: Any = True) -> Any:
    """The principal logarithm; of real matrices where it is real."""
    return _apply("logm", A)


@implements_scipy("linalg")
def sqrtm(A: Any, disp: Any = True, blocksize: Any = 64) -> Any:
    """The principal square root; of real matrices where it is real."""
    return _apply("sqrtm", A)


@implements_scipy("linalg")
@over_batches(A=2, E=2)
def expm_frechet(
    A: Any, E: Any, method: Any = None, compute_expm: bool = True, check_finite: bool = True
) -> Any:
    """The derivative of expm at A in the direction E, and expm(A) before it."""
    slope = _apply("expm", A, E)
    return (_apply("expm", A), slope) if compute_expm else slope


@implements_scipy("linalg")
@over_batches(A=2)
def fractional_matrix_power(A: Any, t: Any) -> Any:
    """A^t = expm(t logm(A)); integer powers by products."""
    if isinstance(t, (int, float, np.integer, np.floating)) and t == int(t):
        return np.linalg.matrix_power(A, int(t))
    return _apply("expm", t * _apply("logm", A))


@implements_scipy("linalg")
def polar(a: Any, side: str = "right") -> Any:
    """The factors U P, or P U, by the singular value decomposition (Higham 2008, section 8.1)."""
    if side not in ("right", "left"):
        raise ValueError("`side` must be either 'right' or 'left'")
    left, values, right = np.linalg.svd(as_operand(a), full_matrices=False)
    outer = _adjoint(right) if side == "right" else left
    return left @ right, (outer * values[..., None, :]) @ _adjoint(outer)


# --- linear equations in matrices -----------------------------------------------------------------


def _sylvester(a: Any, b: Any, q: Any) -> Any:
    return perform(SYLVESTER, *_inexact(a, b, q))


def _adjoint(a: Any) -> Any:
    return np.conjugate(np.swapaxes(as_operand(a), -1, -2))


@implements_scipy("linalg")
@over_batches(a=2, b=2, q=2)
def solve_sylvester(a: Any, b: Any, q: Any) -> Any:
    """The X with a X + X b = q."""
    return _sylvester(a, b, q)


@implements_scipy("linalg", "solve_continuous_lyapunov", "solve_lyapunov")
@over_batches(a=2, q=2)
def solve_continuous_lyapunov(a: Any, q: Any) -> Any:
    """The X with a X + X a^H = q."""
    return _sylvester(a, _adjoint(a), q)


@implements_scipy("linalg")
@over_batches(a=2, q=2)
def solve_discrete_lyapunov(a: Any, q: Any, method: Any = None) -> Any:
    """The X with a X a^H - X + q = 0, by the bilinear transformation (as SciPy's 'bilinear')."""
    a, q = _inexact(a, q)
    eye = np.eye(a.shape[0], dtype=a.dtype)
    back = np.linalg.inv(_adjoint(a) + eye)
    b = (_adjoint(a) - eye) @ back
    c = 2 * np.linalg.inv(a + eye) @ q @ back
    return _sylvester(_adjoint(b), b, -c)


refuses_scipy(
    "linalg",
    "it is discontinuous, or its derivative follows from no rule here",
    *("signm", "funm", "hessenberg", "schur", "rsf2csf", "qz", "ordqz", "solve_discrete_are"),
    *("solve_continuous_are", "matrix_balance", "cdf2rdf", "null_space", "orth", "interpolative"),
)
