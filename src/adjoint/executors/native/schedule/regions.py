"""The loops of a schedule: what they compute and move, and which of them threads share."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from math import prod
from typing import Final

from adjoint.executors.native.elements import cost
from adjoint.executors.native.graph.nodes import ArrayNode, Graph, Kind
from adjoint.executors.native.machine.llvm import cores, machine
from adjoint.executors.native.rows import equations as rows
from adjoint.executors.native.schedule.layout import TURNS
from adjoint.executors.native.schedule.order import Item, Loop, Scheduler, paths, result_path
from adjoint.executors.native.schedule.storage import nodes_within, own_bytes, rolled_axes
from adjoint.executors.native.systems import equations as systems
from adjoint.program import Variable

NAMED: Final = 4  # operations of a region that are told by name
FLOP_TIME: Final = 0.05  # nanoseconds, about
BYTE_TIME: Final = 0.05
SHARED_TIME: Final = 150_000.0  # nanoseconds from which a loop is shared by threads
MOST_GATHERED: Final = 1 << 20  # bytes that each thread may gather in


@dataclass(frozen=True)
class Region:
    """One loop nest or product: its equations, flops, and bytes that it moves."""

    name: str
    equations: int
    flops: float
    bytes: int

    @property
    def estimate(self) -> float:
        """About how long it takes on one core, in nanoseconds."""
        return max(self.flops * FLOP_TIME, self.bytes * BYTE_TIME)


def region_of(item: Item, taken: Collection[Variable] = ()) -> Region:
    """What an item of a schedule computes and moves. taken: results that are written in place."""
    nodes = list(nodes_within(item))
    flops = 0.0
    moved: dict[Variable, int] = {}
    for node in nodes:
        volume = prod(label.extent for label in node.iteration())
        flops += _work(node, volume)
        wide = node.kind in (Kind.ROUTINE, Kind.CONTROL)  # they say nothing of what they walk over
        for variable in (*node.outputs, *(access.source for access in node.reads())):
            if not isinstance(variable, Variable):
                continue
            count = variable.type.size
            copied = node.kind is Kind.SCATTER and node.output not in taken
            if not (wide or copied):
                count = min(count, volume)
            size = count * variable.type.dtype.itemsize
            moved[variable] = max(moved.get(variable, 0), size)
    names = dict.fromkeys(node.operation for node in nodes)
    title = ", ".join([*names][:NAMED]) + ", ..." * (len(names) > NAMED)
    if isinstance(item, Loop):
        title = f"loop of {item.label.extent}: {title}"
    return Region(title, len(nodes), flops, sum(moved.values()))


def _work(node: ArrayNode, volume: int) -> float:
    if node.equation is not None and node.equation.primitive in systems.ALL:
        return systems.flops_of(node.equation)
    if node.equation is not None and node.equation.primitive in rows.ALL:
        return rows.flops_of(node.equation)
    return cost(node.operation) * volume


def own_memory(graph: Graph, scheduler: Scheduler, threads: dict[Loop, int]) -> dict[int, int]:
    """What reductions need for which every lane or thread gathers in memory of its own."""
    ways = paths(scheduler.items)
    sizes = {}
    for node in graph.nodes:
        if node.kind is not Kind.REDUCE or not ways.get(node.number):
            continue
        way = ways[node.number]
        count = threads.get(way[0], 1)
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
    if machine().find("pthread_create") is None:
        return 1
    return cores() if threads is None else threads


def shared_loops(scheduler: Scheduler, threads: int | None) -> dict[Loop, int]:
    """The outermost loops that are long enough for several threads, and how many."""
    count = threads_for(threads)
    if count < 2:
        return {}
    shared = {}
    for item in scheduler.items:
        if not isinstance(item, Loop):
            continue
        nodes = list(nodes_within(item))
        if any(node.kind is Kind.SCATTER for node in nodes):
            continue
        region = region_of(item)
        grains = item.label.extent // (max(item.lanes, 1) * TURNS)
        gathered = sum(
            node.output.type.size * node.output.type.dtype.itemsize
            for node in item.starts
            if rolled_axes(node)
        )
        if region.estimate > SHARED_TIME and grains >= 4 * count and gathered <= MOST_GATHERED:
            shared[item] = count
    return shared
