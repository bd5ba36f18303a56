"""Marks that mean nothing once derivatives are taken: programs are run without them."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

from adjoint.optimise.simplify import eliminate_dead_code
from adjoint.primitives.elementwise.arithmetic import POWER
from adjoint.primitives.elementwise.smooth import ROOT_OF_POWERS, ROOT_OF_SQUARES, SQRT
from adjoint.primitives.hardness import HARD, TAME
from adjoint.primitives.identities import SAME_AS
from adjoint.program import Atom, Equation, Program, Variable, operation
from adjoint.program.nested import held_programs

_MARKS = (HARD, TAME, SAME_AS)
PLAIN: Final = {ROOT_OF_SQUARES: SQRT, ROOT_OF_POWERS: POWER}  # what norms are computed as


def bare(program: Program) -> Program:
    """The program without marks, and without what they alone have used."""
    if not any(map(_is_marked, program.equations)):
        return program
    return _bare(program)


def _is_marked(equation: Equation) -> bool:
    if equation.primitive in _MARKS or equation.primitive in PLAIN:
        return True
    return any(any(map(_is_marked, body.equations)) for body in held_programs(equation.operation))


@lru_cache(maxsize=256)
def _bare_body(program: Program) -> Program:
    return bare(program)


def _bare(program: Program) -> Program:
    names: dict[Variable, Atom] = {}

    def name(atom: Atom) -> Atom:
        return names.get(atom, atom) if isinstance(atom, Variable) else atom

    equations = []
    for equation in program.equations:
        inputs = [name(atom) for atom in equation.inputs]
        if equation.primitive in _MARKS:
            names[equation.outputs[0]] = inputs[0]
            continue
        op = equation.operation
        if equation.primitive in PLAIN:
            op = operation(PLAIN[equation.primitive])
        elif _is_marked(equation):
            op = operation(equation.primitive, **{n: _value(v) for n, v in op.params.items()})
        equations.append(Equation(op, inputs, equation.outputs, equation.origin, equation.derived))
    return eliminate_dead_code(Program(program.inputs, equations, map(name, program.outputs)))


def _value(value: Any) -> Any:
    """A parameter, with programs in it without marks."""
    if isinstance(value, Program):
        return _bare_body(value)
    if isinstance(value, tuple) and value and isinstance(value[0], Program):
        return tuple(map(_bare_body, value))
    return value
