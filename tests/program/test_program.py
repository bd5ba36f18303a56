"""Programs: how they are built, compared, copied and printed."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from adjoint.base.arrays import array_type
from adjoint.base.errors import DTypeError, ShapeError
from adjoint.primitives import PRIMITIVES
from adjoint.primitives.structure.contraction import contract
from adjoint.primitives.structure.moving import sum_axes
from adjoint.program import Builder, Equation, Literal, Program, operation
from adjoint.program.printer import variable_name
from tests.building import f8, names, program_of


def loss(w: object, x: object, y: object) -> object:
    residual = np.tanh(contract(w, x, "ij,j->i")) - y  # type: ignore[operator]
    return sum_axes(np.square(residual), (0,))


LOSS_TYPES = (f8(2, 3), f8(3), f8(2))
LOSS_TEXT = """\
program(a: f8[2,3], b: f8[3], c: f8[2]) {
  d: f8[2] = contract[spec=ab,b->a] a b
  e: f8[2] = tanh d
  f: f8[2] = subtract e c
  g: f8[2] = square f
  h: f8[] = sum[axes=(0,)] g
  return h
}"""


def test_the_text_form() -> None:
    program = program_of(loss, *LOSS_TYPES)
    assert str(program) == LOSS_TEXT
    assert str(program_of(loss, *LOSS_TYPES)) == LOSS_TEXT
    assert repr(program) == "<Program of 5 equations, 3 inputs, 1 outputs>"
    assert len(program) == 5


def test_the_text_form_of_literals_and_python_scalars() -> None:
    weak = array_type((), np.dtype(float), weak=True)
    program = program_of(lambda x, t: np.power(x, t) * 2.5, f8(2), weak)
    assert str(program).splitlines() == [
        "program(a: f8[2], b: python float) {",
        "  c: f8[2] = power a b",
        "  d: f8[2] = multiply c 2.5",
        "  return d",
        "}",
    ]
    assert str(Program((), (), ())) == "program() {\n  return\n}"


def test_names_of_variables_go_on_after_z() -> None:
    numbers = (0, 25, 26, 51, 52, 701, 702)
    assert [variable_name(n) for n in numbers] == ["a", "z", "aa", "az", "ba", "zz", "aaa"]


def test_equality_is_that_of_structure() -> None:
    one, other = program_of(loss, *LOSS_TYPES), program_of(loss, *LOSS_TYPES)
    assert one == other
    assert hash(one) == hash(other)
    assert len({one, other}) == 1
    assert one != program_of(loss, f8(2, 4), f8(4), f8(2))
    assert one != program_of(lambda w, x, y: loss(w, x, y * 1.0), *LOSS_TYPES)
    assert one != "a program"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (lambda x, y: x - y, lambda x, y: y - x),
        (lambda x, y: x * 2.0, lambda x, y: x * 2),
        (lambda x, y: x * 0.0, lambda x, y: x * -0.0),
        (lambda x, y: (x, y), lambda x, y: (y, x)),
        (lambda x, y: sum_axes(x, (0,)), lambda x, y: sum_axes(x, (1,))),
    ],
    ids=["operands", "weak literals", "signed zeros", "outputs", "parameters"],
)
def test_programs_that_differ(first: object, second: object) -> None:
    types = (f8(2, 2), f8(2, 2))
    assert program_of(first, *types) != program_of(second, *types)  # type: ignore[arg-type]


def test_what_the_user_wrote_differs_from_what_a_transform_wrote() -> None:
    """They run differently: the one warns, the other does not."""
    program = program_of(np.log, f8())
    (equation,) = program.equations
    derived = Equation(equation.operation, equation.inputs, equation.outputs, derived=True)
    assert program != Program(program.inputs, [derived], program.outputs)


def test_operations_are_interned_and_remember_types() -> None:
    total = PRIMITIVES["sum"]
    op = operation(total, axes=(0,))
    assert op is operation(total, axes=(0,))
    assert op is not operation(total, axes=(1,))
    assert op.infer((f8(2, 3),)) == (f8(3),)
    assert op.infer((f8(2, 3),)) is op.infer((f8(2, 3),))


def test_inlining_keeps_meaning_and_marks() -> None:
    inner = program_of(lambda x: np.sin(x) * 2.0, f8(3))
    builder = Builder()
    argument = builder.input(f8(3))
    (result,) = builder.inline(inner, [argument])
    assert builder.build([result]) == inner
    assert builder.derived is False
    marked = Program(
        inner.inputs,
        [Equation(e.operation, e.inputs, e.outputs, 7, True) for e in inner.equations],
        inner.outputs,
    )
    builder = Builder()
    copied = builder.build(builder.inline(marked, [builder.input(f8(3))]))
    assert [(e.origin, e.derived) for e in copied.equations] == [(7, True)] * 2


def test_a_program_may_return_inputs_and_literals() -> None:
    builder = Builder()
    x = builder.input(f8(2))
    program = builder.build([x, x, Literal(2.0)])
    assert str(program).splitlines()[-2] == "  return a, a, 2.0"
    assert [str(t) for t in program.output_types] == ["f8[2]", "f8[2]", "python float"]


def test_types_are_inferred_as_equations_come() -> None:
    program = program_of(loss, *LOSS_TYPES)
    assert names(program) == ["contract", "tanh", "subtract", "square", "sum"]
    with pytest.raises(ShapeError, match="axes that must agree have lengths 3 and 4"):
        program_of(loss, f8(2, 3), f8(4), f8(2))
    with pytest.raises(
        ShapeError, match=r"could not be broadcast together with shapes \(2,\) \(3,\)"
    ):
        program_of(lambda x, y: x + y, f8(2), f8(3))
    with pytest.raises(DTypeError, match="arctan2 is not defined for"):
        program_of(np.arctan2, array_type((2,), np.dtype(complex)), f8(2))


def test_types_and_primitives_survive_pickling() -> None:
    type_ = f8(2, 3)
    assert pickle.loads(pickle.dumps(type_)) is type_
    assert pickle.loads(pickle.dumps(PRIMITIVES["sin"])) is PRIMITIVES["sin"]
