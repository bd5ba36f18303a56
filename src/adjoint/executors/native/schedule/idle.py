"""Rounds of loops that add nothing but noughts, as a mask tells that is false in most of them.

Of the gradient of k-means with 100 centroids, 92 of 100 rounds for eight points add noughts to nine
sums each (`graph/masks.py` tells why). A round is left out where that is certain: the mask is false
in all lanes, and all other factors are finite (0 times infinity is NaN). Whether they are is
asked of the numbers that the mask compares, where those can be finite only together with them: if
x² + y² is, so are x and y. Sums begin with 0, so that a nought of either sign changes no bit of
them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from adjoint.executors.native.graph.indices import Access, Label
from adjoint.executors.native.graph.masks import (
    PRODUCTS,
    SIGNS,
    RareMask,
    factors_of,
    mask_of,
    operands_of,
    producer_of,
    rare_masks,
    reached_from,
)
from adjoint.executors.native.graph.nodes import ArrayNode, Kind
from adjoint.executors.native.schedule.order import (
    Item,
    Loop,
    Path,
    Scheduler,
    result_path,
)
from adjoint.executors.native.schedule.storage import in_registers
from adjoint.primitives import UFUNCS
from adjoint.program import Literal, Variable

# Their result is finite only where all of their operands are.
_FINITE_TOGETHER: Final = (
    *(*PRODUCTS, *SIGNS),
    *(UFUNCS[ufunc] for ufunc in (np.add, np.subtract, np.square)),
)
_RARE: Final = 4  # rounds for each lane, from which most of them have a mask that is false
_MOST_ASKED: Final = 3  # numbers of which each round asks whether they are finite


class IdleRounds(NamedTuple):
    """When a round of a loop adds nothing: where a mask is false and some numbers are finite.

    first: how many items of the loop come before that can be told. node: of the loop, in whose
    labels the accesses are.
    """

    first: int
    node: ArrayNode
    mask: Access
    finite: tuple[Access, ...]


def idle_rounds(
    scheduler: Scheduler, ways: Mapping[int, Path], stored: Mapping[Variable, Any]
) -> dict[Loop, IdleRounds]:
    """The loops that have such rounds. stored: what has memory, and so is wanted in any case."""
    search = _IdleSearch(scheduler, ways, stored)
    pairs = ((loop, search.of(loop)) for loop in _loops(scheduler.items))
    return {loop: idle for loop, idle in pairs if idle is not None}


def _loops(items: Sequence[Item]) -> Iterator[Loop]:
    for item in items:
        if isinstance(item, Loop):
            yield item
            yield from _loops(item.body)


class _IdleSearch:
    """Looks at the loops of one schedule."""

    def __init__(
        self, scheduler: Scheduler, ways: Mapping[int, Path], stored: Mapping[Variable, Any]
    ) -> None:
        self.scheduler = scheduler
        self.graph = scheduler.graph
        self.inlined = scheduler.inlined
        self.ways = ways
        self.stored = stored

    def of(self, loop: Loop) -> IdleRounds | None:
        """When a round of the loop adds nothing; None where there is no such round."""
        nodes = [item for item in loop.body if isinstance(item, ArrayNode)]
        sums = [node for node in nodes if node.kind is Kind.REDUCE]
        if loop.starts or not sums or len(nodes) < len(loop.body):
            return None
        lanes = max((around.lanes for around in self.ways[sums[0].number]), default=0)
        if loop.label.extent < _RARE * max(lanes, 1):
            return None
        products = [
            [factor for access in node.accesses for factor in factors_of(self.graph, access)]
            for node in sums
        ]
        for rare in rare_masks(self.graph, products[0]):
            asked = self._to_be_asked(rare, products, loop.label)
            if asked is None or loop.label not in rare.labels or _is_written_out(rare.compared):
                continue
            if not self._are_there(nodes, (rare.mask, *asked)):
                continue
            first = self._first(nodes, (rare.mask, *asked))
            if all(self._only_adds(node, loop.label) for node in nodes[first:]):
                return IdleRounds(first, sums[0], rare.mask, asked)
        return None

    def _are_there(self, nodes: Sequence[ArrayNode], accesses: Sequence[Access]) -> bool:
        """Whether the nodes of a loop read all that accesses lead to, or it is in registers there.

        What only others read may be nowhere by now: it was in registers of another loop, or in
        memory that has been given out again.
        """
        read = {access.renamed() for node in nodes for access in self.scheduler.reads(node)}
        return all(
            isinstance(access.source, Literal)
            or access.renamed() in read
            or self._is_in_registers(access, self.ways[nodes[0].number])
            for access in self.scheduler.expanded(accesses)
        )

    def _is_in_registers(self, access: Access, way: Path) -> bool:
        source = access.source
        producer = self.graph.producers.get(source) if isinstance(source, Variable) else None
        if producer is None or producer.number not in self.ways:
            return False
        home = result_path(producer, self.ways[producer.number])
        return in_registers(producer, home, access, way)

    def _first(self, nodes: Sequence[ArrayNode], accesses: Sequence[Access]) -> int:
        """How many of the nodes of a loop come before all is known that is to be read."""
        places = {node.number: place for place, node in enumerate(nodes)}

        def read(access: Access) -> Sequence[Access]:
            source = access.source
            if isinstance(source, Literal) or source not in self.inlined:
                return ()
            return self.graph.producers[source].reads()

        sources = {x.source for access in accesses for x in reached_from(access, read)}
        variables = [source for source in sources if isinstance(source, Variable)]
        makers = [self.graph.producers.get(variable) for variable in variables]
        return max((places.get(node.number, -1) + 1 for node in makers if node), default=0)

    def _only_adds(self, node: ArrayNode, label: Label) -> bool:
        """Whether a node of the loop adds to a sum in memory, or nothing but such sums read it.

        A sum whose terms are all written out is stored as what is elementwise is, and not added to.
        """
        if node.kind is not Kind.REDUCE or all(own.find().unrolled for own in node.reduced):
            known = node.kind in (Kind.POINTWISE, Kind.REDUCE)
            return known and node.output not in self.stored
        labels = {own.find() for own in node.labels if own is not None}
        real = node.output.type.dtype.kind == "f"
        return node.combine == "sum" and real and label in labels

    def _to_be_asked(
        self, rare: RareMask, products: Sequence[Sequence[Access]], label: Label
    ) -> tuple[Access, ...] | None:
        """What has to be finite for a false mask to make all products nought; None if unknown."""
        together = reached_from(rare.compared, self._finite_with)
        asked = [rare.compared]
        for factors in products:
            rest = [factor for factor in factors if mask_of(self.graph, factor) != rare.mask]
            if len(rest) == len(factors):
                return None
            for factor in rest:
                if isinstance(factor.source, Literal):
                    if not np.isfinite(factor.source.value):
                        return None
                elif factor not in together and factor not in asked:
                    asked.append(factor)
        asked = [access for access in asked if access.source.type.inexact]
        others = [access for access in asked if access is not rare.compared]
        own = any(label in access.labels() or _is_written_out(access) for access in others)
        return tuple(asked) if len(asked) <= _MOST_ASKED and not own else None

    def _finite_with(self, access: Access) -> Sequence[Access]:
        """What is finite where this is: what it is a product or sum of, and all terms of sums."""
        node = producer_of(self.graph, access, Kind.POINTWISE)
        primitive = None if node is None or node.equation is None else node.equation.primitive
        if node is not None and primitive in _FINITE_TOGETHER:
            return operands_of(node, access)
        node = producer_of(self.graph, access, Kind.REDUCE)
        if node is not None and node.combine == "sum" and access.terms == node.terms():
            return node.accesses
        return ()


def _is_written_out(access: Access) -> bool:
    """Whether a round reads several numbers where there is one such access."""
    return any(label.unrolled for label in access.labels())
