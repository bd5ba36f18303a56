"""`functools.lru_cache` in a capture.

What follows from traced arguments is kept as long as the capture lasts: a cache that outlives it
would give traced values of an earlier point to a later call, and without one, recursion that relies
on it would take exponential time. What follows from plain numbers and text alone is asked of the
cache itself, which has it from earlier calls, and keeps it for later ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.capture.recording.trace import Trace, captures, current
from adjoint.capture.recording.traced import Traced
from adjoint.capture.recording.valued import attempting

# What the captures under way keep, by capture and cache.
_kept: dict[tuple[int, int], tuple[Trace, Any, dict[Any, Any]]] = {}


class Memoised:
    """A clone of a cached function.

    cache: the original, whose other attributes it has. call: the clone of its function.
    """

    __slots__ = ("__wrapped__", "call")

    def __init__(self, cache: Any, call: Callable[..., Any]) -> None:
        self.__wrapped__ = cache
        self.call = call

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function's value: kept, if this capture has asked for it before."""
        trace = current()
        if trace is None:
            return self.__wrapped__(*args, **kwargs)
        if all(map(_is_plain, args)) and all(map(_is_plain, kwargs.values())):
            found = self._asked(args, kwargs)
            if found is not _TRACED:
                return found
        place = (id(trace), id(self.__wrapped__))
        if place not in _kept:
            _kept[place] = (trace, self.__wrapped__, {})
        values = _kept[place][2]
        every = (*args, *kwargs.items())
        # A traced number is known by its place in the trace, and not by its value.
        key = tuple([(type(x), id(x) if type(x) is Traced else x) for x in every])
        if key not in values:
            values[key] = (self.call(*args, **kwargs), every)  # which keeps what the key names
        return values[key][0]

    def _asked(self, args: Any, kwargs: Any) -> Any:
        """What the cache itself gives; `_TRACED` if its function comes to traced values."""
        before = [len(trace.records) for trace in captures()]
        try:
            with attempting():
                value = self.__wrapped__(*args, **kwargs)
        except Exception:
            return _TRACED  # the clone will tell
        after = [len(trace.records) for trace in captures()]
        if before == after and not _holds_traced(value):
            return value
        self.__wrapped__.cache_clear()
        return _TRACED

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__wrapped__, name)

    def cache_clear(self) -> None:
        """Forget what is kept."""
        self.__wrapped__.cache_clear()
        for place in [place for place in list(_kept) if place[1] == id(self.__wrapped__)]:
            del _kept[place]


_TRACED = object()
_ATOMS = frozenset({float, int, bool, complex, str, bytes, type(None), np.float64})


def _is_plain(value: Any) -> bool:
    return type(value) in _ATOMS or (type(value) is tuple and all(map(_is_plain, value)))


def _holds_traced(value: Any) -> bool:
    """Whether a value is traced, or a container of such."""
    if isinstance(value, (tuple, list, set)):
        return any(map(_holds_traced, value))
    if isinstance(value, dict):
        return any(map(_holds_traced, value.values()))
    return type(value) is Traced


def forget_values() -> None:
    """At the end of a capture: let go of what was kept for it."""
    if _kept:
        for place, (trace, _, _) in list(_kept.items()):
            if not trace.open:
                _kept.pop(place, None)
