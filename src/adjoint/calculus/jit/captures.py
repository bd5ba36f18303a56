"""Captures that are kept: a function's program at arguments where its facts are as they were.

What is done with a program may need it whole: a pullback that is applied later, a linear map, a
plan. `captured` gives the program of a function by a capture; or, where all the facts of an earlier
capture hold and the function's questions have the same answers, that one. One serves all that is
done with the function at such arguments.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from numpy import errstate

from adjoint.base.arrays import is_numeric
from adjoint.base.settings import settings
from adjoint.calculus.inputs.arguments import Chosen
from adjoint.calculus.jit.calls import Call
from adjoint.calculus.jit.capturing import Observed, observed, path_of, rehearsed, survey_of
from adjoint.calculus.jit.kept import mode
from adjoint.calculus.jit.paranoia import check_capture
from adjoint.calculus.jit.paths import CompiledStages, Difference, Path
from adjoint.calculus.jit.replay import FEWEST_CALLS, Shelf, shelf_of, way_of
from adjoint.calculus.jit.stages import StagedProgram, calls_users
from adjoint.capture import Captured, current, unwrap
from adjoint.capture.facts.survey import Survey
from adjoint.capture.recording.effects.floating_point import spoken
from adjoint.capture.recording.effects.script import Unplayable
from adjoint.capture.recording.tracing.trace import Trace

_PATHS: Final = 8  # of one entry
_STRAYS: Final = 4  # new paths in a row, after which nothing is kept of a function for a while


Check = Callable[["Choice"], None]


class KeptCapture(Captured):
    """A capture without what it held of its call: its arrays, and the values of arguments."""

    __slots__ = ("_constants", "_key", "_said")

    def __init__(self, captured: Captured) -> None:
        whole = captured.trace
        whole.find_owners()
        trace = Trace(whole.types, {}, whole.active)
        trace.input_count, trace.open = whole.input_count, False
        trace.records, trace.owners, trace.starts = whole.records, whole.owners, whole.starts
        super().__init__(trace, captured.outputs, captured.treedef, captured.cells)
        self._needed = captured.needed
        self._key = (Structure(captured.key),)
        self._constants = [unwrap(constant) for constant in captured.constants]
        self._said: set[str] = set()

    def after(self, said: set[str], constants: list[Any] | None) -> KeptCapture:
        """The same at a call where NumPy has warned of this. constants: others than its own."""
        later = copy.copy(self)
        later._said = said
        if constants is not None:
            later._constants = constants
        return later

    @property
    def said(self) -> set[str]:
        """What NumPy has warned of while the questions were answered."""
        return self._said

    @property
    def key(self) -> tuple[Any, ...]:
        """The structure, whose hash is computed once."""
        return self._key

    @property
    def plain_key(self) -> tuple[Any, ...]:
        """The structure as the capture itself has it, by which more may have been derived."""
        return self.needed.key

    @property
    def constants(self) -> list[Any]:
        """The values of the lifted constants."""
        return self._constants


class Structure:
    """The structure of a program, as `Captured.key` has it, with its hash."""

    __slots__ = ("_hash", "parts")

    def __init__(self, parts: tuple[Any, ...]) -> None:
        self.parts = parts
        self._hash = hash(parts)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Structure) and self.parts == other.parts)


class Choice:
    """A kept capture, and the program that tells whether it is right.

    path: gives what is printed, if all of the function's questions have the answers they had.
    asks: whether there are questions, or draws, or anything is printed.
    """

    __slots__ = ("_bound", "asks", "captured", "path")

    def __init__(self, captured: KeptCapture, path: Path) -> None:
        self.captured = captured
        self.path = path
        self.asks = bool(path.guards) or path.script is not None
        self._bound = path.bound() if self.asks else []

    def at(self, arrays: Sequence[Any], check: Callable[[], None] | None) -> KeptCapture | None:
        """The capture if all questions have the same answers at these values of the inputs.

        Raises:
            Unplayable: what is drawn is of another kind, or it fails.
        """
        path = self.path
        if path.script is None and len(path.stages) == 1:
            # Machine code tells without a warning, or not at all.
            held = path.first.run([*arrays, *self._bound])
            if held is not None:
                return self.captured if held[0] == len(path.guards) else None
        raised: list[str] = []
        drawn: list[Any] | None = None
        with errstate(all="call", call=lambda kind, _: raised.append(kind)):
            if path.script is None:
                if isinstance(path.run(arrays), Difference):
                    return None
            else:
                played = path.play(arrays, check)
                if isinstance(played, Difference):
                    return None
                drawn = played.constants
        said: set[str] = set()
        if raised:
            with spoken(said):  # as the function itself would have, before it was answered
                path.run(arrays, sure=True, constants=drawn)
        has_drawn = path.script is not None and path.script.places
        return self.captured.after(said, drawn if has_drawn else None)


class Entry:
    """The captures under the same facts: one, or one for each way that questions were answered."""

    def __init__(self, survey: Survey, choice: Choice) -> None:
        self.check = survey.check
        self.bytes = survey.bytes
        self.mode = mode()
        self.useful = False
        self.strays = 0
        self.choices = [choice]

    def find(self, arrays: Sequence[Any], check: Check | None) -> KeptCapture | None:
        """The capture that is right for these values of the inputs. check: of what is found."""
        choices = self.choices
        for choice in choices:
            check_this = None if check is None else partial(check, choice)
            capture = choice.at(arrays, check_this) if choice.asks else choice.captured
            if capture is not None:
                if check_this is not None and choice.path.script is None:
                    check_this()
                if choice is not choices[0]:
                    self.choices = [choice, *(other for other in choices if other is not choice)]
                self.strays = 0
                return capture
        return None

    def add(self, choice: Choice) -> bool:
        """Keep one more; False where too many have come without one that came again."""
        self.strays += 1
        self.choices = [choice, *self.choices[: _PATHS - 1]]
        return choice.asks and self.strays <= _STRAYS


def captured_at(function: Any, chosen: Chosen, has_aux: bool = False) -> Captured:
    """A function's program at its chosen arguments. has_aux: whether it may return other things."""

    def capture(**noting: Any) -> Captured:
        return chosen.capture(function, has_aux=has_aux, **noting)

    if chosen.holds:
        return capture()
    args, kwargs = tuple(chosen.args), chosen.kwargs
    return captured(function, args, kwargs, chosen.places, chosen.leaves, capture, has_aux)


def captured(
    function: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    places: tuple[int, ...],
    leaves: Sequence[Any],
    capture: Callable[..., Captured],
    *facts: Any,
) -> Captured:
    """A function's program at these arguments.

    places: of the arguments whose arrays and numbers, `leaves`, are inputs. capture: runs the
    function; with `guarded`, its questions are noted. facts: what the capture depends on besides
    the function and its arguments.
    """
    way = way_of("capture", places, facts)
    if way is None or not settings().replay or current() is not None:
        return capture()
    shelf = shelf_of(way, function)
    if shelf.count < FEWEST_CALLS:
        shelf.count += 1
        return capture()
    bucket = shelf.bucket
    if bucket.rests():
        return capture()
    entry: Entry | None = bucket.find(function, args, kwargs)
    if entry is None:
        due = bucket.is_due() and all(map(is_numeric, leaves))
        return _kept(shelf, Call(function, args, kwargs, places), capture) if due else capture()
    arrays = [unwrap(leaf) for leaf in leaves]
    check = None
    if settings().debug:
        check = partial(_check, function, capture, arrays)
    try:
        kept = entry.find(arrays, check)
    except Unplayable:
        return capture()
    return kept or _kept(shelf, Call(function, args, kwargs, places), capture, entry)


def _check(
    function: Any, capture: Callable[..., Captured], arrays: Sequence[Any], choice: Choice
) -> None:
    check_capture(function, choice.captured, choice.path, capture, arrays)


def _kept(
    shelf: Shelf, call: Call, capture: Callable[..., Captured], entry: Entry | None = None
) -> Captured:
    """A capture of this call, and kept if it can be. entry: whose facts hold, if there is one."""
    survey = survey_of(call)
    if call.traced or survey.hindrances:
        return capture()
    observation = observed(capture, call, survey)
    choice = None if observation.hindrances else _choice(observation, capture, call, survey)
    if entry is not None:
        if choice is None or not entry.add(choice):
            shelf.bucket.drop(entry)
    elif choice is not None:
        shelf.bucket.keep(Entry(survey, choice))
    return observation.captured


def _choice(
    observation: Observed, capture: Callable[..., Captured], call: Call, survey: Survey
) -> Choice | None:
    """What is kept of a capture; None where its questions need more than arithmetic."""
    whole, script = observation.captured, None
    if not observation.script.is_empty:
        rehearsal = rehearsed(capture, call, observation.script, survey)
        if not isinstance(rehearsal, Captured):
            return None
        whole, script = rehearsal, rehearsal.trace.script
    trace = whole.trace
    count = len(observation.captured.outputs)  # what comes after them is printed
    captured = KeptCapture(Captured(trace, whole.outputs[:count], whole.treedef, whole.cells))
    if not trace.guards and script is None:
        empty = CompiledStages(StagedProgram([], (), ()))
        return Choice(captured, Path(empty, (), captured.constants, None))
    path = path_of(Captured(trace, whole.outputs[count:], None), True, script)
    equations = (x for stage in path.stages for x in stage.source.program.equations)
    if any(map(calls_users, equations)):
        return None
    return Choice(captured, path)
