"""`numpy.emath`: real inside of a domain, complex beyond it, and asked again for other values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint as ad
from tests.scipy.comparing import agrees

X = np.array([0.3, 0.6, 0.2])
NAMES = ("sqrt", "log", "log10", "log2", "arccos", "arcsin", "arctanh")
DTYPES = ("f4", "f8", "i4", "u1", "c8", "i2", "f2")


def parts(z: Any) -> tuple[Any, Any]:
    return z.real, z.imag


@pytest.mark.parametrize("name", NAMES)
def test_values_derivatives_and_dtypes(name: str) -> None:
    function = getattr(np.emath, name)
    agrees(function, X)
    agrees(lambda x: parts(function(-7.0 * x)), X)
    for dtype in DTYPES:
        for values in ([0, 1], [3, 5], [-3, 5]):
            if dtype == "u1" and values[0] < 0:
                continue
            x = np.array(values, dtype)
            with np.errstate(all="ignore"):
                expected, result = function(x), ad.jit(function)(x)
            assert result.dtype == expected.dtype
            np.testing.assert_allclose(result, expected, rtol=2e-3 if dtype == "f2" else 1e-6)


def test_powers_and_logarithms_to_a_base() -> None:
    agrees(lambda x: parts(np.emath.logn(2.0, -x)), X)
    agrees(lambda x: parts(np.emath.power(-x, 0.3)), X)
    agrees(lambda x: np.emath.power(x, -2), X)
    whole = np.array([2, 4])
    assert ad.jit(lambda p: np.emath.power(whole, p))(np.array(-2)).dtype == float


def test_the_question_is_asked_at_each_call() -> None:
    slope = ad.jit(ad.grad(lambda x: np.abs(np.emath.sqrt(x)).sum()))
    for x in (X, -X, X):
        np.testing.assert_allclose(slope(x), np.sign(x) * 0.5 / np.sqrt(np.abs(x)))
    with pytest.raises(ad.errors.ValueNeededError):
        ad.vmap(np.emath.sqrt)(X)
