"""Linear algebra: what is the same whichever library computes it.

Eigenvectors and singular vectors are LAPACK's own choice among many, and go through the host. Where
NumPy would raise an error (a singular matrix), results are infinite or NaN here: a fault.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.executors.xla.rules.table import rule
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


@rule("solve_factored")
def _solve_factored(
    work: Any, equation: Equation, a: Any, factors: Any, pivots: Any, b: Any
) -> Any:
    factors, b = _same_dtype(work, equation, (factors, b))
    if not b.size:
        return None
    work.fault(work.np.diagonal(factors) == 0)
    wide = work.np.moveaxis(b, -2, 0)  # (n, ..., k): all are columns
    trans = 2 if equation.params["adjoint"] else 0
    solved = work.linear_algebra.lu_solve(
        (factors, pivots), wide.reshape(len(pivots), -1), trans=trans, check_finite=False
    )
    return work.np.moveaxis(solved.reshape(wide.shape), 0, -2)


@rule("solve_triangular")
def _solve_triangular(work: Any, equation: Equation, a: Any, b: Any) -> Any:
    params = equation.params
    a, b = _same_dtype(work, equation, (a, b))
    if not b.size:
        return None
    if params["trans"]:
        a = work.np.swapaxes(a, -1, -2)
        a = work.np.conjugate(a) if params["trans"] == 2 else a
    lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a, b = (work.np.broadcast_to(x, (*lead, *x.shape[-2:])) for x in (a, b))
    if not params["unit"]:
        work.fault(work.np.diagonal(a, axis1=-2, axis2=-1) == 0)
    return work.lax.linalg.triangular_solve(
        a,
        b,
        left_side=True,
        lower=params["lower"] != bool(params["trans"]),
        unit_diagonal=params["unit"],
    )


@rule("cholesky")
def _cholesky(work: Any, equation: Equation, a: Any) -> Any:
    (a,) = _same_dtype(work, equation, (a,))
    factor = work.np.tril(work.lax.linalg.cholesky(a, symmetrize_input=False))
    return _checked(work, factor, a)


def _adjoint_of(work: Any, x: Any) -> Any:
    return work.np.conjugate(work.np.swapaxes(x, -1, -2))


def _lower(work: Any, x: Any, share: float = 1.0) -> Any:
    """The strictly lower triangle, and a share of the real part of the diagonal."""
    below = work.np.tril(x, -1)
    return _with_real_diagonal(work, below, share * x)


def _cholesky_pieces(work: Any, equation: Equation, factor: Any, x: Any) -> tuple[Any, ...]:
    factor, x = _same_dtype(work, equation, (factor, x))
    lead = np.broadcast_shapes(factor.shape, x.shape)
    factor = work.np.broadcast_to(_lower(work, factor), lead)
    unit = work.np.broadcast_to(work.np.eye(lead[-1], dtype=factor.dtype), lead)
    back = work.lax.linalg.triangular_solve(factor, unit, left_side=True, lower=True)
    return factor, work.np.broadcast_to(x, lead), back


def _product(work: Any, *factors: Any) -> Any:
    product, *others = factors
    for other in others:
        product = work.np.matmul(product, other, precision="highest")
    return product


# In one block, and not in several as on NumPy: a device does more at once.
@rule("cholesky_pushforward")
def _cholesky_pushforward(work: Any, equation: Equation, factor: Any, tangent: Any) -> Any:
    factor, tangent, back = _cholesky_pieces(work, equation, factor, tangent)
    half = work.np.tril(tangent, -1)
    whole = _with_real_diagonal(work, half + _adjoint_of(work, half), tangent)
    middle = _product(work, back, whole, _adjoint_of(work, back))
    return _product(work, factor, _lower(work, middle, 0.5))


@rule("cholesky_pullback")
def _cholesky_pullback(work: Any, equation: Equation, factor: Any, cotangent: Any) -> Any:
    factor, cotangent, back = _cholesky_pieces(work, equation, factor, cotangent)
    inner = _product(work, _adjoint_of(work, factor), _lower(work, cotangent))
    half = _product(work, _adjoint_of(work, back), _lower(work, inner, 0.5), back)
    return _lower(work, half + _adjoint_of(work, half), 0.5)


@rule("sparse_product")
def _sparse_product(
    work: Any, equation: Equation, entries: Any, rows: Any, columns: Any, x: Any
) -> Any:
    type_ = equation.outputs[0].type
    entries, x = _same_dtype(work, equation, (entries, x))
    work.fault((rows < 0) | (rows >= type_.shape[0]) | (columns < 0) | (columns >= x.shape[0]))
    terms = entries.reshape(-1, *(1,) * (x.ndim - 1)) * x[columns]
    return work.np.zeros(type_.shape, type_.dtype).at[rows].add(terms)


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
