"""Loops and branches made thinner."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.arrays import array_type, type_of
from adjoint.loops.bodies import interpreted
from adjoint.loops.declared import SCAN, SWITCH, WHILE
from adjoint.optimise import simplify
from adjoint.optimise.influences import influences
from adjoint.primitives import UFUNCS
from adjoint.program import Builder, Equation, Literal, Program, check_program, operation

NUMBER = type_of(np.float64(1.0))
ROWS = array_type((4,), np.dtype(float))


def emit(builder: Builder, ufunc: Any, *operands: Any) -> Any:
    return builder.emit(UFUNCS[ufunc].bare, operands)[0]


def only(program: Program, name: str) -> Equation:
    (found,) = (each for each in program.equations if each.primitive.name == name)
    return found


def thinner(program: Program, *values: Any) -> Program:
    """The simplified program, which computes the same."""
    made = check_program(simplify(program))
    for one, other in zip(interpreted(program)(*values), interpreted(made)(*values), strict=True):
        np.testing.assert_array_equal(one, other)
    return made


def scan(wanted: tuple[int, ...]) -> Program:
    """A scan that carries y (which needs z), z, and an idle w, and stacks y and z + w."""
    body = Builder()
    factor, idle, y, z, w, row, other = (body.input(NUMBER) for _ in range(7))
    following = [emit(body, np.add, y, z), emit(body, np.multiply, z, factor)]
    following += [emit(body, np.add, w, idle), emit(body, np.sin, y)]
    following.append(emit(body, np.add, emit(body, np.multiply, other, row), w))
    outer = Builder()
    inputs = [outer.input(NUMBER) for _ in range(5)] + [outer.input(ROWS) for _ in range(2)]
    op = operation(
        SCAN, body=body.build(following), constants=2, carried=3, length=4, reverse=False
    )
    results = outer.emit(op, [Literal(np.int64(4)), *inputs])
    return outer.build([results[place] for place in wanted])


VALUES = (0.5, 2.0, 1.0, 3.0, -1.0, np.arange(4.0), np.ones(4))


@pytest.mark.parametrize(
    ("wanted", "constants", "carried", "scanned"),
    [((0,), 1, 2, 0), ((1,), 1, 1, 0), ((3,), 1, 2, 0), ((4,), 1, 1, 2), ((0, 4), 2, 3, 2)],
)
def test_a_scan_carries_what_is_wanted(
    wanted: tuple[int, ...], constants: int, carried: int, scanned: int
) -> None:
    found = only(thinner(scan(wanted), *VALUES), "scan")
    assert found.params["constants"] == constants
    assert found.params["carried"] == carried
    assert len(found.inputs) == 1 + constants + carried + scanned


def test_a_loop_carries_what_its_test_asks_for() -> None:
    test, body, outer = Builder(), Builder(), Builder()
    y, _, _ = (test.input(NUMBER) for _ in range(3))
    asked = test.build([emit(test, np.less, y, Literal(np.float64(10.0)))])
    y, z, w = (body.input(NUMBER) for _ in range(3))
    one = Literal(np.float64(1.0))
    following = [emit(body, np.add, y, one), emit(body, np.multiply, z, z), emit(body, np.sin, w)]
    op = operation(
        WHILE, test=asked, body=body.build(following), constants=0, carried=3, length=None
    )
    inputs = [outer.input(NUMBER) for _ in range(3)]
    results = outer.emit(op, inputs)
    found = only(thinner(outer.build([results[2]]), 0.0, 1.5, 2.0), "while")
    assert found.params["carried"] == 2
    assert len(found.outputs) == 3


def test_branches_return_what_is_wanted() -> None:
    branches = []
    for ufunc in (np.sin, np.cos):
        branch = Builder()
        x, y = branch.input(NUMBER), branch.input(NUMBER)
        branches.append(branch.build([emit(branch, ufunc, x), emit(branch, np.exp, y)]))
    outer = Builder()
    index = outer.input(type_of(np.int64(0)))
    inputs = [outer.input(NUMBER) for _ in range(2)]
    results = outer.emit(operation(SWITCH, branches=tuple(branches)), [index, *inputs])
    found = only(thinner(outer.build([results[0]]), np.int64(1), 0.5, 2.0), "switch")
    assert len(found.inputs) == 2
    assert len(found.outputs) == 1


def test_bodies_are_simplified() -> None:
    def function(x: Any) -> Any:
        return ad.fori_loop(0, 5, lambda k, y: np.sin(y) * np.sin(y) + k, x)

    body = only(simplify(ad.program(function, 0.5).program), "scan").params["body"]
    assert [each.primitive.name for each in body.equations].count("sin") == 1


def test_rows_that_are_joined_in_order_are_a_part() -> None:
    x = np.arange(12.0).reshape(6, 2)
    for places, kept in ((range(1, 5), 1), (range(5, 0, -2), 1), ((0, 1, 3), 7)):
        program = ad.program(lambda x, places=places: np.stack([x[k] for k in places]), x).program
        assert len(thinner(program, x)) == kept


def test_what_is_carried_in_vain_through_branches_goes() -> None:
    def function(x: Any, n: int) -> Any:
        def body(state: Any) -> Any:
            y, idle = state
            return ad.cond(
                y > 2.0,
                lambda y, idle: (y * 0.5, idle + y),
                lambda y, idle: ad.cond(
                    y > 1.0, lambda y, i: (y - 0.3, i * y), lambda y, i: (y - 0.2, i), y, idle
                ),
                y,
                idle,
            )

        return ad.while_loop(lambda state: state[0] > 0.0, body, (x, x * 3.0))[n]

    for wanted, carried in ((0, 1), (1, 2)):
        made = ad.program(lambda x, wanted=wanted: function(x, wanted), 40.0)
        found = only(thinner(made.program, *made.values), "while")
        assert found.params["carried"] == carried


@pytest.mark.parametrize(
    ("function", "needs"),
    [
        (lambda x, y, z: (x + y, z), [0b011, 0b100]),
        (lambda x, y, z: ad.fori_loop(0, 3, lambda k, s: (s[1], s[0], s[2] * z), (x, y, z)),
         [0b011, 0b011, 0b100]),
        (lambda x, y, z: ad.while_loop(lambda s: s[0] < z, lambda s: (s[0] + 1, sum(s)), (x, y)),
         [0b101, 0b111]),
        (lambda x, y, z: ad.cond(x > 0.0, lambda y, z: (y, z), lambda y, z: (y, y * z), y, z),
         [0b011, 0b111]),
        (lambda x, y, z: ad.scan(lambda s, r: (s * x, r + y), z, np.arange(3.0)), [0b101, 0b010]),
    ],
)  # fmt: skip
def test_influences(function: Any, needs: list[int]) -> None:
    program = simplify(ad.program(function, 0.5, 1.5, 9.0).program)
    assert [mask & 0b111 for mask in influences(program)] == needs


def test_constants_that_only_what_is_dropped_reads_go_with_it() -> None:
    """An outer loop does not carry them any more, so that the inner one must not read them."""

    def function(x: Any) -> Any:
        def body(k: Any, state: Any) -> Any:
            a, b = state

            def inner(state: Any) -> Any:
                count, p, q = state
                return count + 1, p * np.cos(a) + 0.1, q * np.sin(b) + 0.2

            _, p, q = ad.while_loop(lambda state: state[0] < 3, inner, (0, a, b))
            return p, q

        return ad.fori_loop(0, 7, body, (x, 2 * x))[0]

    assert np.isclose(ad.jit(function)(0.7), function(0.7))
    slope = (function(0.7 + 1e-6) - function(0.7 - 1e-6)) / 2e-6
    for derivative in (ad.grad(function), ad.jit(ad.grad(function))):
        assert np.isclose(derivative(0.7), slope, rtol=1e-4)
