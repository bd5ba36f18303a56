"""Floating-point warnings of captured code: NumPy's own, at the user's line, and once.

NumPy would attribute a warning to the line that called it, which is one of ours. So while a
function is captured, what would be warned of is handed to us as text ("divide by zero encountered
in log"), and warned of at the user's line. The program that runs afterwards computes the same
again; what was said is not said twice.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterable
from contextlib import nullcontext
from typing import Any, Final, NamedTuple

import numpy as np

from adjoint.capture.recording.tracing.said import Said
from adjoint.capture.recording.tracing.trace import captures, note_effect

_DEFAULT: Final = {"divide": "warn", "over": "warn", "under": "ignore", "invalid": "warn"}
_TOLD: Final = {"divide": "log", "over": "log", "invalid": "log"}
_NOTED: Final = frozenset({"log", "ignore", "raise"})
_ENTERED: Final = {**_DEFAULT, **_TOLD}
OF_CONSTANTS: Final = "NumPy warns of what does not depend on the arguments"
_CALLED: Final = "a handler was called"
_PREFIX: Final = "Warning: "
_PACKAGE: Final = __file__.rpartition("capture")[0]
_NUMPY: Final = np.__file__.rpartition("__init__")[0]
_RECORDING: Final = __file__.rpartition("effects")[0]
# Where NumPy computes the value of what is recorded: the program will warn of it too. What does not
# depend on the arguments is no part of the program, and may be computed again for its record.
_RECORDED: Final = frozenset(
    {os.path.join(_RECORDING, "values", name) for name in ("valued.py", "quick.py")}
)
_AGAIN: Final = os.path.join(_RECORDING, "tracing", "applying.py")


class UsersLine(NamedTuple):
    """A line of the user's code. names: the global ones there."""

    file: str
    line: int
    names: dict[str, Any]


def users_place() -> tuple[UsersLine, set[str]]:
    """Where the user's code stands; and the files between that and who asks."""
    frame: Any = sys._getframe(1)
    passed = set()
    while frame.f_back is not None and frame.f_code.co_filename.startswith((_PACKAGE, _NUMPY)):
        passed.add(frame.f_code.co_filename)
        frame = frame.f_back
    names = getattr(frame.f_globals, "original", frame.f_globals)
    return UsersLine(frame.f_code.co_filename, frame.f_lineno, names), passed


class Speaker:
    """What NumPy writes to in the place of warning.

    said: what is noted there. known: what is not to be said. place: where the user's code asked for
    what is computed; None if that is where it stands. waiting: of the capture before, whose values
    say first what they are to say.
    """

    def __init__(
        self,
        said: set[str],
        known: Iterable[str] = (),
        place: UsersLine | None = None,
        waiting: Said | None = None,
    ) -> None:
        self.said = said
        self.known = set(known)
        self.place = place
        self.waiting = waiting
        self.users = np.geterrcall()

    def __call__(self, kind: str, flag: int) -> None:
        """Call what the user has set for that (`np.seterrcall`)."""
        self.said.add(_CALLED)
        if callable(self.users):
            self.users(kind, flag)

    def write(self, text: str) -> None:
        """Warn at the user's line, unless that has been said."""
        message = text.removeprefix(_PREFIX).rstrip("\n")
        if self.waiting is not None:  # also where it is known, perhaps of another line
            self.known |= self.waiting.hear()
        if self._knows(message):
            return
        self.said.add(message)
        place = self.place
        if place is None:
            place, passed = users_place()
            if _AGAIN in passed or not passed & _RECORDED:
                note_effect(OF_CONSTANTS)
                if passed & _RECORDED:
                    return
        said = None if self.place is None else self.said
        with said.heard_as_before() if isinstance(said, Said) else nullcontext():
            warnings.warn_explicit(
                message,
                RuntimeWarning,
                place.file,
                place.line,
                place.names.get("__name__") or "<unknown>",
                place.names.setdefault("__warningregistry__", {}),
            )

    def _knows(self, message: str) -> bool:
        # A square root may be computed for a power, and is named so.
        return message in self.known or _kind(message) in map(_kind, self.known)


def _kind(message: str) -> str:
    """What happened, whatever the ufunc."""
    return message.partition(" encountered in ")[0]


def as_set() -> dict[str, str]:
    """`np.geterr` in a clone: the modes as the user has set them."""
    modes: Any = np.geterr()
    ours = isinstance(np.geterrcall(), Speaker)
    return {kind: "warn" if ours and mode == "log" else mode for kind, mode in modes.items()}


def note_warnings() -> None:
    """Let what NumPy would warn of in a capture be said at the user's line, from now on."""
    stack = captures()
    modes: Any = np.geterr()
    warned = [kind for kind, mode in modes.items() if mode == "warn"]
    if not (stack and warned):
        return
    if not isinstance(np.geterrcall(), Speaker):
        if not {"log", "call"}.isdisjoint(modes.values()):
            return  # to an object of the user's
        np.seterrcall(Speaker(stack[-1].said))
    noted: Any = dict.fromkeys(warned, "log")
    np.seterr(**noted)


def noted_modes() -> tuple[Any, ...] | None:
    """The modes, if all that NumPy may warn of is noted, or ignored, or is an error."""
    modes = tuple(np.geterr().values())
    if "log" in modes and not isinstance(np.geterrcall(), Speaker):
        return None  # to an object of the user's
    return modes if _NOTED.issuperset(modes) else None


class spoken:
    """Let what NumPy warns of be said at the user's line, and noted; but nothing that is known."""

    __slots__ = ("entered", "known", "said", "state", "waiting")

    def __init__(
        self,
        said: set[str],
        known: frozenset[str] = frozenset(),
        waiting: Said | None = None,
    ) -> None:
        self.said = said
        self.known = known
        self.waiting = waiting
        self.state: Any = None
        self.entered: Any = _DEFAULT

    def __enter__(self) -> None:
        before = np.geterr()
        ours = _modes(before, self.known)
        if ours:
            self.entered = _ENTERED if ours is _TOLD else {**before, **ours}
            self.state = np.errstate(call=self._speaker(), **ours)
            self.state.__enter__()

    def _speaker(self) -> Speaker:
        return Speaker(self.said, self.known, waiting=self.waiting)

    def __exit__(self, kind: Any, *error: Any) -> None:
        if self.state is None:
            return
        modes: Any = np.geterr()
        self.state.__exit__(kind, *error)
        if modes != self.entered and kind is None:  # by `np.seterr` in the user's code, which lasts
            np.seterr(**{key: mode for key, mode in modes.items() if mode != self.entered[key]})


def _modes(before: Any, known: frozenset[str]) -> Any:
    """The modes to be set: what warns is told to us, and so is what calls a handler."""
    if before == _DEFAULT:
        return _TOLD
    nested = isinstance(np.geterrcall(), Speaker)
    if "log" in before.values() and not nested:
        return {}  # to an object of the user's
    told = {kind: "log" for kind, mode in before.items() if mode in ("warn", "log")}
    calls = [kind for kind, mode in before.items() if mode == "call"]
    return {**told, **dict.fromkeys(calls, "ignore" if _CALLED in known else "call")}


def not_again(said: set[str]) -> Any:
    """A context in which NumPy warns of nothing that was said in a capture."""
    waiting = said if isinstance(said, Said) else None
    return spoken(set(), frozenset(said), waiting) if said else nullcontext()
