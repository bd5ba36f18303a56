"""Reductions without NaN: warnings as NumPy's, and finite derivatives beside NaN."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import adjoint as ad

NAN = np.nan
HALF = np.array([[1.0, NAN, 2.0], [NAN, NAN, NAN]])
TEXTS = {
    "nanmax": "All-NaN slice",
    "nanmin": "All-NaN slice",
    "nanmedian": "All-NaN slice",
    "nanmean": "Mean of empty slice",
    "nanvar": "Degrees of freedom",
    "nanstd": "Degrees of freedom",
}


@pytest.mark.parametrize("name", TEXTS)
def test_the_warning_is_numpys(name: str) -> None:
    function: Any = lambda x: getattr(np, name)(x, axis=1)  # noqa: E731
    with pytest.warns(RuntimeWarning, match=TEXTS[name]):
        expected = function(HALF)
    with pytest.warns(RuntimeWarning, match=TEXTS[name]):
        found = ad.jit(function)(HALF)
    np.testing.assert_array_equal(found, expected)
    with pytest.warns(RuntimeWarning, match=TEXTS[name]):
        gradient = ad.grad(lambda x: np.sum(function(x)[:1]))(HALF)
    assert np.isfinite(gradient).all()
    assert (gradient[np.isnan(HALF)] == 0).all()


@pytest.mark.parametrize("name", TEXTS)
def test_no_warning_where_there_are_numbers(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ad.jit(lambda x: getattr(np, name)(x, axis=1))(HALF[:1])


@pytest.mark.parametrize("name", ["nanargmax", "nanargmin"])
def test_no_place_among_nan(name: str) -> None:
    function: Any = lambda x: getattr(np, name)(x, axis=1)  # noqa: E731
    np.testing.assert_array_equal(ad.jit(function)(HALF[:1]), function(HALF[:1]))
    with pytest.raises(ValueError, match="All-NaN"):
        ad.jit(function)(HALF)


def test_batches() -> None:
    points = np.array([[1.0, NAN, 3.0], [NAN, 5.0, 4.0]])
    for name in ("nanmax", "nanmean", "nanmedian", "nanstd"):
        found = ad.vmap(getattr(np, name))(points)
        np.testing.assert_allclose(found, getattr(np, name)(points, axis=1))
    quantile = ad.vmap(lambda x: np.nanquantile(x, [0.2, 0.9]))(points)
    np.testing.assert_allclose(quantile, np.nanquantile(points, [0.2, 0.9], axis=1).T)


def test_the_deviation_of_equal_numbers_has_derivative_zero() -> None:
    for function in (np.std, np.nanstd):
        np.testing.assert_array_equal(ad.grad(function)(np.full(3, 2.0)), 0.0)
