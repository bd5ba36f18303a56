"""Kinds of numbers and of arrays: half and long precision work, others are refused by type."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from tests.capture.comparing import refuses


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.longdouble])
@pytest.mark.parametrize("native", [False, True])
def test_real_precisions(dtype: Any, native: bool) -> None:
    x = np.array([1, 2, 3], dtype)

    def function(x: Any) -> Any:
        return np.sum(x * x / 2) + np.cumsum(x)[1]

    with ad.config(native=native):
        gradient = ad.grad(function)(x)
        product = ad.hvp(function, x, x)
        value = ad.jit(function)(x)
    assert (gradient.dtype, product.dtype, value.dtype) == (dtype, dtype, dtype)
    np.testing.assert_array_equal(gradient, [2, 3, 3])
    np.testing.assert_array_equal(product, x)
    assert value == function(x)


@pytest.mark.parametrize("dtype", [np.complex64, np.clongdouble])
def test_complex_precisions(dtype: Any) -> None:
    z = np.array([3 + 4j, 1j], dtype)
    gradient = ad.grad(lambda z: np.sum(np.abs(z) ** 2))(z)
    assert gradient.dtype == dtype
    np.testing.assert_allclose(gradient, 2 * z, rtol=1e-6)


def test_precisions_mixed_as_numpy_mixes_them() -> None:
    half, x = np.array([0.5, 2.0], np.float16), np.array([1.0, 3.0])
    for wide in (np.float32, np.float64, np.longdouble):
        result = ad.jit(lambda a, b: a * b)(half, x.astype(wide))
        assert result.dtype == wide
    by_half, by_x = ad.grad(lambda a, b: np.sum(a * b), (0, 1))(half, x)
    assert (by_half.dtype, by_x.dtype) == (np.float16, np.float64)
    np.testing.assert_array_equal(by_half, x)


def _matrix(rows: Any) -> Any:
    return np.array(rows).view(np.matrix)


MATRIX = _matrix([[1.0, 2.0]])
REFUSED: dict[str, tuple[Any, Any, type[Exception], str]] = {
    # what: a function, its argument, the error and what it says
    "objects": (np.sum, np.array([1.0, None], object), ad.errors.NotDifferentiableError, "object"),
    "records": (np.sum, np.zeros(2, [("a", float)]), ad.errors.NotDifferentiableError, "'a'"),
    "dates": (np.sum, np.zeros(2, "M8[D]"), ad.errors.NotDifferentiableError, "datetime64"),
    "a constant of objects": (
        lambda x: np.sum(x * np.array([1, None], object)),
        np.ones(2),
        ad.errors.DTypeError,
        "object",
    ),
    "a decimal": (lambda x: x * Decimal(2), 1.0, ad.errors.DTypeError, "object"),
    "text": (lambda x: x + np.array("a"), 1.0, ad.errors.DTypeError, "<U1"),
    "a masked array": (np.sum, np.ma.masked_array([1.0], [0]), ad.errors.DTypeError, "MaskedArray"),
    "a masked constant": (
        lambda x: np.sum(x * np.ma.masked_array([1.0, 2.0], [0, 1])),
        np.ones(2),
        ad.errors.DTypeError,
        "MaskedArray",
    ),
    "masking": (
        lambda x: np.ma.masked_where(x > 1, x).sum(),
        np.array([1.0, 2.0]),
        ad.errors.DroppedDerivativeError,
        "f8[2]",
    ),
    "a matrix": (np.sum, _matrix([[1.0]]), ad.errors.DTypeError, "numpy.matrix"),
    "a matrix among arrays": (
        lambda x: np.sum(MATRIX @ x),
        np.ones(2),
        ad.errors.DTypeError,
        "numpy.matrix",
    ),
    "half precision in linear algebra": (
        np.linalg.det,
        np.eye(2, dtype=np.float16),
        ad.errors.DTypeError,
        "float16",
    ),
    "numbers as text": (lambda x: np.sum(x.astype(str)), np.ones(2), ad.errors.DTypeError, "<U"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_array_of_numbers_is_refused(name: str) -> None:
    function, argument, error, text = REFUSED[name]
    refuses(ad.grad, function, (argument,), error, text)


def test_a_layout_that_decides_a_value_is_looked_at_in_every_call() -> None:
    """ravel(order='K') follows the memory: jitted too, the one of each argument."""
    function = ad.jit(lambda x: np.ravel(x, order="K") * 1.0)
    x = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(function(x), x.ravel("K"))
    with pytest.raises(ad.errors.UnsupportedFunctionError, match="layout"):
        function(np.asfortranarray(x))
