"""The coefficients of differences that would cancel, derived again; and what is made of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import pytest
from mpmath import mp, mpf

from adjoint.primitives.elementwise.accuracy.approximation_tables import TABLES
from adjoint.primitives.elementwise.accuracy.approximations import _ZEROS, coefficients

Form = Callable[[Any], Any]


def _erfc_integral(order: int, x: Any) -> Any:
    """exp(x^2) i^n erfc(x) as a confluent hypergeometric function (DLMF 7.18.10)."""
    if x == 0:
        return 1 / (mpf(2) ** order * mp.gamma(mpf(order) / 2 + 1))
    half = mpf(1) / 2
    return mp.hyperu((order + 1) * half, half, x * x) / (mpf(2) ** order * mp.sqrt(mp.pi))


def _i(order: int, x: Any) -> Any:
    first, second = (mp.besseli(n, x) * mp.exp(-x) for n in (0, 1))
    gap = first - second
    return gap if order == 1 else 2 * gap - (second / x if x else mpf(1) / 2)


def _k(order: int, x: Any) -> Any:
    first, second = (mp.besselk(n, x) * mp.exp(x) for n in (0, 1))
    gap = second - first
    return gap if order == 1 else second / x - 2 * gap


def _dawson(order: int, x: Any) -> Any:
    value = mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x)
    return 1 - 2 * x * value if order == 1 else (4 * x * x - 2) * value - 2 * x


def _smooth(name: str, order: int, piece: str) -> tuple[Form, Any, Any]:
    """What a series stands for, and its interval."""
    if name == "erfcx" and piece == "near":
        return lambda x: _erfc_integral(order, x) * (1 + x) ** (order + 1), 0, 3
    if name == "erfcx":
        power = mpf(order + 1) / 2
        return lambda z: _erfc_integral(order, 1 / mp.sqrt(z)) / z**power, 0, mpf(1) / 9
    if name == "i0e" and piece == "near":
        return lambda x: _i(order, x) * (1 + x) ** order, 0, 8
    if name == "i0e":
        return lambda z: _i(order, 1 / z) / z**order / mp.sqrt(z), 0, mpf(1) / 8
    if name == "k0e":
        ends = (mpf(1) / 4, 5) if piece == "near" else (0, mpf(1) / 4)
        return lambda z: _k(order, 1 / z) / z**order / mp.sqrt(z), *ends
    if piece == "near":
        zero = mpf(_ZEROS[order - 1][0]) + mpf(_ZEROS[order - 1][1])
        if order == 1:
            return lambda x: _dawson(1, x) / (zero - x) * (1 + x) ** 2, 0, 3
        return lambda x: _dawson(2, x) / (x - zero) / x * (1 + x) ** 3, 0, 3
    power = mpf(order + 1) / 2
    ends = (mpf(1) / 36, mpf(1) / 9) if piece == "middle" else (0, mpf(1) / 36)
    return lambda z: _dawson(order, 1 / mp.sqrt(z)) / z**power, *ends


def _series(form: Form, low: Any, high: Any, count: int) -> list[Any]:
    """The first coefficients of the polynomial that is equal to it at Chebyshev's points."""
    points = [mp.cos(mp.pi * (k + mpf(1) / 2) / count) for k in range(count)]
    values = [form((mpf(high) - low) / 2 * x + (mpf(high) + low) / 2) for x in points]
    found = []
    for n in range(count):
        cosines = (mp.cos(n * mp.pi * (k + mpf(1) / 2) / count) for k in range(count))
        found.append(2 * mp.fsum(a * b for a, b in zip(values, cosines, strict=True)) / count)
    return [found[0] / 2, *found[1:]]


@pytest.mark.parametrize("key", TABLES)
def test_coefficients(key: str) -> None:
    name, order, piece = key.split()
    numbers = coefficients(key)
    with mpmath.workdps(80):
        form, low, high = _smooth(name, int(order), piece)
        derived = _series(form, low, high, len(numbers) + 8)
        assert max(map(abs, derived[len(numbers) :])) < 2e-17 * abs(derived[0])
        for number, exact in zip(numbers, derived, strict=False):
            assert abs(number - exact) <= 1.2e-16 * abs(exact) + 2e-17 * abs(derived[0])


def test_the_zeros_of_the_slopes_of_dawson() -> None:
    with mpmath.workdps(60):
        for order, (zero, lost) in enumerate(_ZEROS, 1):
            exact = mp.findroot(lambda x, order=order: _dawson(order, x), zero)
            assert zero == float(exact)
            assert abs(exact - zero - lost) < 1e-30
