"""Factors of products, and masks among them that are true for few numbers.

The gradient of a minimum goes to the least of its terms: all others are multiplied by a factor that
is 0 where a comparison with the minimum is false.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final, NamedTuple

import numpy as np

from adjoint.executors.native.graph.indices import Access, Label
from adjoint.executors.native.graph.nodes import ArrayNode, Graph, Kind
from adjoint.executors.native.graph.structure import axis_values
from adjoint.primitives import UFUNCS
from adjoint.primitives.elementwise.conversion import CAST
from adjoint.primitives.elementwise.declaring import SCALE
from adjoint.program import Literal

PRODUCTS: Final = (SCALE, UFUNCS[np.multiply])
SIGNS: Final = (UFUNCS[np.negative],)


class RareMask(NamedTuple):
    """Where some numbers are the least, or the greatest, along some labels.

    mask: the access to the truths. compared: that to the numbers. labels: along which few are.
    """

    mask: Access
    compared: Access
    labels: frozenset[Label]


def reads_rarely(graph: Graph, operands: Sequence[Access], labels: Sequence[Label | None]) -> bool:
    """Whether products of operands are 0 but for few values of one of the labels."""
    factors = [factor for operand in operands for factor in factors_of(graph, operand)]
    own = {label.find() for label in labels if label is not None}
    return any(not own.isdisjoint(rare.labels) for rare in rare_masks(graph, factors))


def factors_of(graph: Graph, access: Access) -> list[Access]:
    """What is multiplied to what is read, each once, but for the sign."""
    factors: dict[Access, None] = {}
    for reached in reached_from(access, partial(_multiplied, graph)):
        if not _multiplied(graph, reached):
            factors[reached] = None
    return list(factors)


def _multiplied(graph: Graph, access: Access) -> Sequence[Access]:
    """The operands, if it is a product or a negative."""
    node = producer_of(graph, access, Kind.POINTWISE)
    primitive = node.equation.primitive if node is not None and node.equation else None
    if node is None or primitive not in (*PRODUCTS, *SIGNS):
        return ()
    return operands_of(node, access)


def reached_from(
    access: Access, following: Callable[[Access], Sequence[Access]]
) -> dict[Access, None]:
    """An access, those that follow it, and so on: each once, however many ways lead there."""
    reached: dict[Access, None] = {}
    waiting = [access.renamed()]
    while waiting:
        here = waiting.pop()
        if here not in reached:
            reached[here] = None
            waiting += [further.renamed() for further in following(here)]
    return reached


def rare_masks(graph: Graph, factors: Sequence[Access]) -> Iterator[RareMask]:
    """The masks among some factors that are true for few numbers."""
    for factor in factors:
        mask = mask_of(graph, factor)
        node = None if mask is None else producer_of(graph, mask, Kind.POINTWISE)
        if mask is None or node is None or node.equation is None:
            continue
        if node.equation.primitive is not UFUNCS[np.equal]:
            continue
        one, other = operands_of(node, mask)
        for compared, extreme in ((one, other), (other, one)):
            reduction = producer_of(graph, extreme, Kind.REDUCE)
            if reduction is None or reduction.combine not in ("min", "max"):
                continue
            if reduction.accesses[0].source is compared.source:
                labels = frozenset(label.find() for label in reduction.reduced)
                yield RareMask(mask.renamed(), compared.renamed(), labels)


def mask_of(graph: Graph, access: Access) -> Access | None:
    """The truth that is read as a number, if one is."""
    node = producer_of(graph, access, Kind.POINTWISE)
    if node is None or node.equation is None or node.equation.primitive is not CAST:
        return None
    (mask,) = operands_of(node, access)
    is_mask = mask.source.type.dtype.kind == "b" and not isinstance(mask.source, Literal)
    return mask.renamed() if is_mask else None


def producer_of(graph: Graph, access: Access, kind: Kind) -> ArrayNode | None:
    """The node of this kind whose result is read, wherever."""
    if isinstance(access.source, Literal) or access.guards:
        return None
    node = graph.producers.get(access.source)
    return node if node is not None and node.kind is kind else None


def operands_of(node: ArrayNode, access: Access) -> list[Access]:
    """What an elementwise node reads where an access reads it."""
    values = axis_values(node.labels, access)
    return [operand.substituted(values) for operand in node.accesses]
