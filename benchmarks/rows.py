"""Rows that are read some at a time, beside all of them in memory; and workers that share them."""

from __future__ import annotations

import os
import tempfile
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import adjoint as ad
from benchmarks.measure import Thunk, medians
from benchmarks.table import Table, duration, ratio

COUNT, FEATURES, HIDDEN, KINDS = 2_000_000, 13, 16, 3  # 208 MB
IN_MEMORY = "all rows in memory"


def squares(w: Any, x: Any, y: Any) -> Any:
    return np.mean((x @ w - y) ** 2)


def network(weights: Any, x: Any, y: Any) -> Any:
    """Cross-entropy of a network with one hidden layer, for three kinds."""
    scores = np.tanh(x @ weights[0]) @ weights[1]
    scores = scores - np.max(scores, axis=1, keepdims=True)
    logarithms = scores - np.log(np.sum(np.exp(scores), axis=1, keepdims=True))
    kinds = np.minimum(np.abs(y) * 1.5, KINDS - 1).astype(int)
    return -np.mean(np.sum(np.where(kinds[:, None] == np.arange(KINDS), logarithms, 0.0), axis=1))


def run() -> list[Table]:
    random = np.random.default_rng(0)
    x, y = random.normal(size=(COUNT, FEATURES)), random.normal(size=COUNT)
    weights = 0.3 * random.normal(size=(FEATURES, HIDDEN)), random.normal(size=(HIDDEN, KINDS))
    cases = {"least squares": (squares, x[0]), "a network": (network, weights)}
    with tempfile.TemporaryDirectory() as folder:
        paths = Path(folder, "x.npy"), Path(folder, "y.npy")
        for path, array in zip(paths, (x, y), strict=True):
            np.save(path, array)
        files = [ad.rows(path) for path in paths]
        tables = [_on_one_core(name, *case, x, y, files) for name, case in cases.items()]
        with _all_cores():
            return [*tables, _scaling(cases, files)]


def _on_one_core(
    name: str, loss: Callable[..., Any], w: Any, x: Any, y: Any, files: list[ad.Rows]
) -> Table:
    slope = ad.jit(ad.grad(loss))
    candidates: dict[str, Thunk] = {
        IN_MEMORY: partial(slope, w, x, y),
        "rows of memory": partial(slope, w, ad.rows(x), ad.rows(y)),
        "rows of a file": partial(slope, w, *files),
    }
    table = Table([f"{name}, one core", "median", f"{IN_MEMORY} = 1", "peak memory", "error"])
    with ad.config(threads=1):
        # The last first: memory that all rows have needed is kept for a while.
        peaks = {entry: _peak(candidates[entry]) for entry in reversed(candidates)}
        times = medians(candidates, seconds=20.0)
        expected = _flat(candidates[IN_MEMORY]())
        for entry, thunk in candidates.items():
            error = np.max(np.abs(_flat(thunk()) - expected)) / np.max(np.abs(expected))
            figures = duration(times[entry]), ratio(times[entry] / times[IN_MEMORY])
            table.rows.append([entry, *figures, f"{peaks[entry] / 1e6:.1f} MB", f"{error:.0e}"])
    return table


def _flat(gradient: Any) -> Any:
    parts = gradient if isinstance(gradient, tuple) else (gradient,)
    return np.concatenate([part.ravel() for part in parts])


def _peak(thunk: Thunk) -> int:
    """The bytes that a call allocates at its most, once all is compiled."""
    thunk()
    tracemalloc.start()
    try:
        thunk()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def _scaling(cases: dict[str, Any], files: list[ad.Rows]) -> Table:
    table = Table(["rows of a file", "1 worker", "2 workers", "speed-up"])
    if len(os.sched_getaffinity(0)) < 2:
        table.notes.append("This machine has one core.")
        return table
    engines: dict[str, Callable[[ExitStack, int], Any]] = {"threads": _threads}
    if find_spec("distributed") is not None:
        engines["processes of Dask"] = _cluster
    for engine, begin in engines.items():
        for name, (loss, w) in cases.items():
            with ExitStack() as stack:
                candidates = {
                    str(count): partial(
                        _with, begin(stack, count), ad.jit(ad.grad(loss)), w, *files
                    )
                    for count in (1, 2)
                }
                times = medians(candidates, seconds=15.0)
            figures = [duration(times[count]) for count in ("1", "2")]
            table.rows.append([f"{name}, {engine}", *figures, ratio(times["1"] / times["2"])])
    return table


def _threads(_: ExitStack, count: int) -> dict[str, Any]:
    return {"threads": count}


def _cluster(stack: ExitStack, count: int) -> dict[str, Any]:
    distributed = import_module("distributed")
    cluster = stack.enter_context(
        distributed.LocalCluster(n_workers=count, threads_per_worker=1, dashboard_address=None)
    )
    return {"engine": stack.enter_context(distributed.Client(cluster))}


def _with(settings: dict[str, Any], slope: Callable[..., Any], *args: Any) -> Any:
    with ad.config(**settings):
        return slope(*args)


@contextmanager
def _all_cores() -> Iterator[None]:
    """All cores of the machine within the block, and then those that there were."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, range(os.cpu_count() or 1))
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
