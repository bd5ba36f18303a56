"""Order statistics: errors, batches, ties, and quantiles whose fraction is traced."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.capture.numpy.reducing.sorting import METHODS
from tests.counting import counting

X = np.array([0.5, 2.0, -1.0, 3.0])
MANY = np.random.default_rng(2).normal(size=(3, 5))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.quantile(x, 1.5),
        lambda x: np.percentile(x, -3),
        lambda x: np.quantile(x, 0.5, method="best"),
        lambda x: np.quantile(x, 0.5, weights=x * x),
        lambda x: np.quantile(x, 0.5, method="inverted_cdf", weights=-np.ones(4)),
        lambda x: np.partition(x, 7),
        lambda x: np.searchsorted(x, 0.3, side="middle"),
        lambda x: np.digitize(x, [0.0, 2.0, 1.0]),
        lambda x: np.quantile(x + 1j, 0.5),
        lambda x: np.digitize(x + 1j, [0.0]),
        lambda x: np.sort(x, order="f"),
        lambda x: np.argsort(x, order="f"),
        lambda x: np.searchsorted(x[None], 0.3),
    ],
)
def test_what_numpy_refuses(function: Any) -> None:
    with pytest.raises((ValueError, TypeError)) as expected:
        function(X)
    with pytest.raises((ValueError, TypeError)) as found:
        ad.jit(function)(X)
    assert isinstance(found.value, ValueError) == isinstance(expected.value, ValueError)


@pytest.mark.parametrize("method", METHODS)
def test_all_methods(method: Any) -> None:
    fractions = np.linspace(0, 1, 17)
    for count in (1, 2, 5, 8):
        values = np.random.default_rng(count).normal(size=count)
        found = ad.jit(lambda x: np.quantile(x, fractions, method=method))(values)
        np.testing.assert_allclose(found, np.quantile(values, fractions, method=method))
        gone = np.concatenate([values, [np.nan]])
        found = ad.jit(lambda x: np.nanquantile(x, fractions, method=method))(gone)
        np.testing.assert_allclose(found, np.quantile(values, fractions, method=method))


def test_a_traced_fraction() -> None:
    quantile = lambda q: np.quantile(X, q)  # noqa: E731
    np.testing.assert_allclose(ad.grad(quantile)(0.4), 3 * (2.0 - 0.5))
    for beyond in (1.5, -0.5):
        with pytest.raises(ValueError, match="must be in the range"):
            ad.jit(quantile)(beyond)


def test_batches() -> None:
    np.testing.assert_array_equal(ad.vmap(np.sort)(MANY), np.sort(MANY))
    np.testing.assert_array_equal(ad.vmap(np.argsort)(MANY), np.argsort(MANY))
    np.testing.assert_array_equal(ad.vmap(np.median)(MANY), np.median(MANY, 1))
    found = ad.vmap(np.searchsorted, (0, None))(np.sort(MANY), X)
    np.testing.assert_array_equal(found, [np.searchsorted(row, X) for row in np.sort(MANY)])


def test_sorting_is_recorded_and_asks_for_no_value() -> None:
    looked, calls = counting(lambda x: np.sort(x) @ np.arange(5.0))
    compiled = ad.jit(ad.grad(looked))
    for row in MANY:
        expected = np.empty(5)
        expected[np.argsort(row)] = np.arange(5.0)
        np.testing.assert_array_equal(compiled(row), expected)
    assert len(calls) == 1


def test_ties_have_a_finite_derivative_that_sums_to_one() -> None:
    for function in (np.median, lambda x: np.quantile(x, 0.4), lambda x: np.sort(x)[1]):
        gradient = ad.grad(function)(np.array([2.0, 1.0, 2.0, 2.0]))
        np.testing.assert_allclose(gradient.sum(), 1.0)


def test_an_empty_median_warns_as_numpy_does() -> None:
    with np.errstate(invalid="ignore"), pytest.warns(RuntimeWarning, match="empty slice"):
        found = ad.jit(np.median)(np.zeros(0))
    assert np.isnan(found)


@pytest.mark.parametrize("method", ["linear", "lower", "inverted_cdf"])
def test_quantiles_of_no_columns_have_the_dtype_of_others(method: str) -> None:
    def both(x: Any) -> Any:
        return np.quantile(x, 0.3, axis=0, method=method), np.percentile(x, [3, 9], axis=0)

    for dtype in ("i4", "u1", "f4", "f8"):
        nothing = np.zeros((3, 0), dtype)
        for found, expected in zip(ad.jit(both)(nothing), both(nothing), strict=True):
            assert (found.dtype, found.shape) == (expected.dtype, expected.shape)


def test_lexsort_of_single_numbers_is_a_number() -> None:
    found = ad.jit(lambda x: np.lexsort((x, -x)))(np.float64(2.0))
    assert type(found) is type(np.lexsort((np.float64(2.0), np.float64(-2.0))))


def test_lexsort() -> None:
    keys = np.array([[1.0, 0.0, 1.0, 0.0], [2.0, 2.0, 1.0, 1.0]])
    found = ad.jit(lambda a: np.lexsort((a[0], a[1])))(keys)
    np.testing.assert_array_equal(found, np.lexsort(keys))
    with pytest.raises(TypeError, match="need sequence"):
        ad.jit(lambda x: x[np.lexsort(())])(X)
