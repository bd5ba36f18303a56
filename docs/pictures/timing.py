"""How long a call takes: shared by the scripts beside it that measure before they draw."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

SECONDS = 0.08  # spent on each figure


def seconds(function: Callable[..., Any], *args: Any) -> float:
    """The least time of a call, over many."""
    for _ in range(3):
        function(*args)
    start = time.perf_counter()
    function(*args)
    count = max(1, int(2e-3 / max(time.perf_counter() - start, 1e-7)))
    best, end = float("inf"), time.perf_counter() + SECONDS
    while time.perf_counter() < end or best == float("inf"):
        start = time.perf_counter()
        for _ in range(count):
            function(*args)
        best = min(best, (time.perf_counter() - start) / count)
    return best
