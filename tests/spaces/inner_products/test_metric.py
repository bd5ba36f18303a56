"""Inner products that depend on the point: after E.1.43."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import ArgumentTypeError, MembershipError, NotDifferentiableError
from adjoint.spaces import Euclidean, Metric, Product, TangentBundle, Weighted
from tests.spaces.strategies import positive_matrix

RNG = np.random.default_rng(5)
A = RNG.normal(size=(3, 3))
X = RNG.normal(size=3)


def weight(x):
    return np.eye(3) + np.outer(x, x)


METRIC = Metric(lambda x: Weighted(Euclidean(3), weight(x)))


def f(x):
    return np.sum(np.sin(A @ x)) + x @ x


def test_gradient_is_that_of_the_space_at_the_point():
    """E.1.37, E.1.43: W(x)⁻¹ times the plain gradient, at every x."""
    for x in RNG.normal(size=(5, 3)):
        gradient = ad.grad(f, space=METRIC)(x)
        np.testing.assert_allclose(gradient, np.linalg.solve(weight(x), ad.grad(f)(x)))
        u = RNG.normal(size=3)
        assert METRIC.at(x).inner(gradient, u) == pytest.approx(ad.jvp(f, (x,), (u,))[1])


def test_a_constant_metric_is_its_space():
    """E.1.39 again: ∇(xᵀAx) = W⁻¹(A + Aᵀ)x."""
    space = Weighted(Euclidean(3), positive_matrix(3, 0))
    gradient = ad.grad(lambda x: x @ A @ x, space=Metric(lambda x: space))(X)
    np.testing.assert_array_equal(gradient, ad.grad(lambda x: x @ A @ x, space=space)(X))


def test_value_and_gradient_and_differential():
    value, gradient = ad.value_and_grad(f, space=METRIC)(X)
    assert value == pytest.approx(f(X))
    np.testing.assert_array_equal(gradient, ad.grad(f, space=METRIC)(X))
    covector = ad.differential(f, X, space=METRIC)
    assert covector.space == METRIC.at(X)
    np.testing.assert_allclose(covector.components, ad.grad(f)(X))


def test_derivative_between_metrics():
    """E.1.52: A* = V⁻¹AᵀW, with V that at x and W that at f(x)."""

    def square(x):
        return A @ (x * x)

    derivative = ad.derivative(square, X, domain=METRIC, codomain=METRIC)
    jacobian = ad.jacobian(square)(X)
    expected = np.linalg.solve(weight(X), jacobian.T @ weight(square(X)))
    np.testing.assert_allclose(derivative.H.matrix(), expected, rtol=1e-10)


def test_a_metric_on_trees():
    def at(x):
        scale = 1 + x["b"] ** 2
        return Product({"a": Weighted(Euclidean(2), scale), "b": Euclidean(())})

    x = {"a": np.array([1.0, 2.0]), "b": 3.0}
    gradient = ad.grad(lambda x: np.sum(x["a"]) * x["b"], space=Metric(at))(x)
    np.testing.assert_allclose(gradient["a"], [0.3, 0.3])
    assert gradient["b"] == pytest.approx(3.0)


def test_a_bundle_is_no_space_and_says_what_it_is():
    def poincare(x):
        return Weighted(Euclidean(2), 1 / x[1] ** 2)

    assert repr(Metric(poincare)) == "Metric(poincare)"
    assert repr(Metric(poincare, name="Poincaré")) == "Metric(Poincaré)"
    assert isinstance(Metric(poincare), TangentBundle)


def test_a_metric_of_no_function_is_an_error():
    for wrong in (Euclidean(2), np.eye(2), None):
        with pytest.raises(ArgumentTypeError, match="function from points to spaces"):
            Metric(wrong)


def test_a_metric_that_returns_no_space_is_an_error():
    with pytest.raises(ArgumentTypeError, match=r"must return a space.*array of shape \(3, 3\)"):
        ad.grad(f, space=Metric(weight))(X)


def test_a_point_outside_the_space_is_an_error():
    with pytest.raises(MembershipError, match="the argument must be an element"):
        ad.grad(lambda x: x @ x, space=Metric(lambda x: Euclidean(4)))(X)


def test_no_space_at_all_is_an_error():
    with pytest.raises(ArgumentTypeError, match="Metric"):
        ad.grad(f, space=weight)


def test_a_metric_at_a_traced_point_is_an_error_and_not_a_wrong_derivative():
    gradient = ad.grad(f, space=METRIC)
    for transformed in (
        lambda: ad.jvp(gradient, (X,), (X,)),
        lambda: ad.jit(gradient)(X),
        lambda: ad.vmap(gradient)(np.stack([X, X])),
    ):
        with pytest.raises(NotDifferentiableError, match="at a traced point"):
            transformed()


def test_a_metric_at_a_known_point_of_a_traced_function():
    """The point does not depend on what is differentiated: its metric is a constant."""
    result = ad.grad(lambda t: t * np.sum(ad.grad(f, space=METRIC)(X)))(2.0)
    assert result == pytest.approx(np.sum(ad.grad(f, space=METRIC)(X)))
