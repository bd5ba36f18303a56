"""Facts as a function that checks them: straight-line code over what each fact compares with.

A fact costs some tens of nanoseconds, so that a call which is replayed costs little more than its
program. The text of the function is our own; the values stand beside it.
"""

from __future__ import annotations

import decimal
import linecache
import struct
from collections.abc import Callable
from functools import lru_cache
from types import CodeType
from typing import Any, Final, NamedTuple

import numpy as np

Check = Callable[[Any, tuple[Any, ...], dict[str, Any]], "int | None"]
_LIMIT: Final = 3_000  # compiling more takes longer than most captures


class TooManyFactsError(Exception):
    """More facts than are worth comparing at every call."""


class Fact(NamedTuple):
    """where: what it is about, as a user would write it. what: what is compared."""

    where: str
    what: str


class FactWriter:
    """Writes the function `check(function, args, kwargs)`.

    It returns None where all facts are as they were, and else the number of one that is not.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.facts: list[Fact] = [Fact("the arguments", "structure")]
        self.values: dict[str, Any] = {
            "ndarray": np.ndarray,
            "same": same,
            "Absent": Absent,
            "distinct": distinct,
        }
        self.typed: set[int] = set()  # lines that are about types of arrays that are inputs
        self._names: dict[int, str] = {}
        self._count = 0

    def constant(self, value: Any) -> str:
        """A name for a value in the text; the same for the same object."""
        name = self._names.get(id(value))
        if name is None:
            name = self._names[id(value)] = f"c{len(self._names)}"
            self.values[name] = value  # which keeps it, and so its identity
        return name

    def let(self, expression: str) -> str:
        """A name for what an expression is at the time of the check."""
        if expression.isidentifier():
            return expression
        self._count += 1
        name = f"v{self._count}"
        self.lines.append(f"{name} = {expression}")
        return name

    def demand(self, unlike: str, where: str, what: str) -> None:
        """A fact. unlike: the condition under which it does not hold."""
        if len(self.facts) >= _LIMIT:
            raise TooManyFactsError
        self.lines.append(f"if {unlike}: return {len(self.facts)}")
        self.facts.append(Fact(where, what))

    def check(self, typed: bool = True) -> Check:
        """The function; without the types of arrays that are inputs if not `typed`."""
        lines = [x for n, x in enumerate(self.lines) if typed or n not in self.typed]
        body = "\n".join(f"        {line}" for line in lines) or "        pass"
        text = (
            f"def check(function, args, kwargs):\n    try:\n{body}\n"
            "    except (AttributeError, IndexError, KeyError, TypeError, ValueError):\n"
            "        return 0\n"
            "    return None\n"
        )
        exec(_code(text, "<adjoint facts>"), self.values)
        check: Check = self.values.pop("check")
        return check

    def getter(self, expressions: list[str]) -> Callable[..., tuple[Any, ...]] | None:
        """A function like the check that returns what expressions are; None without any."""
        if not expressions:
            return None
        lines = [x for x in self.lines if not x.startswith("if ")]
        body = "\n".join(f"    {line}" for line in [*lines, f"return ({', '.join(expressions)},)"])
        text = f"def getter(function, args, kwargs):\n{body}\n"
        exec(_code(text, "<adjoint data>"), self.values)
        getter: Callable[..., tuple[Any, ...]] = self.values.pop("getter")
        return getter


@lru_cache(maxsize=256)
def _code(text: str, name: str) -> CodeType:
    """The code of a text of our own: a function that is looked at in each round has few of them."""
    return compile(text, name, "exec")


class Absent:
    """Stands for what is not there."""


def same(one: Any, other: Any) -> bool:
    """Whether two immutable values are the same: of one type, and equal to the last bit."""
    if type(one) is not type(other):
        return False
    if isinstance(one, float):
        return struct.pack("d", one) == struct.pack("d", other)
    if isinstance(one, complex):
        return same(one.real, other.real) and same(one.imag, other.imag)
    if isinstance(one, np.generic):
        return bool(one.dtype == other.dtype and one.tobytes() == other.tobytes())
    if isinstance(one, (tuple, frozenset)):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, decimal.Decimal):
        return bool(one.as_tuple() == other.as_tuple())
    if isinstance(one, slice):
        return same((one.start, one.stop, one.step), (other.start, other.stop, other.step))
    return bool(one == other)


def distinct(*values: Any) -> bool:
    """Whether no two of these are one object."""
    return len(set(map(id, values))) == len(values)


def never(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> int | None:
    """The check of what cannot be replayed."""
    return 0


def with_text(line: str) -> str:
    """A place in the user's code, `file:line`, with the text of that line."""
    path, _, number = line.rpartition(":")
    text = linecache.getline(path, int(number)).strip() if number.isdigit() else ""
    return f"{line}: {text}" if text else line
