"""Programs with a NaN among their derivatives: hard zeros, on NumPy and as machine code."""

from __future__ import annotations

import warnings
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.executors import tiered, turns
from adjoint.executors.hard_zeros import HardZeros, users_part
from adjoint.executors.interface import Needs
from adjoint.executors.native.executor import NativeExecutor
from adjoint.executors.native.preparation.expansions import with_finite_products
from adjoint.executors.numpy import NumpyExecutor
from adjoint.primitives.expression import bind
from adjoint.primitives.hardness import STRONG_CONTRACT
from adjoint.program import Equation, Program
from tests.building import f8, program_of

X = np.array([-0.5, 4.0, -1.0, 0.25])
SLOPE = [0.0, 0.25, 0.0, 3.0]


@pytest.fixture
def native_runs(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each run that was asked of machine code had results; code is there at once."""
    pytest.importorskip("llvmlite")
    monkeypatch.setattr(turns, "runs_on_numpy", lambda program: 2)
    monkeypatch.setattr(turns, "_WAIT", 60.0)
    monkeypatch.setattr(tiered, "_LONGEST_WAIT", 60.0)
    ad.cache_clear()
    had: list[bool] = []
    run = HardZeros.run

    def noted(strong: HardZeros, arguments: Any) -> Any:
        results = run(strong, arguments)
        had.append(results is not None)
        return results

    monkeypatch.setattr(HardZeros, "run", noted)
    return had


def root(x: Any) -> Any:
    """Its derivative below 0 is a hard zero times an infinite slope."""
    return np.sum(np.sqrt(np.maximum(x, 0.0)) * np.arange(4.0))


def steps(x: Any) -> Any:
    """The same in a loop, of what is carried."""
    v, total = x, 0.0
    for k in range(30):
        r = np.sqrt(np.maximum(v, 0.0) * 0.02)
        v = v + 0.01 * (1.0 - v) + 0.3 * r * np.cos(k + x)
        total = total + np.sum(r)
    return total


def product(x: Any) -> Any:
    """And of a product of matrices."""
    weights = np.arange(16.0).reshape(4, 4)
    return np.sum(weights @ (np.sqrt(np.maximum(x, 0.0)) * np.where(x > 0, x, 0.0)))


@pytest.mark.parametrize("function", [root, steps, product])
def test_they_become_machine_code(function: Any, native_runs: list[bool]) -> None:
    with ad.config(native=False):
        expected = ad.grad(function)(X)
    assert np.isfinite(expected).all()
    jitted, plain = ad.jit(ad.grad(function)), ad.grad(function)
    for _ in range(40):
        np.testing.assert_allclose(jitted(X), expected, rtol=1e-9)
        np.testing.assert_allclose(plain(X), expected, rtol=1e-9)
    assert native_runs[-2:] == [True, True]
    for y in (X + 1.25, -X, X[::-1].copy(), -np.ones(4)):
        with ad.config(native=False):
            expected = ad.grad(function)(y)
        np.testing.assert_allclose(jitted(y), expected, rtol=1e-9)


def test_numpys_warnings_stay(native_runs: list[bool]) -> None:
    def function(x: Any) -> Any:
        poles = 1.0 / (x + 0.5)
        return np.sum(np.sqrt(np.maximum(x, 0.0)) * np.where(np.isinf(poles), 0.0, poles))

    jitted = ad.jit(ad.grad(function))
    for number in range(40):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            value = jitted(X)
        assert [str(w.message) for w in caught] == ["divide by zero encountered in divide"], number
        np.testing.assert_allclose(value, [0.0, -7 / 162, 0.0, 4 / 9], rtol=1e-12)
    assert not any(native_runs)
    with np.errstate(all="raise"), pytest.raises(FloatingPointError):
        jitted(X)
    jitted = ad.jit(ad.grad(root))
    for _ in range(40):
        with np.errstate(all="raise"), warnings.catch_warnings():
            warnings.simplefilter("error")
            np.testing.assert_allclose(jitted(X), SLOPE)
    assert native_runs[-1]


def test_a_nan_that_no_zero_explains_stays(native_runs: list[bool]) -> None:
    def function(x: Any) -> Any:
        with np.errstate(all="ignore"):
            return np.sum(np.sqrt(x * x) / x)

    jitted = ad.jit(ad.grad(function))
    for _ in range(40):
        assert np.isnan(jitted(np.zeros(2))).all()
    assert not any(native_runs)


def test_infinities_of_the_data_do_not_move(native_runs: list[bool]) -> None:
    data = np.array([1.0, -np.inf, 2.0])

    def function(t: Any, data: Any) -> Any:
        return np.sum(np.exp(data / t))

    with ad.config(native=False):
        expected = ad.grad(function)(2.0, data)
    assert np.isfinite(expected)
    jitted = ad.jit(ad.grad(function))
    for _ in range(40):
        np.testing.assert_allclose(jitted(2.0, data), expected)
    assert all(native_runs[-9:])


def test_an_infinite_table_that_moves_is_machine_code(native_runs: list[bool]) -> None:
    costs = np.random.default_rng(0).normal(size=(4, 4)) ** 2
    table = np.full((5, 5), np.inf)
    table[0, 0] = 0.0

    def soft_warping(costs: Any, table: Any) -> Any:
        r = table.copy()
        for i in range(1, 5):
            for j in range(1, 5):
                z = -np.array([r[i - 1, j - 1], r[i - 1, j], r[i, j - 1]])
                top = np.max(z)
                r[i, j] = costs[i - 1, j - 1] - top - np.log(np.sum(np.exp(z - top)))
        return r[4, 4]

    def slopes(costs: Any, table: Any) -> Any:
        return ad.jvp(soft_warping, (costs, table), (np.sin(costs), table))

    with ad.config(native=False):
        expected = slopes(costs, table)
    assert np.isfinite(expected).all()
    jitted = ad.jit(slopes)
    for number in range(40):
        np.testing.assert_allclose(jitted(costs, table), expected, rtol=1e-12)
        if number == 20:  # what no zero explains is NumPy's
            with np.errstate(all="ignore"):
                assert np.isnan(jitted(costs, np.where(table == 0, np.nan, table))).all()
    assert all(native_runs[-9:])


def test_an_executor_of_the_users_is_not_asked() -> None:
    asked = []

    class Own:
        def compile(self, program: Any, needs: Any = None) -> Any:
            asked.append(needs)
            return NumpyExecutor().compile(program)

    jitted = ad.jit(ad.grad(root))
    with ad.config(executor=Own()):
        for _ in range(40):
            np.testing.assert_allclose(jitted(X), SLOPE)
    assert asked
    assert not any(needs.hard for needs in asked)


# --- the parts ------------------------------------------------------------------------------------


def test_the_users_part_raises_the_same_errors() -> None:
    program = program_of(lambda x: np.log(x) * 2.0, f8(3))
    own = users_part(program)
    assert own is not None
    assert [equation.primitive.name for equation in own.equations] == ["log", "multiply"]


def test_what_the_user_wrote_may_follow_from_what_nobody_is_warned_of() -> None:
    program = program_of(lambda x, y: (np.log(np.negative(x)), np.exp(y)), f8(3), f8(3))
    quiet = [
        Equation(e.operation, e.inputs, e.outputs, derived=e.primitive.name != "log")
        for e in program.equations
    ]
    own = users_part(Program(program.inputs, quiet, program.outputs))
    assert own is not None
    assert [equation.primitive.name for equation in own.equations] == ["negative", "log"]


def test_the_users_functions_are_called_no_more_often(native_runs: list[bool]) -> None:
    calls = []

    @ad.primitive
    def doubled(x: Any) -> Any:
        calls.append(1)
        return x * 2.0

    @doubled.jvp
    def _(primals: Any, tangents: Any) -> Any:
        calls.append(1)
        return primals[0] * 2.0, tangents[0] * 2.0

    jitted = ad.jit(ad.grad(lambda x: root(doubled(x))))
    counts = []
    for _ in range(40):
        calls.clear()
        np.testing.assert_allclose(jitted(X / 2.0), 2.0 * np.array(SLOPE))
        counts.append(len(calls))
    assert counts[-1] <= counts[2]
    assert not any(native_runs)


@pytest.mark.skipif(find_spec("llvmlite") is None, reason="there is no LLVM here")
@pytest.mark.parametrize("spec", ["ab,b->a", "a,a->", "ab,bc->ac", "a,b->ab"])
def test_sums_of_products_are_exact_or_nan(spec: str) -> None:
    rng = np.random.default_rng(0)
    one, other = (tuple(3 for _ in side) for side in spec.partition("->")[0].split(","))
    odd = [0.0, -0.0, 1.5, -2.0, np.inf, -np.inf, np.nan]
    types = [f8(*one), f8(*other)]

    def function(x: Any, y: Any, hard_x: Any, hard_y: Any) -> Any:
        return bind(STRONG_CONTRACT, x, y, np.greater(hard_x, 0), np.greater(hard_y, 0), spec=spec)

    program = program_of(function, *types, *types)
    reference = NumpyExecutor().compile(program)
    compiled = NativeExecutor()._compile(with_finite_products(program), Needs(hard=True))
    exact = 0
    for number in range(400):
        some = odd[: 4 if number % 2 else None]
        x, y = rng.choice(some, one), rng.choice(some, other)
        masks = [rng.integers(0, 2, shape).astype(float) for shape in (one, other)]
        if number % 4 == 1:  # an infinity beside a hard zero alone
            place = (0,) * len(one)
            masks[0][place], x[place], y[...] = 1.0, 7.0, np.inf
            masks[0][...], masks[1][...] = 1.0, 0.0
        (expected,) = reference.run(x, y, *masks)
        (actual,) = compiled.run(x, y, *masks)
        lost = np.isnan(actual) & ~np.isnan(expected)
        np.testing.assert_array_equal(np.where(lost, expected, actual), expected)
        exact += not lost.any()
    assert exact > 200
