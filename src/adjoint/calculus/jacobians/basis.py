"""Standard bases inside programs, and what has been computed for each of their vectors."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from adjoint.base.arrays import ArrayType, array_type, real_dtype
from adjoint.primitives.elementwise.conversion import IMAG, cast, real
from adjoint.primitives.expression import Expression, bind
from adjoint.primitives.structure.gathering import IOTA
from adjoint.primitives.structure.moving import FILL, reshape, zeros
from adjoint.primitives.structure.slicing import concatenate, take
from adjoint.program import Builder


def dimension(types: Sequence[ArrayType]) -> int:
    """The real dimension of a product of array spaces."""
    return sum(type_.size * _parts(type_) for type_ in types)


def _parts(type: ArrayType) -> int:
    return 2 if type.dtype.kind == "c" else 1


def standard_basis(builder: Builder, types: Sequence[ArrayType]) -> list[Expression]:
    """The standard basis of a product of array spaces over the reals (E.1.22).

    For each factor, an array of the parts in it of all basis vectors, one a row. A complex number
    has the basis 1, i.
    """
    total = dimension(types)
    basis, start = [], 0
    for type_ in types:
        block = _units(builder, total, start, type_.size, real_dtype(type_.dtype))
        start += type_.size
        if type_.dtype.kind == "c":
            turned = _units(builder, total, start, type_.size, real_dtype(type_.dtype))
            block = cast(block + turned * 1j, type_.dtype)
            start += type_.size
        basis.append(reshape(block, (total, *type_.shape)))
    return basis


def _units(builder: Builder, rows: int, start: int, size: int, dtype: Any) -> Expression:
    """Rows of zeros, with ones from row `start` on where row - start is the column."""
    if rows == size == 1:
        filled: Expression = bind(FILL, builder=builder, shape=(1, 1), dtype=dtype, value=1)
        return filled
    if not rows or not size:
        return zeros(builder, array_type((rows, size), dtype))
    places: Any = bind(IOTA, builder=builder, length=rows)
    columns: Any = take(places, ((start, start + size, 1),))
    numbers: Any = reshape(places, (rows, 1))
    return cast(np.equal(numbers, columns), dtype)


def from_coordinates(coordinates: Expression, types: Sequence[ArrayType]) -> list[Expression]:
    """The element of a product of array spaces with these coordinates, along the last axis."""
    lead = coordinates.shape[:-1]
    whole = tuple((0, length, 1) for length in lead)
    leaves, start = [], 0

    def part(type_: ArrayType) -> Expression:
        piece = take(coordinates, (*whole, (start, start + type_.size, 1)))
        return reshape(piece, (*lead, *type_.shape))

    for type_ in types:
        leaf = part(type_)
        start += type_.size
        if type_.dtype.kind == "c":
            leaf = leaf + part(type_) * 1j
            start += type_.size
        leaves.append(cast(leaf, type_.dtype))
    return leaves


def rows_of(x: Expression, start: int, count: int) -> Expression:
    """Some rows of an array: `count` of them from `start` on."""
    if (start, count) == (0, x.shape[0]):
        return x
    return take(x, ((start, start + count, 1), *((0, length, 1) for length in x.shape[1:])))


def joined(leaves: Sequence[Expression], lead: int) -> Expression:
    """The coordinates of arrays with `lead` axes in common, along a last axis.

    What `from_coordinates` takes.
    """
    shape = leaves[0].shape[:lead]
    parts = [
        part
        for leaf in leaves
        for part in ((real(leaf), bind(IMAG, leaf)) if leaf.dtype.kind == "c" else (leaf,))
    ]
    flat = [reshape(part, (*shape, prod(part.shape[lead:]))) for part in parts]
    return flat[0] if len(flat) == 1 else concatenate(flat, lead)
