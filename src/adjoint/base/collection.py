"""Python's cyclic garbage collector, at rest while much is made that is kept."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_lock = threading.RLock()  # a signal handler may come by within
_resting: list[int] = []  # the threads within such a block, once for each
_before = gc.get_threshold()
# New objects until a collection: more than there are. Whether the collector is enabled is left to
# the user, whose threads go on meanwhile, and so is a threshold that the user sets then.
_NEVER: Final = 2_147_483_629


@contextmanager
def collector_at_rest() -> Iterator[None]:
    """No collections within the block but those that are asked for.

    Programs of thousands of equations are thousands of objects, none of which is garbage, that the
    collector would look through again and again, and with them all that the process has.
    """
    here = threading.get_ident()
    try:
        _begin(here)
        yield
    finally:
        _end(here)


# In both, what a signal handler finds in between is right: it is not the first, nor the last.


def _begin(here: int) -> None:
    global _before
    with _lock:
        _resting.append(here)
        if len(_resting) == 1:
            _before = gc.get_threshold()
            gc.set_threshold(_NEVER, *_before[1:])


def _end(here: int) -> None:
    with _lock:
        if _resting == [here]:
            _work_again()
        if here in _resting:  # else an exception has come before it was
            _resting.remove(here)


def _work_again() -> None:
    if gc.get_threshold()[0] == _NEVER:
        gc.set_threshold(*_before)


def _forget_others() -> None:
    """In a child of a fork, whose only thread this is: a lock that another has is never free."""
    global _lock
    _lock = threading.RLock()
    here = threading.get_ident()
    others = [thread for thread in _resting if thread != here]
    _resting[:] = [here] * (len(_resting) - len(others))
    if others and not _resting:
        _work_again()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_others)
