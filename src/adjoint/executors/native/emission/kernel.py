"""The kernel of a program, and the loops of it that several threads share.

A shared loop becomes a function of a *task* (`machine/tasks.py`): the range of the label, and what
it needs to know. So does one of a long kernel on which time is spent: a function of its own is
compiled well.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from adjoint.executors.native.elements import combine
from adjoint.executors.native.emission.loops import ProgramWriter
from adjoint.executors.native.emission.writer import Range, Writer
from adjoint.executors.native.graph.nodes import ArrayNode, Kind
from adjoint.executors.native.machine.llvm import machine
from adjoint.executors.native.machine.module import (
    HOT,
    Block,
    Module,
    Value,
    memory_type,
    scalar_type,
)
from adjoint.executors.native.machine.tasks import emit_runner
from adjoint.executors.native.schedule.layout import Layout
from adjoint.executors.native.schedule.order import Loop, instances
from adjoint.executors.native.schedule.storage import ALIGNMENT, MemoryPlace
from adjoint.program import Variable

LONG: Final = 1000  # instances of a kernel that may be compiled in a single sweep
APART: Final = 2000.0  # nanoseconds, about, from which a loop of such a kernel is worth more
_HEADER: Final = 64  # bytes of a task before its results
_SLOT: Final = 16  # bytes of one result, or of one number that is handed over


def emit_kernel(module: Module, layout: Layout, name: str) -> None:
    """Add the kernel as a function of this name."""
    writer = ProgramWriter(module, layout)
    module.alias_tag(0)
    writer.bases("%inputs", "%outputs", "%workspace")
    long = sum(map(instances, layout.scheduler.graph.nodes)) > LONG
    for variable, place in layout.storage.places.items():
        if place.kind == "stack":
            writer.reserve(variable, place)
    for number, item in enumerate(layout.scheduler.items):
        before = clock(writer) if layout.timed is not None else ""
        threads = layout.threads.get(item, 1) if isinstance(item, Loop) else 1
        if isinstance(item, Loop) and (threads > 1 or (long and layout.times[number] > APART)):
            _Shared(writer, item, threads).emit()
        else:
            writer.item(item)
        if layout.timed is not None:
            _add_time(writer, before, layout.timed + number)
        if number in layout.pauses:
            _pause(writer)
    status = writer.values.faulty()
    writer.block.do(f"ret i32 {writer.block.op(f'zext i1 {status} to i32')}")
    header = (
        f"define internal i32 @{name}(ptr noalias %inputs, ptr noalias %outputs, "
        "ptr noalias %workspace, ptr %state)"
    )
    if layout.constructs:  # whose bodies may take more of the stack than a page
        header += machine().stack_probe
    module.functions.append(writer.block.function(header))


def clock(writer: Writer) -> str:
    """The counter of cycles."""
    name = "llvm.readcyclecounter"
    writer.module.declare(name, f"declare i64 @{name}()")
    return writer.block.op(f"call i64 @{name}()")


def _add_time(writer: Writer, before: str, number: int) -> None:
    """Add what an item took to its entry of `@times`."""
    block = writer.block
    spent = block.op(f"sub i64 {clock(writer)}, {before}")
    at = block.op(f"getelementptr i64, ptr @times, i64 {number}")
    total = block.op(f"add i64 {block.op(f'load i64, ptr {at}')}, {spent}")
    block.do(f"store i64 {total}, ptr {at}")


def _pause(writer: Writer) -> None:
    """Let Python see to its signals; an exception ends the run."""
    status = writer.block.op("call i32 @interrupted(ptr %state)")
    stop = writer.block.op(f"icmp ne i32 {status}, 0")
    stopped, on = writer.block.new_label("stopped"), writer.block.new_label("on")
    writer.block.do(f"br i1 {stop}, label %{stopped}, label %{on}")
    writer.block.place(stopped)
    writer.block.do(f"ret i32 {status}")
    writer.block.place(on)


class _Handed:
    """What the caller hands over to the tasks: numbers in registers, and memory on its stack."""

    def __init__(self, block: Block) -> None:
        self.block = block  # of the task
        self.given: list[tuple[str, str]] = []  # types and operands of the caller

    def take(self, type_text: str, operand: str) -> str:
        """The operand of the task for one of the caller."""
        if not operand.startswith("%"):
            return operand
        number = len(self.given)
        self.given.append((type_text, operand))
        # Read at the beginning of the task, whatever is being written now.
        self.block.opening += [
            f"  %h{number}.at = getelementptr i8, ptr %handed, i64 {number * _SLOT}",
            f"  %h{number} = load {type_text}, ptr %h{number}.at, align 8",
        ]
        return f"%h{number}"

    def value(self, value: Value) -> Value:
        """A value of the caller, in the task."""
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


class _Shared:
    """Writes one shared loop."""

    def __init__(self, caller: Writer, loop: Loop, threads: int) -> None:
        self.caller = caller
        self.loop = loop
        self.threads = threads
        self.layout = caller.layout
        self.task = Writer(caller.module, caller.layout)
        self.handed = _Handed(self.task.block)
        self.results: list[tuple[ArrayNode, tuple[int, ...], Value]] = []

    def emit(self) -> None:
        """The function of the task, its calls, and what becomes of the results."""
        name = self.caller.module.fresh("task")
        turns = self._write_task(name)
        tasks, stride = self._fill_tasks(turns)
        if self.threads == 1:
            self.caller.block.op(f"call ptr @{name}(ptr {tasks})")
        else:
            emit_runner(self.caller.module)
            self.caller.block.do(
                f"call void @run_tasks(ptr @{name}, ptr {tasks}, i64 {stride}, i64 {self.threads})"
            )
        self._collect(tasks, stride)

    # --- the task ---------------------------------------------------------------------------------

    def _write_task(self, name: str) -> int:
        task, block = self.task, self.task.block
        caller = self.caller.memory
        registers = caller.frames[0].registers
        block.opening += [
            "  %context = load ptr, ptr %task, align 8",
            *_field("first", "i64", "%task", 8),
            *_field("last", "i64", "%task", 16),
            *_field("number", "i64", "%task", 24),
            *_field("inputs", "ptr", "%context", 0),
            *_field("outputs", "ptr", "%context", 8),
            *_field("workspace", "ptr", "%context", 16),
            *_field("handed", "ptr", "%context", 24),
        ]
        task.memory.frames[0].registers = _Lookup(
            lambda variable: _Lookup(lambda key: self.handed.value(registers[variable][key]))
        )
        task.memory.bases = _Lookup(lambda v: self.handed.take("ptr", caller.bases[v]))
        task.bases("%inputs", "%outputs", "%workspace")
        for variable, place in self.layout.storage.places.items():
            path = self.layout.storage.shared.get(variable, ())
            if path and path[0] is self.loop:
                self._private(variable, place)
        task.accumulators.thread = "%number"
        worker = block.op("icmp ne i64 %number, 0")
        with task.control.when(worker):  # the caller's own flags are read by its caller
            block.do("call void @floating.clear()")
        turns = task.start(self.loop, private=True)
        task.rounds(self.loop, turns, Range("%first", "%last"))
        self._store_results()
        fault = task.values.faulty()
        self._store_status(block.op(f"zext i1 {fault} to i32"), worker)
        header = f"define internal ptr @{name}(ptr %task) nounwind {HOT}"
        self.caller.module.functions.append(block.function(header))
        return turns

    def _private(self, variable: Variable, place: MemoryPlace) -> None:
        """Memory of values that live within one round: every thread has its own."""
        block = self.task.block
        if place.kind == "stack":
            self.task.reserve(variable, place)
            return
        size = -(-place.bytes // ALIGNMENT) * ALIGNMENT
        offset = block.op(f"mul i64 %number, {size}")
        start = block.op(f"getelementptr i8, ptr %workspace, i64 {place.number}")
        self.task.memory.bases[variable] = block.op(f"getelementptr i8, ptr {start}, i64 {offset}")

    def _store_results(self) -> None:
        """The numbers that this thread gathered, beside the task."""
        block = self.task.block
        count = 0
        for node in self.loop.starts:
            for key, value in self.task.accumulators.gathered(node):
                self.results.append((node, key, value))
                for part in value.parts:
                    text, type_text = part, scalar_type(value.dtype)
                    if type_text == "i1":
                        text, type_text = block.op(f"zext i1 {part} to i8"), "i8"
                    at = block.op(f"getelementptr i8, ptr %task, i64 {_HEADER + count * _SLOT}")
                    block.do(f"store {type_text} {text}, ptr {at}, align 8")
                    count += 1

    def _store_status(self, status: str, worker: str) -> None:
        block = self.task.block
        raised = block.op("call i32 @floating.raised()")
        counted = block.op(f"select i1 {worker}, i32 {raised}, i32 0")
        both = block.op(f"or i32 {status}, {counted}")
        at = block.op("getelementptr i8, ptr %task, i64 32")
        block.do(f"store i32 {both}, ptr {at}, align 8")
        block.do("ret ptr null")

    # --- the caller -------------------------------------------------------------------------------

    def _fill_tasks(self, turns: int) -> tuple[str, int]:
        block = self.caller.block
        parts = sum(len(value.parts) for _, _, value in self.results)
        stride = -(-(_HEADER + parts * _SLOT) // ALIGNMENT) * ALIGNMENT
        tasks = block.stack(f"[{stride * self.threads} x i8]")
        handed = block.stack(f"[{max(1, len(self.handed.given)) * _SLOT} x i8]")
        context = block.stack("[4 x ptr]")

        def store(base: str, offset: int, type_text: str, text: str) -> None:
            at = block.op(f"getelementptr i8, ptr {base}, i64 {offset}")
            block.do(f"store {type_text} {text}, ptr {at}, align 8")

        for place, pointer in enumerate(("%inputs", "%outputs", "%workspace", handed)):
            store(context, 8 * place, "ptr", pointer)
        for place, (type_text, operand) in enumerate(self.handed.given):
            store(handed, place * _SLOT, type_text, operand)
        extent = self.loop.label.extent
        grain = max(self.loop.lanes, 1) * turns
        chunk = -(-extent // (self.threads * grain)) * grain
        for number in range(self.threads):
            base = number * stride
            store(tasks, base, "ptr", context)
            store(tasks, base + 8, "i64", str(min(number * chunk, extent)))
            store(tasks, base + 16, "i64", str(min((number + 1) * chunk, extent)))
            store(tasks, base + 24, "i64", str(number))
        return tasks, stride

    def _collect(self, tasks: str, stride: int) -> None:
        """Faults of all threads, and what they gathered, together."""
        block = self.caller.block
        for number in range(self.threads):
            status = self._read("i32", tasks, number * stride + 32)
            self.caller.values.faults.append((block.op(f"icmp ne i32 {status}, 0"), 0))
        self.caller.values.flush_faults()
        place = 0
        for node, key, value in self.results:
            combined: Value | None = None
            for number in range(self.threads):
                offset = number * stride + _HEADER + place * _SLOT
                one = self._read_value(value.dtype, len(value.parts), tasks, offset)
                combined = one if combined is None else combine(block, node.combine, combined, one)
            place += len(value.parts)
            labels = [label.find() for label in node.labels if label is not None]
            self.caller.memory.unrolled.update(
                zip([label for label in labels if label.unrolled], key, strict=True)
            )
            assert combined is not None
            self.caller.define(node, combined)
        for node in self.loop.starts:
            if node.kind is Kind.REDUCE and self.task.accumulators.in_memory(node):
                self.caller.accumulators.collect(node, self.task.accumulators, self.threads)

    def _read(self, type_text: str, base: str, offset: int) -> str:
        block = self.caller.block
        at = block.op(f"getelementptr i8, ptr {base}, i64 {offset}")
        return block.op(f"load {type_text}, ptr {at}, align 8")

    def _read_value(self, dtype: np.dtype[Any], parts: int, base: str, offset: int) -> Value:
        block, texts = self.caller.block, []
        for part in range(parts):
            text = self._read(memory_type(dtype), base, offset + part * _SLOT)
            if dtype.kind == "b":
                text = block.op(f"trunc i8 {text} to i1")
            texts.append(text)
        return Value(tuple(texts), dtype)


def _field(name: str, type_text: str, base: str, offset: int) -> list[str]:
    return [
        f"  %{name}.at = getelementptr i8, ptr {base}, i64 {offset}",
        f"  %{name} = load {type_text}, ptr %{name}.at, align 8",
    ]
