"""What the generic checker does not see of linear algebra: closed forms, errors, batches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.optimise import simplify
from adjoint.primitives import PRIMITIVES
from adjoint.spaces import Hermitian, Symmetric

RNG = np.random.default_rng(5)
GENERAL = RNG.normal(size=(4, 4)) + 3 * np.eye(4)
COMPLEX = GENERAL + 1j * RNG.normal(size=(4, 4))
POSITIVE = GENERAL @ GENERAL.T
HERMITIAN = COMPLEX @ COMPLEX.conj().T
RIGHT = RNG.normal(size=4)
WEIGHTS = RNG.normal(size=(4, 4))


def close(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12)


def test_the_pullback_of_solve_is_one_solve_with_the_transpose() -> None:
    x, pull = ad.vjp(np.linalg.solve, GENERAL, RIGHT)
    w = np.arange(4.0)
    of_matrix, of_right = pull(w)
    back = np.linalg.solve(GENERAL.T, w)
    close(x, np.linalg.solve(GENERAL, RIGHT))
    close(of_right, back)
    close(of_matrix, -np.outer(back, x))
    program = ad.program(lambda a, b: np.linalg.solve(a, b) @ w, GENERAL, RIGHT)
    names = [e.primitive.name for e in program.program.equations]
    assert (names.count("lu_factors"), names.count("solve_factored")) == (1, 1)


def test_the_pullback_of_a_complex_solve_is_the_adjoint() -> None:
    right = RIGHT + 1j
    derivative = ad.derivative(lambda b: np.linalg.solve(COMPLEX, b), right)
    close(derivative.H(right), np.linalg.solve(COMPLEX.conj().T, right))


def test_a_batch_of_right_hand_sides_is_solved_by_one_factorisation() -> None:
    rights = RNG.normal(size=(5, 4))

    def solve(b: Any) -> Any:
        return np.linalg.solve(GENERAL, b)

    close(ad.vmap(solve)(rights), np.linalg.solve(GENERAL, rights.T).T)
    program = ad.program(ad.vmap(solve), rights).program
    (equation,) = [e for e in program.equations if e.primitive.name == "solve_factored"]
    assert equation.inputs[0].type.shape == (4, 4)
    assert equation.inputs[3].type.shape == (4, 5)


def test_the_derivative_of_solve_factorises_once_and_not_when_it_is_applied() -> None:
    view = ad.program(lambda a: np.linalg.solve(a, RIGHT), GENERAL)
    for part in (view.linearize(), view.transpose()):
        names = [e.primitive.name for e in part.program.equations]
        assert names.count("solve_factored") == 1
        assert not {"solve", "lu_factors", "inv"} & set(names)
    names = [e.primitive.name for e in view.jvp().program.equations]
    assert (names.count("solve_factored"), names.count("lu_factors")) == (2, 1)


def test_a_batch_of_matrices_is_solved_in_one_call() -> None:
    matrices = np.stack([GENERAL, GENERAL + 1, GENERAL.T])
    gradient = ad.vmap(ad.grad(lambda a: np.sum(np.linalg.solve(a, RIGHT) ** 2)))
    close(
        gradient(matrices)[1],
        ad.grad(lambda a: np.sum(np.linalg.solve(a, RIGHT) ** 2))(GENERAL + 1),
    )
    names = [e.primitive.name for e in ad.program(gradient, matrices).program.equations]
    assert names.count("solve") == 2
    assert "lu_factors" not in names


def test_lu_factors_of_a_singular_matrix_solve_nothing() -> None:
    factors = PRIMITIVES["lu_factors"].evaluate(np.ones((2, 2)))
    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        PRIMITIVES["inv"].evaluate(np.ones((2, 2)), *factors, limit=None)
    for right in (np.ones(2), np.ones((2, 0))):
        with pytest.raises(np.linalg.LinAlgError, match="Singular"):
            ad.jit(lambda a, b: np.linalg.solve(a, b))(np.ones((2, 2)), right)


@pytest.mark.parametrize("size", [0, 1, 3])
@pytest.mark.parametrize("right", [float, complex, np.float32, int])
@pytest.mark.parametrize("left", [float, complex, np.float32, np.complex64, int])
def test_one_matrix_is_solved_in_numpys_dtype(left: Any, right: Any, size: int) -> None:
    a = (4 * np.eye(size) + np.ones((size, size))).astype(left)
    for b in (np.ones(size, right), np.ones((size, 2), right), np.ones((3, size, 0), right)):
        expected, found = np.linalg.solve(a, b), ad.jit(np.linalg.solve)(a, b)
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        tolerance = 1e-14 if expected.dtype.char in "dD" else 1e-6
        np.testing.assert_allclose(found, expected, rtol=tolerance)


def test_value_and_derivatives_share_one_factorisation() -> None:
    def likelihood(a: Any) -> Any:
        return RIGHT @ np.linalg.solve(a, RIGHT) + np.linalg.slogdet(a)[1] + np.linalg.det(a)

    for view in (ad.program(likelihood, POSITIVE), ad.program(ad.grad(likelihood), POSITIVE)):
        names = [e.primitive.name for e in simplify(view.program).equations]
        assert names.count("lu_factors") == 1
        assert "solve" not in names
    expected = np.linalg.inv(POSITIVE)
    x = expected @ RIGHT
    gradient = ad.grad(likelihood)(POSITIVE)
    close(gradient, -np.outer(x, x) + expected * (1 + np.linalg.det(POSITIVE)))


@pytest.mark.parametrize("matrix", [GENERAL, COMPLEX], ids=["real", "complex"])
def test_of_one_matrix_the_derivatives_are_those_of_a_stack(matrix: Any) -> None:
    # What takes a stack is what the generic checker tries.
    def f(a: Any) -> Any:
        x = np.linalg.solve(a, RIGHT[:, None])
        sign, size = np.linalg.slogdet(a)
        found = np.sum(x**2) * sign + size + np.linalg.det(a)
        return np.real(np.reshape(found, ()))

    def stacked(a: Any) -> Any:
        return f(a[None])

    direction, other = RNG.normal(size=(2, 4, 4))
    close(ad.grad(f)(matrix), ad.grad(stacked)(matrix))
    close(ad.hvp(f, matrix, direction), ad.hvp(stacked, matrix, direction))
    for one, two in zip(
        ad.taylor(f, matrix, [direction, other], 4),
        ad.taylor(stacked, matrix, [direction, other], 4),
        strict=True,
    ):
        close(one, two)
    stack = np.stack([matrix, matrix + np.eye(4)])
    close(ad.vmap(ad.grad(f))(stack)[1], ad.grad(f)(stack[1]))


def test_the_differential_of_the_inverse() -> None:
    direction, inverse = RNG.normal(size=(4, 4)), np.linalg.inv(GENERAL)
    _, moved = ad.jvp(np.linalg.inv, (GENERAL,), (direction,))
    close(moved, -inverse @ direction @ inverse)
    close(ad.grad(lambda a: np.trace(np.linalg.inv(a)))(GENERAL), -(inverse.T @ inverse.T))


def test_cholesky_reads_the_lower_triangle_and_so_does_its_derivative() -> None:
    def f(a: Any) -> Any:
        return np.sum(WEIGHTS * np.linalg.cholesky(a))

    gradient = ad.grad(f)(POSITIVE)
    close(np.triu(gradient, 1), 0)
    close(ad.grad(f)(np.tril(POSITIVE)), gradient)

    def upper(a: Any) -> Any:
        return np.sum(WEIGHTS * np.linalg.cholesky(a, upper=True))

    close(np.tril(ad.grad(upper)(POSITIVE), -1), 0)


def test_on_symmetric_matrices_the_triangles_share_the_gradient() -> None:
    # log det(A) = 2 sum_i log L_ii, whose gradient on symmetric matrices is A^-1.
    def f(a: Any) -> Any:
        return 2 * np.sum(np.log(np.diagonal(np.linalg.cholesky(a))))

    close(ad.grad(f, space=Symmetric(4))(POSITIVE), np.linalg.inv(POSITIVE))


def test_on_hermitian_matrices_the_gradient_is_hermitian() -> None:
    def f(a: Any) -> Any:
        return 2 * np.sum(np.log(np.diagonal(np.linalg.cholesky(a)).real))

    gradient = ad.grad(f, space=Hermitian(4))(HERMITIAN)
    close(gradient, np.linalg.inv(HERMITIAN))


def test_a_cholesky_factor_is_that_of_its_own_square() -> None:
    factor = np.linalg.cholesky(POSITIVE)
    inside = ad.derivative(lambda low: np.linalg.cholesky(low @ low.T), factor)
    direction = np.tril(RNG.normal(size=(4, 4)))
    close(inside(direction), direction)


@pytest.mark.parametrize(
    ("function", "argument"),
    [
        (np.linalg.inv, np.zeros((2, 2))),
        (lambda a: np.linalg.solve(a, np.ones(2)), np.ones((2, 2))),
        (np.linalg.cholesky, -np.eye(2)),
    ],
)
def test_singular_matrices_raise_as_in_numpy(function: Any, argument: Any) -> None:
    for run in (ad.jit(function), lambda a: ad.vjp(function, a)):
        with pytest.raises(np.linalg.LinAlgError):
            run(argument)


def test_an_inverse_beyond_its_limit_is_refused() -> None:
    inv = PRIMITIVES["inv"].evaluate
    with pytest.raises(ad.errors.LinearAlgebraError, match=r"condition number 1\.0e\+09"):
        inv(np.diag([1.0, 1e-9]), limit=1e8)
    close(inv(np.diag([1.0, 0.5]), limit=1e8), np.diag([1.0, 2.0]))


def test_what_is_not_square_or_does_not_fit_is_named() -> None:
    with pytest.raises(np.linalg.LinAlgError, match=r"must be square"):
        ad.jit(np.linalg.inv)(np.ones((2, 3)))
    with pytest.raises(ValueError, match=r"mismatch"):
        ad.jit(np.linalg.solve)(GENERAL, np.ones((3, 2)))
    with pytest.raises(TypeError, match=r"float16 is unsupported"):
        ad.jit(np.linalg.inv)(np.eye(2, dtype=np.float16))
    with pytest.raises(np.linalg.LinAlgError, match=r"must be square"):
        ad.jit(lambda a: np.linalg.matrix_power(a, 2))(np.ones((2, 3)))


@pytest.mark.parametrize("native", [False, True])
def test_a_program_mixes_linear_algebra_with_elementwise_operations(native: bool) -> None:
    def f(a: Any, b: Any) -> Any:
        x = np.tanh(np.linalg.solve(np.exp(0.1 * a) + np.eye(4), b * b))
        return np.sum(np.sin(x) ** 2) + np.log(np.linalg.det(a))

    with ad.config(native=native):
        gradients = [ad.grad(f)(POSITIVE, RIGHT) for _ in range(3)]
    step, direction = 1e-5, WEIGHTS
    slope = (f(POSITIVE + step * direction, RIGHT) - f(POSITIVE - step * direction, RIGHT)) / (
        2 * step
    )
    np.testing.assert_allclose(np.sum(gradients[-1] * direction), slope, rtol=1e-7)
    close(gradients[0], gradients[-1])
