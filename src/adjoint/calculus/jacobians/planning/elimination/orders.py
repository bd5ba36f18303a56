"""Orders in which to eliminate the vertices of a graph: by rule, and by search.

What the elimination of a vertex takes depends on which others are gone already, and not on the
order in which they went. So an order changed between two places costs the same before and after
them, and a stretch of an order can be put into its best order by dynamic programming over the sets
of what of it is gone. The search moves single vertices, by simulated annealing, and then does that.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from heapq import heapify, heappop, heappush
from math import log
from typing import Final

from adjoint.calculus.jacobians.planning.elimination.graph import (
    Elimination,
    EliminationGraph,
    members,
)

STRETCH: Final = 7  # vertices whose order is settled at once: 2^7 sets of them
HOTTEST, COLDEST = 3.0, 0.15  # temperatures in multiplications

Rank = Callable[[Elimination, int], tuple[float, ...]]


def greedy(start: Elimination, vertices: Sequence[int], rank: Rank) -> list[int]:
    """Always the vertex of lowest rank, whose rank changes only when a neighbour goes."""
    state = start.copy()
    ranks = {vertex: rank(state, vertex) for vertex in vertices}
    waiting = [(value, vertex) for vertex, value in ranks.items()]
    heapify(waiting)
    order = []
    while waiting:
        value, vertex = heappop(waiting)
        if ranks.get(vertex) != value:  # it has changed since, or the vertex is gone
            continue
        changed = state.before[vertex] | state.after[vertex]
        state.eliminate(vertex)
        order.append(vertex)
        del ranks[vertex]
        for other in members(changed):
            if other in ranks:
                ranks[other] = rank(state, other)
                heappush(waiting, (ranks[other], other))
    return order


def markowitz(graph: EliminationGraph, units: bool = True) -> list[int]:
    """The vertex with the fewest products of edges through it comes next (Markowitz 1957)."""
    return greedy(graph.start(units), graph.vertices, _products)


def _products(state: Elimination, vertex: int) -> tuple[float, ...]:
    return state.multiplications(vertex), state.degree(vertex)


def _filling(state: Elimination, vertex: int) -> tuple[float, ...]:
    return state.fill(vertex), state.multiplications(vertex)


def _relative(graph: EliminationGraph) -> Rank:
    """What a vertex costs now less what it would cost last (Naumann 1999)."""
    first = graph.start(units=False)
    inputs: list[int] = [0] * graph.size
    outputs: list[int] = [0] * graph.size
    for v in range(graph.size):
        came = 1 << v if v in graph.kept and not first.before[v] else 0
        for u in members(first.before[v]):
            came |= inputs[u]
        inputs[v] = came
    for v in reversed(range(graph.size)):
        led = 1 << v if v in graph.kept and not first.after[v] else 0
        for w in members(first.after[v]):
            led |= outputs[w]
        outputs[v] = led
    last = [x.bit_count() * y.bit_count() for x, y in zip(inputs, outputs, strict=True)]
    return lambda state, v: (state.degree(v) - last[v], state.multiplications(v))


def rules(
    graph: EliminationGraph, start: Elimination, vertices: Sequence[int]
) -> dict[str, list[int]]:
    """The orders that need no search, by name.

    start, vertices: what is left of the graph, and the vertices that are to be eliminated.
    """
    return {
        "forward": list(vertices),
        "reverse": list(vertices[::-1]),
        "markowitz": greedy(start, vertices, _products),
        "relative": greedy(start, vertices, _relative(graph)),
        "fill": greedy(start, vertices, _filling),
    }


class OrderSearch:
    """An order, and the states between its eliminations.

    order: the vertices. states: that before each of them. costs: what each of them takes.
    """

    def __init__(self, state: Elimination, order: Sequence[int]) -> None:
        self.order = list(order)
        self.states = [state] * len(self.order)
        self.costs = [0.0] * len(self.order)
        self._replay(0, self.order, state)

    @property
    def cost(self) -> float:
        """What all of it takes."""
        return sum(self.costs)

    def _replay(self, start: int, vertices: Sequence[int], state: Elimination) -> None:
        for place, vertex in enumerate(vertices, start):
            self.order[place], self.states[place] = vertex, state
            state = state.copy()
            self.costs[place] = _cost(state, vertex)

    def move(self, source: int, target: int, allowance: float) -> bool:
        """Move the vertex at one place to another, unless that costs more than is allowed."""
        first, last = min(source, target), max(source, target)
        stretch = self.order[first : last + 1]
        stretch.insert(target - first, stretch.pop(source - first))
        most = sum(self.costs[first : last + 1]) + allowance
        state, cost = self.states[first].copy(), 0.0
        for vertex in stretch:
            cost += _cost(state, vertex)
            if cost > most:
                return False
        self._replay(first, stretch, self.states[first])
        return True

    def settle(self, start: int, length: int = STRETCH) -> bool:
        """Put a stretch into its best order; whether there was a better one."""
        stretch = self.order[start : start + length]
        states = {0: self.states[start]}
        best: dict[int, tuple[float, tuple[int, ...]]] = {0: (0.0, ())}
        for gone in range((1 << len(stretch)) - 1):
            cost, order = best[gone]
            for place, vertex in enumerate(stretch):
                if gone >> place & 1:
                    continue
                state = states[gone].copy()
                total = cost + _cost(state, vertex)
                larger = gone | 1 << place
                states.setdefault(larger, state)
                if larger not in best or total < best[larger][0]:
                    best[larger] = total, (*order, vertex)
        cost, order = best[(1 << len(stretch)) - 1]
        if cost >= sum(self.costs[start : start + length]) - _ADDITION / 2:
            return False
        self._replay(start, order, self.states[start])
        return True


_ADDITION: Final = 1 / 1024  # of a multiplication: it decides between what is else alike


def _cost(state: Elimination, vertex: int) -> float:
    multiplications, additions = state.eliminate(vertex)
    return multiplications + _ADDITION * additions


def _cost_of(start: Elimination, order: Sequence[int]) -> float:
    state = start.copy()
    return sum(_cost(state, vertex) for vertex in order)


def anneal(search: OrderSearch, moves: int, generator: random.Random) -> list[int]:
    """Move vertices at random, towards fewer operations as it gets colder; the best order met."""
    count = len(search.order)
    best, least = list(search.order), search.cost
    for step in range(moves):
        temperature = HOTTEST * (COLDEST / HOTTEST) ** (step / moves)
        source = generator.randrange(count)
        reach = max(1, round(count * generator.random() ** 3))
        target = min(max(source + generator.choice((-reach, reach)), 0), count - 1)
        allowance = -temperature * log(1.0 - generator.random())
        if target == source or not search.move(source, target, allowance):
            continue
        if search.cost < least - _ADDITION / 2:
            best, least = list(search.order), search.cost
    return best


def searched(graph: EliminationGraph, moves: int, units: bool = True, seed: int = 0) -> list[int]:
    """An order of few operations: the best of the rules, improved by a search of so many moves.

    It is the same for the same seed.
    """
    prefix, state = _contracted(graph, units)
    gone = set(prefix)
    rest = [vertex for vertex in graph.vertices if vertex not in gone]
    starts = rules(graph, state, rest).values()
    if not moves:
        return [*prefix, *min(starts, key=lambda order: _cost_of(state, order))]
    search = min((OrderSearch(state, order) for order in starts), key=lambda search: search.cost)
    if len(rest) > STRETCH:
        search = OrderSearch(state, anneal(search, moves, random.Random(seed)))
    places = range(max(len(rest) - STRETCH, 0) + 1) if rest else ()
    while any([search.settle(place) for place in places]):
        pass
    return [*prefix, *search.order]


def _contracted(graph: EliminationGraph, units: bool) -> tuple[list[int], Elimination]:
    """Vertices that are in nobody's way: they are eliminated first, and cost no more than later.

    They have one edge to them and one from them; or one edge to them or from them that multiplies
    nothing, so that they are another vertex under a second name, or a part of one other sum.
    """
    state, prefix = graph.start(units), []
    waiting = set(graph.vertices)
    while waiting:
        vertex = min(waiting)
        waiting.discard(vertex)
        before, after = state.before[vertex], state.after[vertex]
        alias = before.bit_count() == 1 and before == state.unit_before[vertex]
        part = after.bit_count() == 1 and after == state.unit_after[vertex]
        if alias or part or state.degree(vertex) == 1:
            state.eliminate(vertex)
            prefix.append(vertex)
            near = (v for v in members(before | after) if v not in graph.kept)
            waiting.update(near)
    return prefix, state
