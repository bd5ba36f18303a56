"""A function's program at a point, kept whole: the value of every equation and the user's lines."""

from __future__ import annotations

import linecache
from collections.abc import Sequence
from typing import Any, NamedTuple

from adjoint.base import pytrees
from adjoint.base.arrays import ArrayType
from adjoint.base.errors import ArgumentTypeError
from adjoint.base.settings import settings
from adjoint.calculus.first_order.linearisation import LinearPrograms
from adjoint.calculus.inspecting.programs import capture_whole
from adjoint.capture import Captured, Traced, peek, reapply
from adjoint.capture.recording.exits.questions_alone import line_of, questions_alone
from adjoint.pipeline import compile_program, run, watch_all
from adjoint.primitives.declaration import NO_DERIVATIVE
from adjoint.program import Atom, Equation, Literal, Operation, Program, Variable
from adjoint.spaces.elements.values import copied
from adjoint.transforms import linearize


class Recording:
    """The captured program of a function with the values of all its variables.

    questions: what was asked of values that depend on the arguments, if no result does otherwise.
    program: its inputs are the arrays and numbers among the arguments (`arguments` of them), then
        the constants that were lifted out of the function. values: of every variable. varying: the
        variables that depend on a floating-point argument. lines: for each equation, the user's
        line as (file:line, text).
    """

    def __init__(
        self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], name: str
    ) -> None:
        captured = capture_whole(function, args, kwargs, name, lines=True)
        self.questions = _questions(captured)
        trace = captured.trace
        self.arguments = trace.input_count
        self.treedef = captured.treedef
        self.program = captured.recorded()
        inputs = [trace.values[slot] for slot in range(self.arguments)]
        # Copies, so that what is shown stays as it was when the user writes into an array.
        inputs = [copied(value, writeable=False) for value in [*inputs, *trace.constants]]
        if any(type(value) is Traced for value in inputs):
            raise ArgumentTypeError(
                f"{name} looks at numbers, and was called while a function is being captured. Call "
                "it outside of functions that are differentiated, mapped or compiled."
            )
        self.inputs = inputs
        self.lines = [
            _line(trace.lines or [], equation.origin) for equation in self.program.equations
        ]
        self.varying = self._find_varying()
        self.values: dict[Variable, Any] = dict(zip(self.program.inputs, inputs, strict=True))
        unrolled = self.unrolled()
        # Derivatives that the function takes itself may need hard zeros.
        results = run(compile_program(unrolled, watch_all(unrolled)), inputs)
        self.values.update(zip(self.results, results, strict=True))

    @property
    def results(self) -> list[Variable]:
        """The results of all equations, in order."""
        return [variable for equation in self.program.equations for variable in equation.outputs]

    @property
    def active(self) -> list[bool]:
        """Which inputs are floating-point arguments."""
        return [
            number < self.arguments and variable.type.inexact
            for number, variable in enumerate(self.program.inputs)
        ]

    @property
    def value(self) -> Any:
        """What the function returned."""
        return pytrees.unflatten(self.treedef, map(self.at, self.program.outputs))

    def unrolled(self) -> Program:
        """The program that returns the results of all its equations."""
        return Program(self.program.inputs, self.program.equations, self.results)

    def at(self, atom: Atom) -> Any:
        """The value of a variable or literal."""
        return atom.value if isinstance(atom, Literal) else self.values[atom]

    def _find_varying(self) -> set[Variable]:
        varying = {
            variable
            for variable, mark in zip(self.program.inputs, self.active, strict=True)
            if mark
        }
        for equation in self.program.equations:
            if equation.primitive.derivative is not NO_DERIVATIVE and any(
                atom in varying for atom in equation.inputs
            ):
                varying.update(variable for variable in equation.outputs if variable.type.inexact)
        return varying


class Question(NamedTuple):
    """A value that was asked for. line: the user's, as (file:line, text)."""

    value: Any
    line: tuple[str, str]


def _questions(captured: Captured) -> list[Question]:
    trace = captured.trace
    questions = []
    for slot in questions_alone(trace, captured.outputs):
        file, number, text = line_of(*trace.questions[slot])
        questions.append(Question(peek(trace.value(slot, reapply)), (f"{file}:{number}", text)))
    return questions


def _line(lines: Sequence[str], origin: int | None) -> tuple[str, str]:
    if origin is None or origin >= len(lines) or not lines[origin]:
        return "", ""
    path, _, number = lines[origin].rpartition(":")
    return lines[origin], linecache.getline(path, int(number)).strip()


class LocalDerivatives:
    """The derivatives of single equations at values of their operands, compiled once for each kind.

    Operands are told apart by place, so that x * x has two partial derivatives.
    """

    def __init__(self) -> None:
        self._known: dict[Any, Any] = {}

    def at(self, op: Operation, operands: Sequence[Any], types: Any, place: int) -> LocalDerivative:
        """The partial derivative of an operation in the operand at a place (E.1.65)."""
        key = (op, tuple(types), place, settings().kink)
        if key not in self._known:
            program = one_equation(op, types)
            split = linearize(program, [other == place for other in range(len(types))])
            linear = LinearPrograms(split.linear, split.residuals, split.varying)
            self._known[key] = (compile_program(split.primal), linear, program.output_types)
        primal, linear, results = self._known[key]
        return LocalDerivative(list(run(primal, operands)[len(results) :]), linear, results)


class LocalDerivative:
    """One partial derivative of one operation at a point: tangents forward, cotangents back."""

    def __init__(
        self, residuals: list[Any], linear: LinearPrograms, results: Sequence[ArrayType]
    ) -> None:
        self._residuals = residuals
        self._linear = linear
        self._results = results

    def push(self, tangent: Any) -> list[Any]:
        """The tangents of the results; None where one does not vary."""
        pushed = iter(run(self._linear.compiled(False), [*self._residuals, tangent]))
        return [next(pushed) if mark else None for mark in self._linear.varying]

    def pull(self, cotangents: Sequence[Any]) -> Any:
        """The cotangent of the operand; those of results that do not vary play no part."""
        marks = self._linear.varying
        seeds = [cotangent for cotangent, mark in zip(cotangents, marks, strict=True) if mark]
        return run(self._linear.compiled(True), [*self._residuals, *seeds])[0]


def one_equation(op: Operation, types: Sequence[ArrayType]) -> Program:
    """The program that applies one operation to its inputs."""
    inputs = [Variable(type_) for type_ in types]
    outputs = [Variable(type_) for type_ in op.infer(tuple(types))]
    return Program(inputs, [Equation(op, inputs, outputs)], outputs)
