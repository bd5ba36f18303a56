"""Ctrl-C in one of several processes: raised while it computes, and noted while it communicates.

Between processes, an exchange that one of them leaves is never over for the others.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Interrupts:
    """What becomes of interrupts, while `held_interrupts` lasts."""

    def __init__(self) -> None:
        self._come = self._open = False

    @contextmanager
    def let_in(self) -> Iterator[None]:
        """Interrupts are raised at once while this holds, and one that was noted before."""
        self._open = True
        try:
            self.raise_late()
            yield
        finally:
            self._open = False

    @contextmanager
    def kept_out(self) -> Iterator[None]:
        """Interrupts are noted while this holds, and raised at its end; after an error, later."""
        before, self._open = self._open, False
        yield
        self._open = before
        if before:
            self.raise_late()

    def raise_late(self) -> None:
        """Raise an interrupt that has been noted.

        Raises:
            KeyboardInterrupt: there was one.
        """
        if self._come:
            self._come = self._open = False
            raise KeyboardInterrupt

    def note(self, *_: Any) -> None:
        """What the signal calls."""
        self._come = True
        if self._open:
            self.raise_late()


@contextmanager
def held_interrupts() -> Iterator[Interrupts]:
    """Interrupts wait while this holds, but where they are let in.

    Those alone that Python itself would raise: in its first thread, and by its own handler.
    """
    interrupts = Interrupts()
    first = threading.current_thread() is threading.main_thread()
    if not first or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield interrupts
        return
    signal.signal(signal.SIGINT, interrupts.note)
    try:
        yield interrupts
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    interrupts.raise_late()
