"""Basic indexing and joining: reading a slice, writing one, adding into one, concatenation, stacks.

An index is a tuple with one entry an axis: an integer, which drops the axis, or `(start, stop,
step)` with all three given and within bounds, so that a program never depends on negative or
open-ended forms.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.base.arrays import ArrayType, Shape, array_type
from adjoint.base.errors import ShapeError
from adjoint.primitives.declaration import ITSELF, Into, Joint, Primitive
from adjoint.primitives.elementwise.conversion import cast
from adjoint.primitives.expression import Expression, bind
from adjoint.primitives.samples import draw, sample
from adjoint.primitives.structure.moving import (
    insert_axes,
    sum_to,
    with_batch,
)
from adjoint.primitives.typing_rules import broadcast_shape, promoted

Index = tuple[int | tuple[int, int, int], ...]


def numpy_index(index: Index) -> tuple[Any, ...]:
    """The index as NumPy takes it."""
    return tuple(
        entry if isinstance(entry, int) else slice(entry[0], _stop(entry), entry[2])
        for entry in index
    )


def _stop(entry: tuple[int, int, int]) -> int | None:
    # A descending slice that reaches the first element has stop -1, which NumPy would read as the
    # last.
    return None if entry[2] < 0 and entry[1] < 0 else entry[1]


def indexed_shape(index: Index) -> Shape:
    """The shape of the part of an array that an index names."""
    return tuple(len(range(*entry)) for entry in index if not isinstance(entry, int))


def _whole(size: int) -> tuple[int, int, int]:
    return (0, size, 1)


def _slice_transpose(cotangents: Any, operands: Any, index: Index) -> Any:
    return (Into(lambda target: increment(target, cotangents[0], index)),)


SLICE = Primitive(
    "slice",
    infer=lambda x, index: array_type(indexed_shape(index), x.dtype),
    evaluate=lambda x, index: x[numpy_index(index)],
    linear=Joint(),
    derivative=ITSELF,
    transpose=_slice_transpose,
    batch=lambda operands, batched, size, index: take(operands[0], (_whole(size), *index)),
    samples=(
        sample(draw(5), index=((4, -1, -2),)),
        sample(draw(3, 4), index=(1, (0, 4, 2))),
        sample(draw(3), index=(2,)),
    ),
    view=True,
)


def take(x: Expression, index: Index) -> Expression:
    """The part of an array that an index names."""
    return bind(SLICE, x, index=index)  # type: ignore[no-any-return]


# --- writing -------------------------------------------------------------------------------------


def _write_type(x: ArrayType, value: ArrayType, index: Index) -> ArrayType:
    part = indexed_shape(index)
    if broadcast_shape("assignment", part, value.shape) != part:
        raise ShapeError(
            f"could not broadcast input array from shape {value.shape} into shape {part}."
        )
    return array_type(x.shape, x.dtype)


def _write_batch(primitive: str) -> Any:
    def batch(operands: Any, batched: Any, size: int, index: Index) -> Any:
        x, value = operands
        x = with_batch(x, batched[0], size)
        if batched[1]:
            part = indexed_shape(index)
            value = insert_axes(value, 1, len(part) + 1)
        return bind(WRITES[primitive], x, value, index=(_whole(size), *index))

    return batch


def _update_evaluate(x: Any, value: Any, index: Index) -> Any:
    result = np.array(x)
    result[numpy_index(index)] = value
    return result


def _update_transpose(cotangents: Any, operands: Any, index: Index) -> Any:
    (cotangent,) = cotangents
    value = operands[1]
    part = cast(sum_to(take(cotangent, index), value.shape), value.dtype)
    return update(cotangent, 0.0, index), part


UPDATE = Primitive(
    "update",
    infer=_write_type,
    evaluate=_update_evaluate,
    linear=Joint(frozenset({0, 1})),
    derivative=ITSELF,
    transpose=_update_transpose,
    batch=_write_batch("update"),
    samples=(
        sample(draw(5), draw(2), index=((4, 0, -2),)),
        sample(draw(3, 4), draw(4), index=((0, 2, 1), (0, 4, 1))),
        sample(draw(3), draw(), index=(1,)),
    ),
)


def update(x: Any, value: Any, index: Index) -> Expression:
    """A copy of x in which the part that an index names is replaced."""
    return bind(UPDATE, x, value, index=index)  # type: ignore[no-any-return]


def _increment_evaluate(x: Any, value: Any, index: Index) -> Any:
    result = np.array(x)
    result[numpy_index(index)] += value
    return result


def _increment_transpose(cotangents: Any, operands: Any, index: Index) -> Any:
    (cotangent,) = cotangents
    value = operands[1]
    return cotangent, cast(sum_to(take(cotangent, index), value.shape), value.dtype)


INCREMENT = Primitive(
    "increment",
    infer=_write_type,
    evaluate=_increment_evaluate,
    linear=Joint(frozenset({0, 1})),
    derivative=ITSELF,
    transpose=_increment_transpose,
    batch=_write_batch("increment"),
    samples=(
        sample(draw(5), draw(2), index=((0, 4, 2),)),
        sample(draw(3, 4), draw(1), index=(1, (0, 4, 1))),
    ),
)


def increment(x: Any, value: Any, index: Index) -> Expression:
    """A copy of x in which a value is added to the part that an index names."""
    return bind(INCREMENT, x, value, index=index)  # type: ignore[no-any-return]


WRITES = {"update": UPDATE, "increment": INCREMENT}

# --- joining -------------------------------------------------------------------------------------


def _concatenate_type(*types: ArrayType, axis: int) -> ArrayType:
    first = types[0]
    rest = first.shape[:axis] + first.shape[axis + 1 :]
    for other in types[1:]:
        if other.ndim != first.ndim or other.shape[:axis] + other.shape[axis + 1 :] != rest:
            raise ShapeError(
                "concatenate: all arrays must agree in every axis but the one they are joined "
                f"along (axis {axis}); got shapes {', '.join(str(t.shape) for t in types)}."
            )
    length = sum(t.shape[axis] for t in types)
    shape = (*first.shape[:axis], length, *first.shape[axis + 1 :])
    return array_type(shape, promoted(*types))


def _concatenate_transpose(cotangents: Any, operands: Any, axis: int) -> Any:
    (cotangent,) = cotangents
    whole = [_whole(length) for length in cotangent.shape]
    start, pieces = 0, []
    for operand in operands:
        stop = start + operand.shape[axis]
        index = (*whole[:axis], (start, stop, 1), *whole[axis + 1 :])
        pieces.append(cast(take(cotangent, index), operand.dtype))
        start = stop
    return tuple(pieces)


def _concatenate_batch(operands: Any, batched: Any, size: int, axis: int) -> Any:
    whole = [with_batch(x, mark, size) for x, mark in zip(operands, batched, strict=True)]
    return concatenate(whole, axis + 1)


CONCATENATE = Primitive(
    "concatenate",
    infer=_concatenate_type,
    evaluate=lambda *arrays, axis: np.concatenate(arrays, axis),
    linear=Joint(),
    derivative=ITSELF,
    transpose=_concatenate_transpose,
    batch=_concatenate_batch,
    samples=(sample(draw(2, 3), draw(2, 1), axis=1), sample(draw(3), draw(2), draw(3), axis=0)),
)


def concatenate(arrays: list[Expression], axis: int) -> Expression:
    """Arrays joined along an axis."""
    return bind(CONCATENATE, *arrays, axis=axis)  # type: ignore[no-any-return]


def _stack_type(*types: ArrayType, axis: int) -> ArrayType:
    shape = types[0].shape
    if any(other.shape != shape for other in types):
        raise ShapeError(
            "stack: all arrays must have the same shape; got shapes "
            f"{', '.join(str(t.shape) for t in types)}."
        )
    # A Python number among them is an array of its own, as for NumPy.
    dtype = np.result_type(*{t.dtype for t in types})
    return array_type((*shape[:axis], len(types), *shape[axis:]), dtype)


def _stack_transpose(cotangents: Any, operands: Any, axis: int) -> Any:
    (cotangent,) = cotangents
    whole: list[Any] = [_whole(length) for length in cotangent.shape]
    pieces = []
    for number, operand in enumerate(operands):
        whole[axis] = number
        pieces.append(cast(take(cotangent, tuple(whole)), operand.dtype))
    return tuple(pieces)


def _stack_batch(operands: Any, batched: Any, size: int, axis: int) -> Any:
    whole = [with_batch(x, mark, size) for x, mark in zip(operands, batched, strict=True)]
    return stack(whole, axis + 1)


STACK = Primitive(
    "stack",
    infer=_stack_type,
    evaluate=lambda *arrays, axis: np.stack(arrays, axis),
    linear=Joint(),
    derivative=ITSELF,
    transpose=_stack_transpose,
    batch=_stack_batch,
    samples=(
        sample(draw(2, 3), draw(2, 3), axis=1),
        sample(draw(), draw(), draw(), axis=0),
        sample(draw(3), draw(3), axis=0),
    ),
)


def stack(arrays: list[Expression], axis: int) -> Expression:
    """Arrays of one shape joined along an axis of their own."""
    return bind(STACK, *arrays, axis=axis)  # type: ignore[no-any-return]
