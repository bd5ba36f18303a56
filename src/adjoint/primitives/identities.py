"""Values whose derivatives are those of something equal that is easier to differentiate."""

from __future__ import annotations

from typing import Any

from adjoint.primitives.declaration import EmptySlot, Primitive
from adjoint.primitives.elementwise.conversion import cast
from adjoint.primitives.expression import bind
from adjoint.primitives.structure.moving import with_batch


def _taylor(operands: Any, results: Any, k: int) -> Any:
    coefficient = operands[1][k]
    return (None if coefficient is None else cast(coefficient, results[0].type.dtype),)


# The first operand, with the derivatives of the second: equal numbers, rounding apart.
SAME_AS: Primitive = Primitive(
    "same_as",
    infer=lambda value, other: value,
    evaluate=lambda value, other: value,
    linear=None,
    derivative=lambda tangents, operands, results: (
        None if tangents[1] is None else cast(tangents[1], results[0].dtype),
    ),
    batch=lambda operands, batched, size: bind(
        SAME_AS, *(with_batch(x, mark, size) for x, mark in zip(operands, batched, strict=True))
    ),
    taylor=_taylor,
    samples=EmptySlot("its operands are equal; tests/transforms/test_recognition.py tries it"),
    view=True,
)


def same_as(value: Any, other: Any) -> Any:
    """A value with the derivatives of another that is equal to it."""
    return bind(SAME_AS, value, other)
