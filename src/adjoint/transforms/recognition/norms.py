"""Square roots of sums of squares: norms, whose slope at zero is a choice, and 0.

The chain rule has infinity times 0 there. Under the root every term is a square, so that the sum is
zero only with all of them, and its derivative with it: the root's infinite slope stands beside
zeros alone, and is taken for 0 (`TAME`). Squares of tiny numbers are 0 as well, by underflow; there
the slope stays infinite (`of_nothing`).
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from adjoint.primitives.elementwise.arithmetic import (
    ADD,
    DIVIDE,
    INTEGER_POWER,
    MULTIPLY,
    POWER,
    SQUARE,
)
from adjoint.primitives.elementwise.conversion import CAST, CONJUGATE, PYTHON_NUMBER, REAL, cast
from adjoint.primitives.elementwise.kinks import ABSOLUTE
from adjoint.primitives.elementwise.smooth import ROOT_OF_SQUARES, SQRT
from adjoint.primitives.expression import Expression
from adjoint.primitives.structure.contraction import CONTRACT, split_spec
from adjoint.primitives.structure.gathering import GATHER
from adjoint.primitives.structure.moving import BROADCAST, RESHAPE, SUM, TRANSPOSE, broadcast_to
from adjoint.primitives.structure.slicing import CONCATENATE, SLICE, STACK
from adjoint.program import Atom, Builder, Equation, Literal, Program, Variable, operation

_MOVED = frozenset({SUM, RESHAPE, TRANSPOSE, BROADCAST, SLICE, GATHER, CAST, REAL, PYTHON_NUMBER})
_JOINED = frozenset({ADD, STACK, CONCATENATE})
_ANOTHER_TYPE = frozenset({CAST, REAL, PYTHON_NUMBER})
_POWERS = frozenset({SQUARE, INTEGER_POWER, POWER})
_PRODUCTS = frozenset({CONTRACT, MULTIPLY})
_READ = _MOVED | _JOINED | _POWERS | _PRODUCTS | {DIVIDE}


def with_norms(program: Program) -> Program:
    """The program with its norms written as such."""
    if all(equation.primitive is not SQRT for equation in program.equations):
        return program
    makers = {equation.outputs[0]: equation for equation in program.equations if equation.outputs}
    root = operation(ROOT_OF_SQUARES)
    known: dict[tuple[Atom, bool], bool] = {}
    equations = [
        Equation(root, equation.inputs, equation.outputs, equation.origin, equation.derived)
        if equation.primitive is SQRT and _of_squares(equation.inputs[0], makers, known)
        else equation
        for equation in program.equations
    ]
    return Program(program.inputs, equations, program.outputs)


def _of_squares(
    atom: Atom,
    makers: dict[Variable, Equation],
    known: dict[tuple[Atom, bool], bool],
    summed: bool = False,
) -> bool:
    """Whether a real value is made of squares so that it is zero where all of them are.

    known: what was asked before: a value that is added to itself is looked at once. summed: whether
        it is a term of a sum, in which all terms must have one sign.
    """
    if (atom, summed) not in known:
        known[atom, summed] = _is_of_squares(atom, makers, known, summed)
    return known[atom, summed]


def _is_of_squares(
    atom: Atom,
    makers: dict[Variable, Equation],
    known: dict[tuple[Atom, bool], bool],
    summed: bool,
) -> bool:
    equation = makers.get(atom) if isinstance(atom, Variable) else None
    if equation is None or atom.type.dtype.kind not in "fc":
        return False
    primitive, inputs, params = equation.primitive, equation.inputs, equation.params
    below = partial(_of_squares, makers=makers, known=known)
    if primitive in _MOVED:
        return below(inputs[0], summed=summed or primitive is SUM)
    if primitive in _JOINED:
        return all(below(term, summed=summed or primitive is ADD) for term in inputs)
    if primitive is DIVIDE:  # by one number, whose sign all terms share, or each by its own
        alone = inputs[0].type.shape == atom.type.shape and not summed
        return (alone or inputs[1].type.size == 1) and below(inputs[0], summed=summed)
    if primitive is MULTIPLY and isinstance(inputs[1], Literal):
        factor = inputs[1].value
        positive = isinstance(factor, (int, float)) and factor > 0
        return positive and below(inputs[0], summed=summed)
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


def of_nothing(atom: Atom, makers: dict[Atom, Equation], builder: Builder) -> Expression:
    """Where all terms of a sum of squares or powers are those of zeros, and not merely tiny.

    makers: the equations of the builder, by their results.
    """
    terms: Any = _terms(atom, makers, builder, {})
    return np.equal(terms, 0)  # type: ignore[no-any-return]


def _terms(
    atom: Atom, makers: dict[Atom, Equation], builder: Builder, known: dict[Atom, Expression]
) -> Expression:
    """The same sum with 1 in place of each term that is of a number other than 0."""
    if atom not in known:
        equation = makers.get(atom) if isinstance(atom, Variable) else None
        if equation is None or equation.primitive not in _READ:
            known[atom] = _ones(atom, builder)
        elif equation.primitive in _POWERS:
            known[atom] = broadcast_to(_ones(equation.inputs[0], builder), atom.type.shape)
        elif equation.primitive in _ANOTHER_TYPE:
            known[atom] = _terms(equation.inputs[0], makers, builder, known)
        else:
            inputs = list(equation.inputs)
            if equation.primitive in _PRODUCTS and not isinstance(inputs[1], Literal):
                inputs = [_ones(x, builder).atom for x in inputs]
            else:
                count = len(inputs) if equation.primitive in _JOINED else 1
                terms = (_terms(x, makers, builder, known) for x in inputs[:count])
                inputs[:count] = [term.atom for term in terms]
            (total,) = builder.emit(equation.operation, inputs)
            known[atom] = Expression(builder, total)
    return known[atom]


def _ones(atom: Atom, builder: Builder) -> Expression:
    """1 where a value is not 0."""
    value: Any = Expression(builder, atom)
    return cast(np.not_equal(value, 0), np.dtype(float))
