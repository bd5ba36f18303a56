"""Reductions: the memory that they gather in, and how sums keep their digits.

A sum gathers sixteen rounds of its loop and then adds them to a total whose rounding errors are
kept beside it (Neumaier 1974, the two-sum of Knuth), so that its error does not grow with the
length. NumPy's pairwise sum has an error of some (16 + log2 n) roundings; this one of about 20.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from adjoint.executors.native.elements import combine, identity
from adjoint.executors.native.emission.control import Control
from adjoint.executors.native.emission.memory import Memory
from adjoint.executors.native.emission.values import Values
from adjoint.executors.native.graph.indices import Label
from adjoint.executors.native.graph.nodes import ArrayNode, Kind
from adjoint.executors.native.machine.module import (
    Block,
    Value,
    constant,
    memory_type,
    register_type,
    scalar_type,
    vector_type,
)
from adjoint.executors.native.schedule.order import Loop
from adjoint.executors.native.schedule.storage import MemoryPlace, own_bytes, rolled_axes
from adjoint.program import Variable


@dataclass
class Gathering:
    """Where a reduction gathers.

    lanes: of what is gathered. parts: in registers, for each instance and turn, its stack memory:
    for the rounds at hand, the total and its rounding errors. memory: the variable in whose memory
    it gathers instead; what loops within add to the same place there is in registers meanwhile.
    """

    combine: str
    lanes: int
    lane_reduced: bool
    parts: dict[tuple[int, ...], list[list[list[str]]]] = field(default_factory=dict)
    memory: Variable | None = None


def innermost(values: Values) -> dict[Loop, list[ArrayNode]]:
    """The outermost of the loops over what is reduced alone that are within others of a result."""
    reductions: dict[Loop, list[ArrayNode]] = {}
    for node in values.graph.nodes:
        way = values.ways.get(node.number, ())
        reduced = {label.find() for label in node.reduced}
        if node.kind is not Kind.REDUCE or all(loop.label in reduced for loop in way):
            continue
        first = len(way)
        while way[first - 1].label in reduced:
            first -= 1
        if any(loop.label in reduced for loop in way[:first]) and first < len(way):
            reductions.setdefault(way[first], []).append(node)
    return reductions


class Accumulators:
    """The reductions of one function."""

    def __init__(self, values: Values, control: Control) -> None:
        self.memory: Memory = values.memory
        self.block: Block = values.block
        self.home = values.home
        self.select = values.select
        self.ways = values.ways
        self.storage = values.storage
        self.graph = values.graph
        self.control = control
        self.turn = 0  # which of the rounds that stand side by side is written
        self.part = ""  # the number of the part of a loop that gathers, where there are several
        self._gatherings: dict[int, Gathering] = {}
        self._around: dict[int, Gathering] = {}  # that to which one in registers is added
        self._inmost = innermost(values)

    def inner_labels(self, node: ArrayNode) -> list[Label]:
        """The rolled labels of the result whose loops are within that of the reduction."""
        within = {loop.label for loop in self.home(node)}
        return [label for label in rolled_axes(node).values() if label not in within]

    def compensated(self, node: ArrayNode) -> bool:
        """Whether the rounding errors of a sum are kept."""
        return (
            node.combine == "sum"
            and node.output.type.dtype.kind in "fc"
            and (node.number in self._around or not self.inner_labels(node))
        )

    def _lane_loop(self, node: ArrayNode) -> Loop | None:
        return next((loop for loop in self.ways[node.number] if loop.lanes), None)

    # --- starting ---------------------------------------------------------------------------------

    def start(self, node: ArrayNode, turns: int, private: bool) -> None:
        """Memory for a reduction, holding the neutral element.

        private: whether a part gathers beside others, and so not in the memory of the result.
        """
        loop = self._lane_loop(node)
        lane_reduced = loop is not None and loop.label in {x.find() for x in node.reduced}
        inner = self.inner_labels(node)
        along = loop is not None and loop.label in inner
        lanes = loop.lanes if loop is not None and not along else 0
        gathering = Gathering(node.combine, lanes, lane_reduced)
        self._gatherings[node.number] = gathering
        dtype = node.output.type.dtype
        neutral = identity(node.combine, dtype)
        if not inner:
            return self._start_registers(node, gathering, neutral, turns)
        gathering.memory = node.output
        if lane_reduced or private:
            gathering.memory = self._own_memory(node, lanes if lane_reduced else 0)
        target = gathering.memory
        labels = [*inner, *self._unrolled(node)]

        def clear() -> None:
            lane_frame = self.memory.lane_frame()
            if lane_reduced or lane_frame is not None:
                value = self.block.splat(neutral, lanes)
                self._store_lanes(node, target, value)
            else:
                self.memory.store(target, node.terms(), neutral)

        self.control.nest(labels, clear)
        return None

    def continued(self, loop: Loop) -> list[ArrayNode]:
        """The reductions that gather in memory, and in registers during this loop."""
        return self._inmost.get(loop, [])

    def start_within(self, node: ArrayNode, turns: int) -> None:
        """Registers for the rounds of a loop that all go into the same place in memory."""
        around = self._around[node.number] = self._gatherings[node.number]
        loop = self._lane_loop(node)
        lanes = loop.lanes if loop is not None else 0
        gathering = Gathering(node.combine, lanes, around.lane_reduced)
        self._gatherings[node.number] = gathering
        self._start_registers(
            node, gathering, identity(node.combine, node.output.type.dtype), turns
        )

    def finish_within(self, node: ArrayNode) -> None:
        """Add what was gathered in registers to what is in memory."""
        gathering = self._gatherings[node.number]
        around = self._gatherings[node.number] = self._around.pop(node.number)
        target = around.memory
        assert target is not None

        def add() -> None:
            value = self._total(node, gathering)
            if self.memory.lane_frame() is None:
                old = self._read(node, target)
            else:
                old = self._load_lanes(node, target)
            self._store_lanes(node, target, combine(self.block, node.combine, old, value))

        self._over_unrolled(self._unrolled(node), add)

    def _unrolled(self, node: ArrayNode) -> list[Label]:
        labels = (label.find() for label in node.labels if label is not None)
        return [label for label in labels if label.unrolled]

    def _start_registers(
        self, node: ArrayNode, gathering: Gathering, neutral: Value, turns: int
    ) -> None:
        count = 3 if self.compensated(node) else 1
        zero = constant(0, neutral.dtype)

        def slot(number: int) -> list[str]:
            value = self.block.splat(zero if number else neutral, gathering.lanes)
            places = []
            for part in value.parts:
                place = self.block.stack(register_type(value))
                self.block.do(f"store {register_type(value)} {part}, ptr {place}")
                places.append(place)
            return places

        def clear() -> None:
            slots = [[slot(number) for number in range(count)] for _ in range(turns)]
            gathering.parts[self._key(node)] = slots

        labels = self._unrolled(node)
        self._over_unrolled(labels, clear)

    def _over_unrolled(self, labels: Sequence[Label], body: Callable[[], None]) -> None:
        if not labels:
            body()
            return
        for value in range(labels[0].extent):
            self.memory.unrolled[labels[0]] = value
            self._over_unrolled(labels[1:], body)

    def _key(self, node: ArrayNode) -> tuple[int, ...]:
        return tuple(self.memory.unrolled[label] for label in self._unrolled(node))

    def _own_memory(self, node: ArrayNode, lanes: int) -> Variable:
        """Memory in which every lane, or every part of a loop, gathers for itself."""
        own = Variable(node.output.type)
        within = {loop.label for loop in self.home(node)}
        axes = tuple(
            axis
            for axis, label in enumerate(node.labels)
            if label is None or label.find() not in within
        )
        shape = tuple(node.output.type.shape[axis] for axis in axes)
        strides = self.graph.strides(node.output, axes)
        scratch = self.storage.scratch[node.number]
        offset = scratch.offset
        place = MemoryPlace("workspace", offset, axes, strides, lanes, scratch.tag, 0)
        self.memory.places[own] = place
        base = self.block.op(f"getelementptr i8, ptr {self.memory.workspace}, i64 {offset}")
        if self.part:
            step = self.block.op(f"mul i64 {self.part}, {own_bytes(node, shape, lanes)}")
            base = self.block.op(f"getelementptr i8, ptr {base}, i64 {step}")
        self.memory.bases[own] = base
        return own

    # --- adding -----------------------------------------------------------------------------------

    def combined(self, node: ArrayNode, parts: Sequence[Value]) -> Value:
        """The parts of one instance, combined as a tree."""
        values = list(parts)
        lanes = max(value.lanes for value in values)
        values = [self.memory.splat(value, lanes) for value in values]
        while len(values) > 1:
            pairs = zip(values[::2], values[1::2], strict=False)
            rest = values[len(values) // 2 * 2 :]
            values = [combine(self.block, node.combine, one, other) for one, other in pairs] + rest
        return values[0]

    def from_zero(self, node: ArrayNode, value: Value) -> Value:
        """The first term of a sum that starts from 0: that of negative zeros is 0.

        The sum of the first term and 0 is one instruction with the product that the term may be.
        """
        if node.combine != "sum" or value.dtype.kind not in "fc":
            return value
        zero = self.memory.splat(constant(0, value.dtype), value.lanes)
        return combine(self.block, "sum", value, zero)

    def add(self, node: ArrayNode, value: Value) -> None:
        """Take one more value in."""
        gathering = self._gatherings[node.number]
        lane_frame = self.memory.lane_frame()
        if lane_frame is not None:
            value = self.memory.splat(value, lane_frame.lanes)
            along = self._lane_loop(node)
            if lane_frame.fresh is not None and along is not None:
                home = {loop.label for loop in self.home(node)}
                if along.label not in home:  # lanes that were computed before do not count again
                    neutral = self.memory.splat(identity(node.combine, value.dtype), value.lanes)
                    value = self.select(lane_frame.fresh, value, neutral)
        if gathering.memory is None:
            for place, part in self._slots(node, gathering, 0, value):
                self.block.do(f"store {register_type(value)} {part}, ptr {place}")
            return
        old = self._load_lanes(node, gathering.memory)
        self._store_lanes(node, gathering.memory, combine(self.block, node.combine, old, value))

    def _slots(
        self, node: ArrayNode, gathering: Gathering, number: int, value: Value
    ) -> list[tuple[str, str]]:
        turns = gathering.parts[self._key(node)]
        # The rounds may stand side by side for another reduction only, which begins further inside.
        places = turns[self.turn % len(turns)][number]
        wide = register_type(value)
        old = Value(
            tuple(self.block.op(f"load {wide}, ptr {place}") for place in places),
            value.dtype,
            value.lanes,
        )
        new = combine(self.block, node.combine, old, value)
        return list(zip(places, new.parts, strict=True))

    def _load_lanes(self, node: ArrayNode, target: Variable) -> Value:
        place = self.memory.places[target]
        address = self.memory.address(target, place, node.terms())
        return self.memory.load_at(target.type.dtype, place, address, None)

    def _store_lanes(self, node: ArrayNode, target: Variable, value: Value) -> None:
        place = self.memory.places[target]
        if not place.lanes or self.memory.lane_frame() is not None:
            self.memory.store(target, node.terms(), value)
            return
        address = self.memory.address(target, place, node.terms())
        scalar = memory_type(value.dtype)
        wide = vector_type(scalar, value.lanes)
        for number, text in enumerate(value.parts):
            pointer = self.block.op(
                f"getelementptr {scalar}, ptr {address.pointer}, i64 {number * value.lanes}"
            )
            if value.dtype.kind == "b":
                text = self.block.op(f"zext {register_type(value)} {text} to {wide}")
            self.block.do(f"store {wide} {text}, ptr {pointer}, align 1")

    def carry_over(self, node: ArrayNode) -> None:
        """Add the rounds at hand to the total, and keep the rounding error of that."""
        gathering = self._gatherings[node.number]
        scalar = scalar_type(node.output.type.dtype)
        wide = vector_type(scalar, gathering.lanes)
        zero = self.block.splat(constant(0, node.output.type.dtype), gathering.lanes)
        slots = [slot for turns in gathering.parts.values() for slot in turns]
        for rounds, totals, errors in slots:
            for number, (at_hand, total, error) in enumerate(
                zip(rounds, totals, errors, strict=True)
            ):
                self._two_sum(wide, at_hand, total, error)
                self.block.do(f"store {wide} {zero.parts[number]}, ptr {at_hand}")

    def _two_sum(self, wide: str, at_hand: str, total: str, error: str) -> None:
        op = self.block.op
        one, other = op(f"load {wide}, ptr {total}"), op(f"load {wide}, ptr {at_hand}")
        rounded_sum = op(f"fadd {wide} {one}, {other}")
        virtual = op(f"fsub {wide} {rounded_sum}, {one}")
        left = op(f"fsub {wide} {rounded_sum}, {virtual}")
        lost = op(
            f"fadd {wide} {op(f'fsub {wide} {one}, {left}')}, "
            f"{op(f'fsub {wide} {other}, {virtual}')}"
        )
        before = op(f"load {wide}, ptr {error}")
        self.block.do(f"store {wide} {op(f'fadd {wide} {before}, {lost}')}, ptr {error}")
        self.block.do(f"store {wide} {rounded_sum}, ptr {total}")

    # --- finishing --------------------------------------------------------------------------------

    def in_memory(self, node: ArrayNode) -> bool:
        """Whether a reduction gathers in memory."""
        return self._gatherings[node.number].memory is not None

    def gathered(self, node: ArrayNode) -> list[tuple[tuple[int, ...], Value]]:
        """What a reduction gathered in registers, for each instance."""
        gathering = self._gatherings[node.number]
        gathered_values: list[tuple[tuple[int, ...], Value]] = []
        if gathering.memory is None:

            def close() -> None:
                value = self._lanes_combined(gathering, self._total(node, gathering))
                gathered_values.append((self._key(node), value))

            self._over_unrolled(self._unrolled(node), close)
        return gathered_values

    def finish(self, node: ArrayNode, define: Callable[[ArrayNode, Value], None]) -> None:
        """The result, after the loop."""
        gathering = self._gatherings[node.number]
        if gathering.memory is None:
            labels = self._unrolled(node)
            for key, value in self.gathered(node):
                self.memory.unrolled.update(zip(labels, key, strict=True))
                define(node, value)
            return
        if gathering.memory is not node.output:
            self._move(node, gathering, [self.memory.bases[gathering.memory]])

    def collect(self, node: ArrayNode, others: Accumulators, parts: int) -> None:
        """The result of what several parts gathered, each in memory of its own."""
        gathering = others._gatherings[node.number]
        assert gathering.memory is not None
        if gathering.memory is node.output:  # there was one part, which needed nothing of its own
            return
        place = others.memory.places[gathering.memory]
        self.memory.places[gathering.memory] = place
        shape = tuple(node.output.type.shape[axis] for axis in place.axes)
        bases = []
        for number in range(parts):
            offset = place.number + number * own_bytes(node, shape, place.lanes)
            start = self.memory.workspace
            bases.append(self.block.op(f"getelementptr i8, ptr {start}, i64 {offset}"))
        self._move(node, gathering, bases)

    def _move(self, node: ArrayNode, gathering: Gathering, bases: Sequence[str]) -> None:
        """What lies at the bases, combined, is the result."""
        target = gathering.memory
        assert target is not None

        def move() -> None:
            values = []
            for base in bases:
                self.memory.bases[target] = base
                values.append(self._lanes_combined(gathering, self._read(node, target)))
                self.memory.frame.pointers.clear()  # they were those of this base
            self.memory.store(node.output, node.terms(), self.combined(node, values))

        self.control.nest([*self.inner_labels(node), *self._unrolled(node)], move)

    def _read(self, node: ArrayNode, target: Variable) -> Value:
        place = self.memory.places[target]
        lanes = place.lanes
        address = self.memory.address(target, place, node.terms())
        dtype = target.type.dtype
        scalar = memory_type(dtype)
        wide = vector_type(scalar, lanes)
        texts = []
        for number in range(2 if dtype.kind == "c" else 1):
            pointer = self.block.op(
                f"getelementptr {scalar}, ptr {address.pointer}, i64 {number * max(lanes, 1)}"
            )
            text = self.block.op(f"load {wide}, ptr {pointer}, align 1")
            if dtype.kind == "b":
                text = self.block.op(f"trunc {wide} {text} to {vector_type('i1', lanes)}")
            texts.append(text)
        return Value(tuple(texts), dtype, lanes)

    def _total(self, node: ArrayNode, gathering: Gathering) -> Value:
        turns = gathering.parts[self._key(node)]
        totals = [self._total_of(node, gathering, slots) for slots in turns]
        return self.combined(node, totals)

    def _total_of(self, node: ArrayNode, gathering: Gathering, slots: list[list[str]]) -> Value:
        dtype = node.output.type.dtype
        wide = vector_type(scalar_type(dtype), gathering.lanes)
        op = self.block.op
        if len(slots) == 1:
            texts = tuple(op(f"load {wide}, ptr {place}") for place in slots[0])
            return Value(texts, dtype, gathering.lanes)
        totals = []
        for at_hand, total, error in zip(*slots, strict=True):
            one, other = op(f"load {wide}, ptr {total}"), op(f"load {wide}, ptr {at_hand}")
            rounded_sum = op(f"fadd {wide} {one}, {other}")
            lost = op(f"load {wide}, ptr {error}")
            # Infinities have no rounding error; what stands there is then NaN.
            bits = vector_type("i1", gathering.lanes)
            undefined = op(f"fcmp uno {wide} {lost}, {lost}")
            corrected = op(f"fadd {wide} {rounded_sum}, {lost}")
            totals.append(
                op(f"select {bits} {undefined}, {wide} {rounded_sum}, {wide} {corrected}")
            )
        return Value(tuple(totals), dtype, gathering.lanes)

    def _lanes_combined(self, gathering: Gathering, value: Value) -> Value:
        """One number out of the lanes, where the lanes ran along what is reduced."""
        if not gathering.lane_reduced or not value.lanes:
            return value
        lanes = value.lanes
        while lanes > 1:
            half = lanes // 2
            wide = register_type(value)
            halves = []
            for start in (0, half):
                order = ", ".join(f"i32 {start + lane}" for lane in range(half))
                texts = tuple(
                    self.block.op(
                        f"shufflevector {wide} {part}, {wide} poison, <{half} x i32> <{order}>"
                    )
                    for part in value.parts
                )
                halves.append(Value(texts, value.dtype, half))
            value = combine(self.block, gathering.combine, *halves)
            lanes = half
        scalar = vector_type(scalar_type(value.dtype), 1)
        texts = tuple(
            self.block.op(f"extractelement {scalar} {part}, i32 0") for part in value.parts
        )
        return Value(texts, value.dtype)
