"""`scipy.linalg`: functions of matrices, and the equations of Sylvester and Lyapunov."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.base.errors import UnsupportedFunctionError, ValueNeededError
from adjoint.capture.numpy.table import as_operand, perform
from adjoint.capture.scipy.table import implements_scipy, refuses_scipy
from adjoint.primitives.linear_algebra.matrix_functions import MATRIX_FUNCTION, SYLVESTER
from adjoint.scipy.linalg.batches import over_batches


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


def _principal(function: str, A: Any) -> Any:
    """A function with a cut along the negative axis: complex where an eigenvalue lies on it."""
    (A,) = _inexact(A)
    if A.dtype.kind == "f" and _on_the_cut(A):
        # Which side of the cut SciPy takes depends on whether it was given real numbers.
        return _apply(f"{function} of reals", A.astype(np.result_type(A, np.complex64)))
    return _apply(function, A)


def _on_the_cut(A: Any) -> bool:
    try:
        values = np.linalg.eigvals(A)
        return bool(np.any(np.logical_and(values.imag == 0, values.real < 0)))
    except ValueNeededError:  # of a batch, real matrices have real results, or there is an error
        return False


@implements_scipy("linalg")
def logm(A: Any, disp: Any = True) -> Any:
    """The principal logarithm."""
    return _principal("logm", A)


@implements_scipy("linalg")
def sqrtm(A: Any, disp: Any = True, blocksize: Any = 64) -> Any:
    """The principal square root."""
    return _principal("sqrtm", A)


@implements_scipy("linalg")
@over_batches(A=2)
def signm(A: Any, disp: Any = True) -> Any:
    """The sign: 1 on the eigenspaces in the right half of the plane, -1 on those in the left."""
    return _apply("signm", A)


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
    return _apply("expm", t * _principal("logm", A))


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


# --- Riccati's equations --------------------------------------------------------------------------


def _stable(matrix: Any) -> Any:
    """The X for which (I, X) spans the stable subspace, which the sign of the matrix shows.

    (W + I) (I, X) = 0 where W is the sign (J. Roberts 1980; Higham 2008, section 2.5).
    """
    sign = _apply("signm", matrix)
    size = sign.shape[0] // 2
    rest = sign + np.eye(2 * size)
    left, right = rest[:, size:], -rest[:, :size]
    square = _adjoint(left)
    x = np.linalg.solve(square @ left, square @ right)
    return (x + _adjoint(x)) / 2


def _reduced(a: Any, b: Any, q: Any, r: Any, e: Any, s: Any) -> tuple[Any, Any, Any]:
    """a, b r^-1 b^H and q of the equation without its mixed term s."""
    if e is not None:
        raise UnsupportedFunctionError(
            "Riccati's equations of traced values do not take e. Solve the one for "
            "a = np.linalg.solve(e, a) and b = np.linalg.solve(e, b): e^H X e is its solution."
        )
    a, b, q, r = _inexact(a, b, q, r)
    if s is not None:
        weighted = np.linalg.solve(r, _adjoint(_inexact(s)[0]))
        a, q = a - b @ weighted, q - _inexact(s)[0] @ weighted
    return a, b @ np.linalg.solve(r, _adjoint(b)), q


@implements_scipy("linalg")
@over_batches(a=2, b=2, q=2, r=2, s=2)
def solve_continuous_are(
    a: Any, b: Any, q: Any, r: Any, e: Any = None, s: Any = None, balanced: bool = True
) -> Any:
    """The X with a^H X + X a - (X b + s) r^-1 (b^H X + s^H) + q = 0 that stabilises."""
    a, g, q = _reduced(a, b, q, r, e, s)
    return _stable(np.block([[a, -g], [-q, -_adjoint(a)]]))


@implements_scipy("linalg")
@over_batches(a=2, b=2, q=2, r=2, s=2)
def solve_discrete_are(
    a: Any, b: Any, q: Any, r: Any, e: Any = None, s: Any = None, balanced: bool = True
) -> Any:
    """The equation of a discrete system, whose pencil Cayley's transform makes continuous."""
    a, g, q = _reduced(a, b, q, r, e, s)
    unit = np.eye(a.shape[0])
    one = np.block([[a, np.zeros(a.shape)], [-q, unit]])
    other = np.block([[unit, g], [np.zeros(a.shape), _adjoint(a)]])
    return _stable(np.linalg.solve(one + other, one - other))


refuses_scipy(
    "linalg",
    "it is discontinuous, or its derivative follows from no rule here",
    *(
        "funm",
        "hessenberg",
        "schur",
        "rsf2csf",
        "qz",
        "ordqz",
        "matrix_balance",
        "cdf2rdf",
        "null_space",
        "orth",
        "interpolative",
    ),
)
