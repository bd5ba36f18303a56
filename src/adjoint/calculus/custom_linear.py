"""The linear part of a user's derivative rule: checked to be linear, and written out as a program.

A rule is captured with a tangent for every operand. Where only some of them move, the zeros of the
others are followed through the program, and nothing is computed for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any

import numpy as np

from adjoint.base.arrays import ArrayType
from adjoint.base.errors import NotLinearError
from adjoint.primitives.custom import CONSTANT, Constant, Marks, Pushed
from adjoint.primitives.declaration import Each, Joint
from adjoint.primitives.expression import Expression
from adjoint.primitives.structure import zeros
from adjoint.program import Atom, Builder, Equation, Literal, Program, Variable, operation


class _Kind(Enum):
    """How a value of the rule depends on the tangents."""

    FIXED = "not at all"
    LINEAR = "linearly"
    ZERO = "it is zero"


class _Writer:
    """Writes the linear part of one rule."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.builder = Builder()
        self.kinds: dict[Variable, _Kind] = {}
        self.names: dict[Variable, Atom] = {}
        self.constants: dict[Variable, Any] = {}

    def kind(self, atom: Atom) -> _Kind:
        if isinstance(atom, Literal):
            return _Kind.FIXED if atom.value else _Kind.ZERO
        return self.kinds[atom]

    def use(self, atom: Atom) -> Atom:
        """An atom in the program that is written; constants and zeros are written when first used."""
        if isinstance(atom, Literal):
            return atom
        found = self.names.get(atom)
        if found is None:
            if atom in self.constants:
                found = _constant(self.builder, self.constants[atom])
            else:
                found = _zero(self.builder, atom.type)
            self.names[atom] = found
        return found

    def add(self, equation: Equation) -> None:
        """Take over an equation, unless its results are zero."""
        inputs = equation.inputs
        kinds = [self.kind(atom) for atom in inputs]
        linear = tuple(kind is _Kind.LINEAR for kind in kinds)
        zero = tuple(kind is _Kind.ZERO for kind in kinds)
        kind = self._result(equation, linear, zero)
        self.kinds.update((variable, kind) for variable in equation.outputs)
        if kind is _Kind.ZERO:
            return
        if equation.primitive.name == "add" and sum(linear) == sum(zero) == 1:
            kept = inputs[linear.index(True)]
            if kept.type is equation.outputs[0].type:
                self.names[equation.outputs[0]] = self.use(kept)
                return
        outputs = self.builder.emit(equation.operation, [self.use(atom) for atom in inputs])
        self.names.update(zip(equation.outputs, outputs, strict=True))

    def _result(self, equation: Equation, linear: Marks, zero: Marks) -> _Kind:
        """How the results of an equation depend on the tangents; NotLinearError if not linearly."""
        rule = equation.primitive.linear
        if not any(linear) and not any(zero):
            return _Kind.FIXED
        if isinstance(rule, Joint):
            joint = range(len(linear)) if rule.places is None else sorted(rule.places)
            inside = [place for place in joint if place < len(linear)]
            if all(zero[place] for place in inside):
                if not any(linear):
                    return _Kind.ZERO
            elif not any(linear):
                return _Kind.FIXED
            elif all(linear[place] or zero[place] for place in inside) and rule.allows(linear):
                return _Kind.LINEAR
        elif isinstance(rule, Each):
            places = [place for place, mark in enumerate(zero) if mark]
            if any(rule.allows(_only(place, len(zero))) for place in places):
                return _Kind.ZERO
            if not any(linear):
                return _Kind.FIXED
            if rule.allows(linear):
                return _Kind.LINEAR
        elif not any(linear):
            return _Kind.FIXED
        raise NotLinearError(
            f"The derivative given for {self.name} is not linear in "
            f"{'the tangents' if 'VJP' not in self.name else 'the cotangents'}: "
            f"{equation.operation!r} is applied to what depends on them"
            f"{' and to what does not' if rule is not None else ''}. "
            "A derivative is a linear map: it may scale and add tangents, and nothing else."
        )


def linear_part(
    program: Program,
    fixed: int,
    moving: Marks,
    constants: Sequence[Any],
    types: Sequence[ArrayType],
    name: str,
) -> Pushed:
    """The program of a rule's linear part.

    Args:
        program: (operands, tangents, constants) -> tangents of the results.
        fixed: how many operands there are.
        moving: for each tangent, whether it is not zero.
        constants: the values of the constants, which are written into the program.
        types: of the results, as they should be.
        name: of the rule, for errors.

    Returns:
        (operands, tangents that move) -> the results that are not zero.

    Raises:
        NotLinearError: the results are not linear in the tangents.
    """
    writer = _Writer(name)
    operands = program.inputs[:fixed]
    tangents = program.inputs[fixed : fixed + len(moving)]
    for variable in operands:
        writer.kinds[variable] = _Kind.FIXED
        writer.names[variable] = writer.builder.input(variable.type)
    for variable, mark in zip(tangents, moving, strict=True):
        writer.kinds[variable] = _Kind.LINEAR if mark else _Kind.ZERO
        if mark:
            writer.names[variable] = writer.builder.input(variable.type)
    for variable, value in zip(program.inputs[fixed + len(moving) :], constants, strict=True):
        empty = variable.type.inexact and not np.any(value)
        writer.kinds[variable] = _Kind.ZERO if empty else _Kind.FIXED
        writer.constants[variable] = value
    for equation in program.equations:
        writer.add(equation)
    results, varying = [], []
    for atom, type_ in zip(program.outputs, types, strict=True):
        kind = writer.kind(atom)
        if kind is _Kind.FIXED:
            raise NotLinearError(
                f"The derivative given for {name} is not linear: a result of type {type_} does not "
                "depend on the tangents, and is not zero. Return zeros for what does not move."
            )
        varying.append(kind is _Kind.LINEAR)
        if kind is _Kind.LINEAR:
            results.append(writer.use(atom))
    return Pushed(writer.builder.build(results), tuple(varying))


def whole_program(pushed: Pushed, types: Sequence[ArrayType]) -> Program:
    """The same program with all results, zeros written out."""
    builder = Builder()
    inputs = [builder.input(variable.type) for variable in pushed.program.inputs]
    found = iter(builder.inline(pushed.program, inputs))
    return builder.build(
        next(found) if mark else zeros(builder, type_).atom
        for mark, type_ in zip(pushed.varying, types, strict=True)
    )


def _only(place: int, count: int) -> Marks:
    return tuple(other == place for other in range(count))


def _constant(builder: Builder, value: Any) -> Atom:
    if not isinstance(value, np.ndarray):
        return Literal(value)
    held = operation(CONSTANT, array=Constant(value))
    return builder.emit(held, ())[0]


def _zero(builder: Builder, type: ArrayType) -> Atom:
    if type.weak:
        return Literal(type.dtype.type(0).item())
    found: Expression = zeros(builder, type)
    return found.atom


