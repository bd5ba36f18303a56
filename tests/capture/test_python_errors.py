"""Where Python's own numbers raise an error, a program that is kept has none to raise."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import adjoint as ad

NAMES = ["sqrt", "log", "log10", "log1p", "acosh", "atanh", "asin", "exp", "cosh", "gamma"]
ONE: dict[str, Callable[[Any], Any]] = {
    **{name: getattr(math, name) for name in NAMES},
    "root": lambda x: x**0.5,
    "square": lambda x: x**2,
    "cube": lambda x: x**3,
    "reciprocal": lambda x: x**-1,
    "power of two": lambda x: 2.0**x,
    "power of zero": lambda x: 0.0**x,
    "power of a negative number": lambda x: (-2.0) ** x,
    "logarithm to a base": lambda x: math.log(3.0, x),
    "math.pow": lambda x: math.pow(x, 0.3),
    "remainder": lambda x: math.remainder(x, 2.0),
}
POINTS = [2.0, math.inf, math.nan, -math.inf, 3.0, -1.5, 0.0, 800.5, 1e300, 0.5]


def _outcome(function: Callable[..., Any], *args: Any) -> Any:
    """A float, or the type of the error, or complex."""
    try:
        result = function(*args)
    except (ValueError, ArithmeticError) as error:
        return type(error)
    except ad.errors.UnsupportedFunctionError:
        return complex
    return complex if isinstance(result, complex) else float(result)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", ONE)
@pytest.mark.parametrize("way", ["jit", "value_and_grad"])
def test_what_was_kept_for_infinity_or_nan(name: str, way: str) -> None:
    function = ONE[name]
    jitted, both = ad.jit(function), ad.value_and_grad(function)
    kept = jitted if way == "jit" else lambda x: both(x)[0]
    for x in POINTS + POINTS:
        expected = _outcome(function, x)
        if not (x == -math.inf and expected == math.inf):  # NumPy has NaN for (-inf)**0.5
            assert _outcome(kept, x) == pytest.approx(expected, nan_ok=True)


class _Settings:
    divisor = 1.0


def _divisions() -> Iterator[Callable[..., Any]]:
    settings = _Settings()

    def attribute(x: Any, n: float) -> Any:
        return x / settings.divisor

    def set_to(n: float) -> None:
        settings.divisor = n

    attribute.before = set_to  # type: ignore[attr-defined]
    yield lambda x, n: x / n
    yield lambda x, n: x // n
    yield lambda x, n: x % n
    yield lambda x, n: divmod(x, n)[1]
    yield lambda x, n: x / (n - 1.0)
    yield lambda x, n: (x * n) / (n * 2)
    yield attribute


@pytest.mark.parametrize("function", list(_divisions()))
def test_divisors_that_are_not_differentiated(function: Callable[..., Any]) -> None:
    both = ad.value_and_grad(function)
    before = getattr(function, "before", lambda n: None)
    for n in (3.0, 4.0, 5.0, 6.0, 7.0, 0.0, 2.0, 1.0, 8.0):
        before(n)
        assert _outcome(lambda x, n: both(x, n)[0], 2.0, n) == _outcome(function, 2.0, n)


def test_remainder_is_exact() -> None:
    remainder, both = ad.jit(math.remainder), ad.value_and_grad(math.remainder, argnums=(0, 1))
    for x in (7.5, -7.0, 1e17, 1e300, 5.0, -0.0, 3e-320):
        for y in (2.0, -2.5, 3.0, math.inf, 1e-320):
            assert float(remainder(x, y)) == math.remainder(x, y)
            if math.isfinite(x / y):
                value, (by_x, by_y) = both(x, y)
                whole = round((x - math.remainder(x, y)) / y)
                assert (value, by_x, -by_y) == (math.remainder(x, y), 1.0, pytest.approx(whole))


def test_hypot_of_large_numbers() -> None:
    for args in ((1e300, 3.0), (3e200, 4e200), (1e-200, 1e-200), (1e300, 1e300, 2.0)):
        both = ad.value_and_grad(math.hypot, argnums=tuple(range(len(args))))
        for _ in range(3):
            value, slopes = both(*args)
            assert value == pytest.approx(math.hypot(*args), rel=1e-14)
            np.testing.assert_allclose(slopes, np.array(args) / math.hypot(*args), rtol=1e-14)


@pytest.mark.parametrize("function", [math.floor, math.ceil])
@pytest.mark.parametrize("x", [2.5, -2.5, 1e300, math.inf, math.nan])
def test_whole_numbers(function: Callable[..., int], x: float) -> None:
    assert _outcome(ad.jit(lambda x: x * (function(x) % 7)), x) == _outcome(
        lambda x: x * (function(x) % 7), x
    )
