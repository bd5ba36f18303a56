"""Writes into arrays, and into slices of arrays, as they mostly come: all of one open trace.

What `views.assign` does with questions is written out here. Where an array may share memory in some
other way, or a view is no plain slice, that is left to it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.capture.recording.memory.views import Slice
from adjoint.capture.recording.tracing.traced import Traced


def is_plainly_written(x: Traced, trace: Any) -> bool:
    """Whether a write into an array reaches what it is a part of by plain slices, in one trace."""
    while x._trace is trace and type(x._value) is np.ndarray:
        state = x._state
        if state is None:
            return True
        if state.aliases or state.flat:
            return False
        if state.base is None:
            return True
        if type(state.view) is not Slice or state.view.shaped is not None:
            return False
        x = state.base
    return False


def carry(x: Traced, trace: Any, slot: int) -> None:
    """Let an array that is plainly written have a slot, and all that it is a part of follow."""
    types = trace.types
    while True:
        x._slot, state = slot, x._state
        if state is None:
            return
        state.version += 1
        base = state.base
        if base is None:
            return
        op, pair = state.view.put_operation, (types[base._slot], types[slot])
        result_types = op._inferred.get(pair) or op.infer(pair)
        trace.records.append((op, base._slot, slot))
        slot = len(types)
        types.append(result_types[0])
        state.seen = base._state.version + 1  # type: ignore[union-attr]
        x = base
