"""What transforms make of loops: one loop forwards, two in reverse, and no work done twice."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from adjoint.base.arrays import array_type
from adjoint.base.errors import MissingRuleError
from adjoint.loops.checkpoints import scheduled
from adjoint.loops.declared import CHECKPOINT, SCAN, SWITCH, WHILE
from adjoint.optimise import lengthened, simplify
from adjoint.primitives import Expression, bind
from adjoint.program import Builder, Equation, Program, check_linear, check_program
from adjoint.transforms import jvp, linearize, taylor, transpose, vjp, vmap
from tests.building import f8, names, program_of, run

INDEX = array_type((), np.dtype(np.int64))


def scanned(body: Program, constants: int, carried: int, length: int | None) -> Any:
    """A program of one scan."""

    def function(count: Any, *operands: Any) -> Any:
        return bind(
            SCAN,
            count,
            *operands,
            body=body,
            constants=constants,
            carried=carried,
            length=length,
            reverse=False,
        )

    rows = [f8(length or 0, *each.shape) for each in body.input_types[constants + carried :]]
    return program_of(function, INDEX, *body.input_types[: constants + carried], *rows)


def decay() -> Program:
    """(a, b; x; r) -> (sin(a x) + b r)."""
    body = program_of(lambda a, b, x, r: (np.sin(a * x) + np.exp(b) * r,), f8(), f8(), f8(3), f8(3))
    return scanned(body, 2, 1, 4)


def loops(program: Program) -> list[Equation]:
    """The loops of a program."""
    return [each for each in program.equations if each.primitive in (SCAN, WHILE)]


def arguments() -> tuple[Any, ...]:
    generator = np.random.default_rng(0)
    a, b, x, rows = (generator.normal(size=shape) for shape in ((), (), 3, (4, 3)))
    return (np.int64(4), np.float64(a), np.float64(b), x, rows)


def test_forwards_there_is_one_loop_and_no_tape() -> None:
    pushed = simplify(check_program(jvp(decay(), [False, True, True, True, True])))
    (loop,) = loops(pushed)
    assert loop.params["carried"] == 2
    assert len(loop.outputs) == 2


def test_in_reverse_there_are_two_loops_and_the_values_come_out_of_the_first() -> None:
    pulled = simplify(check_program(vjp(decay(), [False, True, True, True, True])))
    early, late = loops(pulled)
    assert pulled.outputs[0] is early.outputs[0]
    assert late.params["reverse"]
    # a x, of which the sine is taken, and x, which a multiplies; not the row, nor exp(b).
    assert len(early.outputs) == 3
    stacked = {variable.type.shape for variable in early.outputs[1:]}
    assert stacked == {(4, 3)}
    assert "exp" in names(pulled), "what does not vary is computed before the loop"


def test_what_is_linear_needs_no_tape() -> None:
    body = program_of(lambda a, x, r: (a * x + r,), f8(), f8(3), f8(3))
    program = scanned(body, 1, 1, 4)
    split = linearize(program, [False, False, True, True])
    early, late = simplify(split.primal), simplify(split.linear)
    assert [len(each.outputs) for each in loops(early)] == [1]
    (scan,) = loops(late)
    assert scan.params["body"].input_types == (f8(), f8(3), f8(3))
    check_linear(split.linear, split.linear.inputs[split.residuals :])


def test_integers_that_are_carried_have_no_tangents() -> None:
    body = program_of(lambda k, x: (k + 1, x * np.sin(x)), INDEX, f8())
    pushed = simplify(jvp(scanned(body, 0, 2, None), [False, False, True]))
    (loop,) = loops(pushed)
    assert [variable.type for variable in loop.outputs] == [INDEX, f8(), f8()]


def test_what_comes_to_vary_later_is_found() -> None:
    body = program_of(lambda x, y, z: (x, x * y, y * z), f8(), f8(), f8())
    program = scanned(body, 0, 3, None)
    pushed = jvp(program, [False, True, False, False])
    x = (np.int64(3), 0.5, 1.5, -0.3)
    slope = run(pushed, *x, 1.0)[3:]
    h = 1e-6
    up, down = run(program, x[0], x[1] + h, *x[2:]), run(program, x[0], x[1] - h, *x[2:])
    assert np.allclose(slope, (np.array(up) - np.array(down)) / (2 * h))


def test_constants_gather_their_cotangents_in_place() -> None:
    """Of n reads of single entries, not n arrays of n zeros are made."""
    from adjoint.primitives.structure.gathering import GATHER

    body = program_of(lambda table, k, x: (k + 1, x * bind(GATHER, table, k)), f8(5), INDEX, f8())
    pulled = simplify(vjp(scanned(body, 1, 2, None), [False, True, False, False]))
    late = loops(pulled)[-1].params["body"]
    assert "gather_add" in names(late)
    assert "fill" not in names(late)
    table = np.array([2.0, 3.0, 0.5, -1.0, 4.0])
    *_, slope = run(pulled, np.int64(5), table, np.int64(0), np.float64(1.0), np.float64(1.0))
    assert np.allclose(slope, np.prod(table) / table)


def test_branches_share_the_places_of_their_residuals() -> None:
    sine = program_of(lambda x: (np.sin(x),), f8(3))
    power = program_of(lambda x: (x * np.exp(x),), f8(3))

    def choose(index: Any, x: Any) -> Any:
        return bind(SWITCH, index, x, branches=(sine, power))

    program = program_of(choose, INDEX, f8(3))
    split = linearize(program, [False, True])
    early = simplify(split.primal)
    (switch,) = [each for each in early.equations if each.primitive is SWITCH]
    assert len(switch.outputs) <= 3  # the result, and as many residuals as one branch has
    back = transpose(split.linear, split.residuals)
    for index in (0, 1):
        x = np.array([0.1, -0.4, 2.0])
        value, *residuals = run(split.primal, np.int64(index), x)
        slope = run(back, *residuals, np.ones(3))
        expected = np.cos(x) if index == 0 else (1 + x) * np.exp(x)
        assert np.allclose(slope, expected)
        assert value.shape == (3,)


def test_a_checkpoint_leaves_its_operands_alone() -> None:
    body = program_of(lambda x: (np.sin(np.exp(np.sin(x))),), f8(3))
    program = program_of(lambda x: bind(CHECKPOINT, x, body=body, schedule=None), f8(3))
    split = linearize(program, [True])
    assert split.residuals == 1
    assert len(split.primal.outputs) == 2
    assert split.primal.outputs[1] is split.primal.inputs[0]
    pulled = simplify(vjp(program, [True]))
    assert names(pulled).count("checkpoint") == 2


@pytest.mark.parametrize("schedule", ["sqrt", "log"])
@pytest.mark.parametrize("count", [0, 1, 5, 30])
def test_a_loop_in_blocks_is_the_loop(count: int, schedule: str) -> None:
    body = program_of(lambda a, x, r: (np.sin(a * x) + r, x * r), f8(), f8(3), f8(3))
    program = scanned(body, 1, 1, 30)
    blocks = check_program(scheduled(program, schedule))
    generator = np.random.default_rng(1)
    inputs = (np.int64(count), np.float64(0.7), *(generator.normal(size=s) for s in (3, (30, 3))))
    expected, rows = run(program, *inputs)
    found, made = run(blocks, *inputs)
    assert np.array_equal(found, expected)
    assert np.array_equal(made[:count], rows[:count])
    (scan,) = loops(blocks)
    assert scan.params["length"] < 10


def test_batches_of_loops_share_what_is_the_same_for_all() -> None:
    body = program_of(lambda k, x, r: (k + 1, x * r), INDEX, f8(), f8())
    over = vmap(scanned(body, 0, 2, 4), [False, False, True, False], 5)
    (scan,) = loops(simplify(over))
    assert [each.type for each in scan.outputs if each.type.ndim] == [f8(5)]


def test_errors_inside_a_body_are_those_of_the_loop() -> None:
    from adjoint.primitives import PRIMITIVES

    zeta = PRIMITIVES["zeta"]
    body = program_of(lambda q, x: (bind(zeta, x, q),), f8(), f8())
    program = scanned(body, 1, 1, None)
    with pytest.raises(MissingRuleError, match="zeta") as caught:
        jvp(program, [False, False, True])
    assert caught.value.origin == 0


def test_tapes_are_made_longer_throughout_a_program() -> None:
    test = program_of(lambda x: (np.less(x, 10.0),), f8())
    body = program_of(lambda x: (np.exp(x * 0.1) + x,), f8())

    def loop(x: Any) -> Any:
        return bind(WHILE, x, test=test, body=body, constants=0, carried=1, length=None)

    pulled = simplify(vjp(program_of(loop, f8()), [True]))
    length = loops(pulled)[0].params["length"]
    longer = check_program(lengthened(pulled, length))
    assert loops(longer)[0].params["length"] > length
    for one, other in zip(
        run(pulled, np.float64(0.3), np.float64(1.0)),
        run(longer, np.float64(0.3), np.float64(1.0)),
        strict=True,
    ):
        assert one == other


def test_taylor_coefficients_are_carried_by_one_loop() -> None:
    expanded = simplify(taylor(decay(), 3, [(), (True,), (), (True, True), ()]))
    (loop,) = loops(expanded)
    assert loop.params["carried"] == 4


def test_a_program_may_hold_a_loop_twice() -> None:
    program = decay()
    builder = Builder()
    inputs = [builder.input(type_) for type_ in program.input_types]
    (first,) = builder.inline(program, inputs)
    (second,) = builder.inline(program, [*inputs[:3], first, inputs[4]])
    twice = builder.build([second])
    values = run(vjp(twice, [False, True, False, False, False]), *arguments(), np.ones(3))
    h = 1e-6
    count, a, *rest = arguments()
    up, down = run(twice, count, a + h, *rest), run(twice, count, a - h, *rest)
    assert np.isclose(values[1], np.sum(up - down) / (2 * h), rtol=1e-6)
    assert isinstance(Expression(builder, first).shape, tuple)
