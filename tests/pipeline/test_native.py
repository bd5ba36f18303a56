"""When programs become machine code, and what happens when that has no answer."""

from __future__ import annotations

import gc
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import NativeExecutorWarning
from adjoint.executors import tiered, turns
from adjoint.executors.attempt import PATIENCE
from adjoint.executors.compilation import Compilation
from adjoint.executors.effort import (
    FEWEST_RUNS,
    MOST_RUNS,
    compiling_seconds,
    runs_on_numpy,
    seconds_of_run,
)
from adjoint.executors.tiered import Tiered
from tests.building import f8, program_of
from tests.executors.native.fake import FakeLowering

X = np.array([0.5, -1.0, 2.0])


def slope(x: Any) -> Any:
    return ad.grad(lambda x: np.sum(np.exp(np.sin(x)) * x))(x)


EXPECTED = np.exp(np.sin(X)) * (1 + np.cos(X) * X)


# --- when -----------------------------------------------------------------------------------------


def test_what_comes_by_often_is_compiled(fake: FakeLowering, soon: int) -> None:
    for number in range(9):
        np.testing.assert_allclose(slope(X), EXPECTED)
        assert fake.hits == max(0, number + 1 - soon)
    assert len(fake.made) == 1
    assert fake.made[0].needs.watched == (0,)


def test_it_can_be_asked_for_and_forbidden(fake: FakeLowering, soon: int) -> None:
    with ad.config(native=False):
        for _ in range(10):
            slope(X)
    assert fake.made == []
    with ad.config(native=True):
        slope(X)
    assert fake.hits == 1
    slope(X)  # there it is now
    assert fake.hits == 2
    with ad.config(native=False):
        slope(X)
    assert fake.hits == 2


def test_options_make_machine_code_of_their_own_and_no_program(fake: FakeLowering) -> None:
    for options in ({}, {"precise": True}, {"threads": 1}, {"threads": 2}, {"precise": True}):
        with ad.config(native=True, **options):
            np.testing.assert_allclose(slope(X), EXPECTED)
    found = [(made.needs.precise, made.needs.threads) for made in fake.made]
    assert found == [(False, None), (True, None), (False, 1), (False, 2)]
    assert ad.cache_info().misses == 1


def test_jit_compiles_at_once(fake: FakeLowering) -> None:
    jitted = ad.jit(slope)
    np.testing.assert_allclose(jitted(X), EXPECTED)
    assert fake.hits == 1
    with ad.config(native=False):
        np.testing.assert_allclose(ad.jit(lambda x: slope(2 * x))(X / 2), EXPECTED)
    assert fake.hits == 1


def test_the_count_depends_on_the_program_alone() -> None:
    small = program_of(np.sin, f8(3))
    large = program_of(lambda x: np.sin(x) * x, f8(10_000_000))
    assert runs_on_numpy(small) == runs_on_numpy(program_of(np.sin, f8(3))) == MOST_RUNS
    assert runs_on_numpy(large) == FEWEST_RUNS
    assert runs_on_numpy(program_of(lambda x: x, f8(3))) == MOST_RUNS


def test_the_turn_comes_when_compiling_is_over(
    fake: FakeLowering, soon: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "_WAIT", 0.5)
    monkeypatch.setattr(turns, "seconds_of_run", lambda program: 0.1)
    monkeypatch.setattr(tiered, "_expected_seconds", lambda program, hard: 1.02)
    waits: list[float | None] = []
    wait = Compilation.wait

    def noted(compilation: Compilation, seconds: float | None = None) -> bool:
        waits.append(seconds)
        return wait(compilation, seconds)

    monkeypatch.setattr(Compilation, "wait", noted)
    for number in range(29):  # begun at the 4th, and looked for after 2 * 0.52 s
        slope(X)
        assert fake.hits == max(0, number + 1 - 3 - 11)
    assert waits == [60.0]


def test_equal_programs_are_compiled_once(fake: FakeLowering, soon: int) -> None:
    program = program_of(lambda x: np.sin(x) * x, f8(3))
    twins = [Tiered(program, ()), Tiered(program_of(lambda x: np.sin(x) * x, f8(3)), ())]
    for _ in range(soon + 2):
        for twin in twins:
            np.testing.assert_allclose(twin([X])[0], np.sin(X) * X)
    assert len(fake.made) == 1
    assert fake.hits == 3  # the second turns a round later


def test_estimates() -> None:
    small = program_of(np.sin, f8(3))
    large = program_of(lambda x: np.sin(x) * x, f8(1_000_000))
    assert 0.012 < compiling_seconds(small) < compiling_seconds(large) < 0.03
    assert 1e-5 < seconds_of_run(small) < 2e-5 < 1e-3 < seconds_of_run(large) < 1e-2


def test_maps_are_compiled_too(fake: FakeLowering, soon: int) -> None:
    _, linear = ad.linearize(lambda x: np.exp(np.sin(x)) * x, X)
    for _ in range(soon + 2):
        np.testing.assert_allclose(linear(X), EXPECTED * X)
        np.testing.assert_allclose(linear.H(X), EXPECTED * X)
    assert fake.hits == 3  # one of them turns a round later


def test_machine_code_goes_with_its_program(fake: FakeLowering) -> None:
    with ad.config(native=True):
        slope(X)
    held = weakref.ref(fake.made.pop())
    ad.cache_clear()
    gc.collect()
    assert held() is None


# --- misses ---------------------------------------------------------------------------------------


def test_warnings_are_those_of_numpy(fake: FakeLowering) -> None:
    with ad.config(native=True):
        function = ad.jit(lambda x: np.log(x) * 2)
        np.testing.assert_allclose(function(X + 2), 2 * np.log(X + 2))
        for _ in range(3):
            with pytest.warns(RuntimeWarning, match="divide by zero") as caught:
                function(np.zeros(3))
            assert len(caught) == 1


def test_strong_zeros_are_kept(fake: FakeLowering) -> None:
    gradient = ad.grad(lambda x: np.sum(np.where(x > 0, np.log(x), 0)))
    x = np.array([1.0, 0.0])
    with ad.config(native=True), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.testing.assert_array_equal(gradient(x), [1, 0])
        with ad.config(strong_zeros=False):
            assert np.isnan(gradient(x)[1])
    assert fake.runs == 3  # the second with hard zeros
    assert fake.hits == 2  # without strong zeros, a NaN is a number like others


def test_strong_zeros_in_pieces(fake: FakeLowering) -> None:
    fake.cannot = frozenset({"log"})
    gradient = ad.grad(lambda x: np.sum(np.where(x > 0, np.log(np.exp(x) * x - x), 0)))
    x = np.array([1.0, 0.0])
    with ad.config(native=True), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert gradient(x)[1] == 0
    assert fake.runs > 0


def test_what_always_misses_is_left_to_numpy(fake: FakeLowering) -> None:
    fake.misses = True
    with ad.config(native=True):
        for _ in range(3 * PATIENCE):
            np.testing.assert_allclose(slope(X), EXPECTED)
        runs, made = fake.runs, len(fake.made)
        for _ in range(5):
            np.testing.assert_allclose(slope(X), EXPECTED)
    # Of the whole, of what the user wrote, and of that with hard zeros.
    assert fake.runs == runs <= 3 * PATIENCE
    assert len(fake.made) == made <= 3


def test_what_misses_now_and_then_stays(fake: FakeLowering) -> None:
    function: Callable[[Any], Any] = ad.jit(lambda x: np.log(x) * 2)
    with ad.config(native=True), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(5 * PATIENCE):
            function(X + 2)
            function(np.zeros(3))
            function(X + 2)
    assert fake.hits == 10 * PATIENCE
    assert len(fake.made) == 1


def test_arguments_of_another_layout_are_no_misses(fake: FakeLowering) -> None:
    with ad.config(native=True):
        for _ in range(2 * PATIENCE):
            np.testing.assert_allclose(slope(np.repeat(X, 2)[::2]), EXPECTED)
    assert fake.hits == 2 * PATIENCE


def test_users_functions_are_called_once(fake: FakeLowering) -> None:
    calls = []

    @ad.primitive
    def outside(x):
        calls.append(1)
        return x + 1

    def function(x):
        return np.log(outside(np.exp(x) * 0)) / np.sum(np.log(x - x))

    with ad.config(native=True), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        calls.clear()
        ad.jit(function)(X)
    assert len(calls) <= 2  # to find out the type of its result, and to run


# --- no machine code ------------------------------------------------------------------------------


def test_one_warning_and_then_numpy(fake: FakeLowering, soon: int) -> None:
    fake.fails = True
    for _ in range(soon):
        slope(X)
    with pytest.warns(NativeExecutorWarning, match="there is no LLVM here") as caught:
        np.testing.assert_allclose(slope(X), EXPECTED)
    assert len(caught) == 1
    slope(X)
    with ad.config(native=True):
        np.testing.assert_array_equal(ad.grad(lambda x: x @ x)(X), 2 * X)
    ad.jit(np.sin)(X)


def test_defects_are_a_warning_too_but_for_debug_mode(
    fake: FakeLowering, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(program: Any, options: Any) -> Any:
        raise KeyError("defect")

    def other_slope(x: Any) -> Any:  # a program that no test before has left to be compiled
        return ad.grad(lambda x: np.sum(np.cos(np.sin(x)) * x))(x)

    monkeypatch.setattr(fake, "native", broken)
    with ad.config(native=True, debug=True), pytest.raises(KeyError, match="defect"):
        other_slope(X)
    expected = np.cos(np.sin(X)) - X * np.sin(np.sin(X)) * np.cos(X)
    with (
        ad.config(native=True, debug=False),
        pytest.warns(NativeExecutorWarning, match="defect"),
    ):
        np.testing.assert_allclose(other_slope(X), expected)
