"""What ends a loop in machine code otherwise: faults, tapes that are too short, signals, programs
that have no machine code."""

from __future__ import annotations

import re
import signal
import threading
import time
import warnings
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import adjoint as ad
from adjoint.base.arrays import array_type
from adjoint.base.errors import TapeOverflowError
from adjoint.executors import NativeExecutor, Needs
from adjoint.executors.native.lowering.lower import hindrance, lowerable, native
from adjoint.loops.declared import SCAN, WHILE
from adjoint.primitives.expression import bind
from adjoint.primitives.structure.gathering import GATHER, GATHER_ADD, GATHER_SET
from adjoint.primitives.structure.sorting import ARGPARTITION
from adjoint.program import Program
from tests.executors.native.comparing import run_native
from tests.executors.native.loop_programs import (
    INDEX,
    NUMBER,
    alone,
    array,
    mixed_scan,
    mixed_while,
    numbers,
    program,
    repeat,
    scan,
    switch,
    within,
)
from tests.reverse import pulled

ORDER = array_type((5000,), np.dtype(np.int64))
FOREVER = program(lambda x: x > -2.0, NUMBER)


def answer(made: Program, *arguments: Any) -> Any:
    return run_native(made, list(arguments))


# --- faults ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", [0, 1, 5, 9])
def test_a_division_by_zero_in_any_round(fault: int) -> None:
    body = program(lambda s, k: (s + 1.0 / (k - fault) ** 2, k + 1.0), NUMBER, NUMBER)
    made = scan(body)
    zero = np.float64(0.0)
    assert answer(made, np.int64(fault), zero, zero) is not None
    assert answer(made, np.int64(fault + 1), zero, zero) is None
    assert answer(made, np.int64(fault + 3), zero, zero) is None


def test_a_fault_in_the_test_of_a_loop() -> None:
    test = program(lambda x, y: 1.0 / x > y, NUMBER, NUMBER)
    made = repeat(test, program(lambda x, y: (x - 1.0, y), NUMBER, NUMBER))
    assert answer(made, np.float64(2.5), np.float64(0.0)) is not None
    assert answer(made, np.float64(2.0), np.float64(0.0)) is None


def test_a_fault_in_a_branch_that_is_not_taken() -> None:
    made = switch(program(lambda x: 1.0 / x, NUMBER), program(lambda x: x + 1.0, NUMBER))
    assert answer(made, np.int64(1), np.float64(0.0)) == (1.0,)
    assert answer(made, np.int64(0), np.float64(0.0)) is None


FAR = (3, -4, 10**6, -(10**6), 2**62, -(2**63))


@pytest.mark.parametrize("name", ["read", "written", "added"])
@pytest.mark.parametrize("size", [1, 100])
def test_indices_out_of_bounds(name: str, size: int) -> None:
    def once(x: Any, v: Any, i: Any) -> Any:
        if name == "read":
            return x, v + bind(GATHER, x, i), i
        return bind(GATHER_SET if name == "written" else GATHER_ADD, x, v, i), v, i

    made = scan(program(once, array(3, size), array(size), INDEX))
    given = [np.int64(2), np.ones((3, size)), np.ones(size)]
    for index in (0, 2, -1, -3):
        assert answer(made, *given, np.int64(index)) is not None
    for index in FAR:
        assert answer(made, *given, np.int64(index)) is None


def test_an_index_that_leaves_the_array_in_a_later_round() -> None:
    made = scan(
        program(lambda x, i: (bind(GATHER_SET, x, 1.0, i), i + 1), array(500), INDEX),
    )
    assert answer(made, np.int64(500), np.zeros(500), np.int64(0)) is not None
    assert answer(made, np.int64(501), np.zeros(500), np.int64(0)) is None
    assert answer(made, np.int64(10**6), np.zeros(500), np.int64(0)) is None


@pytest.mark.parametrize("index", [-4, -3, -1, 0, 2, 3, 6, 2**63 - 1, -(2**63), -(2**63) + 3])
def test_indices_counted_from_the_end(index: int) -> None:
    body = program(lambda a, k, s: bind(GATHER, a, k) + s, array(3), INDEX, NUMBER)
    entries = np.array([1.0, 2.0, 4.0])
    found = answer(scan(body, 2), np.int64(2), entries, np.int64(index), np.float64(0.5))
    assert (found is not None) == (-3 <= index < 3)
    if found is not None:
        assert found[0] == 2 * entries[index] + 0.5


def test_a_fault_ends_a_loop_without_end() -> None:
    grows = program(lambda x, y: (np.sin(x), y * 1e300), NUMBER, NUMBER)
    made = repeat(program(lambda x, y: x > -2.0, NUMBER, NUMBER), grows)
    assert answer(made, np.float64(1.0), np.float64(1e300)) is None


def test_a_nan_in_what_is_watched() -> None:
    made = scan(program(lambda x: (x * 2.0, x), array(4)), 0, 1, 3)
    executable = NativeExecutor().compile(made, Needs(watched=(1,)))
    assert executable.pays
    good = np.ones(4)
    assert executable.run(np.int64(3), good) is not None
    bad = np.array([1.0, np.nan, 1.0, 1.0])
    assert executable.run(np.int64(3), bad) is None
    unwatched = NativeExecutor().compile(made)
    assert unwatched.pays
    assert unwatched.run(np.int64(3), bad) is not None


def test_warnings_are_those_of_numpy() -> None:
    def halved(x: Any) -> Any:
        return ad.fori_loop(0, 3, lambda k, y: 1.0 / (y - 1.0), x)

    with ad.config(native=True), pytest.warns(RuntimeWarning, match="divide by zero"):
        ad.jit(halved)(1.0)
    with warnings.catch_warnings(), ad.config(native=True):
        warnings.simplefilter("error")
        ad.jit(halved)(5.0)


# --- tapes ----------------------------------------------------------------------------------------


def test_more_rounds_than_rows_of_a_loop_with_a_test() -> None:
    for size in (1, 1003):
        made = mixed_while(4, size)
        arguments = numbers(1, made.input_types)
        arguments[2] = np.int64(1)
        assert answer(made, *arguments) is not None
        arguments[2] = np.int64(0)
        with pytest.raises(TapeOverflowError) as caught:
            answer(made, *arguments)
        assert caught.value.length == 4


def test_more_rounds_than_rows_of_a_counted_loop() -> None:
    made = mixed_scan(4, False, 3)
    assert answer(made, *numbers(1, made.input_types, 4)) is not None
    for count in (5, 10**12, 2**63 - 1):
        with pytest.raises(TapeOverflowError) as caught:
            answer(made, *numbers(1, made.input_types, count))
        assert caught.value.length == 4


def test_a_tape_within_a_loop_within_a_branch() -> None:
    test = program(lambda x: x < 9.0, NUMBER)
    body = program(lambda x: (x + 1.0, x), NUMBER)
    params = {"constants": 0, "carried": 1, "length": 7}
    inner = alone(WHILE, [NUMBER], test=test, body=body, **params)

    def outer(x: Any, k: Any) -> Any:
        _, y, rows = within(x.builder, inner, x)
        return y - 3.0 - k - bind(GATHER, rows, np.int64(0)), k + 1.0

    made = switch(*(program(outer, NUMBER, NUMBER),) * 2)
    looped = scan(program(outer, NUMBER, NUMBER))
    for each in (made, looped):
        assert answer(each, np.int64(2), np.float64(3.0), np.float64(0.0)) is not None
        with pytest.raises(TapeOverflowError) as caught:
            answer(each, np.int64(2), np.float64(1.0), np.float64(0.0))
        assert caught.value.length == 7


def test_an_overflow_leaves_nothing_behind() -> None:
    made = mixed_while(4, 1003)
    executable = NativeExecutor().compile(made)
    assert executable.pays
    arguments = numbers(1, made.input_types)
    for start in (0, 2, 0, 4):
        arguments[2] = np.int64(start)
        if start:
            assert executable.run(*arguments) is not None
        else:
            with pytest.raises(TapeOverflowError):
                executable.run(*arguments)


# --- signals and threads --------------------------------------------------------------------------


def endless() -> Any:
    executable = NativeExecutor().compile(repeat(FOREVER, program(np.sin, NUMBER)))
    assert executable.pays
    return lambda: executable.run(np.float64(1.0))


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers")
@pytest.mark.parametrize("nested", [False, True], ids=["alone", "nested"])
def test_a_loop_without_end_can_be_interrupted(nested: bool) -> None:
    run = endless()
    if nested:
        inner = scan(program(np.sin, NUMBER))
        body = program(lambda x: within(x.builder, inner, np.int64(3), x)[0], NUMBER)
        executable = NativeExecutor().compile(repeat(FOREVER, body))
        assert executable.pays
        run = lambda: executable.run(np.float64(1.0))  # noqa: E731

    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    old = signal.signal(signal.SIGALRM, stop)
    try:
        for _ in range(2):
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            with pytest.raises(KeyboardInterrupt):
                run()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers")
def test_other_threads_run_meanwhile() -> None:
    run = endless()
    seen: list[float] = []
    done = threading.Event()

    def count() -> None:
        while not done.wait(0.001):
            seen.append(time.monotonic())

    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    other = threading.Thread(target=count)
    old = signal.signal(signal.SIGALRM, stop)
    other.start()
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        with pytest.raises(KeyboardInterrupt):
            run()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
        done.set()
        other.join()
    assert len(seen) > 3


def test_handlers_that_return_change_nothing() -> None:
    made = scan(program(lambda x: np.sin(x) + 0.5, NUMBER))
    executable = NativeExecutor().compile(made)
    assert executable.pays
    many, start = np.int64(3_000_000), np.float64(1.0)  # long enough for some pauses
    assert executable.run(many, start) == executable.run(many, start)


def waves(x: Any) -> Any:
    for _ in range(8):
        x = np.sin(x) + 0.5
    return x


def test_rounds_of_numbers_are_not_taken_for_shorter_than_they_are() -> None:
    """A sine of a number takes 10 ns or more, so that signals would be seen to too seldom."""
    code = native(scan(program(waves, NUMBER)), Needs())
    assert code is not None
    (spent,) = re.findall(r"sub nsw i64 %\w+, (\d+)", code.lowered.text)
    assert 8 * 10 <= int(spent) <= 8 * 30


# --- what has no machine code ---------------------------------------------------------------------


def test_a_body_without_machine_code_leaves_the_loop_to_numpy() -> None:
    row = array_type((3,), np.dtype(float))
    body = program(lambda x: bind(ARGPARTITION, x, axis=0, kth=(1,)) * 0.5, row)
    inner = scan(body)
    outer = scan(program(lambda x: within(x.builder, inner, np.int64(2), x)[0], row))
    for made in (inner, outer):
        (equation,) = made.equations
        assert equation.primitive is SCAN
        assert not lowerable(equation, False)
        found = hindrance(equation, False)
        assert found is not None
        assert found.primitive is ARGPARTITION
    (fine,) = scan(program(np.sin, NUMBER)).equations
    assert lowerable(fine, False)
    assert hindrance(fine, False) is None
    assert lowerable(fine, True)  # the sine is NumPy's own there


def test_the_view_names_what_is_within() -> None:
    def function(x: Any) -> Any:
        looped = ad.fori_loop(0, 3, lambda k, y: np.partition(y, 1) * 0.5 + 1.0, x)
        return np.sin(looped) * np.cos(x) + 1.0

    view = ad.program(function, np.array([1.5, 0.5])).native()
    (left,) = view.left()
    assert left.equation.startswith("scan of ")
    assert (
        left.reason
        == "it holds argpartition[axis=0, kth=(1,)] of f8[2]: there is no machine code for it"
    )


def test_a_program_of_several_pieces_around_loops() -> None:
    def function(x: Any) -> Any:
        y = ad.fori_loop(0, 20, lambda k, y: np.sin(y) + x, x)
        z = np.sort(y + 1.0)
        return np.sum(ad.while_loop(lambda s: np.sum(s) < 50.0, lambda s: s * 1.1 + 0.1, z))

    x = np.linspace(0.1, 1.0, 10)
    with ad.config(native=True):
        found = ad.jit(ad.value_and_grad(function))(x)
    with ad.config(native=False):
        expected = ad.value_and_grad(function)(x)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_tapes_grow_until_they_are_long_enough() -> None:
    def function(x: Any, limit: Any) -> Any:
        grown = lambda state: (np.sin(state[0]) * 1.01, state[1] + 1)  # noqa: E731
        return ad.while_loop(lambda state: state[1] < limit, grown, (x, 0))[0]

    with ad.config(native=True):
        found = ad.jit(pulled(function))(0.5, 20_000)
    tangent = ad.jvp(lambda x: function(x, 20_000), (0.5,), (1.0,))[1]
    np.testing.assert_allclose(found, tangent, rtol=1e-9)


def test_watched_gathers_do_not_wait_for_each_other() -> None:
    """What is noted of all lanes is no register of masks, from which gathers take theirs."""
    made = program(lambda x, k: bind(GATHER, x * x, k), array(5000), ORDER)
    executable = NativeExecutor().compile(made, Needs(watched=(0,)))
    text = executable.native.ir()  # type: ignore[attr-defined]
    assert "masked.gather" not in text or "phi <8 x i1>" not in text
    values, order = np.arange(5000.0), np.arange(5000)[::-1].copy()
    results = executable.run(values, order)
    assert results is not None
    np.testing.assert_array_equal(results[0], values[::-1] ** 2)
    for place in (0, 4321):
        undefined = values.copy()
        undefined[place] = np.nan
        assert executable.run(undefined, order) is None
    order[17] = 5000
    assert executable.run(values, order) is None


def test_what_is_noted_of_lanes_is_aligned_as_vectors_are() -> None:
    """LLVM reads and writes a vector as one that is aligned to all of its bytes."""
    made = program(lambda x, k: bind(GATHER, x * x, k), array(5000), ORDER)
    code = native(made, Needs(watched=(0,)))
    assert code is not None
    vectors = re.findall(r"alloca <(\d+) x i32>, align (\d+)", code.lowered.text)
    assert vectors or "masked.gather" not in code.lowered.text
    assert all(int(align) >= 4 * int(lanes) for lanes, align in vectors)
