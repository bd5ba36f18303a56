"""What makes text of values in a clone, and prints it.

Python does it, but in a rehearsal, where text of traced values is put off (`texts.py`).
"""

from __future__ import annotations

import logging
import re
import string
import sys
from collections.abc import Callable
from typing import Any, Final

from adjoint.capture.clones.stand_ins.classes import BUILTINS
from adjoint.capture.recording.effects.script import script_under_way
from adjoint.capture.recording.effects.texts import Text, UnseenError, joined, text_of
from adjoint.capture.recording.exits.escape import printed
from adjoint.capture.recording.tracing.applying import concrete
from adjoint.capture.recording.tracing.trace import note_effect
from adjoint.capture.recording.tracing.traced import Traced
from adjoint.capture.recording.values.valued import refusing

_CONVERSIONS: Final[tuple[Any, ...]] = (None, str, repr, ascii)
_PERCENT: Final = re.compile(r"%([-#0 +]*\d*(?:\.\d+)?[diouxXeEfFgGcrsa%])")


def rehearses() -> bool:
    """Whether text of traced values is put off."""
    script = script_under_way()
    return script is not None and script.rehearses


def _format(value: Any, spec: Any = "") -> Any:
    """`format` in a clone."""
    if not rehearses():
        return format(value, spec)
    if spec == "" and type(value) is not Traced:
        return text_of(value, str)
    return text_of(value, lambda known: format(known, spec))


class Formatted:
    """`asker @ value` is `f"{value}"`, with a conversion; or it is `asker @ (value, spec)`."""

    __slots__ = ("convert", "has_spec")

    def __init__(self, argument: int) -> None:
        self.convert: Callable[[Any], str] | None = _CONVERSIONS[argument & 3]
        self.has_spec = bool(argument & 4)

    def __matmul__(self, operand: Any) -> Any:
        value, spec = operand if self.has_spec else (operand, "")
        if not rehearses():
            return format(value if self.convert is None else self.convert(value), spec)
        if self.convert is None:
            return _format(value, spec)
        return _format(text_of(value, self.convert), spec)


class _JoinedText:
    """`asker @ parts` is the text of an f-string."""

    __slots__ = ()

    def __matmul__(self, parts: Any) -> Any:
        return joined(parts)


class _Percent:
    """`asker @ (text, values)` is `text % values`."""

    __slots__ = ()

    def __matmul__(self, operands: tuple[Any, Any]) -> Any:
        text, values = operands
        if not rehearses() or type(text) is not str or type(values) is dict:
            return _filled(text, values)
        waiting = list(values) if type(values) is tuple else [values]
        pieces: list[Any] = []
        start = 0
        for conversion in _PERCENT.finditer(text):
            pieces.append(text[start : conversion.start()])
            start = conversion.end()
            if conversion[1] == "%":
                pieces.append("%")
            elif not waiting:
                return _filled(text, values)  # which raises
            else:
                pieces.append(_by_percent(conversion[0], waiting.pop(0)))
        pieces.append(text[start:])
        if waiting or any("%" in piece for piece in pieces[::2] if type(piece) is str):
            return _filled(text, values)
        return joined(pieces)


def _filled(text: Any, values: Any) -> Any:
    """`text % values`, with our refusal where a number stands for many.

    Python makes a TypeError of its own of the one that a conversion raises: of "%d", and from 3.15
    on of all of them.
    """
    try:
        return text % values  # written out, as `float` looks for it: see `escape.py`
    except TypeError:
        named = values.values() if type(values) is dict else values
        with refusing():
            for value in named if type(values) in (dict, tuple) else (values,):
                concrete(value)
        raise


def _by_percent(form: str, value: Any) -> Any:
    if form == "%s":
        return text_of(value, str)
    return text_of(value, lambda known: form % (known,))


class _Formatter(string.Formatter):
    """`str.format` with values that are put off."""

    def filled(self, text: str, args: Any, kwargs: Any) -> Any:
        pieces: list[Any] = []
        number = 0
        for literal, name, spec, conversion in self.parse(text):
            pieces.append(literal)
            if name is None:
                continue
            if "{" in (spec or ""):
                raise UnseenError("it formats with a format that is formatted")
            if name == "" or name[0] in ".[":
                name, number = f"{number}{name}", number + 1
            value, _ = self.get_field(name, args, kwargs)
            if conversion:
                convert: Any = {"s": str, "r": repr, "a": ascii}[conversion]
                value = text_of(value, convert)
            pieces.append(_format(value, spec))
        return joined(pieces)


def format_method(text: str) -> Any:
    """`text.format` in a clone."""
    if not rehearses():
        return text.format
    return lambda *args, **kwargs: _Formatter().filled(text, args, kwargs)


def _repr(value: Any) -> Any:
    """`repr` in a clone."""
    return text_of(value, repr) if rehearses() else repr(value)


def _print(*args: Any, **kwargs: Any) -> None:
    """`print` in a clone."""
    script = script_under_way()
    if script is None or not script.rehearses:
        if script is not None:
            script.prints = True
        printed(*args, **kwargs)
        return
    elsewhere = kwargs.get("file") is not None or sys.stdout is not script.file
    if elsewhere or not kwargs.keys() <= {"sep", "end", "file", "flush"}:
        raise UnseenError("it prints into a file")
    sep, end = (kwargs.get(name) for name in ("sep", "end"))
    separator = " " if sep is None else sep
    parts = [part for argument in args for part in (separator, text_of(argument, str))][1:]
    whole = joined([*parts, "\n" if end is None else end])
    script.print(whole.pieces if type(whole) is Text else [whole], bool(kwargs.get("flush")))


_LEVELS: Final = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
    "critical": logging.CRITICAL,
}


def logging_method(logger: logging.Logger, name: str) -> Any:
    """A method of a logger in a clone, that does nothing where its level is not logged."""
    method = getattr(logger, name)
    if name not in (*_LEVELS, "log", "isEnabledFor"):
        return None

    def log(*args: Any, **kwargs: Any) -> Any:
        level = _LEVELS.get(name, args[0] if args else None)
        script = script_under_way()
        if script is None or type(level) is not int:
            return method(*args, **kwargs)
        if logger.isEnabledFor(level):
            note_effect("it logs")
            return method(*args, **kwargs)
        script.unlogged.append((logger, level))
        return False if name == "isEnabledFor" else None

    return log


JOINED: Final = _JoinedText()
PERCENT: Final = _Percent()
BUILTINS.update(print=_print, repr=_repr, format=_format)
