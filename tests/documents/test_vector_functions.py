"""Derivatives of functions of vectors: E.1.1 to E.1.16 of "Advanced automatic differentiation"."""

from __future__ import annotations

import math

import numpy as np
import pytest

import adjoint as ad

RNG = np.random.default_rng(11)
X, U, V = (RNG.normal(size=4) for _ in range(3))
A = RNG.normal(size=(3, 4))


def f(x):
    return np.sum(np.sin(x) * x) + x[0] * x[1]


def g(x):
    return np.tanh(A @ x) * np.array([1.0, 2.0, 3.0])


def order(errors, steps):
    """The power of the step with which errors fall, fitted over the whole ladder."""
    return np.polyfit(np.log(steps), np.log(errors), 1)[0]


STEPS = 10.0 ** -np.arange(1, 5)


# --- the derivative of a scalar function ----------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "x"),
    [(math.sin, 0.7), (math.exp, -0.3), (lambda x: x**3, 1.3), (lambda x: 1 / (1 + x * x), 0.4)],
)
def test_derivative_as_a_limit(function, x):
    """E.1.1: the difference quotient tends to the derivative, with an error of the order of h."""
    slope = ad.grad(function)(x)
    errors = [abs((function(x + h) - function(x)) / h - slope) for h in STEPS]
    assert order(errors, STEPS) == pytest.approx(1, abs=0.1)


@pytest.mark.parametrize("function", [math.sin, math.exp, lambda x: x**3 - x])
def test_best_linear_approximation(function):
    """E.1.2, E.1.4, E.1.5: f(x + h) - f(x) - ∂f(x)[h] is o(h), here of second order."""
    x = 0.7
    value, slope = ad.linearize(function, x)
    errors = [abs(function(x + h) - value - slope(np.float64(h))) for h in STEPS]
    assert order(errors, STEPS) == pytest.approx(2, abs=0.1)


@pytest.mark.parametrize("function", [f, g, lambda x: np.outer(x, x)])
def test_linear_in_the_direction(function):
    """E.1.3: ∂f(x)[a u + b v] = a ∂f(x)[u] + b ∂f(x)[v]."""
    derivative = ad.derivative(function, X)
    combined = derivative(2.5 * U - 0.5 * V)
    np.testing.assert_allclose(combined, 2.5 * derivative(U) - 0.5 * derivative(V), rtol=1e-12)


# --- directional derivatives and the gradient -----------------------------------------------------


def test_directional_derivative_as_a_limit():
    """E.1.6."""
    slope = ad.jvp(f, (X,), (U,))[1]
    errors = [abs((f(X + h * U) - f(X)) / h - slope) for h in STEPS]
    assert order(errors, STEPS) == pytest.approx(1, abs=0.1)


def test_sum_of_partial_derivatives():
    """E.1.8 to E.1.10: ∂f(x)[u] is the sum of ∂f(x)[e_i] u_i over the canonical basis."""
    derivative = ad.derivative(f, X)
    partials = [derivative(e) for e in np.eye(4)]
    assert derivative(U) == pytest.approx(sum(p * u for p, u in zip(partials, U, strict=True)))


def test_gradient_collects_the_partial_derivatives():
    """E.1.11."""
    partials = [ad.jvp(f, (X,), (e,))[1] for e in np.eye(4)]
    np.testing.assert_allclose(ad.grad(f)(X), partials, rtol=1e-13)


@pytest.mark.parametrize("direction", [U, V, U - 3 * V])
def test_directional_derivatives_are_inner_products_with_the_gradient(direction):
    """E.1.7 and E.1.12: ∂f(x)[u] = ⟨∇f(x), u⟩."""
    expected = ad.grad(f)(X) @ direction
    assert ad.jvp(f, (X,), (direction,))[1] == pytest.approx(expected, rel=1e-13)


# --- Jacobians ------------------------------------------------------------------------------------


def test_jacobian_collects_all_partial_derivatives():
    """E.1.13: J has p rows and m columns, and J_ij = ∂f_i / ∂x_j."""
    jacobian = ad.jacobian(g)(X)
    assert jacobian.shape == (3, 4)
    for i in range(3):
        np.testing.assert_allclose(jacobian[i], ad.grad(lambda x, i=i: g(x)[i])(X), rtol=1e-13)


def test_chain_rule_for_jacobians():
    """E.1.14: the Jacobian of a composition is the product of the Jacobians."""

    def outer(y):
        return np.array([y[0] * y[1], np.exp(y[2]), y[0] - y[2]])

    whole = ad.jacobian(lambda x: outer(g(x)))(X)
    product = ad.jacobian(outer)(g(X)) @ ad.jacobian(g)(X)
    np.testing.assert_allclose(whole, product, rtol=1e-12)


@pytest.mark.parametrize("mode", list(ad.Mode))
def test_jvp_is_the_jacobian_times_the_direction(mode):
    """E.1.15, E.1.46: ∂f(x)[u] = J u, and by transposition ∂f(x)*[v] = Jᵀ v (E.1.49)."""
    jacobian, covector = ad.jacobian(g, mode=mode)(X), RNG.normal(size=3)
    np.testing.assert_allclose(ad.jvp(g, (X,), (U,))[1], jacobian @ U, rtol=1e-12)
    pulled = ad.vjp(g, X)[1](covector)[0]
    np.testing.assert_allclose(pulled, jacobian.T @ covector, rtol=1e-12)


@pytest.mark.parametrize("function", [np.tanh, np.sin, np.exp, np.square])
def test_elementwise_jvp_is_a_masking_product(function):
    """E.1.16: ∂f(x)[u] = φ'(x) ⊙ u; no array in the programs is larger than x."""
    slopes = np.array([ad.grad(function)(entry) for entry in X])
    np.testing.assert_allclose(ad.jvp(function, (X,), (U,))[1], slopes * U, rtol=1e-12)
    assert np.array_equal(ad.jacobian(function)(X), np.diag(np.diag(ad.jacobian(function)(X))))
    view = ad.program(function, np.ones(1000))
    for transformed in (view.jvp(), view.vjp(), view.linearize(), view.transpose()):
        equations = transformed.program.equations
        assert {"multiply", "scale"} & {equation.primitive.name for equation in equations}
        sizes = {variable.type.size for equation in equations for variable in equation.outputs}
        assert max(sizes) <= 1000


def test_linear_half_of_an_elementwise_function_is_one_product():
    """E.1.16: what is left to do for each direction is the product with the mask, and no more."""
    linear = ad.program(np.tanh, np.ones(1000)).linearize().program
    (product,) = linear.equations
    assert product.primitive.name in ("multiply", "scale")
