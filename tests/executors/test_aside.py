"""Values within a capture: loops that take long are machine code, what is around them is not."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.arrays import array_type, type_of
from adjoint.executors import NativeExecutor, aside
from adjoint.executors.tiered import Tiered
from adjoint.loops.bodies import interpreted
from adjoint.loops.declared import SCAN, WHILE
from adjoint.primitives import UFUNCS
from adjoint.program import Builder, Literal, Program, all_equations, operation
from benchmarks.descents import particle_plainly, saddle_plainly


@pytest.fixture(autouse=True)
def nothing_known() -> Iterator[None]:
    """Each test begins with no loop looked at before."""
    aside.forget_aside()
    yield
    aside.forget_aside()


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[Program]:
    """The loops that were compiled, as programs."""
    found: list[Program] = []
    run = aside._LoopAside.compiled

    def noted(loop: Any, values: Any) -> Any:
        if loop.code is None:
            found.append(loop.program)
        return run(loop, values)

    monkeypatch.setattr(aside._LoopAside, "compiled", noted)
    return found


def settled(x: Any) -> Any:
    """What takes many rounds to come to rest."""
    y = np.sin(x)
    while np.abs(y - np.cos(y) * x) > 1e-9:
        y = y - 0.01 * (y - np.cos(y) * x)
    return y


def descent(x: Any) -> Any:
    """One that shows new paths while it goes: its steps grow, and are taken back."""
    value, slope = ad.value_and_grad(lambda x: (settled(x) - 0.3) ** 2)(x)
    rate, count = 0.1, 0
    while np.abs(slope) > 1e-6:
        further = x - rate * slope
        lower, turned = ad.value_and_grad(lambda x: (settled(x) - 0.3) ** 2)(further)
        if lower < value:
            x, value, slope, count = further, lower, turned, count + 1
            if count == 5:
                rate, count = 2 * rate, 0
        else:
            rate, count = rate / 2, 0
    return x


def given(function: Any, *args: Any) -> tuple[Program, Sequence[Any]]:
    """The program of a function, and what it is run with."""
    whole = ad.program(function, *args)
    assert whole.values is not None
    return whole.program, whole.values


def held(program: Program) -> int:
    """How many loops are within the loops of a program."""
    bodies = [e.params["body"] for e in all_equations(program) if e.primitive in (SCAN, WHILE)]
    return sum(e.primitive in (SCAN, WHILE) for body in bodies for e in all_equations(body))


def test_a_loop_within_loops_is_compiled_once_however_often_those_around_it_change(
    compiled: list[Program],
) -> None:
    with ad.config(native=False):
        expected = descent(0.9)
    np.testing.assert_allclose(ad.jit(descent)(0.9), expected, rtol=1e-9)
    assert compiled
    assert len(set(compiled)) == len(compiled)
    assert not any(map(held, compiled))


def test_the_interpreted_program_gives_what_the_numpy_executor_gives() -> None:
    program, values = given(ad.jit(ad.value_and_grad(settled)), 0.9)
    for longest in (100, 10_000):
        results = aside.results_aside(program, values, longest)
        with ad.config(native=False):
            expected = Tiered(program, ())(values)
        assert results is not None
        for got, want in zip(results, expected, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-9)
            assert type_of(got) == type_of(want)


def test_programs_without_long_loops_are_left_to_the_executor() -> None:
    program = ad.program(lambda x: np.sum(np.sin(x)), np.ones(3)).program
    assert aside.results_aside(program, [np.ones(3)], 1000) is None


def test_results_share_no_memory_with_arguments() -> None:
    def function(x: Any, a: Any) -> Any:
        return ad.fori_loop(0, 3000, lambda i, y: np.cos(y) * a, a), x

    x = np.ones(3)
    results = aside.results_aside(*given(function, x, 0.5), 1)
    assert results is not None
    assert not any(np.may_share_memory(result, x) for result in results)


def test_large_arrays_are_let_go_when_all_is_read() -> None:
    """As many steps on large arrays as a loop may be written out to, and one of them read late."""

    def function(x: Any) -> Any:
        first = y = np.sin(x)
        for _ in range(100):
            y = np.cos(y) * x
        return y + first, first

    x = np.linspace(0.0, 1.0, 20_000)
    program, values = given(function, x)
    aside._interpreted(program, values, 1)
    tracemalloc.start()
    try:
        results = aside._interpreted(program, values, 1)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 10 * x.nbytes
    for got, expected in zip(results, function(x), strict=True):
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("size", [10, 20_000])
def test_rounds_on_large_arrays_use_memory_again(
    size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are made by a function of NumPy's, which keeps its memory, and small ones are not."""
    programs: list[Program] = []
    run = aside._interpreted

    def noted(program: Program, *rest: Any) -> Any:
        programs.append(program)
        return run(program, *rest)

    monkeypatch.setattr(aside, "_interpreted", noted)
    halved = partial(ad.while_loop, lambda y: np.sum(y) > 1.0, lambda y: np.sin(y) * 0.5)
    program, values = given(halved, np.ones(size))
    known = dict(zip(program.inputs, values, strict=True))
    (loop,) = [equation for equation in program.equations if equation.primitive is WHILE]
    operands = [x.value if isinstance(x, Literal) else known[x] for x in loop.inputs]
    rounds, state = aside._begun(loop.operation, operands, 3, 1)
    assert rounds == 3
    np.testing.assert_allclose(state[-1], np.sin(np.sin(np.sin(1.0) * 0.5) * 0.5) * 0.5)
    assert (loop.params["body"] in programs) == (size == 10)


def test_where_a_nan_comes_up_the_executor_tells_whether_a_hard_zero_was_lost() -> None:
    def function(x: Any) -> Any:
        return ad.fori_loop(0, 3000, lambda i, y: y * x, 0.0)

    program, values = given(function, 2.0)
    assert aside.results_aside(program, values, 1) is not None
    infinite = [np.inf if value == 2.0 else value for value in values]
    with np.errstate(all="ignore"):
        assert aside.results_aside(program, infinite, 1) is None


def test_a_tape_that_has_become_longer_is_read_by_numpy() -> None:
    def long(x: Any) -> Any:
        y = 1.0 + 0.0 * x
        while y < 6000.0 * x:
            y = y + x
        return y

    slope = ad.jit(ad.grad(lambda x: long(x) ** 2))
    assert slope(1.0) == ad.grad(lambda x: long(x) ** 2)(1.0)


@pytest.mark.parametrize(
    ("function", "start", "most"),
    [(particle_plainly, np.array(0.0), 4), (saddle_plainly, np.array([1.0, 1.0]), 8)],
)
def test_what_a_loop_binds_on_some_path_is_part_of_it_from_its_first_round_on(
    monkeypatch: pytest.MonkeyPatch, function: Any, start: Any, most: int
) -> None:
    """Else it is recorded anew, with all that it holds, where a step length changes first."""
    seen: list[Program] = []
    compile_ = NativeExecutor.compile

    def noted(executor: Any, program: Program, needs: Any) -> Any:
        seen.append(program)
        return compile_(executor, program, needs)

    monkeypatch.setattr(NativeExecutor, "compile", noted)
    ad.cache_clear()
    ad.jit(function)(start)
    assert sum(equation.primitive is WHILE for equation in all_equations(seen[-1])) <= most


def test_silence_begins_seldom_and_what_may_warn_stays_in_order() -> None:
    builder = Builder()
    exp, log, sin = (operation(UFUNCS[ufunc]) for ufunc in (np.exp, np.log, np.sin))
    x = builder.input(array_type((), np.dtype(float)))
    marked: list[tuple[Any, bool]] = [(exp, False), (sin, True), (log, False), (sin, True)]
    atoms = [x]
    for number, (op, derived) in enumerate(marked):
        builder.derived = derived
        atoms += builder.emit(op, [atoms[0 if number == 3 else -1]])  # the last one of x again
    builder.derived = False
    atoms += builder.emit(exp, [x])  # could come at once, but for the logarithm before it
    program = builder.build(atoms[1:])
    groups = aside._in_groups(program)
    names = [(silent, [one.primitive.name for one in group]) for silent, group in groups]
    assert names == [(False, ["exp"]), (True, ["sin", "sin"]), (False, ["log", "exp"])]
    got = aside._interpreted(program, [np.float64(0.5)], 1)
    assert got == interpreted(program)(np.float64(0.5))
