"""`scipy.linalg`: linear systems and factorisations, made of NumPy's."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from adjoint.base.errors import UnsupportedFunctionError
from adjoint.capture.numpy.linalg.least_squares import UnsettledResiduals
from adjoint.capture.numpy.table import as_operand, perform
from adjoint.capture.recording.tracing.applying import concrete
from adjoint.capture.scipy.table import implements_scipy
from adjoint.primitives.linear_algebra.triangular import SOLVE_TRIANGULAR
from adjoint.scipy.linalg.batches import over_batches


def by_columns(solve: Any, right: Any) -> Any:
    """Solve for vectors as for matrices with one column."""
    right = as_operand(right)
    if right.ndim == 1:
        return solve(right[:, None])[..., 0]
    return solve(right)


_TRANS: Final = {0: 0, 1: 1, 2: 2, "N": 0, "T": 1, "C": 2}


def by_triangle(
    a: Any, b: Any, lower: Any, trans: int = 0, unit: Any = False, check_finite: Any = False
) -> Any:
    """Solve with one triangle of a matrix, its transpose (trans = 1) or its adjoint (2)."""
    a = as_operand(a)
    how = {"lower": bool(lower), "trans": trans, "unit": bool(unit)}
    how["check_finite"] = bool(check_finite)
    return by_columns(lambda right: perform(SOLVE_TRIANGULAR, a, right, **how), b)


def _adjoint(a: Any) -> Any:
    return np.conjugate(np.swapaxes(a, -1, -2))


def symmetric(a: Any, lower: bool, hermitian: bool) -> Any:
    """The matrix of which one triangle is read."""
    strict = np.tril(a, -1) if lower else np.triu(a, 1)
    unit = np.eye(a.shape[-1], dtype=a.real.dtype)
    if hermitian:
        return strict + _adjoint(strict) + a.real * unit
    return strict + np.swapaxes(strict, -1, -2) + a * unit


@implements_scipy("linalg")
def solve(
    a: Any,
    b: Any,
    lower: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    assume_a: str | None = None,
    transposed: bool = False,
) -> Any:
    """a x = b; of a symmetric, Hermitian, positive or triangular matrix one triangle is read."""
    a = as_operand(a)
    kind = {"symmetric": "sym", "hermitian": "her", "positive definite": "pos"}.get(
        str(assume_a), assume_a
    )
    if kind in ("sym", "her", "pos"):
        a = symmetric(a, lower, hermitian=kind != "sym")
        if kind == "pos":
            np.linalg.cholesky(a)  # which raises where it is not
    elif kind in ("lower triangular", "upper triangular"):
        return by_triangle(a, b, kind.startswith("lower"), int(transposed))
    elif kind == "diagonal":
        a = a * np.eye(a.shape[-1])
    elif kind not in (None, "gen", "general"):
        raise UnsupportedFunctionError(
            f"scipy.linalg.solve of traced arrays does not take assume_a={assume_a!r}. Leave it "
            "away: the solution is the same."
        )
    if transposed:
        a = np.swapaxes(a, -1, -2)
    return by_columns(lambda right: np.linalg.solve(a, right), b)


@implements_scipy("linalg")
def solve_triangular(
    a: Any,
    b: Any,
    trans: Any = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
    """a x = b with the lower or the upper triangle of a."""
    if trans not in _TRANS:
        raise ValueError("trans must be 0, 1, 2, 'N', 'T' or 'C'")
    return by_triangle(a, b, lower, _TRANS[trans], unit_diagonal, check_finite)


@implements_scipy("linalg")
def inv(a: Any, overwrite_a: bool = False, check_finite: bool = True, **structure: Any) -> Any:
    """The inverse."""
    return np.linalg.inv(a)


@implements_scipy("linalg")
def det(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """The determinant."""
    return np.linalg.det(np.float64(1.0) * as_operand(a))  # in double precision, as SciPy


@implements_scipy("linalg")
def pinv(a: Any, *, atol: Any = None, rtol: Any = None, check_finite: bool = True) -> Any:
    """The pseudo-inverse."""
    if atol is not None:
        raise UnsupportedFunctionError("scipy.linalg.pinv of traced arrays takes rtol, not atol.")
    return np.linalg.pinv(a) if rtol is None else np.linalg.pinv(a, rcond=rtol)


@implements_scipy("linalg")
def pinvh(
    a: Any,
    atol: Any = None,
    rtol: Any = None,
    lower: bool = True,
    return_rank: bool = False,
    check_finite: bool = True,
) -> Any:
    """The pseudo-inverse of a Hermitian matrix, of which one triangle is read."""
    if return_rank or atol is not None:
        raise UnsupportedFunctionError(
            "scipy.linalg.pinvh of traced arrays takes rtol, not atol, and returns no rank; "
            "np.linalg.matrix_rank gives that."
        )
    a = as_operand(a)
    bound = a.shape[-1] * float(np.finfo(a.dtype).eps) if rtol is None else rtol
    return np.linalg.pinv(symmetric(a, lower, hermitian=True), rcond=bound, hermitian=True)


@implements_scipy("linalg")
def norm(
    a: Any, ord: Any = None, axis: Any = None, keepdims: bool = False, check_finite: bool = True
) -> Any:
    """Norms of matrices and vectors."""
    return np.linalg.norm(a, ord, axis, keepdims)


@implements_scipy("linalg")
@over_batches(a=2, b="1|2")
def lstsq(
    a: Any,
    b: Any,
    cond: Any = None,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    lapack_driver: Any = None,
) -> Any:
    """Least squares; the residual of one right-hand side is a number."""
    a, b = as_operand(a), as_operand(b)
    kind = np.result_type(a.dtype, b.dtype, np.float32)
    rcond = float(np.finfo(kind).eps) if cond is None else cond
    x, residuals, rank, values = np.linalg.lstsq(a, b, rcond=rcond)
    settled = type(residuals) is not UnsettledResiduals
    if b.ndim == 1 and settled and residuals.shape == (1,):
        residuals = residuals[0]
    return x, residuals, rank, values


# --- factorisations -------------------------------------------------------------------------------


@implements_scipy("linalg")
def cholesky(
    a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Any:
    """The triangular factor; the lower or the upper triangle of a is read."""
    a = np.atleast_2d(as_operand(a))
    return np.linalg.cholesky(a) if lower else _adjoint(np.linalg.cholesky(_adjoint(a)))


@implements_scipy("linalg")
def cho_factor(
    a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Any:
    """The factor, with what SciPy leaves in its other triangle, and which that is."""
    from scipy import linalg  # slow to import, and here already

    a = np.atleast_2d(as_operand(a))
    factor = cholesky(a, lower)
    few = np.broadcast_to(np.array([[1, 0.5], [0.5, 1]], factor.dtype), (*a.shape[:-2], 2, 2))
    left, which = linalg.cho_factor(few, lower)
    if left.all():  # the numbers of a, which from 1.18 on it does not always keep
        factor = factor + (np.triu(a, 1) if lower else np.tril(a, -1))
    return factor, which


@implements_scipy("linalg")
def cho_solve(
    c_and_lower: Any, b: Any, overwrite_b: bool = False, check_finite: bool = True
) -> Any:
    """Solve with a factor of `cho_factor`."""
    c, lower = c_and_lower
    return _cho_solve(
        c, b, np.ravel(lower)[:1].any(), check_finite
    )  # one for each matrix, from 1.18 on


@over_batches(c=2, b="1|2")
def _cho_solve(c: Any, b: Any, lower: Any, check: Any) -> Any:
    first, then = (0, 2) if lower else (2, 0)
    return by_triangle(c, by_triangle(c, b, lower, first, check_finite=check), lower, then)


@implements_scipy("linalg")
def svdvals(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """The singular values."""
    return np.linalg.svd(a, compute_uv=False)


@implements_scipy("linalg")
def svd(
    a: Any,
    full_matrices: bool = True,
    compute_uv: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: Any = None,
) -> Any:
    """The singular value decomposition."""
    factors: Any = np.linalg.svd(a, full_matrices, compute_uv)  # type: ignore[call-overload]
    return tuple(factors) if compute_uv else factors


@implements_scipy("linalg")
def qr(
    a: Any,
    overwrite_a: bool = False,
    lwork: Any = None,
    mode: str = "full",
    pivoting: bool = False,
    check_finite: bool = True,
) -> Any:
    """The QR factorisation; the columns are ordered as SciPy does at this value."""
    modes: dict[str, Any] = {"full": "complete", "economic": "reduced", "r": "r"}
    if mode not in modes:
        raise UnsupportedFunctionError(
            "scipy.linalg.qr of traced arrays takes mode 'full', 'economic' or 'r'."
        )
    if pivoting:
        return _pivoted(a, modes[mode])
    factors = _factors(a, modes[mode])
    if mode != "r":
        return factors
    from scipy import linalg  # slow to import, and here already

    # As SciPy gives it: of one matrix a tuple, and of a stack from 1.18 on.
    few = np.ones((1,) * np.ndim(a))
    return (factors,) if isinstance(linalg.qr(few, mode="r"), tuple) else factors


@implements_scipy("linalg")
@over_batches(a=2)
def rq(
    a: Any,
    overwrite_a: bool = False,
    lwork: Any = None,
    mode: str = "full",
    check_finite: bool = True,
) -> Any:
    """The RQ factorisation: QR of the adjoint with its rows and columns in reverse."""
    if mode not in ("full", "r", "economic"):
        raise ValueError("Mode argument should be one of ['full', 'r', 'economic']")
    turned = _adjoint(as_operand(a)[::-1, ::-1])
    factors: Any = np.linalg.qr(turned, "reduced" if mode == "economic" else "complete")
    q, r = (_adjoint(factor)[::-1, ::-1] for factor in factors)
    return r if mode == "r" else (r, q)


@over_batches(a=2)
def _pivoted(a: Any, mode: Any) -> Any:
    from scipy import linalg  # slow to import, and here already

    a = as_operand(a)
    _, order = linalg.qr(np.asarray(concrete(a)), mode="r", pivoting=True)
    factors = _factors(a[:, order], mode)
    return (*factors, order) if type(factors) is tuple else (factors, order)


def _factors(a: Any, mode: Any) -> Any:
    """Q and R, or R alone: with all its rows, as SciPy gives it."""
    factors: Any = np.linalg.qr(a, mode)
    if mode != "r":
        return tuple(factors)
    height, rows = np.shape(a)[-2], factors.shape[-2]
    width = [(0, 0)] * (factors.ndim - 2) + [(0, height - rows), (0, 0)]
    return np.pad(factors, width) if height > rows else factors


@implements_scipy("linalg")
def eigh(
    a: Any,
    b: Any = None,
    *,
    lower: bool = True,
    eigvals_only: bool = False,
    subset_by_index: Any = None,
    type: int = 1,
    **options: Any,
) -> Any:
    """Eigenvalues and eigenvectors, of a v = w b v too (type 1)."""
    if type != 1 or options.pop("subset_by_value", None) is not None:
        raise UnsupportedFunctionError(
            "scipy.linalg.eigh of traced arrays solves a v = w b v (type=1), and does not take "
            "subset_by_value."
        )
    a = symmetric(as_operand(a), lower, hermitian=True)
    factor = None
    if b is not None:  # L^-1 a L^-H, with b = L L^H
        factor = np.linalg.cholesky(symmetric(as_operand(b), lower, hermitian=True))
        half = by_triangle(factor, a, True)
        a = _adjoint(by_triangle(factor, _adjoint(half), True))
    first, last = (0, a.shape[-1] - 1) if subset_by_index is None else subset_by_index
    part = slice(first, last + 1)
    if eigvals_only:
        return np.linalg.eigvalsh(a)[..., part]
    values, vectors = np.linalg.eigh(a)
    if factor is not None:
        vectors = by_triangle(factor, vectors, True, 2)
    return values[..., part], vectors[..., part]


@implements_scipy("linalg")
def eigvalsh(a: Any, b: Any = None, *, lower: bool = True, **options: Any) -> Any:
    """Eigenvalues of Hermitian matrices."""
    return eigh(a, b, lower=lower, eigvals_only=True, **options)


@implements_scipy("linalg")
def eigvals(
    a: Any,
    b: Any = None,
    overwrite_a: bool = False,
    check_finite: bool = True,
    homogeneous_eigvals: bool = False,
) -> Any:
    """Eigenvalues; of a v = w b v those of b^-1 a."""
    if homogeneous_eigvals:
        raise UnsupportedFunctionError(
            "scipy.linalg.eigvals of traced arrays does not take homogeneous_eigvals."
        )
    return np.linalg.eigvals(a if b is None else np.linalg.solve(b, a)) + 0j
