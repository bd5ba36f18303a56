"""NumPy's decompositions of matrices, and what is made of them: `numpy.linalg` qr to pinv."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.base.errors import LinearAlgebraError, UnsupportedFunctionError, ValueNeededError
from adjoint.capture.numpy.indexing.indexing import reshape_plain
from adjoint.capture.numpy.linalg.norms import norm
from adjoint.capture.numpy.linalg.solving import inv
from adjoint.capture.numpy.making.values import sort, take_along_axis
from adjoint.capture.numpy.reducing.reduce import count_nonzero
from adjoint.capture.numpy.shaping.shape import matrix_transpose
from adjoint.capture.numpy.table import as_array, implements, perform
from adjoint.capture.recording.tracing.applying import concrete
from adjoint.capture.recording.tracing.traced import Traced
from adjoint.primitives import PRIMITIVES
from adjoint.primitives.linear_algebra.systems import square_shape

_FREE: dict[str, Any] = {"used": None}
_EigResult = type(np.linalg.eig(np.eye(1)))
_EighResult = type(np.linalg.eigh(np.eye(1)))
_ALWAYS_COMPLEX = np.linalg.eigvals(np.eye(1)).dtype.kind == "c"
_SVDResult = type(np.linalg.svd(np.eye(1)))
_QRResult = type(np.linalg.qr(np.eye(1)))


def _matrices(name: str, a: Any) -> Any:
    a = as_array(a)
    if np.ndim(a) < 2:
        raise LinearAlgebraError(
            f"{name}: {np.ndim(a)}-dimensional array given. Array must be at least two-dimensional."
        )
    return a


def _has_entries(name: str, a: Any) -> None:
    if not np.size(a):
        raise LinearAlgebraError(f"{name}: not defined on empty arrays, got shape {np.shape(a)}.")


# --- qr -------------------------------------------------------------------------------------------


@implements(np.linalg.qr)
def qr(a: Any, mode: str = "reduced") -> Any:
    """Compute the qr factorization of a matrix."""
    if mode in ("f", "full"):
        mode = "reduced"
    if mode in ("raw", "e", "economic"):
        raise UnsupportedFunctionError(
            f"numpy.linalg.qr with mode={mode!r} gives LAPACK's reflectors, which have no "
            "derivative here. Use mode='reduced', 'complete' or 'r'."
        )
    if mode not in ("reduced", "complete", "r"):
        raise ValueError(f"Unrecognized mode '{mode}'")
    a = _matrices("qr", a)
    factors = perform(
        PRIMITIVES["qr"], a, complete=mode == "complete" and a.shape[-2] > a.shape[-1]
    )
    return factors[1] if mode == "r" else _QRResult(*factors)


# --- svd ------------------------------------------------------------------------------------------


@implements(np.linalg.svd)
def svd(
    a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
) -> Any:
    """Singular Value Decomposition."""
    a = _matrices("svd", a)
    if hermitian:
        return _hermitian_svd(a) if compute_uv else _hermitian_sizes(a)
    if not compute_uv:
        return perform(PRIMITIVES["svdvals"], a)
    full = bool(full_matrices) and a.shape[-1] != a.shape[-2]
    return _SVDResult(*perform(PRIMITIVES["svd"], a, full=full, **_FREE)[:3])


def _hermitian_svd(a: Any) -> Any:
    # As NumPy does it: the eigenvalues' signs go into the right vectors.
    values, vectors = eigh(a)
    places = np.argsort(np.abs(values))[..., ::-1]
    signs = take_along_axis(np.copysign(1.0, values), places, -1)
    u = take_along_axis(vectors, places[..., None, :], -1)
    vh = matrix_transpose(u * signs[..., None, :].astype(values.dtype))
    vh = np.conjugate(vh) if u.dtype.kind == "c" else vh
    return _SVDResult(u, take_along_axis(np.abs(values), places, -1), vh)


def _hermitian_sizes(a: Any) -> Any:
    return sort(np.abs(eigvalsh(a)))[..., ::-1]


@implements(np.linalg.svdvals)
def svdvals(x: Any, /) -> Any:
    """Return the singular values of a matrix (or a stack of matrices)."""
    return svd(x, compute_uv=False)


# --- eigenvalues ----------------------------------------------------------------------------------


def _reads_lower(triangle: Any) -> bool:
    name = triangle.upper()
    if name not in ("L", "U"):
        raise ValueError("UPLO argument must be 'L' or 'U'")
    return bool(name == "L")


@implements(np.linalg.eigh)
def eigh(a: Any, UPLO: Any = "L") -> Any:
    """Return the eigenvalues and eigenvectors of a complex Hermitian or real symmetric matrix."""
    lower = _reads_lower(UPLO)
    return _EighResult(*perform(PRIMITIVES["eigh"], as_array(a), lower=lower, **_FREE))


@implements(np.linalg.eigvalsh)
def eigvalsh(a: Any, UPLO: Any = "L") -> Any:
    """Compute the eigenvalues of a complex Hermitian or real symmetric matrix."""
    lower = _reads_lower(UPLO)
    return perform(PRIMITIVES["eigvalsh"], as_array(a), lower=lower)


def _all_real(a: Any, values: Any) -> bool:
    """Whether NumPy gives real results: until 2.5, of a real matrix, if its eigenvalues all are."""
    if a.dtype.kind == "c" or _ALWAYS_COMPLEX:
        return False
    try:
        return bool(np.all(values.imag == 0))
    except ValueNeededError:
        raise ValueNeededError(
            "numpy.linalg.eig and eigvals of a real matrix give real or complex arrays, as the "
            "eigenvalues turn out, which may differ from example to example under vmap. Write "
            "a.astype(complex), of which they are complex always; or eigh for symmetric matrices."
        ) from None


@implements(np.linalg.eig)
def eig(a: Any) -> Any:
    """Compute the eigenvalues and right eigenvectors of a square array."""
    a = as_array(a)
    values, vectors = perform(PRIMITIVES["eig"], a)
    if _all_real(a, values):
        values, vectors = values.real.copy(), vectors.real.copy()
    return _EigResult(values, vectors)


@implements(np.linalg.eigvals)
def eigvals(a: Any) -> Any:
    """Compute the eigenvalues of a general matrix."""
    a = as_array(a)
    values = perform(PRIMITIVES["eigvals"], a)
    return values.real.copy() if _all_real(a, values) else values


# --- rank, condition, pseudo-inverse, least squares -----------------------------------------------


@implements(np.linalg.matrix_rank)
def matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    """Return matrix rank of array using SVD method."""
    if rtol is not None and tol is not None:
        raise ValueError("`tol` and `rtol` can't be both set.")
    a = as_array(A)
    if np.ndim(a) < 2:
        return int(bool(np.any(a != 0)))
    sizes = svd(a, compute_uv=False, hermitian=hermitian)
    if tol is not None:
        cutoff = as_array(tol)[..., None]
    else:
        rtol = max(a.shape[-2:]) * np.finfo(sizes.dtype).eps if rtol is None else rtol
        cutoff = np.max(sizes, axis=-1, keepdims=True, initial=0) * as_array(rtol)[..., None]
    return count_nonzero(sizes > cutoff, axis=-1)


@implements(np.linalg.cond)
def cond(x: Any, p: Any = None) -> Any:
    """Compute the condition number of a matrix."""
    x = _matrices("cond", x)
    _has_entries("cond", x)
    if p is None or p in (2, -2):
        sizes = svd(x, compute_uv=False)
        large, small = sizes[..., 0], sizes[..., -1]
        condition = small / large if p == -2 else large / small
    else:
        square_shape("cond", x.type if type(x) is Traced else x)
        sizes = norm(x, p, axis=(-2, -1))
        condition = sizes * norm(inv(x), p, axis=(-2, -1))
    unknown = np.isnan(condition) & ~np.any(np.isnan(x), axis=(-2, -1))
    return np.where(unknown, condition.dtype.type(np.inf), condition)


@implements(np.linalg.pinv)
def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = np._NoValue) -> Any:
    """Compute the (Moore-Penrose) pseudo-inverse of a matrix."""
    a = _matrices("pinv", a)
    if rcond is not None and rtol is not np._NoValue:
        raise ValueError("`rtol` and `rcond` can't be both set.")
    if rcond is None and rtol is None:
        rcond = max(a.shape[-2:]) * np.finfo(a.dtype).eps
    elif rcond is None and rtol is not np._NoValue:
        rcond = rtol
    if not np.size(a):
        return matrix_transpose(a).copy()
    if np.ndim(rcond):
        return _pinv_each(a, np.asarray(concrete(rcond)), hermitian)
    cutoff = None if rcond is None else cutoff_number("pinv", rcond)
    if hermitian:
        a = perform(PRIMITIVES["hermitian"], a, lower=True)
    return perform(PRIMITIVES["pinv"], a, rtol=cutoff, hermitian=bool(hermitian))


def _pinv_each(a: Any, cutoffs: Any, hermitian: bool) -> Any:
    """Pseudo-inverses of matrices with a cutoff each: those of one cutoff together."""
    lead = a.shape[:-2]
    distinct, which = np.unique(np.broadcast_to(cutoffs, lead).ravel(), return_inverse=True)
    flat = reshape_plain(a, (which.size, *a.shape[-2:]))
    parts = [
        pinv(flat[which == number], cutoff, hermitian) for number, cutoff in enumerate(distinct)
    ]
    order = np.argsort(np.argsort(which, kind="stable"))
    return reshape_plain(np.concatenate(parts)[order], (*lead, a.shape[-1], a.shape[-2]))


def cutoff_number(name: str, cutoff: Any) -> float:
    """The one cutoff that a function is given."""
    if np.ndim(cutoff):
        raise UnsupportedFunctionError(
            f"numpy.linalg.{name} on traced arrays takes one number as its cutoff, got shape "
            f"{np.shape(cutoff)}. Write a loop over the matrices, or one cutoff for all."
        )
    return float(cutoff)
