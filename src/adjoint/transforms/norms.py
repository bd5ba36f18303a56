"""Square roots of sums of squares: norms, whose slope at zero is a choice, and 0.

The chain rule has infinity times 0 there. Under the root every term is a square, so that the sum is
zero only with all of them, and its derivative with it: the root's infinite slope stands beside
zeros alone, and is taken for 0 (`TAME`).
"""

from __future__ import annotations

from typing import Any

from adjoint.primitives.elementwise.arithmetic import ADD, DIVIDE, INTEGER_POWER, MULTIPLY, SQUARE
from adjoint.primitives.elementwise.conversion import CAST, CONJUGATE, PYTHON_NUMBER, REAL
from adjoint.primitives.elementwise.kinks import ABSOLUTE
from adjoint.primitives.elementwise.smooth import ROOT_OF_SQUARES, SQRT
from adjoint.primitives.structure.contraction import CONTRACT, split_spec
from adjoint.primitives.structure.gathering import GATHER
from adjoint.primitives.structure.moving import BROADCAST, RESHAPE, SUM, TRANSPOSE
from adjoint.primitives.structure.slicing import CONCATENATE, SLICE, STACK
from adjoint.program import Atom, Equation, Literal, Program, Variable, operation

_MOVED = frozenset({SUM, RESHAPE, TRANSPOSE, BROADCAST, SLICE, GATHER, CAST, REAL, PYTHON_NUMBER})
_JOINED = frozenset({ADD, STACK, CONCATENATE})


def with_norms(program: Program) -> Program:
    """The program with its norms written as such."""
    if all(equation.primitive is not SQRT for equation in program.equations):
        return program
    makers = {equation.outputs[0]: equation for equation in program.equations if equation.outputs}
    root = operation(ROOT_OF_SQUARES)
    equations = [
        Equation(root, equation.inputs, equation.outputs, equation.origin, equation.derived)
        if equation.primitive is SQRT and _of_squares(equation.inputs[0], makers)
        else equation
        for equation in program.equations
    ]
    return Program(program.inputs, equations, program.outputs)


def _of_squares(atom: Atom, makers: dict[Variable, Equation], summed: bool = False) -> bool:
    """Whether a real value is made of squares so that it is zero where all of them are.

    summed: whether it is a term of a sum, in which all terms must have one sign.
    """
    equation = makers.get(atom) if isinstance(atom, Variable) else None
    if equation is None or atom.type.dtype.kind not in "fc":
        return False
    primitive, inputs, params = equation.primitive, equation.inputs, equation.params
    if primitive in _MOVED:
        return _of_squares(inputs[0], makers, summed or primitive is SUM)
    if primitive in _JOINED:
        return all(_of_squares(term, makers, summed or primitive is ADD) for term in inputs)
    if primitive is DIVIDE:  # by one number, whose sign all terms share, or each by its own
        alone = inputs[0].type.shape == atom.type.shape and not summed
        return (alone or inputs[1].type.size == 1) and _of_squares(inputs[0], makers, summed)
    if primitive is MULTIPLY and isinstance(inputs[1], Literal):
        factor = inputs[1].value
        return (
            isinstance(factor, (int, float))
            and factor > 0
            and _of_squares(inputs[0], makers, summed)
        )
    if primitive in (SQUARE, INTEGER_POWER):
        return _is_even(inputs[0], params.get("exponent", 2), makers)
    if primitive is CONTRACT:
        left, right, _ = split_spec(params["spec"])
        return left == right and _same_size(inputs[0], inputs[1], makers)
    return primitive is MULTIPLY and _same_size(inputs[0], inputs[1], makers)


def _is_even(x: Atom, exponent: int, makers: dict[Variable, Equation]) -> bool:
    """Whether a power is not negative, and grows at least as a square."""
    if exponent < 2 or x.type.dtype.kind != "f":
        return False
    maker: Any = makers.get(x) if isinstance(x, Variable) else None
    return exponent % 2 == 0 or (maker is not None and maker.primitive is ABSOLUTE)


def _same_size(x: Atom, y: Atom, makers: dict[Variable, Equation]) -> bool:
    """Whether two factors are one and the same real value, or a value and its conjugate."""
    if x.type.dtype.kind == "f":
        return x is y
    for one, other in ((x, y), (y, x)):
        maker = makers.get(one) if isinstance(one, Variable) else None
        if maker is not None and maker.primitive is CONJUGATE and maker.inputs[0] is other:
            return True
    return False
