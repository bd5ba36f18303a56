"""The program of a Hessian by an acyclic colouring: few products, and entries by substitution.

An entry is the alternating sum of as many numbers of the products as its tree has entries beyond
it, b₁ - b₂ + b₃ - ..., so its error is at most (to first order) ε (|b₁| + |b₂| + ...), and may be
large beside the entry itself where the Hessian is badly scaled. The program computes this bound as
well. Where it exceeds ε^(3/4) times the largest number in the products' rows of the entry, or is
not finite, the products of the star colouring are computed instead, in which each entry stands
alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, Final

import numpy as np

from adjoint.base.arrays import array_type
from adjoint.calculus.jacobians.planning.jacobians import Differentiated
from adjoint.calculus.jacobians.sparsity.colourings.acyclic import SubstitutionSizes
from adjoint.calculus.jacobians.sparsity.compressed import ProductMaker, compressed_program
from adjoint.calculus.jacobians.sparsity.decompression import BlockEntries
from adjoint.calculus.jacobians.sparsity.index_sets import index_dtype
from adjoint.primitives.declaration import PRIMITIVES
from adjoint.primitives.elementwise.comparison import ALL
from adjoint.primitives.elementwise.conversion import cast
from adjoint.primitives.expression import Expression, bind
from adjoint.primitives.structure.gathering import GATHER, GATHER_ADD
from adjoint.primitives.structure.moving import reshape, zeros
from adjoint.primitives.structure.reductions import MAX
from adjoint.primitives.structure.slicing import concatenate, take
from adjoint.program import Atom, Builder, Program

_POWER: Final = 0.75  # of the machine's precision, up to which an error is taken as none


def substituted_program(
    program: Program,
    differentiated: Differentiated,
    counts: tuple[int, int],
    entries: Sequence[BlockEntries],
    substitution: SubstitutionSizes,
) -> Program:
    """(arguments, constants, seeds and places of a star, seeds and arrays of a substitution).

    The results are the entries of the blocks. counts, entries: as for `compressed_program`.
    """
    kept = differentiated.outputs
    star = compressed_program(program, differentiated, kept, counts, entries, True)
    sizes = [block.size for block in entries]
    builder = Builder()
    inputs = [builder.input(variable.type) for variable in star.inputs]
    values = builder.inline(differentiated.primal, inputs[: len(program.inputs)])
    names = dict(zip(differentiated.linear.inputs, values[differentiated.outputs :], strict=False))
    pushed = ProductMaker(builder, differentiated, names).pushed(substitution.colours)
    lines = _lines(builder, pushed, differentiated, substitution.colours)
    blocks, is_bounded = _substituted(builder, lines, sizes, substitution)
    branches = tuple(_branches(star, [block.type for block in blocks]))
    results = bind(
        PRIMITIVES["switch"],
        cast(is_bounded, np.dtype(np.int64)),
        *(Expression(builder, atom) for atom in inputs),
        *blocks,
        branches=branches,
    )
    return builder.build([result.atom for result in results])


def _lines(builder: Builder, pushed: Any, differentiated: Any, colours: int) -> Expression:
    """The products as the rows of one matrix."""
    flat = [
        zeros(builder, array_type((colours, of.size), of.dtype))
        if part is None
        else reshape(cast(part, of.dtype), (colours, prod(part.shape[1:])))
        for part, of in zip(pushed, differentiated.output_types, strict=True)
    ]
    return flat[0] if len(flat) == 1 else concatenate(flat, 1)


def _substituted(
    builder: Builder, lines: Expression, sizes: Sequence[int], substitution: SubstitutionSizes
) -> tuple[list[Expression], Expression]:
    """The entries of the blocks, and whether their errors are as small as they must be."""
    short = index_dtype(max(prod(lines.shape), sum(sizes)) + 1)

    def indices(count: int) -> Expression:
        return Expression(builder, builder.input(array_type((count,), short)))

    places = indices(substitution.items)
    doublings = [indices(substitution.items) for _ in range(substitution.doublings)]
    checked, rows, others = (indices(substitution.checked) for _ in range(3))
    numbers = bind(GATHER, reshape(lines, (prod(lines.shape),)), places)
    items = _summed(builder, numbers, doublings, True)
    errors = _summed(builder, np.absolute(numbers), doublings, False)
    scales = bind(MAX, np.absolute(lines), axes=(0,))
    scale = np.minimum(bind(GATHER, scales, rows), bind(GATHER, scales, others))
    limit = float(np.finfo(lines.dtype).eps) ** (_POWER - 1)
    is_bounded = bind(ALL, bind(GATHER, errors, checked) <= scale * limit, axes=(0,))
    blocks = [
        bind(GATHER, items, indices(size))
        if size
        else zeros(builder, array_type((0,), lines.dtype))
        for size in sizes
    ]
    return blocks, is_bounded


def _summed(
    builder: Builder, numbers: Expression, doublings: Sequence[Expression], alternating: bool
) -> Expression:
    """For each item, the sum over all items beyond it, of alternating signs or none.

    With N what takes each item to its parent, that is (I ± N)⁻¹ = (I ∓ N)(I + N²)(I + N⁴)...
    """
    (count,) = numbers.shape
    for step, above in enumerate(doublings):
        target = zeros(builder, array_type((count + 1,), numbers.dtype))
        moved = take(bind(GATHER_ADD, target, numbers, above), ((0, count, 1),))
        numbers = numbers - moved if alternating and step == 0 else numbers + moved
    return numbers


def _branches(star: Program, types: Sequence[Any]) -> list[Program]:
    """What is done where errors are too large: the star's program; and else: nothing."""
    programs = []
    for is_bounded in (False, True):
        builder = Builder()
        inputs = [builder.input(variable.type) for variable in star.inputs]
        blocks: list[Atom] = [builder.input(type_) for type_ in types]
        programs.append(builder.build(blocks if is_bounded else builder.inline(star, inputs)))
    return programs
