"""Sums over some of the rows within the body of a loop, before they are added up over all chunks.

Outside of loops, what uses a sum waits for that of all rows, in the next pass. Within a loop it
cannot wait. But what is linear in the sum may be computed of each part of it, and added up later:
so does reverse mode, which adds to the derivative of a weight in each round.
"""

from __future__ import annotations

from typing import Final

from adjoint.program import Equation
from adjoint.transforms.by_rows.row_marks import WHOLE, ZERO, RowMark, refused

# Linear in all of their operands together.
_SUMS: Final = frozenset({"add", "subtract", "concatenate", "stack", "update", "increment"})
# Linear in one operand, all others given.
_PRODUCTS: Final = frozenset({"multiply", "scale", "contract"})
_ALONE: Final = frozenset(
    {"negative", "cast", "real", "imag", "reshape", "broadcast", "transpose", "slice", "sum"}
)


def of_partial(equation: Equation, operands: list[RowMark]) -> RowMark:
    """The mark of what follows from partial results within a loop."""
    name = equation.primitive.name
    partial = [mark.combined for mark in operands if mark.combined]
    rest = [mark for mark in operands if not mark.combined]
    if any(combined != "add" for combined in partial) or any(x.axis is not None for x in rest):
        raise _waits(equation)
    if name == "cast" and not equation.outputs[0].type.inexact:
        raise _waits(equation)
    linear = name in _ALONE or (name in _SUMS and not rest)
    if linear or (name in _PRODUCTS and len(partial) == 1):
        return RowMark(combined="add")
    if name == "divide" and operands[0].combined and len(partial) == 1:
        return RowMark(combined="add")
    raise _waits(equation)


def of_zero(operands: list[RowMark], name: str) -> RowMark | list[RowMark]:
    """The mark of what follows from zeros, or marks of the operands by which it is to be found.

    It is not known yet either, but for sums with what is known.
    """
    rest = [mark for mark in operands if mark != ZERO]
    if name in _SUMS and rest:
        if all(mark.combined for mark in rest):
            return [rest[0] if mark == ZERO else mark for mark in operands]
        if name in ("add", "subtract") or all(mark == WHOLE for mark in rest):
            return [WHOLE if mark == ZERO else mark for mark in operands]
    return ZERO


def _waits(equation: Equation) -> Exception:
    return refused(equation, "a loop needs what follows from all rows in each of its rounds")
