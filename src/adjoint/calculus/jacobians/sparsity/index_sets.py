"""Sets of indices, one for each entry of an array: which numbers in the arguments it depends on.

They are the rows of a Boolean matrix, of SciPy's in CSR format, whose columns are the numbers in
all arguments in order. `None` stands for empty sets throughout, as a structural zero does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from adjoint.base.arrays import Shape
from adjoint.capture.scipy.sparse_patterns import scipy_sparse

Sets = Any  # scipy.sparse.csr_array of Booleans, or None
_SHORT: Final = 4  # groups of rows whose union is taken by adding as many matrices


def _matrix(indices: Any, starts: Any, rows: int, width: int) -> Sets:
    entries = np.ones(len(indices), bool)
    matrix = scipy_sparse().csr_array((entries, indices, starts), shape=(rows, width))
    return matrix


def single(first: int, size: int, width: int) -> Sets:
    """The sets of `size` numbers, each of which depends on itself alone, from column `first`."""
    indices = np.arange(first, first + size, dtype=np.int32 if width < 2**31 else np.int64)
    return _matrix(indices, np.arange(size + 1, dtype=indices.dtype), size, width)


def taken(sets: Sets, rows: Any) -> Sets:
    """The sets of the entries with these numbers, an array of them."""
    if sets is None:
        return None
    rows = np.asarray(rows).ravel()
    if len(rows) and rows[-1] - rows[0] == len(rows) - 1 and bool((np.diff(rows) == 1).all()):
        return _range(sets, int(rows[0]), int(rows[-1]) + 1)
    return sets[rows]


def _range(sets: Sets, start: int, stop: int) -> Sets:
    if start == 0 and stop == sets.shape[0]:
        return sets
    starts = sets.indptr[start : stop + 1]
    indices = sets.indices[starts[0] : starts[-1]]
    return _matrix(indices, starts - starts[0], stop - start, sets.shape[1])


def union(several: Sequence[Sets]) -> Sets:
    """For each entry, all that any of several arrays' entries depend on."""
    total = None
    for sets in several:
        if sets is None or sets is total:
            continue
        total = sets if total is None else total + sets
    return total


def numbered(shape: Shape) -> Any:
    """The number of each entry of an array, as an array of its shape."""
    return np.arange(int(np.prod(shape, dtype=np.int64))).reshape(shape)


def spread(sets: Sets, shape: Shape, over: Shape) -> Sets:
    """The sets of an array broadcast to another shape."""
    if sets is None or shape == over:
        return sets
    return taken(sets, np.broadcast_to(numbered(shape), over))


def reduced(sets: Sets, groups: Any, count: int) -> Sets:
    """The unions of the sets of entries in groups.

    groups: the number of its group for each entry, below `count`.
    """
    if sets is None:
        return None
    return led(sets, one_hot(groups, count).T)


def placed(sets: Sets, places: Any, count: int) -> Sets:
    """The sets of entries put at these places among `count`, the others being empty."""
    return reduced(sets, places, count)


def only(sets: Sets, kept: Any) -> Sets:
    """The sets of entries where `kept`, an array of truth values, holds; the others are empty."""
    if sets is None:
        return None
    kept = np.asarray(kept, bool).ravel()
    if kept.all():
        return sets
    if not kept.any():
        return None
    counts = np.diff(sets.indptr) * kept
    indices = sets.indices[np.repeat(kept, np.diff(sets.indptr))]
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(sets.indptr.dtype)
    return _matrix(indices, starts, *sets.shape)


def joined(several: Sequence[tuple[Sets, int]], width: int) -> Sets:
    """The sets of arrays behind each other; each with the number of its entries."""
    if all(sets is None for sets, _ in several):
        return None
    parts = [empty(size, width) if sets is None else sets for sets, size in several]
    return parts[0] if len(parts) == 1 else scipy_sparse().vstack(parts, format="csr", dtype=bool)


def empty(size: int, width: int) -> Sets:
    """Sets without a member."""
    return _matrix(np.zeros(0, np.int32), np.zeros(size + 1, np.int32), size, width)


def canonical(sets: Sets) -> Sets:
    """The same with members in order, once each."""
    sets.sum_duplicates()
    sets.sort_indices()
    return sets


def one_hot(places: Any, count: int) -> Any:
    """A matrix whose row k has its one entry in column `places[k]`, of so many."""
    places = np.asarray(places).ravel()
    ones = np.ones(len(places), bool)
    starts = np.arange(len(places) + 1)
    return scipy_sparse().csr_array((ones, places, starts), shape=(len(places), count))


def led(sets: Sets, incidence: Any) -> Sets:
    """The sets of entries, of which a matrix says in its rows what each follows from."""
    return None if sets is None else (incidence.astype(bool).tocsr() @ sets).tocsr()


def through(sets: Sets, after: Any, before: Any, count: int) -> Sets:
    """The sets of `count` entries, of which number `after[k]` follows from number `before[k]`."""
    if sets is None:
        return None
    after, before = np.asarray(after).ravel(), np.asarray(before).ravel()
    places = (np.ones(len(after), bool), (after, before))
    return led(sets, scipy_sparse().coo_array(places, shape=(count, sets.shape[0])))


def index_dtype(count: int) -> np.dtype[Any]:
    """Short integers where they can number so many: half as much to read."""
    return np.dtype(np.int32 if count < 2**31 else np.int64)
