"""Text in which values are shown that a program computes.

In a rehearsal (`script.py`), what shows a traced value is not known yet. It is a `Text`: pieces of
text and values. It can be joined, kept and printed; whatever else is asked of it (its length,
whether it is another) would make the program depend on it, and is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple, NoReturn

import numpy as np

from adjoint.base.errors import AdjointError
from adjoint.capture.recording.tracing.applying import reapply
from adjoint.capture.recording.tracing.places import user_line
from adjoint.capture.recording.tracing.trace import outermost
from adjoint.capture.recording.tracing.traced import Traced, is_known, unwrap
from adjoint.capture.recording.values.valued import refuse

_PYTHON: Final = frozenset({float, int, complex, bool})


class UnseenError(AdjointError):
    """What a rehearsal cannot follow. line: the user's."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.line = user_line()


class Shown(NamedTuple):
    """A value that is shown.

    slot: of the outermost trace. kind: what NumPy has there. form: gives its text.
    """

    slot: int
    kind: type
    form: Callable[[Any], str]

    def text(self, value: Any) -> str:
        """Its text, where the program gives this value."""
        if self.kind in _PYTHON:
            return self.form(self.kind(value))
        return self.form(value if self.kind is np.ndarray else np.asarray(value)[()])


class Text:
    """Text with values in it."""

    __slots__ = ("pieces",)

    def __init__(self, *pieces: Any) -> None:
        self.pieces: list[str | Shown] = []
        for piece in pieces:
            if type(piece) is Text:
                self.pieces += piece.pieces
            elif isinstance(piece, (str, Shown)):
                self.pieces.append(str(piece) if isinstance(piece, str) else piece)
            else:
                unseen()

    __class__: Any = property(lambda self: str)  # what NumPy has here

    def __add__(self, other: Any) -> Text:
        return Text(self, other)

    def __radd__(self, other: Any) -> Text:
        return Text(other, self)

    def __getattr__(self, name: str) -> NoReturn:
        unseen()


def unseen(*_: Any) -> NoReturn:
    """Refuse text of a traced value in a rehearsal."""
    error = UnseenError("it uses text of a traced value for more than to print it")
    refuse(error)
    raise error


for _name in ("bool", "eq", "ne", "lt", "gt", "le", "ge", "hash", "len", "iter", "contains"):
    setattr(Text, f"__{_name}__", unseen)
for _name in ("str", "repr", "format", "getitem", "mod", "rmod", "mul", "rmul"):
    setattr(Text, f"__{_name}__", unseen)


def shown(value: Traced, form: Callable[[Any], str]) -> Any:
    """The text of a traced value, as it is now."""
    given, top = value, outermost()
    kind = type(value._value)
    while type(given) is Traced and not is_known(given):
        trace = given._trace
        if trace is top:
            return Text(Shown(given._slot, kind, form))
        if trace is None or trace.witness:
            unseen()
        given = trace.value(given._slot, reapply)
    return form(unwrap(given))


def joined(parts: Any) -> Any:
    """Parts of a text one after another."""
    return Text(*parts) if any(type(part) is Text for part in parts) else "".join(parts)


def text_of(value: Any, form: Callable[[Any], str]) -> Any:
    """The text of anything, traced values in plain containers included."""
    kind = type(value)
    if kind is Text:
        return value if form is str else unseen()
    if kind is Traced and not is_known(value):
        return shown(value, form)
    if kind in (list, tuple) and form in (str, repr):
        start, end = "[]" if kind is list else ("(", ",)" if len(value) == 1 else ")")
        parts = [part for member in value for part in (", ", text_of(member, repr))]
        return joined([start, *parts[1:], end])
    if kind is dict and form in (str, repr):
        parts = []
        for key, member in value.items():
            parts += [", ", text_of(key, repr), ": ", text_of(member, repr)]
        return joined(["{", *parts[1:], "}"])
    return form(unwrap(value))
