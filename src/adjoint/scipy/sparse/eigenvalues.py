"""`scipy.sparse.linalg`: some eigenvalues and singular values of traced matrices and operators."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.capture.numpy.table import perform
from adjoint.capture.recording.tracing.applying import concrete
from adjoint.capture.scipy.operators import TracedOperator, as_operator
from adjoint.capture.scipy.refusing import refuse_sparse
from adjoint.capture.scipy.sparse_matrix import SparseTraced, is_sparse
from adjoint.capture.scipy.table import ALWAYS, implements_scipy
from adjoint.primitives.linear_algebra.sparse.eigen import SPARSE_EIGH
from adjoint.scipy.sparse.constructors import as_matrix, block_array
from adjoint.scipy.sparse.eigenpairs import EigenvalueChoice, eigenpairs
from adjoint.scipy.sparse.smallest import differentiable_values


def _given(A: Any) -> Any:
    """A matrix, or an operator."""
    if hasattr(A, "matvec") and not is_sparse(A):
        return as_operator(A)
    return as_matrix(A).canonical()


def _is_plain(part: Any) -> bool:
    """Whether it is a matrix of real numbers."""
    return isinstance(part, SparseTraced) and np.dtype(part.dtype).kind != "c"


def _pairs_of(
    matrix: Any, mass: Any, k: int, which: str, sigma: Any = None, tol: Any = 0.0, limit: Any = None
) -> Any:
    """Of A v = w M v: with real matrices, of which M is diagonal, or with all others."""
    if _is_plain(matrix) and (mass is None or (_is_plain(mass) and _is_diagonal(mass))):
        if mass is not None and mass.shape != matrix.shape:
            raise ValueError(f"wrong M dimensions {mass.shape}, should be {matrix.shape}")
        scaled, scales = _scaled(matrix, mass)
        values, vectors = _pairs(scaled, k, which, sigma, tol, limit)
        return values, vectors if scales is None else vectors * scales[:, None]
    sigma = None if sigma is None else float(concrete(sigma))
    return eigenpairs(
        matrix, mass, EigenvalueChoice(int(k), which, sigma, float(concrete(tol) or 0.0), limit)
    )


def _is_diagonal(matrix: SparseTraced) -> bool:
    return np.array_equal(*matrix.places)


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
    mass = None if M is None else _given(M)
    values, vectors = _pairs_of(_given(A), mass, k, which, sigma, tol, maxiter)
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
    mass = None if B is None else _given(_as_of_columns(B, X))
    values, vectors = _pairs_of(_given(_as_of_columns(A, X)), mass, np.shape(X)[1], which)
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
    matrix = _given(A)
    if not 0 < k < min(matrix.shape):
        raise ValueError("`k` must be an integer satisfying `0 < k < min(A.shape)`.")
    if which == "SM":
        return _smallest(matrix, k, return_singular_vectors)
    values, vectors = _pairs_of(_symmetric(matrix), None, k, "LA", None, tol, maxiter)
    if return_singular_vectors is False:
        return values
    height = matrix.shape[0]
    left, right = (np.sqrt(2.0) * part for part in (vectors[:height], vectors[height:]))
    return left, values, np.conjugate(right.T)


def _symmetric(matrix: Any) -> Any:
    """[0, A; A^H, 0]."""
    if isinstance(matrix, SparseTraced):
        return block_array([[None, matrix], [matrix.H, None]]).canonical()
    height, width = matrix.shape

    def apply(x: Any) -> Any:
        return np.concatenate([matrix.matvec(x[height:]), matrix.rmatvec(x[:height])])

    return TracedOperator((height + width, height + width), apply, apply, matrix.dtype)


def _smallest(matrix: Any, k: int, with_vectors: Any) -> Any:
    """The smallest singular values, of eigenvectors of the smaller Gram matrix, as SciPy does."""
    is_tall = matrix.shape[0] >= matrix.shape[1]
    tall = matrix if is_tall else matrix.H
    gram = tall.H @ tall
    gram = gram.canonical() if isinstance(gram, SparseTraced) else gram
    _, inner = _pairs_of(gram, None, k, "SA")
    images = tall @ inner
    # Their squares are the eigenvalues.
    values = _lengths(images)
    trial = np.random.default_rng(2).standard_normal((tall.shape[1], 1)).astype(inner.dtype)
    size = _lengths(tall @ trial)[0]  # the root of the sum of all squares, about
    values = differentiable_values(values, size)
    if with_vectors is False:
        return values
    outer = images / values
    left, right = (outer, inner) if is_tall else (inner, outer)
    return left, values, np.conjugate(right.T)


def _lengths(columns: Any) -> Any:
    return np.sqrt(np.sum(np.real(columns) ** 2 + np.imag(columns) ** 2, axis=0))


def _as_of_columns(value: Any, X: Any) -> Any:
    """What lobpcg takes for a matrix: also a function of a matrix with columns."""
    if not callable(value) or hasattr(value, "matvec"):
        return value
    size = np.shape(X)[0]

    def apply(x: Any) -> Any:
        return np.reshape(value(np.reshape(x, (size, 1))), (size,))

    return TracedOperator((size, size), apply, apply)


def _scaled(matrix: SparseTraced, mass: SparseTraced | None) -> tuple[SparseTraced, Any]:
    """The matrix of A v = w M v with a diagonal M, as one of u = M^(1/2) v; and M^(-1/2)."""
    if mass is None:
        return matrix, None
    scales = 1 / np.sqrt(mass.diagonal())
    rows, columns = matrix.places
    entries = matrix.entries * scales[rows] * scales[columns]
    return SparseTraced(entries, matrix.pattern, matrix.form), scales


for _name in ("eigsh", "lobpcg", "svds"):
    ALWAYS["sparse.linalg", _name] = lambda given: any(hasattr(x, "matvec") for x in given)
