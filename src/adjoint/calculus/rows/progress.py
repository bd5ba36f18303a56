"""What is shown of a pass over rows that takes long."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from adjoint.base.errors import MissingPackageError
from adjoint.base.settings import settings

_LONG: Final = 2.0  # seconds after which a bar is shown where nobody has asked for one


@contextmanager
def passes_shown(total: int) -> Iterator[Callable[[], None]]:
    """What is to be called after each of so many chunks, within the block.

    A bar appears on stderr where that is a terminal, `rich` is installed, and the end is far.
    """
    wanted = settings().progress
    if callable(wanted):
        yield _Counted(wanted, total).advance
    elif wanted is False or (wanted is None and not _is_terminal()):
        yield _nothing
    else:
        bar = _ChunkBar(total, 0.0 if wanted else _LONG, bool(wanted))
        try:
            yield bar.advance
        finally:
            bar.close()


def _nothing() -> None:
    """Show nothing."""


def _is_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()


class _Counted:
    """Tells a function of the user's how many chunks are done, and of how many."""

    def __init__(self, tell: Callable[[int, int], Any], total: int) -> None:
        self._tell = tell
        self._total = total
        self._done = 0

    def advance(self) -> None:
        self._done += 1
        self._tell(self._done, self._total)


class _ChunkBar:
    """A bar that appears after some seconds, if it can.

    required: whether it is an error that `rich` is not installed.
    """

    def __init__(self, total: int, delay: float, required: bool) -> None:
        self._total = total
        self._done = 0
        self._due = time.monotonic() + delay
        self._bars: Any = None
        self._rich = _rich(required)

    def advance(self) -> None:
        self._done += 1
        if self._rich is None or time.monotonic() < self._due:
            return
        if self._bars is None:
            if self._done == self._total:
                return
            self._bars = self._new_bars(*self._rich)
            self._task = self._bars.add_task("chunks of rows", total=self._total)
        self._bars.update(self._task, completed=self._done)

    def _new_bars(self, progress: Any, console: Any) -> Any:
        columns = (
            progress.TextColumn("{task.description}"),
            progress.BarColumn(),
            progress.MofNCompleteColumn(),
            progress.TimeRemainingColumn(),
        )
        bars = progress.Progress(*columns, console=console.Console(stderr=True), transient=True)
        bars.start()
        return bars

    def close(self) -> None:
        """Take the bar away."""
        if self._bars is not None:
            self._bars.stop()


def _rich(required: bool) -> tuple[Any, Any] | None:
    try:
        from rich import console, progress  # of the extra `cli`
    except ImportError:
        if not required:
            return None
        raise MissingPackageError(
            "progress=True shows a bar with the package rich, which is not installed. "
            "pip install 'adjoint[cli]' brings it; progress may also be a function (done, total)."
        ) from None
    return progress, console
