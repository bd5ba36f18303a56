"""What tutorials of JAX differentiate, written for NumPy, with the values that are known of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint as ad
from tests.strangers.checking import agrees


def test_the_tower_of_derivatives_of_tanh() -> None:
    first = ad.grad(np.tanh)
    second = ad.grad(first)
    third = ad.grad(second)
    t = np.tanh(2.0)
    assert np.isclose(first(2.0), 1 - t**2, rtol=1e-14)
    assert np.isclose(second(2.0), -2 * t * (1 - t**2), rtol=1e-14)
    assert np.isclose(third(2.0), (1 - t**2) * (6 * t**2 - 2), rtol=1e-13)
    assert np.isclose(first(2.0), 0.070650816, rtol=1e-6)
    assert np.isclose(second(2.0), -0.13621868, rtol=1e-6)
    assert np.isclose(third(2.0), 0.25265405, rtol=1e-6)


def selu(x: Any, alpha: float = 1.67, scale: float = 1.05) -> Any:
    return scale * np.where(x > 0, x, alpha * np.exp(x) - alpha)


def test_a_compiled_activation() -> None:
    x = np.linspace(-3.0, 3.0, 11)
    np.testing.assert_allclose(ad.jit(selu)(x), selu(x), rtol=1e-15)
    slopes = ad.vmap(ad.grad(selu))(x)
    np.testing.assert_allclose(slopes, 1.05 * np.where(x > 0, 1.0, 1.67 * np.exp(x)))


INPUTS = np.array(
    [[0.52, 1.12, 0.77], [0.88, -1.08, 0.15], [0.52, 0.06, -1.30], [0.74, -2.49, 1.39]]
)
TARGETS = np.array([True, True, False, True])


def sigmoid(x: Any) -> Any:
    return 0.5 * (np.tanh(x / 2) + 1)


def loss(w: Any, b: Any) -> Any:
    chances = sigmoid(INPUTS @ w + b)
    return -np.sum(np.log(np.where(TARGETS, chances, 1 - chances)))


def test_logistic_regression_with_respect_to_each_argument_and_to_a_dictionary() -> None:
    w, b = np.array([0.3, -0.2, 0.8]), 0.1
    errors = sigmoid(INPUTS @ w + b) - TARGETS
    np.testing.assert_allclose(ad.grad(loss)(w, b), INPUTS.T @ errors, rtol=1e-13)
    assert np.isclose(ad.grad(loss, argnums=1)(w, b), np.sum(errors))
    both = ad.grad(loss, argnums=(0, 1))(w, b)
    tree = ad.grad(lambda p: loss(p["w"], p["b"]))({"w": w, "b": b})
    assert np.array_equal(both[0], tree["w"])
    assert both[1] == tree["b"]
    value, gradient = ad.value_and_grad(loss)(w, b)
    assert value == loss(w, b)
    np.testing.assert_allclose(gradient, both[0])


def test_hessians_by_every_composition_and_by_products() -> None:
    w, b, u = np.array([0.3, -0.2, 0.8]), 0.1, np.array([1.0, 2.0, -1.0])
    chances = sigmoid(INPUTS @ w + b)
    exact = (INPUTS.T * (chances * (1 - chances))) @ INPUTS

    def forward_over_reverse(f: Any) -> Any:
        return ad.jacobian(ad.grad(f), mode="forward")

    def reverse_over_forward(f: Any) -> Any:
        return ad.jacobian(ad.jacobian(f, mode="forward"), mode="reverse")

    def of(w: Any) -> Any:
        return loss(w, b)

    for matrix in (forward_over_reverse(of)(w), reverse_over_forward(of)(w), ad.hessian(of)(w)):
        np.testing.assert_allclose(matrix, exact, rtol=1e-12)
    products = (
        ad.grad(lambda w: np.vdot(ad.grad(of)(w), u))(w),
        ad.jvp(ad.grad(of), (w,), (u,))[1],
        ad.vjp(ad.grad(of), w)[1](u)[0],
        ad.hvp(of, w, u),
    )
    for product in products:
        np.testing.assert_allclose(product, exact @ u, rtol=1e-12)


def test_a_jacobian_row_by_row_and_all_at_once() -> None:
    w = np.array([0.3, -0.2, 0.8])

    def model(w: Any) -> Any:
        return sigmoid(INPUTS @ w)

    _, pullback = ad.vjp(model, w)
    rows = np.stack([pullback(row)[0] for row in np.eye(4)])
    (at_once,) = ad.vmap(pullback)(np.eye(4))
    columns = ad.vmap(lambda u: ad.jvp(model, (w,), (u,))[1], out_axes=1)(np.eye(3))
    for matrix in (at_once, columns, ad.jacobian(model)(w)):
        np.testing.assert_allclose(matrix, rows, rtol=1e-13)


def test_gradients_of_each_example() -> None:
    rng = np.random.default_rng(0)
    points, goals, w = rng.normal(size=(10, 3)), rng.normal(size=10), rng.normal(size=3)

    def error(w: Any, x: Any, y: Any) -> Any:
        return (np.dot(w, x) - y) ** 2

    each = ad.jit(ad.vmap(ad.grad(error), in_axes=(None, 0, 0)))(w, points, goals)
    np.testing.assert_allclose(each, 2 * (points @ w - goals)[:, None] * points, rtol=1e-12)


def test_control_flow_is_pythons() -> None:
    def piecewise(x: Any) -> Any:
        if x < 3:
            return 3.0 * x**2
        return -4 * x

    assert ad.grad(piecewise)(2.0) == 12.0
    assert ad.grad(piecewise)(4.0) == -4.0

    def power(x: Any, n: int) -> Any:
        y = 1.0
        while n > 0:
            y, n = y * x, n - 1
        return y

    fast = ad.jit(ad.grad(power))
    assert [float(fast(2.0, n)) for n in (1, 3, 4)] == [1.0, 12.0, 32.0]


def test_sharp_bits_that_are_none() -> None:
    def with_writing(x: Any) -> Any:
        table = np.zeros((3, 3))
        table[1, :] = x
        table[::2, 1:] += x[1:] ** 2
        return np.sum(table * np.arange(9.0).reshape(3, 3))

    def of_those_that_are_positive(x: Any) -> Any:
        chosen = x[x > 0]
        return np.sum(chosen**2) / len(chosen)

    def safe(x: Any) -> Any:
        return np.sum(np.where(x > 0, np.log(np.where(x > 0, x, 1.0)), 0.0))

    def unsafe(x: Any) -> Any:
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.sum(np.where(x > 0, np.log(x), 0.0))

    x = np.array([1.0, -2.0, 3.0])
    for function in (with_writing, of_those_that_are_positive, safe):
        assert agrees(function, ad.grad(function)(x), x)
    zero = np.array([1.0, 0.0, 3.0])
    np.testing.assert_allclose(ad.grad(unsafe)(zero), [1.0, 0.0, 1 / 3])
    with pytest.raises(IndexError):
        ad.grad(lambda x: x[11])(x)


def test_the_hessian_of_a_cube_and_stopping_gradients() -> None:
    cube = ad.grad(ad.grad(ad.grad(lambda x: x**3 + 2 * x**2 - 3 * x + 1)))
    assert cube(1.0) == 6.0
    values, reward, following = np.array([0.1, -0.1, 0.0]), 1.0, np.array([2.0, 1.0, -1.0])
    observation = np.array([1.0, 2.0, -1.0])

    def temporal_difference(w: Any) -> Any:
        target = reward + np.dot(w, following)
        return (ad.stop_gradient(target) - np.dot(w, observation)) ** 2

    error = reward + values @ following - values @ observation
    np.testing.assert_allclose(ad.grad(temporal_difference)(values), -2 * error * observation)


def test_rules_of_ones_own() -> None:
    @ad.primitive
    def softplus(x: Any) -> Any:
        return np.log(1.0 + np.exp(x))

    def slope(point: Any, tangent: Any) -> Any:
        (x,), (dx,) = point, tangent
        return softplus(x), (1 - 1 / (1 + np.exp(x))) * dx

    softplus.jvp(slope)
    with np.errstate(over="ignore"):
        assert ad.grad(softplus)(0.0) == 0.5
        assert ad.grad(softplus)(1000.0) == 1.0
    assert np.isclose(ad.grad(ad.grad(softplus))(0.0), 0.25)

    def settled(a: Any) -> Any:  # Newton's iteration for a root, differentiated at its fixed point
        return ad.implicit.fixed_point(lambda x: 0.5 * (x + a / x), 1.0)

    assert np.isclose(ad.grad(settled)(2.0), 0.5 / np.sqrt(2.0))
    assert np.isclose(ad.grad(ad.grad(settled))(2.0), -0.25 * 2.0**-1.5)


def test_a_complex_function() -> None:
    def f(z: Any) -> Any:
        return z**2 + np.exp(1j * z)

    z, u = 0.4 + 0.3j, 0.7 - 0.2j
    exact = 2 * z + 1j * np.exp(1j * z)
    assert np.isclose(ad.jvp(f, (z,), (u,))[1], exact * u)
    assert np.isclose(ad.derivative(f, z)(u), exact * u)
    gradient = ad.grad(lambda z: np.abs(f(z)) ** 2)(z)
    assert np.isclose(gradient, 2 * f(z) * np.conj(exact))
