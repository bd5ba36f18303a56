"""Integer-array indexing of the leading axes, to which front ends bring other forms.

`gather(x, i1, ..., ik)` has shape `I + x.shape[k:]`, where all index arrays have the shape I.
Indices are checked against the bounds when a program runs; negative ones count from the end, as in
NumPy. Adding counts repeated indices every time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.base.arrays import ArrayType, Shape, array_type
from adjoint.base.errors import BoundsError, DTypeError, ShapeError
from adjoint.primitives.declaration import (
    ITSELF,
    NO_DERIVATIVE,
    EmptySlot,
    Into,
    Joint,
    Primitive,
)
from adjoint.primitives.elementwise.conversion import cast
from adjoint.primitives.elementwise.selection import select
from adjoint.primitives.expression import Expression, bind
from adjoint.primitives.samples import Fixed, draw, sample
from adjoint.primitives.structure.moving import (
    broadcast_to,
    insert_axes,
    permute,
    sum_to,
    with_batch,
)
from adjoint.primitives.typing_rules import broadcast_shape
from adjoint.program import Builder

IOTA = Primitive(
    "iota",
    infer=lambda length: array_type((length,), np.dtype(np.intp)),
    evaluate=lambda length: np.arange(length),
    linear=None,
    derivative=NO_DERIVATIVE,
    transpose=NO_DERIVATIVE,
    batch=EmptySlot("it has no operands"),
    samples=(sample(length=4),),
)


def _gathered_shape(x: ArrayType, indices: tuple[ArrayType, ...]) -> Shape:
    if len(indices) > x.ndim:
        raise BoundsError(
            f"too many indices: the array has {x.ndim} axes, but {len(indices)} were indexed."
        )
    for index in indices:
        if index.dtype.kind not in "iu":
            raise DTypeError(f"arrays used as indices must be of integer type, got {index}.")
        if index.shape != indices[0].shape:
            raise ShapeError("index arrays must have one shape.")
    return indices[0].shape + x.shape[len(indices) :]


def _batched_indices(
    builder: Builder, size: int, indices: Any, batched: Any
) -> tuple[Expression, ...]:
    """The index arrays with the batch in front, led by the number of the example."""
    whole = [with_batch(i, mark, size) for i, mark in zip(indices, batched, strict=True)]
    numbers = bind(IOTA, builder=builder, length=size)
    shape = whole[0].shape
    return (broadcast_to(insert_axes(numbers, 1, len(shape)), shape), *whole)


def _gather_evaluate(x: Any, *indices: Any) -> Any:
    gathered = x[indices]
    # Zero-dimensional indices select as integers do, and NumPy then returns a view.
    return gathered if indices[0].ndim else np.array(gathered)


def _gather_batch(operands: Any, batched: Any, size: int) -> Any:
    x, *indices = operands
    if batched == (False,) + (True,) * len(indices):
        return bind(GATHER, x, *indices)  # the batch is just a leading axis of the index arrays
    marks = batched[1:]
    if not batched[0]:
        return bind(
            GATHER, x, *(with_batch(i, m, size) for i, m in zip(indices, marks, strict=True))
        )
    if any(marks):
        return bind(GATHER, x, *_batched_indices(x.builder, size, indices, marks))
    rank = indices[0].ndim
    return _batch_in_front(bind(GATHER, _batch_behind(x, len(indices)), *indices), rank)


def _batch_behind(x: Expression, count: int) -> Expression:
    """The batch behind so many axes, where one set of indices into these serves all examples."""
    return permute(x, (*range(1, count + 1), 0, *range(count + 1, x.ndim)))


def _batch_in_front(x: Expression, count: int) -> Expression:
    return permute(x, (count, *range(count), *range(count + 1, x.ndim)))


def _gather_transpose(cotangents: Any, operands: Any) -> Any:
    _, *indices = operands
    add = Into(lambda target: bind(GATHER_ADD, target, cotangents[0], *indices))
    return add, *(None for _ in indices)


GATHER = Primitive(
    "gather",
    infer=lambda x, *indices: array_type(_gathered_shape(x, indices), x.dtype),
    evaluate=_gather_evaluate,
    linear=Joint(frozenset({0})),
    derivative=ITSELF,
    transpose=_gather_transpose,
    batch=_gather_batch,
    samples=(
        sample(draw(4), Fixed([0, 2, 2, -1])),
        sample(draw(4, 3), Fixed([[0, 2], [3, 1]])),
        sample(draw(4, 3, 2), Fixed([0, 3]), Fixed([2, 2])),
        sample(draw(4, 3), Fixed(2)),
        sample(draw(4, 3), Fixed(2), Fixed(-1)),
    ),
)


def _write_type(x: ArrayType, value: ArrayType, *indices: ArrayType) -> ArrayType:
    part = _gathered_shape(x, indices)
    if broadcast_shape("assignment", part, value.shape) != part:
        raise ShapeError(
            f"could not broadcast input array from shape {value.shape} into shape {part}."
        )
    return array_type(x.shape, x.dtype)


def _write_batch(name: str) -> Any:
    def batch(operands: Any, batched: Any, size: int) -> Any:
        x, value, *indices = operands
        x = with_batch(x, batched[0], size)
        rank, count = indices[0].ndim - any(batched[2:3]), len(indices)
        if batched[1]:
            value = insert_axes(value, 1, rank + x.ndim - count)
        if any(batched[2:]):
            numbered = _batched_indices(x.builder, size, indices, batched[2:])
            return bind(WRITES[name], x, value, *numbered)
        if batched[1]:
            value = _batch_behind(value, rank)
        else:
            whole = insert_axes(value, 0, rank + x.ndim - count - 1)
            value = insert_axes(whole, rank, whole.ndim + 1)
        written = bind(WRITES[name], _batch_behind(x, count), value, *indices)
        return _batch_in_front(written, count)

    return batch


def _set_evaluate(x: Any, value: Any, *indices: Any) -> Any:
    result = np.array(x)
    result[indices] = value
    return result


def _set_transpose(cotangents: Any, operands: Any) -> Any:
    (cotangent,) = cotangents
    x, value, *indices = operands
    # Where an index repeats, NumPy keeps the last value: only that one has a derivative.
    winner = bind(LAST_WRITE, *indices, shape=x.shape[: len(indices)])
    lanes = insert_axes(winner, winner.ndim, winner.ndim + cotangent.ndim - len(indices))
    part = select(lanes, bind(GATHER, cotangent, *indices), 0.0)
    rest = bind(GATHER_SET, cotangent, 0.0, *indices)
    return rest, cast(sum_to(part, value.shape), value.dtype), *(None for _ in indices)


def _last_write(*indices: Any, shape: Shape) -> Any:
    flat = np.ravel_multi_index(
        tuple(np.where(i < 0, i + n, i) for i, n in zip(indices, shape, strict=True)), shape
    ).ravel()
    owner = np.empty(int(np.prod(shape)), np.intp)
    owner[flat] = np.arange(flat.size)
    return (owner[flat] == np.arange(flat.size)).reshape(indices[0].shape)


LAST_WRITE: Primitive = Primitive(
    "last_write",
    infer=lambda *indices, shape: array_type(indices[0].shape, np.dtype(bool)),
    evaluate=_last_write,
    linear=None,
    derivative=NO_DERIVATIVE,
    transpose=NO_DERIVATIVE,
    batch=lambda operands, batched, size, shape: bind(
        LAST_WRITE,
        *_batched_indices(operands[0].builder, size, operands, batched),
        shape=(size, *shape),
    ),
    samples=(sample(Fixed([0, 2, 0]), shape=(3,)),),
)

GATHER_SET = Primitive(
    "gather_set",
    infer=_write_type,
    evaluate=_set_evaluate,
    linear=Joint(frozenset({0, 1})),
    derivative=ITSELF,
    transpose=_set_transpose,
    batch=_write_batch("gather_set"),
    samples=(
        sample(draw(4), draw(3), Fixed([0, 2, -1])),
        sample(draw(4, 3), draw(3), Fixed([0, 2, 0])),
        sample(draw(4), draw(3), Fixed([1, 2, 1])),
        sample(draw(4, 3), draw(), Fixed(2), Fixed(-1)),
        sample(draw(4, 3, 2), draw(2, 1), Fixed([1, 1]), Fixed([-3, 0])),
    ),
)


def _add_evaluate(x: Any, value: Any, *indices: Any) -> Any:
    result = np.array(x)
    # NumPy (2.4.6) reads beyond a value that has fewer axes than what it is added to.
    part = indices[0].shape + x.shape[len(indices) :]
    np.add.at(result, indices, np.broadcast_to(value, part))
    return result


def _add_transpose(cotangents: Any, operands: Any) -> Any:
    (cotangent,) = cotangents
    _, value, *indices = operands
    part = bind(GATHER, cotangent, *indices)
    return cotangent, cast(sum_to(part, value.shape), value.dtype), *(None for _ in indices)


GATHER_ADD = Primitive(
    "gather_add",
    infer=_write_type,
    evaluate=_add_evaluate,
    linear=Joint(frozenset({0, 1})),
    derivative=ITSELF,
    transpose=_add_transpose,
    batch=_write_batch("gather_add"),
    samples=(
        sample(draw(4), draw(4), Fixed([0, 2, 2, -1])),
        sample(draw(4, 3), draw(1, 3), Fixed([0, 0])),
        sample(draw(4, dtype=complex), draw(3), Fixed([1, 2, 1])),
    ),
)

WRITES = {"gather_set": GATHER_SET, "gather_add": GATHER_ADD}
