"""A progress bar, if one is asked for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from adjoint.base.errors import MissingPackageError
from adjoint.calculus.optimize.result import Iterate


class Progress:
    """What a descent reports to; this one stays silent."""

    def show(self, here: Iterate) -> None:
        """Say where the descent is."""


class _Bar(Progress):
    def __init__(self, bars: Any, task: Any) -> None:
        self._bars = bars
        self._task = task

    def show(self, here: Iterate) -> None:
        text = f"value {here.value:.6g}  gradient norm {here.gradient_norm:.3g}"
        self._bars.update(self._task, completed=here.number, description=text)


@contextmanager
def progress_bar(wanted: bool, limit: int) -> Iterator[Progress]:
    """A bar that counts the iterations, with value and gradient norm beside it; or a silent one.

    Raises:
        MissingPackageError: a bar was asked for, and `rich` is not installed.
    """
    if not wanted:
        yield Progress()
        return
    try:
        from rich import progress  # of the extra `cli`
    except ImportError:
        raise MissingPackageError(
            "progress=True shows a bar with the package rich, which is not installed. "
            "pip install 'adjoint[cli]' brings it; callback=print works without."
        ) from None
    columns = (
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TextColumn("{task.description}"),
        progress.TimeElapsedColumn(),
    )
    with progress.Progress(*columns, transient=True) as bars:
        yield _Bar(bars, bars.add_task("", total=limit))
