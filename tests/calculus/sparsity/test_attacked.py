"""Sparse derivatives where their patterns nearly went wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

import adjoint as ad
from adjoint.calculus.jacobians.sparsity.colourings.greedy import star_colouring
from adjoint.calculus.jacobians.sparsity.products import products_of


def test_zeros_of_either_sign_have_patterns_of_their_own() -> None:
    signs = np.array([0.0, 0.0, 1.0])
    chosen = ad.checkpoint(lambda x, c: np.where(1 / c > 0, x[:3], x[3:]))
    jacobian = ad.jacobian(lambda x: chosen(x, signs), sparse=True)
    x = np.arange(6.0)
    for number in range(4):
        signs[:2] = [0.0, -0.0] if number % 2 else [-0.0, 0.0]
        with np.errstate(divide="ignore"):
            expected = ad.jacobian(lambda x: chosen(x, signs))(x)
            np.testing.assert_array_equal(jacobian(x).toarray(), expected)


def test_a_pattern_that_asked_for_nan_is_found_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from adjoint.calculus.jacobians.sparsity.derivatives import SparseDerivative

    found: list[Any] = []
    whole = SparseDerivative.pattern

    def counted(*args: Any) -> Any:
        found.append(args)
        return whole(*args)

    monkeypatch.setattr(SparseDerivative, "pattern", counted)
    data = np.array([np.nan, 0.0, 1.0])
    chosen = ad.checkpoint(lambda x, c: np.where(np.isnan(c), x[:3] ** 2, x[3:]))
    jacobian = ad.jacobian(lambda x: chosen(x, data), sparse=True)
    for number in range(4):
        jacobian(np.arange(6.0) + number)
    assert len(found) == 1


def test_the_second_derivative_by_a_rule_of_the_users_need_not_be_symmetric() -> None:
    """It is the derivative of the gradient that the rule gives, not half of it mirrored."""

    @ad.primitive
    def product(x: Any, y: Any) -> Any:
        return x * y

    @product.vjp
    def _(x: Any, y: Any) -> Any:
        return product(x, y), lambda c: (c * y, np.zeros(np.shape(y)))

    def whole(x: Any, y: Any) -> Any:
        return np.sum(product(x, y))

    def in_pairs(x: Any, y: Any) -> Any:
        return sum(product(x[k], y[k]) + product(x[k], y[0]) for k in range(3))

    x, y = np.arange(3.0), np.arange(1.0, 4.0)
    for function in (whole, in_pairs):
        found = ad.hessian(function, argnums=(0, 1), sparse=True)(x, y)
        expected = ad.jacobian(ad.grad(function, argnums=(0, 1)), argnums=(0, 1))(x, y)
        for row, others in zip(found, expected, strict=True):
            for block, other in zip(row, others, strict=True):
                np.testing.assert_allclose(block.toarray(), other)


def test_a_leaf_without_numbers() -> None:
    def function(p: Any) -> Any:
        return (np.sum(p["a"] ** 2) + np.sum(p["b"] ** 2)) * p["c"]

    point = {"a": np.ones((0, 2)), "b": np.arange(3.0), "c": 2.0}
    found, expected = (ad.hessian(function, sparse=flag)(point) for flag in (True, False))
    for one in point:
        for other in point:
            block = found[one][other]
            np.testing.assert_allclose(
                block.toarray(), np.reshape(expected[one][other], block.shape)
            )


def test_a_full_row_takes_one_product() -> None:
    full = sparse.csr_array(np.ones((1, 300), bool))
    assert products_of(full, True, True).count == 1
    assert products_of(full.T.tocsr(), True, True).count == 1
    assert products_of(full, True, False).count == 300


@pytest.mark.parametrize("native", [None, False])
def test_large_arrows_are_coloured_without_long_integers(native: bool | None) -> None:
    """In the order given they take as many colours as columns, of which none is to be kept."""
    size = 20_001
    numbers, zeros = np.arange(size), np.zeros(size, int)
    rows, columns = np.r_[numbers, numbers, zeros], np.r_[numbers, zeros, numbers]
    pattern = sparse.csr_array((np.ones(3 * size, bool), (rows, columns)), shape=(size, size))
    pattern.sum_duplicates()
    with ad.config(native=native):
        assert products_of(pattern, True, True).count == 3
        assert star_colouring(pattern[::-1, ::-1].tocsr()).count == 2


def test_gradients_of_many_numbers() -> None:
    size = 30_000  # products with each column would have 7 GB
    x = np.linspace(0, 1, size)
    found = ad.jacobian(lambda x: np.sum(x**2), sparse=True)(x)
    np.testing.assert_allclose(found.toarray()[0], 2 * x)


def test_loops_of_many_rounds_that_are_written_out() -> None:
    """Where a round reads and writes is carried beside what varies, and is known all the same."""

    def written(x: Any) -> Any:
        result = np.zeros(100)
        for k in range(1, 100):
            result[k] = x[k] * x[k - 1]
        return result

    def joined(x: Any) -> Any:
        return np.concatenate([x[k : k + 2] ** 2 for k in range(0, 100, 2)])

    x = np.linspace(1, 2, 100)
    near = np.eye(100, dtype=bool) | np.eye(100, k=-1, dtype=bool)
    near[0, 0] = False
    np.testing.assert_array_equal(ad.sparsity(written, x).toarray(), near)
    np.testing.assert_array_equal(ad.sparsity(joined, x).toarray(), np.eye(100, dtype=bool))
    for function in (written, joined):
        found = ad.jacobian(function, sparse=True)(x).toarray()
        np.testing.assert_allclose(found, ad.jacobian(function)(x))
