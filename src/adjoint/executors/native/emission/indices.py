"""The values of indices within the loops that are open, and whether guards of them hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from adjoint.executors.native.graph.indices import (
    Dynamic,
    IndexGuard,
    Label,
    Quotient,
    SortedTerm,
    Term,
    sort_term,
)
from adjoint.executors.native.machine.module import Block, Value, constant, vector_type
from adjoint.program import Variable

INDEX = np.dtype(np.int64)


@dataclass
class Frame:
    """One loop while it is written, or the whole function.

    position: the value of the label, or that of its first lane. within: the least and the greatest
    value that the label has here, in any lane, if more than its extent is known. fresh: where there
    are lanes, which of them have not been computed by the round before; None for all. registers:
    the values known in it, by variable and unrolled indices. along: results that were computed
    along with others, by primitive and operand. truths: of guards, by what they ask of which index.
    """

    label: Label | None = None
    lanes: int = 0
    position: str = "0"
    within: tuple[int, int] | None = None
    fresh: Value | None = None
    registers: dict[Variable, dict[tuple[int, ...], Value]] = field(default_factory=dict)
    pointers: dict[Any, str] = field(default_factory=dict)
    loads: dict[Any, Value] = field(default_factory=dict)
    splats: dict[Value, Value] = field(default_factory=dict)
    reciprocals: dict[Value, Value] = field(default_factory=dict)
    along: dict[tuple[str, Value], Value] = field(default_factory=dict)
    indices: dict[Any, Value] = field(default_factory=dict)
    truths: dict[Any, Value] = field(default_factory=dict)


class Indices:
    """Writes the indices of one function.

    frames: the loops that are open, innermost last. unrolled: the values of the labels that are
    written out. dynamic: the values of index arrays.
    """

    def __init__(self, block: Block) -> None:
        self.block = block
        self.frames: list[Frame] = [Frame()]
        self.unrolled: dict[Label, int] = {}
        self.dynamic: dict[Dynamic, Value] = {}
        self._sorted_terms: dict[Any, SortedTerm] = {}

    # --- loops ------------------------------------------------------------------------------------

    @property
    def frame(self) -> Frame:
        """The innermost loop."""
        return self.frames[-1]

    def lane_frame(self) -> Frame | None:
        """The open loop that has lanes."""
        return next((frame for frame in self.frames if frame.lanes), None)

    def splat(self, value: Value, lanes: int) -> Value:
        """The value in every lane, once in each loop."""
        if not lanes or value.lanes:
            return value
        vector = self.frame.splats.get(value)
        if vector is None:
            vector = self.frame.splats[value] = self.block.splat(value, lanes)
        return vector

    # --- indices ----------------------------------------------------------------------------------

    def evaluate(
        self, sorted_term: SortedTerm
    ) -> tuple[int, list[tuple[str, int]], int, list[tuple[str, int]]]:
        """A number, multiples of scalars, a stride between lanes, multiples of vectors."""
        constant_part = sorted_term.offset
        for label, factor in sorted_term.unrolled:
            constant_part += factor * self.unrolled[label]
        scalars: list[tuple[str, int]] = []
        stride = 0
        for label, factor in sorted_term.rolled:
            for frame in self.frames:
                if frame.label is label:
                    scalars.append((frame.position, factor))
                    if frame.lanes:
                        stride = factor
                    break
            else:
                raise AssertionError(f"{label} is used outside of its loop")
        vectors: list[tuple[str, int]] = []
        for atom, factor in sorted_term.odd:
            value = self._odd(atom)
            (vectors if value.lanes else scalars).append((value.text, factor))
        return constant_part, scalars, stride, vectors

    def _odd(self, atom: Quotient | Dynamic) -> Value:
        if isinstance(atom, Dynamic):
            return self.dynamic[atom]
        value = self._dividend(atom)
        text = self._divided("sdiv", value, atom.divisor)
        value = Value((text,), INDEX, value.lanes)
        return Value((self._divided("srem", value, atom.modulus),), INDEX, value.lanes)

    def _dividend(self, atom: Quotient) -> Value:
        """What is divided, and whole periods more of it where it may be negative.

        Rests count from the lower multiple: -6 // 16 % 9 is 8. Processors round toward zero. Terms
        are negative where parts of arrays are turned and moved, of which only rests count.
        """
        term, period = atom.term, atom.divisor * atom.modulus
        if not period:
            return self.index(term)
        if not any(isinstance(inner, Dynamic) for inner in term.atoms()):
            least, _ = term.bounds(self._ranges(term))
            return self.index(term.scaled(1, max(-(least // period), 0) * period))
        value = self.index(term)
        rest = self._divided("srem", value, period)
        more = self.block.splat(constant(period, INDEX), value.lanes).text
        wide = vector_type("i64", value.lanes)
        positive = Value((self.block.op(f"add {wide} {rest}, {more}"),), INDEX, value.lanes)
        return Value((self._divided("srem", positive, period),), INDEX, value.lanes)

    def _divided(self, operation: str, value: Value, number: int) -> str:
        """A quotient or a rest of it; by 1 and 0 nothing is divided."""
        if number <= 1:
            return value.text
        by = self.block.splat(constant(number, INDEX), value.lanes).text
        return self.block.op(f"{operation} {vector_type('i64', value.lanes)} {value.text}, {by}")

    def index(self, term: Term) -> Value:
        """The value of a term: an i64, or a vector of them where the lanes differ."""
        parts = self.evaluate(self._sorted(term))
        number, scalars, stride, vectors = parts
        lane_frame = self.lane_frame()
        if not (stride or vectors) or lane_frame is None:
            return Value((self._sum(number, scalars),), INDEX)
        key = number, tuple(scalars), stride, tuple(vectors)
        known = self.frame.indices.get(key)
        if known is None:
            known = self.frame.indices[key] = self._in_lanes(*parts, lane_frame.lanes)
        return known

    def _in_lanes(
        self,
        number: int,
        scalars: Sequence[tuple[str, int]],
        stride: int,
        vectors: Sequence[tuple[str, int]],
        lanes: int,
    ) -> Value:
        """A term that differs from lane to lane, as `evaluate` gives it."""
        text = self._sum(number, scalars)
        wide = vector_type("i64", lanes)
        total = self.block.splat(Value((text,), INDEX), lanes).text
        if stride:
            total = self.block.op(f"add {wide} {total}, {lane_steps(stride, lanes)}")
        for vector, factor in vectors:
            total = self.block.op(f"add {wide} {total}, {self._multiple(vector, factor, lanes)}")
        return Value((total,), INDEX, lanes)

    def _sorted(self, term: Term) -> SortedTerm:
        sorted_term = self._sorted_terms.get(term)
        if sorted_term is None:
            sorted_term = self._sorted_terms[term] = sort_term(term)
        return sorted_term

    def _multiple(self, text: str, factor: int, lanes: int = 0) -> str:
        if factor == 1:
            return text
        by = self.block.splat(constant(factor, INDEX), lanes).text
        return self.block.op(f"mul {vector_type('i64', lanes)} {text}, {by}")

    def _sum(self, number: int, scalars: Sequence[tuple[str, int]]) -> str:
        total = ""
        for text, factor in scalars:
            part = self._multiple(text, factor)
            total = self.block.op(f"add i64 {total}, {part}") if total else part
        if not total:
            return str(number)
        return self.block.op(f"add i64 {total}, {number}") if number else total

    # --- guards -----------------------------------------------------------------------------------

    def holds(self, guards: Sequence[IndexGuard]) -> bool | Value:
        """Whether all guards hold: known here, or an i1, or one for each lane."""
        known = [guard.known(self._ranges(guard.term)) for guard in guards]
        if False in known:
            return False
        held: Value | None = None
        for guard, holds in zip(guards, known, strict=True):
            if holds:
                continue
            value = self.index(guard.term)
            key = value, guard.low, guard.high, guard.step
            mask = self.frame.truths.get(key)
            if mask is None:
                mask = self.frame.truths[key] = self._truth(value, guard)
            held = mask if held is None else self.both(held, mask)
        return True if held is None else held

    def _truth(self, value: Value, guard: IndexGuard) -> Value:
        """Whether a guard holds of this value of its term."""
        wide = vector_type("i64", value.lanes)

        def number_text(number: int) -> str:
            return self.block.splat(constant(number, INDEX), value.lanes).text

        moved = self.block.op(f"sub {wide} {value.text}, {number_text(guard.low)}")
        length = number_text(guard.high - guard.low)
        text = self.block.op(f"icmp ult {wide} {moved}, {length}")
        if guard.step > 1:
            rest = self.block.op(f"urem {wide} {moved}, {number_text(guard.step)}")
            even = self.block.op(f"icmp eq {wide} {rest}, {number_text(0)}")
            text = self.block.op(f"and {vector_type('i1', value.lanes)} {text}, {even}")
        return Value((text,), np.dtype(bool), value.lanes)

    def _ranges(self, term: Term) -> dict[Label, tuple[int, int]]:
        """The least and the greatest value of those labels of a term of which they are known."""
        known = [(label, self.range_of(label)) for label in term.labels()]
        return {label: within for label, within in known if within is not None}

    def range_of(self, label: Label) -> tuple[int, int] | None:
        """The least and the greatest value of a label here; None if it may have any."""
        if label.unrolled:
            return self.unrolled[label], self.unrolled[label]
        frame = next((frame for frame in self.frames if frame.label is label), None)
        return frame.within if frame is not None else None

    def is_within(self, variable: Variable, terms: Sequence[Term]) -> bool:
        """Whether terms are inside of an array whatever values their labels have here."""
        for term, length in zip(terms, variable.type.shape, strict=True):
            if any(isinstance(atom, Dynamic) for atom in term.atoms()):
                return False
            least, most = term.bounds(self._ranges(term))
            if least < 0 or most >= length:
                return False
        return True

    def both(self, one: Value, other: Value) -> Value:
        """Where two masks hold."""
        lanes = max(one.lanes, other.lanes)
        one, other = self.block.splat(one, lanes), self.block.splat(other, lanes)
        wide = vector_type("i1", lanes)
        return Value((self.block.op(f"and {wide} {one.text}, {other.text}"),), one.dtype, lanes)


def lane_steps(stride: int, lanes: int, first: int = 0) -> str:
    """A vector of numbers that lie so far apart."""
    return "<" + ", ".join(f"i64 {first + lane * stride}" for lane in range(lanes)) + ">"
