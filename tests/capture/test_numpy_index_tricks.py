"""np.r_ and np.c_ with traced parts join what NumPy joins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy import c_ as columns

import adjoint as ad

X = np.array([0.5, -1.0, 2.0])
FORMS: dict[str, Callable[[Any], Any]] = {
    "numbers and arrays": lambda x: np.r_[0.0, x, x[0], 1:4],
    "one part": lambda x: np.r_[x],
    "lists": lambda x: np.r_[[x[0], 1.0], x],
    "matrices": lambda x: np.r_[np.outer(x, x), np.ones((1, 3))],
    "linspace": lambda x: np.r_[x[1] : x[2] : 4j, 0],
    "range": lambda x: np.r_[x[1] : x[2] : 0.7],
    "columns": lambda x: np.c_[x, [1, 2, 3], x**2],
    "columns of matrices": lambda x: np.c_[np.outer(x, x), x],
    "columns of numbers": lambda x: np.c_[x[0], 2.0],
    "rows of a matrix": lambda x: np.r_["0,2", x, 2.0 * x],
    "another axis": lambda x: np.r_["-1", np.outer(x, x), np.outer(x, x)],
    "columns by words": lambda x: np.r_["1,2,0", x, x**2],
    "by name": lambda x: columns[x, x],
}


@pytest.mark.parametrize("form", FORMS)
def test_joins_as_numpy_does(form: str) -> None:
    function = FORMS[form]
    expected = np.asarray(function(X))
    value, tangent = ad.jvp(function, (X,), (np.ones(3),))
    assert np.shape(value) == expected.shape
    assert value.dtype == expected.dtype
    np.testing.assert_array_equal(value, expected)
    moved = (function(X + 1e-6) - function(X - 1e-6)) / 2e-6
    np.testing.assert_allclose(tangent, moved, atol=1e-8)
    weights = np.cos(np.arange(expected.size)).reshape(expected.shape)
    gradient = ad.grad(lambda x: np.sum(weights * function(x)))(X)
    assert gradient.sum() == pytest.approx(np.sum(weights * tangent))


def test_what_is_known_can_be_written_into() -> None:
    def function(x: Any) -> Any:
        a = np.r_[0.0, 1:3]
        a[0] = x
        return a.sum()

    assert ad.grad(function)(2.0) == 1.0


def test_words_that_numpy_does_not_know() -> None:
    with pytest.raises(ValueError, match="unknown special directive"):
        ad.grad(lambda x: np.r_["left", x, x].sum())(X)
    with pytest.raises(ad.errors.UnsupportedFunctionError, match="matri"):
        ad.grad(lambda x: np.r_["c", x, x].sum())(X)


def test_grids_with_counts() -> None:
    def function(x: Any, n: int) -> Any:
        rows, columns = np.mgrid[0.0 : 2.0 : n * 1j, 0.0:1.0:3j]
        return x * (rows + columns).sum() + np.ogrid[0.0 : 1.0 : n * 1j].sum()

    for derivative in (ad.value_and_grad(function), ad.jit(ad.value_and_grad(function))):
        for n in (4, 4, 3):
            value, slope = derivative(2.0, n)
            assert value == function(2.0, n)
            assert slope == pytest.approx(function(3.0, n) - function(2.0, n))
    with pytest.raises(ad.errors.DroppedDerivativeError):
        ad.grad(lambda n: np.mgrid[0.0 : 2.0 : n * 1j].sum())(3.2)
