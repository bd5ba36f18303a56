"""Which entries of a value depend differentiably on which entries of others.

`origins` tells it for whole arrays, which is too much for a workspace: an array that an earlier
call has filled, and that this one fills anew, entry by entry, before it reads it. Operations that
move entries are linear, and so are asked themselves: what they make of random numbers in the places
in question is zero in all others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from adjoint.capture.recording.exits.escape import passes_on
from adjoint.capture.recording.tracing.applying import peek, reapply
from adjoint.capture.recording.tracing.trace import Trace
from adjoint.primitives.declaration import Joint
from adjoint.program import Operation

Places = np.ndarray[Any, Any]
"""Which entries of an array, as an array of truth values."""


def entries(trace: Trace, slot: int, given: Callable[[int], Places | None]) -> Places | None:
    """The places of a slot's value that depend on what is given; None for none.

    given: the places in question of an input or a constant, by its slot.
    """
    known: dict[int, Places | None] = {}
    for number in sorted(trace.needed([slot])):
        head, *operands = trace.records[number]
        first = trace.starts[number]
        if not isinstance(head, Operation):
            known[first] = given(first)
            continue
        for operand in operands:
            if operand not in known:  # an input
                known[operand] = given(operand)
        places = [known[operand] for operand in operands]
        count = len(head.infer(tuple([trace.types[operand] for operand in operands])))
        result_places: list[Places | None] = [None] * count
        if passes_on(trace, head, operands) and any(mask is not None for mask in places):
            result_places = _through(trace, head, operands, places, range(first, first + count))
        known.update(zip(range(first, first + count), result_places, strict=True))
    return known[slot] if slot in known else given(slot)


def _through(
    trace: Trace, op: Operation, operands: list[int], places: list[Any], results: range
) -> list[Places | None]:
    """What an operation makes of places in its operands."""
    shapes = [trace.types[result].shape for result in results]
    linear = op.primitive.linear
    if isinstance(linear, Joint) and linear.allows(tuple(mask is not None for mask in places)):
        values = []
        for number, (slot, mask) in enumerate(zip(operands, places, strict=True)):
            if linear.places is not None and number not in linear.places:
                values.append(peek(trace.value(slot, reapply)))
            else:
                values.append(_drawn(trace.types[slot], mask))
        evaluated = op.primitive.evaluate(*values, **op.params)
        return list(map(_nonzero, evaluated if op.primitive.multiple else (evaluated,)))
    if op.primitive.ufunc is not None:
        whole = np.zeros(shapes[0], bool)
        for mask in places:
            if mask is not None:
                whole |= mask
        return [whole]
    return [np.ones(shape, bool) for shape in shapes]


def _drawn(type_: Any, places: Places | None) -> Any:
    """Random numbers in some places, and zeros in the others."""
    drawn = np.zeros(type_.shape, type_.dtype)
    if places is not None:
        real, imaginary = _RANDOM.random((2, *type_.shape)) + 1
        drawn[...] = places * (real + 1j * imaginary if type_.dtype.kind == "c" else real)
    return drawn


def _nonzero(value: Any) -> Places | None:
    places = np.asarray(np.asarray(value) != 0)
    return places if places.any() else None


_RANDOM: Final = np.random.default_rng(0)
