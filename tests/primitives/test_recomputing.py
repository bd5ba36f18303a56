"""What is kept on a tape: the fewest bytes from which the rest follows by cheap operations."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest

from adjoint.loops.recomputing import fewest_bytes, is_cheap
from adjoint.primitives.structure.moving import sum_axes
from adjoint.program import Program, Variable
from tests.building import f8, names, program_of


def kept(program: Program, free: int = 0) -> tuple[list[Variable], list[str]]:
    """What is kept for the outputs of a program, and what is computed again."""
    there = set(program.inputs[:free])
    found, again = fewest_bytes(program.equations, list(program.outputs), there.__contains__)
    return found, [each.primitive.name for each in again]


def test_what_follows_cheaply_is_computed_again() -> None:
    program = program_of(lambda x: (x * x, 2.0 * x, x - 1.0), f8(3))
    assert kept(program) == ([program.inputs[0]], ["multiply", "multiply", "subtract"])


def test_what_is_dear_is_kept() -> None:
    program = program_of(lambda x: ((y := np.sin(x)), y * y, np.exp(y)), f8(3))
    found, again = kept(program)
    assert found == [program.outputs[0], program.outputs[2]]
    assert again == ["multiply"]


def test_a_small_result_is_kept_rather_than_a_large_operand() -> None:
    program = program_of(lambda x: (2.0 * sum_axes(x, (0,)),), f8(1000))
    found, again = kept(program)
    assert found == [program.outputs[0]]
    assert again == []


def test_free_values_cost_nothing() -> None:
    program = program_of(lambda a, x: (a + 1.0, a * x), f8(1000), f8(1000))
    found, again = kept(program, free=1)
    assert found == [program.inputs[0], program.outputs[1]] or found == list(program.inputs)
    assert "add" in again


def test_of_equal_costs_the_nearest_is_kept() -> None:
    program = program_of(lambda x: (2.0 * (x + 1.0),), f8(3))
    assert kept(program) == ([program.outputs[0]], [])


def test_rounded_numbers_are_not_compared_again() -> None:
    """They may be rounded otherwise then, and what was the largest is no more."""
    program = program_of(lambda x, top: (np.equal(x / 3.0, top), np.sign(x)), f8(3), f8(1))
    found, again = kept(program, free=2)
    assert found == [program.outputs[0], program.inputs[0]]
    assert again == ["sign"]
    exact = program_of(lambda x, top: (np.equal(np.abs(x), top),), f8(3), f8(1))
    assert kept(exact, free=2) == (list(exact.inputs), ["absolute", "equal"])


def _broadcasting(seed: int) -> Program:
    generator = np.random.default_rng(seed)
    shapes = [f8(), f8(4)]

    def function(x: Any, y: Any) -> Any:
        values = [x, y]
        for _ in range(9):
            one, other = (values[n] for n in generator.integers(0, len(values), 2))
            kind = generator.integers(0, 3)
            values.append([one + other, one * other, np.sin(one)][kind])
        return tuple(values[n] for n in generator.integers(2, len(values), 3))

    return program_of(function, *shapes)


@pytest.mark.parametrize("seed", range(12))
def test_nothing_smaller_would_do(seed: int) -> None:
    """Against all sets of values there are."""
    program = _broadcasting(seed)
    values = [*program.inputs, *(v for each in program.equations for v in each.outputs)]

    def suffices(chosen: set[Variable]) -> bool:
        known = set(chosen)
        for each in program.equations:
            if is_cheap(each) and known.issuperset(x for x in each.inputs if x in values):
                known.update(each.outputs)
        return known.issuperset(program.outputs)

    def size(chosen: Any) -> int:
        return sum(variable.type.size for variable in chosen)

    found, again = kept(program)
    assert suffices(set(found))
    assert len(again) <= len(names(program))
    least = min(
        size(chosen)
        for count in range(4)
        for chosen in combinations(values, count)
        if suffices(set(chosen))
    )
    assert size(found) == least
