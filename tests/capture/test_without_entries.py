"""What follows from arrays without entries is NumPy's value, and a constant; and other shapes."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from tests.capture.comparing import captured_value, same_derivative, same_values

EMPTY: dict[str, tuple[Callable[[Any], Any], tuple[int, ...]]] = {
    "nanquantile": (lambda x: np.nanquantile(x, 0.5), (2, 0)),
    "nanquantile of rows": (lambda x: np.nanquantile(x, 0.5, axis=1), (2, 0)),
    "nanquantile of columns": (lambda x: np.nanquantile(x, [0.5, 0.1], axis=0), (2, 0)),
    "partition": (lambda x: np.partition(x, 0), (0,)),
    "polymul": (lambda x: np.polymul(x, x), (0,)),
    "polymul by a polynomial": (lambda x: np.polymul(x, [1.0, 2.0]), (0,)),
    "nanvar": (np.nanvar, (0,)),
    "nanstd of rows": (lambda x: np.nanstd(x, axis=1), (2, 0)),
    "eigvals": (np.linalg.eigvals, (0, 0)),
}
SHAPES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "column_stack": (lambda x: np.column_stack([x, 2 * x]), (np.ones((2, 3, 4)),)),
    "asfortranarray of a number": (np.asfortranarray, (2.0,)),
    "asfortranarray of no axes": (np.asfortranarray, (np.array(2.0),)),
    "insert a matrix": (lambda x, y: np.insert(x, 0, y), (np.ones((1, 1)), np.ones((1, 1)))),
    "insert a row": (lambda x, y: np.insert(x, 1, y, 0), (np.ones((2, 2)), np.ones((1, 2)))),
}


@pytest.mark.parametrize("name", EMPTY)
def test_without_entries(name: str) -> None:
    function, shape = EMPTY[name]
    x = np.zeros(shape)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = function(x)
        for _ in range(4):
            value, pullback = ad.vjp(function, x)
            same_values(value, expected)
            assert pullback(np.ones_like(expected))[0].shape == shape
        same_values(captured_value(function, x), expected)


@pytest.mark.parametrize("name", SHAPES)
def test_shapes(name: str) -> None:
    function, arguments = SHAPES[name]
    same_values(captured_value(function, *arguments), function(*arguments))
    same_derivative(function, arguments, 1e-6)


def test_the_modulus_of_numbers_in_another_byte_order() -> None:
    z = np.array([1 + 2j, 3 - 1j])
    gradient = ad.grad(lambda z: np.sum(np.abs(z)))(z.astype(">c16"))
    np.testing.assert_allclose(gradient, ad.grad(lambda z: np.sum(np.abs(z)))(z))
