"""The entry of an array that was written last, which the next round of a loop often reads.

In `y[i] = a[i] * y[i - 1] + b[i]`, and in tables that are filled entry by entry, each round needs
what the one before has just written. Through memory that takes the processor about twice as long
as the sum and the product; so the number is kept in a register as well, with the place that it
went to, and what is read is compared with that place. The processor foresees the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from adjoint.executors.native.graph.indices import Access
from adjoint.executors.native.graph.nodes import ArrayNode, Kind
from adjoint.executors.native.machine.module import Block
from adjoint.executors.native.schedule.layout import Layout
from adjoint.program import Literal, Variable


@dataclass(frozen=True)
class KeptWrite:
    """The write whose number is kept, and the nodes that look whether they read it; by number.

    variables: those that lie in the memory which is written.
    """

    variables: frozenset[Variable]
    writer: int
    readers: frozenset[int]


class LastWritten:
    """A number and where it lies, in slots on the stack that LLVM turns into registers.

    scalar: the type of the number in memory. watched: what a body writes and reads.
    """

    def __init__(self, block: Block, scalar: str, watched: KeptWrite) -> None:
        self.watched = watched
        self._block = block
        self._scalar = scalar
        self._place, self._number = block.stack("ptr", 8), block.stack(scalar, 8)
        zero = "0.0" if scalar in ("float", "double") else "0"
        block.do(f"store ptr null, ptr {self._place}")
        block.do(f"store {scalar} {zero}, ptr {self._number}")

    def note(self, node: ArrayNode, pointer: str, number: str) -> None:
        """A node has written a number; where it is not the one that is watched, over that one."""
        block = self._block
        if node.number == self.watched.writer:
            block.do(f"store ptr {pointer}, ptr {self._place}")
            block.do(f"store {self._scalar} {number}, ptr {self._number}")
            return
        place = block.op(f"load ptr, ptr {self._place}")
        over = block.op(f"icmp eq ptr {pointer}, {place}")
        still = block.op(f"select i1 {over}, ptr null, ptr {place}")
        block.do(f"store ptr {still}, ptr {self._place}")

    def read(self, pointer: str, from_memory: Callable[[], str]) -> str:
        """The number at a pointer."""
        block = self._block
        place = block.op(f"load ptr, ptr {self._place}")
        number = block.op(f"load {self._scalar}, ptr {self._number}")
        same = block.op(f"icmp eq ptr {pointer}, {place}")
        before, elsewhere, known = (
            block.label,
            block.new_label("elsewhere"),
            block.new_label("known"),
        )
        block.do(f"br i1 {same}, label %{known}, label %{elsewhere}")
        block.place(elsewhere)
        in_memory = from_memory()
        block.do(f"br label %{known}")
        block.place(known)
        ways = f"[{number}, %{before}], [{in_memory}, %{elsewhere}]"
        return block.op(f"phi {self._scalar} {ways}")


def watched(layout: Layout, place: int, output: int, constants: int) -> KeptWrite | None:
    """The write to a carried array whose number the next round of a body is likely to read.

    None where the body writes there in other ways than one number at a time. place, output: which
    of the inputs and outputs it is. constants: how many of the inputs are the same in every round.
    """
    graph, places = layout.scheduler.graph, layout.storage.places
    ends = (("input", place), ("output", output))
    here = {variable for variable, home in places.items() if (home.kind, home.number) in ends}
    writers = [node for node in graph.nodes if not here.isdisjoint(node.outputs)]
    if not all(_writes_one_number(layout, node) for node in writers):
        return None
    fixed = frozenset(graph.program.inputs[:constants])
    readers = [
        node
        for node in graph.nodes
        if node.kind is Kind.GATHER
        and not node.iteration()
        and any(access.source in here for access in node.accesses)
    ]
    for writer in reversed(writers):
        chosen = frozenset(node.number for node in readers if _moves_to(node, writer, fixed))
        if chosen:
            return KeptWrite(frozenset(here), writer.number, chosen)
    return None


def _writes_one_number(layout: Layout, node: ArrayNode) -> bool:
    return (
        node.kind is Kind.SCATTER and not node.iteration() and node.output in layout.storage.taken
    )


def _moves_to(reader: ArrayNode, writer: ArrayNode, fixed: Collection[Variable]) -> bool:
    """Whether a place that is read may move, from round to round, to one that was written.

    Indices that both have in common must stay, and those in which they differ must change: in
    `d[i, j]` and `d[i, j - 1]`, of which j is counted. What is written where it was just read, as
    a histogram is, lies anywhere in the next round.
    """
    pairs = list(zip(reader.indices, writer.indices, strict=False))
    apart = [pair for pair in pairs if pair[0] != pair[1]]
    return bool(apart) and all(
        _stays(one, fixed) == (one == other) == _stays(other, fixed) for one, other in pairs
    )


def _stays(access: Access, fixed: Collection[Variable]) -> bool:
    return isinstance(access.source, Literal) or access.source in fixed
