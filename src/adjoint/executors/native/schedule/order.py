"""The order of the nodes, and the loops around them.

Loops are peeled off one label at a time: the nodes that run over a label and need nothing that
waits for the end of its loop are put into one loop, and arranged within it in the same way. What a
loop computes and also uses then needs no memory of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, prod
from typing import Final

import numpy as np

from adjoint.executors.native.elements import cost
from adjoint.executors.native.graph.indices import (
    Access,
    Dynamic,
    Label,
    Term,
    label_term,
)
from adjoint.executors.native.graph.nodes import WHOLE, ArrayNode, Graph, Kind, nest_of
from adjoint.executors.native.graph.structure import axis_values, stride_along
from adjoint.executors.native.machine.llvm import machine
from adjoint.executors.native.schedule.rows import Rest, RowGroups
from adjoint.program import Literal, Variable

LARGEST_CROSSED: Final = 8192  # numbers of an array that a reduction may walk across its rows
MOST_LANES: Final = 64
LOOKED_UP: Final = 3.0  # what it costs to read an index, and to see that it is within the bounds
_LITTLE: Final = 0.02  # of the work of a loop: it does not decide which loop that is


@dataclass(eq=False)
class Loop:
    """A loop over a label. lanes: how many values of it are computed at once; 0 for one by one.

    starts: the reductions over the label, or over it and loops within.
    """

    label: Label
    lanes: int
    body: list[ArrayNode | Loop] = field(default_factory=list)
    starts: list[ArrayNode] = field(default_factory=list)


Item = ArrayNode | Loop
Path = tuple[Loop, ...]


def instances(node: ArrayNode) -> int:
    """How often a node is written out."""
    return prod(label.extent for label in node.iteration() if label.unrolled)


class Scheduler:
    """Arranges the nodes of a graph.

    inlined: variables that are computed where they are read. takes: results that are written over
    arrays, which others read before.
    """

    def __init__(
        self,
        graph: Graph,
        inlined: frozenset[Variable],
        takes: Mapping[Variable, Variable],
    ) -> None:
        self.graph = graph
        self.inlined = inlined
        self.takes = takes
        self._reads: dict[int, tuple[Access, ...]] = {}
        self._inputs = frozenset(graph.program.inputs)
        self.outside = _read_outside(graph)
        self._left_out = inlined
        kept = [node for node in graph.nodes if not self.is_left_out(node)]
        self.needs = {node.number: self._producers(node) for node in kept}
        self.before = self._readers(kept)
        self._nests = {node.number: nest_of(node) for node in kept}
        self._works = {node.number: self._work_of(node) for node in kept}
        self._strides: dict[Variable, tuple[int, ...]] = {}
        self._walks: dict[int, list[list[Label]]] = {}
        self.items = self._arrange(kept, ())

    def is_left_out(self, node: ArrayNode) -> bool:
        """Whether a node has no place of its own: it is computed only where others read it."""
        return node.output in self._left_out

    def compute(self, variables: Collection[Variable]) -> None:
        """Have loops compute what has a place of its own as well, and not read it there."""
        self.inlined |= frozenset(variables)
        self._reads.clear()

    def reads(self, node: ArrayNode) -> tuple[Access, ...]:
        """What a node reads, through those that are computed where loops read them."""
        accesses = self._reads.get(node.number)
        if accesses is None:
            accesses = tuple(node.reads())
            if node.kind not in WHOLE:
                accesses = tuple(self.expanded(accesses))
            self._reads[node.number] = accesses
        return accesses

    def expanded(self, accesses: Sequence[Access]) -> Iterator[Access]:
        """What accesses read, through those that are computed where loops read them."""
        for access in accesses:
            if access.source in self.inlined and isinstance(access.source, Variable):
                producer = self.graph.producers[access.source]
                values = axis_values(producer.labels, access)
                for inner in self.expanded(producer.reads()):
                    moved = inner.substituted(values)
                    yield Access(moved.source, moved.terms, moved.guards + access.guards)
            else:
                yield access

    def _producers(self, node: ArrayNode) -> list[tuple[ArrayNode, Access]]:
        return [
            (self.graph.producers[access.source], access)
            for access in self.reads(node)
            if isinstance(access.source, Variable) and access.source in self.graph.producers
        ]

    def _readers(self, kept: Sequence[ArrayNode]) -> dict[int, list[tuple[ArrayNode, Access]]]:
        """For each node that writes over an array, those that read it before."""
        if not self.takes:
            return {}
        takers = {source: self.graph.producers[result] for result, source in self.takes.items()}
        readers: dict[int, list[tuple[ArrayNode, Access]]] = {}
        for node in kept:
            for access in self.reads(node):
                taker = takers.get(access.source)  # type: ignore[arg-type]
                if taker is not None and node.number < taker.number:
                    readers.setdefault(taker.number, []).append((node, access))
        return readers

    def _ready(self, node: ArrayNode, waiting: Mapping[int, ArrayNode]) -> bool:
        """Whether nothing that has to come first is waiting."""
        first = (*self.needs[node.number], *self.before.get(node.number, ()))
        return not any(other.number in waiting for other, _ in first)

    def _arrange(self, nodes: list[ArrayNode], bound: Path) -> list[Item]:
        inside = {loop.label for loop in bound}
        rest = {
            n.number: [x for x in self._nests[n.number].labels if x not in inside] for n in nodes
        }
        waiting = {node.number: node for node in nodes}
        items: list[Item] = []
        while waiting:
            for node in list(waiting.values()):
                if node.kind is Kind.ROUTINE and bound:
                    raise AssertionError("routines stand outside of all loops")
                free = node.kind is Kind.ROUTINE or not rest[node.number]
                if free and self._ready(node, waiting):
                    items.append(node)
                    del waiting[node.number]
            if not waiting:
                break
            label, chosen = self._best_of(waiting, rest)
            if not any(outer.lanes for outer in bound):
                chosen = self._unmixed(label, chosen, waiting, rest)
            loop = Loop(label, self._lanes(label, chosen, rest, bound))
            loop.starts = [node for node in chosen if _starts(node, label, inside)]
            loop.body = self._arrange(chosen, (*bound, loop))
            items.append(loop)
            for node in chosen:
                del waiting[node.number]
        return items

    def _best_of(
        self, waiting: dict[int, ArrayNode], rest: dict[int, list[Label]]
    ) -> tuple[Label, list[ArrayNode]]:
        """The next loop: one of little work, where without that work another loop would follow."""
        best = self._best(waiting, rest)
        assert best is not None
        small = self._small_and_first(best[1], waiting)
        others = {number: node for number, node in waiting.items() if number not in small}
        other = self._best(others, rest) if small else None
        if other is None or other[0] is best[0]:
            return best
        return self._best(small, rest) or best

    def _best(
        self, waiting: dict[int, ArrayNode], rest: dict[int, list[Label]]
    ) -> tuple[Label, list[ArrayNode]] | None:
        """The label whose loop holds most of the work, the outer one where they hold the same."""
        candidates: dict[Label, None] = {}
        for node in waiting.values():
            if self._ready(node, waiting):
                candidates.update(dict.fromkeys(self._open_to(node, rest)))
        best: tuple[float, float] | None = None
        heaviest = None
        for label in candidates:
            chosen = self._closure(label, waiting, rest)
            work = self._work(chosen)
            outer = sum([self._outermost(node, label, rest[node.number]) for node in chosen])
            if chosen and (best is None or (work, outer) > best):
                best, heaviest = (work, outer), (label, chosen)
        return heaviest

    def _small_and_first(
        self, nodes: Sequence[ArrayNode], waiting: Mapping[int, ArrayNode]
    ) -> dict[int, ArrayNode]:
        """Those nodes of a loop that could come before it, and take little of its time.

        They do not decide which loop it is: |x - a|^2, of many x and a, as x^2 - 2 x a + a^2.
        """
        little = _LITTLE * self._work(nodes)
        small: dict[int, ArrayNode] = {}
        for node in nodes:
            others = {number: other for number, other in waiting.items() if number not in small}
            if self._works[node.number] <= little and self._ready(node, others):
                small[node.number] = node
        return small

    def _unmixed(
        self,
        label: Label,
        nodes: list[ArrayNode],
        waiting: dict[int, ArrayNode],
        rest: dict[int, list[Label]],
    ) -> list[ArrayNode]:
        """The nodes, or those of them that have lanes along one label, where no label suits all."""
        rows = RowGroups(self.reads, self._stride, self._penalty, rest, LARGEST_CROSSED)
        groups = [self._closure(label, waiting, rest, group) for group in rows.apart(label, nodes)]
        return max(groups, key=self._work, default=nodes)

    def _work_of(self, node: ArrayNode) -> float:
        extents = [float(label.extent) for label in node.iteration()]
        return (1.0 + cost(node.operation)) * prod(extents)

    def _work(self, nodes: Sequence[ArrayNode]) -> float:
        return sum([self._works[node.number] for node in nodes])

    def _open_to(self, node: ArrayNode, rest: Rest) -> Sequence[Label]:
        return self._nests[node.number].open_to(rest[node.number])

    def _stride(self, access: Access, label: Label) -> int | None:
        assert isinstance(access.source, Variable)
        return self._stride_at(access.source, access.terms, label)

    def _stride_at(self, source: Variable, terms: Sequence[Term], label: Label) -> int | None:
        """How far apart numbers of an array are in memory that are neighbours along a label."""
        strides = self._strides.get(source)
        if strides is None:
            strides = self._strides[source] = self.graph.strides(source)
        return stride_along(terms, strides, label)

    def _closure(
        self,
        label: Label,
        waiting: dict[int, ArrayNode],
        rest: dict[int, list[Label]],
        among: Sequence[ArrayNode] | None = None,
    ) -> list[ArrayNode]:
        """The nodes that a loop over the label may hold. among: which are asked for."""
        chosen: dict[int, ArrayNode] = {}
        identity = label_term(label)
        for number, node in waiting.items():
            if label not in self._open_to(node, rest) or node.kind is Kind.ROUTINE:
                continue
            if among is not None and node not in among:
                continue
            if self._against_memory(node, label, rest[number]):
                continue
            if all(
                producer.number not in waiting
                or (
                    producer.number in chosen
                    and self._same(producer, access, label, identity)
                    and not self._is_copied(node, access)
                )
                for producer, access in self.needs[number]
            ) and all(
                reader.number not in waiting
                or (reader.number in chosen and apart(node, access, label))
                for reader, access in self.before.get(number, ())
            ):
                chosen[number] = node
        return list(chosen.values())

    def _same(self, producer: ArrayNode, access: Access, label: Label, identity: Term) -> bool:
        """Whether what is read is what the producer has at the same value of the label.

        What is written in place is read when all of it is there.
        """
        if producer.output in self.takes:
            return False
        for axis, own in enumerate(producer.walked()):
            if own is not None and own.find() is label:
                return access.terms[axis] == identity
        return False

    def _is_copied(self, node: ArrayNode, access: Access) -> bool:
        """Whether it is what a scatter copies, before its loops, and then writes into."""
        if node.kind is not Kind.SCATTER or node.output in self.takes:
            return False
        return access in self.expanded(node.accesses[:1])

    def _against_memory(self, node: ArrayNode, label: Label, rest: list[Label]) -> bool:
        """Whether a reduction would walk a large array across its rows, were this its outer loop.

        Such a loop is worth nothing that it might share with others.
        """
        if node.kind is not Kind.REDUCE or len(rest) < 2:
            return False
        crossed = False
        for access in node.reads():
            if access.source in self.graph.producers or isinstance(access.source, Literal):
                continue
            order = [x for term in access.terms for x in term.labels() if x in rest]
            if set(order) == set(rest):
                if order[0] is label:  # of two in different orders, one is crossed in any case
                    return False
                crossed = crossed or prod(x.extent for x in order) > LARGEST_CROSSED
        return crossed

    def _outermost(self, node: ArrayNode, label: Label, rest: list[Label]) -> float:
        """How much of what a node reads and writes has the label as its first loop."""
        walks = self._walks.get(node.number)
        if walks is None:
            walks = self._walks[node.number] = self._walks_of(node)
        score = 0.0
        for labels in walks:
            order = [x for x in labels if x in rest]
            if order and order[0] is label:
                score += prod([x.extent for x in set(order)])
        return score

    def _walks_of(self, node: ArrayNode) -> list[list[Label]]:
        """For each array that a node reads or writes, its labels as they lie in memory."""
        accesses = [(access.source, access.terms) for access in self.reads(node)]
        return [
            [x for axis in self.graph.in_memory_order(source) for x in terms[axis].labels()]
            for source, terms in (*accesses, (node.output, node.terms()))
            if not isinstance(source, Literal)
        ]

    def _lanes(
        self, label: Label, nodes: list[ArrayNode], rest: dict[int, list[Label]], bound: Path
    ) -> int:
        """The lanes of a loop: none if a loop within is better suited, or one outside has them."""
        if any(loop.lanes for loop in bound):
            return 0
        order = list(dict.fromkeys([label, *(x for n in nodes for x in rest[n.number])]))
        if any([label in self._nests[node.number].ordered[:-1] for node in nodes]):
            return 0
        penalties = {candidate: self._penalty(candidate, nodes, rest, order) for candidate in order}
        if min(penalties, key=lambda candidate: penalties[candidate]) is not label:
            return 0
        if penalties[label] > self._moving(nodes, rest):
            return 0
        lanes = lanes_for(nodes)
        while lanes > label.extent:
            lanes //= 2
        return lanes if lanes > 1 else 0

    def _moving(self, nodes: list[ArrayNode], rest: dict[int, list[Label]]) -> float:
        """How badly no lanes at all suit nodes that only move numbers; infinite for others.

        The numbers of a row that is looked up are neighbours, and are so in the result.
        """
        total = 0.0
        for node in nodes:
            if node.kind not in (Kind.GUARDED, Kind.GATHER) or node.combine == "sum":
                return inf
            rounds = prod(label.extent for label in rest[node.number])
            total += self._volume(node, rest[node.number]) + LOOKED_UP * rounds * len(node.indices)
        return total

    def _penalty(
        self, lane: Label, nodes: list[ArrayNode], rest: Rest, order: list[Label]
    ) -> float:
        """How badly lanes along a label suit the nodes."""
        here = {node.output for node in nodes}
        crossed = lane is not order[0] and any(
            [lane in self._nests[node.number].summed for node in nodes]
        )
        total = 0.0
        for node in nodes:
            mine, nest = rest[node.number], self._nests[node.number]
            if lane in nest.ordered[:-1]:
                return inf
            volume = self._volume(node, mine)
            if lane not in mine:
                total += volume * 4.0
                continue
            if lane in nest.summed and lane is not order[0]:
                total += 6.0 * volume / lane.extent
            stride = self._stride_at(node.output, node.terms(), lane)
            if node.output in self.outside and stride not in (0, 1):
                total += 2.0 * volume
            for access in self.reads(node):
                # What is put together of short pieces is read under as many masks.
                if piece := max((guard.masked(lane) for guard in access.guards), default=0.0):
                    total += 2.0 * volume * piece
                    continue
                if isinstance(access.source, Literal) or access.source in here:
                    continue
                if self._stride(access, lane) not in (0, 1):
                    used = access.labels()
                    depth = max((order.index(x) for x in used if x in order), default=-1)
                    if any(isinstance(atom, Dynamic) for t in access.terms for atom in t.atoms()):
                        depth = len(order)  # an index is another one in each round
                    loops = prod(x.extent for x in order[: depth + 1] if x in mine)
                    written = prod(x.extent for x in used if x.unrolled)
                    gathered = 2.0 * loops * written * prod(guard.share for guard in access.guards)
                    rounds = prod(x.extent for x in nest.labels if x not in mine)
                    # Lanes that are added up in every round gain too little by a copy.
                    copied = not crossed and label_term(lane) in access.terms[:-1]
                    if copied and access.source in self._inputs:
                        gathered = min(gathered, 2.0 * access.source.type.size / rounds)
                    total += gathered
        return total

    def _volume(self, node: ArrayNode, labels: Sequence[Label]) -> int:
        """How many numbers a node computes in loops over some labels."""
        return prod([label.extent for label in labels]) * self._nests[node.number].instances


def _read_outside(graph: Graph) -> set[Variable]:
    """Outputs, and what routines, loops and branches read: they have memory."""
    outside = set(graph.outputs)
    for node in graph.nodes:
        if node.kind in WHOLE:
            outside.update(a.source for a in node.accesses if isinstance(a.source, Variable))
    return outside


def _starts(node: ArrayNode, label: Label, inside: set[Label]) -> bool:
    reduced = _summed(node)
    return label in reduced and reduced.isdisjoint(inside)


def _summed(node: ArrayNode) -> set[Label]:
    """The labels over which a node is a reduction."""
    return {label.find() for label in node.reduced}


def apart(node: ArrayNode, access: Access, label: Label) -> bool:
    """Whether what a scatter writes in one round of a loop is read in no other round of it.

    Where the last round starts early, so that its lanes lie within the arrays, some are read again.
    """
    return label.extent % MOST_LANES == 0 and distinct(node, access, label)


def distinct(node: ArrayNode, access: Access, label: Label) -> bool:
    """Whether a scatter writes where another access reads at the same value of a label alone."""
    pairs = zip(node.target, access.terms, strict=True)
    return node.kind is Kind.SCATTER and any(
        one == other and len(one.parts) == 1 and one.parts[0][0] is label for one, other in pairs
    )


def paths(items: Sequence[Item], above: Path = ()) -> dict[int, Path]:
    """The loops around every node, from the outermost, by its number."""
    ways: dict[int, Path] = {}
    for item in items:
        if isinstance(item, Loop):
            ways.update(paths(item.body, (*above, item)))
        else:
            ways[item.number] = above
    return ways


def result_path(node: ArrayNode, path: Path) -> Path:
    """The loops within which the result of a node is known."""
    reduced = _summed(node)
    for depth, loop in enumerate(path):
        if loop.label in reduced:
            return path[:depth]
    return path


def lanes_for(nodes: Sequence[ArrayNode]) -> int:
    """The lanes that suit the numbers of some nodes."""
    floats = [node.output.type.dtype for node in nodes if node.output.type.dtype.kind in "fc"]
    dtypes = floats or [node.output.type.dtype for node in nodes]
    sizes = [dtype.itemsize // (2 if dtype.kind == "c" else 1) for dtype in dtypes]
    return machine().native_lanes(np.dtype(f"f{min(8, max(4, *sizes))}"))
