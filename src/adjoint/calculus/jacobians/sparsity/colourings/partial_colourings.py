"""Fewer colours for the vertices of a small graph, by a search among partial colourings.

Greedy colourings only put vertices in another order. Here the vertices of a colour that is to go
have none; each in turn takes one of those that are left, and its neighbours which have that colour
lose it. What a vertex has lost is closed to it for some steps (a *tabu*), so that the search does
not go round in circles (I. Blöchliger, N. Zufferey, Computers & Operations Research 35, 2008).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from random import Random
from typing import Any, Final

_LOOKED: Final = 40_000  # numbers that are looked at for each colour that is to go
_COMPARED: Final = 10_000  # neighbours that are looked at for a large clique
_LARGEST: Final = 10**5  # numbers of vertices and colours together
_SPREAD: Final = 10  # steps among which the length of a tabu is drawn
_PERSISTENCE: Final = 0.6  # of a tabu, for each vertex without a colour


def with_fewer_colours(
    starts: Sequence[int], members: Sequence[int], colours: Sequence[int], least: int
) -> Sequence[int]:
    """A colouring of a graph with fewer colours than the one given, which it is if none is found.

    starts, members: the neighbours of each vertex, as in a CSR matrix. least: no colouring has
    fewer.
    """
    neighbours = [members[first:last] for first, last in pairwise(starts)]
    count = max(colours, default=-1) + 1
    if count <= least or len(neighbours) * count > _LARGEST:
        return colours
    least = max(least, _size_of_clique(neighbours, count))
    while count > least:
        count -= 1
        fewer = _PartialColouring(neighbours, colours, count).completed()
        if fewer is None:
            break
        colours = fewer
    return colours


def _size_of_clique(neighbours: Sequence[Sequence[int]], enough: int) -> int:
    """How many vertices there are which all meet: the most that were found, up to enough.

    From each vertex on, the one with the most neighbours joins of those that meet all so far.
    """
    around = [set(near) for near in neighbours]
    degrees = [len(near) for near in neighbours]
    largest = looked = 0
    for vertex in sorted(range(len(degrees)), key=lambda vertex: -degrees[vertex]):
        if largest >= min(enough, degrees[vertex] + 1) or looked > _COMPARED:
            break
        size, left = 1, around[vertex]
        while left:
            looked += len(left)
            left = left & around[max(left, key=degrees.__getitem__)]
            size += 1
        largest = max(largest, size)
    return largest


class _PartialColouring:
    """Colours of some vertices, -1 for the others.

    beside: for each vertex and colour, how many neighbours have it. closed: until which step a
    vertex must not take a colour.
    """

    def __init__(
        self, neighbours: Sequence[Sequence[int]], colours: Sequence[int], count: int
    ) -> None:
        self.neighbours = neighbours
        self.count = count
        self.colours = [colour if colour < count else -1 for colour in colours]
        self.open = [vertex for vertex, colour in enumerate(self.colours) if colour < 0]
        self.beside = [[0] * count for _ in colours]
        self.closed = [[0] * count for _ in colours]
        self.random = Random(0)  # of its own, and the same each time: so are the products
        for vertex, colour in enumerate(self.colours):
            if colour >= 0:
                self._count(vertex, colour, 1)

    def completed(self) -> list[int] | None:
        """The colours once all vertices have one; None where the search takes too long."""
        looked = step = 0
        while self.open and looked <= _LOOKED:
            step += 1
            looked += len(self.open) * self.count
            chosen = self._choice(step)
            if chosen is not None:
                looked += self._give(*chosen, step)
        return None if self.open else self.colours

    def _choice(self, step: int) -> tuple[int, int] | None:
        """A vertex and a colour that the fewest neighbours lose, one of several by chance."""
        best: list[tuple[int, int]] = []
        fewest = len(self.colours)
        for vertex in self.open:
            closed = self.closed[vertex]
            for colour, losers in enumerate(self.beside[vertex]):
                if losers <= fewest and (closed[colour] < step or not losers):
                    if losers < fewest:
                        best, fewest = [], losers
                    best.append((vertex, colour))
        return self.random.choice(best) if best else None

    def _give(self, vertex: int, colour: int, step: int) -> int:
        """Give a vertex a colour that its neighbours lose; how many numbers that looked at."""
        losers = [near for near in self.neighbours[vertex] if self.colours[near] == colour]
        self.open.remove(vertex)
        self.colours[vertex] = colour
        looked = self._count(vertex, colour, 1)
        for loser in losers:
            self.colours[loser] = -1
            self.open.append(loser)
            looked += self._count(loser, colour, -1)
            tabu = self.random.randrange(_SPREAD) + int(_PERSISTENCE * len(self.open))
            self.closed[loser][colour] = step + tabu
        return looked

    def _count(self, vertex: int, colour: int, change: int) -> int:
        near: Any = self.neighbours[vertex]
        for neighbour in near:
            self.beside[neighbour][colour] += change
        return len(near)
