"""Colourings: which columns of a sparse matrix can be computed together, as one product.

Columns that have no row in common can share a product, since each entry of the sum is then an entry
of one of them. So the columns are coloured, greedily, such that those which meet in a row differ
(A. R. Curtis, M. J. D. Powell, J. K. Reid, 1974). A symmetric matrix needs fewer products: in a
*star colouring* neighbours differ, and every path on four vertices has three colours; then each
entry stands alone in the row or in the column of a product (T. F. Coleman, J. J. Moré, 1984;
A. H. Gebremedhin, F. Manne, A. Pothen, SIAM Review 47, 2005). Rows and columns of any matrix are
coloured together as the symmetric [[0, A], [A.T, 0]], and colours that no entry needs are dropped.

Sets of colours are the bits of integers, so that a vertex costs as much as it has neighbours. The
same code runs on Python's integers of any length, and compiled, by `jit`, on integers of 64 bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, Final, NamedTuple

import numpy as np
from scipy import sparse

from adjoint.base.settings import settings
from adjoint.calculus.control_flow import fori_loop
from adjoint.calculus.jit import jit
from adjoint.capture.recording.trace import alone

_SMALL: Final = 2_000  # entries below which plain Python is as fast as the way into machine code
_LEAST: Final = 2**14  # numbers in the smallest arrays that machine code is made for
_LARGEST: Final = 2**26
_TURNS: Final = 4

Loop = Callable[[Any, Any, Any, Any], Any]


class Colouring(NamedTuple):
    """Colours of the vertices, 0, 1, ...; -1 for a vertex that needs none."""

    colours: Any
    count: int


# --- the greedy algorithms ------------------------------------------------------------------------


def _plain_loop(start: Any, stop: Any, body: Any, state: Any) -> Any:
    for number in range(start, stop):
        state = body(number, state)
    return state


def _distance_two(loop: Loop, count: Any, order: Any, starts: Any, members: Any, state: Any) -> Any:
    """Bits of the colours of columns. state: colours that rows have seen, and those of columns."""

    def visit(number: Any, state: Any) -> Any:
        seen, bits = state
        column = order[number]
        first, last = starts[column], starts[column + 1]
        used = loop(first, last, lambda k, used: used | seen[members[k]], bits[column])
        free = ~used & (used + 1)

        def mark(k: Any, seen: Any) -> Any:
            seen[members[k]] |= free
            return seen

        seen = loop(first, last, mark, seen)
        bits[column] = free
        return seen, bits

    return loop(0, count, visit, state)


def _star(loop: Loop, count: Any, order: Any, starts: Any, members: Any, state: Any) -> Any:
    """Bits of the colours of vertices.

    state: for each vertex, the colours of its neighbours; those that several of them have; those
    that a new neighbour must not have, because they end a path of two colours; and its own.
    """

    def visit(number: Any, state: Any) -> Any:
        around, several, closed, bits = state
        vertex = order[number]
        first, last = starts[vertex], starts[vertex + 1]

        def forbid(k: Any, used: Any) -> Any:
            neighbour = members[k]
            is_coloured = 1 * (bits[neighbour] != 0)
            return used | closed[neighbour] * is_coloured | around[neighbour] * (1 - is_coloured)

        used = loop(first, last, forbid, around[vertex])
        free = ~used & (used + 1)
        bits[vertex] = free

        def settle(k: Any, state: Any) -> Any:
            around, several, closed = state
            neighbour = members[k]
            again = 1 * ((around[neighbour] & free) != 0)
            second = again * (1 * ((several[neighbour] & free) == 0))
            around[neighbour] |= free
            several[neighbour] |= free * again
            closed[vertex] |= bits[neighbour] * again
            start = starts[neighbour]

            def close(k: Any, closed: Any) -> Any:
                other = members[k]
                closed[other] |= bits[neighbour] * (1 * (bits[other] == free))
                return closed

            stop = start + (starts[neighbour + 1] - start) * second
            return around, several, loop(start, stop, close, closed)

        around, several, closed = loop(first, last, settle, (around, several, closed))
        return around, several, closed, bits

    return loop(0, count, visit, state)


@cache
def _compiled(algorithm: Any, size: int) -> Any:
    """An algorithm as machine code for arrays of one size; jit compiles for each size."""


    def compute(count: Any, order: Any, starts: Any, members: Any, state: Any) -> Any:
        return algorithm(fori_loop, count, order, starts, members, state)

    return jit(compute)


def _run(algorithm: Any, arrays: int, order: Any, starts: Any, members: Any) -> list[int]:
    """The bits of the colours; the algorithm starts with so many arrays of zeros."""
    largest = max(len(starts), len(members), 1 + int(members.max(initial=-1)))
    chosen = settings()
    if _SMALL < largest <= _LARGEST and chosen.native is not False and chosen.executor is None:
        size = _LEAST
        while size < largest:
            size *= 8  # few sizes, each with machine code of its own
        given = [_padded(array, size) for array in (order, starts, members)]
        state = tuple(np.zeros(size, np.int64) for _ in range(arrays))
        with alone():
            bits = _compiled(algorithm, size)(len(order), *given, state)[-1][: len(order)]
        if (bits > 0).all():  # else more colours than an integer has bits
            return bits
    state = tuple([0] * largest for _ in range(arrays))
    listed = [np.asarray(array).tolist() for array in (order, starts, members)]
    return algorithm(_plain_loop, len(order), *listed, state)[-1][: len(order)]


def _padded(array: Any, size: int) -> Any:
    whole = np.zeros(size, np.int64)
    whole[: len(array)] = array
    return whole


def _numbers(bits: Any) -> Any:
    """Colours from integers with one bit each."""
    if isinstance(bits, np.ndarray):
        return np.frexp(bits.astype(float))[1] - 1
    return np.array([bit.bit_length() - 1 for bit in bits], int)


# --- orders ---------------------------------------------------------------------------------------


def _best(algorithm: Any, arrays: int, matrix: Any, degrees: Any, least: int) -> Colouring:
    """The colouring of the vertices, the rows of a CSR matrix, with the fewest colours.

    In the order given; by degree, the largest first; and again by the classes of the best so far,
    which never takes more colours where only those that meet must differ (J. C. Culberson, 1992).
    least: no colouring has fewer.
    """
    starts, members = matrix.indptr, matrix.indices
    best: Any = None
    for order in _orders(degrees):
        colours = _numbers(_run(algorithm, arrays, order, starts, members))
        count = int(colours.max(initial=-1)) + 1
        if best is None or count < best.count:
            best = Colouring(colours, count)
        if best.count <= least:
            return best
    for turn in range(_TURNS):
        sizes = np.bincount(best.colours, minlength=best.count)
        rank = best.colours if turn % 2 else sizes[best.colours] * best.count + best.colours
        order = np.argsort(-rank, kind="stable")
        colours = _numbers(_run(algorithm, arrays, order, starts, members))
        count = int(colours.max(initial=-1)) + 1
        if count <= best.count:
            best = Colouring(colours, count)
        if best.count <= least:
            break
    return best


def _orders(degrees: Any) -> Iterator[Any]:
    yield np.arange(len(degrees))
    if len(degrees) and degrees.min() != degrees.max():
        yield np.argsort(-degrees, kind="stable")


# --- what is coloured -----------------------------------------------------------------------------


def column_colouring(pattern: Any) -> Colouring:
    """Colours of the columns of a CSR matrix, of which those that meet in a row differ."""
    columns = pattern.tocsc()
    least = int(np.diff(pattern.indptr).max(initial=0))
    by_column = sparse.csr_array(
        (columns.data, columns.indices, columns.indptr), shape=columns.shape[::-1]
    )
    best = _best(_distance_two, 2, by_column, np.diff(columns.indptr), least)
    return _without_empty(best, np.diff(columns.indptr))


def row_colouring(pattern: Any) -> Colouring:
    """Colours of the rows of a CSR matrix, of which those that meet in a column differ."""
    return column_colouring(pattern.T.tocsr())


def star_colouring(pattern: Any) -> Colouring:
    """A star colouring of the graph of a symmetric matrix in CSR format."""
    graph = _without_diagonal(pattern)
    degrees = np.diff(graph.indptr)
    best = _best(_star, 4, graph, degrees, min(2, int(degrees.max(initial=0)) + 1))
    return _without_empty(best, np.diff(pattern.indptr))


def _without_empty(colouring: Colouring, entries: Any) -> Colouring:
    """No colour where there are no entries."""
    colours = np.where(entries > 0, colouring.colours, -1)
    return Colouring(colours, int(colours.max(initial=-1)) + 1)


def _without_diagonal(pattern: Any) -> Any:
    entries = pattern.tocoo()
    apart = entries.row != entries.col
    places = (entries.row[apart], entries.col[apart])
    return sparse.csr_array((np.ones(len(places[0]), bool), places), shape=pattern.shape)
