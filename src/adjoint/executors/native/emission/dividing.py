"""Loops that are divided into parts, which several threads compute.

A divided loop becomes a function of a part of its rounds (`machine/pool.py`), which is told what
it needs to know. How the rounds are divided does not depend on the number of threads, so that a
reduction, of which each part gathers its own, has the same bits for one thread and for many. A loop
of one part is a function of its own all the same: where it stands in a long kernel, it is compiled
better so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from adjoint.executors.native.emission.writer import Range, Writer
from adjoint.executors.native.graph.nodes import ArrayNode, Kind
from adjoint.executors.native.machine.module import (
    HOT,
    Block,
    Value,
    memory_type,
    scalar_type,
)
from adjoint.executors.native.machine.pool import emit_pool
from adjoint.executors.native.schedule.layout import Division
from adjoint.executors.native.schedule.order import Loop
from adjoint.executors.native.schedule.storage import ALIGNMENT, MemoryPlace
from adjoint.program import Variable

_SLOT: Final = 16  # bytes of one result, or of one number that is handed over
# What all parts are told: the workspace, where the results go, what is handed over, whether there
# was a fault.
_WORKSPACE, _RESULTS, _HANDED, _FAULT, _CONTEXT = 0, 8, 16, 24, 32


def _field(name: str, offset: int) -> str:
    return (
        f"  %{name}.at = getelementptr i8, ptr %context, i64 {offset}\n"
        f"  %{name} = load ptr, ptr %{name}.at, align 8"
    )


# That nothing but the workspace is in the workspace must be said of a parameter: else LLVM takes
# what is gathered from inputs for changed by what is written there, and gathers it in each round.
_ROUNDS: Final = (
    "ptr noalias %workspace, ptr noalias %results, ptr noalias %handed, ptr %context, "
    "i64 %number, i64 %worker"
)
_PARAMETERS: Final = "ptr %context, i64 %number, i64 %worker"
_PART: Final = f"""define internal void @{{name}}({_PARAMETERS}) nounwind {HOT} {{{{
entry:
{_field("workspace", _WORKSPACE)}
{_field("results", _RESULTS)}
{_field("handed", _HANDED)}
  call void @{{name}}.rounds({_ROUNDS.replace("noalias ", "")})
  ret void
}}}}"""


class _Handed:
    """What the caller hands over to all parts: numbers in registers, and pointers."""

    def __init__(self, block: Block) -> None:
        self.block = block  # of a part
        self.given: list[tuple[str, str]] = []  # types and operands of the caller

    def take(self, type_text: str, operand: str) -> str:
        """The operand of a part for one of the caller."""
        if not operand.startswith("%"):
            return operand
        number = len(self.given)
        self.given.append((type_text, operand))
        # Read at the beginning of a part, whatever is being written now.
        self.block.opening += [
            f"  %h{number}.at = getelementptr i8, ptr %handed, i64 {number * _SLOT}",
            f"  %h{number} = load {type_text}, ptr %h{number}.at, align 8",
        ]
        return f"%h{number}"

    def value(self, value: Value) -> Value:
        """A value of the caller, in a part."""
        type_text = scalar_type(value.dtype)
        return Value(tuple(self.take(type_text, part) for part in value.parts), value.dtype)


class _Lookup(dict[Any, Any]):
    """A dictionary whose missing entries are handed over when they are first asked for."""

    def __init__(self, find: Callable[[Any], Any]) -> None:
        super().__init__()
        self.find = find

    def __missing__(self, key: Any) -> Any:
        self[key] = handed = self.find(key)
        return handed


class DividedLoop:
    """Writes one loop: its function, the call of it, and what becomes of the results."""

    def __init__(self, caller: Writer, loop: Loop) -> None:
        self.caller = caller
        self.loop = loop
        self.layout = caller.layout
        self.division = self.layout.divided.get(loop, Division(1, 1))
        self.part = Writer(caller.module, caller.layout)
        self.handed = _Handed(self.part.block)
        self.results: list[tuple[ArrayNode, tuple[int, ...], Value]] = []

    def emit(self) -> None:
        """All of it."""
        name = self.caller.module.fresh("part")
        parts, stride = self._write_part(name)
        context, results = self._context(parts * stride)
        block, threads = self.caller.block, self.division.threads
        if parts > 1 and threads > 1:
            pool = emit_pool(self.caller.module)
            block.do(f"call void {pool}(ptr @{name}, ptr {context}, i64 {parts}, i64 {threads})")
        else:
            with self.caller.control.counting("0", str(parts), 1) as number:
                block.do(f"call void @{name}(ptr {context}, i64 {number}, i64 0)")
        self._collect(context, results, parts, stride)

    # --- a part -----------------------------------------------------------------------------------

    def _write_part(self, name: str) -> tuple[int, int]:
        """The function; how many parts there are, and how far apart their results."""
        part, block = self.part, self.part.block
        self._share_memory()
        part.accumulators.part = "%number"
        private = self.division.parts > 1
        turns = part.start(self.loop, private=private)
        extent = self.loop.label.extent
        grain = max(self.loop.lanes, 1) * turns
        length = -(-extent // (self.division.parts * grain)) * grain
        count = -(-extent // length)
        # The last round starts early where it is not full: the numbers that it reads and writes
        # again, perhaps sums that others are adding to, must be those of its own part.
        count -= count > 1 and extent - (count - 1) * length < self.loop.lanes
        first = block.op(f"mul i64 %number, {length}")
        is_last = block.op(f"icmp eq i64 %number, {count - 1}")
        last = block.op(f"add i64 {first}, {length}")
        last = block.op(f"select i1 {is_last}, i64 {extent}, i64 {last}")
        part.rounds(self.loop, turns, Range(first, last) if private else None)
        stride = self._store_results()
        fault = block.op(f"zext i1 {part.values.finish()} to i32")
        at = block.op(f"getelementptr i8, ptr %context, i64 {_FAULT}")
        block.op(f"atomicrmw or ptr {at}, i32 {fault} monotonic")
        block.do("ret void")
        header = f"define internal void @{name}.rounds({_ROUNDS}) nounwind {HOT}"
        functions = self.caller.module.functions
        functions += [block.function(header), _PART.format(name=name)]
        return count, stride

    def _share_memory(self) -> None:
        """What the caller has in registers and in memory; what is a thread's own is not."""
        given, own = self.caller.memory, self.part.memory
        registers = given.frames[0].registers
        own.places.update(given.places)
        own.frames[0].registers = _Lookup(
            lambda variable: _Lookup(lambda key: self.handed.value(registers[variable][key]))
        )
        own.bases = _Lookup(self._base)
        for variable, path in self.layout.storage.shared.items():
            if path and path[0] is self.loop:
                self._private(variable, self.layout.storage.places[variable])

    def _base(self, variable: Variable) -> str:
        """Where an array begins, which is known to others too."""
        place = self.caller.memory.places[variable]
        start, first = "%workspace", place.number
        if place.kind != "workspace":
            outputs = self.layout.scheduler.graph.outputs
            whole = outputs[place.number] if place.kind == "output" else variable
            if whole is variable:
                return self.handed.take("ptr", self.caller.memory.bases[variable])
            # Said so that LLVM sees that what is copied to where it is need not be.
            start, first = self.part.memory.bases[whole], place.start
        name = f"%w{len(self.part.block.opening)}"
        self.part.block.opening.append(f"  {name} = getelementptr i8, ptr {start}, i64 {first}")
        return name

    def _private(self, variable: Variable, place: MemoryPlace) -> None:
        """Memory of values that live within one round: every thread has its own."""
        block = self.part.block
        if place.kind == "stack":
            self.part.reserve(variable, place)
            return
        size = -(-place.bytes // ALIGNMENT) * ALIGNMENT
        offset = block.op(f"mul i64 %worker, {size}")
        start = block.op(f"getelementptr i8, ptr %workspace, i64 {place.number}")
        self.part.memory.bases[variable] = block.op(f"getelementptr i8, ptr {start}, i64 {offset}")

    def _store_results(self) -> int:
        """The numbers that a part gathered, beside those of others; how many bytes they are."""
        block = self.part.block
        for node in self.loop.starts:
            if node.kind is not Kind.REDUCE:  # what is scattered is in its place
                continue
            gathered = self.part.accumulators.gathered(node)
            self.results += [(node, key, value) for key, value in gathered]
        parts = [(part, value.dtype) for _, _, value in self.results for part in value.parts]
        stride = len(parts) * _SLOT
        if not parts:
            return 0
        place = block.op(f"mul i64 %number, {stride}")
        own = block.op(f"getelementptr i8, ptr %results, i64 {place}")
        for number, (text, dtype) in enumerate(parts):
            if dtype.kind == "b":
                text = block.op(f"zext i1 {text} to i8")
            at = block.op(f"getelementptr i8, ptr {own}, i64 {number * _SLOT}")
            block.do(f"store {memory_type(dtype)} {text}, ptr {at}, align 8")
        return stride

    # --- the caller -------------------------------------------------------------------------------

    def _context(self, size: int) -> tuple[str, str]:
        """What the parts are told, and the memory of their results."""
        block = self.caller.block
        context = block.stack(f"[{_CONTEXT} x i8]", 8)
        results = block.stack(f"[{max(size, 1)} x i8]")
        handed = block.stack(f"[{max(1, len(self.handed.given)) * _SLOT} x i8]")

        def store(base: str, offset: int, type_text: str, text: str) -> None:
            at = block.op(f"getelementptr i8, ptr {base}, i64 {offset}")
            block.do(f"store {type_text} {text}, ptr {at}, align 8")

        store(context, _WORKSPACE, "ptr", self.caller.memory.workspace)
        store(context, _RESULTS, "ptr", results)
        store(context, _HANDED, "ptr", handed)
        store(context, _FAULT, "i32", "0")
        for place, (type_text, operand) in enumerate(self.handed.given):
            store(handed, place * _SLOT, type_text, operand)
        return context, results

    def _collect(self, context: str, results: str, parts: int, stride: int) -> None:
        """Faults of all parts, and what they gathered, together."""
        caller = self.caller
        fault = self._read(np.dtype(np.int32), context, _FAULT)
        caller.values.faults.append((caller.block.op(f"icmp ne i32 {fault}, 0"), 0))
        caller.values.flush_faults()
        offset = 0
        for node, key, value in self.results:
            ones = [
                self._read_value(value, results, number * stride + offset)
                for number in range(parts)
            ]
            offset += len(value.parts) * _SLOT
            labels = [label.find() for label in node.labels if label is not None]
            caller.memory.unrolled.update(
                zip([label for label in labels if label.unrolled], key, strict=True)
            )
            caller.define(node, caller.accumulators.combined(node, ones))
        for node in self.loop.starts:
            if node.kind is Kind.REDUCE and self.part.accumulators.in_memory(node):
                caller.accumulators.collect(node, self.part.accumulators, parts)

    def _read(self, dtype: np.dtype[Any], base: str, offset: int) -> str:
        block = self.caller.block
        at = block.op(f"getelementptr i8, ptr {base}, i64 {offset}")
        text = block.op(f"load {memory_type(dtype)}, ptr {at}, align 8")
        return block.op(f"trunc i8 {text} to i1") if dtype.kind == "b" else text

    def _read_value(self, value: Value, base: str, offset: int) -> Value:
        texts = [
            self._read(_part_type(value.dtype), base, offset + place * _SLOT)
            for place in range(len(value.parts))
        ]
        return Value(tuple(texts), value.dtype)


def _part_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of each part of a number."""
    return np.dtype(f"f{dtype.itemsize // 2}") if dtype.kind == "c" else dtype
