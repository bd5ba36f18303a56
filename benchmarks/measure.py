"""Timing: candidates take turns, so that whatever else the machine does hits all of them alike."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Mapping

Thunk = Callable[[], object]

_SHORTEST = 1e-2  # seconds that one repetition takes at least: the candidate runs in its own caches
_WARM = 40  # calls before anything is timed: what comes by that often has become machine code
_SLOW = 1.0  # seconds of calls to warm up after which there are no more


def medians(
    candidates: Mapping[str, Thunk], seconds: float = 2.0, rounds: int = 200
) -> dict[str, float]:
    """The median seconds of one call of each candidate.

    Args:
        candidates: What to time, by name; each is called a few times before, to warm up.
        seconds: How long to measure, all candidates together.
        rounds: How many repetitions of each at most; there are 5 at least.
    """
    counts = {name: _calls_per_repetition(thunk) for name, thunk in candidates.items()}
    times: dict[str, list[float]] = {name: [] for name in candidates}
    end = time.perf_counter() + seconds
    gc_was_on = gc.isenabled()
    gc.disable()
    try:
        for done in range(rounds):
            if done >= 5 and time.perf_counter() > end:
                break
            for name, thunk in candidates.items():
                times[name].append(_repetition(thunk, counts[name]))
            gc.collect(0)
    finally:
        if gc_was_on:
            gc.enable()
    return {name: statistics.median(values) for name, values in times.items()}


def quickest(thunk: Thunk, seconds: float) -> float:
    """The least seconds of one call: for what the machine can do, not for what is compared."""
    count = _calls_per_repetition(thunk)
    end = time.perf_counter() + seconds
    least = _repetition(thunk, count)
    while time.perf_counter() < end:
        least = min(least, _repetition(thunk, count))
    return least


def _repetition(thunk: Thunk, count: int) -> float:
    start = time.perf_counter()
    for _ in range(count):
        thunk()
    return (time.perf_counter() - start) / count


def _calls_per_repetition(thunk: Thunk) -> int:
    start = time.perf_counter()
    for _ in range(_WARM):
        thunk()
        if time.perf_counter() - start > _SLOW:
            return 1
    count = 1
    while (taken := _repetition(thunk, count) * count) < _SHORTEST:
        count = max(2 * count, int(count * _SHORTEST / max(taken, 1e-9)))
    return count
