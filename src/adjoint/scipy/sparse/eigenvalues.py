"""`scipy.sparse.linalg`: some eigenvalues and singular values of traced matrices and operators."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from adjoint.calculus.first_order.stopping import stop_gradient
from adjoint.capture.numpy.table import as_array, perform
from adjoint.capture.recording.tracing.applying import concrete
from adjoint.capture.scipy.operators import TracedOperator, as_operator
from adjoint.capture.scipy.refusing import refuse_sparse
from adjoint.capture.scipy.sparse_matrix import SparseTraced, is_sparse
from adjoint.capture.scipy.sparse_patterns import scipy_sparse
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
    matrix: Any,
    mass: Any,
    k: int,
    which: str,
    sigma: Any = None,
    tol: Any = 0.0,
    limit: Any = None,
    mode: str = "normal",
) -> Any:
    """Of A v = w M v: with real matrices, of which M is diagonal, or with all others."""
    is_plain = _is_plain(matrix) and (mass is None or (_is_plain(mass) and _is_diagonal(mass)))
    if is_plain and mode == "normal":
        if mass is not None and mass.shape != matrix.shape:
            raise ValueError(f"wrong M dimensions {mass.shape}, should be {matrix.shape}")
        scaled, scales = _scaled(matrix, mass)
        values, vectors = _pairs(scaled, k, which, sigma, tol, limit)
        return values, vectors if scales is None else vectors * scales[:, None]
    sigma = None if sigma is None else float(concrete(sigma))
    tolerance = float(concrete(tol) or 0.0)
    return eigenpairs(matrix, mass, EigenvalueChoice(int(k), which, sigma, tolerance, limit, mode))


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


def _look_at(options: dict[str, Any], mass: Any, sigma: Any) -> None:
    """SciPy's errors where arguments do not go together, of a matrix that has none of its own."""
    identity = np.eye(4)
    inverses = {name: identity for name in ("Minv", "OPinv") if options.get(name) is not None}
    import_module("scipy.sparse.linalg").eigsh(
        np.diag(np.arange(1.0, 5.0)),
        1,
        M=None if mass is None else identity,
        sigma=None if sigma is None else 0.5,
        mode=options.get("mode", "normal"),
        **inverses,
    )


def _buckling(
    matrix: Any, mass: Any, k: int, which: str, sigma: float, tol: Any, limit: Any
) -> Any:
    """By how large w / (w - sigma) is, with v^H A v = 1: of M v = (1/w) A v, near 1 / sigma.

    There 1 / (1/w - 1/sigma) is -sigma w / (w - sigma), and M need not be definite.
    """
    if sigma > 0:  # the order is the opposite one
        which = {"LA": "SA", "SA": "LA"}.get(which, which)
    if which == "BE" and k % 2:
        raise refuse_sparse(
            "scipy.sparse.linalg.eigsh of traced values in buckling mode takes which='BE' with an "
            "even k. Write mode='normal' for values near sigma."
        )
    size = matrix.shape[0]
    mass = as_matrix(scipy_sparse().eye_array(size, format="csc")) if mass is None else mass
    inverses, vectors = _pairs_of(mass, matrix, k, which, 1 / sigma, tol, limit)
    order = np.argsort(1 / inverses)
    return (1 / inverses)[order], vectors[:, order]


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
    """Eigenvalues of a symmetric matrix, with their vectors, whose signs may be others.

    Minv and OPinv, which say how to solve and not what, are not used: it finds that out itself.
    """
    if which not in ("LM", "SM", "LA", "SA", "BE"):
        raise ValueError("which must be one of LM SM LA SA BE")
    _look_at(options, M, sigma)
    matrix, mass = _given(A), None if M is None else _given(M)
    mode = "normal" if sigma is None else options.get("mode", "normal")
    if mode != "normal" and not concrete(sigma):  # w / w, or (w + 0) / (w - 0)
        raise refuse_sparse(
            f"scipy.sparse.linalg.eigsh of traced values in {mode} mode takes a sigma other than "
            "zero, near which no value comes first. Write mode='normal'."
        )
    if mode == "buckling":
        values, vectors = _buckling(matrix, mass, k, which, float(concrete(sigma)), tol, maxiter)
    else:
        values, vectors = _pairs_of(matrix, mass, k, which, sigma, tol, maxiter, mode)
    if return_eigenvectors:
        return values, vectors
    return values if sigma is not None else values[_arpack_order(values, which)]


def _arpack_order(values: Any, which: str) -> Any:
    """In which order ARPACK gives ascending values without their vectors: the wanted most last."""
    sizes = {"LM": np.abs(values), "SM": -np.abs(values), "SA": -values}
    return np.argsort(sizes.get(which, values))


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
    """The largest or smallest eigenvalues, as many as X has columns, by Lanczos' method.

    Y: the vectors are orthogonal to its columns, in the inner product of B.
    """
    if any(options.values()):
        raise refuse_sparse(
            "scipy.sparse.linalg.lobpcg of traced values returns no histories: it goes another way."
        )
    which = "LA" if largest else "SA"
    mass = None if B is None else _given(_as_of_columns(B, X))
    matrix = _given(_as_of_columns(A, X))
    if Y is not None and np.shape(Y)[1]:
        matrix = _beside(matrix, mass, as_array(Y), largest)
    values, vectors = _pairs_of(matrix, mass, np.shape(X)[1], which)
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


def _beside(matrix: Any, mass: Any, Y: Any, largest: bool) -> TracedOperator:
    """A on the complement of the columns of Y, which it takes far away from what is looked for.

    With P = 1 - Y (Y^H B Y)^-1 Y^H B, P^H A P + s B (1 - P) has the pairs of A on the complement,
    and B Y s on Y.
    """
    weighted = Y if mass is None else as_operator(mass) @ Y
    gram = np.conjugate(Y.T) @ weighted
    values, _ = _pairs_of(matrix, mass, 1, "LM")
    far = 2 * abs(stop_gradient(values[0])) * (-1 if largest else 1)
    inner = as_operator(matrix)

    def apply(x: Any) -> Any:
        part = np.linalg.solve(gram, np.conjugate(weighted.T) @ x)  # of x in Y
        image = inner.matvec(x - Y @ part)
        image = image - weighted @ np.linalg.solve(gram, np.conjugate(Y.T) @ image)
        return image + far * (weighted @ part)

    return TracedOperator(inner.shape, apply, apply)


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
