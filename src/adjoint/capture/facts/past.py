"""Values that an earlier call at the same point has left behind, as in a cache kept by hand.

They are constants, which is right if the function would use them wherever the point moved. If it
looks them up by the point, a derivative would be lost. Plain NumPy may work on them before they
meet a traced array, and an identity would be lost on the way; so while a function is captured they
are traced, in a trace of their own. What follows from them may be compared, shown and stored, but a
result that depends on them differentiably is refused.
"""

from __future__ import annotations

import linecache
import warnings
from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np

from adjoint.base.arrays import type_of
from adjoint.base.errors import DroppedDerivativeError, StaleValueWarning
from adjoint.capture.facts.remains import (
    Search,
    is_anything_left,
    is_left_at,
    left_at,
    left_in,
    point_of,
)
from adjoint.capture.facts.written import written_at
from adjoint.capture.recording.exits.entries import entries
from adjoint.capture.recording.exits.escape import origins
from adjoint.capture.recording.tracing.applying import frozen, peek
from adjoint.capture.recording.tracing.guards import DONE
from adjoint.capture.recording.tracing.hooks import hooks
from adjoint.capture.recording.tracing.stale import Stale
from adjoint.capture.recording.tracing.trace import Trace, captures, note_effect, outermost
from adjoint.capture.recording.tracing.traced import from_slot


class Past:
    """What is traced instead of the values of an earlier call, until the capture is over."""

    def __init__(self, roots: Iterable[Any], trace: Trace) -> None:
        self.roots = tuple(roots)
        active: list[bool] = []
        self.trace = Trace((), {}, active)
        self.trace.valued = True
        self.trace.past = point_of(trace)
        coming = _Coming(self.trace, active)
        coming.waiting.extend(self.roots)
        coming.run()
        self.changed = coming.changed
        self.pairs = list(coming.pairs.values())
        self.trace.input_count = len(self.pairs)

    @classmethod
    def of(cls, roots: Iterable[Any], trace: Trace) -> Past | None:
        """The values that were left at the point of a capture that begins; None without any."""
        if not (is_anything_left() and any(trace.active) and is_left_at(point_of(trace))):
            return None
        past = cls(roots, trace)
        return past if past.pairs else None

    def leave(self, capture: Trace) -> None:
        """Put the values back, as NumPy would have changed them."""
        self.trace.open = False
        for number, (value, traced) in enumerate(self.pairs):
            if traced._trace is self.trace and traced._slot == number:
                continue
            whole = outermost() or capture
            whole.effects.append(("it writes into an array that was made outside", ""))
            if traced._value is not value:
                np.copyto(value, peek(traced))
            if isinstance(value, np.ndarray):
                left_in(value, traced)
        capture.survivors |= len(self.trace.records) > len(self.pairs)
        going = _Swap(self.trace)
        going.pairs = {id(traced): (traced, value) for value, traced in self.pairs}
        going.waiting.extend([*self.roots, *self.changed])
        going.run()
        for _, traced in self.pairs:  # which may live on, and would refer to the array
            traced._value = frozen(traced._value)
        capture.arrays.clear()


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
        for key, content in list(value.items()):
            new = self._new(content)
            if new is not content:
                value[key] = new

    def members(self, value: set[Any]) -> None:
        self.waiting += value

    def _new(self, value: Any) -> Any:
        pair = self.pairs.get(id(value))
        if pair is None or pair[0] is not value:
            return super()._new(value)
        self.count += 1
        return pair[1]

    def _value(self, traced: Any) -> Any:
        return traced


class _Coming(_Swap):
    """Values that were left at the point, which become inputs of a trace.

    active: the trace's. in_place: whether those in arrays that were there before are looked for.
    """

    def __init__(self, trace: Trace, active: list[bool]) -> None:
        super().__init__(trace)
        self.active = active
        # What is written in place would be an outer capture's to follow, which looks for itself.
        self.in_place = not any(any(outer.active) for outer in captures())

    def _new(self, value: Any) -> Any:
        if id(value) not in self.pairs:
            point = self.trace.past
            if id(value) in hooks.stale and left_at(value) == point:
                self._add(value, Stale(point, ""))
            elif type(value) is np.ndarray and self.in_place:
                places = written_at(value, point)
                if places is not None:
                    self._add(value, Stale(point, "", True, places))
        return super()._new(value)

    def _add(self, value: Any, stale: Stale) -> None:
        trace, slot = self.trace, len(self.trace.types)
        trace.types.append(type_of(value))
        self.active.append(True)
        trace.owners.append(-1)
        trace.values[slot], trace.stale[slot] = frozen(value), stale
        self.pairs[id(value)] = (value, from_slot(trace, slot, value))


def check_stale(trace: Trace, outputs: Sequence[int]) -> None:
    """Say that results depend differentiably on values that earlier calls have left.

    An error where a call at this very point has left them, and they may have been found by it: then
    their derivative would be lost. A function that asks nothing of a traced value finds nothing so.
    """
    if not trace.stale or not any(trace.active):
        return
    dependences = [
        (output, slot)
        for output in outputs
        if trace.types[output].inexact
        for slot in origins(trace, output)
        if slot in trace.stale
    ]
    under_way = captures() if dependences else []
    here = []
    if any(_has_asked(running) for running in under_way):
        here = [point_of(running) for running in under_way if any(running.active)]
    for output, slot in dependences:
        point, line, *_ = trace.stale[slot]
        if point in here and _reaches(trace, slot, output):
            error = DroppedDerivativeError(
                f"{_WHAT}, at the same point, so that its derivative would be lost. If it is kept "
                "to save work, keep it within one call (functools.cache does, under capture), or "
                "write ad.stop_gradient(x) if the derivative is not wanted."
            )
            error.add_note(f"At {line}: {_text(line)}")
            raise error
    left = [trace.stale[slot] for _, slot in dependences]
    for line in dict.fromkeys(remnant.line for remnant in left if not remnant.in_place):
        note_effect("it uses a value of an earlier call as a constant, which is said each time")
        warnings.warn(
            f"{_WHAT}, and has no derivative ({line}). That is right for a first guess; for the "
            "solution of an equation use ad.implicit.root. Copy the value to say so: np.array(x).",
            StaleValueWarning,
            stacklevel=2,
        )


def _reaches(trace: Trace, slot: int, output: int) -> bool:
    """Whether entries that an earlier call has left are in a result, and not overwritten before."""

    def given(origin: int) -> Any:
        return trace.places_of_stale(slot) if origin == slot else None

    return entries(trace, output, given) is not None


_WHAT: Final = "A value that an earlier call derived from its arguments is used as a constant"


def _has_asked(trace: Trace) -> bool:
    """Whether what a function does may depend on values, and not on types alone."""
    prints = trace.script is not None and trace.script.prints
    guards = [key for key in trace.guards or () if key not in trace.supposed and key[1] != DONE]
    return bool(trace.asked or guards or trace.questions or prints)


def _text(line: str) -> str:
    file, _, number = line.rpartition(":")
    return linecache.getline(file, int(number)).strip() if number.isdigit() else ""
