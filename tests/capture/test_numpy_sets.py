"""Sets of values: what is chosen keeps its derivative; many examples at once are refused."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad

X = np.array([2.0, 0.5, 2.0, -1.0])


def test_the_first_of_equal_values_has_the_derivative() -> None:
    gradient = ad.grad(lambda x: np.unique(x) @ np.array([1.0, 10.0, 100.0]))(X)
    np.testing.assert_array_equal(gradient, [100.0, 10.0, 0.0, 1.0])


def test_values_from_both_arguments() -> None:
    y = np.array([3.0, 0.5])
    slopes = ad.grad(lambda x, y: np.union1d(x, y) @ np.arange(1.0, 5.0), (0, 1))(X, y)
    np.testing.assert_array_equal(slopes[0], [3.0, 2.0, 0.0, 1.0])
    np.testing.assert_array_equal(slopes[1], [4.0, 0.0])
    assert ad.jit(np.intersect1d)(X, y).tolist() == [0.5]


def test_assumed_to_be_unique() -> None:
    y = np.array([0.5, 7.0])
    for name in ("intersect1d", "setdiff1d", "setxor1d"):
        function = getattr(np, name)
        found = ad.jit(lambda x, f=function: f(x, y, assume_unique=True))(X[1:])
        np.testing.assert_array_equal(found, function(X[1:], y, assume_unique=True))


def test_many_examples_are_refused() -> None:
    with pytest.raises(ad.errors.ValueNeededError):
        ad.vmap(np.unique)(np.stack([X, X]))


def test_isin_comes_in_batches() -> None:
    found = ad.vmap(lambda x: np.isin(x, [2.0, -1.0]))(np.stack([X, -X]))
    np.testing.assert_array_equal(found, np.isin([X, -X], [2.0, -1.0]))
    assert not ad.jit(lambda x: np.isin(x, []))(X).any()


def test_counts_with_numpys_errors() -> None:
    for numbers in ([-1, 0], [[0, 1]], [0.5, 1.0]):
        with pytest.raises((ValueError, TypeError, DeprecationWarning)):
            ad.jit(lambda x, n=numbers: np.bincount(n, weights=x[:2]))(X)
    with pytest.raises(ValueError, match="same length"):
        ad.jit(lambda x: np.bincount([0, 1], weights=x))(X)
