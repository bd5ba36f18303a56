"""What calls the functions that it is given, and is not the user's: it is given their clones.

Containers and what else keeps a function without a call are given the function itself.
"""

from __future__ import annotations

import bisect
import collections
import functools
import heapq
import itertools
import operator
import re
import types
from collections.abc import Callable
from typing import Any, Final

from adjoint.capture.clones.stand_ins.classes import BUILTINS
from adjoint.capture.recording.tracing.hooks import handed, hooks

_CALLING: Final = frozenset(
    {
        *(
            map,
            filter,
            functools.reduce,
            functools.cmp_to_key,
            operator.call,
            collections.defaultdict,
        ),
        *(itertools.accumulate, itertools.starmap, itertools.filterfalse, itertools.groupby),
        *(itertools.takewhile, itertools.dropwhile),
        *(heapq.merge, heapq.nlargest, heapq.nsmallest, re.sub, re.subn),
        *(bisect.bisect_left, bisect.bisect_right, bisect.insort_left, bisect.insort_right),
    }
)
_MAY_CALL: Final = frozenset({types.FunctionType, types.BuiltinFunctionType, type})
# Packages whose methods keep what they are given, or look at the frames around them.
_KEEPING: Final = frozenset(
    {
        *("adjoint", "numpy", "collections", "_collections_abc", "weakref", "_weakrefset"),
        *("builtins", "dataclasses", "enum", "logging", "types", "typing", "abc", "unittest"),
        *("warnings", "inspect", "functools"),
    }
)


def calls_functions(value: Any) -> bool:
    """Whether something of a library calls functions among its arguments."""
    if type(value) not in _MAY_CALL:
        return False
    return value in _CALLING or (type(value) is not type and _package(value) == "optree")


def as_calling(method: Any) -> Any:
    """What is called for a bound method that is not the user's, which may call functions."""
    function = method.__func__
    if type(function) is not types.FunctionType or _package(function) in _KEEPING:
        return method
    return handing_method(method)


def _package(function: Any) -> str:
    return str(function.__module__ or "").partition(".")[0]


@functools.lru_cache(maxsize=256)
def handing(function: Any) -> Callable[..., Any]:
    """What is called in its place."""
    ours = handing_method(function)
    return lambda *args, **kwargs: ours(*map(called, args[:1]), *args[1:], **kwargs)


def called(value: Any) -> Any:
    """What is certain to be called: an object whose class inherits from a library's is ours there.

    Others that have a `__call__` work as they are.
    """
    if type(value) in _MAY_CALL or not callable(value):
        return value
    homes = [base.__module__.partition(".")[0] for base in type(value).__mro__]
    inherits = homes[0] not in _UNDERSTOOD and not _UNDERSTOOD.isdisjoint(homes)
    return hooks.called(value) if inherits else value


_UNDERSTOOD: Final = frozenset({"numpy", "scipy"})


def handing_method(function: Any) -> Callable[..., Any]:
    """What is called in the place of something that is not kept."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*map(handed, args), **{name: handed(x) for name, x in kwargs.items()})

    return call


BUILTINS.update(map=handing(map), filter=handing(filter))


def is_partial(value: Any) -> bool:
    """Whether it calls as `functools.partial` does: a class that inherits from that may not."""
    if type(value) is functools.partial:
        return True
    return isinstance(value, functools.partial) and type(value).__call__ is _PARTIALS_CALL


_PARTIALS_CALL: Final = functools.partial.__call__
