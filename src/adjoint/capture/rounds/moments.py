"""Moments of a capture at which the same question is asked, and what proves two of them alike.

What a function does from a moment on depends on the answer to the question, on its names, and on
what it can reach from these and from its code. Where all of that is the same at two moments, but
for which slots the traced values have, it does the same from both on, as far as the answers to its
questions are the same: it records the same operations, on other slots. So rounds that lead from one
such moment to the next are a loop of the program, whatever their number (induction over the
rounds).

What others hold does not count, as long as no round changes it unseen: an object that a round
writes into must be the same object at each moment, or have been made in the loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import FrameType
from typing import Any, Final, NamedTuple
from weakref import ref

import numpy as np

from adjoint.base.arrays import ArrayType
from adjoint.base.errors import ValueNeededError
from adjoint.capture.bytecode.code import original_of
from adjoint.capture.facts.purity import IMPURE_BUILTINS
from adjoint.capture.facts.survey import Survey
from adjoint.capture.facts.surveying import Running
from adjoint.capture.recording.effects.script import states_now
from adjoint.capture.recording.tracing.applying import frozen, peek
from adjoint.capture.recording.tracing.trace import Trace, captures
from adjoint.capture.recording.tracing.traced import Traced, synchronise
from adjoint.capture.rounds.frames import LOOKS_AT_FRAMES, names_in

_MOST_EFFECTS: Final = 16  # as many are noted in a capture: more would not be seen


class ReachedValue(NamedTuple):
    """A traced value that a function can reach: which object it is, and what it stands for.

    object: a weak reference to it. form: how NumPy's value lies in memory. known: the numbers,
    where no capture traces it.
    """

    object: ref[Traced]
    identity: int
    trace: int
    slot: int
    type: ArrayType
    form: Any
    known: bytes | None

    @property
    def is_array(self) -> bool:
        """Whether it can be written into."""
        return type(self.form) is tuple

    def is_same_as(self, other: ReachedValue) -> bool:
        """Whether both are one object, at two moments."""
        value = self.object()
        return value is not None and value is other.object()

    @property
    def is_as_it_was(self) -> bool:
        """Whether it has not been written into since, or is gone."""
        value = self.object()
        if value is None:
            return True
        now = value_of(value)
        return now is not None and now[2:] == self[2:]


class Moment(NamedTuple):
    """A moment of a capture, `trace`.

    values: what is traced, in the order of the survey. held: the objects that can change, by their
    identities. fresh: which of them could not be reached at the moment before. asked: the slot of
    the value whose truth is asked for, of `asked_type`. records: how many there were before.
    inquiries, guards: of each capture under way. effects: counts of what no loop may do.
    generators: of random numbers, their states.
    """

    trace: int
    values: tuple[ReachedValue, ...]
    held: tuple[int, ...]
    fresh: frozenset[int]
    asked: int
    asked_type: ArrayType
    records: int
    inquiries: tuple[int, ...]
    guards: tuple[int, ...]
    effects: tuple[Any, ...]
    generators: list[Any]


class FrameWatch:
    """What a function goes on with, noted at one moment, to be compared at later ones."""

    def __init__(self, survey: Survey) -> None:
        self._check = survey.check
        self._traced = survey.getter_of(survey.traced)
        self._changing = survey.getter_of([name for name, _ in survey.changing])
        self._generators = [(rng, None) for rng in survey.generators]

    @classmethod
    def of(cls, frame: FrameType) -> FrameWatch | None:
        """What is noted of a frame; None where that cannot be compared."""
        original = original_of(frame.f_code)
        names = getattr(frame.f_globals, "original", None)
        if original is None or names is None:
            return None
        survey = Survey(Running(original, names), (), names_in(frame), frozenset())
        if survey.hindrances or not survey.asked_builtins().isdisjoint(IMPURE_BUILTINS):
            return None
        if not survey.attributes.isdisjoint(LOOKS_AT_FRAMES):
            return None
        return cls(survey)

    def traced(self, frame: FrameType) -> tuple[Traced, ...] | None:
        """The traced values that are reached now, if all else is as it was."""
        names = names_in(frame)
        if self._check(None, (), names) is not None:
            return None
        return self._traced(None, (), names)

    def moment(
        self,
        trace: Trace,
        frame: FrameType,
        asked: int,
        traced: Sequence[Traced],
        last: Moment | None,
    ) -> Moment | None:
        """This moment; None where values are reached that are views, or may share memory."""
        values = []
        for one in traced:
            value = value_of(one)
            if value is None:
                return None
            values.append(value)
        effects = _effects(trace)
        if effects is None:
            return None
        held = tuple(map(id, self._changing(None, (), names_in(frame))))
        earlier = set(last.held if last is not None else held)
        fresh = frozenset(number for number, one in enumerate(held) if one not in earlier)
        guards = tuple([len(capture.guards or ()) for capture in captures()])
        inquiries = tuple([len(capture.inquiries) for capture in captures()])
        counts = (len(trace.records), inquiries)
        states = [_comparable(state) for _, state in states_now(self._generators)]
        first = (id(trace), tuple(values), held, fresh, asked, trace.types[asked])
        return Moment(*first, *counts, guards, effects, states)


def computed_value(traced: Traced) -> Any:
    """NumPy's value, which a result of a loop of ours has from now on; None if there is none."""
    if traced._value is None and traced._trace is not None and traced._state is None:
        try:
            traced._value = frozen(peek(traced))
        except ValueNeededError:  # it stands for many
            return None
    return traced._value


def value_of(traced: Traced) -> ReachedValue | None:
    """What a traced value stands for now; None for a view, and for one without NumPy's value."""
    state, array = traced._state, computed_value(traced)
    if state is not None:
        synchronise(traced)
        if state.base is not None or state.aliases or state.flat:
            return None
    if array is None:
        return None
    form: Any = type(array)
    if form is np.ndarray:
        form = (array.strides, array.flags.writeable)
    known = np.asarray(array).tobytes() if traced._trace is None else None
    trace = 0 if traced._trace is None else id(traced._trace)
    return ReachedValue(ref(traced), id(traced), trace, traced._slot, traced.type, form, known)


def _comparable(state: Any) -> Any:
    """The state of a generator, to be compared at once."""
    if isinstance(state, dict):
        return [(name, _comparable(part)) for name, part in state.items()]
    return state.tobytes() if isinstance(state, np.ndarray) else state


def _effects(trace: Trace) -> tuple[Any, ...] | None:
    """How much there is of what rounds of a loop may not do."""
    if len(captures()[0].effects) >= _MOST_EFFECTS:
        return None
    counts: list[Any] = []
    for capture in captures():
        counts += [len(capture.effects), len(capture.said), len(capture.ran), len(capture.failed)]
        counts += [capture.survivors, len(capture.stale), capture.refusal]
        others = capture.inquiries if capture is not trace else ()
        counts.append(len([inquiry for inquiry in others if inquiry.direct]))
        script = capture.script
        if script is not None:
            written = (script.steps, script.printed, script.unlogged)
            counts += [*map(len, written), script.prints]
    return tuple(counts)


def are_alike(one: Moment, other: Moment) -> bool:
    """Whether a function goes on alike from two moments, whatever the slots."""
    if one.asked_type != other.asked_type or _pattern(one.held) != _pattern(other.held):
        return False
    if _pattern(_identities(one)) != _pattern(_identities(other)):
        return False
    captures = (one.trace, other.trace)
    return all(
        before[4:] == after[4:]
        and (before.trace == after.trace or (before.trace, after.trace) == captures)
        for before, after in zip(one.values, other.values, strict=True)
    )


class Lead(NamedTuple):
    """What became of objects from one moment to the next.

    rebound: the values that are other objects then. untouched: whether those before them are as
    they were, and all others that can change are the same; then it is so in another frame too.
    """

    rebound: frozenset[int]
    untouched: bool


def lead(before: Moment, after: Moment, kept: list[Any]) -> Lead | None:
    """The way from one moment to the next; None if something was done that a loop may not do.

    kept: the values of the moment before, which are let go of here. An object that others may hold
    as well as the function must not be written into, and then be given up. What was made in the
    loop is nobody else's.
    """
    if before.effects != after.effects or before.generators != after.generators:
        return None
    pairs = list(zip(before.values, after.values, strict=True))
    if any(one.trace != other.trace for one, other in pairs):
        return None
    own = before.trace
    if any(one.trace not in (0, own) and one.slot != other.slot for one, other in pairs):
        return None
    rebound = frozenset(n for n, (one, other) in enumerate(pairs) if not one.is_same_as(other))
    untouched = all(before.values[n].is_as_it_was for n in rebound)
    kept.clear()
    if not untouched and not all(before.values[n].is_as_it_was for n in rebound):
        return None
    known = set(before.held)
    for number, (one, other) in enumerate(zip(before.held, after.held, strict=True)):
        if one != other:
            untouched = False
            if other in known or number not in before.fresh:
                return None
    return Lead(rebound, untouched)


def _identities(moment: Moment) -> list[int]:
    return [value.identity for value in moment.values]


def _pattern(identities: Sequence[int]) -> list[int]:
    """Which places hold one and the same object."""
    first: dict[int, int] = {}
    return [first.setdefault(identity, number) for number, identity in enumerate(identities)]
