"""Python's own numbers stay weak under NEP 50: what is computed from them widens no array."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
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


COMPLEX_CASES: dict[str, Callable[[Any, Any], Any]] = {
    "conjugate()": lambda t, z: z * t.conjugate(),
    "real": lambda t, z: z * t.real,
    "imag": lambda t, z: z * t.imag,
    "negative": lambda t, z: z * (-t),
    "reciprocal": lambda t, z: z * (1 / t),
    "absolute": lambda t, z: z * abs(t),
    "np.conjugate is NumPy's": lambda t, z: z * np.conjugate(t),
    "np.negative is NumPy's": lambda t, z: z * np.negative(t),
}


@pytest.mark.parametrize("number", [1.5 + 0.5j, 1.5])
@pytest.mark.parametrize("name", COMPLEX_CASES)
def test_parts_of_a_python_number_are_python_numbers(name: str, number: Any) -> None:
    function, z = COMPLEX_CASES[name], np.array([1 + 2j, 0.5], np.complex64)
    expected = function(number, z)
    found = ad.jit(function)(number, z)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    _, tangent = ad.jvp(function, (number, z), (number, z))
    assert tangent.dtype == expected.dtype
    # Along (t, z) itself: z has degree 1, and of t the parts too, the reciprocal -1.
    degree = 0 if name == "reciprocal" else 2
    np.testing.assert_allclose(tangent, degree * expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    "function",
    [
        lambda z: z * 1j,
        lambda z: z * (-1j),
        lambda z: (1j * z) ** 3,
        lambda z: z / 1j,
        lambda z: np.exp(1j * z),
        lambda z: np.real(z * 1j) ** 2 + 0j,
    ],
)
def test_a_complex_literal_stays_weak_in_every_composition_of_modes(function: Any) -> None:
    def value(z: Any) -> Any:
        return np.real(function(z))

    def slope(z: Any) -> Any:
        return ad.jvp(value, (z,), (z.dtype.type(1),))[1]

    def pulled(z: Any) -> Any:
        return np.real(ad.grad(value)(z))

    z = np.complex64(0.3 + 0.2j)
    for outer in (slope, pulled):
        found = ad.grad(outer)(z)
        assert found.dtype == np.complex64
        np.testing.assert_allclose(found, ad.grad(outer)(np.complex128(z)), rtol=1e-4, atol=1e-5)


def test_a_python_number_that_is_computed_scales_a_single_precision_derivative() -> None:
    def f(s: Any, x: Any) -> Any:
        return np.sum(x * math.sin(s))

    of_s, of_x = ad.vjp(f, 0.3, SINGLE)[1](np.float32(1))
    assert of_x.dtype == np.float32
    np.testing.assert_allclose(of_x, np.full(3, math.sin(0.3)), rtol=1e-6)
    assert of_s == pytest.approx(6 * math.cos(0.3), rel=1e-6)


# --- fractions ------------------------------------------------------------------------------------

THIRD = Fraction(1, 3)
FRACTIONS: dict[str, Callable[[Any], Any]] = {
    "sum": lambda s: s + THIRD,
    "difference": lambda s: THIRD - s,
    "product": lambda s: s * THIRD,
    "product from the left": lambda s: THIRD * s,
    "quotient": lambda s: THIRD / s,
    "power": lambda s: s**THIRD,
    "power of it": lambda s: THIRD**s,
    "whole power": lambda s: s ** Fraction(3),
    "whole negative power": lambda s: s ** Fraction(-2),
    "remainder": lambda s: s % THIRD,
    "whole quotient": lambda s: s // THIRD * s,
}


@pytest.mark.parametrize("name", FRACTIONS)
@pytest.mark.parametrize("kind", [float, np.float64])
def test_beside_a_number_a_fraction_is_a_float(name: str, kind: type) -> None:
    function, at = FRACTIONS[name], kind(2.1)
    value, slope = ad.value_and_grad(function)(at)
    assert value == function(at)
    step = 1e-6
    expected = (function(at + step) - function(at - step)) / (2 * step)
    assert slope == pytest.approx(expected, rel=1e-7)
    assert ad.jit(function)(at) == function(at)


def test_a_fraction_that_changes_is_seen() -> None:
    shares = {"rate": Fraction(1, 4)}
    slope = ad.jit(ad.grad(lambda x: x * shares["rate"]))
    assert [slope(2.0), slope(3.0)] == [0.25, 0.25]
    shares["rate"] = Fraction(1, 2)
    assert slope(2.0) == 0.5


@pytest.mark.parametrize(
    ("function", "at"),
    [
        (lambda x: np.sum(x * THIRD), np.ones(2)),  # whose entries are objects, in NumPy
        (lambda x: x if x > THIRD else -x, 2.0),  # compared without rounding, in Python
    ],
)
def test_other_fractions_are_refused_with_what_to_write(function: Any, at: Any) -> None:
    with pytest.raises(ad.errors.DTypeError, match=r"fractions\.Fraction .* Write float\(q\)"):
        ad.grad(function)(at)


def test_decimals_are_refused_as_by_python() -> None:
    with pytest.raises(TypeError, match=r"'float' and 'decimal\.Decimal'"):
        ad.grad(lambda x: x * Decimal("0.1"))(2.0)


def _repeated_in_place(x: Any, n: Any) -> Any:
    values = [x]
    values *= n
    return sum(values) + 0.0 * x


@pytest.mark.parametrize(
    "function",
    [
        lambda x, n: x * np.sum(np.array([1.0] * n)),
        lambda x, n: np.sum(x * np.array(n * [1.0])),
        lambda x, n: np.sum(x * np.array([n] * n)),
        lambda x, n: sum((x,) * n) + 0.0 * x,
        lambda x, n: x * len("a" * n + n * "b"),
        lambda x, n: x * len(b"a" * n + n * b"b"),
        _repeated_in_place,
    ],
)
@pytest.mark.parametrize("kind", [int, np.int64])
def test_what_is_repeated_asks_for_the_count(function: Any, kind: Any) -> None:
    compiled, slope = ad.jit(function), ad.grad(function)
    for n in map(kind, (1, 3, 2, 3, 0, -1)):
        assert compiled(2.0, n) == function(2.0, n)
        assert slope(2.0, n) == function(1.0, n)


def test_what_no_count_repeats() -> None:
    pair: Any = [1.0, 2.0]
    for n in (np.array(3), np.array([3, 4])):  # an array, which multiplies
        assert ad.jit(lambda x, n: np.sum(x * (pair * n)))(2.0, n) == np.sum(2.0 * (pair * n))
    with pytest.raises(TypeError, match="can't multiply sequence by non-int"):
        ad.jit(lambda x: np.sum(pair * x))(2.0)
    with pytest.raises(ad.errors.ValueNeededError):
        ad.vmap(lambda n: np.sum(np.array(pair * n)))(np.array([1, 2]))
