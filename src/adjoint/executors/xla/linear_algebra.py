"""Linear algebra: what is the same whichever library computes it.

Eigenvectors and singular vectors are LAPACK's own choice among many, and go through the host. Where
NumPy would raise an error (a singular matrix), results are infinite or NaN here: a fault.
"""

from __future__ import annotations

from typing import Any

from adjoint.executors.xla.rules import rule
from adjoint.program import Equation


def _checked(work: Any, result: Any, *operands: Any) -> Any:
    """A result, which is a fault if it is not finite although the operands are."""
    finite = work.np.asarray(True)
    for operand in operands:
        finite &= work.np.all(work.np.isfinite(operand))
    work.fault(finite & ~work.np.all(work.np.isfinite(result)))
    return result


def _same_dtype(work: Any, equation: Equation, operands: Any) -> list[Any]:
    dtype = equation.outputs[0].type.dtype
    return [work.cast(x, dtype) for x in operands]


@rule("solve")
def _solve(work: Any, equation: Equation, a: Any, b: Any) -> Any:
    a, b = _same_dtype(work, equation, (a, b))
    return _checked(work, work.np.linalg.solve(a, b), a, b)


@rule("inv")
def _inv(work: Any, equation: Equation, a: Any, *factors: Any) -> Any:
    if equation.params["limit"] is not None:
        return None  # its error has the condition number
    (a,) = _same_dtype(work, equation, (a,))
    return _checked(work, work.np.linalg.inv(a), a)


@rule("lu_factors")
def _lu_factors(work: Any, equation: Equation, a: Any) -> Any:
    (a,) = _same_dtype(work, equation, (a,))
    if a.shape[-1] != a.shape[-2] or not a.size:
        return None
    factors, pivots, _ = work.lax.linalg.lu(a)
    return factors, pivots


@rule("cholesky")
def _cholesky(work: Any, equation: Equation, a: Any) -> Any:
    (a,) = _same_dtype(work, equation, (a,))
    factor = work.np.tril(work.lax.linalg.cholesky(a, symmetrize_input=False))
    return _checked(work, factor, a)


@rule("det")
def _det(work: Any, equation: Equation, a: Any, *factors: Any) -> Any:
    (a,) = _same_dtype(work, equation, (a,))
    return work.np.linalg.det(a)


@rule("slogdet")
def _slogdet(work: Any, equation: Equation, a: Any, *factors: Any) -> Any:
    a = work.cast(a, equation.outputs[0].type.dtype)
    return tuple(work.np.linalg.slogdet(a))


@rule("svdvals")
def _svdvals(work: Any, equation: Equation, a: Any) -> Any:
    return work.np.linalg.svd(a, compute_uv=False)


def _half(work: Any, x: Any, lower: bool) -> Any:
    return work.np.tril(x, -1) if lower else work.np.triu(x, 1)


def _with_real_diagonal(work: Any, x: Any, of: Any) -> Any:
    diagonal = work.np.real(work.np.diagonal(of, axis1=-2, axis2=-1)).astype(x.dtype)
    return x + diagonal[..., None] * work.np.eye(x.shape[-1], dtype=x.dtype)


@rule("hermitian")
def _hermitian(work: Any, equation: Equation, x: Any) -> Any:
    half = _half(work, x, equation.params["lower"])
    whole = half + work.np.conjugate(work.np.swapaxes(half, -1, -2))
    return _with_real_diagonal(work, whole, x)


@rule("triangle")
def _triangle(work: Any, equation: Equation, x: Any) -> Any:
    whole = x + work.np.conjugate(work.np.swapaxes(x, -1, -2))
    return _with_real_diagonal(work, _half(work, whole, equation.params["lower"]), x)
