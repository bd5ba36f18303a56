"""Whether a function of NumPy's fails: what a program asks that goes on after its error."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.base.arrays import ArrayType, array_type
from adjoint.primitives.declaration import NO_DERIVATIVE, Primitive
from adjoint.primitives.expression import bind
from adjoint.primitives.samples import draw, sample

Levels = tuple[tuple[bool, ...], ...]


def _fails(
    *operands: Any, function: str, rest: tuple[Any, ...], named: tuple[Any, ...], levels: Levels
) -> Any:
    """NumPy is asked itself: it is the same function that raised, and that the user's code tries.

    rest: the arguments that follow the operands. levels: for each batch axis, the outermost last,
    which operands have it; each example may fail by itself.
    """
    if levels:
        *inner, marks = levels
        size = next(len(x) for x, mark in zip(operands, marks, strict=True) if mark)
        params: Any = {"function": function, "rest": rest, "named": named, "levels": tuple(inner)}
        return np.array(
            [
                _fails(*(x[n] if m else x for x, m in zip(operands, marks, strict=True)), **params)
                for n in range(size)
            ],
            bool,
        )
    try:
        with np.errstate(all="ignore"):
            getattr(np.linalg, function)(*operands, *rest, **dict(named))
    except np.linalg.LinAlgError:
        return np.True_
    return np.False_


def _type(*types: ArrayType, levels: Levels, **_: Any) -> ArrayType:
    shapes, sizes = [type_.shape for type_ in types], []
    for marks in reversed(levels):
        sizes.append(next(x[0] for x, mark in zip(shapes, marks, strict=True) if mark))
        shapes = [x[1:] if mark else x for x, mark in zip(shapes, marks, strict=True)]
    return array_type(tuple(sizes), np.dtype(bool))


def _batch(operands: Any, batched: Any, size: int, *, levels: Levels, **params: Any) -> Any:
    return bind(FAILS, *operands, levels=(*levels, tuple(batched)), **params)


FAILS: Primitive = Primitive(
    "fails",
    infer=_type,
    evaluate=_fails,
    linear=None,
    derivative=NO_DERIVATIVE,
    transpose=NO_DERIVATIVE,
    batch=_batch,
    samples=(sample(draw(2, 2), function="cholesky", rest=(), named=(), levels=()),),
)
