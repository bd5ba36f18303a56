"""Loops and branches tidied: what bodies are given, carry and stack."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.base.arrays import array_type
from adjoint.executors import NumpyExecutor
from adjoint.loops.declared import CHECKPOINT, SCAN, SWITCH, WHILE
from adjoint.optimise import simplify
from adjoint.optimise.tidying import tidy
from adjoint.primitives import bind
from adjoint.program import Equation, Literal, Program, check_program
from tests.building import f8, names, program_of

INDEX = array_type((), np.dtype(np.int64))
COUNT = np.int64(3)


def scan(body: Program, constants: int, carried: int, length: int | None = None) -> Any:
    """A function of operands: one scan."""
    params = {"constants": constants, "carried": carried, "length": length, "reverse": False}
    return lambda *operands: bind(SCAN, *operands, body=body, **params)


def only_loop(program: Program) -> Equation:
    """The one loop or branch of a program."""
    (found,) = [each for each in program.equations if each.primitive.multiple]
    return found


def same(program: Program, *arguments: Any) -> Program:
    """The program tidied, after a look at its results."""
    made = check_program(tidy(check_program(program)))
    executor = NumpyExecutor()
    expected, found = (executor.compile(each).run(*arguments) for each in (program, made))
    for one, other in zip(expected, found, strict=True):
        assert np.array_equal(one, other)
    return made


def test_an_operand_is_given_once_and_only_if_it_is_read() -> None:
    body = program_of(lambda a, b, c, x: (a * x + b,), f8(), f8(), f8(), f8())
    loop = scan(body, 3, 1)
    program = program_of(lambda n, a, x: loop(n, a, a, x * 2.0, x), INDEX, f8(), f8())
    made = same(program, COUNT, np.float64(0.5), np.float64(2.0))
    assert only_loop(made).params["constants"] == 1
    assert names(simplify(program)) == ["scan"]


def test_rows_are_scanned_once() -> None:
    body = program_of(lambda x, r, s, t: (x + r * s,), f8(), f8(), f8(), f8())
    loop = scan(body, 0, 1, 3)
    program = program_of(lambda n, x, r, t: loop(n, x, r, r, t), INDEX, f8(), f8(3), f8(3))
    made = same(program, COUNT, np.float64(1.0), np.arange(3.0), np.ones(3))
    assert len(only_loop(made).inputs) == 3


def test_numbers_are_written_into_bodies() -> None:
    body = program_of(lambda a, x: (a * x,), array_type((), np.dtype(float), True), f8())
    loop = scan(body, 1, 1)
    program = program_of(lambda n, x: loop(n, 1.5, x), INDEX, f8())
    made = same(program, COUNT, np.float64(2.0))
    (product,) = only_loop(made).params["body"].equations
    assert isinstance(product.inputs[0], Literal)


def test_what_no_round_changes_is_a_constant() -> None:
    body = program_of(lambda x, y: (x * y, y), f8(), f8())
    program = program_of(scan(body, 0, 2), INDEX, f8(), f8())
    made = same(program, COUNT, np.float64(2.0), np.float64(3.0))
    loop = only_loop(made)
    assert (loop.params["constants"], loop.params["carried"]) == (1, 1)
    assert made.outputs[1] is made.inputs[2]


def test_a_row_is_stacked_once() -> None:
    body = program_of(lambda x: ((y := np.sin(x)), y, x, y), f8())
    program = program_of(scan(body, 0, 1, 3), INDEX, f8())
    made = same(program, COUNT, np.float64(2.0))
    assert len(only_loop(made).outputs) == 3
    assert made.outputs[1] is made.outputs[3]


def test_the_test_of_a_loop_is_given_what_the_body_is() -> None:
    test = program_of(lambda a, b, x, y: (np.less(x, b),), f8(), f8(), f8(), f8())
    body = program_of(lambda a, b, x, y: (x * a * y, y), f8(), f8(), f8(), f8())
    params = {"test": test, "body": body, "constants": 2, "carried": 2, "length": None}

    def loop(a: Any, x: Any, y: Any) -> Any:
        return bind(WHILE, a, a, x, y, **params)

    made = same(program_of(loop, f8(), f8(), f8()), *map(np.float64, (9.0, 1.0, 2.0)))
    tidied = only_loop(made)
    assert (tidied.params["constants"], tidied.params["carried"]) == (2, 1)
    assert tidied.params["test"].input_types == tidied.params["body"].input_types


def test_branches_and_what_is_computed_again_are_given_operands_once() -> None:
    branches = tuple(
        program_of(function, f8(), f8(), f8())
        for function in (lambda x, y, z: (x * y,), lambda x, y, z: (y,))
    )
    program = program_of(lambda n, x: bind(SWITCH, n, x, x, x, branches=branches), INDEX, f8())
    assert len(only_loop(same(program, np.int64(1), np.float64(2.0))).inputs) == 2
    body = program_of(lambda x, y, z: (x * y,), f8(), f8(), f8())
    program = program_of(
        lambda x, z: bind(CHECKPOINT, x, x, z, body=body, schedule=None), *[f8()] * 2
    )
    assert len(only_loop(same(program, np.float64(2.0), np.float64(1.0))).inputs) == 1
