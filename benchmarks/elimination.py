"""Elimination of vertices: counted multiplications beside the published ones, and times."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import numpy as np
import optree

import adjoint as ad
from adjoint.calculus.jacobians.planning.elimination import EliminationGraph, markowitz, searched
from adjoint.calculus.jacobians.planning.mode import ModeName
from benchmarks.elimination_graphs import executed_count, published_graph
from benchmarks.elimination_tasks import TASKS, Task, option_slopes
from benchmarks.measure import Thunk, medians
from benchmarks.peers import assert_agreement, installed, jax_modules, jitted_by_jax
from benchmarks.table import Table, duration, ratio

MOVES = 20_000  # of the search, where there are 100 vertices; fewer where there are more
POINTS = 1000
VALUE = "function"
MODES: tuple[ModeName, ...] = ("forward", "reverse", "elimination")
PEERS = {"jacfwd": "JAX, jacfwd", "jacrev": "JAX, jacrev"}


def run() -> list[Table]:
    return [_counts(), _times()]


# --- counts ---------------------------------------------------------------------------------------


def _counts() -> Table:
    table = Table(
        [
            "multiplications",
            "vertices",
            "forward",
            "reverse",
            "Markowitz",
            "searched",
            "in",
            "best published",
            "executed",
        ]
    )
    table.rows.extend(_counted(task) for task in TASKS)
    table.notes.append(
        "As the published ones are counted: one for each pair of edges through a vertex of the "
        "function as written, whatever they multiply by. The first three graphs are the published "
        "ones: forward mode, reverse mode and Markowitz's rule take as much there. For the others "
        "each number of an array is a vertex here, where the published graphs have a vertex for "
        "each array; the option's first derivatives are adjoint's own, by reverse mode. *In* is "
        "the time of the search. *Executed* are the products of what `ad.jacobian` runs, with the "
        "order that it finds in a tenth of a second: common subexpressions are shared, and "
        "nothing is multiplied by 1 or -1."
    )
    return table


def _counted(task: Task) -> list[str]:
    function = partial(task.function, np)
    graph = published_graph(function, task.arguments)
    vertices = graph.vertices
    start = time.process_time()
    order = searched(graph, MOVES * 100 // max(len(vertices), 100), units=False)
    seconds = time.process_time() - start
    orders = (vertices, vertices[::-1], markowitz(graph, units=False), order)
    counts = [str(_products(graph, order)) for order in orders]
    executed = str(executed_count(function, task.arguments).multiplications)
    return [task.name, str(len(vertices)), *counts, duration(seconds), str(task.best), executed]


def _products(graph: EliminationGraph, order: list[int]) -> int:
    return graph.count(order, units=False).multiplications


# --- times ----------------------------------------------------------------------------------------


def _times() -> Table:
    names = [*MODES, *PEERS.values()]
    table = Table([f"Jacobians at {POINTS} points", VALUE, *names])
    for task in TASKS:
        if task.pointwise:
            table.rows.append(_timed(task))
    table.notes.append(
        "`ad.jit(ad.vmap(ad.jacobian(f, mode=...)))`, and `jax.jit(jax.vmap(...))`, in float64, as "
        "multiples of the time of the function itself by `ad.jit(ad.vmap(f))`. Fewer operations "
        "are not always as much less time: reverse mode computes a column of five numbers at once "
        "for Roe's flux in three dimensions, and elimination each number alone."
    )
    return table


def _timed(task: Task) -> list[str]:
    generator = np.random.default_rng(1)
    arguments = tuple(
        x * generator.uniform(0.9, 1.1, (POINTS, *(1,) * np.ndim(x))) for x in task.arguments
    )
    places = tuple(range(len(arguments)))
    function = partial(task.function, np)
    value = ad.jit(ad.vmap(function))
    candidates: dict[str, Thunk] = {VALUE: lambda: value(*arguments)}
    for mode in MODES:
        jacobian = ad.jit(ad.vmap(ad.jacobian(function, places, mode=mode)))
        candidates[mode] = partial(jacobian, *arguments)
    candidates |= _peers(task, arguments, places)
    blocks = {name: partial(_flat, thunk) for name, thunk in candidates.items() if name != VALUE}
    assert_agreement(blocks, blocks["forward"](), 1e-8)
    times = medians(candidates, seconds=4.0, rounds=50)
    unit = times[VALUE]
    ratios = [ratio(times[name] / unit) if name in times else "-" for name in (*MODES, *PEERS)]
    return [task.name, duration(unit), *ratios]


def _flat(jacobian: Thunk) -> Any:
    """All numbers of a Jacobian."""
    blocks: Any = jacobian()
    return np.concatenate([np.ravel(np.asarray(block)) for block in optree.tree_leaves(blocks)])


def _peers(task: Task, arguments: tuple[Any, ...], places: tuple[int, ...]) -> dict[str, Thunk]:
    if not installed("jax") or task.function is option_slopes:
        return {}
    jax, xp = jax_modules()
    function = partial(task.function, xp)
    return {
        name: jitted_by_jax(jax.vmap(getattr(jax, name)(function, places)), arguments)
        for name in PEERS
    }
