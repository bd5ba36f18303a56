"""Which variables of a program hold rows, along which axis, and which are sums over rows.

A variable holds *rows* along an axis, entry by entry what the same rows of the inputs determine; or
it is a *partial* result, to be added up (or of which the largest or smallest is taken) over all
chunks of rows; or it is *whole*: the same for all chunks. What uses a partial result has it from a
pass over all rows, and belongs to the next *stage*.

An equation that is not known to keep rows apart is refused: a sort, `X @ X.T`, `x[1:] - x[:-1]`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from adjoint.primitives.elementwise.conversion import (
    CAST,
    IMAG,
    PYTHON_NUMBER,
    REAL,
    STOP_GRADIENT,
)
from adjoint.primitives.elementwise.declaring import SCALE
from adjoint.primitives.elementwise.selection import SELECT
from adjoint.primitives.hardness import HARD, TAME
from adjoint.primitives.structure.contraction import split_spec
from adjoint.primitives.structure.moving import FILL
from adjoint.program import Atom, Builder, Equation, Operation, Program, Variable
from adjoint.transforms.by_rows.branches import switched
from adjoint.transforms.by_rows.loops import BodyMarks, scanned
from adjoint.transforms.by_rows.partial_results import of_partial, of_zero
from adjoint.transforms.by_rows.rounds import WhileMet, with_rounds
from adjoint.transforms.by_rows.row_marks import WHOLE, ZERO, RowMark, RowMarks, refused
from adjoint.transforms.by_rows.stacks import STACKS, stacked

_ELEMENTWISE: Final = frozenset(
    [
        *(SCALE, SELECT, CAST, REAL, IMAG, PYTHON_NUMBER, STOP_GRADIENT, HARD, TAME),
    ]
)
_NAMED: Final = frozenset({"integer_power", "power_log", "same_as", "exponent"})
_COMBINED: Final = {"sum": "add", "max": "maximum", "min": "minimum"}


def marked(program: Program, inputs: Sequence[RowMark], rows: int) -> RowMarks:
    """The marks of a program's variables.

    Args:
        program: of all rows.
        inputs: the marks of its inputs.
        rows: how many there are.

    Returns:
        The marks.

    Raises:
        RowsError: an equation needs all rows at once.
    """
    program, agreed = _opened(program), frozenset[Variable]()
    while True:  # until loops over rows are all of so many rounds
        marks = RowMarks(program, inputs, rows)
        marks.agreed = agreed
        try:
            return _filled(marks)
        except WhileMet as met:
            program, agreed = with_rounds(program, met, agreed)


def _opened(program: Program) -> Program:
    """The program with what checkpoints hold in their places: chunks are small anyway."""
    if all(equation.primitive.name != "checkpoint" for equation in program.equations):
        return program
    builder = Builder()
    inputs = [builder.input(variable.type) for variable in program.inputs]
    return builder.build(_copied(builder, program, inputs, None))


def _copied(
    builder: Builder, program: Program, inputs: Sequence[Atom], origin: int | None
) -> list[Atom]:
    """The results of a program's equations, copied. origin: of the checkpoint that holds them."""
    names: dict[Atom, Atom] = dict(zip(program.inputs, inputs, strict=True))
    for equation in program.equations:
        operands = [names.get(atom, atom) for atom in equation.inputs]
        own = equation.origin if origin is None else origin
        if equation.primitive.name == "checkpoint":
            results: Sequence[Atom] = _copied(builder, equation.params["body"], operands, own)
        else:
            builder.origin, builder.derived = own, equation.derived
            results = builder.emit(equation.operation, operands)
        names.update(zip(equation.outputs, results, strict=True))
    return [names.get(atom, atom) for atom in program.outputs]


def _body_marked(program: Program, inputs: Sequence[RowMark], rows: int) -> RowMarks:
    """The marks of a loop's body."""
    return _filled(BodyMarks(program, inputs, rows))


def _filled(marks: RowMarks) -> RowMarks:
    """Marks, equation by equation."""
    for equation in marks.program.equations:
        operands = [marks.used(atom) for atom in equation.inputs]
        stage = marks.stage(equation)
        for variable, mark in zip(
            equation.outputs, _results(marks, equation, operands), strict=True
        ):
            marks.of[variable], marks.stages[variable] = mark, stage
    return marks


def _results(marks: RowMarks, equation: Equation, operands: list[RowMark]) -> list[RowMark]:
    if all(mark == WHOLE for mark in operands):
        return _of_whole(marks, equation)
    if equation.primitive.name == "scan":
        return scanned(marks, equation, operands, _body_marked)
    if equation.primitive.name == "switch":
        return switched(marks, equation, operands, _body_marked)
    if equation.primitive.name == "while" and not isinstance(marks, BodyMarks):
        raise WhileMet(equation, operands)
    if ZERO in operands:  # in a body, as are all sums that are not waited for
        if _adds_rows(equation, operands):
            return [_elementwise(marks, equation, operands)]
        known = of_zero(operands, equation.primitive.name)
        return [known] if isinstance(known, RowMark) else _results(marks, equation, known)
    if any(mark.combined for mark in operands):
        return [of_partial(equation, operands)]
    result = _of_rows(marks, equation, operands)
    return result if isinstance(result, list) else [result]


def _of_whole(marks: RowMarks, equation: Equation) -> list[RowMark]:
    """What follows from no rows is whole, but for what is made in the shape of rows."""
    name = equation.primitive.name
    if not marks.agreed.isdisjoint(equation.outputs):
        return [RowMark(combined="either")] * len(equation.outputs)
    if name == "iota" and equation.params["length"] == marks.rows:
        if isinstance(marks, BodyMarks):
            raise refused(equation, "it numbers the rows within a loop")
        return [RowMark(0, counted=True)]
    if name in ("fill", "broadcast"):
        axis = _axis_of_length(equation.outputs[0].type.shape, marks.rows)
        spread = name == "fill" or _is_spread(equation, axis)
        return [RowMark(axis if spread else None)]
    return [WHOLE] * len(equation.outputs)


def _axis_of_length(shape: Sequence[int], rows: int) -> int | None:
    """The one axis of a shape that is as long as there are rows."""
    places = [axis for axis, length in enumerate(shape) if length == rows]
    return places[0] if len(places) == 1 else None


def _is_spread(equation: Equation, axis: int | None) -> bool:
    """Whether an axis of a broadcast is new, or was of length 1."""
    if axis is None:
        return False
    before = equation.inputs[0].type.shape
    place = axis - (len(equation.params["shape"]) - len(before))
    return place < 0 or before[place] == 1


def _of_rows(
    marks: RowMarks, equation: Equation, operands: list[RowMark]
) -> RowMark | list[RowMark]:
    name = equation.primitive.name
    rule = _RULES.get(name)
    if rule is not None:
        return rule(marks, equation, operands)
    if is_elementwise(equation):
        return _elementwise(marks, equation, operands)
    raise refused(equation, "it is not known to keep rows apart")


def is_elementwise(applied: Equation | Operation) -> bool:
    """Whether each entry of the result follows from the same entries of the operands."""
    primitive = applied.primitive
    known = primitive in _ELEMENTWISE or primitive.name in _NAMED
    return known or (primitive.ufunc is not None and not primitive.multiple)


def _elementwise(marks: RowMarks, equation: Equation, operands: list[RowMark]) -> RowMark:
    ndim = equation.outputs[0].type.ndim
    axes, counted = set(), False
    for atom, mark in zip(equation.inputs, operands, strict=True):
        if mark.axis is not None:
            axes.add(mark.axis + ndim - atom.type.ndim)
            counted |= mark.counted
    if len(axes) != 1:
        raise refused(equation, "its operands have rows along different axes")
    axis = axes.pop()
    for atom, mark in zip(equation.inputs, operands, strict=True):
        place = axis - (ndim - atom.type.ndim)
        alike = mark.axis is not None or mark == ZERO
        if not alike and place >= 0 and atom.type.shape[place] != 1:
            raise refused(equation, "an operand has as many entries as there are rows")
    return RowMark(axis, counted=counted and is_alone(equation))


def _adds_rows(equation: Equation, operands: Sequence[RowMark]) -> bool:
    """Whether rows are added to zeros, which go along with them whatever they come to be."""
    rows = all(mark == ZERO or mark.axis is not None for mark in operands)
    return rows and equation.primitive.name in ("add", "subtract") and set(operands) != {ZERO}


def is_alone(equation: Equation) -> bool:
    """Whether an equation hands on the numbers of rows as they are."""
    return equation.primitive in (STOP_GRADIENT, HARD, TAME)


def _reduction(marks: RowMarks, equation: Equation, operands: list[RowMark]) -> RowMark:
    axes, axis = equation.params["axes"], operands[0].axis
    assert axis is not None
    axes = [place % equation.inputs[0].type.ndim for place in axes]
    if axis in axes:
        return RowMark(combined=_COMBINED[equation.primitive.name])
    return RowMark(axis - sum(place < axis for place in axes))


def _kept_axis(equation: Equation, axis: int, before: Sequence[int], after: Sequence[int]) -> int:
    """The axis of rows after a reshape, which must not be joined with another or divided."""
    ahead = 1
    for length in before[:axis]:
        ahead *= length
    product = 1
    for place, length in enumerate(after):
        if product == ahead and length == before[axis]:
            return place
        product *= length
    raise refused(equation, "it joins the axis of the rows with another")


def _reshape(marks: RowMarks, equation: Equation, operands: list[RowMark]) -> RowMark:
    axis = operands[0].axis
    assert axis is not None
    before, after = equation.inputs[0].type.shape, equation.params["shape"]
    return RowMark(_kept_axis(equation, axis, before, after), counted=operands[0].counted)


def _broadcast(marks: RowMarks, equation: Equation, operands: list[RowMark]) -> RowMark:
    axis = operands[0].axis
    assert axis is not None
    return RowMark(axis + len(equation.params["shape"]) - equation.inputs[0].type.ndim)


def _transpose(marks: RowMarks, equation: Equation, operands: list[RowMark]) -> RowMark:
    return RowMark(tuple(equation.params["axes"]).index(operands[0].axis))


def _contract(marks: RowMarks, equation: Equation, operands: list[RowMark]) -> RowMark:
    left, right, result = split_spec(equation.params["spec"])
    pairs = zip((left, right), operands, strict=True)
    labels = {text[mark.axis] for text, mark in pairs if mark.axis is not None}
    if len(labels) != 1:
        raise refused(equation, "it multiplies each row by all others")
    label = labels.pop()
    for text, mark in zip((left, right), operands, strict=True):
        if label in text and mark.axis is None:
            raise refused(equation, "an operand has as many entries as there are rows")
    return RowMark(result.index(label)) if label in result else RowMark(combined="add")


def _is_full(entry: Any, rows: int) -> bool:
    return not isinstance(entry, int) and tuple(entry) == (0, rows, 1)


def _slice(marks: RowMarks, equation: Equation, operands: list[RowMark]) -> RowMark:
    axis, index = operands[0].axis, equation.params["index"]
    assert axis is not None
    if axis < len(index) and not _is_full(index[axis], marks.rows):
        raise refused(equation, "it takes some rows out by their numbers")
    return RowMark(axis - sum(isinstance(entry, int) for entry in index[:axis]))


def indexed_ndim(index: Sequence[Any], ndim: int) -> int:
    """The number of axes of the part of an array that an index names."""
    return ndim - sum(isinstance(entry, int) for entry in index)


def _update(marks: RowMarks, equation: Equation, operands: list[RowMark]) -> RowMark:
    (whole, value), index = operands, equation.params["index"]
    axis = whole.axis
    if axis is None:
        raise refused(equation, "it writes rows into an array that has none")
    if axis < len(index) and not _is_full(index[axis], marks.rows):
        raise refused(equation, "it writes to some rows by their numbers")
    place = axis - sum(isinstance(entry, int) for entry in index[:axis])
    # The place of the rows among the axes of the value, which may have fewer than what it fills.
    place -= indexed_ndim(index, equation.inputs[0].type.ndim) - equation.inputs[1].type.ndim
    if value.axis not in (None, place):
        raise refused(equation, "it writes rows along another axis")
    if value.axis is None and place >= 0 and equation.inputs[1].type.shape[place] != 1:
        raise refused(equation, "a value has as many entries as there are rows")
    return RowMark(axis)


def _joined(marks: RowMarks, equation: Equation, operands: list[RowMark]) -> RowMark:
    axes = {mark.axis for mark in operands}
    (axis,) = axes if len(axes) == 1 else (None,)
    place = equation.params["axis"]
    if axis is None:
        raise refused(equation, "not all of its operands have rows along one axis")
    if equation.primitive.name == "stack":
        return RowMark(axis + (place <= axis))
    if axis == place:
        raise refused(equation, "it puts rows behind each other")
    return RowMark(axis)


def _in_itself(marks: RowMarks, equation: Equation, x: RowMark, indices: Sequence[RowMark]) -> bool:
    """Whether each row is indexed by its own number first."""
    first = equation.inputs[-len(indices)]
    own = indices[0].counted and first.type.size == marks.rows
    return x.axis == 0 and own and {mark.axis for mark in indices} == {0}


def _gather(marks: RowMarks, equation: Equation, operands: list[RowMark]) -> RowMark:
    x, *indices = operands
    axes = {mark.axis for mark in indices}
    if x.axis is None and len(axes) == 1:  # each row looks something up in a table
        return RowMark(axes.pop())
    if _in_itself(marks, equation, x, indices):
        return RowMark(0)
    raise refused(equation, "it looks up rows by their numbers")


def _gather_add(marks: RowMarks, equation: Equation, operands: list[RowMark]) -> RowMark:
    x, value, *indices = operands
    axes = {mark.axis for mark in indices}
    if _in_itself(marks, equation, x, indices) and value.axis in (0, None):
        return RowMark(0)
    if x.axis is None and len(axes) == 1 and value.axis in (None, *axes):
        (axis,) = axes
        if value.axis is None and not _is_same_along(equation.inputs[1], axis, equation):
            raise refused(equation, "a value has as many entries as there are rows")
        makers = [e for e in marks.program.equations if equation.inputs[0] in e.outputs]
        if makers and makers[0].primitive is FILL and not makers[0].params["value"]:
            return RowMark(combined="add")  # to zeros
    raise refused(equation, "it adds to rows by their numbers")


def _is_same_along(value: Atom, axis: int | None, equation: Equation) -> bool:
    """Whether a value is the same for all rows, which indices have along an axis."""
    x, _, *indices = equation.inputs
    if axis is None:
        return True
    ndim = max(index.type.ndim for index in indices) + x.type.ndim - len(indices)
    place = axis - (ndim - value.type.ndim)
    return place < 0 or value.type.shape[place] == 1


_Rule = Callable[[RowMarks, Equation, list[RowMark]], RowMark | list[RowMark]]
_RULES: Final[dict[str, _Rule]] = {
    **dict.fromkeys(_COMBINED, _reduction),
    "reshape": _reshape,
    "broadcast": _broadcast,
    "transpose": _transpose,
    "contract": _contract,
    "slice": _slice,
    **dict.fromkeys(("update", "increment"), _update),
    **dict.fromkeys(("concatenate", "stack"), _joined),
    **dict.fromkeys(STACKS, stacked),
    "gather": _gather,
    "gather_add": _gather_add,
}
