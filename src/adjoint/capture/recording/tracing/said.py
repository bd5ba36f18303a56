"""What NumPy has warned of in a capture, and what it may yet warn of."""

from __future__ import annotations

import warnings
from typing import Any


class Said(set[str]):
    """The texts of the warnings; true if there are any, or may be.

    waiting: values that are not computed yet (`values/postponed.py`), in the order in which the
    user's code asked for them; those of captures within one are its own. filters: of warnings, as
    they were at the beginning.
    """

    __slots__ = ("before", "filters", "waiting")

    def __init__(self) -> None:
        super().__init__()
        self.waiting: dict[Any, None] = {}
        self.filters = warnings.filters
        self.before = list(warnings.filters)

    def __bool__(self) -> bool:
        return bool(len(self) or self.waiting)

    @property
    def are_heard_as_before(self) -> bool:
        """Whether nobody has changed since the beginning what becomes of warnings."""
        return warnings.filters is self.filters and self.filters == self.before
