"""What SciPy's minimisers are told of constraints: second derivatives, sparse for many unknowns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse
from scipy.optimize import BFGS, NonlinearConstraint
from scipy.sparse.linalg import LinearOperator

import adjoint as ad
from adjoint.calculus.optimize.constraints import as_constraints
from adjoint.spaces import Euclidean, OrthonormalCoordinates, Weighted, infer

RNG = np.random.default_rng(8)


def products(x: Any) -> Any:
    return np.concatenate([x[1:] * x[:-1], np.sin(x[:2])])


def second_of(function: Any, start: Any, space: Any, method: str = "trust-constr") -> Any:
    frame = OrthonormalCoordinates(space)
    (constraint,) = as_constraints(NonlinearConstraint(function, 0, 0), start, frame, method)
    return constraint.hess


def in_coordinates(function: Any, x: Any, weights: Any, scales: Any) -> Any:
    dense = ad.hessian(lambda x: weights @ function(x))(x)
    return dense / scales / scales[:, None]


@pytest.mark.parametrize("size", [5, 150])
def test_second_derivatives_of_constraints(size: int) -> None:
    start = RNG.normal(size=size)
    weights = RNG.normal(size=size + 1)
    for space in (Euclidean(size), Weighted(Euclidean(size), np.linspace(1.0, 2.0, size))):
        frame = OrthonormalCoordinates(space)
        z = RNG.normal(size=size)
        matrix = second_of(products, start, space)(z, weights)
        assert isinstance(matrix, LinearOperator) == (size < 100)
        assert scipy.sparse.issparse(matrix) == (size > 100)
        scales = np.ones(size) if frame.scales is None else np.broadcast_to(frame.scales, size)
        expected = in_coordinates(products, frame.element(z), weights, scales)
        np.testing.assert_allclose(matrix @ np.eye(size), expected, atol=1e-13)


def test_constraints_of_a_tree() -> None:
    start = {"a": np.ones(2), "b": np.array(2.0)}

    def function(x: Any) -> Any:
        return [x["a"] * x["b"], x["b"] ** 2]

    second = second_of(function, start, infer(start))
    expected = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 2.0], [1.0, 2.0, 6.0]])
    np.testing.assert_allclose(second(np.ones(3), np.array([1.0, 2.0, 3.0])) @ np.eye(3), expected)


def test_where_there_is_no_second_derivative() -> None:
    assert isinstance(second_of(lambda x: np.fft.fft(x), np.ones(3), Euclidean(3)), BFGS)
    assert isinstance(second_of(products, np.ones(3), Euclidean(3), "SLSQP"), BFGS)


def test_fewer_steps_than_with_an_approximation() -> None:
    size = 110
    target = np.linspace(0.5, 1.5, size)
    start = np.ones(size)
    constraint = NonlinearConstraint(lambda x: x[1:] * x[:-1], 0.9, 1.1)
    result = ad.optimize.minimize(
        lambda x: np.sum((x - target) ** 4 + (x - target) ** 2),
        start,
        method="trust-constr",
        constraints=constraint,
        options={"maxiter": 300},
    )
    assert result.success
    assert result.niter < 100
    assert result.constr_violation < 1e-8
    assert result.optimality < 1e-6


@pytest.mark.parametrize("as_operator", [False, True])
def test_derivatives_that_a_constraint_has_are_the_users(as_operator: bool) -> None:
    calls = set()

    def slopes(x: Any) -> Any:
        calls.add("jac")
        return np.diag(2 * x)

    def second(x: Any, weights: Any) -> Any:
        calls.add("hess")
        matrix = np.diag(2 * weights)
        return LinearOperator(matrix.shape, matvec=lambda u: matrix @ u) if as_operator else matrix

    constraint = NonlinearConstraint(lambda x: x**2, 0, 1, jac=slopes, hess=second)
    found = ad.optimize.minimize(
        lambda x: np.sum((x - 2) ** 2),
        np.full(3, 0.1),
        method="trust-constr",
        constraints=constraint,
    )
    np.testing.assert_allclose(found.x, 1.0, atol=1e-2)
    assert calls == {"jac", "hess"}
