"""The checker of programs finds what is planted."""

from __future__ import annotations

import numpy as np
import pytest

from adjoint.base.arrays import array_type
from adjoint.base.errors import ProgramError
from adjoint.primitives import PRIMITIVES
from adjoint.primitives.structure.contraction import contract
from adjoint.program import Equation, Program, Variable, check_linear, check_program, operation
from tests.building import f8, program_of

SIN = operation(PRIMITIVES["sin"])


def test_a_right_program_is_returned() -> None:
    program = program_of(np.sin, f8(3))
    assert check_program(program) is program


def test_an_input_twice() -> None:
    x = Variable(f8(3))
    with pytest.raises(ProgramError, match="An input occurs twice"):
        check_program(Program([x, x], [], [x]))


def test_a_variable_assigned_twice() -> None:
    x, y = Variable(f8(3)), Variable(f8(3))
    twice = [Equation(SIN, [x], [y]), Equation(SIN, [y], [y])]
    with pytest.raises(
        ProgramError, match=r"In equation 1 \(sin\), a variable is assigned a second"
    ):
        check_program(Program([x], twice, [y]))
    with pytest.raises(ProgramError, match="assigned a second time"):
        check_program(Program([x], [Equation(SIN, [x], [x])], [x]))


def test_an_operand_before_it_is_assigned() -> None:
    x, y, z = (Variable(f8(3)) for _ in range(3))
    wrong_order = [Equation(SIN, [y], [z]), Equation(SIN, [x], [y])]
    with pytest.raises(ProgramError, match="used before it is assigned"):
        check_program(Program([x], wrong_order, [z]))


@pytest.mark.parametrize("type_", [f8(4), array_type((3,), np.dtype(np.float32)), f8(3, 1)])
def test_a_result_of_another_type(type_: object) -> None:
    x, y = Variable(f8(3)), Variable(type_)  # type: ignore[arg-type]
    with pytest.raises(ProgramError, match="the results have types"):
        check_program(Program([x], [Equation(SIN, [x], [y])], [y]))


def test_a_wrong_number_of_results() -> None:
    x, y, z = (Variable(f8(3)) for _ in range(3))
    with pytest.raises(ProgramError, match="the results have types"):
        check_program(Program([x], [Equation(SIN, [x], [y, z])], [y]))


def test_an_output_that_is_never_assigned() -> None:
    x = Variable(f8(3))
    with pytest.raises(ProgramError, match="never assigned"):
        check_program(Program([x], [], [Variable(f8(3))]))


def test_linearity() -> None:
    program = program_of(lambda a, x: contract(a, x + x, "ij,j->i"), f8(2, 3), f8(3))
    a, x = program.inputs
    assert check_linear(program, [x]) is program
    assert check_linear(program, [a]) is program
    with pytest.raises(
        ProgramError, match=r"contract\[.*\]\) is not linear in its operands \[0, 1\]"
    ):
        check_linear(program, [a, x])
    program = program_of(lambda x: np.sin(-x), f8(3))
    with pytest.raises(ProgramError, match=r"Equation 1 \(sin\) is not linear"):
        check_linear(program, program.inputs)
