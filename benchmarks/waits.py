"""How long anybody waits: each call of a gradient while it becomes machine code, and jit's first.

The programs are those of `unjitted`. Nothing is read from disk, and LLVM has been loaded. What is
beyond the limit is measured once more, and counts if it is so again: machines stall, too.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

import adjoint as ad
from benchmarks.table import Table, duration
from benchmarks.unjitted import Case, copied, derivative, programs

CALLS = 140
_SECONDS = 3.0  # of calls: nearly all programs have turned to machine code by then, if they ever do
_FAIR = 0.1  # seconds, and three times what NumPy takes for a call, that no call may exceed
_LIMIT = 10.0  # seconds of calls after which a program has been called often enough


class Waits(NamedTuple):
    """The seconds of a program's calls.

    first: un-jitted. longest: of those after it. usual: before machine code. jitted: the first.
    """

    name: str
    first: float
    longest: float
    usual: float
    jitted: float


def waits(case: Case) -> Waits:
    """The calls of one program, un-jitted and then under jit."""
    ad.cache_clear()
    slope = derivative(case)
    times = [_seconds(slope(), case)]
    start = time.perf_counter()
    while (passed := time.perf_counter() - start) < _LIMIT:
        if len(times) >= CALLS and passed >= _SECONDS:
            break
        times.append(_seconds(slope(), case))
    ad.cache_clear()
    return Waits(
        case.name, times[0], max(times[1:]), statistics.median(times[1:5]),
        _seconds(ad.jit(slope()), case),
    )  # fmt: skip


def _beyond(measured: Waits) -> float:
    """The seconds of the longest call that are more than three times the usual one."""
    return measured.longest - 3 * measured.usual


def _seconds(slope: object, case: Case) -> float:
    assert callable(slope)
    args = copied(case.args)
    start = time.perf_counter()
    slope(*args)
    return time.perf_counter() - start


def run() -> list[Table]:
    with ad.config(cache=False):
        ad.jit(ad.grad(lambda x: np.sum(x * x)))(np.ones(3))
        measured = []
        for case in programs():
            measured.append(waits(case))
            if _beyond(measured[-1]) > _FAIR:
                measured[-1] = min(measured[-1], waits(case), key=_beyond)
    table = Table(["seconds of", "programs", "median", "90th percentile", "most", "of"])
    _row(table, "the first un-jitted call", [(each.first, each.name) for each in measured])
    _row(table, "the longest after it", [(each.longest, each.name) for each in measured])
    beyond = [(_beyond(each), each.name) for each in measured]
    _row(table, "the same, less 3 × the usual", beyond)
    _row(table, "the first jitted call", [(each.jitted, each.name) for each in measured])
    table.notes.append(
        f"{sum(seconds > _FAIR for seconds, _ in beyond)} of {len(beyond)} programs have an "
        f"un-jitted call, after the first, beyond {_FAIR:g} s + 3 × the usual one."
    )
    return [table]


def _row(table: Table, name: str, values: Sequence[tuple[float, str]]) -> None:
    seconds = [max(value, 0.0) for value, _ in values]
    figures = [statistics.median(seconds), float(np.percentile(seconds, 90)), max(seconds)]
    worst = max(values)[1]
    table.rows.append([name, str(len(values)), *map(duration, figures), worst])
