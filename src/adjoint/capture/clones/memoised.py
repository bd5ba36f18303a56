"""`functools.lru_cache` in a capture: what is kept, is kept as long as the capture lasts.

A cache that outlives it would give traced values of an earlier point to a later call; without one,
recursion that relies on it would take exponential time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adjoint.capture.recording.trace import Trace, current
from adjoint.capture.recording.traced import Traced

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

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__wrapped__, name)

    def cache_clear(self) -> None:
        """Forget what is kept."""
        self.__wrapped__.cache_clear()
        for place in [place for place in list(_kept) if place[1] == id(self.__wrapped__)]:
            del _kept[place]


def forget_values() -> None:
    """At the end of a capture: let go of what was kept for it."""
    if _kept:
        for place, (trace, _, _) in list(_kept.items()):
            if not trace.open:
                _kept.pop(place, None)
