"""Loops, branches and recomputation: primitives that hold programs.

A loop carries values from round to round, reads rows of arrays that it scans, and stacks rows of
new ones. Its bodies are programs, compared by structure as all parameters are. What a derivative
does to a body is a matter of transforms; see `bodies.py` for the seam, `loops.py`, `branches.py`
and the files beside them for the rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Any, Final

import numpy as np

from adjoint.base.arrays import ArrayType, array_type, type_of
from adjoint.base.errors import DTypeError, ShapeError, TapeOverflowError
from adjoint.loops import bodies
from adjoint.loops.batches import scan_batch, while_batch
from adjoint.loops.bodies import interpreted
from adjoint.loops.branch_series import checkpoint_taylor, switch_taylor
from adjoint.loops.branches import (
    checkpoint_batch,
    checkpoint_derivative,
    checkpoint_is_linear,
    checkpoint_split,
    checkpoint_transpose,
    switch_batch,
    switch_derivative,
    switch_is_linear,
    switch_split,
    switch_transpose,
)
from adjoint.loops.collapsed import (
    checkpoint_collapsed,
    scan_collapsed,
    switch_collapsed,
    while_collapsed,
)
from adjoint.loops.cuts import scan_split, while_split
from adjoint.loops.rules import (
    INDEX,
    row_type,
    scan_derivative,
    scan_is_linear,
    scan_transpose,
    while_derivative,
    while_is_linear,
    while_transpose,
)
from adjoint.loops.samples import CHECKPOINTS, SCANS, SWITCHES, WHILES
from adjoint.loops.series import scan_taylor, while_taylor
from adjoint.primitives.declaration import PRIMITIVES, ByBody, Primitive, Together, Whole
from adjoint.program import Program, operation

# --- types ---------------------------------------------------------------------------------------


def _check_operands(name: str, types: Sequence[ArrayType], expected: Sequence[ArrayType]) -> None:
    if tuple(types) != tuple(expected):
        raise DTypeError(f"{name}: operands of types {_text(types)}, expected {_text(expected)}.")


def _text(types: Sequence[ArrayType]) -> str:
    return "(" + ", ".join(map(str, types)) + ")"


def _check_integer(name: str, what: str, type: ArrayType) -> None:
    if type.ndim or type.dtype.kind not in "iu":
        raise DTypeError(f"{name}: {what} must be one integer, got {type}.")


def stacked_type(type: ArrayType, length: int) -> ArrayType:
    """The type of so many rows in one array."""
    return array_type((length, *type.shape), type.dtype)


def _body_results(
    name: str, body: Program, carried: Sequence[ArrayType], length: int | None
) -> tuple[ArrayType, ...]:
    """The types of carried and stacked results, where the body keeps those of what it carries."""
    results = body.output_types
    _check_operands(f"{name}, carried values", results[: len(carried)], carried)
    rows = results[len(carried) :]
    if rows and length is None:
        raise ShapeError(f"{name}: rows are stacked, so there must be a length.")
    return (*carried, *(stacked_type(row, length or 0) for row in rows))


def _scan_types(
    *types: ArrayType,
    body: Program,
    constants: int,
    carried: int,
    length: int | None,
    reverse: bool,
) -> tuple[ArrayType, ...]:
    count, *operands = types
    _check_integer("scan", "the count", count)
    fixed = constants + carried
    for type_ in operands[fixed:]:
        if not type_.ndim or type_.shape[0] != length:
            raise ShapeError(f"scan: an array of {length} rows was expected, got {type_}.")
    given = [*operands[:fixed], *map(row_type, operands[fixed:])]
    _check_operands("scan", given, body.input_types)
    return _body_results("scan", body, operands[constants:fixed], length)


def _while_types(
    *types: ArrayType,
    test: Program,
    body: Program,
    constants: int,
    carried: int,
    length: int | None,
) -> tuple[ArrayType, ...]:
    _check_operands("while", types, body.input_types)
    _check_operands("while, its test", types, test.input_types)
    _check_operands("while, its test", test.output_types, (array_type((), np.dtype(bool)),))
    return (INDEX, *_body_results("while", body, types[constants:], length))


def _switch_types(*types: ArrayType, branches: tuple[Program, ...]) -> tuple[ArrayType, ...]:
    index, *operands = types
    _check_integer("switch", "the index", index)
    for branch in branches:
        _check_operands("switch", operands, branch.input_types)
    for one, other in pairwise(branches):
        _check_operands("switch, results", other.output_types, one.output_types)
    return branches[0].output_types


def _checkpoint_types(
    *types: ArrayType, body: Program, schedule: str | int | None
) -> tuple[ArrayType, ...]:
    _check_operands("checkpoint", types, body.input_types)
    return body.output_types


# --- meaning -------------------------------------------------------------------------------------


def _stacked(
    rows: Sequence[tuple[Any, ...]], types: Sequence[ArrayType], length: int | None, backwards: bool
) -> tuple[Any, ...]:
    """Rows in the order in which they came, as arrays; those that were not reached are zero.

    A tape that is too short is made longer here, where nothing else knows its length.
    """
    arrays = []
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(types)
    for column, type_ in zip(columns, types, strict=True):
        assert length is not None
        dtype = np.asarray(column[0]).dtype if column else type_.dtype
        array = np.zeros((max(length, len(column)), *type_.shape), dtype)
        for place, row in enumerate(reversed(column) if backwards else column):
            array[place] = row
        arrays.append(array)
    return tuple(arrays)


def _scan_evaluate(
    count: Any,
    *operands: Any,
    body: Program,
    constants: int,
    carried: int,
    length: int | None,
    reverse: bool,
) -> tuple[Any, ...]:
    rounds = max(int(count), 0)
    fixed = operands[:constants]
    state = tuple(operands[constants : constants + carried])
    scanned = operands[constants + carried :]
    step = interpreted(body)
    rows = []
    for k in reversed(range(rounds)) if reverse else range(rounds):
        results = step(*fixed, *state, *(array[k] for array in scanned))
        state = results[:carried]
        rows.append(results[carried:])
    return (*state, *_stacked(rows, body.output_types[carried:], length, reverse))


def _while_evaluate(
    *operands: Any, test: Program, body: Program, constants: int, carried: int, length: int | None
) -> tuple[Any, ...]:
    fixed, state = operands[:constants], tuple(operands[constants:])
    goes_on, step = interpreted(test), interpreted(body)
    rounds = 0
    rows = []
    while goes_on(*fixed, *state)[0]:
        results = step(*fixed, *state)
        state = results[:carried]
        rounds += 1
        if length is not None:
            rows.append(results[carried:])
    stacked = _stacked(rows, body.output_types[carried:], length, False)
    return (np.int64(rounds), *state, *stacked)


def _switch_evaluate(index: Any, *operands: Any, branches: tuple[Program, ...]) -> tuple[Any, ...]:
    chosen = branches[min(max(int(index), 0), len(branches) - 1)]
    return interpreted(chosen)(*operands)


def _checkpoint_evaluate(
    *operands: Any, body: Program, schedule: str | int | None
) -> tuple[Any, ...]:
    return interpreted(body)(*operands)


def _meaning(name: str, plain: Any) -> Any:
    """What it means on arrays: compiled where an executor takes it, else interpreted."""

    def evaluate(*operands: Any, **params: Any) -> tuple[Any, ...]:
        op = operation(PRIMITIVES[name], **params)
        compiled = bodies.COMPILE(op, tuple(map(type_of, operands)))
        if compiled is not None:
            with suppress(TapeOverflowError):  # interpreted, it has as many rows as it needs
                return compiled(*operands)  # type: ignore[no-any-return]
        arrays = [operand for operand in operands if isinstance(operand, np.ndarray)]
        return tuple(
            result.copy() if any(np.may_share_memory(result, array) for array in arrays) else result
            for result in plain(*operands, **params)
        )

    return evaluate


# --- declarations --------------------------------------------------------------------------------

# operands (count, *constants, *carried, *scanned), body (*constants, *carried, *rows) ->
# (*carried, *rows), results (*carried, *stacked): the body for each k below count, or backwards.
# `length` bounds count; None where nothing is scanned or stacked. Rows that are not reached are
# zero, but for those of tapes (`tapes.py`), which nothing reads. Where there are more rounds than
# rows, an executor raises TapeOverflowError, and the program is run again with a longer tape.
SCAN = Primitive(
    "scan",
    infer=_scan_types,
    evaluate=_meaning("scan", _scan_evaluate),
    linear=ByBody(scan_is_linear),
    derivative=Together(scan_derivative),
    transpose=scan_transpose,
    batch=scan_batch,
    taylor=Whole(scan_taylor),
    collapsed=scan_collapsed,
    samples=SCANS,
    multiple=True,
    split=scan_split,
)

# operands (*constants, *carried), test -> bool, body -> (*carried, *rows), results (rounds,
# *carried, *stacked): the body while the test holds. `length` bounds the rounds where rows are
# stacked, and is None elsewhere.
WHILE = Primitive(
    "while",
    infer=_while_types,
    evaluate=_meaning("while", _while_evaluate),
    linear=ByBody(while_is_linear),
    derivative=Together(while_derivative),
    transpose=while_transpose,
    batch=while_batch,
    taylor=Whole(while_taylor),
    collapsed=while_collapsed,
    samples=WHILES,
    multiple=True,
    split=while_split,
)

# operands (index, *operands): the branch of that number; an index beyond them means the nearest.
SWITCH = Primitive(
    "switch",
    infer=_switch_types,
    evaluate=_meaning("switch", _switch_evaluate),
    linear=ByBody(switch_is_linear),
    derivative=Together(switch_derivative),
    transpose=switch_transpose,
    batch=switch_batch,
    taylor=Whole(switch_taylor),
    collapsed=switch_collapsed,
    samples=SWITCHES,
    multiple=True,
    split=switch_split,
)

LOOPS: Final = frozenset({SCAN, WHILE})

# The body, which a derivative computes again and does not keep the insides of. `schedule`: None,
# "sqrt", "log" or a number: how many states of its loops are kept then.
CHECKPOINT = Primitive(
    "checkpoint",
    infer=_checkpoint_types,
    evaluate=_meaning("checkpoint", _checkpoint_evaluate),
    linear=ByBody(checkpoint_is_linear),
    derivative=Together(checkpoint_derivative),
    transpose=checkpoint_transpose,
    batch=checkpoint_batch,
    taylor=Whole(checkpoint_taylor),
    collapsed=checkpoint_collapsed,
    samples=CHECKPOINTS,
    multiple=True,
    split=checkpoint_split,
)
