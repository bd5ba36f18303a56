"""Choosing between values by a mask: linear in the values, constant in the mask."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.base.arrays import ArrayType, array_type
from adjoint.base.errors import DTypeError
from adjoint.primitives.declaration import Joint, Primitive
from adjoint.primitives.elementwise.conversion import cast
from adjoint.primitives.elementwise.declaring import batch_aligned, weigh
from adjoint.primitives.expression import Expression, bind
from adjoint.primitives.samples import draw, python_float, sample
from adjoint.primitives.structure.moving import sum_to
from adjoint.primitives.typing_rules import broadcast_shape, promoted


def _select_type(mask: ArrayType, x: ArrayType, y: ArrayType) -> ArrayType:
    if mask.dtype.kind != "b":
        raise DTypeError(f"where: the condition must be boolean, got {mask}.")
    return array_type(broadcast_shape("where", mask.shape, x.shape, y.shape), promoted(x, y))


def _select_derivative(tangents: Any, operands: Any, results: Any) -> Any:
    mask, (_, dx, dy), result = operands[0], tangents, results[0].type
    if dx is None and dy is None:
        return (None,)
    dx = 0.0 if dx is None else cast(dx, result.dtype)
    dy = 0.0 if dy is None else cast(dy, result.dtype)
    return (weigh(1, select(mask, dx, dy), result),)


def _select_transpose(cotangents: Any, operands: Any) -> Any:
    (cotangent,) = cotangents
    mask, x, y = operands
    first = cast(sum_to(select(mask, cotangent, 0.0), x.shape), x.dtype)
    second = cast(sum_to(select(mask, 0.0, cotangent), y.shape), y.dtype)
    return None, first, second


SELECT = Primitive(
    "select",
    infer=_select_type,
    evaluate=np.where,
    linear=Joint(frozenset({1, 2})),
    derivative=_select_derivative,
    transpose=_select_transpose,
    batch=batch_aligned("select"),
    samples=(
        sample(draw(3, dtype=bool), draw(3), draw(3)),
        sample(draw(2, 3, dtype=bool), draw(3), draw()),
        sample(draw(3, dtype=bool), draw(3, dtype=np.float32), python_float()),
        sample(draw(3, dtype=bool), draw(3), draw(dtype=complex)),
    ),
)


def select(mask: Expression, x: Any, y: Any) -> Expression:
    """x where the mask holds and y elsewhere, broadcast."""
    return bind(SELECT, mask, x, y)  # type: ignore[no-any-return]
