"""The loops of a schedule: what they compute and move, and which of them threads share."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, Final

from adjoint.executors.native.elements import cost
from adjoint.executors.native.graph.nodes import WHOLE, ArrayNode, Graph, Kind
from adjoint.executors.native.machine.llvm import cores
from adjoint.executors.native.machine.pool import MOST_THREADS, SHARED_TIME, has_pool
from adjoint.executors.native.rows import equations as rows
from adjoint.executors.native.rows import matrices
from adjoint.executors.native.schedule.layout import BYTE_TIME, TURNS, Division, Workload
from adjoint.executors.native.schedule.order import (
    Item,
    Loop,
    Scheduler,
    instances,
    paths,
    result_path,
)
from adjoint.executors.native.schedule.storage import nodes_within, own_bytes, rolled_axes
from adjoint.executors.native.systems import equations as systems
from adjoint.program import Variable

NAMED: Final = 4  # operations of a region that are told by name
# What the estimates are to be divided by for arrays that lie in caches, and vectors of 64 bytes.
CAUTION: Final = 4.0
PART_TIME: Final = 3_000.0  # nanoseconds of a part of a loop, at least
AWAKE_TIME: Final = 6_000.0  # those of a loop within another, in whose rounds threads stay awake
MOST_PARTS: Final = 64
MOST_GATHERING_PARTS: Final = 16  # whose results are put together by code that is written out
MOST_GATHERED: Final = 1 << 22  # bytes that all parts of a loop gather in
MOST_GATHERING: Final = 0.1  # of the time of a loop, what clearing and reading them may take
MOST_RESULTS: Final = 128  # numbers gathered in registers, of all parts


@dataclass(frozen=True)
class Region:
    """One loop nest or product, or numbers that are computed one after the other.

    Its equations, flops, bytes that it moves, and what it computes.
    """

    name: str
    equations: int
    flops: float
    bytes: int
    results: tuple[Variable, ...] = field(default=(), compare=False, repr=False)


def regions_of(items: Sequence[Item]) -> list[list[Item]]:
    """The items of a schedule in regions: each alone, and numbers that follow each other as one."""
    regions: list[list[Item]] = []
    after_number = False
    for item in items:
        number = _is_number(item)
        if number and after_number:
            regions[-1].append(item)
        else:
            regions.append([item])
        after_number = number
    return regions


def _is_number(item: Item) -> bool:
    """Whether it is computed outside of all loops, number by number."""
    return isinstance(item, ArrayNode) and item.kind not in WHOLE


def region_of(items: Sequence[Item], work: Workload) -> Region:
    """What some items of a schedule are called, with the work that they are."""
    nodes = [node for item in items for node in nodes_within(item)]
    names = dict.fromkeys([node.operation for node in nodes])
    title = ", ".join([*names][:NAMED]) + ", ..." * (len(names) > NAMED)
    if isinstance(items[0], Loop):
        title = f"loop of {items[0].label.extent}: {title}"
    results = tuple([variable for node in nodes for variable in node.outputs])
    return Region(title, len(nodes), work.flops, work.bytes, results)


def work_of(items: Sequence[Item], taken: Collection[Variable] = ()) -> Workload:
    """What some items compute and move. taken: results that are written in place."""
    flops = 0.0
    moved: dict[Any, int] = {}
    for node in [node for item in items for node in nodes_within(item)]:
        volume = prod([label.extent for label in node.iteration()])
        flops += _flops(node, volume)
        # Routines and constructs say nothing of what they walk over.
        whole = node.kind in WHOLE or (node.kind is Kind.SCATTER and node.output not in taken)
        for atom in (*node.outputs, *[access.source for access in node.reads()]):
            type_ = atom.type
            count = type_.size if whole or type_.size < volume else volume
            size = count * type_.dtype.itemsize * isinstance(atom, Variable)
            if size > moved.get(atom, 0):
                moved[atom] = size
    return Workload(flops, sum(moved.values()), flops if _is_number(items[0]) else 0.0)


def _flops(node: ArrayNode, volume: int) -> float:
    if node.equation is not None and node.kind is Kind.ROUTINE:
        if node.equation.primitive in systems.ALL:
            return systems.flops_of(node.equation)
        if node.equation.primitive in rows.ALL:
            return rows.flops_of(node.equation)
        if node.equation.primitive in matrices.ALL:
            return matrices.flops_of(node.equation)
    return cost(node.operation) * volume


def own_memory(
    graph: Graph, scheduler: Scheduler, divided: Mapping[Loop, Division]
) -> dict[int, int]:
    """What reductions need for which every lane or part gathers in memory of its own."""
    ways = paths(scheduler.items)
    sizes = {}
    for node in graph.nodes:
        if node.kind is not Kind.REDUCE or not ways.get(node.number):
            continue
        way = ways[node.number]
        count = divided[way[0]].parts if way[0] in divided else 1
        lanes = next((loop for loop in way if loop.lanes), None)
        home = {loop.label for loop in result_path(node, way)}
        inner = [label for label in rolled_axes(node).values() if label not in home]
        reduced = {label.find() for label in node.reduced}
        lane_reduced = lanes is not None and lanes.label in reduced
        if inner and (lane_reduced or (count > 1 and not home)):
            shape = [
                node.output.type.shape[axis]
                for axis, label in enumerate(node.labels)
                if label is None or label.find() not in home
            ]
            wide = lanes.lanes if lanes is not None and lane_reduced else 0
            sizes[node.number] = own_bytes(node, shape, wide) * count
    return sizes


def threads_for(threads: int | None) -> int:
    """How many threads there may be where so many are asked for; None is for all cores."""
    if not has_pool():
        return 1
    return min(cores() if threads is None else threads, MOST_THREADS)


def divided_loops(scheduler: Scheduler, threads: int | None, is_body: bool) -> dict[Loop, Division]:
    """The outermost loops that are long enough for several threads, and how they are divided.

    There are parts for one thread as well: what is gathered in each, and what LLVM makes of their
    code, are then the same for any number of threads. is_body: whether all is within a loop.
    """
    count, least = threads_for(threads), AWAKE_TIME if is_body else SHARED_TIME
    divided = {}
    for item in scheduler.items:
        if isinstance(item, Loop):
            parts = _parts(item, least)
            if parts > 1:
                divided[item] = Division(parts, min(parts, count))
    return divided


def _parts(loop: Loop, least: float) -> int:
    """How many parts a loop is worth, however many threads there are; 1 for none.

    least: nanoseconds that it must take.
    """
    nodes = list(nodes_within(loop))
    if any(node.kind is Kind.SCATTER for node in nodes):
        return 1
    time = work_of([loop]).nanoseconds / CAUTION
    if time < least:
        return 1
    grains = loop.label.extent // (max(loop.lanes, 1) * (TURNS if loop.starts else 1))
    most = MOST_GATHERING_PARTS if loop.starts else MOST_PARTS
    most = min(most, int(time / PART_TIME), grains)
    gathered = max(loop.lanes, 1) * sum(
        node.output.type.size * node.output.type.dtype.itemsize
        for node in loop.starts
        if rolled_axes(node)
    )
    if gathered:  # which is cleared and read once more for each part
        most = min(most, int(time * MOST_GATHERING * CAUTION / (gathered * BYTE_TIME)))
        most = min(most, MOST_GATHERED // gathered)
    results = sum(instances(node) for node in loop.starts)
    most = min(most, max(2, MOST_RESULTS // max(results, 1)))
    # Few parts are as many as two threads, or four, have equal shares of.
    return most if most > MOST_GATHERING_PARTS else 1 << max(most.bit_length() - 1, 0)
