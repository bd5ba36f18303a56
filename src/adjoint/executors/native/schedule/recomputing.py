"""What is computed again where it is read: cheap arrays that would have to be stored.

Others are in memory because a product needs them there, and loops compute them again, since what
they are computed from is nearer.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import prod
from typing import Final

from adjoint.executors.native.elements import cost
from adjoint.executors.native.graph.indices import SHORT_PIECE, Access, Dynamic, Quotient
from adjoint.executors.native.graph.nodes import WHOLE, ArrayNode, Graph, Kind
from adjoint.executors.native.graph.structure import axis_values, stride_along
from adjoint.executors.native.schedule.order import Loop, Path, Scheduler, paths
from adjoint.executors.native.schedule.storage import stored, whole_places
from adjoint.primitives.structure.slicing import CONCATENATE, INCREMENT
from adjoint.program import Literal, Variable

LARGE: Final = 256  # numbers from which it is worth while to compute an array again
# Numbers in memory that one which is computed where it is read may take, through others like it:
# of steps that each read the one before twice, there are twice as many with every step.
MOST_READ_AGAIN: Final = 32
MOST_ROUNDS: Final = 4
# Times that each number is read by one reader, through loops which the array does not have: so
# often it comes out of the first cache.
MOST_TIMES: Final = 4
FAR: Final = 2**20  # bytes of an array that has left the second cache when it is read
WIDER: Final = 8  # times the bytes of all that it is computed from


def has_loops(scheduler: Scheduler) -> bool:
    """Whether anything is arranged in loops; other programs are written out, in their order."""
    return any(isinstance(item, Loop) for item in scheduler.items)


def scheduled(graph: Graph, takes: Mapping[Variable, Variable]) -> Scheduler:
    """Arrange the nodes; what is cheap and would have to be stored is computed where it is read."""
    inlined: frozenset[Variable] = frozenset()
    scheduler = Scheduler(graph, inlined, takes)
    overwritten = set(takes.values())
    for _ in range(MOST_ROUNDS if has_loops(scheduler) else 0):
        more = _cheap(graph, scheduler, overwritten)
        if not more or _most_read(graph, inlined | more) > MOST_READ_AGAIN:
            break
        inlined |= more
        scheduler = Scheduler(graph, inlined, takes)
    return scheduler


def _most_read(graph: Graph, inlined: Collection[Variable]) -> int:
    """The most numbers that one reads which is computed where it is read, through others too."""
    counts: dict[Variable | Literal, int] = {}
    for node in graph.nodes:
        if node.output in inlined:
            counts[node.output] = sum(counts.get(access.source, 1) for access in node.reads())
    return max(counts.values(), default=0)


def _cheap(graph: Graph, scheduler: Scheduler, overwritten: set[Variable]) -> set[Variable]:
    """Large stored arrays that one operation on what is in memory anyway gives again."""
    cheap: set[Variable] = set()
    sought, reads = _looked_up(graph), _reads(graph, scheduler)
    for variable in stored(graph, scheduler):
        node = graph.producers[variable]
        volume = prod(label.extent for label in node.iteration() if not label.unrolled)
        if variable in scheduler.outside or variable in sought or volume < LARGE:
            continue
        wide = [access.source for access in node.accesses if access.source.type.ndim]
        # What it reads stays in memory, unless that is itself computed again or written over.
        still = cheap.isdisjoint(wide) and overwritten.isdisjoint(wide)
        if _is_one_step(node, len(wide)) and still and _pays(node, reads.get(variable, [])):
            cheap.add(variable)
    return cheap


_Reads = list[tuple[ArrayNode, Access]]


def _reads(graph: Graph, scheduler: Scheduler) -> dict[Variable, _Reads]:
    """Who reads each array, through those that are computed where they are read."""
    reads: dict[Variable, _Reads] = {}
    for node in graph.nodes:
        for access in () if scheduler.is_left_out(node) else scheduler.reads(node):
            if isinstance(access.source, Variable):
                reads.setdefault(access.source, []).append((node, access))
    return reads


def _pays(node: ArrayNode, reads: _Reads) -> bool:
    """Whether readers may compute an array as they go, and not again and again, or by halves.

    Of short rows that are joined most vectors of lanes have a mask, in each reader; and those of
    arrays in another shape find their numbers by divisions.
    """
    volume = _rounds(node)
    if any(_rounds(reader) > MOST_TIMES * volume for reader, _ in reads):
        return False
    if node.kind is Kind.POINTWISE:
        return True
    atoms = [atom for _, access in reads for term in access.terms for atom in term.atoms()]
    is_divided = any(isinstance(atom, Quotient) for atom in atoms)
    return not is_divided and (len(reads) == 1 or not _has_short_rows(node))


def _rounds(node: ArrayNode) -> int:
    return prod(label.extent for label in node.iteration())


def _has_short_rows(node: ArrayNode) -> bool:
    """Whether all that is joined along the last axis is short."""
    lane = node.labels[-1].find() if node.labels and node.labels[-1] is not None else None
    guards = [guard.interval for access in node.accesses for guard in access.guards]
    lengths = [part[2] - part[1] for part in guards if part is not None and part[0] is lane]
    return 0 < max(lengths, default=0) < 2 * SHORT_PIECE


def _is_one_step(node: ArrayNode, wide: int) -> bool:
    """Whether one operation on one or two arrays gives a number, or choosing from these.

    A stencil reads its neighbours from an array that is joined or padded; its gradient reads them
    from padded ones. Computed where they are read, they are the array itself, a place further on.
    What adds to parts of an array is stored: of a chain of such, all sums would be made anew.
    """
    if node.kind is Kind.POINTWISE:
        return wide <= 2 and cost(node.operation) <= 1
    if node.equation is None or node.kind is not Kind.GUARDED:
        return False
    is_padded = node.equation.primitive is INCREMENT and wide <= 1
    return is_padded or (node.equation.primitive is CONCATENATE and wide <= 2)


def _looked_up(graph: Graph) -> set[Variable]:
    """Arrays most of whose numbers are looked up by indices that are data.

    That is one number at a time, for which they are computed many at a time rather than there.
    """
    return {
        access.source
        for node in graph.nodes
        for access in node.reads()
        if isinstance(access.source, Variable)
        and any(isinstance(atom, Dynamic) for term in access.terms for atom in term.atoms())
        and 2 * _rounds(node) >= access.source.type.size
    }


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
    readers = _reads(graph, scheduler)
    again = {
        node.output
        for node in wide
        if node.output in near & scheduler.outside
        and (inside := [read for read in readers.get(node.output, ()) if read[0].kind not in WHOLE])
        and _is_nearer(node, near)
        and all(
            _walks_well(graph, node, access, ways[node.number], ways[reader.number])
            for reader, access in inside
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
