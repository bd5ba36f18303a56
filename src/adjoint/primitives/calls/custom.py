"""Calls of functions that capture does not enter, with derivative rules given by the user.

What the rules mean is known on higher floors, where they are captured; here stand the primitives,
which hold callables that hand over programs. See `adjoint.calculus.custom`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint.base.arrays import ArrayType, Shape, type_of
from adjoint.base.errors import NotLinearError
from adjoint.primitives.declaration import (
    NO_DERIVATIVE,
    EmptySlot,
    Joint,
    Primitive,
)
from adjoint.primitives.elementwise.conversion import CAST
from adjoint.primitives.expression import Expression, bind
from adjoint.primitives.samples import draw, sample
from adjoint.primitives.structure.moving import broadcast_to, with_batch, zeros
from adjoint.program import Atom, Builder, Program, Variable
from adjoint.program.builder import lookup

Marks = tuple[bool, ...]


# --- constants -----------------------------------------------------------------------------------


class Constant:
    """An array that a rule reads besides its arguments; compared by identity."""

    __slots__ = ("type", "value")

    def __init__(self, value: np.ndarray[Any, Any]) -> None:
        self.value = value
        self.type = type_of(value)

    def __str__(self) -> str:
        return str(self.type)


CONSTANT = Primitive(
    "constant",
    infer=lambda array: array.type,
    # A copy: what runs after it may write over the memory of its operands.
    evaluate=lambda array: array.value.copy(),
    linear=None,
    derivative=NO_DERIVATIVE,
    transpose=NO_DERIVATIVE,
    batch=EmptySlot("it has no operands"),
    samples=(sample(array=Constant(np.array([1.0, 2.0]))),),
)


# --- what a call knows ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Pushed:
    """A derivative as a program.

    program: (operands, tangents of those that move) -> tangents of the results that vary.
    varying: for each result, whether it does.
    """

    program: Program
    varying: Marks


@dataclass(frozen=True, eq=False)
class CustomLinear:
    """A derivative whose transpose is given, not derived: a linear map of the last operands.

    fixed: how many operands it is not linear in; they come first. inputs, outputs: the types of the
    linear operands and of the results. applicable: whether there is a rule to apply it, and not its
    transpose alone. evaluate: its meaning on arrays, or MissingRuleError. transpose: hands over the
    program (fixed operands, cotangents) -> (cotangents of the linear operands), with the marks of
    those that are not zero. derive: its own derivative with respect to the operands marked. batch:
    the map over a batch, from which fixed operands are batched.
    """

    name: str
    fixed: int
    inputs: tuple[ArrayType, ...]
    outputs: tuple[ArrayType, ...]
    applicable: bool
    evaluate: Callable[..., tuple[Any, ...]]
    transpose: Callable[[], Pushed]
    derive: Callable[[Marks], Pushed]
    batch: Callable[[Marks, int], CustomLinear]

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, eq=False)
class CustomCall:
    """A function that capture does not enter, at one signature.

    inputs, outputs: types. evaluate: its meaning on arrays. derive: the derivative with respect to
    the operands marked: a program, or a linear map whose transpose is given. batch: the function
    over a batch, from which operands are batched.
    """

    name: str
    inputs: tuple[ArrayType, ...]
    outputs: tuple[ArrayType, ...]
    evaluate: Callable[..., tuple[Any, ...]]
    derive: Callable[[Marks], Pushed | CustomLinear]
    batch: Callable[[Marks, int], CustomCall]

    def __str__(self) -> str:
        return self.name


def append(builder: Builder, program: Program, arguments: Iterable[Atom]) -> list[Atom]:
    """Append a program's equations as those of the operation that is being treated."""
    names: dict[Variable, Atom] = dict(zip(program.inputs, arguments, strict=True))
    for equation in program.equations:
        operands = [lookup(names, atom) for atom in equation.inputs]
        results = builder.emit(equation.operation, operands)
        names.update(zip(equation.outputs, results, strict=True))
    return [lookup(names, atom) for atom in program.outputs]


def _spread(builder: Builder, atoms: Sequence[Atom], marks: Marks) -> tuple[Any, ...]:
    """Results in their places, None elsewhere."""
    rest = iter(atoms)
    return tuple(Expression(builder, next(rest)) if mark else None for mark in marks)


def _moving(tangents: Sequence[Expression | None]) -> tuple[Marks, list[Expression]]:
    present = [tangent for tangent in tangents if tangent is not None]
    return tuple(tangent is not None for tangent in tangents), present


def _filled(vectors: Sequence[Any], types: Sequence[ArrayType], builder: Builder) -> list[Any]:
    return [
        vector if vector is not None else zeros(builder, type_)
        for vector, type_ in zip(vectors, types, strict=True)
    ]


# --- a call --------------------------------------------------------------------------------------


def _call_derivative(tangents: Any, operands: Any, results: Any, call: CustomCall) -> Any:
    marks, moving = _moving(tangents)
    builder = operands[0].builder
    derivative = call.derive(marks)
    if isinstance(derivative, Pushed):
        atoms = [operand.atom for operand in (*operands, *moving)]
        return _spread(builder, append(builder, derivative.program, atoms), derivative.varying)
    # In a batch, the tangent of what all examples share is repeated.
    over = [
        broadcast_to(u, type_.shape) for u, type_ in zip(moving, derivative.inputs, strict=True)
    ]
    slopes = iter(bind(CUSTOM_LINEAR, *operands, *over, function=derivative))
    return tuple(next(slopes) if type_.inexact else None for type_ in call.outputs)


def _call_batch(operands: Any, batched: Marks, size: int, call: CustomCall) -> Any:
    return bind(CUSTOM_CALL, *operands, call=call.batch(tuple(batched), size))


def _sine(shape: Shape = (3,)) -> CustomCall:
    """The sample: the sine of an array, in double precision whatever it is given."""
    type_ = type_of(np.zeros(shape))

    def derive(moving: Marks) -> Pushed:
        builder = Builder()
        inputs = [Expression(builder, builder.input(type_)) for _ in range(2)]
        x, u = (bind(CAST, operand, dtype=type_.dtype) for operand in inputs)
        return Pushed(builder.build([(np.cos(x) * u).atom]), (True,))

    def evaluate(x: Any) -> tuple[Any, ...]:
        return (np.sin(np.asarray(x, type_.dtype)),)

    def batch(batched: Marks, size: int) -> CustomCall:
        return _sine((size, *shape))

    return CustomCall("sine", (type_,), (type_,), evaluate, derive, batch)


CUSTOM_CALL = Primitive(
    "custom_call",
    infer=lambda *types, call: call.outputs,
    evaluate=lambda *arrays, call: call.evaluate(*arrays),
    linear=None,
    derivative=_call_derivative,
    batch=_call_batch,
    samples=(sample(draw(3), call=_sine()),),
    multiple=True,
)


# --- a derivative whose transpose is given -------------------------------------------------------


def _linear_derivative(tangents: Any, operands: Any, results: Any, function: CustomLinear) -> Any:
    count = function.fixed
    builder = operands[0].builder
    if all(tangent is None for tangent in tangents[:count]):
        moved = _filled(tangents[count:], function.inputs, builder)
        return bind(CUSTOM_LINEAR, *operands[:count], *moved, function=function)
    marks, moving = _moving(tangents)
    derivative = function.derive(marks)
    atoms = [operand.atom for operand in (*operands, *moving)]
    return _spread(builder, append(builder, derivative.program, atoms), derivative.varying)


def _linear_transpose(cotangents: Any, operands: Any, function: CustomLinear) -> Any:
    fixed = operands[: function.fixed]
    if not all(isinstance(operand, Expression) for operand in fixed):
        raise NotLinearError(
            f"The derivative of {function.name} is linear in the tangents only, and was to be "
            "transposed with respect to the point. Differentiate with ad.vjp instead."
        )
    builder = next(cotangent.builder for cotangent in cotangents if cotangent is not None)
    whole = _filled(cotangents, function.outputs, builder)
    transposed = function.transpose()
    atoms = append(builder, transposed.program, [operand.atom for operand in (*fixed, *whole)])
    return (*(None for _ in fixed), *_spread(builder, atoms, transposed.varying))


def _linear_batch(operands: Any, batched: Marks, size: int, function: CustomLinear) -> Any:
    count = function.fixed
    over = function.batch(tuple(batched[:count]), size)
    moving = [
        with_batch(x, mark, size) for x, mark in zip(operands[count:], batched[count:], strict=True)
    ]
    return bind(CUSTOM_LINEAR, *operands[:count], *moving, function=over)


CUSTOM_LINEAR = Primitive(
    "custom_linear",
    infer=lambda *types, function: function.outputs,
    evaluate=lambda *arrays, function: function.evaluate(*arrays),
    linear=Joint(),  # in the last operands; the transpose refuses the others
    derivative=_linear_derivative,
    transpose=_linear_transpose,
    batch=_linear_batch,
    # Not to be tried with the point as a linear operand, as the generic checker would.
    samples=EmptySlot("it stands in derivatives only; tests/calculus/test_custom.py tries it"),
    multiple=True,
)


def is_users_code(primitive: Primitive) -> bool:
    """Whether a primitive stands for code of the user's, which is not looked into."""
    return primitive.opaque or primitive in (CUSTOM_CALL, CUSTOM_LINEAR)
