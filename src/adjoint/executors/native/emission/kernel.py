"""The kernel of a program."""

from __future__ import annotations

from typing import Final

from adjoint.executors.native.emission.dividing import DividedLoop
from adjoint.executors.native.emission.loops import ProgramWriter
from adjoint.executors.native.emission.writer import Find, Writer, in_tables
from adjoint.executors.native.machine.llvm import machine
from adjoint.executors.native.machine.module import Module
from adjoint.executors.native.schedule.layout import Layout
from adjoint.executors.native.schedule.order import Loop, instances

# Instances of a kernel that may be compiled in a single sweep, and nanoseconds, about, from which a
# loop of such a kernel is a function of its own, which is compiled well.
LONG: Final = 1000
APART: Final = 2000.0
PAUSED: Final = 5_000_000.0  # nanoseconds of a region after which Python may see to its signals


def emit_kernel(module: Module, layout: Layout, name: str, find: Find = in_tables) -> None:
    """Add the kernel as a function of this name. find: where its inputs and outputs are."""
    writer = ProgramWriter(module, layout)
    module.alias_tag(0)
    writer.bases(find)
    long = sum(map(instances, layout.scheduler.graph.nodes)) > LONG
    for variable, place in layout.storage.places.items():
        if place.kind == "stack":
            writer.reserve(variable, place)
    for number, (items, work) in enumerate(zip(layout.regions, layout.work, strict=True)):
        before = clock(writer) if layout.timed is not None else ""
        for item in items:
            if isinstance(item, Loop) and long and work.nanoseconds > APART:
                DividedLoop(writer, item).emit()
            else:
                writer.item(item)
        if layout.timed is not None:
            _add_time(writer, before, layout.timed + number)
        if work.nanoseconds > PAUSED:
            _pause(writer)
    status = writer.values.finish()
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
