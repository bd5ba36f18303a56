"""Masks of hard zeros: where they are, and how masks are put together."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from adjoint.primitives.expression import Expression, bind
from adjoint.primitives.structure.moving import FILL, broadcast_to
from adjoint.program import Atom, Builder

BOOL: Final = np.dtype(bool)
# Where the hard zeros of a value are: nowhere (None), everywhere (True), or where an expression
# holds.
Mask = Any


def fill_with(builder: Builder, shape: tuple[int, ...], dtype: Any, value: Any) -> Expression:
    """An array of this value."""
    return bind(  # type: ignore[no-any-return]
        FILL, builder=builder, shape=shape, dtype=dtype, value=value
    )


def whole_mask(builder: Builder, mask: Mask, shape: tuple[int, ...]) -> Expression:
    """A mask as an array of this shape."""
    if isinstance(mask, Expression):
        return broadcast_to(mask, shape)
    return fill_with(builder, shape, BOOL, bool(mask))


def either(one: Mask, other: Mask) -> Mask:
    """Where one of two masks holds."""
    if one is True or other is True:
        return True
    if one is None or other is None:
        return one if other is None else other
    return np.logical_or(one, other)


def both(one: Mask, other: Mask) -> Mask:
    """Where two masks hold."""
    if one is None or other is None:
        return None
    if one is True or other is True:
        return other if one is True else one
    return np.logical_and(one, other)


def infinite_entries(x: Any) -> Any:
    """Where an expression is infinite."""
    return np.equal(np.absolute(x), np.inf)


def is_real(atom: Atom) -> bool:
    """Whether an atom is of real numbers."""
    return atom.type.dtype.kind == "f"
