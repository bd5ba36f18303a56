"""Warnings and errors of machine code are NumPy's own, and so are the numbers beside them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy.special import gamma

pytest.importorskip("llvmlite")

import adjoint as ad

NAN, INF = np.nan, np.inf
TINY, HUGE = 1e-200, 1e200
Function = Callable[..., Any]


@pytest.fixture(autouse=True)
def own_cache() -> Iterator[None]:
    ad.cache_clear()
    yield
    ad.cache_clear()


def outcome(function: Function, arguments: tuple[Any, ...], native: bool) -> tuple[Any, list[Any]]:
    """The result or error, and the warnings; of the second run, which is not captured any more."""
    with ad.config(native=native):
        jitted = ad.jit(function)
        fine = tuple(np.ones_like(x) for x in arguments)
        with warnings.catch_warnings(), suppress(FloatingPointError):
            warnings.simplefilter("ignore")
            jitted(*fine)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                result = jitted(*arguments)
            except (ArithmeticError, IndexError, ValueError) as error:
                result = error
    return result, [(each.category, str(each.message)) for each in caught]


def agree(function: Function, *arguments: Any, warned: str | None = None, **state: Any) -> None:
    """The same results, errors and warnings in machine code and on NumPy."""
    with np.errstate(**state):
        expected, texts = outcome(function, arguments, False)
        found, ours = outcome(function, arguments, True)
    assert ours == texts
    assert warned is None or any(warned in text for _, text in texts)
    if isinstance(expected, Exception):
        assert type(found) is type(expected)
        assert str(found) == str(expected)
        return
    assert type(found) is type(expected)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-6 if found.itemsize == 4 else 1e-12)
    for x, y in ((np.real(found), np.real(expected)), (np.imag(found), np.imag(expected))):
        zeros = np.asarray(y) == 0
        np.testing.assert_array_equal(np.signbit(x)[zeros], np.signbit(y)[zeros])


UNARY = {
    "exp": (1e4, -1e4, INF, -INF, NAN),
    "exp2": (1e4, -1e5, NAN),
    "expm1": (1e4, -1e4, NAN),
    "log": (0.0, -0.0, -1.0, INF, NAN, -INF),
    "log2": (0.0, -1.0, NAN),
    "log10": (0.0, -1.0, NAN),
    "log1p": (-1.0, -2.0, INF, NAN),
    "sqrt": (-1.0, -0.0, INF, NAN, -INF),
    "cbrt": (-1.0, -0.0, INF, NAN),
    "sin": (INF, NAN, 1e22, -0.0),
    "cos": (-INF, NAN),
    "tan": (INF, NAN),
    "arcsin": (2.0, NAN),
    "arccos": (-2.0, INF),
    "arctan": (INF, NAN),
    "sinh": (1e4, -INF, NAN),
    "cosh": (1e4, -1e4, NAN),
    "tanh": (1e4, INF, NAN, -0.0),
    "arcsinh": (INF, NAN),
    "arccosh": (0.5, NAN),
    "arctanh": (1.0, -1.0, 2.0, NAN),
    "reciprocal": (0.0, -0.0, 1e-320, INF, NAN),
    "square": (1e200, 1e-200, INF),
    "floor": (NAN, INF, -0.5),
    "ceil": (NAN, -0.5),
    "rint": (NAN, -0.5),
    "sign": (NAN, -0.0),
    "absolute": (NAN, -INF, -0.0),
    "isfinite": (NAN, INF),
}


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_functions_of_one_number(name: str, dtype: str) -> None:
    function = getattr(np, name)
    for bad in UNARY[name]:
        for length, place in ((3, 1), (37, 36), (1200, 700)):
            x = np.ones(length)
            x[place] = bad
            with np.errstate(all="ignore"):
                agree(function, x.astype(dtype))
    with np.errstate(all="ignore"):
        number = np.asarray(UNARY[name][0]).astype(dtype)[()]
    agree(function, number)


BINARY = {
    "divide": [(1, 0), (0, 0), (1, -0.0), (INF, INF), (HUGE, TINY), (NAN, 0), (TINY, HUGE)],
    "multiply": [(HUGE, HUGE), (INF, 0), (TINY, TINY), (NAN, INF)],
    "add": [(INF, -INF), (1.7e308, 1.7e308), (NAN, 1), (-0.0, 0.0)],
    "subtract": [(INF, INF), (1.7e308, -1.7e308), (NAN, 1)],
    "power": [(0, -1), (-1, 0.5), (10, 400), (0.1, 400), (NAN, 0), (1, NAN), (INF, 0), (-0.0, -3)],
    "remainder": [(1, 0), (INF, 1), (1, INF), (-1, INF), (NAN, 1), (0, 0)],
    "fmod": [(1, 0), (INF, 1), (1, INF), (NAN, 1)],
    "floor_divide": [(1, 0), (0, 0), (INF, 1), (1, INF), (-1, INF), (NAN, 1), (HUGE, TINY)],
    "hypot": [(1.7e308, 1.7e308), (INF, NAN), (TINY, TINY)],
    "arctan2": [(0.0, -0.0), (INF, INF), (NAN, 1), (-0.0, -1.0)],
    "logaddexp": [(-INF, -INF), (INF, INF), (NAN, 1), (1e308, 1e308)],
    "maximum": [(NAN, 1), (1, NAN), (-0.0, 0.0)],  # of other zeros NumPy takes either
    "fmin": [(NAN, 1), (1, NAN)],
    "less": [(NAN, 1), (INF, INF)],
    "equal": [(NAN, NAN), (0.0, -0.0)],
    "copysign": [(1, -0.0), (NAN, -1)],
}


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_functions_of_two_numbers(name: str, dtype: str) -> None:
    function = getattr(np, name)
    for bad in BINARY[name]:
        for length, place in ((3, 1), (37, 36), (1200, 700)):
            x, y = np.ones(length), np.ones(length)
            x[place], y[place] = bad
            with np.errstate(all="ignore"):
                x, y = x.astype(dtype), y.astype(dtype)
            agree(function, x, y)


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u4", "i4", "i8", "u8", "?"])
def test_whole_numbers(dtype: str) -> None:
    for length in (3, 37, 1200):
        x = np.full(length, 3, dtype)
        y = np.ones(length, dtype)
        y[-1] = 0
        least = x if dtype == "?" else np.full(length, np.iinfo(dtype).min, dtype)
        minus = np.full(length, -1).astype(dtype)
        for name in ("floor_divide", "remainder", "divide", "fmod"):
            function = getattr(np, name)
            if dtype == "?" and name != "divide":
                continue
            agree(function, x, y)
            agree(function, least, minus)
        if dtype != "?":
            agree(lambda x, y: x**y, x, np.abs(y))
            agree(lambda x: np.abs(x) + np.negative(x), least)
            agree(lambda x, y: np.sum(x * y) + np.max(x - y), least, minus)


def test_single_integers_that_overflow() -> None:
    """Of these NumPy warns, though not of those in arrays."""
    for dtype in ("i1", "u1", "i4", "u4", "i8", "u8"):
        info = np.iinfo(dtype)
        low, high, two = (np.dtype(dtype).type(n) for n in (info.min, info.max, 2))
        for x, y in ((low, high), (high, low), (high, two), (low, two), (two, two)):
            agree(lambda x, y: x + y, x, y)
            agree(lambda x, y: x - y, x, y)
            agree(lambda x, y: x * y, x, y)
            agree(lambda x: (x + 1) * 2 - 3, x)
            agree(lambda x, z: np.sum(z) * x + z[0], x, np.full(40, y))
    agree(lambda x: x * 3, np.int8(100), warned="overflow encountered in scalar multiply")


def test_casts() -> None:
    """What NumPy makes of numbers that do not fit, and that it says so."""
    for length in (3, 37, 1200):
        x = np.ones(length)
        for bad in (NAN, INF, 1e30, -1e30, 300.0, -1.0):
            x[-1] = bad
            for dtype in ("i8", "i4", "i2", "i1", "u1", "u4", "?", "f4"):
                agree(lambda x, d=dtype: np.asarray(x).astype(d), x)
                agree(lambda x, d=dtype: x.astype(d), x.astype("f4"))
    agree(lambda x: x.astype("f4") * 2, np.full(50, 1e200), warned="overflow")
    agree(lambda x: x.astype("i8") * 2, np.full(50, NAN), warned="invalid")


@pytest.mark.parametrize(("length", "dtype"), [(3, "f4"), (37, "f8"), (400, "f8")])
def test_reductions(length: int, dtype: str) -> None:
    top = np.finfo(dtype).max
    x = np.ones((length, 5), dtype)
    for bad in (NAN, INF, -INF, top):
        x[-1] = bad
        for name in ("sum", "max", "min", "mean", "prod", "std", "any", "all"):
            function = getattr(np, name)
            for axis in (None, 0, 1):
                agree(partial(function, axis=axis), x)
    x[0], x[-1] = INF, -INF
    agree(lambda x: np.sum(x, axis=0), x, warned="invalid")
    agree(lambda x: np.sum(x), x, warned="invalid")
    agree(lambda x, y: x.T @ y, x, np.ones((length, 4), dtype), warned="invalid")
    large = np.full((length, 5), top)
    agree(lambda x: np.sum(x), large, warned="overflow")
    agree(lambda x: np.linalg.norm(x), large, warned="overflow")


def test_complex_numbers() -> None:
    z = np.full(40, 1 + 2j)
    bads = (0, NAN, INF, complex(INF, NAN), complex(1e200, 1e200), complex(0, -INF))
    for bad in bads:
        for place in (2, 39):
            x = z.copy()
            x[place] = bad
            for function in (
                lambda x: 1 / x,
                lambda x: x * x,
                lambda x: np.abs(x),
                lambda x: np.sum(x),
                lambda x: np.exp(x),
                lambda x: np.log(x),
                lambda x: np.sqrt(x),
                lambda x: x.real * x.imag,
                lambda x: x == x,
            ):
                agree(function, x)


def test_several_warnings_and_their_places() -> None:
    def function(x: Any) -> Any:
        return np.log(x) + 1 / (x - 1) + np.exp(1000 * x)

    x = np.linspace(-1, 2, 301)
    agree(function, x, warned="overflow")
    agree(lambda x: np.where(x > 0, np.log(x), 0.0), x, warned="invalid")
    agree(lambda x: np.where(x > 0, np.sqrt(np.where(x > 0, x, 1.0)), 0.0), x)

    def tall(x: Any) -> Any:
        return np.sum(np.exp(x)[:, None] * np.ones(40), axis=0)

    agree(tall, np.full(50, 800.0), warned="overflow")


@pytest.mark.parametrize("length", [3, 40, 3000])
def test_gradients_warn_of_what_the_user_wrote_alone(length: int) -> None:
    def log(x: Any) -> Any:
        return np.sum(np.log(x))

    def root(x: Any) -> Any:
        return np.sum(np.sqrt(x))

    x = np.ones(length)
    x[1] = 0.0
    agree(ad.grad(log), x)
    agree(ad.grad(root), x)
    agree(ad.grad(lambda x: np.sum(np.where(x > 0, np.log(x), 0.0))), x)
    agree(ad.grad(lambda x: np.sum(np.exp(x) ** 2)), 800 * x, warned="overflow")


def test_long_programs_and_programs_in_pieces() -> None:
    def steps(x: Any) -> Any:
        for _ in range(120):
            x = np.sin(x) + 1e-3 / (x - 0.5)
        return x

    def lookups(x: Any, i: Any) -> Any:
        for _ in range(120):
            x = x[i] * 0.99 + np.tanh(x)
        return x

    agree(steps, np.where(np.arange(50) == 7, 0.5, np.linspace(1, 2, 50)), warned="divide")
    agree(steps, np.array([0.5, 1.0]), warned="divide")
    agree(lookups, np.ones(50), np.arange(50))
    agree(lookups, np.ones(50), np.arange(1, 51))
    agree(lambda x: np.log(gamma(np.exp(x)) - 1) * 2, np.zeros(30), warned="divide")
    agree(lambda x: np.log(gamma(np.exp(x)) + 1) / (x - 1), np.ones(30), warned="divide")


def test_batches() -> None:
    table = np.arange(300.0).reshape(100, 3)
    agree(ad.vmap(lambda x: np.log(x).sum() / x[0]), table, warned="divide")
    agree(ad.vmap(lambda x, i: x[i]), table, np.full(100, 3))
    agree(ad.vmap(lambda x, i: x[i]), table, np.arange(100) % 3 - 3)
    agree(ad.vmap(lambda x, y: x // y), np.arange(100), np.arange(100) % 3, warned="divide")


def test_single_numbers() -> None:
    agree(lambda x: 1.0 / x, np.zeros(()), warned="divide")
    agree(lambda x: 1.0 / x, np.float64(0), warned="scalar divide")
    agree(lambda x: x / x, np.float32(0), warned="invalid")
    agree(lambda x: x * 1e300 * 1e10, np.float64(1), warned="scalar multiply")
    agree(lambda x: np.sum(x) * 1e300, np.full(10, 1e10), warned="scalar multiply")
    agree(lambda x: np.max(x) - x, np.array([1, np.nan] * 20))
    agree(lambda x: np.exp(x - np.max(x)), np.full(20, -np.inf), warned="invalid")


@pytest.mark.parametrize("size", [2, 6, 60])
def test_determinants_warn_under_their_own_names(size: int) -> None:
    undefined = np.eye(size)
    undefined[0, -1] = np.nan
    agree(np.linalg.det, undefined, warned="invalid value encountered in det")
    agree(lambda x: np.linalg.slogdet(x)[1], undefined, warned="in slogdet")
    agree(np.linalg.det, np.eye(size) * 1e200, warned="overflow encountered in det")
    agree(lambda x: np.linalg.slogdet(x)[1], np.zeros((size, size)))


# --- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [4, 40, 3000])
def test_indices_out_of_bounds(length: int) -> None:
    x = np.arange(100.0).reshape(10, 10)
    for bad in (10, -11, 2**40, -(2**62)):
        index = np.arange(length) % 10
        index[-1] = bad
        for function in (
            lambda x, i: x[i],
            lambda x, i: x[i, i],
            lambda x, i: np.sum(np.exp(x)[:, i], axis=1),
            lambda x, i: np.take(x, i, axis=0),
            lambda x, i: x[i][:, i],
        ):
            agree(function, x, index)

        def written(x: Any, i: Any) -> Any:
            y = x.copy()
            y[i] = 2.0
            return y

        def added(x: Any, i: Any) -> Any:
            y = x.copy()
            np.add.at(y, i, 1.0)
            return y

        agree(written, x, index)
        agree(added, x, index)
        agree(ad.grad(lambda x, i: np.sum(x[i] ** 2)), x, index)


@pytest.mark.parametrize("length", [4, 40, 3000])
def test_errstate(length: int) -> None:
    cases: list[tuple[Function, tuple[Any, ...]]] = [
        (lambda x, y: x / y, (np.ones(length), np.zeros(length))),
        (lambda x: np.log(-x), (np.ones(length),)),
        (lambda x: np.exp(1000 * x), (np.ones(length),)),
        (lambda x: np.exp(-1000 * x), (np.ones(length),)),  # an underflow
        (lambda x: np.sum(x * x), (np.full(length, HUGE),)),
        (lambda x: np.sum(x * x), (np.full(length, 1e-160),)),
        (lambda x, y: x // y, (np.ones(length, int), np.zeros(length, int))),
        (lambda x: x.astype("f4"), (np.full(length, HUGE),)),
        (lambda x: x.astype("f4"), (np.full(length, 1e-42),)),
        (lambda x: np.where(x > 2, 1 / x, x), (np.zeros(length),)),
    ]
    for function, arguments in cases:
        for state in ("ignore", "raise", "warn"):
            agree(function, *arguments, all=state)
        with np.errstate(all="ignore"):
            assert outcome(function, arguments, True)[1] == []
        for kind in ("divide", "over", "under", "invalid"):
            agree(function, *arguments, **{kind: "raise"})


def test_the_handler_is_called() -> None:
    calls: list[str] = []
    with ad.config(native=True):
        jitted = ad.jit(lambda x: 1 / x)
        jitted(np.ones(50))
        with np.errstate(divide="call", call=lambda text, flag: calls.append(text)):
            assert np.all(np.isinf(jitted(np.zeros(50))))
    assert calls == ["divide by zero"]


def test_warnings_as_errors() -> None:
    with ad.config(native=True), warnings.catch_warnings():
        jitted = ad.jit(np.log)
        jitted(np.ones(50))
        warnings.simplefilter("error")
        for _ in range(20):  # it has been given up meanwhile
            with pytest.raises(RuntimeWarning, match="divide by zero encountered in log"):
                jitted(np.zeros(50))
        np.testing.assert_array_equal(jitted(np.ones(50)), np.zeros(50))
