"""Which axis of a result is one of an operand: entry i of the one needs entry i of the other alone.

What is not known here mixes all axes, which is never wrong: it costs the zeros that are multiplied.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Final

from adjoint.primitives.structure.moving import reduced_shape
from adjoint.program import Operation
from adjoint.transforms.by_rows.marks import is_elementwise

Shape = tuple[int, ...]
_Rule = Callable[[int, Shape, Shape, dict[str, Any]], int | None]


def _aligned(axis: int, before: Shape, after: Shape, params: dict[str, Any]) -> int | None:
    place = axis + len(after) - len(before)
    return place if after[place] == before[axis] else None


def _reshape(axis: int, before: Shape, after: Shape, params: dict[str, Any]) -> int | None:
    """The axis that has as many entries, and as many before it; it may not be joined or divided."""
    ahead = prod(before[:axis])
    if not ahead:  # of an array without entries, where several axes would fit
        return None
    for place, length in enumerate(after):
        if length == before[axis] and prod(after[:place]) == ahead:
            return place
    return None


def _transpose(axis: int, before: Shape, after: Shape, params: dict[str, Any]) -> int | None:
    axes: tuple[int, ...] = tuple(params["axes"])
    return axes.index(axis)


def _reduction(axis: int, before: Shape, after: Shape, params: dict[str, Any]) -> int | None:
    axes = [place % len(before) for place in params["axes"]]
    if reduced_shape(before, tuple(axes)) != after or axis in axes:
        return None
    return axis - sum(1 for place in axes if place < axis)


def _slice(axis: int, before: Shape, after: Shape, params: dict[str, Any]) -> int | None:
    index = params["index"]
    if axis < len(index) and index[axis] != (0, before[axis], 1):
        return None
    return axis - sum(1 for entry in index[:axis] if isinstance(entry, int))


def _stack(axis: int, before: Shape, after: Shape, params: dict[str, Any]) -> int | None:
    place: int = params["axis"]
    return axis + 1 if place <= axis else axis


def _concatenate(axis: int, before: Shape, after: Shape, params: dict[str, Any]) -> int | None:
    return None if axis == params["axis"] else axis


_RULES: Final[dict[str, _Rule]] = {
    "reshape": _reshape,
    "broadcast": _aligned,
    "transpose": _transpose,
    "slice": _slice,
    "stack": _stack,
    "concatenate": _concatenate,
    **dict.fromkeys(("sum", "max", "min"), _reduction),
}


def rule_of(op: Operation) -> _Rule | None:
    """How an operation keeps axes apart; None where it is not known to."""
    rule = _RULES.get(op.primitive.name)
    return _aligned if rule is None and is_elementwise(op) else rule


def kept_axes(
    op: Operation,
    shapes: Sequence[Shape],
    results: Sequence[Shape],
    runs: Sequence[Sequence[int | None] | None],
    place: int,
) -> int | None:
    """The axis of the result that an axis of a set of directions runs along, or None.

    shapes: of the operands. runs: of what moves among them, else None. place: of the axis.
    """
    rule = rule_of(op)
    if rule is None or len(results) != 1:
        return None
    kept = set()
    for shape, run in zip(shapes, runs, strict=True):
        if run is None:
            continue
        axis = run[place]
        kept.add(None if axis is None else rule(axis, shape, results[0], op.params))
    return kept.pop() if len(kept) == 1 else None
