"""How many known arrays, views and arrays with views there are: whether some outlive a capture."""

from __future__ import annotations

import sys
from typing import Final

LIVING: Final = object()  # all of them refer to it


def count_known() -> int:
    """A number that grows with them."""
    return sys.getrefcount(LIVING)
