"""Loops and branches of one function."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from adjoint.executors.native.emission.indices import Frame
from adjoint.executors.native.emission.memory import Memory
from adjoint.executors.native.graph.indices import Label
from adjoint.executors.native.machine.module import Block


class Control:
    """Writes loops."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self.block: Block = memory.block

    def least(self, one: str, other: str) -> str:
        """The smaller of two i64."""
        name = self.block.module.declare("llvm.smin.i64", "declare i64 @llvm.smin.i64(i64, i64)")
        return self.block.op(f"call i64 {name}(i64 {one}, i64 {other})")

    def most(self, one: str, other: str) -> str:
        """The greater of two i64."""
        name = self.block.module.declare("llvm.smax.i64", "declare i64 @llvm.smax.i64(i64, i64)")
        return self.block.op(f"call i64 {name}(i64 {one}, i64 {other})")

    @contextmanager
    def counting(self, start: str, end: str, step: int) -> Iterator[str]:
        """A loop from start to end, run at least once; yields its counter."""
        block = self.block
        if start.isdecimal() and end.isdecimal() and int(end) - int(start) <= step:
            yield start
            return
        head, after = block.new_label("loop"), block.new_label("done")
        counter, following = f"%{head}.i", f"%{head}.next"
        block.do(f"br label %{head}")
        before = block.label
        block.place(head)
        here = len(block.lines)
        block.lines.append("")
        yield counter
        block.lines[here] = (
            f"  {counter} = phi i64 [{start}, %{before}], [{following}, %{block.label}]"
        )
        block.do(f"{following} = add nuw nsw i64 {counter}, {step}")
        more = block.op(f"icmp slt i64 {following}, {end}")
        block.do(f"br i1 {more}, label %{head}, label %{after}")
        block.place(after)

    @contextmanager
    def when(self, condition: str) -> Iterator[None]:
        """What is run only where a condition holds; values known within are unknown after it."""
        block = self.block
        held, after = block.new_label("held"), block.new_label("after")
        block.do(f"br i1 {condition}, label %{held}, label %{after}")
        block.place(held)
        yield
        block.do(f"br label %{after}")
        block.place(after)

    def nest(self, labels: Sequence[Label], body: Callable[[], None]) -> None:
        """The body for every value of some labels, one by one."""
        if not labels:
            body()
            return
        label, *rest = labels
        if label.unrolled:
            for value in range(label.extent):
                self.memory.unrolled[label] = value
                self.nest(rest, body)
            return
        with self.counting("0", str(label.extent), 1) as counter:
            self.memory.frames.append(Frame(label, 0, counter))
            self.nest(rest, body)
            self.memory.frames.pop()
