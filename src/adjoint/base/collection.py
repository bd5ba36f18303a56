"""Python's cyclic garbage collector, at rest while much is made that is kept."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_resting = 0
_was_enabled = False


@contextmanager
def collector_at_rest() -> Iterator[None]:
    """No collections within the block, if there would have been any.

    Programs of thousands of equations are thousands of objects, none of which is garbage, that the
    collector would look through again and again.
    """
    global _resting, _was_enabled
    with _lock:
        if not _resting:
            _was_enabled = gc.isenabled()
            gc.disable()
        _resting += 1
    try:
        yield
    finally:
        with _lock:
            _resting -= 1
            if not _resting and _was_enabled:
                gc.enable()
