"""The programs that loops and branches hold, and what transforms do to them.

The rules of loops ask for the same thing over and over, at every order of a derivative: answers are
remembered, by structure. What optimises and compiles bodies stands on higher floors, which fill in
`SHORTEN` and `COMPILE` when they are imported.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, Final, TypeVar

from adjoint.base.arrays import ArrayType
from adjoint.base.errors import AdjointError
from adjoint.base.settings import settings
from adjoint.primitives.elementwise.conversion import cast
from adjoint.primitives.expression import Expression
from adjoint.primitives.structure.moving import broadcast_to, zeros
from adjoint.program import Atom, Builder, Operation, Program, Variable
from adjoint.transforms.jvp import push_forward, tangent_type
from adjoint.transforms.pieces import Halves, Marked, Marks, chosen, spread
from adjoint.transforms.staging import cut, split_equations
from adjoint.transforms.taylor_mode.taylor import expand
from adjoint.transforms.transpose import pull_back
from adjoint.transforms.vmap import over_batch

_REMEMBERED = 1024
F = TypeVar("F", bound=Callable[..., Any])


def _unset(*args: Any, **kwargs: Any) -> Any:
    raise RuntimeError("adjoint.executors was not imported")


# (operation, types of its operands) -> a function of arrays that gives the results, or None.
COMPILE: Callable[[Operation, tuple[ArrayType, ...]], Any] = _unset
# program -> the same results by fewer equations.
SHORTEN: Callable[[Program], Program] = _unset


def interpreted(program: Program) -> Callable[..., tuple[Any, ...]]:
    """A program as a function of arrays, one equation after another."""

    def run(*arguments: Any) -> tuple[Any, ...]:
        values: dict[Variable, Any] = dict(zip(program.inputs, arguments, strict=True))
        for equation in program.equations:
            operands = [
                values[atom] if isinstance(atom, Variable) else atom.value
                for atom in equation.inputs
            ]
            results = equation.primitive.evaluate(*operands, **equation.params)
            if not equation.primitive.multiple:
                results = (results,)
            values.update(zip(equation.outputs, results, strict=True))
        return tuple(
            values[atom] if isinstance(atom, Variable) else atom.value for atom in program.outputs
        )

    return run


_memories: Final[list[Callable[[], None]]] = []


def forget_bodies() -> None:
    """Let go of all that is remembered of bodies."""
    for forget in _memories:
        forget()


def remembered(function: F) -> F:
    """A function that remembers, apart for each way of treating kinks."""

    @lru_cache(_REMEMBERED)
    def at(kink: Any, *arguments: Any) -> Any:
        return function(*arguments)

    _memories.append(at.cache_clear)

    @wraps(function)
    def ask(*arguments: Any) -> Any:
        try:
            return at(settings().kink, *arguments)
        except AdjointError as error:
            error.origin = None  # the number of an operation of the body; the loop's own is wanted
            raise

    return ask  # type: ignore[return-value]


def _tangent(builder: Builder, slope: Atom | None, atom: Atom) -> Atom:
    """A tangent of an output, written out where it is zero, and of the type that is promised."""
    type_ = tangent_type(atom.type)
    if slope is None:
        return zeros(builder, type_).atom
    return broadcast_to(cast(Expression(builder, slope), type_.dtype), type_.shape).atom


@remembered
def push(program: Program, active: Marks, filled: Marks) -> Marked:
    """(inputs, tangents of the active ones) -> (outputs, tangents of those that vary)."""
    builder = Builder()
    primals = [builder.input(variable.type) for variable in program.inputs]
    tangents = [
        builder.input(tangent_type(variable.type)) if mark else None
        for variable, mark in zip(program.inputs, active, strict=True)
    ]
    outputs, slopes = push_forward(builder, program, primals, tangents)
    builder.derived = True
    marks = tuple(
        fill or (slope is not None and atom.type.inexact)
        for slope, fill, atom in zip(slopes, filled, program.outputs, strict=True)
    )
    wanted = chosen(zip(slopes, program.outputs, strict=True), marks)
    return Marked(builder.build([*outputs, *(_tangent(builder, *pair) for pair in wanted)]), marks)


@remembered
def cut_body(program: Program, late: Marks, forced: Marks) -> Halves:
    """The program cut in two by which inputs are late."""
    return cut(program, late, forced)


@remembered
def pull(program: Program, linear: Marks, seeded: Marks, gathering: Marks, filled: Marks) -> Marked:
    """(other inputs, gathered so far, cotangents of seeded outputs) -> cotangents of inputs."""
    builder = Builder()
    inputs = program.inputs
    names: dict[Variable, Atom] = {
        variable: builder.input(variable.type) for variable in chosen(inputs, linear, False)
    }
    gathered = {
        variable: Expression(builder, builder.input(variable.type))
        for variable in chosen(inputs, gathering)
    }
    cotangents = [
        builder.input(tangent_type(atom.type)) for atom in chosen(program.outputs, seeded)
    ]
    moving = chosen(inputs, linear)
    fixed, late = split_equations(program.equations, moving)
    builder.copy_equations(fixed, names)
    seeds = chosen(program.outputs, seeded)
    pulled = pull_back(builder, late, names, seeds, cotangents, moving, gathered)
    builder.derived = True
    marks = tuple(
        fill or cotangent is not None for cotangent, fill in zip(pulled, filled, strict=True)
    )
    wanted = chosen(zip(pulled, moving, strict=True), marks)
    return Marked(builder.build([_tangent(builder, *pair) for pair in wanted]), marks)


@remembered
def batch(program: Program, batched: Marks, size: int, filled: Marks) -> Marked:
    """The program over a batch; outputs that are the same for all examples have no axis of them."""
    return Marked(*over_batch(program, batched, size, filled))


@remembered
def expand_body(
    program: Program, order: int, given: tuple[Marks, ...], filled: tuple[Marks, ...]
) -> tuple[Program, tuple[Marks, ...]]:
    """(inputs, given coefficients) -> (outputs, their coefficients), input by input."""
    builder = Builder()
    values = [builder.input(variable.type) for variable in program.inputs]
    known = [
        spread([builder.input(tangent_type(x.type)) for _ in range(sum(marks))], marks)
        for x, marks in zip(program.inputs, given, strict=True)
    ]
    outputs, series = expand(builder, program, values, known, order)
    builder.derived = True
    marks = tuple(
        tuple(
            fill or (x is not None and atom.type.inexact)
            for x, fill in zip(row, fills, strict=True)
        )
        for row, fills, atom in zip(series, filled, program.outputs, strict=True)
    )
    coefficients = [
        _tangent(builder, coefficient, atom)
        for row, fills, atom in zip(series, marks, program.outputs, strict=True)
        for coefficient in chosen(row, fills)
    ]
    return builder.build([*outputs, *coefficients]), marks


def linear_outputs(program: Program, marks: Marks) -> Marks | None:
    """The outputs that depend on the inputs marked; None unless all are linear in those."""
    # Of loops that carry values and tangents, only the half that carries tangents is linear.
    cut = cut_body(program, marks, (False,) * len(program.outputs))
    linear = set(cut.late.inputs[len(cut.early.outputs) - cut.early_count :])
    for equation in cut.late.equations:
        places = tuple(atom in linear for atom in equation.inputs)
        if not equation.primitive.is_linear(places, equation.params):
            return None
        linear.update(equation.outputs)
    return cut.late_outputs
