"""Functions that a capture has called, of which the run after it asks the same.

A function that capture does not enter (`ad.primitive`) runs on values in a capture, so that its
errors come where the user's code can catch them. The program of the same call asks for its result
once more. What was found is kept until then: the function runs once, as in plain NumPy.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from adjoint.capture.recording.tracing.constants import same_memory
from adjoint.capture.recording.tracing.trace import captures

_state = threading.local()


class Ran(NamedTuple):
    """A call. key: of what. operands: arrays and numbers. results: what it gave."""

    key: Any
    operands: list[Any]
    results: Any


def note_ran(key: Any, operands: Sequence[Any], results: Any) -> None:
    """Keep what a function gave in the captures under way. results: (arrays, structure)."""
    arrays, treedef = results
    call = Ran(key, list(map(_held, operands)), (list(map(_held, arrays)), treedef))
    for trace in captures():
        trace.ran.append(call)


@contextmanager
def ready(ran: Sequence[Ran]) -> Iterator[None]:
    """While the program of a capture runs, which has called these."""
    before = getattr(_state, "waiting", None)
    _state.waiting = list(ran)
    try:
        yield
    finally:
        _state.waiting = before


def given(key: Any, operands: Sequence[Any]) -> Any:
    """What a function gave for these operands in the capture before this run, once; or None."""
    waiting: list[Ran] = getattr(_state, "waiting", None) or []
    for place, call in enumerate(waiting):
        if call.key is key and all(map(_same, call.operands, operands)):
            del waiting[place]
            arrays, treedef = call.results
            return list(map(_held, arrays)), treedef  # which a program may write into
    return None


def _held(value: Any) -> Any:
    return value.copy() if isinstance(value, np.ndarray) else value


def _same(one: Any, other: Any) -> bool:
    return np.shape(one) == np.shape(other) and same_memory(np.asarray(one), np.asarray(other))
