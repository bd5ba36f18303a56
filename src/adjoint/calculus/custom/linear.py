"""The linear part of a user's derivative rule: checked to be linear, and written out as a program.

A rule is captured with a tangent for every operand. Where only some of them move, the zeros of the
others are followed through the program, and nothing is computed for them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any

import numpy as np

from adjoint.base.arrays import ArrayType, array_type
from adjoint.base.errors import NotLinearError
from adjoint.pipeline import Compiled, compile_program, watch_all
from adjoint.primitives.calls.custom import (
    CONSTANT,
    CUSTOM_CALL,
    CUSTOM_LINEAR,
    Constant,
    CustomCall,
    CustomLinear,
    Marks,
    Pushed,
)
from adjoint.primitives.calls.solving import LINEAR_SOLVE
from adjoint.primitives.declaration import Each, Joint
from adjoint.primitives.elementwise.arithmetic import ADD
from adjoint.primitives.expression import Expression
from adjoint.primitives.structure.moving import zeros
from adjoint.program import Atom, Builder, Equation, Literal, Program, Variable, operation
from adjoint.transforms import jvp as jvp_program
from adjoint.transforms import vmap as vmap_program


class _Dependence(Enum):
    """How a value of the rule depends on the tangents."""

    FIXED = "not at all"
    LINEAR = "linearly"
    ZERO = "it is zero"


class _LinearPartWriter:
    """Writes the linear part of one rule."""

    def __init__(self, name: str, over: str) -> None:
        self.name = name
        self.over = over
        self.builder = Builder()
        self.kinds: dict[Variable, _Dependence] = {}
        self.names: dict[Variable, Atom] = {}
        self.constants: dict[Variable, Any] = {}

    def kind(self, atom: Atom) -> _Dependence:
        if isinstance(atom, Literal):
            return _Dependence.FIXED if atom.value else _Dependence.ZERO
        return self.kinds[atom]

    def use(self, atom: Atom) -> Atom:
        """An atom of the program that is written; constants and zeros when first used."""
        if isinstance(atom, Literal):
            return atom
        written = self.names.get(atom)
        if written is None:
            if atom in self.constants:
                written = _constant(self.builder, self.constants[atom])
            else:
                written = _zero(self.builder, atom.type)
            self.names[atom] = written
        return written

    def add(self, equation: Equation) -> None:
        """Take over an equation, unless its results are zero."""
        inputs = equation.inputs
        kinds = [self.kind(atom) for atom in inputs]
        linear = tuple(kind is _Dependence.LINEAR for kind in kinds)
        zero = tuple(kind is _Dependence.ZERO for kind in kinds)
        kind = self._result(equation, linear, zero)
        self.kinds.update((variable, kind) for variable in equation.outputs)
        if kind is _Dependence.ZERO:
            return
        if equation.primitive is ADD and sum(linear) == sum(zero) == 1:
            kept = inputs[linear.index(True)]
            if kept.type is equation.outputs[0].type:
                self.names[equation.outputs[0]] = self.use(kept)
                return
        outputs = self.builder.emit(equation.operation, [self.use(atom) for atom in inputs])
        self.names.update(zip(equation.outputs, outputs, strict=True))

    def _result(self, equation: Equation, linear: Marks, zero: Marks) -> _Dependence:
        """How the results of an equation depend on the tangents; NotLinearError if not linearly."""
        rule = equation.primitive.linear
        if self.over == "cotangents" and equation.primitive is CUSTOM_CALL:
            # A pullback is never transposed, so what it calls may be trusted to be linear.
            return _Dependence.LINEAR if any(linear) else _Dependence.FIXED
        if not any(linear) and not any(zero):
            return _Dependence.FIXED
        if isinstance(rule, Joint):
            inside = _joint_places(equation, rule, len(linear))
            if all(zero[place] for place in inside):
                if not any(linear):
                    return _Dependence.ZERO
            elif not any(linear):
                return _Dependence.FIXED
            elif all(linear[place] or zero[place] for place in inside) and rule.allows(linear):
                return _Dependence.LINEAR
        elif isinstance(rule, Each):
            places = [place for place, mark in enumerate(zero) if mark]
            if any(rule.allows(_only(place, len(zero))) for place in places):
                return _Dependence.ZERO
            if not any(linear):
                return _Dependence.FIXED
            if rule.allows(linear):
                return _Dependence.LINEAR
        elif not any(linear):
            return _Dependence.FIXED
        raise NotLinearError(
            f"{self.name} must be linear in the {self.over}. It applies {equation.operation!r} to "
            f"what depends on them{'' if rule is None else ', and to what does not'}. "
            f"A derivative is a linear map: it may scale and add {self.over}, and nothing else."
        )


def linear_part(
    program: Program,
    fixed: int,
    moving: Marks,
    constants: Sequence[Any],
    types: Sequence[ArrayType],
    name: str,
    over: str,
) -> Pushed:
    """The program of a rule's linear part.

    Args:
        program: (operands, tangents, constants) -> tangents of the results.
        fixed: how many operands there are.
        moving: for each tangent, whether it is not zero.
        constants: the values of the constants, which are written into the program.
        types: of the results, as they should be.
        name: of the rule, for errors.
        over: what the rule should be linear in, for errors.

    Returns:
        (operands, tangents that move) -> the results that are not zero.

    Raises:
        NotLinearError: the results are not linear in the tangents.
    """
    writer = _LinearPartWriter(name, over)
    operands = program.inputs[:fixed]
    tangents = program.inputs[fixed : fixed + len(moving)]
    for variable in operands:
        writer.kinds[variable] = _Dependence.FIXED
        writer.names[variable] = writer.builder.input(variable.type)
    for variable, mark in zip(tangents, moving, strict=True):
        writer.kinds[variable] = _Dependence.LINEAR if mark else _Dependence.ZERO
        if mark:
            writer.names[variable] = writer.builder.input(variable.type)
    for variable, value in zip(program.inputs[fixed + len(moving) :], constants, strict=True):
        empty = variable.type.inexact and not np.any(value)
        writer.kinds[variable] = _Dependence.ZERO if empty else _Dependence.FIXED
        writer.constants[variable] = value
    for equation in program.equations:
        writer.add(equation)
    results, varying = [], []
    for atom, type_ in zip(program.outputs, types, strict=True):
        kind = writer.kind(atom)
        if kind is _Dependence.FIXED:
            raise NotLinearError(
                f"{name} must be linear in the {over}. It returns a result of type {type_} that "
                "does not depend on them, and is not zero. Return zeros, or None, for what does "
                "not vary."
            )
        varying.append(kind is _Dependence.LINEAR)
        if kind is _Dependence.LINEAR:
            results.append(writer.use(atom))
    return Pushed(writer.builder.build(results), tuple(varying))


def whole_program(pushed: Pushed, types: Sequence[ArrayType]) -> Program:
    """The same program with all results, zeros written out."""
    builder = Builder()
    inputs = [builder.input(variable.type) for variable in pushed.program.inputs]
    tangents = iter(builder.inline(pushed.program, inputs))
    outputs = [
        next(tangents) if mark else zeros(builder, type_).atom
        for mark, type_ in zip(pushed.varying, types, strict=True)
    ]
    return builder.build(outputs)


def _joint_places(equation: Equation, rule: Joint, count: int) -> list[int]:
    """The operands in which an operation is jointly linear."""
    if equation.primitive is CUSTOM_LINEAR:
        return list(range(equation.params["function"].fixed, count))
    if equation.primitive is LINEAR_SOLVE:
        return list(range(equation.params["system"].fixed, count))
    return [place for place in range(count) if rule.places is None or place in rule.places]


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
    zero: Expression = zeros(builder, type)
    return zero.atom


# --- derivatives with a transpose of their own ---------------------------------------------------


def linear_call(
    name: str,
    fixed: Sequence[ArrayType],
    inputs: Sequence[ArrayType],
    outputs: Sequence[ArrayType],
    applicable: bool,
    forward: Callable[[], Program],
    backward: Callable[[], Pushed],
) -> CustomLinear:
    """A derivative that is applied by one program, and transposed by another.

    applicable: whether there is a rule for `forward`. forward: hands over (fixed operands,
        tangents) -> tangents of the results, or raises.
    """
    compiled: list[Compiled] = []
    batches: dict[Any, CustomLinear] = {}

    def evaluate(*arrays: Any) -> tuple[Any, ...]:
        if not compiled:
            program = forward()
            compiled.append(compile_program(program, watch_all(program)))
        return compiled[0](arrays)

    def derive(moving: Marks) -> Pushed:
        program = forward()
        whole = jvp_program(program, moving)
        slopes = whole.outputs[len(program.outputs) :]
        return Pushed(Program(whole.inputs, whole.equations, slopes), (True,) * len(slopes))

    def batch(batched: Marks, size: int) -> CustomLinear:
        key = (batched, size)
        if key not in batches:

            def rows_forward() -> Program:
                return vmap_program(forward(), [*batched, *(True for _ in inputs)], size)

            def rows_backward() -> Pushed:
                pulled = backward()
                marks = [*batched, *(True for _ in outputs)]
                return Pushed(vmap_program(pulled.program, marks, size), pulled.varying)

            batches[key] = linear_call(
                name,
                _over(fixed, batched, size),
                _over(inputs, None, size),
                _over(outputs, None, size),
                applicable,
                rows_forward,
                rows_backward,
            )
        return batches[key]

    types = tuple(inputs), tuple(outputs)
    return CustomLinear(name, len(fixed), *types, applicable, evaluate, backward, derive, batch)


# --- batches -------------------------------------------------------------------------------------


def batched_call(call: CustomCall, batched: Marks, size: int) -> CustomCall:
    """The function over a batch: a loop over the examples; its derivative rule is vectorised."""
    derived: dict[Marks, Pushed | CustomLinear] = {}
    batches: dict[Any, CustomCall] = {}
    inputs, outputs = _over(call.inputs, batched, size), _over(call.outputs, None, size)

    def evaluate(*arrays: Any) -> tuple[Any, ...]:
        rows = [
            call.evaluate(*(x[n] if mark else x for x, mark in zip(arrays, batched, strict=True)))
            for n in range(size)
        ]
        if not rows:
            return tuple(np.zeros(type_.shape, type_.dtype) for type_ in outputs)
        return tuple(np.stack(column) for column in zip(*rows, strict=True))

    def derive(moving: Marks) -> Pushed | CustomLinear:
        if moving not in derived:
            rule = call.derive(moving)
            if isinstance(rule, Pushed):
                marks = [*batched, *(b for b, mark in zip(batched, moving, strict=True) if mark)]
                program = vmap_program(rule.program, marks, size)
                derived[moving] = Pushed(program, rule.varying)
            else:
                derived[moving] = rule.batch(batched, size)
        return derived[moving]

    def batch(over: Marks, count: int) -> CustomCall:
        return batches.setdefault((over, count), batched_call(rows_call, over, count))

    rows_call = CustomCall(call.name, inputs, outputs, evaluate, derive, batch)
    return rows_call


def _over(types: Sequence[ArrayType], marks: Marks | None, size: int) -> tuple[ArrayType, ...]:
    return tuple(
        array_type((size, *type_.shape), type_.dtype) if marks is None or marks[place] else type_
        for place, type_ in enumerate(types)
    )
