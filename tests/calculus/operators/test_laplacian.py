"""Laplacians, in inner products, with value and gradient, and twice: against Hessians."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import (
    ArgumentError,
    ArgumentTypeError,
    MembershipError,
    NotDifferentiableError,
)
from adjoint.spaces import Euclidean, Metric, Product, Symmetric, Weighted
from tests.calculus.operators.functions import (
    FUNCTIONS,
    LINE,
    SQUARE,
    branched,
    flat_hessian,
    looped,
    network,
    rational,
    reversed_only,
)

MATRIX = np.array([[2.0, 0.3, 0, 0], [0.3, 1.5, 0.2, 0], [0, 0.2, 1.0, 0], [0, 0, 0, 0.7]])


@pytest.mark.parametrize(("function", "x"), FUNCTIONS, ids=lambda v: getattr(v, "__name__", ""))
def test_it_is_the_trace_of_the_hessian(function: Callable[..., Any], x: Any) -> None:
    expected = np.trace(flat_hessian(function, x))
    np.testing.assert_allclose(ad.laplacian(function)(x), expected, rtol=1e-11)
    value, gradient, laplacian = ad.value_grad_laplacian(function)(x)
    np.testing.assert_allclose(laplacian, expected, rtol=1e-11)
    np.testing.assert_allclose(value, function(x), rtol=1e-13)
    np.testing.assert_allclose(gradient, ad.grad(function)(x), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize(("function", "x"), FUNCTIONS, ids=lambda v: getattr(v, "__name__", ""))
def test_it_stays_right_as_calls_go_on(function: Callable[..., Any], x: Any) -> None:
    laplacian = ad.laplacian(function)
    for step in range(12):  # captured, replayed, machine code
        point = x * (1 + 0.01 * step)
        expected = np.trace(flat_hessian(function, point))
        np.testing.assert_allclose(laplacian(point), expected, rtol=1e-10)


# --- inner products -------------------------------------------------------------------------------


@pytest.mark.parametrize("weight", [4.0, np.array([1.0, 2.0, 3.0, 4.0]), MATRIX], ids=str)
def test_under_a_weight_it_is_the_divergence_of_the_gradient(weight: Any) -> None:
    space = Weighted(Euclidean(4), weight)
    expected = np.trace(np.linalg.solve(space.gram(), flat_hessian(rational, np.abs(LINE))))
    value, gradient, laplacian = ad.value_grad_laplacian(rational, space=space)(np.abs(LINE))
    np.testing.assert_allclose(laplacian, expected, rtol=1e-12)
    np.testing.assert_allclose(ad.laplacian(rational, space=space)(np.abs(LINE)), expected)
    np.testing.assert_allclose(gradient, ad.grad(rational, space=space)(np.abs(LINE)), rtol=1e-12)
    assert value == rational(np.abs(LINE))
    flow = ad.divergence(ad.grad(rational, space=space))
    np.testing.assert_allclose(flow(np.abs(LINE)), expected, rtol=1e-12)


def test_in_a_subspace_only_its_directions_count() -> None:
    space = Symmetric(2)
    x = np.array([[1.0, 0.5], [0.5, 2.0]])
    value, gradient, laplacian = ad.value_grad_laplacian(lambda x: x[0, 1] ** 2, space=space)(x)
    assert value == 0.25
    np.testing.assert_allclose(laplacian, 1.0)  # along (e₁₂ + e₂₁) / √2
    np.testing.assert_allclose(gradient, [[0, 0.5], [0.5, 0]])


def test_of_trees_and_of_several_arguments() -> None:
    def function(tree: Any, y: Any) -> Any:
        return np.sum(tree["a"] ** 2 * y) * np.prod(tree["b"])

    tree, y = {"a": LINE, "b": np.array([2.0, 3.0])}, np.float64(1.5)
    found = ad.laplacian(function, argnums=(0, 1))(tree, y)
    np.testing.assert_allclose(found, 2 * 4 * 1.5 * 6)
    value, (slopes, slope), laplacian = ad.value_grad_laplacian(function, (0, 1))(tree, y)
    expected, last = ad.grad(function, (0, 1))(tree, y)
    np.testing.assert_allclose([value, laplacian], [function(tree, y), found])
    np.testing.assert_allclose(slopes["a"], expected["a"])
    np.testing.assert_allclose(slopes["b"], expected["b"])
    np.testing.assert_allclose(slope, last)
    np.testing.assert_allclose(ad.laplacian(function, argnums=-1)(tree, y), 0)
    space = Product(({"a": Weighted(Euclidean(4), 2.0), "b": Euclidean(2)}, Euclidean(())))
    np.testing.assert_allclose(ad.laplacian(function, (0, 1), space)(tree, y), found / 2)


def test_of_arrays_it_is_taken_entry_by_entry() -> None:
    def function(x: Any) -> Any:
        return {
            "one": np.sin(x),
            "two": x[:, None] * x**2,
            "still": np.ones(3),
            "wave": np.exp(1j * x),
        }

    found = ad.laplacian(function)(LINE)
    np.testing.assert_allclose(found["one"], -np.sin(LINE))
    # ∂ₖ∂ₖ of xᵢ xⱼ² is 2 xᵢ for k = j, and 6 xᵢ where i = j.
    np.testing.assert_allclose(found["two"], 2 * LINE[:, None] + 4 * np.diag(LINE))
    np.testing.assert_allclose(found["still"], np.zeros(3))
    np.testing.assert_allclose(found["wave"], -np.exp(1j * LINE))


def test_of_a_number_it_is_the_second_derivative() -> None:
    assert ad.laplacian(lambda x: x**3)(2.0) == 12
    assert ad.biharmonic(lambda x: x**5)(2.0) == 240
    assert ad.laplacian(lambda x: 3 * x)(2.0) == 0


# --- compositions ---------------------------------------------------------------------------------


def test_it_can_be_differentiated_vectorised_and_compiled() -> None:
    laplacian = ad.laplacian(network)
    trace = lambda x: np.trace(flat_hessian(network, x))  # noqa: E731
    step = 1e-5
    slope = ad.grad(laplacian)(LINE)
    units = np.eye(4) * step
    expected = [(trace(LINE + u) - trace(LINE - u)) / (2 * step) for u in units]
    np.testing.assert_allclose(slope, expected, rtol=1e-7)
    np.testing.assert_allclose(ad.vmap(laplacian)(SQUARE), [trace(row) for row in SQUARE])
    compiled = ad.jit(lambda x: laplacian(x) + np.sum(ad.grad(laplacian)(x)))
    for _ in range(5):
        np.testing.assert_allclose(compiled(LINE), trace(LINE) + np.sum(slope))


def test_a_residual_is_fitted_in_the_parameters() -> None:
    points = np.linspace(0.1, 0.9, 5)

    def u(x: Any, w: Any) -> Any:
        return np.sum(w * np.tanh(x * np.arange(1.0, 4.0)))

    def loss(w: Any) -> Any:
        return np.mean(ad.vmap(lambda x: ad.laplacian(u)(x, w) ** 2)(points))

    w, step = np.array([0.5, -0.2, 0.3]), 1e-6
    found = ad.grad(loss)(w)
    expected = [(loss(w + e) - loss(w - e)) / (2 * step) for e in np.eye(3) * step]
    np.testing.assert_allclose(found, expected, rtol=1e-7)


# --- twice ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", [network, rational, looped, branched])
def test_the_biharmonic_operator_is_the_laplacian_of_the_laplacian(function: Any) -> None:
    x = np.abs(LINE)
    expected = np.trace(flat_hessian(lambda x: np.trace(ad.hessian(function)(x)), x))
    np.testing.assert_allclose(ad.biharmonic(function)(x), expected, rtol=1e-9)


def test_plates_and_their_weights() -> None:
    plate = lambda x: np.sin(2 * x[0]) * np.sin(3 * x[1])  # noqa: E731
    x = np.array([0.3, 0.4])
    np.testing.assert_allclose(ad.biharmonic(plate)(x), 13**2 * plate(x))
    space = Weighted(Euclidean(2), np.array([4.0, 9.0]))
    np.testing.assert_allclose(ad.biharmonic(plate, space=space)(x), (1 + 1) ** 2 * plate(x))


# --- special points -------------------------------------------------------------------------------


def test_zeros_where_no_path_leads_win() -> None:
    def function(x: Any) -> Any:
        safe = np.where(x > 0, x, 1.0)
        return np.sum(np.where(x > 0, np.log(safe), 0.0)) + np.sqrt(x[1])

    def masked(x: Any) -> Any:
        return np.sum(np.where(x > 0, np.log(x), 0.0))

    assert ad.laplacian(function)(np.array([0.0, 4.0])) == -1 / 16 - 1 / 32
    with np.errstate(all="ignore"):
        assert ad.laplacian(masked)(np.array([0.0, 4.0])) == -1 / 16
        # The root of x₀ has no second derivative at 0, whatever the others have.
        assert not np.isfinite(ad.laplacian(lambda x: np.sum(np.sqrt(x)))(np.array([0.0, 4.0])))


@pytest.mark.parametrize("weight", [None, np.arange(1.0, 5.0), MATRIX], ids=str)
def test_where_forward_mode_lacks_a_rule(weight: Any) -> None:
    def function(x: Any) -> Any:
        return np.sum(reversed_only(x) * x)

    def plain(x: Any) -> Any:
        return np.sum(np.sin(x) * x)

    space = None if weight is None else Weighted(Euclidean(4), weight)
    found = ad.value_grad_laplacian(function, space=space)(LINE)
    expected = ad.value_grad_laplacian(plain, space=space)(LINE)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other)
    operator = ad.second_order_operator(function, MATRIX - np.eye(4), LINE)
    np.testing.assert_allclose(
        operator(LINE), ad.second_order_operator(plain, MATRIX - np.eye(4), LINE)(LINE)
    )


# --- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("operator", [ad.laplacian, ad.biharmonic, ad.value_grad_laplacian])
def test_what_is_refused(operator: Any) -> None:
    square = operator(lambda x: np.sum(x * x))
    with pytest.raises(NotDifferentiableError, match="Integers and booleans"):
        square(np.arange(3))
    with pytest.raises(NotDifferentiableError, match="argument 0, which is c16"):
        square(np.ones(3, complex))
    with pytest.raises(NotDifferentiableError):
        operator(lambda x: np.argmax(x))(LINE)
    with pytest.raises(ArgumentTypeError, match="takes a function first"):
        operator(3.0)
    with pytest.raises(ArgumentError, match="argnums names argument 1"):
        operator(lambda x: x, argnums=1)(LINE)
    with pytest.raises(ArgumentTypeError, match="connection"):
        operator(lambda x: x, space=Metric(lambda x: Euclidean(4)))
    with pytest.raises(MembershipError):
        operator(lambda x: np.sum(x), space=Euclidean(3))(LINE)


def test_value_and_gradient_are_of_a_real_number() -> None:
    with pytest.raises(NotDifferentiableError, match="not a real scalar"):
        ad.value_grad_laplacian(lambda x: x)(LINE)
    with pytest.raises(NotDifferentiableError, match="each entry of others"):
        ad.value_grad_laplacian(lambda x: (x[0], x[1]))(LINE)
