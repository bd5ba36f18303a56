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

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import pairwise
from typing import Any, Final

import numpy as np

from adjoint.base.settings import settings
from adjoint.calculus.control_flow import fori_loop
from adjoint.calculus.jacobians.sparsity.colourings.partial_colourings import with_fewer_colours
from adjoint.calculus.jit import jit
from adjoint.capture.recording.tracing.trace import alone as unseen
from adjoint.capture.scipy.sparse_patterns import scipy_sparse

_SMALL: Final = 20_000  # entries that plain Python has coloured before there is machine code
_LEAST: Final = 2**14  # numbers in the smallest arrays that machine code is made for
_LARGEST: Final = 2**26
_TURNS: Final = 6
_TRIED: Final = 2 * 10**7  # entries that are looked at for all periods together
_COLOURED: Final = 4 * 10**6  # entries that are coloured for all turns together
_GROUP: Final = 2**14  # entries, and rows, that are looked at in one step
_PEELED: Final = 10**5  # edges of a graph whose smallest vertices are found
_SEARCHED: Final = 2 * 10**4  # edges of a graph for which fewer colours are searched
_BITS: Final = 2**62 - 1  # of colours in an integer of 64 bits, with one to spare

Loop = Callable[[Any, Any, Any, Any], Any]


@dataclass(frozen=True)
class Colouring:
    """Colours of the vertices, 0, 1, ...; -1 for a vertex that needs none."""

    colours: Any
    count: int


# --- the greedy algorithms ------------------------------------------------------------------------


def _plain_loop(start: Any, stop: Any, body: Any, state: Any) -> Any:
    for number in range(start, stop):
        state = body(number, state)
    return state


def _distance_two(
    loop: Loop, most: int, count: Any, order: Any, starts: Any, members: Any, state: Any
) -> Any:
    """Bits of the colours of columns.

    most: the bits that colours may have. state: colours that rows have seen, and those of columns.
    """

    def visit(number: Any, state: Any) -> Any:
        seen, bits = state
        column = order[number]
        first, last = starts[column], starts[column + 1]
        used = loop(first, last, lambda k, used: used | seen[members[k]], bits[column])
        free = ~used & ((used & most) + 1)

        def mark(k: Any, seen: Any) -> Any:
            seen[members[k]] |= free
            return seen

        seen = loop(first, last, mark, seen)
        bits[column] = free
        return seen, bits

    return loop(0, count, visit, state)


def _star(
    is_late: bool,
    loop: Loop,
    most: int,
    count: Any,
    order: Any,
    starts: Any,
    members: Any,
    state: Any,
) -> Any:
    """Bits of the colours of vertices.

    is_late: whether the vertices around one without a colour may have one colour, which then
    forbids their other neighbours' colours to it; else they differ from the start. This takes
    fewer colours on grids, and more on most other graphs.

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
            is_near = 1 - is_coloured
            if is_late:
                is_near = 1 * ((bits[neighbour] & several[vertex]) != 0)
            return used | closed[neighbour] * is_coloured | around[neighbour] * is_near

        used = loop(first, last, forbid, around[vertex])
        free = ~used & ((used & most) + 1)
        bits[vertex] = free

        def settle(k: Any, state: Any) -> Any:
            around, several, closed = state
            neighbour = members[k]
            again = 1 * ((around[neighbour] & free) != 0)
            second = again * (1 * ((several[neighbour] & free) == 0))
            around[neighbour] |= free
            several[neighbour] |= free * again
            closed[vertex] |= bits[neighbour] * again
            if is_late:
                closed[neighbour] |= free * (1 * ((bits[neighbour] & several[vertex]) != 0))
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


_early_star = partial(_star, False)
_late_star = partial(_star, True)


@cache
def _compiled(algorithm: Any, size: int) -> Any:
    """An algorithm as machine code for arrays of one size; jit compiles for each size."""

    def compute(count: Any, order: Any, starts: Any, members: Any, state: Any) -> Any:
        return algorithm(fori_loop, _BITS, count, order, starts, members, state)

    return jit(compute)


def _run(
    algorithm: Any, arrays: int, any_count: bool, order: Any, starts: Any, members: Any
) -> Any:
    """The bits of the colours; None where there are more than bits. See `_best` for `any_count`.

    arrays: the algorithm starts with so many of zeros.
    """
    largest = max(len(starts), len(members), 1 + int(members.max(initial=-1)))
    chosen = settings()
    if _SMALL < largest <= _LARGEST and chosen.native is not False and chosen.executor is None:
        size = _LEAST
        while size < largest:
            size *= 4  # few sizes, each with machine code of its own
        given = [_padded(array, size) for array in (order, starts, members)]
        zeros = tuple(np.zeros(size, np.int64) for _ in range(arrays))
        with unseen():
            bits = _compiled(algorithm, size)(len(order), *given, zeros)[-1][: len(order)]
        if ((bits > 0) & (bits <= _BITS)).all():
            return bits
        if not any_count:
            return None
    most = -1 if any_count or largest <= _SMALL else _BITS
    state = tuple([0] * largest for _ in range(arrays))
    listed = [np.asarray(array).tolist() for array in (order, starts, members)]
    bits = algorithm(_plain_loop, most, len(order), *listed, state)[-1][: len(order)]
    return bits if most < 0 or all(0 < bit <= most for bit in bits) else None


def _padded(array: Any, size: int) -> Any:
    whole = np.zeros(size, np.int64)
    whole[: len(array)] = array
    return whole


def _numbered(bits: Any) -> Colouring | None:
    """Colours from integers with one bit each."""
    if bits is None:
        return None
    if isinstance(bits, np.ndarray):
        colours = np.frexp(bits.astype(float))[1] - 1
    else:
        colours = np.array([bit.bit_length() - 1 for bit in bits], int)
    return Colouring(colours, int(colours.max(initial=-1)) + 1)


# --- orders ---------------------------------------------------------------------------------------


def _best(
    greedy: Callable[[Any, bool], Colouring | None],
    degrees: Any,
    least: int,
    entries: int,
    graph: Callable[[], Any],
) -> Colouring:
    """The colouring with the fewest colours of those that are tried.

    In the order given; by degree, the largest first; in a small graph the one with fewest
    neighbours last (D. W. Matula, L. L. Beck, 1983); and again by the classes of the best so far,
    which never takes more colours where only those that meet must differ (J. C. Culberson, 1992).

    greedy: colours in an order, by integers of any length if the flag is set; without it, None for
        a large matrix that takes more colours than 64 bits hold, since long integers take the
        square of their number. least: no colouring has fewer. entries: of the matrix, which are
        looked at in each turn. graph: a CSR matrix of which columns or vertices must differ.
    """
    best: Colouring | None = None
    for order in _orders(degrees, entries, graph):
        colouring = greedy(order, False)
        if colouring is not None and (best is None or colouring.count < best.count):
            best = colouring
        if best is not None and best.count <= least:
            return best
    if best is None:
        best = greedy(np.argsort(-degrees, kind="stable"), True)
        assert best is not None
        return best
    for turn in range(min(_TURNS, _COLOURED // max(entries, 1))):
        sizes = np.bincount(best.colours, minlength=best.count)
        rank = best.colours if turn % 2 else sizes[best.colours] * best.count + best.colours
        colouring = greedy(np.argsort(-rank, kind="stable"), False)
        if colouring is not None and colouring.count <= best.count:
            best = colouring
        if best.count <= least:
            break
    return best


def _periodic(size: int, counts: range, is_valid: Callable[[Any, int], bool]) -> Colouring | None:
    """The colours 0, 1, ..., k - 1 over and over, with the smallest k that will do.

    What comes of a grid repeats: its fields are colourable by period with fewer colours than by any
    greedy order, five for the five-point stencil.
    """
    for count in counts:
        colours = np.tile(np.arange(count), -(-size // count))[:size]
        if is_valid(colours, count):
            return Colouring(colours, count)
    return None


def _orders(degrees: Any, entries: int, graph: Callable[[], Any]) -> Iterator[Any]:
    yield np.arange(len(degrees))
    if len(degrees) and degrees.min() != degrees.max():
        yield np.argsort(-degrees, kind="stable")
    if entries <= _PEELED:
        whole = graph()
        if whole.nnz <= _PEELED:
            yield np.array(smallest_last(whole.indptr.tolist(), whole.indices.tolist()), int)


def smallest_last(starts: Sequence[int], members: Sequence[int]) -> list[int]:
    """The vertices of a graph such that each has the fewest neighbours among those before it."""
    degrees = [stop - start for start, stop in pairwise(starts)]
    waiting: list[list[int]] = [[] for _ in range(max(degrees, default=0) + 1)]
    for vertex, degree in enumerate(degrees):
        waiting[degree].append(vertex)
    order: list[int] = []
    least = 0
    while len(order) < len(degrees):
        while not waiting[least]:
            least += 1
        vertex = waiting[least].pop()
        if degrees[vertex] != least:  # it waits further down, or has been taken
            continue
        degrees[vertex] = -1
        order.append(vertex)
        for k in range(starts[vertex], starts[vertex + 1]):
            neighbour = members[k]
            if degrees[neighbour] > 0:
                degrees[neighbour] -= 1
                waiting[degrees[neighbour]].append(neighbour)
                least = min(least, degrees[neighbour])
    return order[::-1]


# --- what is coloured -----------------------------------------------------------------------------


def column_colouring(pattern: Any) -> Colouring:
    """Colours of the columns of a CSR matrix, of which those that meet in a row differ."""
    degrees = np.bincount(pattern.indices, minlength=pattern.shape[1])
    least = int(np.diff(pattern.indptr).max(initial=0))

    if least == np.count_nonzero(degrees):  # a row is full: each column for itself
        return Colouring(np.where(degrees > 0, np.cumsum(degrees > 0) - 1, -1), least)

    columns = cache(pattern.tocsc)

    def greedy(order: Any, any_count: bool) -> Colouring | None:
        starts, members = columns().indptr, columns().indices
        return _numbered(_run(_distance_two, 2, any_count, order, starts, members))

    def is_valid(colours: Any, count: int) -> bool:
        return _differ_in_rows(pattern, colours, count)

    colouring = _periodic(len(degrees), range(least, least + 1), is_valid)  # none has fewer
    if colouring is None:
        meeting = cache(partial(_meeting, pattern))
        best = _best(greedy, degrees, least, pattern.nnz, meeting)
        periods = _periods(least + 1, best.count, pattern.nnz)
        colouring = _periodic(len(degrees), periods, is_valid) or best
        if colouring.count > least and pattern.nnz <= _SEARCHED and meeting().nnz <= _SEARCHED:
            colouring = _with_fewer(meeting(), colouring, least)
    return _without_empty(colouring, degrees)


def _with_fewer(graph: Any, colouring: Colouring, least: int) -> Colouring:
    """A colouring of a small graph in which neighbours differ, with fewer colours if some is found.

    graph: a CSR matrix. least: no colouring has fewer.
    """
    lists = (graph.indptr.tolist(), graph.indices.tolist(), colouring.colours.tolist())
    colours = np.array(with_fewer_colours(*lists, least), int)
    return Colouring(colours, int(colours.max(initial=-1)) + 1)


def _differ_in_rows(pattern: Any, colours: Any, count: int) -> bool:
    """Whether no two entries of a row of a CSR matrix have one colour.

    It goes by groups of rows, so that the numbers stay in the caches, in memory that the process
    has: the first touch of fresh memory takes longer than all else here.
    """
    starts, first = pattern.indptr, 0
    while first < pattern.shape[0]:
        near = starts[first : first + _GROUP + 1]
        last = first + max(int(np.count_nonzero(near <= int(near[0]) + _GROUP)) - 1, 1)
        rows = np.repeat(np.arange(last - first), np.diff(starts[first : last + 1]))
        keys = rows * count + colours[pattern.indices[starts[first] : starts[last]]]
        if np.bincount(keys).max(initial=0) > 1:
            return False
        first = last
    return True


def _meeting(pattern: Any) -> Any:
    """Which columns of a matrix meet in a row: a graph without loops."""
    ones = pattern.astype(np.int32)
    return _without_diagonal((ones.T @ ones).tocsr())


def row_colouring(pattern: Any) -> Colouring:
    """Colours of the rows of a CSR matrix, of which those that meet in a column differ."""
    return column_colouring(pattern.T.tocsr())


def star_colouring(pattern: Any) -> Colouring:
    """Colours of the columns of a symmetric CSR matrix, in a star colouring of its graph."""
    graph = _without_diagonal(pattern)
    degrees = np.diff(graph.indptr)
    rows, columns = places_of(graph)
    inner = (degrees[rows] > 1) & (degrees[columns] > 1)  # edges in the middle of a path of three
    least = 3 if inner.any() else min(2, int(degrees.max(initial=0)) + 1)

    def greedy(order: Any, any_count: bool) -> Colouring | None:
        return _numbered(_run(_early_star, 4, any_count, order, graph.indptr, graph.indices))

    rows, columns = places_of(pattern)

    def is_valid(colours: Any, count: int) -> bool:
        here = alone(rows, colours[columns], count)
        return bool((here | alone(columns, colours[rows], count)).all())

    colouring = _periodic(len(degrees), range(least, least + 1), is_valid)  # none has fewer
    if colouring is None:
        best = _best(greedy, degrees, least, pattern.nnz, lambda: graph)
        if best.count > least:
            late = _run(_late_star, 4, False, np.arange(len(degrees)), graph.indptr, graph.indices)
            other = _numbered(late)
            best = other if other is not None and other.count < best.count else best
        periods = _periods(least + 1, best.count, pattern.nnz)
        colouring = _periodic(len(degrees), periods, is_valid) or best
    return _without_empty(colouring, np.diff(pattern.indptr))


def _periods(least: int, count: int, entries: int) -> range:
    """The periods that may be shorter than a count of colours, as far as they are quickly tried."""
    return range(max(least, 1), min(count, least + 1 + _TRIED // max(entries, 1)))


def places_of(pattern: Any) -> tuple[Any, Any]:
    """The rows and the columns of the entries of a CSR matrix."""
    rows = np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr))
    return rows, pattern.indices.astype(np.int64)


def alone(lines: Any, colours: Any, count: int) -> Any:
    """For each entry, whether it is the only one of its colour in its line."""
    keys = lines * count + colours
    return np.bincount(keys)[keys] == 1


def _without_empty(colouring: Colouring, entries: Any) -> Colouring:
    """No colour where there are no entries."""
    colours = np.where(entries > 0, colouring.colours, -1)
    return Colouring(colours, int(colours.max(initial=-1)) + 1)


def _without_diagonal(pattern: Any) -> Any:
    entries = pattern.tocoo()
    apart = entries.row != entries.col
    places = (entries.row[apart], entries.col[apart])
    return scipy_sparse().csr_array((np.ones(len(places[0]), bool), places), shape=pattern.shape)
