"""Which products with a sparse matrix give all of its entries, and where each entry stands in them.

A product with the sum of the basis vectors of one colour is a column product (a JVP) or a row
product (a VJP). For a symmetric matrix, column products serve as row products too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from adjoint.calculus.jacobians.sparsity.colourings.acyclic import Trees, acyclic_colouring
from adjoint.calculus.jacobians.sparsity.colourings.greedy import (
    Colouring,
    alone,
    column_colouring,
    places_of,
    row_colouring,
    star_colouring,
)
from adjoint.capture.scipy.sparse_patterns import scipy_sparse

_SPARE: Final = 2  # so many times the mean of entries in a line, before both ways are tried
_SEARCHED: Final = 0.1  # steps of a search for each operation: those of a hundred Hessians
_SUBSTITUTION: Final = 4  # operations on an entry in each step of a substitution
_MANY: Final = 62  # products, of which one way alone has more where a row and a column are full


@dataclass(frozen=True)
class Products:
    """The products that give the entries of a matrix, in the order of its CSR pattern.

    columns: colours of columns, -1 for what is not needed; rows: of rows; None without products of
    this kind. by_column: for each entry, whether it comes from a column product. trees: of a
    symmetric matrix an acyclic colouring and its trees, where substitution is worth it.
    """

    columns: Colouring | None
    rows: Colouring | None
    by_column: Any
    trees: tuple[Colouring, Trees] | None = None

    @property
    def count(self) -> int:
        """How many there are."""
        return sum(x.count for x in (self.columns, self.rows) if x is not None)

    @property
    def count_of_columns(self) -> int:
        """How many of them are column products."""
        return 0 if self.columns is None else self.columns.count


def products_of(pattern: Any, forward: bool, reverse: bool) -> Products:
    """The fewest products found for a matrix, of the kinds that are there.

    pattern: in CSR format. forward, reverse: whether there are column and row products.
    """
    columns_least = int(np.diff(pattern.indptr).max(initial=0))
    rows_least = int(np.bincount(pattern.indices).max(initial=0))
    ways: list[tuple[int, Callable[[Any], Products]]] = []
    ways += [(columns_least, _by_columns)] if forward else []
    ways += [(rows_least, _by_rows)] if reverse else []
    ways.sort(key=lambda way: way[0])
    several = max(_SPARE * pattern.nnz * sum(1 / max(n, 1) for n in pattern.shape), 3)
    candidates: list[Products] = []
    both_ways = forward and reverse
    if both_ways and ways[0][0] > max(several, _MANY):  # either way alone has many, sure enough
        candidates.append(_two_way(pattern))
    for least, way in ways:
        # As many column products as row products are better: a JVP costs less than a VJP.
        enough = least if way is _by_columns else least + 1
        if all(enough <= products.count for products in candidates):
            candidates.append(way(pattern))
    best = min(candidates, key=lambda products: (products.count, products.columns is None))
    tried = best.columns is not None and best.rows is not None
    if both_ways and not tried and best.count > several:
        both = _two_way(pattern)
        best = both if both.count < best.count else best
    return best


def _by_columns(pattern: Any) -> Products:
    return Products(column_colouring(pattern), None, np.ones(pattern.nnz, bool))


def _by_rows(pattern: Any) -> Products:
    return Products(None, row_colouring(pattern), np.zeros(pattern.nnz, bool))


def symmetric_products(pattern: Any, operations: float = 0.0) -> Products:
    """The column products for a symmetric matrix: an entry of them, or the one opposite.

    operations: those of one product, against which a substitution is weighed.
    """
    colouring = star_colouring(pattern)
    rows, columns = places_of(pattern)
    here = alone(rows, colouring.colours[columns], colouring.count)
    direct = Products(colouring, None, here)
    most = (colouring.count - 2) * operations  # that can be saved
    least = _SUBSTITUTION * pattern.nnz
    if most <= 2 * least:  # of one step
        return direct
    acyclic = acyclic_colouring(pattern, colouring.count, most * _SEARCHED)
    if acyclic is None:
        return direct
    saved = (colouring.count - acyclic[0].count) * operations
    return replace(direct, trees=acyclic) if saved > least * (1 + acyclic[1].steps) else direct


def _two_way(pattern: Any) -> Products:
    """Rows and columns coloured together, without the colours that no entry needs."""
    height, width = pattern.shape
    whole = scipy_sparse().block_array([[None, pattern], [pattern.T, None]], format="csr")
    if whole.shape[0] != height + width:  # empty parts have no size of their own
        whole = scipy_sparse().csr_array(whole, shape=(height + width, height + width))
    colouring = star_colouring(whole)
    colours, count = colouring.colours, colouring.count
    rows, columns = places_of(pattern)
    row_colours, column_colours = colours[:height], colours[height:]
    of_column, of_row = column_colours[columns], row_colours[rows]
    may_column, may_row = alone(rows, of_column, count), alone(columns, of_row, count)
    needed = _needed(of_column, of_row + count, may_column, may_row, 2 * count)
    by_column = may_column & needed[:count][of_column]
    return Products(
        _renumbered(column_colours, needed[:count]),
        _renumbered(row_colours, needed[count:]),
        by_column,
    )


def _needed(first: Any, second: Any, may_first: Any, may_second: Any, count: int) -> Any:
    """Colours such that each entry has one of its two, where it may: few of them."""
    needed = np.zeros(count, bool)
    needed[first[~may_second]] = True
    needed[second[~may_first]] = True
    while True:
        open_ = ~((needed[first] & may_first) | (needed[second] & may_second))
        if not open_.any():
            return needed
        votes = np.bincount(first[open_], minlength=count)
        votes += np.bincount(second[open_], minlength=count)
        needed[votes.argmax()] = True


def _renumbered(colours: Any, needed: Any) -> Colouring | None:
    if not needed.any():
        return None
    numbers = np.where(needed, np.cumsum(needed) - 1, -1)
    return Colouring(numbers[colours], int(needed.sum()))
