"""How the entries of a sparse matrix are taken out of the products that have them.

Where each row has one number of entries, and colours are few, the entries of a row are *chosen*:
the k-th is that of the product of its column's colour, which a byte names. All arrays are then read
and written in order, and the choice goes into the loop that computes the products. Elsewhere each
entry is looked up by its place in the products.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import prod
from typing import Any, Final, NamedTuple

import numpy as np

from adjoint.base.arrays import ArrayType, array_type
from adjoint.calculus.jacobians.sparsity.colourings.greedy import places_of
from adjoint.calculus.jacobians.sparsity.index_sets import index_dtype
from adjoint.calculus.jacobians.sparsity.products import Products
from adjoint.capture.scipy.sparse_patterns import numbered, scipy_sparse
from adjoint.primitives.elementwise.conversion import cast
from adjoint.primitives.elementwise.selection import select
from adjoint.primitives.expression import Expression, bind
from adjoint.primitives.structure.gathering import GATHER
from adjoint.primitives.structure.moving import reshape
from adjoint.primitives.structure.slicing import concatenate, stack, take
from adjoint.program import Atom, Builder

_CHOICES: Final = 20  # in a row, up to which they take less time than looking its entries up


class BlockEntries(NamedTuple):
    """How a program takes the entries of a block: what it depends on, besides the products.

    size: how many there are. width: in each row, where they are chosen; 0 where they are looked up.
    """

    size: int
    width: int


class BlockPlaces:
    """Where the entries of a pattern stand in the products of a block's row and column."""

    def __init__(self, pattern: Any, products: Products, symmetric: bool) -> None:
        self.pattern = pattern
        self.products = products
        self.symmetric = symmetric

    @cached_property
    def _places(self) -> tuple[Any, Any]:
        return places_of(self.pattern)

    def inside(self, top: int, left: int, height: int, width: int) -> Any:
        """For each entry, whether it is in a block."""
        if self.pattern.shape == (height, width):
            return np.ones(self.pattern.nnz, bool)
        rows, columns = self._places
        inside = (rows >= top) & (rows < top + height)
        inside &= (columns >= left) & (columns < left + width)
        return inside

    def block(self, inside: Any, corner: tuple[int, int], shape: tuple[int, int]) -> Any:
        """The pattern of a block, with its entries numbered."""
        if shape == self.pattern.shape:
            starts, indices = self.pattern.indptr, self.pattern.indices
        else:
            rows, columns = (places[inside] for places in self._places)
            starts = np.append(0, np.cumsum(np.bincount(rows - corner[0], minlength=shape[0])))
            indices = columns - corner[1]
        short = scipy_sparse().get_index_dtype(maxval=max(len(indices), shape[1]))
        places = (indices.astype(short, copy=False), starts.astype(short, copy=False))
        arrays = (np.ones(len(indices), bool), *places)
        matrix = scipy_sparse().csr_array(arrays, shape=shape)
        matrix.has_canonical_format = True
        pattern = numbered(matrix)
        pattern.has_canonical_format = True
        return pattern

    def entries(
        self, block: Any, inside: Any, corner: tuple[int, int]
    ) -> tuple[BlockEntries, list[Any]]:
        """How the entries of a block are taken, and the arrays that say which."""
        if not block.nnz:
            return BlockEntries(0, 0), []
        width = self._width(block)
        if not width:
            return BlockEntries(block.nnz, 0), [self._numbers(inside, corner, block.shape)]
        columns = self.products.columns
        assert columns is not None
        entries = BlockEntries(block.nnz, width)
        if columns.count == 1:
            return entries, []
        colours = columns.colours[corner[1] : corner[1] + block.shape[1]].astype(np.int8)
        return entries, [np.ascontiguousarray(colours[block.indices].reshape(-1, width).T)]

    def _width(self, block: Any) -> int:
        """How many entries each row has, where they are to be chosen; else 0."""
        columns, rows = self.products.columns, self.products.rows
        if self.symmetric or columns is None or rows is not None:
            return 0
        width = int(block.indptr[1])
        if not 0 < width <= width * max(columns.count - 1, 1) <= _CHOICES:
            return 0
        is_even = width * block.shape[0] == block.nnz and (np.diff(block.indptr) == width).all()
        return width if is_even else 0

    def _numbers(self, inside: Any, corner: tuple[int, int], shape: tuple[int, int]) -> Any:
        """For each entry of a block, its number among all numbers in the block's products.

        These are column products, and behind them row products; of a Hessian, behind the products
        for the rows of the block those for its columns, unless they are the same.
        """
        rows, columns = (places[inside] for places in self._places)
        (top, left), (height, width) = corner, shape
        by_column = self.products.by_column[inside]
        of_columns, of_rows = self.products.columns, self.products.rows
        counts = [0 if x is None else x.count for x in (of_columns, of_rows)]
        if self.symmetric:
            of_rows, counts[1] = of_columns, 0 if top == left else counts[0]
        behind = 0 if self.symmetric and top == left else counts[0] * height
        pushed = pulled = np.zeros(len(rows), np.int64)
        if of_columns is not None:
            pushed = of_columns.colours[columns] * height + (rows - top)
        if of_rows is not None:
            pulled = of_rows.colours[rows] * width + (columns - left) + behind
        total = counts[0] * height + counts[1] * width
        return np.where(by_column, pushed, pulled).astype(index_dtype(total))


def entries_taken(
    builder: Builder, parts: Sequence[Any], entries: BlockEntries, of: ArrayType
) -> Atom:
    """The entries of a block, out of all products of the block."""
    if entries.width:
        return _chosen(builder, parts[0], entries.width, of)
    flat = [reshape(cast(part, of.dtype), (prod(part.shape),)) for part in parts]
    whole = flat[0] if len(flat) == 1 else concatenate(flat, 0)
    type_ = array_type((entries.size,), index_dtype(whole.shape[0]))
    places = Expression(builder, builder.input(type_))
    return bind(GATHER, whole, places).atom  # type: ignore[no-any-return]


def _chosen(builder: Builder, products: Expression, width: int, of: ArrayType) -> Atom:
    """The entries of rows with one number of entries, each by the colour of its column."""
    count, height = products.shape[0], of.size
    lines = reshape(cast(products, of.dtype), (count, height))
    if count == 1:
        return reshape(lines, (height,)).atom
    colours = Expression(builder, builder.input(array_type((width, height), np.dtype(np.int8))))
    chosen = []
    for k in range(width):
        colour: Any = take(colours, (k, (0, height, 1)))
        entry = take(lines, (0, (0, height, 1)))
        for number in range(1, count):
            line = take(lines, (number, (0, height, 1)))
            entry = select(np.equal(colour, number), line, entry)
        chosen.append(entry)
    return reshape(stack(chosen, 1), (width * height,)).atom
