"""Python's own numbers stay weak under NEP 50: what is computed from them widens no array."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ad

SINGLE = np.array([1.0, 2.0, 3.0], np.float32)
CASES: dict[str, Callable[[Any], Any]] = {
    "product": lambda s: SINGLE * (s * s),
    "sum with a literal": lambda s: SINGLE * (s + 1),
    "negative": lambda s: SINGLE * (-s),
    "absolute": lambda s: SINGLE * abs(s),
    "power": lambda s: SINGLE * s**2,
    "power of a literal": lambda s: SINGLE * 2.0**s,
    "quotient": lambda s: SINGLE / (1 / s),
    "math": lambda s: SINGLE * math.sin(s),
    "float()": lambda s: SINGLE * float(s),
    "divmod": lambda s: SINGLE * divmod(s, 2.0)[1],
    "in a chain": lambda s: SINGLE * ((s * 2 - 1) / (s + 3) * math.exp(-s)),
    "a ufunc is NumPy's": lambda s: SINGLE * np.sin(s),
    "a NumPy scalar is not weak": lambda s: SINGLE * (np.float64(2.0) * s),
}


@pytest.mark.parametrize("name", CASES)
def test_values_have_numpys_dtype(name: str) -> None:
    function = CASES[name]
    plain = function(1.5)
    jitted = ad.jit(function)(1.5)
    assert jitted.dtype == plain.dtype
    np.testing.assert_allclose(jitted, plain, rtol=1e-6)


@pytest.mark.parametrize("name", CASES)
def test_derivatives_are_right(name: str) -> None:
    function = CASES[name]
    value, tangent = ad.jvp(function, (1.5,), (1.0,))
    assert tangent.dtype == value.dtype
    step = 1e-6

    def wide(s: float) -> Any:
        return function(s) / SINGLE  # the factor alone, up to single precision

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(globals(), "SINGLE", SINGLE.astype(float))
        slope = (wide(1.5 + step) - wide(1.5 - step)) / (2 * step)
    np.testing.assert_allclose(tangent / SINGLE, slope, rtol=1e-5, atol=1e-5)
    (pulled,) = ad.vjp(function, 1.5)[1](np.ones(3, value.dtype))
    assert pulled == pytest.approx(float(np.sum(tangent)), rel=1e-5, abs=1e-5)


def test_item_is_a_python_number() -> None:
    def f(x: Any) -> Any:
        return SINGLE * x[0].item()

    x = np.array([2.0])
    assert ad.jit(f)(x).dtype == f(x).dtype == np.float32
    np.testing.assert_array_equal(ad.vjp(f, x)[1](SINGLE)[0], [SINGLE @ SINGLE])


def test_integers_stay_integers() -> None:
    counts = np.array([1, 2], np.int8)
    f = ad.jit(lambda n: counts * (n // 2 + 1))
    assert f(4).dtype == np.int8
    assert f(4).tolist() == [3, 6]


def test_they_cost_nothing_where_types_do_not_depend_on_them() -> None:
    source = ad.program(lambda s: s * s + 3 * s - 1 / s, 2.0).source()
    assert source.count(".item()") <= 1
