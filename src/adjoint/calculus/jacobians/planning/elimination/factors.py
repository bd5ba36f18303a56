"""What an edge multiplies by: a sign, a number that the program knows, and a mask."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint.primitives.elementwise.conversion import cast
from adjoint.primitives.elementwise.declaring import scale
from adjoint.primitives.elementwise.selection import select
from adjoint.primitives.expression import Expression
from adjoint.primitives.structure.slicing import take
from adjoint.program import Atom, Builder, Variable

LANES = None  # in an index: all along this axis


@dataclass(frozen=True, slots=True)
class KnownNumber:
    """A number of an array that does not vary, or one for each lane.

    index: the place of it, with LANES at the axis of the lanes. inverted: for a mask, whether it is
    meant the other way round.
    """

    atom: Atom
    index: tuple[int | None, ...]
    inverted: bool = False

    def read(
        self, builder: Builder, names: dict[Variable, Atom], dtype: np.dtype[Any] | None
    ) -> Expression:
        """Its value, in this dtype; a mask, if there is none."""
        atom = names[self.atom] if isinstance(self.atom, Variable) else self.atom
        value: Any = Expression(builder, atom)
        if value.ndim:
            whole = [(0, length, 1) for length in value.shape]
            pairs = zip(self.index, whole, strict=True)
            value = take(value, tuple(w if place is LANES else place for place, w in pairs))
        if dtype is not None:
            return cast(value, dtype)
        mask: Expression = np.logical_not(value) if self.inverted else value
        return mask


@dataclass(frozen=True, slots=True)
class EdgeFactor:
    """What an edge multiplies by, before it is computed."""

    sign: int = 1
    value: KnownNumber | None = None
    mask: KnownNumber | None = None

    @property
    def is_unit(self) -> bool:
        """Whether it multiplies nothing: it is 1 or -1, or chooses."""
        return self.value is None


@dataclass(frozen=True, slots=True)
class Coefficient:
    """What an edge multiplies by, computed: number * value where the mask holds, else a hard zero.

    Where there is no value it is the number alone, mostly 1 or -1. dtype: that of all values.
    """

    number: float
    dtype: np.dtype[Any]
    value: Expression | None = None
    mask: Expression | None = None

    def __mul__(self, other: Coefficient) -> Coefficient:
        value = _both(self.value, other.value, scale)
        mask = _both(self.mask, other.mask, np.logical_and)
        return Coefficient(self.number * other.number, self.dtype, value, mask)

    def __add__(self, other: Coefficient) -> Coefficient:
        first, second = self._plain(), other._plain()
        if first.value is None and second.value is None:
            return Coefficient(first.number + second.number, self.dtype)
        if first.value is None:
            first, second = second, first
        assert first.value is not None
        if second.value is None:
            total = first.value + first.number * second.number
            return Coefficient(first.number, self.dtype, total)
        if first.number == second.number:
            return Coefficient(first.number, self.dtype, first.value + second.value)
        positive, negative = first.value, second.value
        if first.number < second.number:
            positive, negative = negative, positive
        return Coefficient(1.0, self.dtype, positive - negative)

    def _plain(self) -> Coefficient:
        """The same with 1 or -1 for a number, and without a mask: its zeros are written out."""
        if self.mask is not None:
            alone = self.value is None
            chosen = cast(select(self.mask, self.number if alone else self.value, 0.0), self.dtype)
            return Coefficient(1.0 if alone else self.number, self.dtype, chosen)._plain()
        if self.value is None or abs(self.number) == 1:
            return self
        return Coefficient(1.0, self.dtype, scale(self.number, self.value))

    def read(self) -> Expression | float:
        """Its value: a number where it is one in any case."""
        plain = self._plain()
        if plain.value is None:
            return plain.number
        return plain.value if plain.number == 1 else -plain.value


def _both(
    one: Expression | None, other: Expression | None, join: Callable[[Any, Any], Any]
) -> Expression | None:
    """What there is of two, joined if there are both."""
    if one is None or other is None:
        return other if one is None else one
    return join(one, other)  # type: ignore[no-any-return]
