"""Equations that only move numbers: where the number at an index of the result comes from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from adjoint.executors.native.graph.indices import (
    ZERO,
    Access,
    Dynamic,
    IndexGuard,
    Label,
    Quotient,
    Term,
    label_term,
    quotient,
    recombined,
    row_strides,
    total,
)
from adjoint.primitives.elementwise.conversion import CAST
from adjoint.primitives.structure.moving import BROADCAST, RESHAPE, TRANSPOSE
from adjoint.primitives.structure.slicing import SLICE, Index
from adjoint.program import Equation

Terms = tuple[Term, ...]
Map = Callable[[Terms], Terms]


@dataclass(frozen=True)
class Movement:
    """Where a result takes its numbers from.

    back: from terms of the result to terms of the operand. carried: for each axis of the result,
    the axis of the operand that it is, or None.
    """

    back: Map
    carried: tuple[int | None, ...]


def transposed(axes: tuple[int, ...]) -> Movement:
    """Axes in another order."""
    order = sorted(range(len(axes)), key=axes.__getitem__)
    return Movement(lambda terms: tuple(terms[place] for place in order), axes)


def broadcast(operand: tuple[int, ...], shape: tuple[int, ...]) -> Movement:
    """Repeated along new axes and axes of length one."""
    lead = len(shape) - len(operand)
    carried = tuple(
        None if axis < lead or operand[axis - lead] != length else axis - lead
        for axis, length in enumerate(shape)
    )

    def back(terms: Terms) -> Terms:
        return tuple(
            ZERO if length == 1 else terms[lead + axis] for axis, length in enumerate(operand)
        )

    return Movement(back, carried)


def sliced(operand: tuple[int, ...], index: Index) -> Movement:
    """The part that an index names."""
    carried: list[int | None] = []
    for axis, entry in enumerate(index):
        if not isinstance(entry, int):
            carried.append(axis if entry == (0, operand[axis], 1) else None)

    def back(terms: Terms) -> Terms:
        waiting = iter(terms)
        return tuple(
            Term((), entry) if isinstance(entry, int) else next(waiting).scaled(entry[2], entry[0])
            for entry in index
        )

    return Movement(back, tuple(carried))


def reshaped(operand: tuple[int, ...], shape: tuple[int, ...]) -> Movement:
    """The same numbers under another shape: group by group of axes with equal sizes."""
    groups = _groups(operand, shape)
    carried: list[int | None] = [None] * len(shape)
    for sources, results in groups:
        long_sources = [axis for axis in sources if operand[axis] != 1]
        long_results = [axis for axis in results if shape[axis] != 1]
        if len(long_sources) == len(long_results) == 1:
            carried[long_results[0]] = long_sources[0]

    def back(terms: Terms) -> Terms:
        operand_terms = [ZERO] * len(operand)
        for sources, results in groups:
            strides = row_strides(tuple(shape[axis] for axis in results))
            flat = total((terms[axis], s) for axis, s in zip(results, strides, strict=True))
            long = [axis for axis in sources if operand[axis] != 1]
            steps = row_strides(tuple(operand[axis] for axis in long))
            for number, (axis, step) in enumerate(zip(long, steps, strict=True)):
                operand_terms[axis] = quotient(flat, step, operand[axis] if number else 0)
        return tuple(operand_terms)

    return Movement(back, tuple(carried))


def movement(equation: Equation) -> Movement:
    """How the result of a structural equation is its operand, seen otherwise."""
    shape, params, primitive = equation.inputs[0].type.shape, equation.params, equation.primitive
    if primitive is TRANSPOSE:
        return transposed(params["axes"])
    if primitive is BROADCAST:
        return broadcast(shape, params["shape"])
    if primitive is SLICE:
        return sliced(shape, params["index"])
    if primitive is RESHAPE:
        return reshaped(shape, params["shape"])
    return Movement(lambda terms: terms, tuple(range(len(shape))))


def block_start(equation: Equation) -> int | None:
    """Where the result lies in the operand's memory, if it is a block of it in the same order."""
    shape = equation.inputs[0].type.shape
    primitive = equation.primitive
    if primitive is TRANSPOSE:
        long = [axis for axis in equation.params["axes"] if shape[axis] != 1]
        return 0 if long == sorted(long) else None
    if primitive is BROADCAST:
        return 0 if equation.outputs[0].type.size == equation.inputs[0].type.size else None
    if primitive is not SLICE:
        return 0
    start, cut = 0, False  # once an axis is cut, those before it must have one index
    entries = list(zip(equation.params["index"], shape, row_strides(shape), strict=True))
    for entry, length, stride in reversed(entries):
        first, stop, step = (entry, entry + 1, 1) if isinstance(entry, int) else entry
        count = len(range(first, stop, step))
        if not count or (count > 1 and (cut or step != 1)):
            return None
        start += first * stride
        cut = cut or count != length
    return start


def _groups(operand: tuple[int, ...], shape: tuple[int, ...]) -> list[tuple[list[int], list[int]]]:
    """The shortest runs of axes of both shapes with the same product."""
    groups, i, j = [], 0, 0
    while i < len(operand) or j < len(shape):
        sources, results, left, right = [], [], 1, 1
        while True:
            if left <= right and i < len(operand):
                left *= operand[i]
                sources.append(i)
                i += 1
            elif j < len(shape):
                right *= shape[j]
                results.append(j)
                j += 1
            elif i < len(operand):
                left *= operand[i]
                sources.append(i)
                i += 1
            if left == right and ((sources and results) or (i == len(operand) and j == len(shape))):
                break
        groups.append((sources, results))
    return groups


def written(index: Index, terms: Sequence[Term]) -> tuple[Terms, tuple[IndexGuard, ...]]:
    """For a write into a part: the terms within the part, and where they are inside it."""
    inner: list[Term] = []
    guards: list[IndexGuard] = []
    for entry, term in zip(index, terms, strict=True):
        if isinstance(entry, int):
            guards.append(IndexGuard(term, entry, entry + 1))
            continue
        start, stop, step = entry
        count = len(range(start, stop, step))
        last = start + (count - 1) * step
        low, high = min(start, last), max(start, last)
        guards.append(IndexGuard(term, low, high + 1, abs(step)))
        ahead = term.scaled(1, -start) if step > 0 else term.scaled(-1, start)
        inner.append(quotient(ahead, abs(step)))
    return tuple(inner), tuple(guards)


def needed(guards: Sequence[IndexGuard]) -> tuple[IndexGuard, ...]:
    """The guards that do not hold everywhere."""
    remaining = []
    for guard in guards:
        if guard.step == 1:
            low, high = guard.term.bounds({})
            if guard.low <= low and high < guard.high:
                continue
        remaining.append(guard)
    return tuple(remaining)


def whole(labels: Sequence[Label | None]) -> Terms:
    """Every label itself."""
    return tuple(map(label_term, labels))


def axis_values(labels: Sequence[Label | None], access: Access) -> dict[Label | Dynamic, Term]:
    """What the labels of the axes of an array are where an access reads it."""
    return {
        label.find(): term
        for label, term in zip(labels, access.terms, strict=True)
        if label is not None
    }


def stride_along(terms: Sequence[Term], strides: tuple[int, ...], lane: Label) -> int | None:
    """How far apart in memory the numbers of two lanes are; None where that is not constant.

    strides: of the array, for each axis.
    """
    pairs = list(zip(terms, strides, strict=True))
    if any(isinstance(atom, Quotient) for term in terms for atom in term.atoms()):
        pairs = [(recombined(total(pairs)), 1)]  # digits may be one number in memory
    stride = 0
    for term, step in pairs:
        for atom, factor in term.parts:
            if isinstance(atom, Label):
                stride += factor * step * (atom.find() is lane)
            elif not isinstance(atom, Quotient) or lane in atom.term.labels():
                return None  # known only when the program runs
    return stride


def changes_nothing(equation: Equation) -> bool:
    """Whether it is a conversion to the type that there is: a copy, which programs need not."""
    types = equation.inputs[:1]
    return equation.primitive is CAST and types[0].type.dtype == equation.outputs[0].type.dtype
