"""Which quotients are products with a reciprocal, and which are NumPy's."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import adjoint as ad

X = np.random.default_rng(0).uniform(
    0.25, 4.0, 336
)  # whole vectors, so that the loop is written once


def divisions(gradient: Any) -> int:
    """How many divisions the code of a function has."""
    code = ad.program(gradient, X).native()
    return len(re.findall(r"= call [^\n]*constrained\.fdiv", code.ir()))


def ratio(x: Any) -> Any:
    y = x / np.sqrt(x * x + 1.5)
    return (y * 0.5 + x) * y


def angle(x: Any) -> Any:
    y = x / np.sqrt(x * x + 1e-3)
    return np.arcsin(y) - np.sqrt(1.0 - y * y)


def stepped(x: Any) -> Any:
    y = x / np.sqrt(x * x + 1.5)
    return y * np.floor(9.0 * y)


def total(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: np.sum(function(x))


@pytest.mark.parametrize("function", [ratio, angle, stepped])
def test_gradients(function: Callable[..., Any]) -> None:
    gradient = ad.grad(total(function))
    with ad.config(native=False):
        expected = gradient(X)
    with ad.config(native=True):
        found = ad.jit(gradient)(X)
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def returning(x: Any) -> tuple[Any, Any]:
    y = x / np.sqrt(x + 1.5)
    return np.sum(y * y), y


def test_a_value_of_which_derivatives_alone_are_made_is_a_product() -> None:
    """And one is a quotient that is returned, or goes into functions which jump or end."""
    assert divisions(ad.grad(total(ratio))) == 1
    assert divisions(ad.grad(returning, has_aux=True)) == 2
    assert divisions(ad.grad(total(stepped))) == 2
    assert divisions(ad.grad(total(angle))) >= 3


def test_values_that_are_returned_are_those_of_numpy() -> None:
    with ad.config(native=True):
        _, y = ad.jit(ad.grad(returning, has_aux=True))(X)
    np.testing.assert_array_equal(y, X / np.sqrt(X + 1.5))
