"""Loops cut in two by what is known when: an early loop that tapes, and a late scan of the tape.

The rules of the slot `split`. Forwards, values and tangents are carried by one loop. For reverse
mode it is cut: the early loop computes the values, and stacks what the tangents will need; the late
one is a linear scan. What constants alone determine is no row of the tape, nor is what is scanned.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from adjoint.base.arrays import ArrayType, array_type
from adjoint.loops.bodies import cut_body
from adjoint.loops.recomputing import fewest_bytes
from adjoint.loops.rules import INDEX, InputLayout
from adjoint.loops.tapes import tape_length
from adjoint.primitives.declaration import PRIMITIVES
from adjoint.primitives.elementwise.conversion import CAST, IMAG, PYTHON_NUMBER, REAL, STOP_GRADIENT
from adjoint.primitives.elementwise.declaring import SCALE
from adjoint.primitives.elementwise.selection import SELECT
from adjoint.primitives.hardness import HARD, TAME
from adjoint.primitives.structure.contraction import CONTRACT
from adjoint.primitives.structure.gathering import IOTA
from adjoint.primitives.structure.moving import BROADCAST, FILL, RESHAPE, SUM, TRANSPOSE
from adjoint.primitives.structure.slicing import SLICE
from adjoint.program import Atom, Builder, Equation, Literal, Program, Variable, operation
from adjoint.program.builder import lookup
from adjoint.transforms.pieces import Halves, Marks, chosen, depending, flat, needed, parts

# Primitives besides those of ufuncs that cannot fail.
_HARMLESS = frozenset(
    [
        *(SCALE, RESHAPE, TRANSPOSE, BROADCAST, FILL, SUM, CAST, SELECT, SLICE),
        *(REAL, IMAG, CONTRACT, PYTHON_NUMBER, STOP_GRADIENT, IOTA, HARD, TAME),
    ]
)


class _Residuals(NamedTuple):
    """What a late body needs of an early one, by where it comes from.

    constants, scanned: inputs of the body. hoisted: what constants alone determine. stacked: what
    each round makes; it goes on the tape.
    """

    constants: list[Variable]
    hoisted: list[Variable]
    scanned: list[Variable]
    stacked: list[Variable]


class _Cutting:
    """A loop cut in two by which of its operands are late.

    What is carried is late if it begins so, or comes to depend on what is late; in the second case
    its beginning is known early, and is an operand of the late loop.
    """

    def __init__(
        self, body: Program, layout: InputLayout, late: Sequence[bool], operands: Sequence[Atom]
    ) -> None:
        self.late = late
        self.operands = operands
        self.whole = layout
        self.inputs, halves = _late_inputs(body, layout, late)
        c, x, _ = parts(self.inputs, *layout)
        self.layout = InputLayout(c.count(False), x.count(False))  # of the early body
        self.cut = _with_less_tape(halves, self.layout)
        self.kept = self.cut.early_count
        self.residuals, self.before = _residuals(self.cut, self.layout)
        early = self.cut.early
        outputs = [*early.outputs[: self.kept], *self.residuals.stacked]
        self.body = Program(early.inputs, early.equations, outputs)

    @property
    def all_late(self) -> bool:
        """Whether there is nothing to do early."""
        return not (self.body.outputs or self.residuals.hoisted)

    @property
    def rows(self) -> list[ArrayType]:
        """The types of the rows on the tape."""
        return [variable.type for variable in self.residuals.stacked]

    @property
    def early_has_rows(self) -> bool:
        """Whether the early loop scans or stacks."""
        inputs, outputs = len(self.body.inputs), len(self.body.outputs)
        return inputs > sum(self.layout) or outputs > self.layout.carried

    def looks_late(self, test: Program) -> bool:
        """Whether a test depends on what is late."""
        late = depending(test.equations, chosen(test.inputs, self.inputs))
        return not late.isdisjoint(test.outputs)

    def early_test(self, test: Program) -> Program:
        """The test, of what is early alone."""
        used = needed(test.equations, test.outputs)
        return Program(chosen(test.inputs, self.inputs, False), used, test.outputs)

    def early_operands(self, builder: Builder) -> tuple[list[Atom], list[Atom]]:
        """Inputs for what is known early: operands of the early loop, beginnings for the late."""
        given = [builder.input(atom.type) for atom in chosen(self.operands, self.late, False)]
        late = chosen(self.inputs, self.late, False)
        return chosen(given, late, False), chosen(given, late)

    def left(
        self, builder: Builder, operands: Sequence[Atom], results: Sequence[Atom]
    ) -> list[Atom]:
        """What the early half leaves to the late one, in the order of the residuals."""
        names: dict[Variable, Atom] = dict(zip(self.body.inputs, operands, strict=True))
        builder.derived = True
        for equation in self.before:
            values = builder.emit(equation.operation, [lookup(names, x) for x in equation.inputs])
            names.update(zip(equation.outputs, values, strict=True))
        builder.derived = False
        stacked = results[len(results) - len(self.residuals.stacked) :]
        names.update(zip(self.residuals.stacked, stacked, strict=True))
        return [names[variable] for group in self.residuals for variable in group]

    def late_program(
        self, count: ArrayType, left: Sequence[Atom], length: int | None, reverse: bool
    ) -> Program:
        """The linear scan: (rounds, beginnings, residuals, late operands) -> late results."""
        builder = Builder()
        rounds = builder.input(count)
        places = range(len(self.inputs))
        begun = [place for place in places if self.inputs[place] and not self.late[place]]
        names: dict[int, Atom] = {
            place: builder.input(self.operands[place].type) for place in begun
        }
        known = [builder.input(atom.type) for atom in left]
        for place in places:
            if self.late[place]:
                names[place] = builder.input(self.operands[place].type)
        split = len(self.residuals.constants) + len(self.residuals.hoisted)
        c, x, s = (
            [names[place] for place in part if place in names]
            for part in parts(places, *self.whole)
        )
        operands = flat(known[:split], c, x, known[split:], s)
        body = self._late_body(split)
        rows = len(operands) > split + len(c) + len(x) or len(body.outputs) > len(x)
        op = operation(
            PRIMITIVES["scan"],
            body=body,
            constants=split + len(c),
            carried=len(x),
            length=length if rows else None,
            reverse=reverse,
        )
        return builder.build(builder.emit(op, [rounds, *operands]))

    def _late_body(self, split: int) -> Program:
        late = self.cut.late
        order = self.cut.early.outputs[self.kept :]
        names = dict(zip(order, late.inputs, strict=False))
        known = [names[variable] for group in self.residuals for variable in group]
        c, x, _ = (sum(part) for part in parts(self.inputs, *self.whole))
        fixed, carried, rows = parts(late.inputs[len(order) :], c, x)
        inputs = flat(known[:split], fixed, carried, known[split:], rows)
        return Program(inputs, late.equations, late.outputs)


def _late_inputs(body: Program, layout: InputLayout, late: Sequence[bool]) -> tuple[Marks, Halves]:
    """Which inputs of the body are late, and the body cut by that."""
    fixed, carried, scanned = parts(late, *layout)
    rows = [False] * (len(body.outputs) - layout.carried)
    while True:
        marks = tuple(flat(fixed, carried, scanned))
        cut = cut_body(body, marks, tuple(carried + rows))
        grown = list(cut.late_outputs[: layout.carried])
        if grown == carried:
            return marks, cut
        carried = grown


def _with_less_tape(cut: Halves, layout: InputLayout) -> Halves:
    """The body cut so that the late half computes again what follows cheaply from the tape."""
    early, count = cut.early, cut.early_count
    residuals = early.outputs[count:]
    wanted = [atom for atom in residuals if isinstance(atom, Variable)]
    constants, carried, scanned = (set(group) for group in parts(early.inputs, *layout))
    varying = depending(early.equations, carried | scanned)
    harmless = {
        variable
        for equation in early.equations
        if _is_harmless(equation) and varying.isdisjoint(equation.outputs)
        for variable in equation.outputs
    }
    there = constants | scanned | harmless
    kept, again = fewest_bytes(early.equations, wanted, there.__contains__)
    builder = Builder()
    # Rows of the tape are arrays, so that one of Python's numbers becomes one again afterwards.
    taped = {
        variable: Variable(array_type(variable.type.shape, variable.type.dtype))
        for variable in kept
        if variable.type.weak and variable not in there
    }
    kept = [taped.get(variable, variable) for variable in kept]
    names: dict[Variable, Atom] = {variable: builder.input(variable.type) for variable in kept}
    late = [builder.input(variable.type) for variable in cut.late.inputs[len(residuals) :]]
    builder.derived = True
    for variable, row in taped.items():
        (names[variable],) = builder.emit(operation(PYTHON_NUMBER), [names[row]])
    for equation in again:
        results = builder.emit(
            equation.operation, [lookup(names, atom) for atom in equation.inputs]
        )
        names.update(zip(equation.outputs, results, strict=True))
    outputs = builder.inline(cut.late, [*(lookup(names, atom) for atom in residuals), *late])
    stored = [
        Equation(operation(CAST, dtype=row.type.dtype), (variable,), (row,), derived=True)
        for variable, row in taped.items()
    ]
    equations = [*early.equations, *stored]
    first = Program(early.inputs, equations, [*early.outputs[:count], *kept])
    return Halves(first, builder.build(outputs), cut.late_outputs)


def _residuals(cut: Halves, layout: InputLayout) -> tuple[_Residuals, list[Equation]]:
    """The residuals, sorted, and the equations that can stand before the loop."""
    early = cut.early
    constants, carried, scanned = (set(group) for group in parts(early.inputs, *layout))
    varying = depending(early.equations, carried | scanned)
    fixed = [equation for equation in early.equations if varying.isdisjoint(equation.outputs)]
    residuals = _Residuals([], [], [], [])
    for atom in early.outputs[cut.early_count :]:
        assert isinstance(atom, Variable)
        if atom in constants:
            residuals.constants.append(atom)
        elif atom in scanned:
            residuals.scanned.append(atom)
        elif atom in varying or not all(map(_is_harmless, needed(fixed, [atom]))):
            residuals.stacked.append(atom)
        else:
            residuals.hoisted.append(atom)
    return residuals, needed(fixed, residuals.hoisted)


def _is_harmless(equation: Equation) -> bool:
    """Whether it cannot fail, and so may run although the loop may make no round."""
    return equation.primitive.ufunc is not None or equation.primitive in _HARMLESS


def scan_split(
    late: Marks,
    operands: Sequence[Atom],
    body: Program,
    constants: int,
    carried: int,
    length: int | None,
    reverse: bool,
) -> Halves | None:
    """An early scan that stacks the tape, and a late linear one that reads it."""
    if late[0]:
        return None
    work = _Cutting(body, InputLayout(constants, carried), late[1:], operands[1:])
    if work.all_late:
        return None
    bound = length
    if length is None and work.rows:
        count = operands[0]
        if isinstance(count, Literal):
            length = max(int(count.value.real), 0)
        else:
            length = tape_length(work.rows)
    builder = Builder()
    rounds = builder.input(operands[0].type)
    early, begun = work.early_operands(builder)
    results: tuple[Atom, ...] = ()
    if work.body.outputs:
        op = operation(
            PRIMITIVES["scan"],
            body=work.body,
            constants=work.layout.constants,
            carried=work.layout.carried,
            length=length if work.early_has_rows else bound,
            reverse=reverse,
        )
        results = builder.emit(op, [rounds, *early])
    left = work.left(builder, early, results)
    program = builder.build([*results[: work.kept], rounds, *begun, *left])
    return Halves(
        program, work.late_program(rounds.type, left, length, reverse), work.cut.late_outputs
    )


def while_split(
    late: Marks,
    operands: Sequence[Atom],
    test: Program,
    body: Program,
    constants: int,
    carried: int,
    length: int | None,
) -> Halves | None:
    """An early loop that counts its rounds and stacks the tape, and a late linear scan of it."""
    work = _Cutting(body, InputLayout(constants, carried), late, operands)
    if work.looks_late(test):
        return None
    if length is None and work.rows:
        length = tape_length(work.rows)
    builder = Builder()
    early, begun = work.early_operands(builder)
    op = operation(
        PRIMITIVES["while"],
        test=work.early_test(test),
        body=work.body,
        constants=work.layout.constants,
        carried=work.layout.carried,
        length=length if work.early_has_rows else None,
    )
    results = builder.emit(op, early)
    left = work.left(builder, early, results)
    program = builder.build([*results[: work.kept + 1], results[0], *begun, *left])
    late_program = work.late_program(INDEX, left, length, False)
    return Halves(program, late_program, (False, *work.cut.late_outputs))
