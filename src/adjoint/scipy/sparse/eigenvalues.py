"""`scipy.sparse.linalg`: some eigenvalues and singular values of a matrix with traced entries."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.capture.numpy.table import perform
from adjoint.capture.recording.tracing.applying import concrete
from adjoint.capture.scipy.refusing import refuse_sparse
from adjoint.capture.scipy.sparse_matrix import SparseTraced
from adjoint.capture.scipy.table import ALWAYS, implements_scipy
from adjoint.primitives.linear_algebra.sparse.eigen import SPARSE_EIGH
from adjoint.scipy.sparse.constructors import as_matrix, block_array


def _matrix(A: Any, name: str) -> SparseTraced:
    if hasattr(A, "matvec"):
        raise refuse_sparse(
            f"scipy.sparse.linalg.{name} of traced values takes a matrix: the derivative needs its "
            "entries, which an operator does not tell."
        )
    matrix = as_matrix(A).canonical()
    if np.dtype(matrix.dtype).kind == "c":
        raise refuse_sparse(f"scipy.sparse.linalg.{name} of traced values takes real matrices.")
    return matrix


def _pairs(matrix: SparseTraced, k: int, which: str, sigma: Any, tol: Any, limit: Any) -> Any:
    size = matrix.shape[0]
    if matrix.shape[1] != size:
        raise ValueError(f"expected square matrix (shape={matrix.shape})")
    if not 0 < k < size:
        raise ValueError(f"k must be between 1 and the number of rows less one, got k={k}")
    values, vectors = perform(
        SPARSE_EIGH,
        *(matrix.entries, *matrix.places),
        unknowns=size,
        count=int(k),
        which=which,
        sigma=None if sigma is None else float(concrete(sigma)),
        tol=float(concrete(tol) or 0.0),
        maxiter=limit,
    )
    return values, vectors


@implements_scipy("sparse.linalg")
def eigsh(
    A: Any,
    k: int = 6,
    M: Any = None,
    sigma: Any = None,
    which: str = "LM",
    v0: Any = None,
    ncv: Any = None,
    maxiter: Any = None,
    tol: Any = 0,
    return_eigenvectors: bool = True,
    **options: Any,
) -> Any:
    """Eigenvalues of a symmetric matrix, with their vectors, whose signs may be others."""
    others = {"Minv": None, "OPinv": None, "mode": "normal", "rng": None}
    if any(value != others[name] for name, value in options.items()):
        raise refuse_sparse(
            "scipy.sparse.linalg.eigsh of traced values takes no Minv, OPinv or mode: it finds "
            "out itself how to solve."
        )
    if which not in ("LM", "SM", "LA", "SA", "BE"):
        raise ValueError("which must be one of LM SM LA SA BE")
    matrix, scales = _scaled(_matrix(A, "eigsh"), M, "eigsh", "M")
    values, vectors = _pairs(matrix, k, which, sigma, tol, maxiter)
    vectors = vectors if scales is None else vectors * scales[:, None]
    if return_eigenvectors:
        return values, vectors
    return values[::-1] if which in ("SA", "SM") and sigma is None else values


@implements_scipy("sparse.linalg")
def lobpcg(
    A: Any,
    X: Any,
    B: Any = None,
    M: Any = None,
    Y: Any = None,
    tol: Any = None,
    maxiter: Any = None,
    largest: bool = True,
    **options: Any,
) -> Any:
    """The largest or smallest eigenvalues, as many as X has columns, by Lanczos' method."""
    if Y is not None or any(options.values()):
        raise refuse_sparse(
            "scipy.sparse.linalg.lobpcg of traced values takes no Y, and returns no histories."
        )
    which = "LA" if largest else "SA"
    matrix, scales = _scaled(_matrix(A, "lobpcg"), B, "lobpcg", "B")
    values, vectors = _pairs(matrix, np.shape(X)[1], which, None, 0.0, None)
    vectors = vectors if scales is None else vectors * scales[:, None]
    return (values[::-1], vectors[:, ::-1]) if largest else (values, vectors)


@implements_scipy("sparse.linalg")
def svds(
    A: Any,
    k: int = 6,
    ncv: Any = None,
    tol: Any = 0,
    which: str = "LM",
    v0: Any = None,
    maxiter: Any = None,
    return_singular_vectors: Any = True,
    solver: str = "arpack",
    rng: Any = None,
    options: Any = None,
    **others: Any,
) -> Any:
    """The largest singular values, as eigenvalues of [[0, A], [A^T, 0]]; or the smallest."""
    if which not in ("LM", "SM"):
        raise ValueError("`which` must be in {'LM', 'SM'}.")
    matrix = _matrix(A, "svds")
    if not 0 < k < min(matrix.shape):
        raise ValueError("`k` must be an integer satisfying `0 < k < min(A.shape)`.")
    if which == "SM":
        return _smallest(matrix, k, return_singular_vectors)
    whole = block_array([[None, matrix], [matrix.T, None]]).canonical()
    values, vectors = _pairs(whole, k, "LA", None, tol, maxiter)
    if return_singular_vectors is False:
        return values
    height = matrix.shape[0]
    left, right = (np.sqrt(2.0) * part for part in (vectors[:height], vectors[height:]))
    return left, values, right.T


def _smallest(matrix: SparseTraced, k: int, with_vectors: Any) -> Any:
    """The smallest singular values, of eigenvectors of the smaller Gram matrix, as SciPy does."""
    is_tall = matrix.shape[0] >= matrix.shape[1]
    tall = matrix if is_tall else matrix.T
    _, inner = _pairs((tall.T @ tall).canonical(), k, "SA", None, 0.0, None)
    images = tall @ inner
    values = np.sqrt(np.sum(images**2, axis=0))  # their squares are the eigenvalues
    if with_vectors is False:
        return values
    outer = images / values
    left, right = (outer, inner) if is_tall else (inner, outer)
    return left, values, right.T


def _scaled(matrix: SparseTraced, mass: Any, name: str, argument: str) -> tuple[SparseTraced, Any]:
    """The matrix of A v = w M v with a diagonal M, as one of u = M^(1/2) v; and M^(-1/2)."""
    if mass is None:
        return matrix, None
    diagonal = _matrix(mass, name)
    rows, columns = diagonal.places
    if diagonal.shape != matrix.shape or not np.array_equal(rows, columns):
        raise refuse_sparse(
            f"scipy.sparse.linalg.{name} of traced values takes a diagonal {argument} of the size "
            "of A. For another one factorise it, or make both dense, and use scipy.linalg.eigh."
        )
    scales = 1 / np.sqrt(diagonal.diagonal())
    rows, columns = matrix.places
    entries = matrix.entries * scales[rows] * scales[columns]
    return SparseTraced(entries, matrix.pattern, matrix.form), scales


for _name in ("eigsh", "lobpcg", "svds"):
    ALWAYS["sparse.linalg", _name] = lambda given: any(hasattr(x, "matvec") for x in given)
