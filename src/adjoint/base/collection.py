"""Python's cyclic garbage collector, at rest while much is made that is kept."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.RLock()  # a signal handler may come by within
_resting: list[int] = []  # the threads within such a block, once for each
_was_enabled = False


@contextmanager
def collector_at_rest() -> Iterator[None]:
    """No collections within the block, if there would have been any.

    Programs of thousands of equations are thousands of objects, none of which is garbage, that the
    collector would look through again and again.
    """
    here = threading.get_ident()
    try:
        _begin(here)
        yield
    finally:
        _end(here)


# In both, what a signal handler finds in between is right: it is not the first, nor the last.


def _begin(here: int) -> None:
    global _was_enabled
    with _lock:
        _resting.append(here)
        if len(_resting) == 1:
            _was_enabled = gc.isenabled()
            gc.disable()


def _end(here: int) -> None:
    with _lock:
        if _resting == [here] and _was_enabled:
            gc.enable()
        if here in _resting:  # else an exception has come before it was
            _resting.remove(here)


def _forget_others() -> None:
    """In a child of a fork, whose only thread this is: a lock that another has is never free."""
    global _lock
    _lock = threading.RLock()
    here = threading.get_ident()
    others = [thread for thread in _resting if thread != here]
    _resting[:] = [here] * (len(_resting) - len(others))
    if others and not _resting and _was_enabled:
        gc.enable()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_others)
