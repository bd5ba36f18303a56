"""A program over all rows as programs over some rows, one for each pass, and one at the end."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

from adjoint.base.arrays import ArrayType, array_type
from adjoint.base.errors import ProgramError
from adjoint.primitives.structure.gathering import IOTA
from adjoint.primitives.structure.moving import RESHAPE
from adjoint.program import Atom, Builder, Equation, Literal, Operation, Program, Variable
from adjoint.program.operation import operation
from adjoint.transforms.by_rows.row_marks import RowMark, RowMarks, refused


class RowPass(NamedTuple):
    """A pass over all rows.

    program: of some rows. inputs: the variables that it takes, of the whole program. outputs: the
    partial results that it gives. combined: how each becomes that of all rows.
    """

    program: Program
    inputs: tuple[Variable, ...]
    outputs: tuple[Variable, ...]
    combined: tuple[str, ...]


class RowPasses(NamedTuple):
    """How a program over all rows is run.

    final: what comes after the passes, of their results and whole inputs, `final_inputs`.
    row_outputs: results that have rows, which the last pass gives.
    """

    marks: RowMarks
    final: Program
    final_inputs: tuple[Variable, ...]
    row_outputs: tuple[Variable, ...]

    @property
    def repeats_exactly(self) -> bool:
        """Whether a pass must give the very numbers that an earlier one has given.

        It must where a largest number is looked for, as in the derivative of a maximum: rounded
        otherwise, no number would be the largest.
        """
        return any(mark.combined in ("maximum", "minimum") for mark in self.marks.of.values())

    def passes(self, chunk: int) -> list[RowPass]:
        """The passes, with programs of so many rows."""
        marks = self.marks
        partial = [v for v, mark in marks.of.items() if mark.waits]
        wanted = _needed_partials(marks, [*self.final.outputs, *self.final_inputs], partial)
        stages = []
        for number in sorted({marks.stages[v] for v in wanted}):
            outputs = tuple(v for v in wanted if marks.stages[v] == number)
            combined = tuple(str(marks.of[v].combined) for v in outputs)
            stages.append(RowPass(*_part(marks, outputs, chunk), outputs, combined))
        if self.row_outputs:
            stages.append(RowPass(*_part(marks, self.row_outputs, chunk), self.row_outputs, ()))
        return stages


def _needed_partials(
    marks: RowMarks, outputs: Iterable[Atom], partial: Sequence[Variable]
) -> list[Variable]:
    """The partial results that outputs follow from, through all stages."""
    makers = {v: e for e in marks.program.equations for v in e.outputs}
    seen: set[Variable] = set()
    waiting = [v for v in (*outputs, *marks.program.outputs) if isinstance(v, Variable)]
    while waiting:
        variable = waiting.pop()
        if variable in seen:
            continue
        seen.add(variable)
        if variable in makers:
            waiting += [v for v in makers[variable].inputs if isinstance(v, Variable)]
    return [v for v in partial if v in seen]


def staged(marks: RowMarks) -> RowPasses:
    """A marked program, cut into passes over the rows and what comes after them."""
    program = marks.program
    rows = tuple(
        dict.fromkeys(
            atom
            for atom in program.outputs
            if isinstance(atom, Variable) and marks.of[atom].axis is not None
        )
    )
    for atom in rows:
        if marks.of[atom].axis != 0:
            maker = next(e for e in program.equations if atom in e.outputs)
            raise refused(maker, "a result has its rows along another axis than the first")
    whole = [atom for atom in program.outputs if atom not in rows]
    equations = _equations_for(marks, whole)
    computed = {v for equation in equations for v in equation.outputs}
    read = dict.fromkeys(
        atom
        for atom in (*(x for e in equations for x in e.inputs), *whole)
        if isinstance(atom, Variable) and atom not in computed
    )
    return RowPasses(marks, Program(tuple(read), equations, whole), tuple(read), rows)


def _equations_for(marks: RowMarks, outputs: Sequence[Atom]) -> list[Equation]:
    """The equations by which outputs follow from partial results, inputs and each other."""
    wanted = {x for x in outputs if isinstance(x, Variable)}
    kept = []
    for equation in reversed(marks.program.equations):
        own = [v for v in equation.outputs if v in wanted and marks.of[v] == RowMark()]
        if own:
            kept.append(equation)
            wanted.update(x for x in equation.inputs if isinstance(x, Variable))
    return kept[::-1]


def _part(
    marks: RowMarks, outputs: Sequence[Variable], chunk: int
) -> tuple[Program, tuple[Variable, ...]]:
    """The program of some rows that gives these outputs, and which variables it takes."""
    program = marks.program
    targets = set(outputs)
    wanted = set(outputs)
    kept: list[Equation] = []
    for equation in reversed(program.equations):
        own = [v for v in equation.outputs if v in wanted and _is_of_pass(marks, v, targets)]
        if own and not is_count(marks, equation):
            kept.append(equation)
            wanted.update(x for x in equation.inputs if isinstance(x, Variable))
    kept.reverse()
    computed = {v for e in kept for v in e.outputs if _is_of_pass(marks, v, targets)}
    given = tuple(v for v in _in_order(marks) if v in wanted and v not in computed)
    return _of_some_rows(marks, given, kept, outputs, chunk), given


def _is_of_pass(marks: RowMarks, variable: Variable, targets: Collection[Variable]) -> bool:
    """Whether a variable is computed in a pass: sums of earlier ones are given to it."""
    return variable in targets or not marks.of[variable].waits


def _of_some_rows(
    marks: RowMarks,
    inputs: Sequence[Variable],
    equations: Sequence[Equation],
    outputs: Sequence[Atom],
    chunk: int,
) -> Program:
    """Equations over all rows as a program over so many."""
    builder = Builder()
    names: dict[Variable, Atom] = {
        v: builder.input(_with_rows(v.type, marks.of[v].axis, chunk)) for v in inputs
    }
    for equation in equations:
        builder.origin, builder.derived = equation.origin, equation.derived
        operands = [x if isinstance(x, Literal) else names[x] for x in equation.inputs]
        _count_within(marks, equation, operands, builder, chunk)
        results = builder.emit(_resized(marks, equation, chunk), operands)
        for variable, atom in zip(equation.outputs, results, strict=True):
            expected = _with_rows(variable.type, marks.of[variable].axis, chunk)
            if atom.type is not expected:
                raise ProgramError(
                    f"{equation.primitive.name} of {chunk} rows gives {atom.type}, and not "
                    f"{expected}."
                )
            names.setdefault(variable, atom)  # what is given is that of all rows
    return builder.build([x if isinstance(x, Literal) else names[x] for x in outputs])


def is_count(marks: RowMarks, equation: Equation) -> bool:
    """Whether an equation makes the numbers of all rows: chunks are given theirs."""
    return equation.primitive is IOTA and marks.of[equation.outputs[0]].counted


def _count_within(
    marks: RowMarks, equation: Equation, operands: list[Atom], builder: Builder, chunk: int
) -> None:
    """Where each row is indexed by its own number, that counts from the first row of a chunk."""
    if equation.primitive.name not in ("gather", "gather_add"):
        return
    place = 1 if equation.primitive.name == "gather" else 2
    first = equation.inputs[place]
    if marks.used(equation.inputs[0]).axis == 0 and marks.used(first).counted:
        (numbers,) = builder.emit(operation(IOTA, length=chunk), [])
        shape = operands[place].type.shape
        (operands[place],) = builder.emit(operation(RESHAPE, shape=shape), [numbers])


def _in_order(marks: RowMarks) -> Iterable[Variable]:
    yield from marks.program.inputs
    for equation in marks.program.equations:
        yield from equation.outputs


def _with_rows(type_: ArrayType, axis: int | None, rows: int) -> ArrayType:
    if axis is None:
        return type_
    shape = (*type_.shape[:axis], rows, *type_.shape[axis + 1 :])
    return array_type(shape, type_.dtype, type_.weak)


def _resized(marks: RowMarks, equation: Equation, chunk: int) -> Operation:
    """The operation of an equation, of so many rows."""
    params: dict[str, Any] = dict(equation.params)
    within = marks.bodies.get(equation.outputs[0])
    if within is not None:
        for name, inner in within.items():
            bodies = tuple(_body_of_some_rows(body, chunk) for body in inner)
            params[name] = bodies[0] if isinstance(params[name], Program) else bodies
        return operation(equation.primitive, **params)
    mark = marks.of[equation.outputs[0]]
    if mark.axis is not None and "shape" in params:
        shape = list(params["shape"])
        shape[mark.axis] = chunk
        params["shape"] = tuple(shape)
    elif "index" in params:
        of = marks.used(equation.inputs[0])
        if of.axis is not None and of.axis < len(params["index"]):
            index = list(params["index"])
            index[of.axis] = (0, chunk, 1)
            params["index"] = tuple(index)
    return operation(equation.primitive, **params)


def _body_of_some_rows(marks: RowMarks, chunk: int) -> Program:
    """The body of a loop, or a branch, of so many rows."""
    body = marks.program
    return _of_some_rows(marks, body.inputs, body.equations, body.outputs, chunk)
