"""Results that take over the memory of an operand: writes at computed indices, carried arrays.

`x[i] = v` costs one number, and not the whole array, where nobody reads the old x any more. A
result *takes* an array where it may be written over it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from adjoint.executors.native.graph.indices import Access
from adjoint.executors.native.graph.nodes import ArrayNode, Graph, Kind
from adjoint.executors.native.schedule.layout import Construct
from adjoint.executors.native.schedule.order import Path, Scheduler, apart, distinct, paths
from adjoint.executors.native.schedule.storage import nodes_within, whole_places
from adjoint.program import Variable

Takes = dict[Variable, Variable]


def candidates(graph: Graph, constructs: Mapping[int, Construct], over: Mapping[int, int]) -> Takes:
    """For each result that may take an array, that array; readers of it come before.

    over: which outputs of the program may be written over which inputs; other inputs stay.
    """
    inputs = graph.program.inputs
    owned = {*graph.producers, *(inputs[place] for place in over.values())}
    kept = set(graph.outputs)
    readers = _readers(graph)
    takes: Takes = {}
    for node in reversed(graph.nodes):  # of several that write into one array, the last takes it
        for result, access in _offers(graph, node, constructs):
            source = access.source
            if source not in owned or source in kept or not isinstance(source, Variable):
                continue
            if max(readers[source]) == node.number and source not in takes.values():
                takes[result] = source
    return _ending_well(graph, takes, over)


def _offers(
    graph: Graph, node: ArrayNode, constructs: Mapping[int, Construct]
) -> Iterator[tuple[Variable, Access]]:
    """The results of a node that could be written over an operand."""
    if node.kind is Kind.SCATTER:
        access = node.accesses[0]
        if access.source.type == node.output.type and access.terms == node.terms():
            yield node.output, access
    elif node.kind is Kind.CONTROL:
        for place, operand in constructs[node.number].over.items():
            result, access = node.outputs[place], node.accesses[operand]
            source = access.source
            alone = sum(other.source is source for other in node.accesses) == 1
            whole = source.type.size == result.type.size
            if result.type.ndim and whole and alone:
                yield result, access


def _readers(graph: Graph) -> dict[Variable, list[int]]:
    readers: dict[Variable, list[int]] = {}
    for node in graph.nodes:
        for access in node.reads():
            if isinstance(access.source, Variable):
                readers.setdefault(access.source, []).append(node.number)
    return readers


def _ending_well(graph: Graph, takes: Takes, over: Mapping[int, int]) -> Takes:
    """Without those that would write over an input whose output does not end up there."""
    following = {source: result for result, source in takes.items()}
    outputs = {graph.program.inputs[j]: graph.outputs[k] for k, j in over.items()}
    remaining = dict(takes)
    for variable in graph.program.inputs:
        last = variable
        while last in following:
            last = following[last]
        if last is not variable and outputs.get(variable) is not last:
            del remaining[following[variable]]
    return remaining


def settled(graph: Graph, scheduler: Scheduler, takes: Takes, over: Mapping[int, int]) -> Takes:
    """Those that hold good as all is arranged."""
    ways = paths(scheduler.items)
    order: dict[int, tuple[int, int]] = {}
    for position, item in enumerate(scheduler.items):
        for node in nodes_within(item):
            order[node.number] = (position, len(order))
    whole = whole_places(graph, scheduler)
    lasting = {
        result: source
        for result, source in takes.items()
        if source in whole
        and result in whole
        and _free(graph, scheduler, ways, order, graph.producers[result], source)
    }
    return _ending_well(graph, lasting, over)


def _free(
    graph: Graph,
    scheduler: Scheduler,
    ways: dict[int, Path],
    order: dict[int, tuple[int, int]],
    node: ArrayNode,
    source: Variable,
) -> bool:
    """Whether all that reads an array has read it where a node begins to write over it."""
    own = node.accesses[0] if node.kind is Kind.SCATTER else None
    position, place = order[node.number]
    for reader in graph.nodes:
        if reader.number not in ways:
            continue
        for access in scheduler.reads(reader):
            if access.source is not source:
                continue
            if reader is node:
                if own is not None and access != own and not _alone(node, access):
                    return False
                continue
            other, before = order[reader.number]
            if other > position or (other == position and before > place):
                return False
            if other == position and not all(
                apart(node, access, loop.label)
                for loop, mine in zip(ways[reader.number], ways[node.number], strict=False)
                if loop is mine
            ):
                return False
    return True


def _alone(node: ArrayNode, access: Access) -> bool:
    """Whether each write of a scatter is to the only place that it reads itself."""
    return all(distinct(node, access, label) for label in node.iteration())
