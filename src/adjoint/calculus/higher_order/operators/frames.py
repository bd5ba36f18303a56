"""Directions whose second derivatives add up to an operator: those of an inner product, first.

With the Gram matrix G of a space, its gradient of f is G⁻¹ ∂f, and its Laplacian div ∇f is the
trace of G⁻¹ ∂²f: the sum of the second derivatives along the vectors of any orthonormal basis.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, auto
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from adjoint.base import pytrees
from adjoint.base.arrays import ArrayType, array_type
from adjoint.primitives.expression import Expression
from adjoint.primitives.hardness import hard
from adjoint.primitives.structure.moving import reshape
from adjoint.program import Atom, Builder
from adjoint.spaces import Euclidean, Product, Space, Weighted
from adjoint.spaces.inner_products.orthonormal import OrthonormalCoordinates
from adjoint.spaces.inner_products.weights import DiagonalWeight
from adjoint.transforms import tangent_type
from adjoint.transforms.collapsed import Directions, DirectionSet, standard_directions


class DirectionForm(Enum):
    """What the directions of a family are.

    STANDARD: the standard basis. SCALED: that basis times numbers, one array for each argument.
    GIVEN: any vectors, a stack of them for each argument.
    """

    STANDARD = auto()
    SCALED = auto()
    GIVEN = auto()


class Family(NamedTuple):
    """Directions of one form. number: how many are given. sign: what they count for, 1 or -1."""

    form: DirectionForm
    number: int = 0
    sign: int = 1


class DirectionFrame(NamedTuple):
    """Families of directions, and their arrays: for each family, one for each argument, or none."""

    families: tuple[Family, ...]
    arrays: list[Any]


STANDARD: DirectionFrame = DirectionFrame((Family(DirectionForm.STANDARD),), [])


def frame_of(space: Space | None, types: Sequence[ArrayType]) -> DirectionFrame:
    """An orthonormal basis of a space whose elements have leaves of these types."""
    if space is None or (_is_plain(space) and space._orthonormal):
        return STANDARD
    family, arrays = _orthonormal_basis(space)
    return DirectionFrame(
        (family,),
        [array.astype(type_.dtype) for array, type_ in zip(arrays, types, strict=True)],
    )


@lru_cache(maxsize=64)
def _orthonormal_basis(space: Space) -> tuple[Family, list[Any]]:
    frame = OrthonormalCoordinates(space)
    count = space.dimension
    if _is_plain(space):
        scaled = pytrees.leaves(frame.element(np.ones(count)))
        return Family(DirectionForm.SCALED), [np.asarray(array) for array in scaled]
    vectors = [pytrees.leaves(frame.element(unit)) for unit in np.eye(count)]
    columns = zip(*vectors, strict=True)
    stacks = [np.stack([np.asarray(leaf) for leaf in column]) for column in columns]
    return Family(DirectionForm.GIVEN, count), stacks


def _is_plain(space: Space) -> bool:
    """Whether its Gram matrix is diagonal in the entries of its arrays."""
    if isinstance(space, Product):
        return all(map(_is_plain, space.spaces))
    if isinstance(space, Weighted):
        return isinstance(space.base, Euclidean) and isinstance(space._weight, DiagonalWeight)
    return isinstance(space, Euclidean)


# --- in programs ---------------------------------------------------------------------------------


def array_types(families: Sequence[Family], types: Sequence[ArrayType]) -> list[ArrayType]:
    """The types of the arrays of a frame. types: of the arguments."""
    wanted = []
    for family in families:
        if family.form is not DirectionForm.STANDARD:
            lead = (family.number,) if family.form is DirectionForm.GIVEN else ()
            wanted += [array_type((*lead, *t.shape), t.dtype) for t in types]
    return wanted


class FirstMotion(NamedTuple):
    """How the arguments move.

    sets: the sets of directions. forms: theirs. moving: for each argument, its directions by the
    number of the set.
    """

    sets: list[DirectionSet]
    forms: list[DirectionForm]
    moving: list[dict[int, Directions]]


def start(
    builder: Builder,
    families: Sequence[Family],
    types: Sequence[ArrayType],
    arrays: Sequence[Atom],
) -> FirstMotion:
    """How arguments of these types move in the directions of a frame, with its arrays."""
    sets: list[DirectionSet] = []
    forms: list[DirectionForm] = []
    moving: list[dict[int, Directions]] = [{} for _ in types]
    rest = iter(arrays)
    for family in families:
        if family.form is DirectionForm.GIVEN:
            for own in moving:
                rows = hard(Expression(builder, next(rest)))
                own[len(sets)] = Directions(rows, (None,))
            sets.append(DirectionSet((family.number,), family.sign))
            forms.append(family.form)
            continue
        for own, type_ in zip(moving, types, strict=True):
            moved = standard_directions(builder, type_.shape, tangent_type(type_).dtype)
            if family.form is DirectionForm.SCALED:
                rows = hard(Expression(builder, next(rest)))
                moved = Directions(reshape(rows, (1, *type_.shape)), moved.runs)
            own[len(sets)] = moved
            sets.append(DirectionSet(type_.shape, family.sign))
            forms.append(family.form)
    return FirstMotion(sets, forms, moving)


def in_parts(moving: dict[int, Directions]) -> dict[int, list[Directions]]:
    """The same, each as a sum of one part."""
    return {number: [moved] for number, moved in moving.items()}
