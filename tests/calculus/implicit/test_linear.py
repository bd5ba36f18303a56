"""Linear systems as primitives: values, derivatives in A and b, solvers, spaces, batches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

import adjoint as ad
from adjoint.base.errors import (
    ArgumentError,
    ArgumentTypeError,
    DroppedDerivativeError,
    NotConvergedError,
    NotLinearError,
    ShapeError,
    SingularError,
)

implicit = ad.implicit
GENERATOR = np.random.default_rng(0)
A = GENERATOR.standard_normal((5, 5)) + 5 * np.eye(5)
B = GENERATOR.standard_normal(5)
S = A @ A.T
X = np.linalg.solve(A, B)
T = np.linalg.solve(A.T, B)


def own(linear_map: Any, right: Any) -> Any:
    """A solver of the user's, which asks for the matrix."""
    return np.linalg.solve(linear_map.matrix(), right)


SOLVERS = [
    None,
    implicit.Direct(),
    implicit.Krylov(),
    implicit.Krylov(restart=2, limit=1000),
    implicit.Krylov(preconditioner=lambda r: r / np.diag(A)),
    implicit.Krylov(preconditioner=ad.maps.diagonal(1 / np.diag(A), ad.spaces.Euclidean(5))),
    own,
]


@pytest.mark.parametrize("solver", SOLVERS)
def test_values_and_derivatives_in_every_mode(solver: Any) -> None:
    """A dx = db - dA x, and the transpose solves with the transposed operator."""

    def solution(A: Any, b: Any) -> Any:
        return implicit.linear_solve(lambda x: A @ x, b, solver=solver)

    assert np.allclose(solution(A, B), X, atol=1e-8)
    dA, db, v = GENERATOR.standard_normal((5, 5)), GENERATOR.standard_normal(5), B[::-1].copy()
    expected = np.linalg.solve(A, db - dA @ X)
    assert np.allclose(ad.jvp(solution, (A, B), (dA, db))[1], expected, atol=1e-8)
    _, pull = ad.vjp(solution, A, B)
    t = np.linalg.solve(A.T, v)
    found = pull(v)
    assert np.allclose(found[0], -np.outer(t, X), atol=1e-8)
    assert np.allclose(found[1], t, atol=1e-8)
    second = ad.hvp(lambda A: np.sum(solution(A, B) ** 2), A, dA)
    step = 1e-6
    above, below = (
        ad.grad(lambda A: np.sum(solution(A, B) ** 2))(A + sign * step * dA) for sign in (1, -1)
    )
    assert np.allclose(second, (above - below) / (2 * step), atol=1e-4 if solver else 1e-8)


def test_what_may_be_given_for_an_operator() -> None:
    """A matrix, a linear map, a sparse matrix, code, and code that fills an array."""

    def filled(x: Any) -> Any:
        image = np.zeros(5)
        for row in range(5):
            image[row] = A[row] @ x
        return image

    rows = ad.maps.from_matrix(A, ad.spaces.Euclidean(5), ad.spaces.Euclidean(5))
    foreign = ad.LinearMap(
        ad.spaces.Euclidean(5),
        ad.spaces.Euclidean(5),
        lambda x: np.array([float(A[i] @ np.array(x)) for i in range(5)]),
        lambda c: np.array([float(A[:, i] @ np.array(c)) for i in range(5)]),
    )
    for operator in (A, rows, foreign, sparse.csr_array(A), sparse.csc_matrix(A), filled):
        assert np.allclose(implicit.linear_solve(operator, B), X)
        gradient = ad.grad(lambda b, A=operator: np.sum(implicit.linear_solve(A, b)))(B)
        assert np.allclose(gradient, np.linalg.solve(A.T, np.ones(5)))
    by_matrix = ad.grad(lambda A: np.sum(implicit.linear_solve(A, B)))(A)
    assert np.allclose(by_matrix, -np.outer(np.linalg.solve(A.T, np.ones(5)), X))


def test_zeros_that_code_fills_are_read_anew() -> None:
    """An array of zeros is no addend; another one, with a number in it, is."""
    shift = np.zeros(5)

    def operator(x: Any) -> Any:
        return A @ x + shift

    assert np.allclose(implicit.linear_solve(operator, B), X)
    shift[0] = 1.0
    with pytest.raises(NotLinearError, match="must be linear in the unknowns"):
        implicit.linear_solve(operator, B)


def test_the_conjugate_gradient_method_runs_in_the_space() -> None:
    """W^-1 S is not symmetric, and self-adjoint under <x, y> = x' W y."""
    weights = np.array([1.0, 4.0, 0.5, 9.0, 2.0])
    space = ad.spaces.Weighted(ad.spaces.Euclidean(5), weights)

    def solution(S: Any, b: Any, **facts: Any) -> Any:
        return implicit.linear_solve(lambda x: (S @ x) / weights, b, **facts)

    expected = np.linalg.solve(S / weights[:, None], B)
    for method in (implicit.Method.CG, implicit.Method.MINRES, implicit.Method.GMRES, None):
        facts = {"solver": implicit.Krylov(method), "space": space, "positive": True}
        assert np.allclose(solution(S, B, **facts), expected)
        gradient = ad.grad(lambda b, f=facts: np.sum(solution(S, b, **f)))(B)  # on the dual
        assert np.allclose(gradient, np.linalg.solve((S / weights[:, None]).T, np.ones(5)))
    with pytest.raises(ArgumentError, match="said to be self-adjoint, and is not"):
        solution(S, B, solver=implicit.Krylov(), positive=True)
    derivative = ad.derivative(
        lambda b: solution(S, b, solver=implicit.Krylov(), positive=True, space=space),
        B,
        domain=space,
        codomain=space,
    )
    assert ad.maps.adjoint_error(derivative) < 1e-9
    u = GENERATOR.standard_normal(5)
    assert np.allclose(derivative.H(u), derivative(u))  # the inverse of what is self-adjoint


def test_indefinite_operators() -> None:
    """MINRES takes them, conjugate gradients say so."""
    D = np.array([1.0, -2.0, 3.0, -4.0, 5.0])
    Q = np.linalg.qr(GENERATOR.standard_normal((5, 5)))[0]
    H = Q @ (D[:, None] * Q.T)
    found = implicit.linear_solve(H, B, solver=implicit.Krylov(), self_adjoint=True)
    assert np.allclose(found, np.linalg.solve(H, B))
    with pytest.raises(NotConvergedError, match="not positive definite"):
        implicit.linear_solve(H, B, solver=implicit.Krylov(), positive=True)


@pytest.mark.parametrize("solver", [None, implicit.Krylov(), own])
def test_batches_are_loops(solver: Any) -> None:
    """Of right-hand sides, of operators, of both, and nested."""

    def solution(A: Any, b: Any) -> Any:
        return implicit.linear_solve(A, b, solver=solver)

    As = A + 0.1 * GENERATOR.standard_normal((3, 5, 5))
    bs = GENERATOR.standard_normal((3, 5))
    expected = np.stack([[np.linalg.solve(a, b) for b in bs] for a in As])
    assert np.allclose(ad.vmap(lambda b: solution(A, b))(bs), np.linalg.solve(A, bs.T).T)
    assert np.allclose(ad.vmap(lambda a: solution(a, B))(As), np.linalg.solve(As, B))
    both = ad.vmap(solution)(As, bs)
    assert np.allclose(both, [expected[n, n] for n in range(3)])
    nested = ad.vmap(lambda a: ad.vmap(lambda b: solution(a, b))(bs))(As)
    assert np.allclose(nested, expected)
    other = ad.vmap(lambda b: ad.vmap(lambda a: solution(a, b))(As))(bs)
    assert np.allclose(other, expected.transpose(1, 0, 2))
    jacobians = ad.vmap(ad.jacobian(lambda b: solution(A, b)))(bs)
    assert np.allclose(jacobians, np.linalg.inv(A))
    gradients = ad.vmap(ad.grad(lambda a, b: np.sum(solution(a, b))))(As, bs)
    for a, b, gradient in zip(As, bs, gradients, strict=True):
        t = np.linalg.solve(a.T, np.ones(5))
        assert np.allclose(gradient, -np.outer(t, np.linalg.solve(a, b)), atol=1e-8)


def test_trees_and_scalars() -> None:
    """x and A x are pytrees of other structures."""

    def operator(x: Any) -> Any:
        return 2 * x["u"] + x["v"], x["v"] - x["u"][0]

    right = (np.array([1.0, 2.0]), 3.0)
    like = {"u": np.zeros(2), "v": 0.0}
    x = implicit.linear_solve(operator, right, like=like)
    assert np.allclose(operator(x)[0], right[0])
    assert np.allclose(operator(x)[1], right[1])
    pulled = ad.grad(lambda b: implicit.linear_solve(operator, (b, 3.0), like=like)["v"])(right[0])
    matrix = np.array([[2.0, 0, 1], [0, 2, 1], [-1, 0, 1]])
    assert np.allclose(pulled, np.linalg.inv(matrix)[2, :2])
    assert implicit.linear_solve(lambda x: 4 * x, 2.0) == 0.5


def test_complex_systems() -> None:
    """Over the complex numbers, and over the reals, where conjugation is linear."""
    C = A + 1j * GENERATOR.standard_normal((5, 5))
    b = B + 2j
    assert np.allclose(implicit.linear_solve(C, b), np.linalg.solve(C, b))
    assert np.allclose(implicit.linear_solve(C, B), np.linalg.solve(C, B))
    found = implicit.linear_solve(lambda x: 3 * x + np.conj(x), b)
    assert np.allclose(3 * found + np.conj(found), b)
    _, pull = ad.vjp(lambda b: implicit.linear_solve(C, b), b)
    assert np.allclose(pull(b)[0], np.linalg.solve(C.conj().T, b))


def test_an_operator_that_holds_a_solve_of_its_own() -> None:
    """A Schur complement: S x = D x - F (E^-1 (G x))."""
    E, F, G, D = (
        GENERATOR.standard_normal((4, 4)) + 6 * (n % 3 == 0) * np.eye(4) for n in range(4)
    )

    def schur(E: Any) -> Any:
        return implicit.linear_solve(
            lambda x: D @ x - F @ implicit.linear_solve(E, G @ x), np.ones(4)
        )

    expected = np.linalg.solve(D - F @ np.linalg.solve(E, G), np.ones(4))
    assert np.allclose(schur(E), expected)
    found = ad.grad(lambda E: np.sum(schur(E)))(E)
    plain = ad.grad(lambda E: np.sum(np.linalg.inv(D - F @ np.linalg.inv(E) @ G) @ np.ones(4)))(E)
    assert np.allclose(found, plain)


def test_large_sparse_and_matrix_free() -> None:
    """A Laplacian with 10 000 unknowns, with and without a matrix."""
    size = 10_000
    ones = np.ones(size)
    bands = [-ones[:-1], 2.5 * ones, -ones[:-1]]
    matrix = sparse.diags_array(bands, offsets=[-1, 0, 1])

    def stencil(x: Any) -> Any:
        image = 2.5 * x
        image[1:] -= x[:-1]
        image[:-1] -= x[1:]
        return image

    x = implicit.linear_solve(matrix, ones)
    y = implicit.linear_solve(stencil, ones, positive=True)
    assert np.allclose(matrix @ x, ones)
    assert np.allclose(x, y, atol=1e-8)
    gradient = ad.grad(lambda b: np.sum(implicit.linear_solve(stencil, b, positive=True) ** 2))(
        ones
    )
    assert np.allclose(gradient, implicit.linear_solve(matrix, 2 * x), atol=1e-7)


def test_sparse_matrices_in_batches_and_complex_ones() -> None:
    """The entries are shared; complex ones are solved as any other operator."""
    matrix = sparse.csr_array(A)
    assert np.allclose(ad.jacobian(lambda b: implicit.linear_solve(matrix, b))(B), np.linalg.inv(A))
    batch = ad.vmap(lambda b: implicit.linear_solve(matrix, b))(np.stack([B, 2 * B]))
    assert np.allclose(batch, [X, 2 * X])
    assert np.allclose(implicit.linear_solve(matrix * 1j, B), -1j * X)


def test_singular_operators_are_errors() -> None:
    """Exactly, to rounding, diagonal, in a batch, sparse; and bad scales are not."""
    singular = np.array([[1.0, 2.0], [2.0, 4.0]])
    with pytest.raises(SingularError, match="condition number"):
        implicit.linear_solve(singular, np.ones(2))
    with pytest.raises(SingularError, match=r"condition number is .* 1/eps is"):
        implicit.linear_solve(singular + 1e-17, np.ones(2))
    with pytest.raises(SingularError, match="row 0"):
        implicit.linear_solve(lambda x: np.array([0.0, 1.0]) * x, np.ones(2))
    with pytest.raises(SingularError, match="in block 1 of 2"):
        ad.vmap(lambda a: implicit.linear_solve(a, np.ones(2)))(np.stack([np.eye(2), singular]))
    for matrix in (sparse.csr_array(singular), sparse.csr_array(singular + 1e-17)):
        with pytest.raises(SingularError, match="condition number"):
            implicit.linear_solve(matrix, np.ones(2))
    with pytest.raises(SingularError, match="NaN"):
        implicit.linear_solve(np.array([[np.nan]]), np.ones(1))
    scales = np.array([1e12, 1e-12, 1.0])
    badly = scales[:, None] * (np.eye(3) + 0.1) * scales[::-1]
    assert np.allclose(badly @ implicit.linear_solve(badly, scales), scales)


def test_solvers_that_do_not_converge_are_errors() -> None:
    """Each names the residual and what is allowed."""
    with pytest.raises(NotConvergedError, match="GMRES in 2 steps left a residual"):
        implicit.linear_solve(A, B, solver=implicit.Krylov(limit=2, restart=2))
    with pytest.raises(NotConvergedError, match="fixed-point iteration, 5 times"):
        implicit.linear_solve(np.eye(5) * 0.5, B, solver=implicit.Iteration(limit=5))
    with pytest.raises(NotConvergedError, match="the solver given left"):
        implicit.linear_solve(A, B, solver=lambda linear_map, b: b)
    with pytest.raises(NotConvergedError, match="nan"):
        implicit.linear_solve(A, B, solver=lambda linear_map, b: b * np.nan)
    with pytest.raises(NotConvergedError):
        implicit.linear_solve(np.zeros((2, 2)), np.ones(2), solver=implicit.Krylov())
    with pytest.raises(ShapeError, match="What the solver of a linear system returned"):
        implicit.linear_solve(A, B, solver=lambda linear_map, b: b[:2])


def test_a_solver_that_reads_traced_values_is_an_error() -> None:
    """Their derivative would be lost."""

    def loss(weight: Any) -> Any:
        x = implicit.linear_solve(weight * A, B, solver=lambda D, b: b / (weight * 5))
        return np.sum(x)

    with pytest.raises(DroppedDerivativeError, match="The solver of a linear system"):
        ad.grad(loss)(1.0)


def test_wrong_arguments() -> None:
    """Shapes, structures, and what is no operator."""
    with pytest.raises(ShapeError, match="needs a square matrix"):
        implicit.linear_solve(A[:3], B)
    with pytest.raises(ShapeError, match="needs a square matrix"):
        implicit.linear_solve(sparse.csr_array(A[:3]), B)
    with pytest.raises(ShapeError, match="as many equations as unknowns"):
        implicit.linear_solve(lambda x: x[:3], B)
    with pytest.raises(ShapeError, match="right-hand side"):
        implicit.linear_solve(lambda x: x[:3], B, like=np.zeros(3))
    with pytest.raises(ShapeError, match="has the structure"):
        implicit.linear_solve(lambda x: {"image": x}, B)
    with pytest.raises(ArgumentTypeError, match="linear_solve takes a matrix"):
        implicit.linear_solve("A", B)
    with pytest.raises(NotLinearError):
        implicit.linear_solve(lambda x: x**3, B)
    with pytest.raises(NotLinearError, match="linear in its right-hand side, not in"):
        ad.linear_transpose(lambda a: implicit.linear_solve(lambda x: a * x, B), B)
    assert np.allclose(ad.linear_transpose(lambda b: implicit.linear_solve(A, b), B)(B)[0], T)
