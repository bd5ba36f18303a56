"""Functions of Python's library that call functions of the user's: those run as clones.

They are what `functools.singledispatch` and `contextlib.contextmanager` make. Their own code stays.
"""

from __future__ import annotations

import functools
import operator
import types
import weakref
from collections.abc import Callable
from typing import Any, Final

from adjoint.capture.clones.stand_ins.classes import class_of

Rebind = Callable[[Any], Any]
DISPATCHING: Final = functools.singledispatch(lambda _: None).__code__  # type: ignore[attr-defined]


def dispatching(generic: Any, rebind: Rebind) -> Any:
    """A function of `functools.singledispatch`, which asks for the class of its argument."""

    def dispatch(*args: Any, **kwargs: Any) -> Any:
        if not args:
            return generic(**kwargs)  # which raises
        return rebind(generic.dispatch(class_of(args[0])))(*args, **kwargs)

    return _known_of(generic) or _keep(generic, dispatch)


def around_clones(function: Any, is_users: Callable[[Any], bool], rebind: Rebind) -> Any:
    """A function that closes over functions of the user's, which calls their clones."""
    known = _known_of(function)
    if known is not None:
        return known
    cells = [_cell(cell, is_users, rebind) for cell in function.__closure__]
    if all(map(operator.is_, cells, function.__closure__)):
        return function
    code, names, defaults = function.__code__, function.__globals__, function.__defaults__
    copy = types.FunctionType(code, names, function.__name__, defaults, tuple(cells))
    copy.__kwdefaults__ = function.__kwdefaults__
    return _keep(function, copy)


def _known_of(function: Any) -> Any:
    known = _known.get(id(function))
    return known if known is not None and known.original is function else None


def _keep(original: Any, copy: Any) -> Any:
    around = _known[id(original)] = Around(original, copy)
    return around


# While something holds it, it is the same one under each name.
_known: weakref.WeakValueDictionary[int, Around] = weakref.WeakValueDictionary()


class Around:
    """What is called in the place of a function of the library, and is taken for it."""

    __slots__ = ("__weakref__", "copy", "original")

    def __init__(self, original: Any, copy: Any) -> None:
        self.original = original
        self.copy = copy

    __class__: Any = property(lambda self: types.FunctionType)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function, called."""
        return self.copy(*args, **kwargs)

    def __get__(self, owner: Any, kind: Any = None) -> Any:
        return self if owner is None else types.MethodType(self, owner)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.original, name)

    def __eq__(self, other: object) -> bool:
        return other is self or other is self.original

    def __hash__(self) -> int:
        return hash(self.original)

    def __repr__(self) -> str:
        return repr(self.original)


def _cell(cell: Any, is_users: Callable[[Any], bool], rebind: Rebind) -> Any:
    try:
        content = cell.cell_contents
    except ValueError:  # empty so far
        return cell
    if type(content) is not types.FunctionType or not is_users(content):
        return cell

    @functools.wraps(content)
    def entered(*args: Any, **kwargs: Any) -> Any:
        return rebind(content)(*args, **kwargs)  # as it closes over its names by then

    return types.CellType(entered)
