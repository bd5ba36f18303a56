"""`functools.lru_cache` in a capture.

What follows from traced arguments is kept as long as the capture lasts: a cache that outlives it
would give traced values of an earlier point to a later call, and without one, recursion that relies
on it would take exponential time. What follows from others is asked of the cache itself, which has
it from earlier calls, and keeps it for later ones, right or wrong.

Where the cache would have a value of an earlier call and the function gives another by now (it is a
method of an object that has changed, say), NumPy's answer is the old one, and neither is what was
meant: that is refused.
"""

from __future__ import annotations

import functools
import gc
import weakref
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from adjoint.base.errors import UnsupportedFunctionError
from adjoint.capture.recording.tracing.hooks import hooks
from adjoint.capture.recording.tracing.trace import Trace, captures, current
from adjoint.capture.recording.tracing.traced import Traced
from adjoint.capture.recording.values.valued import Unvalued, any_slot, plain, refuse

# What the captures under way keep, by capture and cache.
_kept: dict[tuple[int, int], tuple[Trace, Any, dict[Any, Any]]] = {}

# What the captures before have computed in the place of a cache: what tells a value, by its key.
_left: weakref.WeakKeyDictionary[Any, dict[Any, Any]] = weakref.WeakKeyDictionary()
_MOST: Final = 4096  # of one cache


class Memoised:
    """A clone of a cached function.

    cache: the original, whose other attributes it has. call: the clone of its function.
    """

    __slots__ = ("__wrapped__", "_inside", "call")

    def __init__(self, cache: Any, call: Callable[..., Any]) -> None:
        self.__wrapped__ = cache
        self.call = call
        self._inside: dict[Any, Any] | None = None  # what it keeps values in, once it is found

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function's value: kept, if this capture has asked for it before."""
        trace, cache = current(), self.__wrapped__
        if trace is None:
            return cache(*args, **kwargs)
        traced = any_slot(args) or any_slot(kwargs)
        if not traced:
            held = self._holds(_key(cache, args, kwargs))
            if held or not hooks.reaches_traced((args, kwargs, cache.__wrapped__)):
                return self._asked(args, kwargs)
        place = (id(trace), id(cache))
        if place not in _kept:
            _kept[place] = (trace, cache, {})
        values = _kept[place][2]
        every = (*args, *kwargs.items())
        # A traced number is known by its place in the trace, and not by its value.
        known = tuple([(type(x), id(x) if type(x) is Traced else x) for x in every])
        if known not in values:
            value = self.call(*args, **kwargs)
            values[known] = (value, every)  # which keeps what the key names
            self._compare(args, kwargs, value, traced)
        return values[known][0]

    def _asked(self, args: Any, kwargs: Any) -> Any:
        """What the cache itself gives."""
        before = [len(trace.records) for trace in captures()]
        value = self.__wrapped__(*args, **kwargs)
        if before != [len(trace.records) for trace in captures()] or _holds_traced(value):
            self.__wrapped__.cache_clear()  # no traced value is to be found there later
            raise _refused(
                "A function under functools.lru_cache depends on traced values that it has found "
                "in a way that capture does not see, and would keep them."
            )
        return value

    def _holds(self, key: Any) -> bool:
        """Whether the cache has a value for a key."""
        if self._inside is None:
            self._inside = _held(self.__wrapped__)
        return self._inside is not None and key in self._inside

    def _compare(self, args: Any, kwargs: Any, value: Any, traced: bool) -> None:
        """Refuse where the cache would have given NumPy another value than was computed.

        traced: whether that depends on traced arguments, and not on what is traced elsewhere alone.
        """
        try:
            args, kwargs = plain(args), plain(kwargs)
            computed = _told(plain(value))
        except Unvalued:
            return
        cache = self.__wrapped__
        key = _key(cache, args, kwargs)
        if self._holds(key):
            expected = _told(cache(*args, **kwargs))
        else:
            left = _left.setdefault(cache, {})
            weakly = tuple(map(_weakly, key)) if type(key) is tuple else key
            expected = left.get(weakly, computed)
            traced = traced or weakly not in left
            left[weakly] = computed
            if len(left) > _MOST:
                del left[next(iter(left))]
        if expected != computed or not traced:
            raise _refused(
                "A function under functools.lru_cache was called with arguments that it was called "
                "with before, and depends on values that have changed since, or may have: NumPy "
                "would be given the earlier value."
            )

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__wrapped__, name)

    def cache_clear(self) -> None:
        """Forget what is kept."""
        self.__wrapped__.cache_clear()
        _left.pop(self.__wrapped__, None)
        for place in [place for place in list(_kept) if place[1] == id(self.__wrapped__)]:
            del _kept[place]


def _refused(what: str) -> UnsupportedFunctionError:
    refusal = UnsupportedFunctionError(
        f"{what} Give it all that it depends on as arguments, or leave the cache away."
    )
    refuse(refusal)
    return refusal


# --- what a cache holds ---------------------------------------------------------------------------


def _held(cache: Any) -> dict[Any, Any] | None:
    """The values of a cache by their keys, as the collector of garbage finds them.

    None where it has none: what is empty looks like others.
    """
    size, bounded = cache.cache_info().currsize, cache.cache_parameters()["maxsize"] is not None
    for referent in gc.get_referents(cache) if size else ():
        if type(referent) is not dict or referent is cache.__dict__ or len(referent) != size:
            continue
        if not bounded or all(type(link).__module__ == "functools" for link in referent.values()):
            return referent
    return None


def _key(cache: Any, args: Any, kwargs: Any) -> Any:
    """The key of arguments in a cache: one of its kind is asked."""
    asked = functools.lru_cache(None, cache.cache_parameters()["typed"])(_nothing)
    asked(*args, **kwargs)
    held = _held(asked)
    assert held is not None
    return next(iter(held))


def _nothing(*_: Any, **__: Any) -> None:
    """What is cached to see a key."""


def _weakly(value: Any) -> Any:
    """A part of a key that keeps no object alive."""
    try:
        return value if isinstance(value, type) else weakref.ref(value)
    except TypeError:
        return value


def _told(value: Any) -> Any:
    """What tells a value from others; objects of other kinds are not told from one another."""
    if isinstance(value, (tuple, list)):
        return tuple(map(_told, value))
    if isinstance(value, np.ndarray):
        return (value.shape, value.dtype.str, hash(value.tobytes()))
    if isinstance(value, (int, float, complex, str, np.generic)):
        return (type(value), repr(value))
    return type(value)


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
