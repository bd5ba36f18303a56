"""Graphs of local partial derivatives, and what the elimination of their vertices costs.

A vertex is a number that varies; an edge from u to w carries the partial derivative of w by u. To
eliminate a vertex v is the chain rule: each pair of an edge from u to v and one from v to w makes
c_wv c_vu, which is added to the edge from u to w, and v goes (Griewank and Reese 1991). When only
inputs and outputs are left, the edges are the Jacobian. Forward mode eliminates the vertices in the
order in which they are computed, reverse mode the other way round; other orders take fewer
multiplications.

Vertices are numbers, and sets of them integers in which their bits are set: an elimination is a few
operations on them, so that a search can try many orders.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple


class OperationCount(NamedTuple):
    """Multiplications and additions."""

    multiplications: int = 0
    additions: int = 0

    @property
    def total(self) -> int:
        """Both together."""
        return self.multiplications + self.additions


def members(vertices: int) -> Iterator[int]:
    """The numbers of the bits that are set."""
    while vertices:
        lowest = vertices & -vertices
        yield lowest.bit_length() - 1
        vertices ^= lowest


class Elimination:
    """A graph while its vertices are eliminated.

    before, after: for each vertex, where edges to it come from, and where edges from it lead.
    unit_before, unit_after: those of them whose edge is 1 or -1, which multiplies nothing.
    """

    __slots__ = ("after", "before", "unit_after", "unit_before")

    def __init__(
        self, before: list[int], after: list[int], unit_before: list[int], unit_after: list[int]
    ) -> None:
        self.before = before
        self.after = after
        self.unit_before = unit_before
        self.unit_after = unit_after

    def copy(self) -> Elimination:
        """The same state, to be changed on its own."""
        return Elimination(
            self.before.copy(), self.after.copy(), self.unit_before.copy(), self.unit_after.copy()
        )

    def multiplications(self, vertex: int) -> int:
        """How many the elimination of a vertex would take now."""
        into = self.before[vertex].bit_count() - self.unit_before[vertex].bit_count()
        out = self.after[vertex].bit_count() - self.unit_after[vertex].bit_count()
        return into * out

    def degree(self, vertex: int) -> int:
        """The pairs of edges through a vertex (Markowitz 1957)."""
        return self.before[vertex].bit_count() * self.after[vertex].bit_count()

    def fill(self, vertex: int) -> int:
        """How many edges the elimination of a vertex would add."""
        after = self.after[vertex]
        return sum((after & ~self.after[u]).bit_count() for u in members(self.before[vertex]))

    def eliminate(self, vertex: int) -> OperationCount:
        """Eliminate a vertex, and say what it takes."""
        before, after = self.before, self.after
        unit_before, unit_after = self.unit_before, self.unit_after
        sources, targets = before[vertex], after[vertex]
        unit_sources, unit_targets = unit_before[vertex], unit_after[vertex]
        count = (sources.bit_count() - unit_sources.bit_count()) * (
            targets.bit_count() - unit_targets.bit_count()
        )
        rest, additions = ~(1 << vertex), 0
        remaining = sources
        while remaining:
            lowest = remaining & -remaining
            remaining ^= lowest
            u = lowest.bit_length() - 1
            kept = after[u] & rest
            additions += (kept & targets).bit_count()
            after[u] = kept | targets
            units = unit_after[u] & rest & ~targets
            unit_after[u] = units | (unit_targets & ~kept) if unit_sources & lowest else units
        remaining = targets
        while remaining:
            lowest = remaining & -remaining
            remaining ^= lowest
            w = lowest.bit_length() - 1
            kept = before[w] & rest
            before[w] = kept | sources
            units = unit_before[w] & rest & ~sources
            unit_before[w] = units | (unit_sources & ~kept) if unit_targets & lowest else units
        before[vertex] = after[vertex] = unit_before[vertex] = unit_after[vertex] = 0
        return OperationCount(count, additions)


@dataclass(frozen=True)
class EliminationGraph:
    """A graph of local partial derivatives.

    edges: (u, w) -> whether the partial derivative of w by u is 1 or -1; u < w, as vertices are
    numbered in the order in which they are computed. kept: the inputs and outputs, which are not
    eliminated.
    """

    size: int
    edges: dict[tuple[int, int], bool]
    kept: frozenset[int]

    @property
    def vertices(self) -> list[int]:
        """Those to eliminate: they have edges to them and from them."""
        start = self.start()
        return [
            v for v in range(self.size) if v not in self.kept and start.before[v] and start.after[v]
        ]

    def start(self, units: bool = True) -> Elimination:
        """The state before anything is eliminated.

        units: whether products with 1 and -1 are for free.
        """
        before, after = [0] * self.size, [0] * self.size
        unit_before, unit_after = [0] * self.size, [0] * self.size
        for (u, w), unit in self.edges.items():
            before[w] |= 1 << u
            after[u] |= 1 << w
            if unit and units:
                unit_before[w] |= 1 << u
                unit_after[u] |= 1 << w
        return Elimination(before, after, unit_before, unit_after)

    def count(self, order: Iterable[int], units: bool = True) -> OperationCount:
        """What an order of elimination takes.

        Args:
            order: all vertices that are to be eliminated.
            units: whether products with 1 and -1 are for free.
        """
        state = self.start(units)
        steps = [state.eliminate(vertex) for vertex in order]
        return OperationCount(sum(x for x, _ in steps), sum(y for _, y in steps))


def without_idle(graph: EliminationGraph, inputs: Sequence[int]) -> EliminationGraph:
    """The graph without vertices that no input leads to, or that lead to no output."""
    before: list[list[int]] = [[] for _ in range(graph.size)]
    after: list[list[int]] = [[] for _ in range(graph.size)]
    for u, w in graph.edges:
        before[w].append(u)
        after[u].append(w)
    reached = _reached(inputs, after)
    needed = _reached([v for v in graph.kept if v not in set(inputs)], before)
    busy = reached & needed
    edges = {edge: unit for edge, unit in graph.edges.items() if busy.issuperset(edge)}
    return EliminationGraph(graph.size, edges, graph.kept)


def _reached(starts: Iterable[int], neighbours: Sequence[Sequence[int]]) -> set[int]:
    waiting = list(starts)
    reached = set(waiting)
    while waiting:
        for vertex in neighbours[waiting.pop()]:
            if vertex not in reached:
                reached.add(vertex)
                waiting.append(vertex)
    return reached
