"""Rounds of loops that add nothing but noughts, as a mask tells that is false in most of them.

The gradient of a minimum goes to the least of its terms: all others are multiplied by a factor that
is 0 where a comparison with the minimum is false. In k-means with 100 centroids, of 100 rounds for
eight points, 92 add noughts to nine sums each. A round is left out where that is certain: the mask
is false in all lanes, and all other factors are finite (0 times infinity is NaN). Whether they
are is asked of what was compared, where they can be finite only together: if x² + y² is, so are
x and y. Sums begin with 0, so that a nought of either sign changes no bit of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from adjoint.executors.native.graph.indices import Access, Label
from adjoint.executors.native.graph.nodes import ArrayNode, Graph, Kind
from adjoint.executors.native.schedule.order import Item, Loop, Path, Scheduler, axis_values
from adjoint.primitives import UFUNCS
from adjoint.primitives.elementwise.conversion import CAST
from adjoint.primitives.elementwise.declaring import SCALE
from adjoint.program import Literal, Variable

_PRODUCTS: Final = (SCALE, UFUNCS[np.multiply])
_SIGNS: Final = (UFUNCS[np.negative],)
# Their result is finite only where all of their operands are.
_FINITE_TOGETHER: Final = (
    *_PRODUCTS,
    *_SIGNS,
    *(UFUNCS[ufunc] for ufunc in (np.add, np.subtract, np.square)),
)
_RARE: Final = 4  # rounds for each lane, from which most of them have a mask that is false
_MOST_ASKED: Final = 3  # factors of which each round asks whether they are finite


class IdleRounds(NamedTuple):
    """When a round of a loop adds nothing: where a mask is false and some numbers are finite.

    node: of the loop, in whose labels the accesses are.
    """

    node: ArrayNode
    mask: Access
    finite: tuple[Access, ...]


def idle_rounds(
    scheduler: Scheduler, ways: Mapping[int, Path], stored: Mapping[Variable, Any]
) -> dict[Loop, IdleRounds]:
    """The loops that have such rounds. stored: what has memory, and so is wanted in any case."""
    search = _Search(scheduler.graph, ways, stored)
    pairs = ((loop, search.of(loop)) for loop in _loops(scheduler.items))
    return {loop: idle for loop, idle in pairs if idle is not None}


def _loops(items: Sequence[Item]) -> Iterator[Loop]:
    for item in items:
        if isinstance(item, Loop):
            yield item
            yield from _loops(item.body)


class _Search:
    """Looks at the loops of one graph."""

    def __init__(
        self, graph: Graph, ways: Mapping[int, Path], stored: Mapping[Variable, Any]
    ) -> None:
        self.graph = graph
        self.ways = ways
        self.stored = stored

    def of(self, loop: Loop) -> IdleRounds | None:
        """When a round of the loop adds nothing; None where there is no such round."""
        nodes = [item for item in loop.body if isinstance(item, ArrayNode)]
        sums = [node for node in nodes if node.kind is Kind.REDUCE]
        if loop.lanes or loop.starts or not sums or len(nodes) < len(loop.body):
            return None
        lanes = max((around.lanes for around in self.ways[sums[0].number]), default=0)
        if loop.label.extent < _RARE * max(lanes, 1):
            return None
        if not all(self._only_adds(node, loop.label) for node in nodes):
            return None
        products = [tuple(self._factors(node.accesses[0])) for node in sums]
        masks = {(mask, compared) for mask, compared in self._masks(products[0], loop.label)}
        for mask, compared in masks:
            asked = self._to_be_asked(mask, compared, products, loop.label)
            if asked is not None:
                return IdleRounds(sums[0], mask, asked)
        return None

    def _only_adds(self, node: ArrayNode, label: Label) -> bool:
        """Whether a node of the loop is a sum in memory, or nothing but such sums read it."""
        if node.kind is not Kind.REDUCE:
            return node.kind is Kind.POINTWISE and node.output not in self.stored
        labels = {own.find() for own in node.labels if own is not None}
        reduced = {own.find() for own in node.reduced}
        real = node.output.type.dtype.kind == "f"
        return node.combine == "sum" and real and label in labels and label not in reduced

    def _producer(self, access: Access, kind: Kind) -> ArrayNode | None:
        """The node of this kind whose result is read, wherever."""
        if isinstance(access.source, Literal) or access.guards:
            return None
        node = self.graph.producers.get(access.source)
        return node if node is not None and node.kind is kind else None

    def _operands(self, node: ArrayNode, access: Access) -> list[Access]:
        """What an elementwise node reads where an access reads it."""
        values = axis_values(node, access)
        return [operand.substituted(values) for operand in node.accesses]

    def _factors(self, access: Access) -> Iterator[Access]:
        """What is multiplied to what is read, but for the sign."""
        node = self._producer(access, Kind.POINTWISE)
        primitive = node.equation.primitive if node is not None and node.equation else None
        if node is None or primitive not in (*_PRODUCTS, *_SIGNS):
            yield access.renamed()
            return
        for operand in self._operands(node, access):
            yield from self._factors(operand)

    def _masks(self, factors: Sequence[Access], label: Label) -> Iterator[tuple[Access, Access]]:
        """The masks among some factors that are true for few rounds, and what is compared."""
        for factor in factors:
            number = self._producer(factor, Kind.POINTWISE)
            if number is None or number.equation is None or number.equation.primitive is not CAST:
                continue
            (mask,) = self._operands(number, factor)
            node = self._producer(mask, Kind.POINTWISE)
            if node is None or node.equation is None:
                continue
            if node.equation.primitive is not UFUNCS[np.equal]:
                continue
            for compared, extreme in _both_ways(self._operands(node, mask)):
                if self._is_extreme(extreme, compared, label):
                    yield mask.renamed(), compared.renamed()

    def _is_extreme(self, extreme: Access, compared: Access, label: Label) -> bool:
        """Whether it is the least or greatest of what is compared, in all rounds."""
        node = self._producer(extreme, Kind.REDUCE)
        if node is None or node.combine not in ("min", "max"):
            return False
        reduced = {own.find() for own in node.reduced}
        return label in reduced and node.accesses[0].source is compared.source

    def _to_be_asked(
        self, mask: Access, compared: Access, products: Sequence[Sequence[Access]], label: Label
    ) -> tuple[Access, ...] | None:
        """What has to be finite for a false mask to make all products nought; None if unknown."""
        together = set(self._finite_with(compared))
        asked = [compared]
        for factors in products:
            if not any(self._is_number_of(factor, mask) for factor in factors):
                return None
            for factor in factors:
                if isinstance(factor.source, Literal):
                    if not np.isfinite(factor.source.value):
                        return None
                elif factor in together or self._is_number_of(factor, mask):
                    continue
                elif label in factor.labels() or any(own.unrolled for own in factor.labels()):
                    return None
                elif factor not in asked:
                    asked.append(factor)
        return tuple(asked) if len(asked) <= _MOST_ASKED else None

    def _is_number_of(self, factor: Access, mask: Access) -> bool:
        """Whether it is a mask as a number."""
        node = self._producer(factor, Kind.POINTWISE)
        if node is None or node.equation is None or node.equation.primitive is not CAST:
            return False
        return [operand.renamed() for operand in self._operands(node, factor)] == [mask]

    def _finite_with(self, access: Access) -> Iterator[Access]:
        """What is finite where this is."""
        yield access.renamed()
        node = self._producer(access, Kind.POINTWISE) or self._producer(access, Kind.REDUCE)
        if node is None:
            return
        if node.kind is Kind.REDUCE:
            # In its own labels, which are all that is combined, and those of its result.
            if node.combine != "sum" or access.renamed().terms != node.terms():
                return
            operands = list(node.accesses)
        elif node.equation is not None and node.equation.primitive in _FINITE_TOGETHER:
            operands = self._operands(node, access)
        else:
            return
        for operand in operands:
            if not operand.guards:
                yield from self._finite_with(operand)


def _both_ways(operands: Sequence[Access]) -> list[tuple[Access, Access]]:
    one, other = operands
    return [(one, other), (other, one)]
