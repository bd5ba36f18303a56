"""Python's cyclic garbage collector, at rest while much is made that is kept."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_lock = threading.RLock()  # a signal handler may come by within
# The threads within such blocks, once for each: where it rests, and where it does not look at all.
_resting: list[int] = []
_brief: list[int] = []
_before = gc.get_threshold()
# New objects until a collection, or collections of young ones until one of all: more than there
# are. Whether the collector is enabled is left to the user, whose threads go on meanwhile, and so
# is a threshold that the user sets then.
_NEVER: Final = 2_147_483_629


@contextmanager
def collector_at_rest() -> Iterator[None]:
    """No collections within the block but those that are asked for.

    Programs of thousands of equations are thousands of objects, none of which is garbage, that the
    collector would look through again and again, and with them all that the process has.
    """
    with _within(_resting):
        yield


@contextmanager
def young_collected_alone() -> Iterator[None]:
    """No collections of all objects within the block, in which code of the user's runs.

    What that makes and lets go of is collected while it is young; records are kept, and many.
    """
    with _within(_brief):
        yield


@contextmanager
def _within(block: list[int]) -> Iterator[None]:
    here = threading.get_ident()
    try:
        _begin(block, here)
        yield
    finally:
        _end(block, here)


# In both, what a signal handler finds in between is right: what it does itself, it undoes.


def _begin(block: list[int], here: int) -> None:
    global _before
    with _lock:
        now = gc.get_threshold()
        is_set_within = _NEVER not in now and bool(_resting or _brief)
        if _NEVER not in now:
            _before = now
        block.append(here)
        if not is_set_within:
            gc.set_threshold(*_wanted())


def _end(block: list[int], here: int) -> None:
    with _lock:
        if here in block:  # else an exception has come before it was
            block.remove(here)
            _set()


def _wanted() -> tuple[int, int, int]:
    if _resting:
        return (_NEVER, *_before[1:])
    return (*_before[:2], _NEVER) if _brief else _before


def _set() -> None:
    if _NEVER in gc.get_threshold():
        gc.set_threshold(*_wanted())


def _forget_others() -> None:
    """In a child of a fork, whose only thread this is: a lock that another has is never free."""
    global _lock
    _lock = threading.RLock()
    here = threading.get_ident()
    for block in (_resting, _brief):
        block[:] = [here] * block.count(here)
    _set()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_others)
