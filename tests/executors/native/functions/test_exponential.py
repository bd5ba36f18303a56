"""Exponentials written into loops: their coefficients, accuracy, special values and flags."""

from typing import Any

import mpmath
import numpy as np
import pytest

from adjoint.executors.native.functions import exponential
from adjoint.executors.native.machine.llvm import Machine, machine
from adjoint.executors.native.machine.module import Block, Module
from tests.executors.native.functions.evaluating import (
    DTYPES,
    HOSTS,
    OVERFLOW,
    Array,
    Native,
    host_of,
    native,
)

pytest.importorskip("llvmlite")

LARGEST = {8: 709.782712893384, 4: 88.72283}
SMALLEST = {8: -745.1332191019411, 4: -103.97208}
BOUNDS = {"exp": 1.3, "tanh": 2.8, "sech_squared": 2.6}

# Whatever is best where the test runs, all ways have to be right.
written = pytest.mark.parametrize("host", HOSTS, indirect=True)
of_dtypes = pytest.mark.parametrize("dtype", DTYPES, ids=str)


@pytest.fixture
def host(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A machine for which the exponential is written, if slowly."""
    if request.param != "host" and not machine().is_x86:
        pytest.skip("a processor of another kind")
    if request.param == "avx2" and not machine().has("avx2"):
        pytest.skip("this processor lacks AVX2")
    chosen = exponential.width

    def always(on: Machine, name: str, dtype: np.dtype[Any], called: bool) -> int | None:
        found = chosen(on, name, dtype, called)
        return 0 if found is None and name == "exp" else found

    monkeypatch.setattr(exponential, "width", always)
    return host_of(request.param)


def compiled(host: Machine, name: str, dtype: np.dtype[Any], lanes: int | None = None) -> Native:
    return native(host, name, dtype, lanes or host.native_lanes(dtype))


def units(found: Array, name: str, x: Array) -> Array:
    """The errors in units of the last place."""
    if np.finfo(np.longdouble).nmant <= 52:
        pytest.skip("nothing to compare with: long double is double")
    with np.errstate(under="ignore", over="ignore"):
        wide = x.astype(np.longdouble)
        exact = np.cosh(wide) ** -2 if name == "sech_squared" else getattr(np, name)(wide)
        unit = np.spacing(np.abs(exact).astype(found.dtype)).astype(np.longdouble)
        return np.abs(found.astype(np.longdouble) - exact) / unit


def samples(dtype: np.dtype[Any]) -> Array:
    """Dense over the range, near 0, at both ends, and where the reduction turns over."""
    random = np.random.default_rng(0)
    low, high = SMALLEST[dtype.itemsize], LARGEST[dtype.itemsize]
    count = 1 << 15
    halves = random.integers(round(32 * low / 0.6931), round(32 * high / 0.6932), count)
    turns = halves * (np.log(2) / 32)
    parts = [
        random.uniform(low, high, count),
        random.uniform(-1, 1, count),
        random.normal(size=count) * np.exp2(random.uniform(-60, 2, count)),
        random.uniform(low - 1, low * 0.94, count),
        random.uniform(high * 0.99, high, count),
        turns * (1 + 8 * np.finfo(dtype).eps * random.normal(size=count)),
    ]
    return np.clip(np.concatenate(parts), None, high).astype(dtype)


def coefficients(half_width: Any, count: int) -> list[Any]:
    """Of q, where exp(r) = 1 + r + r^2 q(r), equal to it at the Chebyshev points."""
    points = [half_width * mpmath.cos(mpmath.pi * (2 * k + 1) / (2 * count)) for k in range(count)]
    values = [(mpmath.expm1(r) - r) / r**2 if abs(r) > 1e-30 else mpmath.mpf(1) / 2 for r in points]
    powers = mpmath.matrix(count, count)
    for row, point in enumerate(points):
        for column in range(count):
            powers[row, column] = point**column
    return list(mpmath.lu_solve(powers, mpmath.matrix(values)))


@pytest.mark.parametrize(
    ("texts", "dtype", "shares"),
    [
        (exponential.WHOLE[8], "f8", 1),
        (exponential.WHOLE[4], "f4", 1),
        (exponential.SHARED[8], "f8", 1 << exponential.SHARE),
        (exponential.SHARED[4], "f4", 1 << exponential.SHARE),
        (exponential.SHARED_TANH[8], "f8", 1 << exponential.SHARE),
        (exponential.SHARED_TANH[4], "f4", 1 << exponential.SHARE),
    ],
)
def test_coefficients(texts: tuple[str, ...], dtype: str, shares: int) -> None:
    with mpmath.workprec(300):
        derived = coefficients(mpmath.log(2) / (2 * shares), len(texts))
        rounded = [float(np.dtype(dtype).type(float(number))) for number in derived]
    assert [float.fromhex(text) for text in texts] == rounded


@of_dtypes
def test_the_table_holds_powers_of_two(dtype: np.dtype[Any]) -> None:
    rounded, lost = exponential.table(dtype)
    with mpmath.workprec(200):
        for j, (number, rest) in enumerate(zip(rounded, lost, strict=True)):
            exact = mpmath.power(2, mpmath.mpf(j) / (1 << exponential.SHARE))
            assert number == float(dtype.type(float(exact)))
            assert abs(exact - number - rest) <= 1e-15 * abs(rest) + 1e-30


@written
@of_dtypes
def test_accuracy(host: Machine, dtype: np.dtype[Any]) -> None:
    x = samples(dtype)
    for lanes in (2, 4, 8, 16):
        found = compiled(host, "exp", dtype, lanes)(x)
        assert units(found.results, "exp", x).max() <= BOUNDS["exp"]
        assert not found.flags.any()


@of_dtypes
def test_accuracy_of_the_slope_of_tanh(dtype: np.dtype[Any]) -> None:
    """Over all magnitudes, in subnormal numbers too, in any number of lanes, without flags."""
    if exponential.width(machine(), "sech_squared", dtype, False) is None:
        pytest.skip("the slope of tanh is not written for this processor")
    random = np.random.default_rng(0)
    ends = {8: 375, 4: 53}[dtype.itemsize]
    spread = random.normal(size=1 << 15) * np.exp2(random.uniform(-100, 2, 1 << 15))
    x = np.concatenate(
        (spread, random.uniform(-5, 5, 1 << 17), random.uniform(-ends, ends, 1 << 16))
    )
    x = x.astype(dtype)
    for lanes in (2, 4, 8, 16):
        found = compiled(machine(), "sech_squared", dtype, lanes)(x)
        assert units(found.results, "sech_squared", x).max() <= BOUNDS["sech_squared"]
        assert not found.flags.any()
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, np.finfo(dtype).max], dtype)
    found = compiled(machine(), "sech_squared", dtype).each(special)
    np.testing.assert_array_equal(found.results, np.array([1, 1, 0, 0, np.nan, 0], dtype))
    assert not found.flags.any()


@of_dtypes
def test_accuracy_of_tanh(dtype: np.dtype[Any]) -> None:
    if exponential.width(machine(), "tanh", dtype, True) is None:
        pytest.skip("tanh is not written for this processor")
    random = np.random.default_rng(0)
    spread = random.normal(size=1 << 16) * np.exp2(random.uniform(-100, 5, 1 << 16))
    x = np.concatenate((spread, random.uniform(-1, 1, 1 << 17), random.uniform(-20, 20, 1 << 16)))
    x = x.astype(dtype)
    for lanes in (2, 4, 8, 16):
        found = compiled(machine(), "tanh", dtype, lanes)(x)
        assert units(found.results, "tanh", x).max() <= BOUNDS["tanh"]
        assert not found.flags.any()
    tiny, top = np.finfo(dtype).smallest_subnormal, np.finfo(dtype).max
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, tiny, -tiny, top, -top], dtype)
    found = compiled(machine(), "tanh", dtype).each(special)
    expected = np.tanh(special)
    np.testing.assert_array_equal(found.results, expected)
    assert (np.signbit(found.results) == np.signbit(expected))[~np.isnan(special)].all()
    assert not found.flags.any()


@written
@of_dtypes
def test_what_is_no_number_or_without_end(host: Machine, dtype: np.dtype[Any]) -> None:
    tiny, top = np.finfo(dtype).smallest_subnormal, np.finfo(dtype).max
    x = np.array([0.0, -0.0, tiny, -tiny, np.inf, -np.inf, -top, -1e30, np.nan, -np.nan], dtype)
    found = compiled(host, "exp", dtype).each(x)
    expected = np.array([1, 1, 1, 1, np.inf, 0, 0, 0, np.nan, np.nan], dtype)
    np.testing.assert_array_equal(found.results, expected)
    assert not np.signbit(found.results[:8]).any()
    assert not found.flags.any()


@written
@of_dtypes
def test_both_ends(host: Machine, dtype: np.dtype[Any]) -> None:
    run = compiled(host, "exp", dtype)
    high, low = (dtype.type(ends[dtype.itemsize]) for ends in (LARGEST, SMALLEST))
    above = np.array([np.nextafter(high, dtype.type(np.inf)), high * 1.001, 1e4, 1e30], dtype)
    above = np.append(above, np.finfo(dtype).max)
    found = run.each(above)
    assert np.isinf(found.results).all()
    assert (found.flags == OVERFLOW).all()
    near = np.array([high, low, low * dtype.type(0.95)], dtype)
    found = run.each(near)
    assert np.isfinite(found.results).all()
    assert found.results[1] == np.finfo(dtype).smallest_subnormal
    assert not found.flags.any()
    below = np.array([low * dtype.type(1.001), low - 5, low * 10], dtype)
    found = run.each(below)
    assert (found.results == 0).all()
    assert not found.flags.any()


@written
@of_dtypes
def test_no_lane_minds_another(host: Machine, dtype: np.dtype[Any]) -> None:
    random = np.random.default_rng(0)
    x = random.uniform(-50, 50, 1 << 10).astype(dtype)
    for number in (np.inf, -np.inf, np.nan, -1e30, 0.0, 1e30):
        x[random.random(x.size) < 0.1] = number
    run = compiled(host, "exp", dtype)
    np.testing.assert_array_equal(run(x).results, run.each(x).results)


@written
@of_dtypes
def test_larger_arguments_give_no_smaller_results(host: Machine, dtype: np.dtype[Any]) -> None:
    """Except by one unit in the last place, which is what the errors allow."""
    x = np.sort(samples(dtype))
    found = compiled(host, "exp", dtype)(x).results
    assert (found[1:] >= found[:-1] - np.spacing(found[:-1])).all()


def test_where_it_is_written() -> None:
    double, single = DTYPES
    if not machine().is_x86:
        pytest.skip("a processor of another kind")
    if machine().has("avx512f"):
        assert exponential.width(machine(), "exp", double, True) == 8
        assert exponential.width(machine(), "exp", single, True) == 16
        assert "_ZGV" not in compiled(machine(), "exp", double).text
    plain = host_of("plain")
    assert exponential.width(plain, "exp", double, False) is None
    assert exponential.width(plain, "exp", single, False) == 0
    assert exponential.width(plain, "exp", single, True) is None
    assert exponential.width(plain, "sin", double, True) is None
    if machine().has("avx2"):
        fused = host_of("avx2")
        assert exponential.width(fused, "exp", single, True) == 0
        assert exponential.width(fused, "exp", double, True) is None
        assert exponential.width(fused, "exp", double, False) == 0
        assert exponential.width(fused, "tanh", double, True) is None


def test_tanh_and_its_slope_have_their_parts_in_common() -> None:
    block = Block(Module())
    host = Machine("x86-64", "+avx512f,+fma")
    for name in ("tanh", "sech_squared"):
        exponential.write(block, name, "%x", np.dtype("f8"), 8, host)
    assert sum("vpermi2var" in line for line in block.lines) == 2  # two tables, for both
