"""Longer tapes: a program in which a loop that has run out of rows is given more."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from adjoint.base.arrays import ArrayType, array_type
from adjoint.base.errors import TapeOverflowError
from adjoint.loops.declared import SCAN
from adjoint.loops.tapes import LENGTHS, longer
from adjoint.program import (
    Atom,
    Builder,
    Equation,
    Literal,
    Program,
    Variable,
    held_programs,
    operation,
)


def is_tape_length(length: int) -> bool:
    """Whether it is a length that was guessed, and may be another."""
    return length in LENGTHS


def reaches_all_rows(loop: Equation) -> bool:
    """Whether a loop reaches all of its rows that are ever read.

    Those of a tape are read for the rounds that were made; others are to be zero beyond them.
    """
    length = loop.params["length"]
    if length is None or is_tape_length(length):
        return True
    count = loop.inputs[0] if loop.primitive is SCAN else None
    return isinstance(count, Literal) and bool(count.value == length)


def lengthened(program: Program, length: int) -> Program:
    """The program with longer tapes in the place of those of this length.

    A tape's length is a prime number that nothing else has, so that it can be told wherever it
    occurs: in the types of arrays, and in the parameters of what is done to them.

    Raises:
        TapeOverflowError: the user's arrays have an axis of just that length.
    """
    if length in set(_lengths_of_users(program)):
        raise TapeOverflowError(
            length,
            "and cannot be made longer, since another array has as many. Pass checkpoint='log' to "
            "the loop, or choose other sizes",
        )
    return _Lengthening(length, longer(length)).program(program)


def _lengths_of_users(program: Program) -> Iterator[int]:
    """The lengths of the axes of arrays that no tape has to do with."""
    for variable in program.inputs:
        yield from variable.type.shape
    for equation in program.equations:
        held = list(held_programs(equation.operation))
        for body in held:
            yield from _lengths_of_users(Program((), body.equations, ()))
        if not equation.transformed and not held:
            for variable in equation.outputs:
                yield from variable.type.shape


class _Lengthening:
    """Replaces one length by another."""

    def __init__(self, old: int, new: int) -> None:
        self.old = old
        self.new = new

    def program(self, program: Program) -> Program:
        """The program with the new length."""
        builder = Builder()
        names: dict[Variable, Atom] = {
            variable: builder.input(self.value(variable.type)) for variable in program.inputs
        }
        for equation in program.equations:
            builder.origin, builder.derived = equation.origin, equation.derived
            operands = [names[x] if isinstance(x, Variable) else x for x in equation.inputs]
            params = {name: self.value(value) for name, value in equation.params.items()}
            results = builder.emit(operation(equation.primitive, **params), operands)
            names.update(zip(equation.outputs, results, strict=True))
        return builder.build(names[x] if isinstance(x, Variable) else x for x in program.outputs)

    def value(self, value: Any) -> Any:
        """A parameter, or a part of one."""
        if type(value) is int:
            return self.new if value == self.old else value
        if isinstance(value, tuple) and type(value) is tuple:
            return tuple(map(self.value, value))
        if isinstance(value, Program):
            return self.program(value)
        if isinstance(value, ArrayType):
            return array_type(self.value(value.shape), value.dtype, value.weak)
        return value
