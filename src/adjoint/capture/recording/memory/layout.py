"""How an array lies in memory, as far as its records tell, where it has no value."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.capture.recording.tracing.traced import Traced
from adjoint.primitives.elementwise.conversion import CAST
from adjoint.primitives.structure.gathering import GATHER_ADD, GATHER_SET, IOTA
from adjoint.primitives.structure.moving import FILL, RESHAPE
from adjoint.primitives.structure.reductions import CUMULATIVE_SUM
from adjoint.primitives.structure.slicing import INCREMENT, UPDATE

_DEPTH = 64  # how far back the layout of an array is followed
_KEEPS_LAYOUT = frozenset({RESHAPE, UPDATE, INCREMENT, GATHER_SET, GATHER_ADD, CAST})
_MAKES_C_ORDER = frozenset({FILL, IOTA, CUMULATIVE_SUM})


def is_c_ordered(x: Traced, depth: int = _DEPTH) -> bool:
    """Whether NumPy's array would surely be contiguous in C order.

    False where that is not known.
    """
    if type(x._value) is np.ndarray:
        return x._value.flags.c_contiguous
    state = x._state
    if state is not None and state.base is not None:
        return False
    if x._trace is None:
        return True
    return _slot_is_c_ordered(x._trace, x._slot, depth)


def is_computed(x: Traced) -> bool:
    """Whether the memory of an array is surely one that an operation before has made."""
    if x._state is not None and x._state.base is not None:  # a view has its memory
        return is_computed(x._state.base)
    trace = x._trace
    if trace is None:
        return False
    trace.find_owners()
    slot = x._slot
    for _ in range(_DEPTH):
        owner = trace.owners[slot]
        if owner < 0:
            return False
        head, *operands = trace.records[owner]
        if not hasattr(head, "primitive"):
            return False
        if not head.primitive.view:
            return True
        slot = operands[0]
    return False


def _slot_is_c_ordered(trace: Any, slot: int, depth: int) -> bool:
    trace.find_owners()
    owner = trace.owners[slot]
    value = trace.values.get(slot)
    if isinstance(value, np.ndarray):
        return bool(value.flags.c_contiguous)
    type_ = trace.types[slot]
    if owner < 0:
        return bool(type_.ndim == 0)
    head, *operands = trace.records[owner]
    if not hasattr(head, "primitive") or head.primitive.view:
        return False
    if type_.ndim <= 1 or head.primitive in _MAKES_C_ORDER:
        return True
    if depth == 0:
        return False
    if head.primitive in _KEEPS_LAYOUT:
        return _slot_is_c_ordered(trace, operands[0], depth - 1)
    if head.primitive.ufunc is None:
        return False
    # Elementwise results are laid out as their operands are; those that are broadcast do not
    # decide.
    return all(
        _slot_is_c_ordered(trace, operand, depth - 1)
        for operand in operands
        if trace.types[operand].ndim > 1
    )
