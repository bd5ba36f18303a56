"""Loops in parts within which it is known what is read: the zones of a label.

What is concatenated, written into a part or summed from shifted parts has guards: at some indices
it reads one operand, at others another. Where a guard depends on one label it changes at few
values of it. Between these, in a *zone*, a loop asks nothing and reads the operands that count;
only the rounds across a border, and zones that are too short, look at every lane.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Final

from adjoint.executors.native.graph.indices import IndexGuard, Label, Quotient, Term
from adjoint.executors.native.graph.nodes import ArrayNode, Kind
from adjoint.executors.native.schedule.order import Loop, Scheduler, instances
from adjoint.executors.native.schedule.storage import nodes_within

MOST_WRITTEN: Final = 1024  # instances that a loop may have in all its zones
LEAST_SPARED: Final = 64  # guards looked at that a zone has to spare for each of its instances
MOST_OFFSETS: Final = 16  # of the unrolled labels in a guard: each has its borders

Zone = tuple[int, int]


class Zones:
    """The zones of the loops of one schedule."""

    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler = scheduler
        self._of: dict[Loop, list[Zone]] = {}

    def of(self, loop: Loop) -> list[Zone]:
        """The zones that are worth code of their own: first and last value, in order."""
        zones = self._of.get(loop)
        if zones is None:
            zones = self._of[loop] = self._chosen(loop)
        return zones

    def _chosen(self, loop: Loop) -> list[Zone]:
        nodes = list(nodes_within(loop))
        if any(node.kind is Kind.SCATTER for node in nodes):
            return []  # the order of its writes counts
        guards = [guard for node in nodes for guard in self._guards(node)]
        borders = {border for guard in guards for border in borders_of(guard, loop.label)}
        inside = sorted(border for border in borders if 0 < border < loop.label.extent)
        if not inside:
            return []
        whole = [*zip([0, *inside], [*inside, loop.label.extent], strict=True)]
        written = sum(map(self._written, loop.body))
        spared = len(guards) * max(_volume(node, loop.label) for node in nodes)
        shortest = max(loop.lanes, 1)
        worth = [
            (last - first, first, last)
            for first, last in whole
            if last - first >= shortest and (last - first) * spared >= LEAST_SPARED * written
        ]
        most = MOST_WRITTEN // written
        return sorted((first, last) for _, first, last in sorted(worth, reverse=True)[:most])

    def _written(self, item: ArrayNode | Loop) -> int:
        """The instances of an item, in all zones of the loops in it."""
        if isinstance(item, ArrayNode):
            return instances(item)
        return sum(map(self._written, item.body)) * (1 + len(self.of(item)))

    def _guards(self, node: ArrayNode) -> Iterator[IndexGuard]:
        for access in self.scheduler.reads(node):
            yield from access.guards


def _volume(node: ArrayNode, label: Label) -> int:
    """How often a node is computed in one round of a loop."""
    return prod(other.extent for other in node.iteration() if other is not label)


def borders_of(guard: IndexGuard, label: Label) -> Iterator[int]:
    """The values of a label from which on a guard may hold, or not, where the label decides it."""
    yield from _borders(guard.term, guard.low, guard.high, label)


def _borders(term: Term, low: int, high: int, label: Label) -> Iterator[int]:
    """The values of a label from which on `low <= term < high` may be otherwise."""
    moving = [(atom, factor) for atom, factor in term.parts if _depends(atom, label)]
    fixed = [(atom, factor) for atom, factor in term.parts if not _depends(atom, label)]
    if len(moving) != 1 or not all(isinstance(a, Label) and a.find().unrolled for a, _ in fixed):
        return
    (atom, factor) = moving[0]
    least, most = Term(tuple(fixed), term.offset).bounds({})
    if most - least >= MOST_OFFSETS:
        return
    for offset in range(least, most + 1):
        # low - offset <= factor * atom < high - offset
        first, end = _divided(low - offset, factor), _divided(high - offset, factor)
        if isinstance(atom, Label):
            yield from (first, end)
        elif isinstance(atom, Quotient) and not atom.modulus:
            yield from _borders(atom.term, first * atom.divisor, end * atom.divisor, label)


def _divided(bound: int, factor: int) -> int:
    """The number from which on `factor * number >= bound` holds, or no longer does."""
    return -(-bound // factor) if factor > 0 else bound // factor + 1


def _depends(atom: object, label: Label) -> bool:
    if isinstance(atom, Quotient):
        return label in atom.term.labels()
    return isinstance(atom, Label) and atom.find() is label
