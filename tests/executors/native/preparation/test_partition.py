"""Partition: few segments in a right order, wired by what each needs and gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from adjoint.executors import NumpyExecutor
from adjoint.executors.native.preparation.partition import Segment, deaths, partition
from adjoint.optimise import simplify
from adjoint.primitives.calls.linear import LINEAR_CALL, LinearFunction
from adjoint.primitives.expression import bind
from adjoint.primitives.structure.moving import broadcast_to, reshape
from adjoint.program import Equation, Program, Variable, check_program
from adjoint.transforms import vjp
from tests.building import f8, names, program_of
from tests.transforms.test_random_programs import ACTIVE, INDEX, programs, quickly

LEFT = ["sin", "multiply", "scale", "slice", "contract", "add"]


def without(*primitives: str) -> Callable[[Equation], bool]:
    """All can be lowered but these."""
    return lambda equation: equation.primitive.name not in primitives


def split(function: Any, *types: Any, left: str) -> list[Segment]:
    program = program_of(function, *types)
    return checked(program, partition(program, without(*left.split())))


def checked(program: Program, segments: list[Segment]) -> list[Segment]:
    """The segments, after a check that each is a program and that all together are the program."""
    known = set(program.inputs)
    for segment in segments:
        check_program(segment.program)
        assert known.issuperset(segment.program.inputs)
        assert segment.program is program or known.isdisjoint(segment.outputs)
        known.update(segment.outputs)
    assert known.issuperset(atom for atom in program.outputs if isinstance(atom, Variable))
    return segments


def kinds(segments: list[Segment]) -> list[list[str]]:
    return [names(segment.program) for segment in segments]


def test_a_program_that_can_be_lowered_is_itself() -> None:
    program = program_of(lambda x: np.sin(x) * np.cos(x), f8(3))
    (segment,) = partition(program, without())
    assert segment.native
    assert segment.program is program


def test_a_program_of_which_nothing_can_is_itself_too() -> None:
    program = program_of(lambda x: np.sin(x) * np.cos(x), f8(3))
    (segment,) = partition(program, lambda equation: False)
    assert not segment.native
    assert segment.program is program


def test_what_is_in_between_is_left() -> None:
    def function(x: Any) -> Any:
        y = np.tanh(np.exp(x) * x)
        return np.exp(y) * y

    found = split(function, f8(3), left="tanh")
    assert kinds(found) == [["exp", "multiply"], ["tanh"], ["exp", "multiply"]]
    assert [segment.native for segment in found] == [True, False, True]


def test_all_that_is_ready_runs_first() -> None:
    def function(x: Any, y: Any) -> Any:
        first = np.tanh(np.exp(x) * x)
        second = np.tanh(np.cos(y) * y)
        return (first + second) * first

    found = split(function, f8(3), f8(3), left="tanh")
    assert [len(segment.program) for segment in found] == [4, 2, 2]


def test_it_begins_with_what_gives_fewer_segments() -> None:
    def function(x: Any) -> Any:
        y = np.tanh(x)
        return np.exp(y) * y + np.cos(x)

    assert kinds(split(function, f8(3), left="tanh")) == [
        ["tanh"],
        ["exp", "multiply", "cos", "add"],
    ]


def test_a_single_operation_is_left_to_numpy_and_views_do_not_count() -> None:
    def function(x: Any) -> Any:
        y = np.tanh(reshape(np.exp(x), (3, 1)))
        return np.cos(np.sin(y)) * y

    found = split(function, f8(3), left="tanh")
    assert kinds(found) == [["exp", "reshape", "tanh"], ["sin", "cos", "multiply"]]
    (whole,) = split(lambda x: np.exp(np.tanh(x)), f8(3), left="tanh")
    assert not whole.native


def test_numbers_written_out_are_repeated_and_not_handed_on() -> None:
    def function(x: Any, s: Any) -> Any:
        wide = broadcast_to(s, (3,))
        y = np.tanh(np.exp(x) * wide)
        return np.exp(y) * wide

    found = split(function, f8(3), f8(), left="tanh")
    assert kinds(found) == [
        ["broadcast", "exp", "multiply"],
        ["tanh"],
        ["broadcast", "exp", "multiply"],
    ]
    assert [len(segment.outputs) for segment in found] == [1, 1, 1]


def test_numbers_written_out_that_are_results() -> None:
    program = program_of(lambda x, s: (np.tanh(x), broadcast_to(s, (3,))), f8(3), f8())
    found = checked(program, partition(program, without("tanh")))
    assert sorted(name for kind in kinds(found) for name in kind) == ["broadcast", "tanh"]


def test_what_is_opaque_is_never_lowered() -> None:
    matrix = LinearFunction(lambda x: (2 * x,), None, [f8(3)], [f8(3)], "twice")

    def function(x: Any) -> Any:
        (y,) = bind(LINEAR_CALL, np.exp(np.sin(x)), function=matrix, transposed=False)
        return np.exp(y) * y

    assert kinds(split(function, f8(3), left="")) == [
        ["sin", "exp"],
        ["linear_call"],
        ["exp", "multiply"],
    ]


def test_what_nothing_needs_is_let_go() -> None:
    def function(x: Any) -> Any:
        y = np.exp(x) * x
        z = np.tanh(y)
        return np.exp(z) * z

    program = program_of(function, f8(3))
    segments = partition(program, without("tanh"))
    dead = deaths(segments, program.outputs)  # type: ignore[arg-type]
    assert dead[0] == [program.inputs[0]]
    assert dead[1] == list(segments[0].outputs)
    assert dead[2] == list(segments[1].outputs)


def test_long_programs_do_not_take_long() -> None:
    def function(x: Any) -> Any:
        for _ in range(1000):
            x = np.exp(np.sin(x)) * x
        return np.tanh(x)

    assert len(split(function, f8(3), left="tanh")) == 2


@quickly
@given(programs(), st.sets(st.sampled_from(LEFT)))
def test_segments_one_after_another_are_the_program(program: Program, left: set[str]) -> None:
    backwards = simplify(vjp(program, ACTIVE))
    segments = checked(backwards, partition(backwards, without(*left)))
    generator = np.random.default_rng(0)
    arguments = [
        INDEX if each.dtype.kind == "i" else generator.uniform(0.5, 1.5, each.shape)
        for each in backwards.input_types
    ]
    executor = NumpyExecutor()
    with np.errstate(all="ignore"):
        expected = executor.compile(backwards).run(*arguments)
        values: dict[Any, Any] = dict(zip(backwards.inputs, arguments, strict=True))
        for segment in segments:
            results = executor.compile(segment.program).run(
                *(values[variable] for variable in segment.program.inputs)
            )
            if segment.program is backwards:
                return
            values.update(zip(segment.outputs, results, strict=True))
    for atom, result in zip(backwards.outputs, expected, strict=True):
        if isinstance(atom, Variable):
            np.testing.assert_array_equal(values[atom], result)
