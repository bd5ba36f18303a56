"""Captures that are kept: a function's program at arguments where its facts are as they were.

What is done with a program may need it whole: a pullback that is applied later, a linear map, a
plan. `captured` gives the program of a function by a capture; or, where all the facts of an earlier
capture hold and the function's questions have the same answers, that one. One serves all that is
done with the function at such arguments.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any, Final

from numpy import errstate

from adjoint.base.arrays import is_numeric
from adjoint.base.settings import settings
from adjoint.calculus.arguments import Chosen
from adjoint.calculus.jit.calls import Call
from adjoint.calculus.jit.capturing import hindrances_of, staged_of
from adjoint.calculus.jit.kept import mode
from adjoint.calculus.jit.paranoia import check_capture
from adjoint.calculus.jit.paths import Difference, Path
from adjoint.calculus.jit.replay import FEWEST_CALLS, Shelf, shelf_of, way_of
from adjoint.calculus.jit.stages import must_wait
from adjoint.capture import Captured, current, unwrap
from adjoint.capture.facts.survey import Survey
from adjoint.capture.recording.floating_point import spoken
from adjoint.capture.recording.trace import Trace

_PATHS: Final = 8  # of one entry
_STRAYS: Final = 4  # new paths in a row, after which nothing is kept of a function for a while


class KeptCapture(Captured):
    """A capture without what it held of its call: its arrays, and the values of arguments."""

    __slots__ = ("_constants", "_key", "_said")

    def __init__(self, captured: Captured) -> None:
        whole = captured.trace
        trace = Trace(whole.types, {}, whole.active)
        trace.input_count, trace.open = whole.input_count, False
        trace.records, trace.quiet, trace.failed = whole.records, whole.quiet, whole.failed
        super().__init__(trace, captured.outputs, captured.treedef)
        self._key = (Structure(captured.key),)
        self._constants = [unwrap(each) for each in captured.constants]
        self._said: set[str] = set()

    def after(self, said: set[str]) -> KeptCapture:
        """The same where NumPy has warned of this already, at this call."""
        found = copy.copy(self)
        found._said = said
        return found

    @property
    def said(self) -> set[str]:
        """What NumPy has warned of while the questions were answered."""
        return self._said

    @property
    def key(self) -> tuple[Any, ...]:
        """The structure, whose hash is computed once."""
        return self._key

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

    path: how many of the function's questions have the answers they had; None where none are asked.
    """

    __slots__ = ("_bound", "captured", "path")

    def __init__(self, captured: KeptCapture, path: Path | None) -> None:
        self.captured = captured
        self.path = path
        self._bound = [] if path is None else path.bound()

    def at(self, arrays: Sequence[Any]) -> KeptCapture | None:
        """The capture if all questions have the same answers at these values of the inputs."""
        if self.path is None:
            return self.captured
        if len(self.path.stages) == 1:  # machine code tells without a warning, or not at all
            held = self.path.first.quickly([*arrays, *self._bound])
            if held is not None:
                return self.captured if held[0] == len(self.path.guards) else None
        raised: list[str] = []
        with errstate(all="call", call=lambda kind, _: raised.append(kind)):
            if isinstance(self.path.run(arrays), Difference):
                return None
        if not raised:
            return self.captured
        said: set[str] = set()
        with spoken(said):  # as the function itself would have, before it was answered
            self.path.run(arrays, sure=True)
        return self.captured.after(said)


class Entry:
    """The captures under the same facts: one, or one for each way that questions were answered."""

    def __init__(self, survey: Survey, choice: Choice) -> None:
        self.check = survey.check
        self.bytes = survey.bytes
        self.mode = mode()
        self.useful = False
        self.strays = 0
        self.choices = [choice]

    def find(self, arrays: Sequence[Any]) -> tuple[Choice, KeptCapture] | None:
        """The choice that is right for these values of the inputs, and its capture."""
        choices = self.choices
        for choice in choices:
            found = choice.at(arrays)
            if found is not None:
                if choice is not choices[0]:
                    self.choices = [choice, *(each for each in choices if each is not choice)]
                self.strays = 0
                return choice, found
        return None

    def add(self, choice: Choice) -> bool:
        """Keep one more; False where too many have come without one that came again."""
        self.strays += 1
        self.choices = [choice, *self.choices[: _PATHS - 1]]
        return choice.path is not None and self.strays <= _STRAYS


def captured_at(function: Any, chosen: Chosen) -> Captured:
    """A function's program at its chosen arguments."""

    def capture(guarded: bool = False) -> Captured:
        return chosen.capture(function, guarded=guarded)

    args, kwargs = tuple(chosen.args), chosen.kwargs
    return captured(function, args, kwargs, chosen.places, chosen.leaves, capture)


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
    found = entry.find([unwrap(leaf) for leaf in leaves])
    if found is None:
        return _kept(shelf, Call(function, args, kwargs, places), capture, entry)
    choice, right = found
    if settings().debug:
        check_capture(function, right, choice.path.guards if choice.path else (), capture)
    return right


def _kept(
    shelf: Shelf, call: Call, capture: Callable[..., Captured], entry: Entry | None = None
) -> Captured:
    """A capture of this call, and kept if it can be. entry: whose facts hold, if there is one."""
    places = frozenset(call.places or ())
    survey = Survey(call.function, call.args, call.kwargs, places)
    if call.traced or survey.hindrances:
        return capture()
    made = capture(guarded=True)
    guards = tuple((made.trace.guards or {}).values())
    choice = None
    if not hindrances_of(survey, made, call):
        choice = _choice(made, guards)
    if entry is not None:
        if choice is None or not entry.add(choice):
            shelf.bucket.drop(entry)
    elif choice is not None:
        shelf.bucket.keep(Entry(survey, choice))
    return made


def _choice(made: Captured, guards: tuple[Any, ...]) -> Choice | None:
    """What is kept of a capture; None where its questions need more than arithmetic."""
    kept = KeptCapture(made)
    if not guards:
        return Choice(kept, None)
    asked = staged_of(Captured(made.trace, (), None), guards)
    if any(must_wait(each) for stage in asked.cut.stages for each in stage.program.equations):
        return None
    return Choice(kept, Path(asked, guards, kept.constants, None))
