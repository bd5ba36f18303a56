"""Loops under derivatives: values and tangents are carried by one loop; cotangents go backwards.

A loop's derivative carries the tangents of what it carries. A loop that is linear, a scan, is
transposed to the scan in the other direction, which carries cotangents, gathers those of the
constants, and stacks those of what was scanned. In between the loop is cut (`cuts.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from adjoint.base.arrays import ArrayType, array_type
from adjoint.base.errors import NotLinearError
from adjoint.loops import bodies
from adjoint.loops.bodies import linear_outputs, pull, push
from adjoint.primitives.declaration import PRIMITIVES
from adjoint.primitives.expression import Expression, bind
from adjoint.primitives.structure.moving import zeros
from adjoint.program import Builder, Program, Variable
from adjoint.transforms.pieces import Marks, chosen, depending, flat, parts, present, spread

INDEX = array_type((), np.dtype(np.int64))


def row_type(type: ArrayType) -> ArrayType:
    """The type of a row of a stacked array."""
    return array_type(type.shape[1:], type.dtype)


class InputLayout(NamedTuple):
    """How many of a body's inputs are constants, and how many are carried; the rest are rows."""

    constants: int
    carried: int


# --- forwards ------------------------------------------------------------------------------------


class _MovingBody(NamedTuple):
    """A loop's body with tangents; varying, rows: which carried values and rows have one."""

    body: Program
    layout: InputLayout
    varying: Marks
    rows: Marks


def _push(body: Program, layout: InputLayout, marks: Sequence[bool]) -> _MovingBody:
    """The body pushed forward: what it carries varies if anything that it depends on does."""
    fixed, varying, scanned = parts(marks, *layout)
    still = [False] * (len(body.outputs) - layout.carried)
    while True:
        forward = push(body, tuple(flat(fixed, varying, scanned)), tuple(varying + still))
        grown, rows = parts(forward.marks, layout.carried)
        if grown == varying:
            break
        varying = grown
    c, x, s, rest = parts(forward.program.inputs, *layout, len(scanned))
    dc, dx, ds = parts(rest, sum(fixed), sum(varying))
    y, r, rest = parts(forward.program.outputs, layout.carried, len(rows))
    dy, dr = parts(rest, sum(varying))
    pushed = bodies.SHORTEN(
        Program(flat(c, dc, x, dx, s, ds), forward.program.equations, flat(y, dy, r, dr))
    )
    wider = InputLayout(len(c) + len(dc), len(x) + len(dx))
    return _MovingBody(pushed, wider, tuple(varying), tuple(rows))


def _moving(
    operands: Sequence[Expression],
    tangents: Sequence[Any],
    layout: InputLayout,
    varying: Marks,
    builder: Builder,
) -> list[Expression]:
    """The operands of a loop together with their tangents."""
    c, x, s = parts(operands, *layout)
    dc, dx, ds = parts(tangents, *layout)
    begun = [
        zeros(builder, value.type) if tangent is None else tangent
        for value, tangent, mark in zip(x, dx, varying, strict=True)
        if mark
    ]
    return flat(c, chosen(dc, present(dc)), x, begun, s, chosen(ds, present(ds)))


def _results(results: Sequence[Any], pushed: _MovingBody) -> tuple[list[Any], list[Any]]:
    """The results of a loop that carries tangents: values, and tangents or None."""
    count = len(pushed.varying)
    x, dx, r, dr = parts(results, count, sum(pushed.varying), len(pushed.rows))
    return x + r, spread(dx, pushed.varying) + spread(dr, pushed.rows)


def scan_derivative(
    tangents: Any, operands: Any, body: Program, constants: int, carried: int, **params: Any
) -> tuple[Any, Any]:
    """A scan that carries tangents along."""
    layout = InputLayout(constants, carried)
    pushed = _push(body, layout, present(tangents[1:]))
    builder = operands[0].builder
    moving = _moving(operands[1:], tangents[1:], layout, pushed.varying, builder)
    results = bind(
        PRIMITIVES["scan"],
        operands[0],
        *moving,
        body=pushed.body,
        constants=pushed.layout.constants,
        carried=pushed.layout.carried,
        **params,
    )
    return _results(results, pushed)


def while_derivative(
    tangents: Any,
    operands: Any,
    test: Program,
    body: Program,
    constants: int,
    carried: int,
    length: int | None,
) -> tuple[Any, Any]:
    """A loop that carries tangents along; its test looks at the values alone."""
    layout = InputLayout(constants, carried)
    pushed = _push(body, layout, present(tangents))
    builder = operands[0].builder
    moving = _moving(operands, tangents, layout, pushed.varying, builder)
    c, x = parts(test.inputs, constants)
    dc, dx = (
        [Variable(variable.type) for variable in pushed.body.inputs[start:stop]]
        for start, stop in (
            (constants, pushed.layout.constants),
            (pushed.layout.constants + carried, sum(pushed.layout)),
        )
    )
    results = bind(
        PRIMITIVES["while"],
        *moving,
        test=Program(flat(c, dc, x, dx), test.equations, test.outputs),
        body=pushed.body,
        constants=pushed.layout.constants,
        carried=pushed.layout.carried,
        length=length,
    )
    values, slopes = _results(results[1:], pushed)
    return [results[0], *values], [None, *slopes]


# --- linear scans --------------------------------------------------------------------------------


def _linear_inputs(body: Program, layout: InputLayout, marks: Sequence[bool]) -> Marks | None:
    """Which inputs of a body are linear in the operands marked; None where not all of them are."""
    fixed, carried, scanned = parts(marks, *layout)
    while True:
        inputs = tuple(flat(fixed, carried, scanned))
        outputs = linear_outputs(body, inputs)
        if outputs is None:
            return None
        grown = [a or b for a, b in zip(carried, outputs, strict=False)]
        if grown == carried:
            return inputs
        carried = grown


def scan_is_linear(
    marks: Marks, body: Program, constants: int, carried: int, length: int | None, reverse: bool
) -> bool:
    """Whether a scan is linear in the operands marked."""
    return (
        not marks[0]
        and _linear_inputs(body, InputLayout(constants, carried), marks[1:]) is not None
    )


def while_is_linear(
    marks: Marks, test: Program, body: Program, constants: int, carried: int, length: int | None
) -> bool:
    """Whether a loop is linear in the operands marked, and makes the same rounds whatever those."""
    inputs = _linear_inputs(body, InputLayout(constants, carried), marks)
    if inputs is None:
        return False
    late = depending(test.equations, chosen(test.inputs, inputs))
    return late.isdisjoint(test.outputs)


def while_transpose(cotangents: Any, operands: Any, **params: Any) -> Any:
    """Never as it is: what is transposed is the scan that it is cut into."""
    raise NotLinearError("A while loop whose rounds are not counted cannot be transposed.")


class _Pulled(NamedTuple):
    """The transpose of a body: which carried values have cotangents, and which other inputs."""

    body: Program
    carried: Marks
    constants: Marks
    scanned: Marks


def _pull(body: Program, layout: InputLayout, linear: Marks, seeded: Sequence[bool]) -> _Pulled:
    """The body transposed; what it carries has a cotangent if anything that uses it has."""
    carried, rows = parts(seeded, layout.carried)
    fixed, moving, scanned = parts(linear, *layout)
    none = (False,) * sum(linear)
    while True:
        backward = pull(body, linear, tuple(carried + rows), (False,) * len(linear), none)
        places = [mark or False for mark in spread(backward.marks, linear)]
        grown = [a or bool(b) for a, b in zip(carried, places[layout.constants :], strict=False)]
        if grown == carried:
            break
        carried = grown
    c, _, s = parts(places, *layout)
    gathering = tuple(flat(map(bool, c), [False] * len(moving), [False] * len(scanned)))
    filled = tuple(chosen(flat([False] * len(c), carried, [False] * len(s)), linear))
    backward = pull(body, linear, tuple(carried + rows), gathering, filled)
    known, more, gathered, seeds, others = parts(
        backward.program.inputs,
        fixed.count(False),
        scanned.count(False),
        sum(gathering),
        sum(carried),
    )
    pulled = Program(
        flat(known, gathered, seeds, more, others),
        backward.program.equations,
        backward.program.outputs,
    )
    return _Pulled(pulled, tuple(carried), tuple(map(bool, c)), tuple(map(bool, s)))


def scan_transpose(
    cotangents: Any,
    operands: Any,
    body: Program,
    constants: int,
    carried: int,
    length: int | None,
    reverse: bool,
) -> Any:
    """The scan in the other direction, over the transposed body."""
    layout = InputLayout(constants, carried)
    marks = [not isinstance(operand, Expression) for operand in operands]
    linear = _linear_inputs(body, layout, marks[1:])
    if linear is None or not all(linear[constants : constants + carried]):
        raise NotLinearError("A loop is not linear in what it was to be transposed in.")
    builder = operands[0].builder
    pulled = _pull(body, layout, linear, present(cotangents))
    c, x, s = parts(operands[1:], *layout)
    y, r = parts(cotangents, carried)
    gathered = [zeros(builder, constant.type) for constant in chosen(c, pulled.constants)]
    seeds = [
        zeros(builder, value.type) if cotangent is None else cotangent
        for value, cotangent in zip(x, y, strict=True)
    ]
    known, more = chosen(c, linear[:constants], False), chosen(s, linear[sum(layout) :], False)
    rows = more or any(pulled.scanned) or any(present(r))
    results = bind(
        PRIMITIVES["scan"],
        operands[0],
        *known,
        *gathered,
        *chosen(seeds, pulled.carried),
        *more,
        *chosen(r, present(r)),
        body=pulled.body,
        constants=len(known),
        carried=len(gathered) + sum(pulled.carried),
        length=length if rows else None,
        reverse=not reverse,
    )
    dc, dx, ds = parts(results, len(gathered), sum(pulled.carried))
    spreads = zip((dc, dx, ds), (pulled.constants, pulled.carried, pulled.scanned), strict=True)
    return (None, *flat(*(spread(part, where) for part, where in spreads)))
