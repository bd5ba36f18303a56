"""Which cases of a long sweep the suite takes: the others are slow, and run by `pytest -m slow`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def slow(*case: Any) -> Any:
    """A case that the suite leaves out."""
    return pytest.param(*case, marks=pytest.mark.slow)


def one_in(share: int, cases: Iterable[Any]) -> list[Any]:
    """Cases of which one in `share` is not slow, the first among them; tuples are arguments."""
    arguments = [case if isinstance(case, tuple) else (case,) for case in cases]
    return [
        slow(*case) if place % share else pytest.param(*case)
        for place, case in enumerate(arguments)
    ]
