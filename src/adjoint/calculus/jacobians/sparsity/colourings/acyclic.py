"""Acyclic colourings of symmetric matrices, and the trees along which their entries are recovered.

Neighbours differ, and no cycle has two colours; so the vertices of two colours are a forest. The
product of colour b has at vertex v the sum of the entries between v and its neighbours of colour b.
A leaf has one such neighbour, so the product is the entry; taken off at the other end, it leaves a
smaller forest. So an entry is what its leaf has, less all entries beyond the leaf: a substitution
from the leaves on (T. F. Coleman, J.-Y. Cai, 1986; A. H. Gebremedhin, A. Tarafdar, F. Manne,
A. Pothen, SIAM J. Sci. Comput. 29, 2007). It takes fewer colours than a star colouring, whose trees
are stars, where nothing is taken off.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final, NamedTuple

import numpy as np

from adjoint.calculus.jacobians.sparsity.colourings.greedy import (
    Colouring,
    places_of,
    smallest_last,
)
from adjoint.calculus.jacobians.sparsity.index_sets import index_dtype
from adjoint.capture.scipy.sparse_patterns import scipy_sparse

LARGEST_TREE: Final = 1024  # entries that one is the alternating sum of, whose errors add up
_PEELED: Final = 10**7  # edges that are looked at for all rounds together
_VISITED: Final = 10**6  # pairs of edges at a vertex that plain Python looks at in one turn
_PERIODS: Final = 8


@dataclass(frozen=True)
class Trees:
    """How the entries of a symmetric matrix follow from the products of its colours.

    An *item* is an entry off the diagonal with the one opposite, or one on the diagonal, which
    stands alone. Items come in the order that the fields have.

    lines, colours: the vertex and the product in which each stands first. parents: for each item,
    the item whose leaf it is taken off at; the number of items where there is none. sizes: how
    many items each follows from, itself among them. others: the vertex at the other end. items:
    for each entry of the matrix in the order of its CSR pattern, its item.
    """

    lines: Any
    colours: Any
    parents: Any
    sizes: Any
    others: Any
    items: Any

    @property
    def steps(self) -> int:
        """How many doublings there are."""
        return len(self.doublings)

    @property
    def doublings(self) -> list[Any]:
        """The items 1, 2, 4, ... steps up the tree from each, as long as there are any."""
        count = len(self.parents)
        above = np.append(self.parents, count)
        steps = []
        while (above < count).any():
            steps.append(above[:count])
            above = above[above]
        return steps


# --- trees ----------------------------------------------------------------------------------------


def trees_of(pattern: Any, colouring: Colouring) -> Trees | None:
    """The trees of a colouring; None where it is not acyclic, or a tree is too large.

    pattern: of a symmetric matrix, in CSR format with its indices in order.
    """
    rows, columns = places_of(pattern)
    upper, middle = rows < columns, rows == columns
    one, two = rows[upper], columns[upper]
    colours, count = colouring.colours, colouring.count
    # One node for each vertex and each colour beside it: the trees of all pairs are one graph.
    ends = np.stack([one * count + colours[two], two * count + colours[one]])
    if (colours[one] == colours[two]).any() or not _is_forest(ends):
        return None
    peeled = _peeled(ends)
    if peeled is None:
        return None
    leaves, tops, sizes = peeled
    edges, whole = len(one), len(one) + int(middle.sum())
    item_of_leaf = np.full(len(colours) * count + 1, whole)
    item_of_leaf[leaves] = np.arange(edges)
    alone = rows[middle]
    keys = one * len(colours) + two
    places = np.minimum(rows, columns) * len(colours) + np.maximum(rows, columns)
    items = np.searchsorted(keys, places)
    items[middle] = np.arange(edges, whole)
    return Trees(
        lines=np.concatenate([leaves // max(count, 1), alone]),
        colours=np.concatenate([leaves % max(count, 1), colours[alone]]),
        parents=np.concatenate([item_of_leaf[tops], np.full(len(alone), whole)]),
        sizes=np.concatenate([sizes, np.ones(len(alone), np.int64)]),
        others=np.concatenate([tops // max(count, 1), alone]),
        items=items,
    )


def _is_forest(ends: Any) -> bool:
    """Whether edges, given by their two ends, are those of a forest: one less than vertices."""
    nodes, edges = np.unique(ends, return_inverse=True)
    edges = edges.reshape(ends.shape)
    if not len(nodes):
        return True
    shape = (len(nodes), len(nodes))
    graph = scipy_sparse().coo_array((np.ones(edges.shape[1], bool), tuple(edges)), shape=shape)
    components = import_module("scipy.sparse.csgraph").connected_components(graph, directed=False)
    return bool(edges.shape[1] == len(nodes) - components[0])


def _peeled(ends: Any) -> tuple[Any, Any, Any] | None:
    """For each edge of a forest its leaf, its other end, and how many edges lie behind it.

    All leaves are taken off at once, again and again, so that the trees are as low as can be.
    """
    edges = ends.shape[1]
    degrees = np.bincount(ends.ravel())
    below = np.zeros(len(degrees), np.int64)  # edges behind each node
    leaves, tops, sizes = (np.zeros(edges, np.int64) for _ in range(3))
    left, visited = np.arange(edges), 0
    while len(left):
        visited += len(left)
        first = degrees[ends[0, left]] == 1
        is_off = first | (degrees[ends[1, left]] == 1)
        off = left[is_off]
        leaf = np.where(first[is_off], ends[0, off], ends[1, off])
        top = ends[0, off] + ends[1, off] - leaf
        leaves[off], tops[off], sizes[off] = leaf, top, below[leaf] + 1
        if visited > _PEELED or sizes[off].max() > LARGEST_TREE:
            return None
        np.add.at(below, top, sizes[off])
        np.subtract.at(degrees, ends[:, off], 1)
        left = left[~is_off]
    return leaves, tops, sizes


# --- arrays of a program --------------------------------------------------------------------------


class SubstitutionSizes(NamedTuple):
    """What the program of a substitution depends on, besides the function.

    colours, items, checked: how many there are; doublings: see `Trees`.
    """

    colours: int
    items: int
    doublings: int
    checked: int


class Substitution:
    """The arrays that a program takes for a substitution: places, steps up the trees, and checks.

    seeds: of the products. blocks: for each block of the Hessian that has entries, which are in it.
    """

    def __init__(
        self, colouring: Colouring, trees: Trees, seeds: Sequence[Any], blocks: Sequence[Any]
    ) -> None:
        size = len(colouring.colours)
        short = index_dtype(max(colouring.count * size, len(trees.items)) + 1)
        checked = np.flatnonzero(trees.sizes > 1)
        doublings = trees.doublings
        arrays = [trees.colours * size + trees.lines, *doublings]
        arrays += [checked, trees.lines[checked], trees.others[checked]]
        arrays += [trees.items[inside] for inside in blocks]
        self.arrays = [*seeds, *(array.astype(short) for array in arrays)]
        self.colours = colouring.colours
        self.sizes = SubstitutionSizes(
            colouring.count, len(trees.lines), len(doublings), len(checked)
        )


# --- colourings -----------------------------------------------------------------------------------


def acyclic_colouring(
    pattern: Any, fewer_than: int, visits: float = _VISITED
) -> tuple[Colouring, Trees] | None:
    """An acyclic colouring of so few colours and its trees; None where none is found.

    pattern: as for `trees_of`. visits: how many pairs of edges may be looked at.
    """
    best = None
    for colouring in _candidates(pattern, fewer_than, visits):
        if colouring.count < (best[0].count if best else fewer_than):
            trees = trees_of(pattern, colouring)
            best = best if trees is None else (colouring, trees)
    return best


def _candidates(pattern: Any, fewer_than: int, visits: float) -> Iterator[Colouring]:
    entries = np.diff(pattern.indptr)
    if pattern.nnz > visits:
        return
    for count in range(2, min(fewer_than, _PERIODS)):
        yield Colouring(np.where(entries > 0, np.arange(len(entries)) % count, -1), count)
    if (entries.astype(np.int64) ** 2).sum() <= visits:
        yield _greedy(pattern, np.arange(len(entries)))
        if len(entries) and entries.min() != entries.max():
            yield _greedy(pattern, np.argsort(-entries, kind="stable"))
        yield _greedy(
            pattern, np.array(smallest_last(pattern.indptr.tolist(), pattern.indices.tolist()), int)
        )


def _greedy(pattern: Any, order: Any) -> Colouring:
    """Each vertex in turn gets the first colour that closes no cycle of two colours."""
    walk = _GreedyWalk(pattern)
    for vertex in order.tolist():
        if walk.starts[vertex] < walk.starts[vertex + 1]:
            walk.colour(vertex)
    colours = np.array(walk.colours, np.int64)
    return Colouring(colours, int(colours.max(initial=-1)) + 1)


class _GreedyWalk:
    """Colours so far, and the trees of two colours as disjoint sets of edges."""

    def __init__(self, pattern: Any) -> None:
        rows, columns = places_of(pattern)
        keys = np.minimum(rows, columns) * pattern.shape[0] + np.maximum(rows, columns)
        edges = np.unique(keys, return_inverse=True)[1]
        self.starts = pattern.indptr.tolist()
        self.members = columns.tolist()
        self.edges = edges.tolist()
        self.above = list(range(int(edges.max(initial=-1)) + 1))
        self.colours = [-1] * pattern.shape[0]

    def tree(self, edge: int) -> int:
        """The edge that stands for the tree of an edge."""
        above = self.above
        while above[edge] != edge:
            above[edge] = edge = above[above[edge]]
        return edge

    def colour(self, vertex: int) -> None:
        """Give a vertex its colour."""
        near = [
            (self.members[k], self.edges[k])
            for k in range(self.starts[vertex], self.starts[vertex + 1])
            if self.colours[self.members[k]] >= 0
        ]
        closed = {self.colours[neighbour] for neighbour, _ in near}
        met: dict[int, int] = {}  # for each tree, the neighbour through which it was met first
        for neighbour, _ in near:
            for k in range(self.starts[neighbour], self.starts[neighbour + 1]):
                other = self.members[k]
                colour = self.colours[other]
                if colour < 0 or colour in closed or other == vertex:
                    continue
                # A tree met twice would be joined to a cycle by a vertex of its other colour.
                if met.setdefault(self.tree(self.edges[k]), neighbour) != neighbour:
                    closed.add(colour)
        free = 0
        while free in closed:
            free += 1
        self.colours[vertex] = free
        self._join(vertex, near)

    def _join(self, vertex: int, near: list[tuple[int, int]]) -> None:
        """Put the edges of a vertex into the trees of their colours."""
        first: dict[int, int] = {}
        for neighbour, edge in near:
            self._unite(edge, first.setdefault(self.colours[neighbour], edge))
            for k in range(self.starts[neighbour], self.starts[neighbour + 1]):
                if (
                    self.members[k] != vertex
                    and self.colours[self.members[k]] == self.colours[vertex]
                ):
                    self._unite(edge, self.edges[k])

    def _unite(self, one: int, other: int) -> None:
        self.above[self.tree(one)] = self.tree(other)
