"""Sparse Jacobians from few products: their programs, and the matrices made of the results.

The program takes, behind the arguments and the constants of the function, the seeds (for each
colour, which columns or rows it has) and for each block where its entries are in the products. So
it depends on how many colours and entries there are, and not on which.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import optree

from adjoint.base import pytrees
from adjoint.base.arrays import ArrayType, array_type
from adjoint.base.errors import ShapeError, UnsupportedFunctionError
from adjoint.calculus.jacobians.planning.cuts import CutProgram
from adjoint.calculus.jacobians.planning.execution import JacobianBuilder
from adjoint.calculus.jacobians.planning.jacobians import Differentiated
from adjoint.calculus.jacobians.sparsity.colourings.acyclic import Substitution
from adjoint.calculus.jacobians.sparsity.decompression import (
    BlockEntries,
    BlockPlaces,
    entries_taken,
)
from adjoint.calculus.jacobians.sparsity.products import Products
from adjoint.capture import Traced
from adjoint.capture.scipy.sparse_matrix import SparseTraced, is_sparse
from adjoint.capture.scipy.sparse_patterns import places_of
from adjoint.primitives.elementwise.conversion import cast
from adjoint.primitives.expression import Expression
from adjoint.primitives.hardness import hard
from adjoint.primitives.structure.moving import zeros
from adjoint.program import Atom, Builder, Program


class BlockLayout:
    """Where the entries of a sparse matrix go; those with the same places are equal.

    pattern: a matrix of SciPy's with its entries numbered (see `sparse_patterns`). form: the
    format of the matrix, where it is not that of the pattern.
    """

    __slots__ = ("form", "pattern")

    def __init__(self, pattern: Any, form: str | None = None) -> None:
        self.pattern, self.form = pattern, form

    @property
    def count(self) -> int:
        """How many entries there are."""
        return int(self.pattern.nnz)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, BlockLayout):
            return False
        one, two = self.pattern, other.pattern
        return one is two or (
            type(one) is type(two)
            and (self.form, one.shape, one.nnz) == (other.form, two.shape, two.nnz)
            and all(map(np.array_equal, _index_arrays(one), _index_arrays(two)))
        )

    def __hash__(self) -> int:
        return hash((self.form, self.pattern.shape, self.pattern.nnz))

    def filled(self, entries: Any) -> Any:
        """The matrix with these entries; it shares nothing with others but them."""
        if type(entries) is Traced:
            return SparseTraced(entries, self.pattern, self.form)
        if not isinstance(entries, np.ndarray):
            return SparseBlock(entries, self)  # while a tree is being mapped
        pattern = self.pattern
        if entries.ndim != 1:
            raise UnsupportedFunctionError(
                f"A result is a sparse matrix with {self.count} entries, of which there would be "
                f"an array of shape {entries.shape}: SciPy has no stacks of sparse matrices, which "
                "vmap, jacobian and scan would return. Let the function return the entries, "
                "A.data, or A.toarray()."
            )
        kind: Any = type(pattern)
        matrix = kind.__new__(kind)  # its attributes at once, which `copy` takes thrice as long for
        state = vars(matrix)
        state.update(vars(pattern))
        state["data"] = entries
        if pattern.format == "coo":
            state["coords"] = tuple(place.copy() for place in pattern.coords)
        else:
            state["indices"], state["indptr"] = pattern.indices.copy(), pattern.indptr.copy()
        return matrix if self.form is None else matrix.asformat(self.form)

    def entries_at(self, matrix: Any, name: str) -> Any:
        """The numbers of another matrix, sparse or dense, where the entries are.

        name: what it is, in an error.
        """
        if np.shape(matrix) != self.pattern.shape:
            raise ShapeError(
                f"{name} has shape {np.shape(matrix)}; expected a matrix of shape "
                f"{self.pattern.shape}, sparse or dense."
            )
        places = places_of(self.pattern)
        if not is_sparse(matrix):
            return matrix[places]
        numbers = matrix.tocsr()[places]
        return numbers if type(numbers) is Traced else np.asarray(numbers).reshape(-1)


class MatrixPlaces:
    """Where a structure has sparse matrices.

    treedef: the structure, in which each is a container of its entries.
    """

    def __init__(self, treedef: Any) -> None:
        self.layouts: dict[int, BlockLayout] = {}  # by the numbers of their leaves
        if treedef is None:
            return
        numbered = pytrees.unflatten(treedef, range(treedef.num_leaves))
        leaves, self._outer = optree.tree_flatten(
            numbered, is_leaf=lambda part: type(part) is SparseBlock, namespace=pytrees.NAMESPACE
        )
        blocks = {n: part for n, part in enumerate(leaves) if type(part) is SparseBlock}
        self.layouts = {n: part.layout for n, part in blocks.items()}

    def with_entries(self, model: Any, value: Any, name: str) -> tuple[Any, Any]:
        """A tree of this structure and one that is to match it, with entries for the matrices.

        name: what the other tree is, in an error.
        """
        outer: Any = self._outer
        try:
            expected, given = (outer.flatten_up_to(tree) for tree in (model, value))
        except ValueError:  # of another structure, of which an error will say more
            return model, value
        for place, layout in self.layouts.items():
            expected[place] = np.zeros(layout.count, expected[place].dtype)
            given[place] = layout.entries_at(given[place], name)
        return outer.unflatten(expected), outer.unflatten(given)


@lru_cache(maxsize=1024)
def places_of_matrices(treedef: Any) -> MatrixPlaces:
    """Where a structure has sparse matrices."""
    return MatrixPlaces(treedef)


def has_matrices(treedef: Any) -> bool:
    """Whether there are sparse matrices in a structure."""
    return treedef is not None and bool(places_of_matrices(treedef).layouts)


def with_entries(treedef: Any, model: Any, value: Any, name: str) -> tuple[Any, Any]:
    """A tree of a structure and one that is to match it, with entries for sparse matrices.

    name: what the other tree is, in an error.
    """
    if not has_matrices(treedef):
        return model, value
    return places_of_matrices(treedef).with_entries(model, value, name)


def _index_arrays(pattern: Any) -> tuple[Any, ...]:
    return pattern.coords if pattern.format == "coo" else (pattern.indices, pattern.indptr)


class SparseBlock:
    """A block of a result: entries with their layout, as the container that results are made of."""

    __slots__ = ("entries", "layout")

    def __init__(self, entries: Any, layout: BlockLayout) -> None:
        self.entries = entries
        self.layout = layout


def _register(kind: Any, split: Callable[[Any], tuple[Any, Any]]) -> None:
    """Make a kind of results a container of its entries. split: the entries, and where they go."""

    def flatten(matrix: Any) -> tuple[tuple[Any], Any]:
        entries, layout = split(matrix)
        return (entries,), layout

    def unflatten(layout: Any, children: Any) -> Any:
        (entries,) = children
        return layout.filled(entries)

    optree.register_pytree_node(kind, flatten, unflatten, namespace=pytrees.NAMESPACE)


_register(SparseBlock, lambda block: (block.entries, block.layout))
_register(SparseTraced, lambda x: (x.entries, BlockLayout(x.pattern, x.form)))


class Compression:
    """How the blocks of a sparse matrix are computed.

    arrays: of seeds and places, which the program takes. layouts: of the blocks, for each output
    and in it for each input; entries: how the program takes theirs. products: which there are.
    substitution: another way, for a Hessian of arguments of one dtype.
    """

    def __init__(
        self,
        pattern: Any,
        products: Products,
        inputs: Sequence[ArrayType],
        outputs: Sequence[ArrayType],
        symmetric: bool,
    ) -> None:
        self.products = products
        self.arrays: list[Any] = []
        for colouring, types in ((products.columns, inputs), (products.rows, outputs)):
            if colouring is not None and colouring.count:
                self.arrays += seeds_of(colouring, types)
        self.layouts: list[BlockLayout] = []
        self.entries: list[BlockEntries] = []
        places = BlockPlaces(pattern, products, symmetric)
        insides = []
        top = 0
        for of in outputs:
            left = 0
            for to in inputs:
                inside = places.inside(top, left, of.size, to.size)
                matrix = places.block(inside, (top, left), (of.size, to.size))
                self.layouts.append(BlockLayout(matrix))
                entries, arrays = places.entries(matrix, inside, (top, left))
                self.entries.append(entries)
                self.arrays += arrays
                if entries.size:
                    insides.append(inside)
                left += to.size
            top += of.size
        self.substitution: Substitution | None = None
        if products.trees is not None and len({x.dtype for x in inputs}) == 1:
            colouring, trees = products.trees
            seeds = seeds_of(colouring, inputs)
            self.substitution = Substitution(colouring, trees, seeds, insides)

    @property
    def counts(self) -> tuple[int, int]:
        """The numbers of column and row products."""
        columns = self.products.count_of_columns
        return columns, self.products.count - columns


def seeds_of(colouring: Any, types: Sequence[ArrayType]) -> list[Any]:
    """For each array, which of its entries have each colour, as ones among zeros.

    They are bytes, which the program makes numbers of: most of what cheap products read is seeds.
    """
    seeds, first = [], 0
    for type_ in types:
        seed = np.zeros((colouring.count, type_.size), np.int8)
        colours = colouring.colours[first : first + type_.size]
        kept = np.flatnonzero(colours >= 0)
        seed[colours[kept], kept] = 1
        seeds.append(seed.reshape((colouring.count, *type_.shape)))
        first += type_.size
    return seeds


def compressed_program(
    program: Program,
    differentiated: Differentiated,
    kept: int,
    counts: tuple[int, int],
    entries: Sequence[BlockEntries],
    symmetric: bool,
) -> Program:
    """(arguments, constants, seeds, places) -> (auxiliary outputs, entries of the blocks).

    kept: how many outputs are differentiated. counts: of column and row products. entries: those
    of each block.
    """
    builder = Builder()
    inputs = [builder.input(variable.type) for variable in program.inputs]
    values = builder.inline(differentiated.primal, inputs)
    names = dict(zip(differentiated.linear.inputs, values[differentiated.outputs :], strict=False))
    making = ProductMaker(builder, differentiated, names)
    pushed = making.pushed(counts[0]) if counts[0] else None
    pulled = making.pulled(counts[1]) if counts[1] else None
    blocks: list[Atom] = []
    for output, of in enumerate(differentiated.output_types):
        for place in range(len(differentiated.crossings.tangents)):
            taken = entries[len(blocks)]
            if not taken.size:
                blocks.append(zeros(builder, array_type((0,), of.dtype)).atom)
                continue
            if symmetric and pushed is not None:
                parts = [pushed[output]] if place == output else [pushed[output], pushed[place]]
            else:
                parts = [] if pushed is None else [pushed[output]]
                parts += [] if pulled is None else [pulled[place]]
            blocks.append(entries_taken(builder, parts, taken, of))
    return builder.build([*values[kept : differentiated.outputs], *blocks])


class ProductMaker:
    """Appends products with the linear program of a Jacobian to a builder."""

    def __init__(self, builder: Builder, differentiated: Differentiated, names: Any) -> None:
        self.builder = builder
        self.slopes = differentiated.slopes
        self.outputs = differentiated.output_types
        self.crossings = differentiated.crossings
        self.cut = CutProgram(self.crossings, (0, len(self.crossings.moving)))
        self.making = JacobianBuilder(builder, self.cut, names)

    def _seeds(self, count: int, types: Sequence[ArrayType]) -> list[Expression]:
        """The seeds, whose zeros are hard, as inputs of the program."""
        self.builder.derived = True
        seeds = []
        for of in types:
            given = self.builder.input(array_type((count, *of.shape), np.dtype(np.int8)))
            seeds.append(hard(cast(Expression(self.builder, given), of.dtype)))
        return seeds

    def pushed(self, count: int) -> list[Any]:
        """For each output, its tangents for each colour of columns; None where these are zeros."""
        seeds = self._seeds(count, [tangent.type for tangent in self.crossings.tangents])
        columns = self.making.push(self.cut.segments[0], seeds)
        places: dict[Atom, int] = {atom: n for n, atom in enumerate(self.crossings.results)}
        numbers = [None if slope is None else places.get(slope) for slope in self.slopes]
        return [None if number is None else columns[number] for number in numbers]

    def pulled(self, count: int) -> list[Any]:
        """For each input, its cotangents for each colour of rows."""
        seeds = self._seeds(count, self.outputs)
        rows = []
        for result in self.crossings.results:
            pairs = zip(seeds, self.slopes, strict=True)
            total, *others = [seed for seed, slope in pairs if slope is result]
            for seed in others:  # outputs that are one variable
                total = total + seed
            rows.append(cast(total, result.type.dtype))
        return self.making.pull(self.cut.segments[0], rows)
