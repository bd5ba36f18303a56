"""As if all arrays were large, so that what NumPy has beside the records is computed late."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from adjoint import pipeline
from adjoint.capture.recording.values import postponed


@contextmanager
def postponing() -> Iterator[None]:
    """Postpone what can be, of whatever size, and derivatives within, however short."""
    before = postponed.LARGE, postponed._SHARE, pipeline._LONG
    postponed.LARGE, postponed._SHARE, pipeline._LONG = 1, 0, -1.0
    try:
        yield
    finally:
        postponed.LARGE, postponed._SHARE, pipeline._LONG = before
