"""Orders in which to eliminate the vertices of a graph: by rule, and by search.

What the elimination of a vertex takes depends on which others are gone already, and not on the
order in which they went. So an order changed between two places costs the same before and after
them, and a stretch of an order can be put into its best order by dynamic programming over the sets
of what of it is gone. The search moves single vertices, by simulated annealing, and then does that.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from math import log
from typing import Final

from adjoint.calculus.planning.elimination.graph import Elimination, EliminationGraph, members

STRETCH: Final = 7  # vertices whose order is settled at once: 2^7 sets of them
HOTTEST, COLDEST = 3.0, 0.15  # temperatures in multiplications

Rank = Callable[[Elimination, int], tuple[float, ...]]


def greedy(graph: EliminationGraph, rank: Rank, units: bool = True) -> list[int]:
    """Always the vertex of lowest rank, whose rank changes only when a neighbour goes."""
    state = graph.start(units)
    ranks = {vertex: rank(state, vertex) for vertex in graph.vertices}
    order = []
    while ranks:
        vertex = min(ranks, key=lambda v: (ranks[v], v))
        changed = state.before[vertex] | state.after[vertex]
        state.eliminate(vertex)
        order.append(vertex)
        del ranks[vertex]
        for other in members(changed):
            if other in ranks:
                ranks[other] = rank(state, other)
    return order


def markowitz(graph: EliminationGraph, units: bool = True) -> list[int]:
    """The vertex with the fewest pairs of edges through it comes next."""
    return greedy(graph, lambda state, v: (state.multiplications(v), state.degree(v)), units)


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


def rules(graph: EliminationGraph, units: bool = True) -> dict[str, list[int]]:
    """The orders that need no search, by name."""
    vertices = graph.vertices
    return {
        "forward": vertices,
        "reverse": vertices[::-1],
        "markowitz": markowitz(graph, units),
        "relative": greedy(graph, _relative(graph), units),
        "fill": greedy(graph, lambda state, v: (state.fill(v), state.multiplications(v)), units),
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
        if cost >= sum(self.costs[start : start + length]) - 1e-9:
            return False
        self._replay(start, order, self.states[start])
        return True


_ADDITION: Final = 1 / 1024  # of a multiplication: it decides between what is else alike


def _cost(state: Elimination, vertex: int) -> float:
    multiplications, additions = state.eliminate(vertex)
    return multiplications + _ADDITION * additions


def anneal(search: OrderSearch, moves: int, generator: random.Random) -> list[int]:
    """Move vertices at random, towards fewer operations as it gets colder; the best order met."""
    count = len(search.order)
    best, least = list(search.order), search.cost
    cost = least
    for step in range(moves if count > 1 else 0):
        temperature = HOTTEST * (COLDEST / HOTTEST) ** (step / moves)
        source = generator.randrange(count)
        reach = max(1, round(count * generator.random() ** 3))
        target = min(max(source + generator.choice((-reach, reach)), 0), count - 1)
        allowance = -temperature * log(1.0 - generator.random())
        if target == source or not search.move(source, target, allowance):
            continue
        cost = search.cost
        if cost < least - 1e-9:
            best, least = list(search.order), cost
    return best


def searched(graph: EliminationGraph, moves: int, units: bool = True, seed: int = 0) -> list[int]:
    """An order of few operations: the best of the rules, improved by a search of so many moves.

    It is the same for the same seed.
    """
    prefix, state = _contracted(graph, units)
    gone = set(prefix)
    starts = [[v for v in order if v not in gone] for order in rules(graph, units).values()]
    search = min((OrderSearch(state, order) for order in starts), key=lambda search: search.cost)
    if moves:
        search = OrderSearch(state, anneal(search, moves, random.Random(seed)))
        while any([search.settle(place) for place in range(len(search.order) - STRETCH + 1)]):
            pass
    return [*prefix, *search.order]


def _contracted(graph: EliminationGraph, units: bool) -> tuple[list[int], Elimination]:
    """Vertices with one edge to them and one from them, which are in nobody's way."""
    state, prefix = graph.start(units), []
    for vertex in graph.vertices:
        if state.degree(vertex) == 1:
            state.eliminate(vertex)
            prefix.append(vertex)
    return prefix, state
