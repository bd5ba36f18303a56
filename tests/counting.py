"""Counting the captures of a function by a side channel, which does not keep it from replay."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adjoint.calculus.jit.paranoia import under_way


class Counter:
    """Counts its calls, and looks to capture like a part of the package, which is taken for pure.

    The captures with which debug mode checks replays do not count.
    """

    __module__ = "adjoint.counter"

    def __init__(self) -> None:
        self.calls: list[int] = []

    def __call__(self) -> None:
        if not under_way.get():
            self.calls.append(1)


def counting(function: Callable[..., Any]) -> tuple[Callable[..., Any], list[int]]:
    """A function and a list with one entry for each time that it ran."""
    counter = Counter()

    def counted(*args: Any, **kwargs: Any) -> Any:
        counter()
        return function(*args, **kwargs)

    return counted, counter.calls
