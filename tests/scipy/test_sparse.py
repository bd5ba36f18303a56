"""Products and systems with sparse matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse import linalg as sparse_solvers

import adjoint as ad
from tests.scipy.comparing import agrees, agrees_in_all_modes

K = sparse.csr_array(sparse.random_array((4, 4), density=0.5, rng=0) + 3 * sparse.eye_array(4))
M = sparse.csr_matrix(K)
D = K.data
X, XX = np.arange(4.0) + 0.5, np.random.default_rng(0).standard_normal((4, 2))


def of(data: Any) -> Any:
    return sparse.csr_array((data, K.indices, K.indptr), shape=K.shape)


CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "K @ x": (lambda x: K @ x, (X,)),
    "K @ X": (lambda x: K @ x, (XX,)),
    "x @ K": (lambda x: x @ K, (X,)),
    "K.T @ x": (lambda x: K.T @ x, (X,)),
    "K.dot(x)": (lambda x: K.dot(x), (X,)),
    "matrix * x": (lambda x: M * x, (X,)),
    "x * matrix": (lambda x: x * M, (X,)),
    "entries": (lambda d, x: of(d) @ x, (D, X)),
    "transposed": (lambda d, x: of(d).T @ x, (D, X)),
    "coo": (lambda d: sparse.coo_array((d, K.tocoo().coords), shape=K.shape).toarray(), (D,)),
    "sums": (lambda d: (2 * of(d) + K - K.T) @ XX, (D,)),
    "times a number": (lambda s: (s * K) @ X, (1.5,)),
    "spsolve": (lambda b: sparse.linalg.spsolve(K, b), (X,)),
    "spsolve entries": (lambda d, b: sparse.linalg.spsolve(of(d), b), (D, X)),
    "spsolve rows": (lambda d, b: sparse.linalg.spsolve(of(d), b), (D, XX)),
    "cg": (lambda b: sparse.linalg.cg(K @ K.T, b, rtol=1e-13)[0], (X,)),
    "diags": (lambda a, b: sparse.diags([a, b, 1.0 * a[:3]], [0, 1, -1]) @ X, (X, X[:3])),
    "diags_array": (
        lambda a, b: sparse.diags_array([a, b], offsets=[0, 1], shape=(4, 4)) @ X,
        (np.array([2.0]), np.array([3.0])),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_value_and_derivatives(name: str) -> None:
    function, args = CASES[name]
    agrees(function, *args)


def test_all_modes() -> None:
    agrees_in_all_modes(lambda x: np.sum((K @ x) ** 3), X)
    agrees_in_all_modes(lambda d: np.sum(sparse.linalg.spsolve(of(d), X) ** 2), D)


class Model:
    """A sparse matrix kept in an object."""

    def __init__(self) -> None:
        self.matrix = K

    def energy(self, x: Any) -> Any:
        return x @ (self.matrix @ x) / 2


def test_a_matrix_in_an_object() -> None:
    gradient = ad.grad(Model().energy)(X)
    np.testing.assert_allclose(gradient, (K + K.T) @ X / 2)


def test_a_singular_matrix_and_wrong_shapes() -> None:
    with pytest.raises(ad.errors.SingularError):
        ad.jvp(lambda d: sparse.linalg.spsolve(of(d), X), (0 * D,), (D,))
    with pytest.raises(ad.errors.ShapeError, match="does not fit"):
        ad.jvp(lambda x: x @ K, (X[:3],), (X[:3],))
    with pytest.raises(ad.errors.UnsupportedFunctionError, match=r"sparse\.linalg\.eigs "):
        ad.jvp(lambda d: sparse.linalg.eigs(of(d), 1)[0], (D,), (D,))


_A = np.array([[4.0, 1.0, 0.0], [0.5, 3.0, 1.0], [0.0, 2.0, 5.0]])
_FACTORS = sparse_solvers.splu(sparse.csc_array(_A))
_SOLVE = sparse_solvers.factorized(sparse.csc_array(_A))


@pytest.mark.parametrize(
    "solve",
    [
        lambda b: sparse_solvers.splu(sparse.csc_array(_A)).solve(b),
        lambda b: sparse_solvers.factorized(sparse.csc_array(_A))(b),
        lambda b: _FACTORS.solve(b),
        lambda b: _FACTORS.solve(b, "T"),
        lambda b: _FACTORS.solve(np.stack([b, b**2], 1), trans="H")[:, 1],
        lambda b: _SOLVE(b),
    ],
)
def test_factors_of_a_known_matrix(solve: Callable[[Any], Any]) -> None:
    """The factors of a matrix that is known solve for traced right-hand sides."""
    agrees_in_all_modes(lambda b: np.sum(solve(b) ** 2), np.array([1.0, 2.0, -0.5]))


def test_the_truth_of_a_traced_matrix_is_scipys() -> None:
    def function(x: Any) -> Any:
        return x if sparse.csr_array(np.array([[x]])) else 2 * x

    assert ad.jit(function)(2.0) == 2.0
    assert ad.jit(function)(0.0) == 0.0

    def ambiguous(x: Any) -> Any:
        return x if sparse.eye_array(2) * x else 2 * x

    with pytest.raises(ValueError, match="ambiguous"):
        ambiguous(2.0)
    with pytest.raises(ValueError, match="ambiguous"):
        ad.jit(ambiguous)(2.0)
