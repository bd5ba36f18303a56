"""Reading and writing arrays: addresses, vectors of neighbours, strides, masks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from adjoint.executors.native.emission.fetching import fetch_ahead
from adjoint.executors.native.emission.indices import INDEX, Indices, lane_steps
from adjoint.executors.native.emission.last_written import LastWritten
from adjoint.executors.native.graph.indices import (
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


class Address(NamedTuple):
    """A pointer to the first number, and how the lanes lie from there.

    stride: between lanes, in numbers; None where `vector` gives the offset of every lane.
    """

    pointer: str
    stride: int | None
    vector: str = ""


class Memory(Indices):
    """Writes the accesses to arrays of one function.

    bases: the pointer of each place. workspace: where it begins. last_written: the entries written
    last of arrays that a loop fills. gathered: of how many lanes gathers have been written.
    """

    def __init__(self, block: Block, places: dict[Variable, MemoryPlace]) -> None:
        super().__init__(block)
        self.places = places
        self.bases: dict[Variable, str] = {}
        self.workspace = "%workspace"
        self.last_written: Mapping[Variable, LastWritten] = {}
        self.gathered: set[int] = set()

    def address(self, variable: Variable, place: MemoryPlace, terms: Sequence[Term]) -> Address:
        """Where a number of an array is; only the axes that the place has count."""
        if not place.axes:
            return Address(self.bases[variable], 0)
        key = (variable, tuple(terms))
        sorted_term = self._sorted_terms.get(key)
        if sorted_term is None:
            flat = total(
                (terms[axis], s) for axis, s in zip(place.axes, place.strides, strict=True)
            )
            sorted_term = self._sorted_terms[key] = sort_term(recombined(flat))
        number, scalars, stride, vectors = self.evaluate(sorted_term)
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
        offsets = lane_steps(stride, lanes)
        for vector, factor in vectors:
            part = self._multiple(vector, factor, lanes)
            offsets = self.block.op(f"add {wide} {offsets}, {part}")
        return Address(base, None, offsets)

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
            self._fetch_ahead(variable, terms, address)
            loaded = self.load_at(variable.type.dtype, place, address, mask)
            self.frame.loads[key] = loaded
        return loaded

    def _fetch_ahead(
        self, variable: Variable, terms: Sequence[Term], address: Address, written: bool = False
    ) -> None:
        if address.stride == 1 and not self.places[variable].lanes:
            where = self._sorted_terms[variable, tuple(terms)]
            labels = [frame.label for frame in self.frames]
            fetch_ahead(self.block, variable, where, address.pointer, labels, written)

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
        step = parts * (address.stride or 0)
        if mask is None and 0 < abs(step) <= _NEAR:
            pointer = self._beside(address.pointer, scalar, part)
            return self._apart(scalar, pointer, step, lanes, tag)
        pointers = self._pointers(scalar, address, lanes, parts, part)
        return self._gathered(scalar, pointers, lanes, mask)

    def _apart(self, scalar: str, pointer: str, step: int, lanes: int, tag: str) -> str:
        """Numbers a few places apart, out of vectors of neighbours: quicker than a gather.

        The last vector ends with the last number that is wanted: nothing beyond it is read.
        """
        wide = vector_type(scalar, lanes)
        offsets = [step * lane - min(step * (lanes - 1), 0) for lane in range(lanes)]
        first = self._beside(pointer, scalar, min(step * (lanes - 1), 0))
        chosen, taken = "poison", 0
        for index in range(abs(step)):
            start = min(index * lanes, max(offsets) - lanes + 1)
            place = self._beside(first, scalar, start)
            vector = self.block.op(f"load {wide}, ptr {place}, align {_bytes(scalar)}{tag}")
            lanes_of = [
                lane if offset < taken else lanes + offset - start if offset < start + lanes else -1
                for lane, offset in enumerate(offsets)
            ]
            picked = ", ".join(f"i32 {lane if lane >= 0 else 'poison'}" for lane in lanes_of)
            chosen = self.block.op(
                f"shufflevector {wide} {chosen}, {wide} {vector}, <{lanes} x i32> <{picked}>"
            )
            taken = start + lanes
        return chosen

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
                f"getelementptr {scalar}, <{lanes} x ptr> {apart}, {wide} {lane_steps(1, lanes)}"
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
            steps = lane_steps(address.stride * parts, lanes, part)
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
        self._fetch_ahead(variable, terms, address, written=True)
        if parts == 2 and value.lanes and not place.lanes and address.stride == 1:
            self._store_pairs(scalar, address.pointer, value, tag)
            return
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

    def _store_pairs(self, scalar: str, pointer: str, value: Value, tag: str) -> None:
        """Write complex numbers side by side: real parts and imaginary ones in turns."""
        lanes = value.lanes
        wide, pairs = vector_type(scalar, lanes), vector_type(scalar, 2 * lanes)
        turns = ", ".join(f"i32 {lane}, i32 {lanes + lane}" for lane in range(lanes))
        real, imaginary = value.parts
        both = self.block.op(
            f"shufflevector {wide} {real}, {wide} {imaginary}, <{2 * lanes} x i32> <{turns}>"
        )
        self.block.do(f"store {pairs} {both}, ptr {pointer}, align {_bytes(scalar)}{tag}")


_NEAR: Final = 8  # numbers from one lane to the next, up to which vectors hold several lanes


def _bytes(scalar: str) -> int:
    return {"float": 4, "double": 8}.get(scalar) or int(scalar[1:]) // 8


def _suffix(scalar: str) -> str:
    return {"float": "f32", "double": "f64"}.get(scalar, scalar)


def _true(lanes: int) -> str:
    return "<" + ", ".join(["i1 true"] * lanes) + ">"
