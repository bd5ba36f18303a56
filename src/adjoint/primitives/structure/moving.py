"""Structural primitives: they move numbers, so each is linear; transposes move them back."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.base.arrays import ArrayType, Shape, array_type
from adjoint.base.errors import ShapeError
from adjoint.primitives.declaration import (
    ITSELF,
    NO_DERIVATIVE,
    EmptySlot,
    Joint,
    Primitive,
)
from adjoint.primitives.expression import Expression, bind
from adjoint.primitives.samples import draw, sample
from adjoint.program import Builder

# --- fill ----------------------------------------------------------------------------------------


def _fill_evaluate(shape: Shape, dtype: np.dtype[Any], value: Any) -> Any:
    return np.full(shape, value, dtype) if value else np.zeros(shape, dtype)


FILL = Primitive(
    "fill",
    infer=lambda shape, dtype, value: array_type(shape, dtype),
    evaluate=_fill_evaluate,
    linear=None,
    derivative=NO_DERIVATIVE,
    transpose=NO_DERIVATIVE,
    batch=EmptySlot("it has no operands"),
    samples=(sample(shape=(2, 3), dtype=np.dtype(float), value=1.0),),
)


def zeros(builder: Builder, type: ArrayType) -> Expression:
    """An array of zeros of this type."""
    shape, dtype = type.shape, type.dtype
    filled: Expression = bind(FILL, builder=builder, shape=shape, dtype=dtype, value=0)
    return filled


# --- reshape -------------------------------------------------------------------------------------


def _reshape_type(x: ArrayType, shape: Shape) -> ArrayType:
    result = array_type(shape, x.dtype)
    if result.size != x.size:
        raise ShapeError(f"cannot reshape array of size {x.size} into shape {shape}.")
    return result


RESHAPE = Primitive(
    "reshape",
    infer=_reshape_type,
    evaluate=lambda x, shape: np.reshape(x, shape),
    linear=Joint(),
    derivative=ITSELF,
    transpose=lambda cotangents, operands, shape: (reshape(cotangents[0], operands[0].shape),),
    batch=lambda operands, batched, size, shape: reshape(operands[0], (size, *shape)),
    samples=(sample(draw(2, 6), shape=(3, 4)), sample(draw(), shape=(1, 1))),
    view=True,
)


def reshape(x: Expression, shape: Shape) -> Expression:
    """The same numbers in C order under another shape."""
    return x if x.shape == shape else bind(RESHAPE, x, shape=shape)


# --- transpose -----------------------------------------------------------------------------------


def inverse_permutation(axes: tuple[int, ...]) -> tuple[int, ...]:
    """The permutation that undoes this one."""
    return tuple(int(place) for place in np.argsort(axes))


def _transpose_batch(operands: Any, batched: Any, size: int, axes: tuple[int, ...]) -> Any:
    return permute(operands[0], (0, *(axis + 1 for axis in axes)))


TRANSPOSE = Primitive(
    "transpose",
    infer=lambda x, axes: array_type(tuple(x.shape[axis] for axis in axes), x.dtype),
    evaluate=lambda x, axes: np.transpose(x, axes),
    linear=Joint(),
    derivative=ITSELF,
    transpose=lambda cotangents, operands, axes: (
        permute(cotangents[0], inverse_permutation(axes)),
    ),
    batch=_transpose_batch,
    samples=(sample(draw(2, 3, 4), axes=(2, 0, 1)), sample(draw(2, 3), axes=(1, 0))),
    view=True,
)


def permute(x: Expression, axes: tuple[int, ...]) -> Expression:
    """The axes in another order."""
    return x if axes == tuple(range(x.ndim)) else bind(TRANSPOSE, x, axes=axes)


# --- broadcast -----------------------------------------------------------------------------------


def _broadcast_type(x: ArrayType, shape: Shape) -> ArrayType:
    lead = len(shape) - x.ndim
    if lead < 0 or any(a not in (1, b) for a, b in zip(x.shape, shape[lead:], strict=True)):
        raise ShapeError(f"an array of shape {x.shape} cannot be broadcast to shape {shape}.")
    return array_type(shape, x.dtype)


def _broadcast_batch(operands: Any, batched: Any, size: int, shape: Shape) -> Any:
    return broadcast_to(insert_axes(operands[0], 1, len(shape) + 1), (size, *shape))


BROADCAST = Primitive(
    "broadcast",
    infer=_broadcast_type,
    evaluate=lambda x, shape: np.broadcast_to(x, shape),
    linear=Joint(),
    derivative=ITSELF,
    transpose=lambda cotangents, operands, shape: (sum_to(cotangents[0], operands[0].shape),),
    batch=_broadcast_batch,
    samples=(sample(draw(3, 1), shape=(2, 3, 4)), sample(draw(), shape=(2,))),
    view=True,
)


def broadcast_to(x: Expression, shape: Shape) -> Expression:
    """Repeat along new and length-one axes, as NumPy does."""
    return x if x.shape == shape else bind(BROADCAST, x, shape=shape)


def insert_axes(x: Expression, place: int, ndim: int) -> Expression:
    """Insert axes of length one at a place until there are `ndim`."""
    missing = ndim - x.ndim
    return reshape(x, (*x.shape[:place], *(1,) * missing, *x.shape[place:]))


def align_batch(operands: Any, batched: tuple[bool, ...]) -> list[Any]:
    """Give batched operands inner axes of length one, so that all broadcast under the batch."""
    ranks = [_rank(x) - mark for x, mark in zip(operands, batched, strict=True)]
    rank = max(ranks)
    return [
        insert_axes(x, 1, rank + 1) if mark else x
        for x, mark in zip(operands, batched, strict=True)
    ]


def _rank(x: Any) -> int:
    return x.ndim if isinstance(x, Expression) else 0


def with_batch(x: Expression, batched: bool, size: int) -> Expression:
    """The operand with a batch axis in front, repeated if it had none."""
    return x if batched else broadcast_to(x, (size, *x.shape))


# --- sum -----------------------------------------------------------------------------------------


def reduced_shape(shape: Shape, axes: tuple[int, ...]) -> Shape:
    """The shape that remains when axes are reduced away."""
    return tuple(length for axis, length in enumerate(shape) if axis not in axes)


def expand_reduced(x: Expression, axes: tuple[int, ...], shape: Shape) -> Expression:
    """Put reduced axes back with length one, so that it broadcasts against the original shape."""
    kept = tuple(1 if axis in axes else length for axis, length in enumerate(shape))
    return reshape(x, kept)


def _sum_transpose(cotangents: Any, operands: Any, axes: tuple[int, ...]) -> Any:
    # E.1.51: the adjoint of a sum over an axis repeats the cotangent along it.
    shape = operands[0].shape
    return (broadcast_to(expand_reduced(cotangents[0], axes, shape), shape),)


SUM = Primitive(
    "sum",
    infer=lambda x, axes: array_type(reduced_shape(x.shape, axes), x.dtype.newbyteorder("=")),
    evaluate=lambda x, axes: np.add.reduce(
        x, axis=axes, dtype=np.asarray(x).dtype.newbyteorder("=")
    ),
    linear=Joint(),
    derivative=ITSELF,
    transpose=_sum_transpose,
    batch=lambda operands, batched, size, axes: sum_axes(
        operands[0], tuple(axis + 1 for axis in axes)
    ),
    samples=(
        sample(draw(2, 3, 4), axes=(1,)),
        sample(draw(2, 3), axes=(0, 1)),
        sample(draw(0, 3), axes=(0,)),
    ),
)


def sum_axes(x: Expression, axes: tuple[int, ...]) -> Expression:
    """Sum over axes, in the array's own dtype."""
    return bind(SUM, x, axes=axes) if axes else x


def sum_to(x: Expression, shape: Shape) -> Expression:
    """The transpose of broadcasting from `shape`: sum over the axes along which it repeated."""
    if x.shape == shape:
        return x
    lead = x.ndim - len(shape)
    axes = tuple(range(lead)) + tuple(
        lead + axis
        for axis, length in enumerate(shape)
        if length == 1 and x.shape[lead + axis] != 1
    )
    return reshape(sum_axes(x, axes), shape)
