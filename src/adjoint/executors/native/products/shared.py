"""Products that several threads share: each has a part of the rows, the columns or the batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from adjoint.executors.native.machine.module import Module
from adjoint.executors.native.machine.tasks import emit_runner
from adjoint.executors.native.products.plan import Groups, ProductAxis

SHARED_FLOPS: Final = 3e7  # operations from which threads are worth starting
_GRAIN: Final = 32  # a part is a multiple of so many rows or columns, so that tiles stay whole
_TASK: Final = 64  # bytes of what a thread is told

Emit = Callable[[str, Groups], int]  # adds a function of this name; the bytes of its scratch


@dataclass(frozen=True)
class Share:
    """How a product is shared. axis: which is cut. part: its length for each thread but the last.

    whole: the groups of such a part. rest: those of the last.
    """

    axis: ProductAxis
    part: int
    threads: int
    whole: Groups
    rest: Groups


def shared(groups: Groups, flops: int, threads: int) -> Share | None:
    """How threads may share a product; None where it is too small, or has too few rows."""
    if threads < 2 or flops < SHARED_FLOPS:
        return None
    outer = [*groups.batch, *groups.rows, *groups.columns]
    axis = max(outer, key=lambda axis: axis.size, default=ProductAxis(1))
    grain = 1 if axis in groups.batch else _GRAIN
    part = -(-axis.size // (threads * grain)) * grain
    count = -(-axis.size // part)
    if count < 2:
        return None
    last = axis.size - (count - 1) * part
    return Share(axis, part, count, _cut(groups, axis, part), _cut(groups, axis, last))


def _cut(groups: Groups, axis: ProductAxis, size: int) -> Groups:
    def cut(axes: tuple[ProductAxis, ...]) -> tuple[ProductAxis, ...]:
        return tuple(replace(x, size=size) if x is axis else x for x in axes)

    return replace(
        groups, batch=cut(groups.batch), rows=cut(groups.rows), columns=cut(groups.columns)
    )


def emit_shared(module: Module, name: str, dtype: np.dtype[Any], share: Share, emit: Emit) -> int:
    """Add the function of a product, which its threads compute; returns the bytes of scratch."""
    whole, rest = f"{name}.whole", f"{name}.rest"
    bytes_of_part = -(-max(emit(whole, share.whole), emit(rest, share.rest)) // 64) * 64
    emit_runner(module)
    module.functions.append(_TASK_FUNCTION.format(
        name=name, whole=whole, rest=rest, last=share.threads - 1, scratch=bytes_of_part,
        **{side: share.part * getattr(share.axis, side) * dtype.itemsize for side in "abc"},
    ))  # fmt: skip
    divide = module.declare(
        "llvm.experimental.constrained.fdiv.f64",
        "declare double @llvm.experimental.constrained.fdiv.f64"
        "(double, double, metadata, metadata)",
    )
    size = share.threads * _TASK
    module.functions.append(
        _FUNCTION.format(name=name, count=share.threads, size=size, divide=divide, strict=_STRICT)
    )
    return bytes_of_part * share.threads


_STRICT: Final = 'metadata !"fpexcept.strict"'

# A task is told where all is, and which part it is; it tells, when it is over, whether a
# floating-point error has come up in a thread of its own.
_TASK_FUNCTION: Final = """
define internal ptr @{name}.task(ptr %task) nounwind {{
entry:
  %context = load ptr, ptr %task, align 8
  %number.at = getelementptr i8, ptr %task, i64 8
  %number = load i64, ptr %number.at, align 8
  %c.whole = load ptr, ptr %context, align 8
  %a.at = getelementptr i8, ptr %context, i64 8
  %a.whole = load ptr, ptr %a.at, align 8
  %b.at = getelementptr i8, ptr %context, i64 16
  %b.whole = load ptr, ptr %b.at, align 8
  %scratch.at = getelementptr i8, ptr %context, i64 24
  %scratch.whole = load ptr, ptr %scratch.at, align 8
  %c.by = mul i64 %number, {c}
  %a.by = mul i64 %number, {a}
  %b.by = mul i64 %number, {b}
  %scratch.by = mul i64 %number, {scratch}
  %c = getelementptr i8, ptr %c.whole, i64 %c.by
  %a = getelementptr i8, ptr %a.whole, i64 %a.by
  %b = getelementptr i8, ptr %b.whole, i64 %b.by
  %scratch = getelementptr i8, ptr %scratch.whole, i64 %scratch.by
  %worker = icmp ne i64 %number, 0
  br i1 %worker, label %clear, label %choose
clear:
  call void @floating.clear()
  br label %choose
choose:
  %is.last = icmp eq i64 %number, {last}
  br i1 %is.last, label %rest, label %whole
whole:
  call void @{whole}(ptr %c, ptr %a, ptr %b, ptr %scratch)
  br label %end
rest:
  call void @{rest}(ptr %c, ptr %a, ptr %b, ptr %scratch)
  br label %end
end:
  %raised = call i32 @floating.raised()
  %counted = select i1 %worker, i32 %raised, i32 0
  %status.at = getelementptr i8, ptr %task, i64 16
  store i32 %counted, ptr %status.at, align 8
  ret ptr null
}}
"""

# An error in another thread is raised once more in this one, which tells of it at the end.
_FUNCTION: Final = """
define internal void @{name}(ptr %c, ptr %a, ptr %b, ptr %scratch) {{
entry:
  %context = alloca [4 x ptr], align 8
  %tasks = alloca [{size} x i8], align 64
  store ptr %c, ptr %context, align 8
  %a.at = getelementptr i8, ptr %context, i64 8
  store ptr %a, ptr %a.at, align 8
  %b.at = getelementptr i8, ptr %context, i64 16
  store ptr %b, ptr %b.at, align 8
  %scratch.at = getelementptr i8, ptr %context, i64 24
  store ptr %scratch, ptr %scratch.at, align 8
  br label %tell
tell:
  %i = phi i64 [0, %entry], [%next, %tell]
  %offset = mul i64 %i, 64
  %task = getelementptr i8, ptr %tasks, i64 %offset
  store ptr %context, ptr %task, align 8
  %number.at = getelementptr i8, ptr %task, i64 8
  store i64 %i, ptr %number.at, align 8
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, {count}
  br i1 %more, label %tell, label %run
run:
  call void @run_tasks(ptr @{name}.task, ptr %tasks, i64 64, i64 {count})
  br label %look
look:
  %j = phi i64 [0, %run], [%after, %look]
  %errors = phi i32 [0, %run], [%both, %look]
  %place = mul i64 %j, 64
  %told = getelementptr i8, ptr %tasks, i64 %place
  %status.at = getelementptr i8, ptr %told, i64 16
  %status = load i32, ptr %status.at, align 8
  %both = or i32 %errors, %status
  %after = add i64 %j, 1
  %again = icmp slt i64 %after, {count}
  br i1 %again, label %look, label %judge
judge:
  %well = icmp eq i32 %both, 0
  br i1 %well, label %end, label %raise
raise:
  %flag = call double {divide}(double 0.0, double 0.0, metadata !"round.tonearest", {strict})
  br label %end
end:
  ret void
}}
"""
