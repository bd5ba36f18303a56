"""The lists that the files `programs_*.py` and `sequences_*.py` fill."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

Maker = Callable[[], tuple[Callable[..., Any], Callable[[], Any]]]
"""Makes a program in a fresh state, and a function that tells the state."""


@dataclass(frozen=True)
class Program:
    """A program at a point.

    along: the direction of the derivative, one for each floating-point argument; without it, one
    for numbers and random entries for arrays. It matters where entries are equal and are to stay
    so. smooth: how many derivatives the program has at the point (0, 1 or 2). native: whether it
    may become machine code. ways: in which it is run; all, where nothing is said.
    """

    name: str
    theme: str
    make: Maker
    args: tuple[Any, ...]
    along: tuple[Any, ...] | None
    smooth: int
    native: bool
    ways: tuple[str, ...]

    @property
    def full_name(self) -> str:
        """With the theme."""
        return f"{self.theme}.{self.name}"


@dataclass(frozen=True)
class Sequence:
    """A generator function, which yields a program and its arguments, step by step.

    What stands between two of its `yield` changes something. smooth: whether all its steps have
    derivatives. native: whether it may become machine code. single: whether anything is in single
    precision.
    """

    name: str
    theme: str
    steps: Callable[[], Iterator[tuple[Any, ...]]]
    smooth: bool
    native: bool
    single: bool

    @property
    def ways(self) -> tuple[str, ...]:
        """In which it is run: long ones are not run in those that are much alike."""
        return ("kept", "jitted") if self.native else ("kept", "anew", "forward", "jitted")

    @property
    def full_name(self) -> str:
        """With the theme."""
        return f"{self.theme}.{self.name}"


WAYS = ("grad", "jvp", "jit", "jit_grad", "vmap", "nested")

PROGRAMS: dict[str, Program] = {}
SEQUENCES: dict[str, Sequence] = {}


def _theme(function: Any) -> str:
    """The name of the file, without its kind."""
    return str(function.__module__).rpartition(".")[2].partition("_")[2]


def _put(table: dict[str, Any], entry: Any) -> None:
    if entry.full_name in table:
        raise ValueError(f"{entry.full_name} is there twice")
    table[entry.full_name] = entry


def program(
    *args: Any,
    along: tuple[Any, ...] | None = None,
    smooth: int = 2,
    native: bool = False,
    ways: tuple[str, ...] = WAYS,
) -> Any:
    """Add a function, which has no state, at this point."""

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        def make() -> tuple[Callable[..., Any], Callable[[], Any]]:
            return function, _no_state

        name, theme = function.__name__, _theme(function)
        _put(PROGRAMS, Program(name, theme, make, args, along, smooth, native, ways))
        return function

    return add


def fresh(
    *args: Any, along: tuple[Any, ...] | None = None, smooth: int = 2, native: bool = False
) -> Any:
    """Add what a function makes: a program, or a program and a function that tells its state."""

    def add(factory: Callable[[], Any]) -> Callable[[], Any]:
        def make() -> tuple[Callable[..., Any], Callable[[], Any]]:
            made = factory()
            return made if isinstance(made, tuple) else (made, _no_state)

        name, theme = factory.__name__, _theme(factory)
        _put(PROGRAMS, Program(name, theme, make, args, along, smooth, native, WAYS))
        return factory

    return add


def sequence(
    steps: Callable[[], Iterator[tuple[Any, ...]]] | None = None,
    *,
    smooth: bool = True,
    native: bool = False,
    single: bool = False,
) -> Any:
    """Add a generator function, whose steps are programs with their arguments."""

    def add(each: Callable[[], Iterator[tuple[Any, ...]]]) -> Any:
        name, theme = each.__name__, _theme(each)
        _put(SEQUENCES, Sequence(name, theme, each, smooth, native, single))
        return each

    return add if steps is None else add(steps)


def _no_state() -> None:
    return None
