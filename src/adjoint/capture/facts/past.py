"""Values that an earlier call at the same point has left behind, as in a cache kept by hand.

They are constants, which is right if the function would use them wherever the point moved. If it
looks them up by the point, a derivative would be lost. Plain NumPy may work on them before they
meet a traced array, and an identity would be lost on the way; so while a function is captured they
are traced, in a trace of their own. What follows from them may be compared, shown and stored, but a
result that depends on them differentiably is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from adjoint.base.arrays import type_of
from adjoint.base.errors import DroppedDerivativeError
from adjoint.capture.facts.remains import AT_THE_SAME_POINT, Search, is_left_at, left_at, point_of
from adjoint.capture.recording.applying import frozen, peek
from adjoint.capture.recording.escape import origins
from adjoint.capture.recording.hooks import hooks
from adjoint.capture.recording.trace import Trace
from adjoint.capture.recording.traced import from_slot


class Past:
    """What is traced instead of the values of an earlier call, until the capture is over."""

    def __init__(self, roots: Iterable[Any], trace: Trace) -> None:
        self.roots = tuple(roots)
        self.capture = trace
        self.trace = Trace((), {}, [])
        self.trace.valued = True
        self.trace.past = point_of(trace)
        coming = _Coming(self.trace)
        coming.waiting.extend(self.roots)
        coming.run()
        self.changed = coming.changed
        self.pairs = list(coming.pairs.values())
        self.trace.input_count = len(self.pairs)

    @classmethod
    def of(cls, roots: Iterable[Any], trace: Trace) -> Past | None:
        """The values that were left at the point of a capture that begins; None without any."""
        if not hooks.stale or not any(trace.active) or not is_left_at(point_of(trace)):
            return None
        past = cls(roots, trace)
        return past if past.pairs else None

    def leave(self) -> None:
        """Put the values back, as NumPy would have changed them."""
        self.trace.open = False
        for number, (value, traced) in enumerate(self.pairs):
            if traced._trace is self.trace and traced._slot == number:
                continue
            self.capture.effects.append(("it writes into an array that was made outside", ""))
            if traced._value is not value:
                np.copyto(value, peek(traced))
        self.capture.survivors |= len(self.trace.records) > len(self.pairs)
        going = _Swap(self.trace)
        going.pairs = {id(traced): (traced, value) for value, traced in self.pairs}
        going.waiting.extend([*self.roots, *self.changed])
        going.run()


class _Swap(Search):
    """Puts one value in the place of another, but for keys, which only answer questions.

    pairs: the values, by identity, with what is put in their places. changed: where that was done.
    """

    def __init__(self, trace: Trace) -> None:
        super().__init__(trace)
        self.pairs: dict[int, tuple[Any, Any]] = {}
        self.changed: list[Any] = []

    def look(self, value: Any) -> None:
        before = self.count
        super().look(value)
        if self.count != before:
            self.changed.append(value)

    def mapping(self, value: dict[Any, Any]) -> None:
        for key, each in list(value.items()):
            new = self._new(each)
            if new is not each:
                value[key] = new

    def set(self, value: set[Any]) -> None:
        self.waiting += value

    def _new(self, value: Any) -> Any:
        found = self.pairs.get(id(value))
        if found is None or found[0] is not value:
            return super()._new(value)
        self.count += 1
        return found[1]

    def _value(self, traced: Any) -> Any:
        return traced


class _Coming(_Swap):
    """Values that were left at the point, which become inputs of a trace."""

    def _new(self, value: Any) -> Any:
        if id(value) not in self.pairs and left_at(value) == self.trace.past:
            trace, slot = self.trace, len(self.trace.types)
            trace.types.append(type_of(value))
            trace.active = [*trace.active, True]
            trace.owners.append(-1)
            # What is written into an array is; a number is told from the one that is remembered.
            value_now = value if isinstance(value, np.ndarray) else -(-value)
            trace.values[slot] = frozen(value_now)
            self.pairs[id(value)] = (value, from_slot(trace, slot, value_now))
        return super()._new(value)


def check_stale(trace: Trace, outputs: Sequence[int]) -> None:
    """Refuse results that depend differentiably on what an earlier call at this point has left."""
    if not trace.stale or not any(trace.active):
        return
    for output in outputs:
        if trace.types[output].inexact:
            for slot in origins(trace, output):
                if slot in trace.stale:
                    error = DroppedDerivativeError(AT_THE_SAME_POINT)
                    error.add_note(f"At {trace.stale[slot]}")
                    raise error
