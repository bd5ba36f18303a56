"""Loops and branches as the NumPy executor writes them: memory, warnings, scalars, errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from adjoint.base.arrays import array_type
from adjoint.base.errors import TapeOverflowError
from adjoint.executors import NumpyExecutor
from adjoint.loops.declared import CHECKPOINT, SCAN, SWITCH, WHILE
from adjoint.primitives import bind
from adjoint.primitives.structure.gathering import GATHER_SET
from adjoint.primitives.structure.moving import broadcast_to
from adjoint.program import Program
from tests.building import f8, program_of

INDEX = array_type((), np.dtype(np.int64))


def scan(body: Program, carried: int, length: int | None = None) -> Program:
    """A program (count, carried) -> results."""

    def function(count: Any, *state: Any) -> Any:
        params = {"body": body, "constants": 0, "carried": carried, "reverse": False}
        return bind(SCAN, count, *state, length=length, **params)

    return program_of(function, INDEX, *body.input_types)


def compiled(program: Program) -> Any:
    return NumpyExecutor().compile(program)


def test_what_is_carried_is_written_in_place_and_the_argument_is_not() -> None:
    body = program_of(lambda k, x: (k + 1, bind(GATHER_SET, x, 7.0, k)), INDEX, f8(1000))
    executable = compiled(scan(body, 2))
    assert executable.report().source.count("array(") == 1  # once, before the loop
    x = np.zeros(1000)
    _, found = executable.run(np.int64(3), np.int64(5), x)
    assert np.array_equal(np.flatnonzero(found), [5, 6, 7])
    assert not x.any()


def test_values_that_swap_places_keep_their_own_memory() -> None:
    body = program_of(lambda x, y: (y, x * 2.0), f8(3), f8(3))
    x, y = np.ones(3), np.full(3, 10.0)
    for count in range(4):
        a, b = x, y
        for _ in range(count):
            a, b = b, a * 2.0
        found = compiled(scan(body, 2)).run(np.int64(count), x, y)
        assert np.array_equal(found[0], a)
        assert np.array_equal(found[1], b)
        assert not any(np.shares_memory(each, other) for each in found for other in (x, y))
        assert not np.shares_memory(*found)


def test_one_array_in_two_places_becomes_two() -> None:
    body = program_of(lambda x, y: (x + 1.0, x + 1.0), f8(3), f8(3))
    first, second = compiled(scan(body, 2)).run(np.int64(2), np.ones(3), np.ones(3))
    first[0] = -1.0
    assert second[0] == 3.0
    same = program_of(lambda x, y: (y, y), f8(3), f8(3))
    first, second = compiled(scan(same, 2)).run(np.int64(1), np.ones(3), np.ones(3))
    assert not np.shares_memory(first, second)


def test_a_repeated_number_that_is_carried_has_memory() -> None:
    body = program_of(lambda x: (broadcast_to(x, (2, 3)) + x,), f8(2, 3))
    (found,) = compiled(scan(body, 1)).run(np.int64(1), np.ones((2, 3)))
    assert found.flags.writeable


def test_numbers_are_numpys() -> None:
    body = program_of(lambda k, x: (k + 1, x * 2.0), INDEX, f8())
    for count in (0, 2):
        k, x = compiled(scan(body, 2)).run(np.int64(count), np.int64(0), np.float64(1.0))
        assert (type(k), type(x)) == (np.int64, np.float64)


def test_a_tape_that_is_too_short_is_an_error() -> None:
    body = program_of(lambda x: (x * 2.0, x), f8())
    with pytest.raises(TapeOverflowError, match="more rounds than the 3"):
        compiled(scan(body, 1, 3)).run(np.int64(4), np.float64(1.0))
    test = program_of(lambda x: (np.less(x, 100.0),), f8())

    def loop(x: Any) -> Any:
        return bind(WHILE, x, test=test, body=body, constants=0, carried=1, length=3)

    with pytest.raises(TapeOverflowError) as caught:
        compiled(program_of(loop, f8())).run(np.float64(1.0))
    assert caught.value.length == 3
    rounds, last, _ = compiled(program_of(loop, f8())).run(np.float64(50.0))
    assert (rounds, last) == (1, 100.0)


def test_a_tape_of_tapes_is_copied_as_far_as_it_goes() -> None:
    inner = program_of(lambda x: (x * 0.5, x), f8())
    test = program_of(lambda x: (np.greater(x, 1.0),), f8())

    def outer(x: Any) -> Any:
        params = {"test": test, "body": inner, "constants": 0, "carried": 1, "length": 1031}
        _, last, tape = bind(WHILE, x + 5.0, **params)
        return last, tape

    body = program_of(outer, f8())
    source = compiled(scan(body, 1, 4)).report().source
    assert "[k, :max(" in source
    last, tapes = compiled(scan(body, 1, 4)).run(np.int64(2), np.float64(1.0))
    assert np.array_equal(tapes[0, :3], [6.0, 3.0, 1.5])
    assert last == 5.75 / 8


def test_rows_that_an_inner_loop_does_not_reach_are_zero() -> None:
    step = program_of(lambda x: (x * 0.5, x), f8())

    def outer(count: Any, x: Any) -> Any:
        params = {"body": step, "constants": 0, "carried": 1, "length": 3, "reverse": True}
        last, rows = bind(SCAN, count, x, **params)
        return count, last, rows

    body = program_of(outer, INDEX, f8())
    program = scan(body, 2, 4)
    assert "[k, :max(" not in compiled(program).report().source
    for count in (-1, 0, 1):
        *_, found = compiled(program).run(np.int64(2), np.int64(count), np.float64(1.0))
        expected = np.zeros((4, 3))
        expected[:2, : max(count, 0)] = [[1.0], [0.5]]
        assert np.array_equal(found, expected)


def test_rows_that_a_test_ends_before_are_zero() -> None:
    body = program_of(lambda x: (x * 2.0, x), f8())
    test = program_of(lambda x: (np.less(x, 100.0),), f8())

    def loop(x: Any) -> Any:
        return bind(WHILE, x, test=test, body=body, constants=0, carried=1, length=5)

    rounds, _, rows = compiled(program_of(loop, f8())).run(np.float64(30.0))
    assert rounds == 2
    assert np.array_equal(rows, [30.0, 60.0, 0.0, 0.0, 0.0])


def test_only_the_chosen_branch_is_run_and_its_result_is_no_view_of_its_operand() -> None:
    branches = (program_of(lambda x: (np.log(x),), f8(2)), program_of(lambda x: (x,), f8(2)))
    program = program_of(lambda k, x: bind(SWITCH, k, x, branches=branches), INDEX, f8(2))
    x = np.array([0.0, 1.0])
    (found,) = compiled(program).run(np.int64(1), x)
    assert np.array_equal(found, x)
    assert not np.shares_memory(found, x)
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        compiled(program).run(np.int64(0), x)


def test_programs_that_are_equal_are_written_once() -> None:
    body = program_of(lambda x: (np.sin(x),), f8(2))

    def twice(x: Any) -> Any:
        (y,) = bind(CHECKPOINT, x, body=body, schedule=None)
        return bind(CHECKPOINT, y, body=body, schedule=None)

    assert compiled(program_of(twice, f8(2))).report().source.count("def again") == 1
