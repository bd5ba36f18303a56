"""From a schedule to the instructions of one function: loops, nodes, calls of routines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import product
from typing import Final

import numpy as np

from adjoint.base.arrays import array_type
from adjoint.executors.native.elements import convert, emit
from adjoint.executors.native.emission.accumulation import Accumulators
from adjoint.executors.native.emission.carrying import copy, read_number
from adjoint.executors.native.emission.control import Control
from adjoint.executors.native.emission.indices import INDEX, Frame
from adjoint.executors.native.emission.memory import Memory
from adjoint.executors.native.emission.scattering import Scatters
from adjoint.executors.native.emission.values import Values
from adjoint.executors.native.graph.indices import Label
from adjoint.executors.native.graph.nodes import ArrayNode, Kind
from adjoint.executors.native.machine.interleaving import side_by_side
from adjoint.executors.native.machine.module import (
    Block,
    Module,
    Value,
    constant,
    register_type,
    vector_type,
)
from adjoint.executors.native.schedule.idle import IdleRounds
from adjoint.executors.native.schedule.layout import TURNS, Layout
from adjoint.executors.native.schedule.order import Item, Loop, instances
from adjoint.executors.native.schedule.storage import MemoryPlace
from adjoint.executors.native.schedule.zones import Zones
from adjoint.primitives import UFUNCS
from adjoint.program import Variable

_IS_FINITE: Final = UFUNCS[np.isfinite]
SHORT: Final = 24  # instances of a body that is written several times
MOST_BETWEEN: Final = 2  # ranges of rounds outside of zones that are written one by one
ROUNDS: Final = 16  # of a loop between two compensated additions to a sum


# Writes the pointer to an input or output ("input", "output") of a number.
Find = Callable[[Block, str, int], str]


def in_tables(block: Block, kind: str, number: int) -> str:
    """The pointer that the table of a function's inputs or outputs holds."""
    at = block.op(f"getelementptr ptr, ptr %{kind}s, i64 {number}")
    return block.op(f"load ptr, ptr {at}, align 8, !invariant.load !0")


@dataclass(frozen=True)
class Range:
    """Rounds of a loop: the first value of the label and the end, as i64 operands."""

    first: str
    last: str

    @property
    def count(self) -> int | None:
        """How many values of the label there are, if that is known."""
        known = self.first.isdecimal() and self.last.isdecimal()
        return int(self.last) - int(self.first) if known else None


class Writer:
    """Writes one function: the kernel, or a part of a loop."""

    def __init__(self, module: Module, layout: Layout, block: Block | None = None) -> None:
        self.module = module
        self.layout = layout
        self.block = Block(module) if block is None else block
        places = dict(layout.storage.places)
        self.memory = Memory(self.block, places)
        self.control = Control(self.memory)
        self.values = Values(
            self.memory, layout.scheduler, layout.storage, layout.ways, layout.contract
        )
        self.accumulators = Accumulators(self.values, self.control)
        self.scatters = Scatters(self.values)
        self.zones = Zones(layout.scheduler)
        self.reserved: dict[int, str] = {}
        self._written_out: dict[int, list[Label]] = {}  # the labels of results that are, by node

    # --- where things are -------------------------------------------------------------------------

    def bases(self, find: Find) -> None:
        """Pointers to all that is not on the stack, and the numbers among the inputs."""
        for variable, place in self.layout.storage.places.items():
            if place.kind == "workspace":
                base = self.block.op(f"getelementptr i8, ptr %workspace, i64 {place.number}")
            elif place.kind == "stack":
                continue
            else:
                base = find(self.block, place.kind, place.number)
                if place.start:
                    base = self.block.op(f"getelementptr i8, ptr {base}, i64 {place.start}")
            self.memory.bases[variable] = base
        for number, variable in enumerate(self.layout.scheduler.graph.program.inputs):
            if variable.type.ndim:
                continue
            self.memory.bases[variable] = find(self.block, "input", number)
            self.memory.places[variable] = MemoryPlace("input", number, (), (), 0, 0, 0)
            value = self.memory.load(variable, ())
            self.memory.frame.registers[variable] = {(): value}

    def reserve(self, variable: Variable, place: MemoryPlace) -> None:
        """Memory on the stack; places of one tag are one place."""
        if place.tag not in self.reserved:
            self.reserved[place.tag] = self.block.stack(f"[{max(place.bytes, 1)} x i8]")
        self.memory.bases[variable] = self.reserved[place.tag]

    # --- items ------------------------------------------------------------------------------------

    def item(self, item: Item) -> None:
        """One item of a schedule."""
        if isinstance(item, Loop):
            self.rounds(item, self.start(item))
            self.finish(item)
        elif item.kind is Kind.ROUTINE:
            self._routine(item)
        else:
            self._node(item)

    def _routine(self, node: ArrayNode) -> None:
        """A call of a function on whole arrays, and a fault where it says so."""
        call = self.layout.routines[node.number]
        slots = {v: self.block.stack("[16 x i8]") for v in node.outputs if not v.type.ndim}
        arguments = [slots.get(v) or self.memory.bases[v] for v in node.outputs]
        for access, start in zip(node.accesses, call.starts, strict=True):
            assert isinstance(access.source, Variable)
            size = access.source.type.dtype.itemsize
            base = self.memory.bases[access.source]
            if start:
                base = self.block.op(f"getelementptr i8, ptr {base}, i64 {start * size}")
            arguments.append(base)
        scratch = self.layout.storage.scratch.get(node.number)
        offset = scratch.offset if scratch is not None else 0
        arguments.append(
            self.block.op(f"getelementptr i8, ptr {self.memory.workspace}, i64 {offset}")
        )
        listed = ", ".join(f"ptr {argument}" for argument in arguments)
        if not call.fails:
            self.block.do(f"call void @{call.name}({listed})")
            return
        self.values.faults.append((self.block.op(f"call i1 @{call.name}({listed})"), 0))
        self.values.flush_faults()
        for variable, slot in slots.items():
            self.define_number(variable, read_number(self.block, slot, variable.type.dtype))

    def define_number(self, variable: Variable, value: Value) -> None:
        """A result that is a number is known."""
        self.memory.frame.registers[variable] = {(): value}
        if variable in self.layout.storage.places:
            self.memory.store(variable, (), value)

    # --- loops ------------------------------------------------------------------------------------

    def start(self, loop: Loop, private: bool = False) -> int:
        """What has to be ready before a loop; how many rounds stand side by side in it.

        private: whether it is one of several parts of the loop.
        """
        turns = self._turns(loop)
        for node in loop.starts:
            if node.kind is Kind.SCATTER:
                self._start_scatter(node)
            else:
                self.accumulators.start(node, turns, private)
        for node in self.accumulators.continued(loop):
            self.accumulators.start_within(node, turns)
        return turns

    def finish(self, loop: Loop) -> None:
        """The results of the reductions of a loop."""
        for node in self.accumulators.continued(loop):
            self.accumulators.finish_within(node)
        for node in loop.starts:
            if node.kind is Kind.REDUCE:
                self.accumulators.finish(node, self.define)

    def _turns(self, loop: Loop) -> int:
        """How many rounds are written side by side, so that they need not wait for each other."""
        starts = [*loop.starts, *self.accumulators.continued(loop)]
        gathers = any(node.kind is Kind.REDUCE for node in starts)
        nodes = [item for item in loop.body if isinstance(item, ArrayNode)]
        short = len(nodes) == len(loop.body) and sum(map(instances, nodes)) <= SHORT
        rounds = loop.label.extent // max(loop.lanes, 1)
        if not gathers or not short or any(node.kind is Kind.SCATTER for node in nodes):
            return 1
        return TURNS if rounds >= TURNS else 1

    def rounds(self, loop: Loop, turns: int, part: Range | None = None) -> None:
        """The rounds of a loop, or of a part of it: in its zones first, then those between.

        In zones as many stand side by side as can.
        """
        step = max(loop.lanes, 1) * turns
        extent = loop.label.extent
        if part is None and step < extent <= 2 * step and loop.lanes and not self.zones.of(loop):
            self._two_rounds(loop, turns)
            return
        whole = extent // step * step
        zones = [
            (first, last)
            for low, high in self.zones.of(loop) or [(0, extent)]
            if (first := -(-low // step) * step) < (last := min(high, whole) // step * step)
        ]
        for first, last in zones:
            self._clipped(loop, Range(str(first), str(last)), part, turns, (first, last - 1))
        starts, ends = [0, *(last for _, last in zones)], [*(first for first, _ in zones), extent]
        between = [(start, end) for start, end in zip(starts, ends, strict=True) if start < end]
        if len(between) > MOST_BETWEEN:
            self._by_table(loop, between, part)
            return
        for first, last in between:
            least = min(first, max(extent - loop.lanes, 0))  # of the round that starts earlier
            self._clipped(loop, Range(str(first), str(last)), part, 1, (least, last - 1))

    def _two_rounds(self, loop: Loop, turns: int) -> None:
        """Both rounds of a loop side by side, if they are nothing but instructions."""
        extent, step = loop.label.extent, loop.lanes * turns
        lines, start = self.block.lines, len(self.block.lines)
        self._rounds(loop, Range("0", str(step)), turns, (0, step - 1))
        middle = len(lines)
        for first in range(step, extent, loop.lanes):
            least = min(first, extent - loop.lanes)  # of the round that starts earlier
            last = min(first + loop.lanes, extent)
            self._rounds(loop, Range(str(first), str(last)), 1, (least, last - 1))
        both = side_by_side(lines[start:middle], lines[middle:])
        if both is not None:
            lines[start:] = both

    def _by_table(self, loop: Loop, ranges: Sequence[tuple[int, int]], part: Range | None) -> None:
        """The rounds in several ranges, written once."""
        name = self.module.fresh("ranges")
        entries = ", ".join(f"i64 {first}, i64 {last}" for first, last in ranges)
        count = 2 * len(ranges)
        self.module.functions.append(f"@{name} = private constant [{count} x i64] [{entries}]")
        with self.control.counting("0", str(count), 2) as number:
            at = self.block.op(f"getelementptr i64, ptr @{name}, i64 {number}")
            first = self.block.op(f"load i64, ptr {at}")
            last = self.block.op(
                f"load i64, ptr {self.block.op(f'getelementptr i64, ptr {at}, i64 1')}"
            )
            self._clipped(loop, Range(first, last), part, 1, None)

    def _clipped(
        self,
        loop: Loop,
        rounds: Range,
        part: Range | None,
        turns: int,
        within: tuple[int, int] | None,
    ) -> None:
        """Those rounds that belong to a part. within: the least and the greatest of the label."""
        if part is None:
            self._rounds(loop, rounds, turns, within)
            return
        first = self.control.most(part.first, rounds.first)
        last = self.control.least(part.last, rounds.last)
        some = self.block.op(f"icmp slt i64 {first}, {last}")
        with self.control.when(some):
            self._rounds(loop, Range(first, last), turns, within)

    def _rounds(self, loop: Loop, part: Range, turns: int, within: tuple[int, int] | None) -> None:
        """Rounds side by side, from first to last, and sums carried over now and then."""
        summed = [
            item
            for item in loop.body
            if isinstance(item, ArrayNode)
            and item.kind is Kind.REDUCE
            and self.accumulators.compensated(item)
            and loop.label in {label.find() for label in item.reduced}
        ]
        starts = [*loop.starts, *self.accumulators.continued(loop)]
        lanes = max(loop.lanes, 1)
        step = lanes * turns
        # In zones, as in whole loops, the rounds end with the loop or before it.
        partial = within is None or within[1] == loop.label.extent - 1

        def body(position: str) -> None:
            for turn in range(turns):
                self.accumulators.turn = turn
                here = position
                if turn:
                    here = self.block.op(f"add i64 {position}, {turn * lanes}")
                self._round(loop, here, partial, within)
            self.accumulators.turn = 0

        few = part.count is not None and part.count <= 2 * ROUNDS * step
        if not summed or few:
            with self.control.counting(part.first, part.last, step) as position:
                body(position)
            for node in summed:
                if node not in starts:  # the rounds of a loop around this one count, too
                    self.accumulators.carry_over(node)
            return
        with self.control.counting(part.first, part.last, ROUNDS * step) as start:
            ahead = self.block.op(f"add i64 {start}, {ROUNDS * step}")
            end = self.control.least(ahead, part.last)
            with self.control.counting(start, end, step) as position:
                body(position)
            for node in summed:
                self.accumulators.carry_over(node)

    def _round(
        self, loop: Loop, counter: str, partial: bool, within: tuple[int, int] | None
    ) -> None:
        """The body once, for one value of the label or for as many as there are lanes."""
        frame = Frame(loop.label, loop.lanes, counter, within)
        extent, lanes = loop.label.extent, loop.lanes
        if lanes and partial and extent % lanes:
            # The last round starts earlier, so that all its lanes lie within the arrays.
            frame.position = self.control.least(counter, str(extent - lanes))
            behind = self.block.op(f"sub i64 {counter}, {frame.position}")
            wide = vector_type("i64", lanes)
            shift = self.block.splat(Value((behind,), INDEX), lanes)
            steps = ", ".join(f"i64 {lane}" for lane in range(lanes))
            mask = self.block.op(f"icmp uge {wide} <{steps}>, {shift.text}")
            frame.fresh = Value((mask,), np.dtype(bool), lanes)
        self.memory.frames.append(frame)
        idle = self.layout.idle.get(loop)
        first = 0 if idle is None else idle.first
        for item in loop.body[:first]:
            self.item(item)
        with nullcontext() if idle is None else self.control.when(self._some(idle)):
            for item in loop.body[first:]:
                self.item(item)
            self.values.flush_faults()
        self.memory.frames.pop()

    def _some(self, idle: IdleRounds) -> str:
        """Whether a round may add anything to its sums: an i1."""
        self.values.flush_faults()  # of what comes before
        mask = self.values.reader(idle.node, idle.mask)()
        numbers = [self.values.reader(idle.node, access)() for access in idle.finite]
        lanes = max(value.lanes for value in (mask, *numbers))
        wide, truth = vector_type("i1", lanes), np.dtype(bool)
        yes = self.block.splat(constant(True, truth), lanes).text
        some = self.memory.splat(mask, lanes).text
        for number in numbers:
            value, type_ = self.memory.splat(number, lanes), array_type((), number.dtype)
            finite = emit(self.block, [], _IS_FINITE, {}, [value], [type_], truth)
            odd = self.block.op(f"xor {wide} {finite.text}, {yes}")
            some = self.block.op(f"or {wide} {some}, {odd}")
        if not lanes:
            return some
        name = f"llvm.vector.reduce.or.v{lanes}i1"
        self.module.declare(name, f"declare i1 @{name}({wide})")
        return self.block.op(f"call i1 @{name}({wide} {some})")

    # --- nodes ------------------------------------------------------------------------------------

    def _node(self, node: ArrayNode) -> None:
        if not node.labels and node.kind is Kind.POINTWISE:  # many programs are nothing else
            self.define(node, self.values.number(node))
            return
        labels = [label for label in node.iteration() if label.unrolled]
        reduced = list(dict.fromkeys(label.find() for label in node.reduced))
        inner = [label for label in reduced if label.unrolled]
        around = {loop.label for loop in self.layout.ways[node.number]}
        if node.kind is Kind.SCATTER and around.isdisjoint(reduced):
            self._start_scatter(node)
        if node.kind is Kind.REDUCE:
            labels = [label for label in labels if label not in inner]
        for values in product(*(range(label.extent) for label in labels)):
            self.memory.unrolled.update(zip(labels, values, strict=True))
            self._instance(node, inner)

    def _instance(self, node: ArrayNode, inner: Sequence[Label]) -> None:
        if node.kind is Kind.SCATTER:
            self._scatter(node)
            return
        if node.kind is not Kind.REDUCE:
            self.define(node, self.values.value(node))
            return
        parts = []
        for values in product(*(range(label.extent) for label in inner)):
            self.memory.unrolled.update(zip(inner, values, strict=True))
            parts.append(self.values.value(node))
        if all(label.find().unrolled for label in node.reduced):
            parts[0] = self.accumulators.from_zero(node, parts[0])
            self.define(node, self.accumulators.combined(node, parts))
        else:
            self.accumulators.add(node, self.accumulators.combined(node, parts))

    def define(self, node: ArrayNode, value: Value) -> None:
        """The result of a node at the present indices is known."""
        key: tuple[int, ...] = ()
        if node.labels:
            unrolled = self.memory.unrolled
            labels = self._written_out.get(node.number)
            if labels is None:
                roots = [label.find() for label in node.labels if label is not None]
                labels = self._written_out[node.number] = [root for root in roots if root.unrolled]
            key = tuple([unrolled[label] for label in labels])
        self.memory.frame.registers.setdefault(node.output, {})[key] = value
        if node.output in self.layout.watched:
            wide = register_type(value)
            for part in value.parts:
                nan = self.block.op(f"fcmp uno {wide} {part}, {part}")
                self.values.faults.append((nan, value.lanes))
        if node.output in self.layout.storage.places:
            self.memory.store(node.output, node.terms(), value)

    # --- scatters ---------------------------------------------------------------------------------

    def _start_scatter(self, node: ArrayNode) -> None:
        """A copy of the array that is written into."""
        if node.output in self.layout.storage.taken or self._copied(node):
            return
        labels = [label.find() for label in node.labels if label is not None]
        held = {frame.label for frame in self.memory.frames}
        read = self.values.reader(node, node.accesses[0])

        def copy() -> None:
            value = convert(self.block, self.values.faults, read(), node.output.type.dtype)
            self.memory.store(node.output, node.terms(), value)

        self.control.nest([label for label in labels if label not in held], copy)

    def _copied(self, node: ArrayNode) -> bool:
        """Copy the array at once, if it lies in memory as it is.

        That of what loops compute again may hold other numbers by now.
        """
        access, places = node.accesses[0], self.memory.places
        source = access.source
        if source in self.values.scheduler.inlined:
            return False
        if len(self.memory.frames) > 1 or access.terms != node.terms() or source not in places:
            return False
        assert isinstance(source, Variable)
        home, place = places[source], places[node.output]
        whole = home.strides == place.strides and len(home.axes) == source.type.ndim
        if source.type.dtype != node.output.type.dtype or not whole or home.lanes or place.lanes:
            return False
        copy(self.block, self.memory.bases[node.output], self.memory.bases[source], place.bytes)
        return True

    def _scatter(self, node: ArrayNode) -> None:
        """Write one value, or one for each lane, one after the other as NumPy does."""
        self.values.set_indices(node)
        dtype = node.output.type.dtype
        given = self.values.operands(node)[1]()
        value = convert(self.block, self.values.faults, given, dtype)
        lane_frame = self.memory.lane_frame()
        place = self.memory.places[node.output]
        address = self.memory.address(node.output, place, node.target)
        one_by_one = lane_frame is not None and (
            place.lanes > 0 or address.stride != 0 or value.lanes > 0
        )
        lanes = lane_frame.lanes if one_by_one and lane_frame else 0
        fresh = lane_frame.fresh if one_by_one and lane_frame else None
        if (
            lane_frame is not None
            and lane_frame.label in {loop.label for loop in self.values.home(node)}
            and node.output not in self.layout.storage.taken
        ):
            fresh = None  # the whole scatter is made again for the lanes that are computed again
        value = self.memory.splat(value, lanes)
        self.scatters.write(node, address, value, lanes, fresh)
