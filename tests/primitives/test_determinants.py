"""Determinants where matrices are singular, and in closed form."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import errors
from adjoint.primitives import PRIMITIVES
from adjoint.spaces import Hermitian, Symmetric

RNG = np.random.default_rng(8)
FACTOR = RNG.normal(size=(3, 3)) + 2 * np.eye(3)
COMPLEX = FACTOR + 1j * RNG.normal(size=(3, 3))
SINGULAR = {
    "zero": np.zeros((3, 3)),
    "rank one": np.outer([1.0, 2, 3], [4.0, 5, -6]),
    "rank two": np.array([[0.1, 0.2, 0], [0.3, 0.6, 0], [1, 0, 0.7]]),
    "ones": np.ones((3, 3)),
}


def leibniz(a: Any) -> Any:
    """det as the polynomial that it is."""
    total: Any = 0.0
    for order in permutations(range(3)):
        sign = np.linalg.det(np.eye(3)[list(order)]).round()
        total = total + sign * a[0, order[0]] * a[1, order[1]] * a[2, order[2]]
    return total


def log_det(a: Any) -> Any:
    return np.linalg.slogdet(a)[1]


@pytest.mark.parametrize("name", SINGULAR)
def test_the_first_two_derivatives_of_det_exist_at_singular_matrices(name: str) -> None:
    a = SINGULAR[name]
    np.testing.assert_allclose(ad.grad(np.linalg.det)(a), ad.grad(leibniz)(a), atol=1e-12)
    np.testing.assert_allclose(ad.hessian(np.linalg.det)(a), ad.hessian(leibniz)(a), atol=1e-12)


def test_the_third_derivative_of_det() -> None:
    def third(f: Any, a: Any) -> Any:
        return ad.jacobian(ad.jacobian(ad.grad(f)))(a)

    np.testing.assert_allclose(third(np.linalg.det, FACTOR), third(leibniz, FACTOR), atol=1e-10)


def test_the_third_derivative_of_det_raises_near_singular_matrices() -> None:
    def second(a: Any) -> Any:
        return np.sum(ad.hessian(np.linalg.det)(a) * np.arange(81.0).reshape(3, 3, 3, 3))

    near = SINGULAR["rank two"] + 1e-12 * np.diag([1.0, 2, 3])
    for a in (near, SINGULAR["ones"]):
        with pytest.raises(errors.LinearAlgebraError, match=r"third or higher derivative of det"):
            ad.grad(second)(a)


def test_det_of_an_ill_conditioned_matrix_keeps_its_digits() -> None:
    a = np.diag([1.0, 1e-170, 1e-170])
    expected = np.diag([0.0, 1e-170, 1e-170])
    np.testing.assert_allclose(ad.grad(np.linalg.det)(a), expected, atol=1e-180)


def test_the_gradient_of_log_det_on_symmetric_matrices_is_the_inverse() -> None:
    a = FACTOR @ FACTOR.T
    gradient = ad.grad(log_det, space=Symmetric(3))(a)
    np.testing.assert_allclose(gradient, np.linalg.inv(a), rtol=1e-12)
    np.testing.assert_allclose(ad.grad(log_det)(FACTOR), np.linalg.inv(FACTOR).T, rtol=1e-12)


def test_the_gradient_of_log_det_on_hermitian_matrices_is_the_inverse() -> None:
    a = COMPLEX @ COMPLEX.conj().T
    gradient = ad.grad(log_det, space=Hermitian(3))(a)
    np.testing.assert_allclose(gradient, np.linalg.inv(a), rtol=1e-12)
    np.testing.assert_array_equal(gradient, gradient.conj().T)


def test_the_sign_of_a_complex_determinant_turns() -> None:
    def determinant(a: Any) -> Any:
        sign, size = np.linalg.slogdet(a)
        return sign * np.exp(size)

    direction = RNG.normal(size=(3, 3)) + 1j
    _, expected = ad.jvp(np.linalg.det, (COMPLEX,), (direction,))
    _, found = ad.jvp(determinant, (COMPLEX,), (direction,))
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_slogdet_is_a_named_tuple_and_its_derivative_raises_where_there_is_none() -> None:
    found = ad.jit(np.linalg.slogdet)(FACTOR)
    assert (found.sign, found.logabsdet) == tuple(np.linalg.slogdet(FACTOR))
    assert ad.jit(log_det)(np.zeros((2, 2))) == -np.inf
    with pytest.raises(np.linalg.LinAlgError):
        ad.grad(log_det)(np.zeros((2, 2)))


def test_the_adjugate_is_det_times_inverse_on_either_path() -> None:
    adjugate = PRIMITIVES["adjugate"].evaluate
    stack = np.stack([FACTOR, FACTOR + 1])
    expected = np.linalg.det(stack)[:, None, None] * np.linalg.inv(stack)
    np.testing.assert_allclose(adjugate(stack), expected, rtol=1e-12)
    mixed = np.stack([FACTOR, SINGULAR["rank two"]])
    np.testing.assert_allclose(adjugate(mixed)[0], expected[0], rtol=1e-12)
    cofactors = [[0.42, -0.14, 0], [-0.21, 0.07, 0], [-0.6, 0.2, 0]]
    np.testing.assert_allclose(adjugate(mixed)[1], cofactors, atol=1e-15)


MATRICES = {
    "real": FACTOR,
    "negative": -FACTOR[[1, 0, 2]],
    "complex": COMPLEX,
    "single": FACTOR.astype(np.float32),
    "integers": np.array([[1, 2], [3, 4]]),
    "empty": np.zeros((0, 0)),
    "not a number": np.full((2, 2), np.nan),
    **SINGULAR,
}


@pytest.mark.parametrize("name", MATRICES)
def test_determinants_from_factors_are_numpys(name: str) -> None:
    a = MATRICES[name]
    for function in (np.linalg.det, np.linalg.slogdet):
        with np.errstate(invalid="ignore"):
            found, expected = ad.jit(function)(a), function(a)
        for one, other in zip(np.atleast_1d(found), np.atleast_1d(expected), strict=True):
            assert (np.shape(one), one.dtype) == (np.shape(other), other.dtype)
            bound = 40 * np.finfo(other.dtype).eps
            np.testing.assert_allclose(one, other, rtol=bound, atol=bound)
