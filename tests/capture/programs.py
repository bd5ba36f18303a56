"""The list that the files `programs_*.py` fill.

Programs as scientists write them in plain NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Example(NamedTuple):
    """A program at a point.

    refused: the error that adjoint must raise where it does not support the program yet. twice:
    whether the program has continuous second derivatives there, which are held against differences.
    """

    function: Callable[..., Any]
    args: tuple[Any, ...]
    refused: type[Exception] | None = None
    twice: bool = False


EXAMPLES: list[Example] = []


def example(
    *args: Any, refused: type[Exception] | None = None, twice: bool = False
) -> Callable[[Any], Any]:
    """Add a program to the list."""

    def add(function: Any) -> Any:
        EXAMPLES.append(Example(function, args, refused, twice))
        return function

    return add
