"""Arguments of which there are a few: members of an enum, or their values as text."""

from __future__ import annotations

from enum import Enum
from typing import Any, TypeVar

from adjoint.base.errors import ArgumentTypeError

Chosen = TypeVar("Chosen", bound=Enum)


def member(kind: type[Chosen], value: Any, argument: str) -> Chosen:
    """The member of an enum that an argument is, or whose value it is.

    Raises:
        ArgumentTypeError: it is neither.
    """
    if isinstance(value, kind):
        return value
    try:
        return kind(value)
    except ValueError:
        names = ", ".join(repr(choice.value) for choice in kind)
        raise ArgumentTypeError(
            f"{argument} must be one of {names}, or a member of ad.{kind.__name__}, got {value!r}."
        ) from None
