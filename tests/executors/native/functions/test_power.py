"""Powers by squares and products: accuracy, special values, flags; the rest is a library's."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest

import adjoint as ad
from adjoint.executors.native.functions import elementary, power
from adjoint.executors.native.machine.llvm import Machine, machine
from adjoint.executors.native.machine.module import Block, Value
from tests.executors.native.functions.evaluating import Array, Native, by_numpy, host_of, native

pytest.importorskip("llvmlite")

DOUBLE = np.dtype("f8")
BOUND = 0.51


@pytest.fixture(params=["host", "avx2"])
def host(request: pytest.FixtureRequest) -> Machine:
    if request.param != "host" and not machine().has("avx2"):
        pytest.skip("this processor lacks AVX2")
    host = host_of(request.param)
    if not power.is_written(host, DOUBLE, host.native_lanes(DOUBLE)):
        pytest.skip("nothing is written for this processor")
    return host


def compiled(host: Machine, lanes: int | None = None) -> Native:
    def write(block: Block, operands: list[Value], on: Machine) -> Value:
        def library(own: Block, x: Value, y: Value) -> Value:
            return elementary.call(own, "power", [x, y], on)[0]

        return power.call(block, *operands, on, library)

    return native(host, "power", DOUBLE, lanes or host.native_lanes(DOUBLE), write)


def rows(count: int) -> list[tuple[Array, Array]]:
    """Numbers and whole exponents that are computed here: near 1, far from it, negative."""
    random = np.random.default_rng(0)
    ranges = [
        (0.6, 1.6, 900),
        (-1.9, -0.6, 900),
        (1e-3, 1e-2, 90),
        (3.0, 1e3, 90),
        (1e100, 1e140, 2),
    ]
    return [
        (random.uniform(low, high, count), random.integers(-most, most + 1, count).astype(float))
        for low, high, most in ranges
    ]


def units(results: Array, x: Array, y: Array) -> Array:
    """How far results are from the true powers, in units in the last place."""
    with mpmath.workprec(200):
        errors = [
            (mpmath.mpf(float(r)) - mpmath.mpf(float(a)) ** int(b)) / float(np.spacing(abs(r)))
            for r, a, b in zip(results, x, y, strict=True)
        ]
    return np.abs(np.array(errors, float))


def test_powers_are_rounded_nearly_as_well_as_can_be(host: Machine) -> None:
    run = compiled(host)
    for x, y in rows(1 << 10):
        found = run(x, y)
        assert units(found.results, x, y).max() <= BOUND
        assert not found.flags.any()


@pytest.mark.parametrize("lanes", [2, 4, 16])
def test_any_number_of_lanes(host: Machine, lanes: int) -> None:
    run = compiled(host, lanes)
    for x, y in rows(64):
        assert units(run(x, y).results, x, y).max() <= BOUND


SPECIAL = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 2.0, -2.0, 0.5, 5e-324, 1e308, -1e-308]
EXPONENTS = [*SPECIAL, 3.0, -3.0, 960.0, 961.0, 1023.0, -1074.0, 1e300, 4503599627370496.0]


def test_special_values_and_flags_are_those_of_numpy(host: Machine) -> None:
    run = compiled(host)
    x, y = (grid.ravel() for grid in np.meshgrid(SPECIAL, EXPONENTS))
    known = ~((np.abs(x) == 0) & (y == -np.inf))  # of which `elements` tells NumPy
    x, y = x[known], y[known]
    found, expected = run.each(x, y), by_numpy("power", x, y)
    np.testing.assert_array_equal(np.isnan(found.results), np.isnan(expected.results))
    numbers = ~np.isnan(expected.results)
    np.testing.assert_allclose(found.results[numbers], expected.results[numbers], rtol=1e-15)
    np.testing.assert_array_equal(
        np.signbit(found.results[numbers]), np.signbit(expected.results[numbers])
    )
    assert found.flags[expected.flags != 0].all()  # which of them does not matter
    near = np.isin(np.abs(x), (0.5, 1.0, 2.0)) & np.isin(
        np.abs(y), (0.0, 0.5, 1.0, 2.0, 3.0, 960.0)
    )
    assert not found.flags[near & (expected.flags == 0)].any()


def test_one_lane_that_does_not_fit_spoils_no_other(host: Machine) -> None:
    run, lanes = compiled(host), host.native_lanes(DOUBLE)
    for odd in ((0.0, 3.0), (np.nan, 2.0), (np.inf, 2.0), (1.5, 0.3), (2.0, -1070.0)):
        x, y = np.full(lanes, 1.25), np.arange(lanes, dtype=float)
        x[1], y[1] = odd
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(run(x, y).results, np.power(x, y), rtol=1e-15)


@pytest.mark.parametrize("exponents", [np.arange(40), np.arange(40.0), -np.arange(7)])
def test_tables_of_powers(exponents: Any) -> None:
    x = np.linspace(0.1, 1.9, 300)

    def table(x: Any) -> Any:
        return x[:, None] ** exponents

    with ad.config(native=True):
        found = ad.jit(table)(x)
        slopes = ad.jit(ad.grad(lambda x: np.sum(table(x))))(x)
    np.testing.assert_allclose(found, table(x), rtol=1e-15)
    expected = np.sum(exponents * x[:, None] ** (exponents - 1.0), axis=1)
    np.testing.assert_allclose(slopes, expected, rtol=1e-13)
