"""What is read off bytecode about local names: which are live, and which are numbers alone."""

from __future__ import annotations

from itertools import pairwise
from types import CodeType
from typing import Any

import pytest

from adjoint.capture.bytecode.arithmetic import numeric_names
from adjoint.capture.bytecode.assembly import taken_apart
from adjoint.capture.bytecode.liveness import live_names, looped


def counting(x: Any, limit: Any) -> Any:
    count, scale = 0, 1.0
    while x > limit and count < 100:
        count += 1
        scale = 0.5 * scale
        x = x - scale * limit
    return x, count


def index(rows: Any) -> Any:
    place = 0
    while rows[place] > 0:
        place += 1
    return place


def text(x: Any) -> Any:
    count = 0
    while x > 0:
        x, count = x - 1, count + 1
    return f"{count}"


def entries(x: Any) -> Any:
    count = 0
    while x > 0:
        x, count = x - 1, count + 1
    return [0] * (count + 1)


def handed_on(x: Any, function: Any) -> Any:
    step = 1.0
    while x > 0:
        x, step = function(x, step), 0.5 * step
    return x


def copied(x: Any) -> Any:
    step = 1.0
    while x > 0:
        last = step
        step = 0.5 * step
        x = x - [last, step][0]
    return x


def shared(x: Any) -> Any:
    step = 1.0

    def shrink() -> None:
        nonlocal step
        step = 0.5 * step

    while x > 0:
        shrink()
        x = x - step
    return x


def swapped(x: Any) -> Any:
    one, two, count = 1.0, 2.0, 0
    while x > one:
        one, two, count, x = two, 0.5 * one, count + 1, x - two
    return x / one, count


@pytest.mark.parametrize(
    ("function", "name", "is_float", "is_int"),
    [
        (counting, "count", True, True),
        (counting, "scale", True, False),
        (index, "place", False, False),
        (text, "count", False, False),
        (entries, "count", False, False),
        (handed_on, "step", False, False),
        (copied, "step", False, False),
        (copied, "last", False, False),
        (shared, "step", False, False),
        (swapped, "one", True, False),
        (swapped, "count", True, True),
    ],
)
def test_names_of_numbers(function: Any, name: str, is_float: bool, is_int: bool) -> None:
    names = numeric_names(function.__code__)
    assert (name in names.floats) <= is_float
    assert (name in names.ints) == is_int
    if function in (counting, swapped):
        assert (name in names.floats) == is_float


def _stores(code: CodeType, name: str) -> list[int]:
    number = code.co_varnames.index(name)
    instructions = taken_apart(code)
    return [
        following.place
        for instruction, following in pairwise(instructions)
        if instruction.name == "STORE_FAST" and instruction.argument == number
    ]


def test_a_name_that_is_bound_before_it_is_read_is_not_live() -> None:
    def function(x: Any) -> Any:
        spare = x + 1
        x = 2 * spare
        spare = x
        return spare

    code = function.__code__
    live = live_names(code)
    (_, second) = _stores(code, "x")[-1:] * 2
    assert "spare" not in live[second]
    assert "x" in live[second]


def test_a_name_that_a_handler_reads_is_live_within() -> None:
    def function(x: Any) -> Any:
        last = 1
        try:
            last = x / 0
        except ZeroDivisionError:
            return last
        return x

    code = function.__code__
    divisions = [i.place for i in taken_apart(code) if i.name == "BINARY_OP"]
    assert "last" in live_names(code)[divisions[0]]


def test_what_nested_functions_share_is_always_live() -> None:
    def function(x: Any) -> Any:
        def inner() -> Any:
            return x

        return inner

    assert all("x" in names for names in live_names(function.__code__).values())


def test_what_repeats_is_told_from_what_runs_once() -> None:
    def function(x: Any) -> Any:
        if x > 1:
            x = x + 1
        while x > 2:
            x = x - 1
        return x

    code = function.__code__
    repeated = looped(taken_apart(code))
    compares = [i.place for i in taken_apart(code) if i.name == "COMPARE_OP"]
    assert compares[0] not in repeated
    assert compares[-1] in repeated
