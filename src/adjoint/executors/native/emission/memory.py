"""Reading and writing arrays: addresses, vectors of neighbours, strides, masks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from adjoint.executors.native.emission.last_written import LastWritten
from adjoint.executors.native.graph.indices import (
    Dynamic,
    IndexGuard,
    Label,
    Quotient,
    SortedTerm,
    Term,
    recombined,
    sort_term,
    total,
)
from adjoint.executors.native.machine.module import (
    Block,
    Value,
    constant,
    memory_type,
    vector_type,
)
from adjoint.executors.native.schedule.storage import MemoryPlace
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


@dataclass(frozen=True, slots=True)
class Address:
    """A pointer to the first number, and how the lanes lie from there.

    stride: between lanes, in numbers; None where `vector` gives the offset of every lane.
    """

    pointer: str
    stride: int | None
    vector: str = ""


class Memory:
    """Writes the accesses to arrays of one function.

    bases: the pointer of each place. frames: the loops that are open, innermost last. unrolled:
    the values of the labels that are written out. dynamic: the values of index arrays. workspace:
    where it begins. last_written: the entries written last of arrays that a loop fills. gathered:
    of how many lanes gathers have been written.
    """

    def __init__(self, block: Block, places: dict[Variable, MemoryPlace]) -> None:
        self.block = block
        self.places = places
        self.bases: dict[Variable, str] = {}
        self.frames: list[Frame] = [Frame()]
        self.unrolled: dict[Label, int] = {}
        self.dynamic: dict[Dynamic, Value] = {}
        self.workspace = "%workspace"
        self.last_written: Mapping[Variable, LastWritten] = {}
        self.gathered: set[int] = set()
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

    def _evaluate(
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
        value = self.index(atom.term)
        wide = vector_type("i64", value.lanes)
        text = value.text
        for operation, number in (("sdiv", atom.divisor), ("srem", atom.modulus)):
            if number > 1:
                by = self.block.splat(constant(number, INDEX), value.lanes).text
                text = self.block.op(f"{operation} {wide} {text}, {by}")
        return Value((text,), INDEX, value.lanes)

    def index(self, term: Term) -> Value:
        """The value of a term: an i64, or a vector of them where the lanes differ."""
        parts = self._evaluate(self._sorted(term))
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
        """A term that differs from lane to lane, as `_evaluate` gives it."""
        text = self._sum(number, scalars)
        wide = vector_type("i64", lanes)
        total = self.block.splat(Value((text,), INDEX), lanes).text
        if stride:
            total = self.block.op(f"add {wide} {total}, {_steps(stride, lanes)}")
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

    def address(self, variable: Variable, place: MemoryPlace, terms: Sequence[Term]) -> Address:
        """Where a number of an array is; only the axes that the place has count."""
        key = (variable, tuple(terms))
        sorted_term = self._sorted_terms.get(key)
        if sorted_term is None:
            flat = total(
                (terms[axis], s) for axis, s in zip(place.axes, place.strides, strict=True)
            )
            sorted_term = self._sorted_terms[key] = sort_term(recombined(flat))
        number, scalars, stride, vectors = self._evaluate(sorted_term)
        base = self.bases[variable]
        scalar = memory_type(variable.type.dtype)
        width = max(place.lanes, 1) * (2 if variable.type.dtype.kind == "c" else 1)
        if scalars:
            # Addresses that differ by a number share the rest of their computation.
            cached = (variable, tuple(scalars))
            pointer = self.frame.pointers.get(cached)
            if pointer is None:
                offset = self._sum(0, [(text, factor * width) for text, factor in scalars])
                pointer = self.block.op(f"getelementptr {scalar}, ptr {base}, i64 {offset}")
                self.frame.pointers[cached] = pointer
            base = pointer
        if number:
            base = self.block.op(f"getelementptr {scalar}, ptr {base}, i64 {number * width}")
        if not vectors:
            return Address(base, stride)
        lanes = max(frame.lanes for frame in self.frames)
        wide = vector_type("i64", lanes)
        offsets = _steps(stride, lanes)
        for vector, factor in vectors:
            part = self._multiple(vector, factor, lanes)
            offsets = self.block.op(f"add {wide} {offsets}, {part}")
        return Address(base, None, offsets)

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
            held = mask if held is None else self._both(held, mask)
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

    def _both(self, one: Value, other: Value) -> Value:
        lanes = max(one.lanes, other.lanes)
        one, other = self.block.splat(one, lanes), self.block.splat(other, lanes)
        wide = vector_type("i1", lanes)
        return Value((self.block.op(f"and {wide} {one.text}, {other.text}"),), one.dtype, lanes)

    # --- loads and stores -------------------------------------------------------------------------

    def tag(self, place: MemoryPlace) -> str:
        """What tells LLVM that places of different tags are different memory."""
        if place.kind == "input":
            return ", !invariant.load !0"
        return self._alias_tag(place.tag)

    def _alias_tag(self, tag: int) -> str:
        return f", !tbaa {self.block.module.alias_tag(tag)}"

    def load(self, variable: Variable, terms: Sequence[Term], mask: Value | None = None) -> Value:
        """The number of an array at some terms; where the mask does not hold, 0."""
        place = self.places[variable]
        address = self.address(variable, place, terms)
        key = (variable, address, mask)
        loaded = self.frame.loads.get(key)
        if loaded is None:
            loaded = self.load_at(variable.type.dtype, place, address, mask)
            self.frame.loads[key] = loaded
        return loaded

    def load_at(
        self, dtype: np.dtype[Any], place: MemoryPlace, address: Address, mask: Value | None
    ) -> Value:
        """The number, or the vector of numbers, at an address; where the mask does not hold, 0."""
        lane_frame = self.lane_frame()
        lanes = lane_frame.lanes if lane_frame else 0
        if address.stride == 0 and not place.lanes and (mask is None or not mask.lanes):
            lanes = 0
        parts = 2 if dtype.kind == "c" else 1
        scalar = memory_type(dtype)
        if mask is not None and not mask.lanes and lanes:
            mask = self.block.splat(mask, lanes)
        texts = []
        for part in range(parts):
            pointer = address.pointer
            if place.lanes and address.stride == 0 and mask is None:
                pointer = self._beside(pointer, scalar, part * place.lanes)
                text = self._plain(vector_type(scalar, lanes), pointer, place, dtype)
            elif place.lanes:
                text = self._own_lanes(scalar, address, place, mask, parts, part)
            elif not lanes:
                pointer = self._beside(pointer, scalar, part)
                if mask is not None:
                    safe = self.block.stack("[16 x i8]", 16)
                    self.block.opening.append(f"  store [16 x i8] zeroinitializer, ptr {safe}")
                    pointer = self.block.op(f"select i1 {mask.text}, ptr {pointer}, ptr {safe}")
                text = self._plain(scalar, pointer, place, dtype)
            else:
                text = self._lanes(scalar, address, place, lanes, mask, parts, part)
            texts.append(self._registers(text, dtype, lanes))
        return Value(tuple(texts), dtype, lanes)

    def _beside(self, pointer: str, scalar: str, steps: int) -> str:
        if not steps:
            return pointer
        return self.block.op(f"getelementptr {scalar}, ptr {pointer}, i64 {steps}")

    def _plain(self, type_text: str, pointer: str, place: MemoryPlace, dtype: np.dtype[Any]) -> str:
        align = dtype.itemsize // (2 if dtype.kind == "c" else 1)
        return self.block.op(f"load {type_text}, ptr {pointer}, align {align}{self.tag(place)}")

    def _lanes(
        self,
        scalar: str,
        address: Address,
        place: MemoryPlace,
        lanes: int,
        mask: Value | None,
        parts: int,
        part: int,
    ) -> str:
        """One part of the numbers of all lanes, neighbours in memory or not."""
        wide = vector_type(scalar, lanes)
        size = _bytes(scalar)
        tag = self.tag(place)
        if address.stride == 1 and parts == 1:
            if mask is None:
                return self.block.op(f"load {wide}, ptr {address.pointer}, align {size}{tag}")
            name = f"llvm.masked.load.v{lanes}{_suffix(scalar)}.p0"
            # With the alignment as an operand, as in all modules: newer LLVM understands that too,
            # but both forms in one module crash its parser.
            self.block.module.declare(
                name, f"declare {wide} @{name}(ptr, i32, <{lanes} x i1>, {wide})"
            )
            return self.block.op(
                f"call {wide} @{name}(ptr {address.pointer}, i32 {size}, <{lanes} x i1> "
                f"{mask.text}, {wide} zeroinitializer){tag if place.kind != 'input' else ''}"
            )
        pointers = self._pointers(scalar, address, lanes, parts, part)
        return self._gathered(scalar, pointers, lanes, mask)

    def _own_lanes(
        self,
        scalar: str,
        address: Address,
        place: MemoryPlace,
        mask: Value | None,
        parts: int,
        part: int,
    ) -> str:
        """One part of what every lane has in a place of its own within an array of vectors."""
        lanes = place.lanes
        apart = self._pointers(scalar, address, lanes, parts * lanes, part * lanes)
        wide = vector_type("i64", lanes)
        return self._gathered(
            scalar,
            self.block.op(
                f"getelementptr {scalar}, <{lanes} x ptr> {apart}, {wide} {_steps(1, lanes)}"
            ),
            lanes,
            mask,
        )

    def _gathered(self, scalar: str, pointers: str, lanes: int, mask: Value | None) -> str:
        self.gathered.add(lanes)
        wide = vector_type(scalar, lanes)
        held = mask.text if mask is not None else _true(lanes)
        name = f"llvm.masked.gather.v{lanes}{_suffix(scalar)}.v{lanes}p0"
        self.block.module.declare(
            name, f"declare {wide} @{name}(<{lanes} x ptr>, i32, <{lanes} x i1>, {wide})"
        )
        return self.block.op(
            f"call {wide} @{name}(<{lanes} x ptr> {pointers}, i32 {_bytes(scalar)}, "
            f"<{lanes} x i1> {held}, {wide} zeroinitializer)"
        )

    def _pointers(self, scalar: str, address: Address, lanes: int, parts: int, part: int) -> str:
        wide = vector_type("i64", lanes)
        if address.stride is not None:
            steps = _steps(address.stride * parts, lanes, part)
        else:
            steps = address.vector
            if parts > 1:
                by = self.block.splat(constant(parts, INDEX), lanes).text
                steps = self.block.op(f"mul {wide} {steps}, {by}")
                more = self.block.splat(constant(part, INDEX), lanes).text
                steps = self.block.op(f"add {wide} {steps}, {more}")
        return self.block.op(f"getelementptr {scalar}, ptr {address.pointer}, {wide} {steps}")

    def _registers(self, text: str, dtype: np.dtype[Any], lanes: int) -> str:
        """Booleans are bytes in memory."""
        if dtype.kind != "b":
            return text
        return self.block.op(
            f"trunc {vector_type('i8', lanes)} {text} to {vector_type('i1', lanes)}"
        )

    def store(self, variable: Variable, terms: Sequence[Term], value: Value) -> None:
        """Write the number of an array at some terms."""
        place = self.places[variable]
        address = self.address(variable, place, terms)
        dtype = variable.type.dtype
        lane_frame = self.lane_frame()
        lanes = lane_frame.lanes if lane_frame else 0
        if lanes and (place.lanes or address.stride != 0):
            value = self.splat(value, lanes)
        elif value.lanes:
            raise AssertionError("a vector is stored where there is a single number")
        parts = len(value.parts)
        scalar = memory_type(dtype)
        tag = self._alias_tag(place.tag)
        for part, text in enumerate(value.parts):
            if dtype.kind == "b":
                to = vector_type("i8", value.lanes)
                text = self.block.op(f"zext {vector_type('i1', value.lanes)} {text} to {to}")
            wide = vector_type(scalar, value.lanes)
            size = _bytes(scalar)
            if not value.lanes or place.lanes or (address.stride == 1 and parts == 1):
                pointer = self._beside(address.pointer, scalar, part * max(place.lanes, 1))
                self.block.do(f"store {wide} {text}, ptr {pointer}, align {size}{tag}")
                continue
            if address.stride is None:
                raise AssertionError("arrays are written where loops say")
            for lane in range(value.lanes):
                step = lane * address.stride * parts + part
                one = self.block.op(f"extractelement {wide} {text}, i32 {lane}")
                pointer = self._beside(address.pointer, scalar, step)
                self.block.do(f"store {scalar} {one}, ptr {pointer}, align {size}{tag}")


def _bytes(scalar: str) -> int:
    return {"float": 4, "double": 8}.get(scalar) or int(scalar[1:]) // 8


def _suffix(scalar: str) -> str:
    return {"float": "f32", "double": "f64"}.get(scalar, scalar)


def _steps(stride: int, lanes: int, first: int = 0) -> str:
    return "<" + ", ".join(f"i64 {first + lane * stride}" for lane in range(lanes)) + ">"


def _true(lanes: int) -> str:
    return "<" + ", ".join(["i1 true"] * lanes) + ">"
