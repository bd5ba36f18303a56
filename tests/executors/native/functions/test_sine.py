"""Sine and cosine from one reduction: coefficients, accuracy, special values, flags, sharing."""

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

import adjoint as ad
from adjoint.executors.native.functions import elementary, sine
from adjoint.executors.native.machine.llvm import Machine, machine
from adjoint.executors.native.machine.module import Block, Module, Value
from tests.executors.native.functions.evaluating import (
    INVALID,
    Array,
    Native,
    by_numpy,
    host_of,
    native,
)

pytest.importorskip("llvmlite")

DOUBLE = np.dtype("f8")
NAMES = ("sin", "cos")
BOUND = 1.5

of_both = pytest.mark.parametrize("name", NAMES)


@pytest.fixture(params=["host", "avx2"])
def host(request: pytest.FixtureRequest) -> Machine:
    if request.param != "host" and not machine().has("avx2"):
        pytest.skip("this processor lacks AVX2")
    host = host_of(request.param)
    if not sine.is_written(host, DOUBLE, True, True):
        pytest.skip("nothing is written for this processor")
    return host


def compiled(host: Machine, name: str, lanes: int | None = None) -> Native:
    """One of the two, of an evaluation of both."""

    def write(block: Block, operands: list[Value], on: Machine) -> Value:
        both = elementary.sine_and_cosine(block, operands[0], on)
        assert both is not None
        return both[NAMES.index(name)]

    return native(host, name, DOUBLE, lanes or host.native_lanes(DOUBLE), write)


def samples() -> Array:
    """Of usual size, small, over all of the range, and next to multiples of pi / 4."""
    random, count = np.random.default_rng(0), 1 << 14
    quarters = np.round(random.uniform(-(2.0**20), 2.0**20, count)) * (np.pi / 4)
    few = np.arange(count) * (np.pi / 4)
    parts = [
        random.uniform(-4, 4, 1 << 16),
        random.normal(size=count) * np.exp2(random.uniform(-1000, 0, count)),
        random.uniform(-1e3, 1e3, count),
        random.uniform(-(2.0**20), 2.0**20, count),
        random.uniform(-1, 1, count) * np.exp2(random.uniform(0, 40, count)),
        quarters * (1 + random.integers(-2, 3, count) * 2.0**-52),
        few,
        -few * (1 + 2.0**-40 * random.normal(size=count)),
    ]
    return np.concatenate(parts)


def test_coefficients() -> None:
    with mpmath.workprec(400):
        width = (mpmath.pi / 4) ** 2

        def interpolated(function: Callable[[Any], Any], count: int) -> tuple[float, ...]:
            angles = [mpmath.pi * (2 * k + 1) / (2 * count) for k in range(count)]
            points = [width * (1 + mpmath.cos(angle)) / 2 for angle in angles]
            powers = mpmath.matrix([[point**j for j in range(count)] for point in points])
            values = mpmath.matrix([function(point) for point in points])
            return tuple(float(number) for number in mpmath.lu_solve(powers, values))

        def of_sine(square: Any) -> Any:
            r = mpmath.sqrt(square)
            return (mpmath.sin(r) - r) / r**3

        def of_cosine(square: Any) -> Any:
            return (mpmath.cos(mpmath.sqrt(square)) - 1 + square / 2) / square**2

        for texts, function in ((sine.SINE, of_sine), (sine.COSINE, of_cosine)):
            assert tuple(map(float.fromhex, texts)) == interpolated(function, len(texts))
        rest = mpmath.pi / 2
        for part in map(float.fromhex, sine.HALF_PI):
            assert 0 < part <= rest < np.nextafter(part, 2.0)
            rest -= part


@of_both
def test_accuracy(host: Machine, name: str) -> None:
    if np.finfo(np.longdouble).nmant <= 52:
        pytest.skip("nothing to compare with: long double is double")
    x = samples()
    exact = getattr(np, name)(x.astype(np.longdouble))
    unit = np.spacing(np.abs(exact).astype(float)).astype(np.longdouble)
    for lanes in (2, 4, 8, 16):
        found = compiled(host, name, lanes)(x)
        assert (np.abs(found.results.astype(np.longdouble) - exact) <= BOUND * unit).all()
        assert not found.flags.any()


@of_both
def test_next_to_its_zeros(host: Machine, name: str) -> None:
    """The doubles next to multiples of pi / 2 that come closest to them."""
    multiples = np.arange(1, 1 << 16) * (np.pi / 2)
    x = np.concatenate([multiples, multiples * 2.0**16, multiples * 2.0**23])
    near = np.abs(np.sin(x) * np.cos(x)) / np.spacing(x)
    x = x[np.argsort(near)[:64]]
    found = compiled(host, name)(x).results
    with mpmath.workprec(300):
        exact = [getattr(mpmath, name)(mpmath.mpf(float(number))) for number in x]
    for result, number in zip(found, exact, strict=True):
        unit = float(np.spacing(abs(float(number))))
        assert abs(mpmath.mpf(float(result)) - number) <= BOUND * unit


@of_both
def test_beyond_and_special(host: Machine, name: str) -> None:
    tiny, limit = np.finfo(DOUBLE).smallest_subnormal, sine.LARGEST
    usual = [0.0, -0.0, tiny, -tiny, 1e-310, limit, -limit, np.nan, -np.nan]
    large = [np.nextafter(limit, np.inf), 1.7e13, -1e16, 1e22, -1e22]
    x = np.array([*usual, *large])
    run, expected = compiled(host, name), by_numpy(name, x).results
    for found in (run.each(x), run(np.resize(x, 64))):
        results = found.results[: x.size]
        assert not found.flags.any()
        np.testing.assert_array_max_ulp(results, expected, 4)
        zeros = expected == 0
        assert (np.signbit(results) == np.signbit(expected))[zeros].all()
    # What lies beyond changes nothing in the other lanes.
    alone, beside = np.full(16, 0.75), np.where(np.arange(16) % 5, 0.75, 1e15)
    both = run(alone).results[0], run(beside).results[1]
    assert both[0] == both[1]
    assert (run.each(np.array([np.inf, -np.inf])).flags == INVALID).all()


def waves(x: Any) -> Any:
    return np.sin(x) * x


@pytest.mark.parametrize(
    ("function", "wanted"),
    [
        (lambda x: ad.jvp(np.sin, (x,), (np.ones(24),)), True),
        (lambda x: ad.jvp(np.cos, (x,), (np.ones(24),)), True),
        (ad.value_and_grad(lambda x: np.sum(np.sin(x))), True),
        (ad.grad(lambda x: np.sum(waves(x))), True),
        (lambda x: np.sin(x) + np.cos(x.reshape(2, 12).ravel()), True),
        (np.sin, False),
        (ad.grad(lambda x: np.sum(np.sin(x))), False),
        (lambda x: np.sin(x) + np.cos(2 * x), False),
    ],
)
def test_who_wants_both_pays_once(function: Callable[..., Any], wanted: bool) -> None:
    """In one loop, where both are of the same numbers; else each is the library's."""
    called = bool(elementary.vector_functions(machine(), "sin", DOUBLE))
    if not called or not sine.is_written(machine(), DOUBLE, called, True):
        pytest.skip("the library has no such functions, or nothing else is there")
    x = np.linspace(-3.0, 3.0, 24)
    code = ad.program(function, x).native().ir()
    assert ("!prof" in code) == wanted  # of the branch to the library
    with ad.config(native=True):
        found = ad.jit(function)(x)
    with ad.config(native=False):
        expected = function(x)
    for one, other in zip(np.atleast_1d(*found), np.atleast_1d(*expected), strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-15, atol=1e-15)


@pytest.mark.parametrize("native_code", [False, True])
def test_derivatives_have_all_digits(native_code: bool) -> None:
    """Forward and reverse, first and second, on either executor."""
    x = np.concatenate([np.linspace(-9.0, 9.0, 37), np.arange(1, 8) * (np.pi / 2)])
    with ad.config(native=native_code):
        value, slope = ad.jit(lambda x: ad.jvp(np.sin, (x,), (np.ones_like(x),)))(x)
        total, gradient = ad.jit(ad.value_and_grad(lambda x: np.sum(np.cos(x))))(x)
        second = ad.jit(ad.grad(lambda x: np.sum(ad.grad(lambda y: np.sum(np.sin(y)))(x))))(x)
    with mpmath.workprec(200):
        sine = np.array([float(mpmath.sin(mpmath.mpf(float(number)))) for number in x])
        cosine = np.array([float(mpmath.cos(mpmath.mpf(float(number)))) for number in x])
    np.testing.assert_array_max_ulp(value, sine, 4)
    np.testing.assert_array_max_ulp(slope, cosine, 4)
    np.testing.assert_array_max_ulp(gradient, -sine, 4)
    np.testing.assert_array_max_ulp(second, -sine, 4)
    np.testing.assert_allclose(total, cosine.sum(), rtol=1e-14)


def test_single_precision_and_single_numbers_keep_their_functions() -> None:
    for dtype, lanes in ((np.dtype("f4"), 8), (DOUBLE, 0)):
        x = Value(("%x",), dtype, lanes)
        assert elementary.sine_and_cosine(Block(Module()), x) is None
