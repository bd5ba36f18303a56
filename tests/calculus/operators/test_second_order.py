"""Second-order operators, against contractions with Hessians."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import ArgumentError, ArgumentTypeError, DTypeError, ShapeError
from tests.calculus.operators.functions import (
    FUNCTIONS,
    LINE,
    SQUARE,
    flat_hessian,
    network,
    rational,
)

X = np.abs(LINE)
MATRIX = np.random.default_rng(1).normal(size=(4, 4))


@pytest.mark.parametrize(("function", "x"), FUNCTIONS, ids=lambda v: getattr(v, "__name__", ""))
def test_any_matrix_and_drift(function: Any, x: Any) -> None:
    generator = np.random.default_rng(2)
    coefficients = generator.normal(size=(x.size, x.size))
    drift = generator.normal(size=x.shape)
    operator = ad.second_order_operator(function, coefficients, drift)
    expected = np.sum(coefficients * flat_hessian(function, x)) + np.sum(
        drift * ad.grad(function)(x)
    )
    for _ in range(5):
        np.testing.assert_allclose(operator(x), expected, rtol=1e-9)


@pytest.mark.parametrize(
    "coefficients",
    [MATRIX, MATRIX @ MATRIX.T, np.diag([1.0, -1, 0, 0]), np.zeros((4, 4)), np.arange(4) - 1.5],
    ids=["indefinite", "positive", "singular", "zero", "diagonal"],
)
def test_signs_and_ranks(coefficients: Any) -> None:
    matrix = coefficients if coefficients.ndim == 2 else np.diag(coefficients)
    expected = np.sum(matrix * flat_hessian(rational, X))
    np.testing.assert_allclose(ad.second_order_operator(rational, coefficients)(X), expected)
    # Within a derivative the matrix is not known, and no eigenvectors are taken.
    through = ad.jit(lambda x, a: ad.second_order_operator(rational, a)(x))
    np.testing.assert_allclose(through(X, coefficients), expected, rtol=1e-11, atol=1e-11)


def test_it_is_linear_in_what_it_is_made_of() -> None:
    hessian = flat_hessian(rational, X)
    slope = ad.grad(lambda a: ad.second_order_operator(rational, a)(X))
    np.testing.assert_allclose(slope(MATRIX), (hessian + hessian.T) / 2, rtol=1e-10)
    np.testing.assert_allclose(slope(np.zeros((4, 4))), hessian, rtol=1e-10)
    np.testing.assert_allclose(slope(np.zeros(4)), np.diag(hessian), rtol=1e-10)
    along = ad.grad(lambda b: ad.second_order_operator(rational, drift=b)(X))
    np.testing.assert_allclose(along(X), ad.grad(rational)(X))
    root = ad.grad(lambda s: ad.second_order_operator(rational, factor=s)(X))
    np.testing.assert_allclose(root(MATRIX), 2 * hessian @ MATRIX)


def test_the_generator_of_a_process() -> None:
    """(L f)(x) = d/dt E f(X_t), at coefficients that depend on the point."""

    def sigma(x: Any) -> Any:
        return np.stack([x, np.sin(x)], axis=-1)

    def drift(x: Any) -> Any:
        return -(x**3)

    def operator(x: Any) -> Any:
        factor = lambda x: sigma(x) / np.sqrt(2)  # noqa: E731
        return ad.second_order_operator(network, drift=drift, factor=factor)(x)

    def expected(x: Any) -> Any:
        square = sigma(x) @ sigma(x).T / 2
        return np.sum(square * ad.hessian(network)(x)) + drift(x) @ ad.grad(network)(x)

    np.testing.assert_allclose(operator(LINE), expected(LINE))
    np.testing.assert_allclose(ad.grad(operator)(LINE), ad.grad(expected)(LINE), rtol=1e-10)
    matrix = lambda x: sigma(x) @ sigma(x).T / 2  # noqa: E731
    by_matrix = ad.second_order_operator(network, matrix, drift)
    np.testing.assert_allclose(by_matrix(LINE), expected(LINE))
    np.testing.assert_allclose(ad.grad(by_matrix)(LINE), ad.grad(expected)(LINE), rtol=1e-9)


def test_entries_of_arrays_and_of_several_arguments() -> None:
    tensor = np.random.default_rng(3).normal(size=(3, 4, 3, 4))
    expected = np.sum(tensor * ad.hessian(network)(SQUARE))
    np.testing.assert_allclose(ad.second_order_operator(network, tensor)(SQUARE), expected)
    diagonal = np.arange(12.0).reshape(3, 4)
    expected = np.sum(np.diag(diagonal.ravel()) * flat_hessian(network, SQUARE))
    np.testing.assert_allclose(ad.second_order_operator(network, diagonal)(SQUARE), expected)
    mixed = ad.second_order_operator(
        lambda t, x: t**2 * x[0] + t * x[1],
        np.array([[0, 1.0, 2.0], [1, 0, 0], [2, 0, 0]]) / 2,
        argnums=(0, 1),
    )
    np.testing.assert_allclose(mixed(3.0, np.ones(2)), 2 * 3.0 + 2.0)


def test_what_changes_in_place_is_seen() -> None:
    coefficients, drift = np.eye(2), np.zeros(2)
    operator = ad.second_order_operator(lambda x: np.sum(x**2), coefficients, drift)
    for number in range(8):
        coefficients[0, 0], drift[1] = number, number
        assert operator(np.ones(2)) == 2 * number + 2 + 2 * number


def test_what_is_refused() -> None:
    operator = ad.second_order_operator
    with pytest.raises(ArgumentError, match="not both"):
        operator(network, np.eye(4), factor=np.eye(4))
    with pytest.raises(ArgumentError, match="none of them"):
        operator(network)
    with pytest.raises(ShapeError, match=r"expected \(4, 4\), or \(4, 4\), or \(4,\)"):
        operator(network, np.eye(3))(LINE)
    with pytest.raises(ShapeError, match=r"factor has shape \(3, 3\); expected \(4, m\)"):
        operator(network, factor=np.eye(3))(LINE)
    with pytest.raises(ShapeError, match="drift has shape"):
        operator(network, drift=np.ones(3))(LINE)
    with pytest.raises(ArgumentTypeError, match="coefficients is a function that returns None"):
        ad.second_order_operator(rational, lambda x: None)(LINE)
    with pytest.raises(DTypeError, match="complex"):
        operator(network, np.eye(4) * 1j)(LINE)
    with pytest.raises(ArgumentError, match="finite"):
        operator(network, np.full((4, 4), np.nan))(LINE)
    with pytest.raises(ArgumentTypeError, match="takes a function first"):
        operator(3, np.eye(4))


@pytest.mark.parametrize("diagonal", [[1e20, 1.0], [1e300, 1e-300], [1e-300, -1e-20], [0.0, 2.0]])
def test_small_coefficients_beside_large_ones(diagonal: list[float]) -> None:
    coefficients, x = np.array(diagonal), np.array([0.3, 0.7])

    def at(coefficients: Any) -> Any:
        return ad.second_order_operator(lambda x: x[1] ** 2 + x[0], coefficients)(x)

    for given in (coefficients, np.diag(coefficients)):
        np.testing.assert_allclose([at(given), ad.jit(at)(given)], 2 * diagonal[1], rtol=1e-14)
        slope = np.array([0.0, 2.0])
        expected = slope if given.ndim == 1 else np.diag(slope)
        np.testing.assert_allclose(ad.grad(at)(given), expected, atol=1e-14)


def test_coefficients_of_less_precision_or_of_integers() -> None:
    x = np.array([0.3, 0.7])
    for dtype in (np.float32, np.float16, np.int8):
        for given in (np.array([2, 3], dtype), np.array([[2, 1], [1, 3]], dtype)):

            def at(given: Any) -> Any:
                return ad.second_order_operator(lambda x: np.sum(x**2), given)(x)

            np.testing.assert_allclose([at(given), ad.jit(at)(given)], 10.0, rtol=1e-14)
