"""Histograms: what NumPy refuses, edges that move with values, and batches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint as ad

X = np.array([0.5, 2.0, -1.0, 3.0, 2.5])


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.histogram(x, 0),
        lambda x: np.histogram(x, 2.5),
        lambda x: np.histogram(x, [0.0, 2.0, 1.0]),
        lambda x: np.histogram(x, np.zeros((2, 2))),
        lambda x: np.histogram(x, 3, (2.0, 1.0)),
        lambda x: np.histogram(x, 3, (0.0, np.inf)),
        lambda x: np.histogram(x, 3, weights=x[:2]),
        lambda x: np.histogram(x, "auto", weights=x),
        lambda x: np.histogramdd((x, x), (2, 2, 2)),
        lambda x: np.histogramdd((x, x), 2, range=[None]),
        lambda x: np.histogramdd((x, x), (2, 0)),
        lambda x: np.histogram2d(x, x[:3]),
    ],
)
def test_what_numpy_refuses(function: Any) -> None:
    with pytest.raises((ValueError, TypeError)) as expected:
        function(X)
    with pytest.raises((ValueError, TypeError)) as found:
        ad.jit(function)(X)
    assert isinstance(found.value, ValueError) == isinstance(expected.value, ValueError)


def test_edges_move_with_the_extremes() -> None:
    slopes = ad.derivative(lambda x: np.histogram_bin_edges(x, 4), X)(np.eye(5)[3])
    np.testing.assert_allclose(slopes, [0, 0.25, 0.5, 0.75, 1])


@pytest.mark.parametrize("values", [np.full(3, 2.0), np.zeros(0)])
def test_an_empty_range_is_widened(values: Any) -> None:
    found = ad.jit(lambda x: np.histogram(x, 3))(values)
    for one, other in zip(found, np.histogram(values, 3), strict=True):
        np.testing.assert_allclose(one, other)


def test_values_on_edges_and_outside() -> None:
    edges = [-1.0, 0.5, 2.0, 2.5]
    found = ad.jit(lambda x: np.histogram(x, edges))(X)
    np.testing.assert_array_equal(found[0], np.histogram(X, edges)[0])
    assert found[0].dtype == np.intp


def test_batches() -> None:
    weights = np.random.default_rng(0).normal(size=(3, 5))
    found = ad.vmap(lambda w: np.histogram(X, 3, weights=w)[0])(weights)
    np.testing.assert_allclose(found, [np.histogram(X, 3, weights=w)[0] for w in weights])
    points = np.random.default_rng(1).normal(size=(3, 6))
    found = ad.vmap(lambda x: np.histogram(x, 4)[0])(points)
    np.testing.assert_array_equal(found, [np.histogram(x, 4)[0] for x in points])


def test_two_axes() -> None:
    y = X[::-1] ** 2
    for bins in (3, [2, 3], [np.array([-2.0, 1.0, 4.0]), 2], np.array([-2.0, 1.0, 2.0, 10.0])):
        expected = np.histogram2d(X, y, bins, weights=X)
        found = ad.jit(lambda x, b=bins: np.histogram2d(x, y, b, weights=x))(X)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other)


@pytest.mark.parametrize("native", [False, True])
def test_a_range_that_turns_around_is_refused_in_compiled_functions_too(native: bool) -> None:
    edges = ad.jit(lambda end: np.histogram_bin_edges(np.ones(3), range=(0, end)))
    with ad.config(native=native):
        assert edges(2.0)[-1] == 2
        with pytest.raises(ValueError, match="max must be larger"):
            edges(-2.0)
