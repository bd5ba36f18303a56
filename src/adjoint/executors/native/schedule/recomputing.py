"""Arrays in memory that loops compute again, since what they are computed from is nearer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from adjoint.executors.native.elements import cost
from adjoint.executors.native.graph.indices import Access
from adjoint.executors.native.graph.nodes import WHOLE, ArrayNode, Graph, Kind
from adjoint.executors.native.graph.structure import axis_values, stride_along
from adjoint.executors.native.schedule.order import Path, Scheduler, paths
from adjoint.executors.native.schedule.storage import whole_places
from adjoint.program import Variable

FAR: Final = 2**20  # bytes of an array that has left the second cache when it is read
WIDER: Final = 8  # times the bytes of all that it is computed from


def compute_again(graph: Graph, scheduler: Scheduler, takes: Mapping[Variable, Variable]) -> None:
    """Have loops compute what others want in memory, if that is one operation on what is nearer.

    The differences of all points and all centres are stored for a product of matrices. By the time
    that a loop reads them they have left the caches, where the points and the centres still are.
    """
    wide = [node for node in graph.nodes if node.kind is Kind.POINTWISE and _bytes(node) >= FAR]
    if not wide:
        return
    near = whole_places(graph, scheduler) - set(takes.values())  # those are written over
    ways = paths(scheduler.items)
    readers: dict[Variable, list[tuple[ArrayNode, Access]]] = {}
    for node in graph.nodes:
        if node.number in ways and node.kind not in WHOLE:
            for access in scheduler.reads(node):
                if isinstance(access.source, Variable):
                    readers.setdefault(access.source, []).append((node, access))
    again = {
        node.output
        for node in wide
        if node.output in near & scheduler.outside
        and node.output in readers
        and _is_nearer(node, near)
        and all(
            _walks_well(graph, node, access, ways[node.number], ways[reader.number])
            for reader, access in readers[node.output]
        )
    }
    if again:
        scheduler.compute(again)


def _bytes(node: ArrayNode) -> int:
    return node.output.type.size * node.output.type.dtype.itemsize


def _is_nearer(node: ArrayNode, near: set[Variable]) -> bool:
    """Whether one operation on much smaller arrays makes it, all of which are in memory."""
    sources = {a.source for a in node.accesses if isinstance(a.source, Variable)}
    sources = {source for source in sources if source.type.ndim}
    size = sum(source.type.size * source.type.dtype.itemsize for source in sources)
    return cost(node.operation) <= 1 and sources <= near and WIDER * size <= _bytes(node)


def _walks_well(graph: Graph, node: ArrayNode, access: Access, home: Path, way: Path) -> bool:
    """Whether a loop elsewhere reads what an array is computed from lane by lane, in order."""
    if not way or not home or way[0] is home[0]:
        return False
    values = axis_values(node.labels, access)
    for loop in way:
        for inner in node.accesses if loop.lanes else ():
            source, terms = inner.source, inner.substituted(values).terms
            if isinstance(source, Variable):
                stride = stride_along(terms, graph.strides(source), loop.label)
                if inner.guards or stride is None or stride not in (0, 1):
                    return False
    return True
