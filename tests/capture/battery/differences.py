"""Derivatives of plain functions by differences that check themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from adjoint.base import pytrees
from tests.capture.battery.observing import alike

STEP = {1: 1e-4, 2: 2e-3}  # of the first and second derivative
ROUGH = {1: 1e-4, 2: 1e-3}  # differences of two steps that differ by more have no limit
WITHIN = {1: 1e-7, 2: 2e-4}  # what a derivative may differ from its differences
KINK = 0.2  # slopes to the left and to the right differ by less
SINGLE = 2e-2  # the same, for programs in single precision, whose steps are larger


class RoughError(AssertionError):
    """A program has no derivative where its author says that it has one."""


def is_inexact(leaf: Any) -> bool:
    """Whether a leaf has a derivative."""
    numbers = (float, complex, np.generic, np.ndarray)
    return isinstance(leaf, numbers) and np.asarray(leaf).dtype.kind in "fc"


def places(args: Sequence[Any]) -> tuple[int, ...]:
    """The arguments that a derivative is taken in."""
    return tuple(
        n
        for n, arg in enumerate(args)
        if pytrees.leaves(arg) and all(map(is_inexact, pytrees.leaves(arg)))
    )


def direction(args: Sequence[Any], along: Sequence[Any] | None) -> tuple[Any, ...]:
    """A tangent for each argument that has a derivative."""
    chosen = tuple(args[n] for n in places(args))
    if along is not None:
        return pytrees.tree_map(lambda x, u: like(x, np.asarray(u)), chosen, tuple(along))
    generator = np.random.default_rng(3)

    def draw(leaf: Any) -> Any:
        shape = np.shape(leaf)
        values = generator.uniform(0.4, 1, shape) * generator.choice([-1, 1], shape)
        return like(leaf, values if shape else np.asarray(1.0))

    return pytrees.tree_map(draw, chosen)


def like(leaf: Any, values: Any) -> Any:
    """Numbers as the leaf has them: Python's, NumPy's or an array."""
    if isinstance(leaf, (float, complex)) and not isinstance(leaf, np.generic):
        return type(leaf)(values)
    array = np.asarray(values, np.asarray(leaf).dtype)
    return array if isinstance(leaf, np.ndarray) else array[()]


def moved(args: Sequence[Any], tangents: Sequence[Any], step: float) -> tuple[Any, ...]:
    """Arguments, a step along tangents."""
    whole = list(args)

    def move(x: Any, u: Any) -> Any:
        if not isinstance(x, np.ndarray):
            return type(x)(x + step * u)
        unit = np.asarray(step, x.dtype.char.lower() if x.dtype.kind == "f" else None)
        return alike(x, x + unit * u)

    for n, u in zip(places(args), tangents, strict=True):
        whole[n] = pytrees.tree_map(move, whole[n], u)
    return tuple(whole)


def is_single(tree: Any) -> bool:
    """Whether anything is in single precision."""
    inexact = filter(is_inexact, pytrees.leaves(tree))
    return any(np.asarray(x).dtype in (np.float32, np.complex64) for x in inexact)


def inexact_leaves(value: Any) -> list[Any]:
    """The parts of a result that have a derivative, in double precision."""
    return [
        np.asarray(x, np.promote_types(np.asarray(x).dtype, float))
        for x in pytrees.leaves(value)
        if is_inexact(x)
    ]


def difference(
    run: Callable[..., Any],
    args: Sequence[Any],
    tangents: Sequence[Any],
    order: int,
    single: bool = False,
) -> list[Any] | None:
    """The derivative of this order along tangents, of all leaves; None if single precision."""
    if single and order > 1:
        return None
    step = 0.02 if single else STEP[order]
    there = inexact_leaves(run(*args))

    def at(distance: float) -> list[Any]:
        ahead = inexact_leaves(run(*moved(args, tangents, distance)))
        behind = inexact_leaves(run(*moved(args, tangents, -distance)))
        rows = list(zip(ahead, there, behind, strict=True))
        if order == 1:
            if any(np.any(np.abs(a - 2 * c + b) > KINK * distance * size([c])) for a, c, b in rows):
                raise RoughError(f"a jump or a kink at {there}, to {ahead} and {behind}")
            return [(a - b) / (2 * distance) for a, _, b in rows]
        return [(a - 2 * c + b) / distance**2 for a, c, b in rows]

    wide, narrow = at(step), at(step / 2)
    for one, other in zip(wide, narrow, strict=True):
        bound = (SINGLE if single else ROUGH[order]) * size([one, other])
        if not np.all(np.abs(one - other) <= bound):
            raise RoughError(f"derivative {order}: {one} and {other} by two steps")
    return [(4 * b - a) / 3 for a, b in zip(wide, narrow, strict=True)]


def size(arrays: Sequence[Any]) -> float:
    """The largest entry, at least one."""
    return max([1.0, *(float(np.max(np.abs(a), initial=0)) for a in arrays)])


def total(arrays: Iterable[Any]) -> float:
    """The real parts of all entries, added up, without a builtin that a program may replace."""
    result = 0.0
    for each in arrays:
        result += float(np.sum(np.real(each)))
    return result


def paired(back: Any, tangents: Any) -> float:
    """Gradients along a direction: the real parts of their products, added up."""
    parts = zip(inexact_leaves(back), inexact_leaves(tangents), strict=True)
    return total(np.conj(g) * u for g, u in parts)
