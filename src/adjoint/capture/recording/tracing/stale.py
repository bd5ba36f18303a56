"""What is known of a value that an earlier call has left (see `facts/past.py`)."""

from __future__ import annotations

from typing import Any, NamedTuple


class Stale(NamedTuple):
    """A value that an earlier call at some point has left. line: where it has come in.

    in_place: whether it lay in an array that was there before. places: which entries it has of it.
    """

    point: Any
    line: str
    in_place: bool = False
    places: Any = None
