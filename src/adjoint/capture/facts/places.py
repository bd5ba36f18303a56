"""Where data lie that may change from call to call: in closures, attributes and modules' names.

They are compared at first. Where that fails, they become inputs of the program: while the function
is captured, traced values lie in these places.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

import numpy as np

from adjoint.base.errors import AdjointError

_DATA: Final = frozenset({float, complex, np.float64, np.float32, np.complex128, np.complex64})
_LARGE: Final = 1 << 20  # bytes


class MovedError(AdjointError):
    """What lies in a place is not what was put there: the function has written into it."""


class Holder:
    """Something with attributes.

    inside: by name. name: of that in the check. shared: whether it is a module or a class. done:
    those that were looked at.
    """

    __slots__ = ("done", "inside", "name", "shared", "value", "where")

    def __init__(self, value: Any, inside: Any, name: str, where: str, shared: bool) -> None:
        self.value = value
        self.inside = inside
        self.name = name
        self.where = where
        self.shared = shared
        self.done: set[str] = set()


class Place(NamedTuple):
    """A place of data: a cell of a closure, or a name in a dictionary.

    where: as a user would write it. expression: what gives the data in a check.
    """

    where: str
    container: Any
    key: str | None
    expression: str

    def get(self) -> Any:
        """What lies there."""
        if self.key is None:
            return self.container.cell_contents
        return self.container[self.key]

    def put(self, value: Any) -> None:
        """Let something else lie there."""
        if self.key is None:
            self.container.cell_contents = value
        else:
            self.container[self.key] = value


def is_data(value: Any) -> bool:
    """Whether something may be data: floating-point numbers."""
    if type(value) is np.ndarray:
        return value.dtype.kind in "fc"
    return type(value) in _DATA


def is_large(value: Any) -> bool:
    """Whether data take long to compare."""
    return type(value) is np.ndarray and value.nbytes > _LARGE


def can_hold(container: Any) -> bool:
    """Whether something else can be put there."""
    return type(container) in (dict, types.CellType)


@contextmanager
def filled(places: Sequence[Place], values: Sequence[Any]) -> Iterator[None]:
    """While traced values lie in places of data; MovedError if they do not at the end."""
    before = [place.get() for place in places]
    slots = [value._slot for value in values]
    try:
        for place, value in zip(places, values, strict=True):
            place.put(value)
        yield
        for place, value, slot in zip(places, values, slots, strict=True):
            if place.get() is not value or value._slot != slot:
                raise MovedError(f"{place.where} is written into.")
    finally:
        for place, value in zip(places, before, strict=True):
            place.put(value)


Getter = Callable[[Any, tuple[Any, ...], dict[str, Any]], tuple[Any, ...]]
