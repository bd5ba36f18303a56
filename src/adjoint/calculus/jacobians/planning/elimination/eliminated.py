"""The elimination that a linear program is planned with, where it has a graph."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

from adjoint.calculus.jacobians.planning.cuts import Crossings
from adjoint.calculus.jacobians.planning.elimination.graph import OperationCount
from adjoint.calculus.jacobians.planning.elimination.lanes import Entries, NotSeparable
from adjoint.calculus.jacobians.planning.elimination.linear_graph import MOST_EDGES, LinearGraph
from adjoint.calculus.jacobians.planning.elimination.orders import searched
from adjoint.calculus.jacobians.planning.operations import count_operations

MOVES: Final = 15  # of the search for each vertex: a tenth of a second, where there are 100
MOST_OPERATIONS: Final = 10_000  # at each point; there is an equation for each
MOST_SEARCHED: Final = 300  # vertices; for more the best of the rules is taken


@dataclass(frozen=True)
class Eliminated:
    """A graph of a linear program, and an order in which its vertices are eliminated."""

    linear: LinearGraph

    @cached_property
    def order(self) -> list[int]:
        """The vertices, in the order in which they go."""
        graph = self.linear.graph
        count = len(graph.vertices)
        return searched(graph, MOVES * count if count <= MOST_SEARCHED else 0)

    @cached_property
    def count(self) -> OperationCount:
        """What it takes at each point."""
        return self.linear.graph.count(self.order)

    @property
    def operations(self) -> int:
        """In all: at each point, and to put what is computed there onto diagonals."""
        return self.operations_of(self.count)

    def operations_of(self, count: OperationCount) -> int:
        """In all, with so many at each point."""
        return count.total * self.linear.lanes + self.placed

    @cached_property
    def unsearched(self) -> OperationCount:
        """What the best order that needs no search takes at each point."""
        graph = self.linear.graph
        return graph.count(searched(graph, 0))

    @property
    def placed(self) -> int:
        """The numbers of the blocks that are diagonal in the lanes."""
        if self.linear.lanes == 1:
            return 0
        ends = (self.linear.outputs, self.linear.inputs)
        results, arguments = (sum(_size(x, self.linear.lanes) for x in end) for end in ends)
        return results * arguments

    @property
    def memory(self) -> int:
        """The numbers on edges, and those of the blocks."""
        return len(self.linear.graph.edges) * self.linear.lanes + self.placed

    def __str__(self) -> str:
        multiplications, additions = self.count
        points = f" at each of {self.linear.lanes} points" if self.linear.lanes > 1 else ""
        return f"{len(self.order)} vertices: {multiplications} products, {additions} sums{points}"


def _size(entries: Entries, lanes: int) -> int:
    return entries.vertices.size * (1 if entries.lanes is None else lanes)


def with_lanes(crossings: Crossings) -> Eliminated | None:
    """The elimination of vertices that are vectors, with a lane for each of many points.

    The lanes are along the last axis or the first one, whichever is longer. None where the points
    depend on each other along both, or the graph is too large.
    """
    shapes = [x.type.shape for x in crossings.tangents if x.type.shape]
    along = {last: max((x[-1 if last else 0] for x in shapes), default=1) for last in (True, False)}
    for last in sorted(along, key=lambda last: -along[last]):
        plan = _with(crossings, along[last], last) if along[last] > 1 else None
        if plan is not None:
            return plan
    return None


def with_numbers(crossings: Crossings) -> Eliminated | None:
    """The elimination of vertices that are numbers; None where the graph is too large."""
    return _with(crossings, 1, True)


def _with(crossings: Crossings, lanes: int, last: bool) -> Eliminated | None:
    if count_operations(crossings.moving) > MOST_EDGES * lanes:
        return None
    try:
        linear = LinearGraph(crossings.tangents, crossings.moving, crossings.results, lanes, last)
    except NotSeparable:
        return None
    plan = Eliminated(linear)
    return plan if plan.unsearched.total <= MOST_OPERATIONS else None
