"""What functions and global names are in clones."""

from __future__ import annotations

import functools
import operator
import types
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import numpy as np


class Clone(NamedTuple):
    """A function under new names.

    What to call, the cells whose contents were replaced, and the code and the defaults that the
    function had. inner: functions that it closes over, with their clones. partials: those that it
    closes over, with the keywords that they had.
    """

    call: Any
    cells: tuple[tuple[Any, Any], ...] = ()
    code: types.CodeType | None = None
    defaults: tuple[Any, ...] | None = None
    keywords: tuple[Any, ...] | None = None
    inner: tuple[tuple[Any, Any], ...] = ()
    partials: tuple[tuple[Any, dict[str, Any]], ...] = ()

    def fits(self, function: types.FunctionType) -> bool:
        """Whether the function is still what it was when it was cloned."""
        if function.__code__ is not self.code or function.__defaults__ is not self.defaults:
            return False
        if function.__kwdefaults__ is not None or self.keywords is not None:
            keywords = keywords_of(function)
            if keywords is None or self.keywords is None or len(keywords) != len(self.keywords):
                return False
            if any(map(operator.is_not, keywords, self.keywords)):
                return False
        if self.cells and not all([content_of(cell) is content for cell, content in self.cells]):
            return False
        if self.inner and not all([clone.fits(function) for function, clone in self.inner]):
            return False
        return not self.partials or all([_alike(x.keywords, own) for x, own in self.partials])


def _alike(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether names are bound to the same objects."""
    return one.keys() == other.keys() and all(one[name] is other[name] for name in one)


def keywords_of(function: types.FunctionType) -> tuple[Any, ...] | None:
    """The names and values of keyword-only defaults, one after another."""
    defaults = function.__kwdefaults__
    return None if defaults is None else (*defaults, *defaults.values())


def content_of(cell: Any) -> Any:
    """What a cell holds."""
    try:
        return cell.cell_contents
    except ValueError:  # not bound yet
        return ABSENT


def held_by(copy: types.FunctionType, function: types.FunctionType) -> Iterator[Any]:
    """What a clone of a function keeps alive: in cells, as defaults, and as attributes.

    The defaults are both those that it has, and the function's own, with which these are compared.
    """
    yield from map(content_of, copy.__closure__ or ())
    for one in (copy, function):
        yield from one.__defaults__ or ()
        yield from (one.__kwdefaults__ or {}).values()
    yield from function.__dict__.values()


def leads_nowhere(content: Any) -> bool:
    """Whether an object cannot hold a function in turn."""
    if type(content) is np.ndarray:
        return not content.dtype.hasobject
    if type(content) is tuple:
        return all(map(leads_nowhere, content))
    return type(content) in _LEADS_NOWHERE


class Stand(NamedTuple):
    """What a clone sees under a global name.

    value: what the name is bound to. shown: what a clone sees. called: what it calls, if it calls
    that. effect: why looking it up may be an effect (see `facts.purity`). clone: the `Clone`, where
    the value is a function of the user's. recursive: whether that calls itself, as it seems.
    """

    value: Any
    shown: Any
    called: Any = None
    effect: str | None = None
    clone: Any = None
    recursive: bool = False


ABSENT: Final = object()
"""The content of a cell that is not bound yet."""
_LEADS_NOWHERE: Final = frozenset(
    {
        *(np.ndarray, float, int, str, bool, complex, type(None), np.float64, np.ufunc),
        *(types.ModuleType, types.BuiltinFunctionType),
    }
)
CACHED: Final = type(functools.lru_cache(lambda: None))
FOREIGN: Final = frozenset(
    {
        *(types.FunctionType, types.BuiltinFunctionType, types.MethodType, functools.partial),
        *(CACHED, np.ufunc, type(np.sum)),
    }
)
"""What a name may be bound to that is called, or looked into, without a question."""
