"""Where each array lives: registers, the stack, the workspace, or memory that came from outside.

A value that every reader finds in the loops where it was computed stays in registers. One that is
read in other loops needs memory, but only for the axes whose loops are not shared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Final, NamedTuple

from adjoint.executors.native.graph.indices import Access, Label, label_term, row_strides
from adjoint.executors.native.graph.nodes import WHOLE, ArrayNode, Graph, Kind
from adjoint.executors.native.schedule.joined import blocks_of_outputs
from adjoint.executors.native.schedule.order import (
    Item,
    Loop,
    Path,
    Scheduler,
    paths,
    result_path,
)
from adjoint.program import Variable

ALIGNMENT: Final = 64
STACK_EACH: Final = 8192  # bytes of one array on the stack, at most
STACK: Final = 32768  # bytes of all arrays on the stack, at most
BODY_EACH: Final = 1024  # the same for each program within another
BODY_STACK: Final = 2048


class MemoryPlace(NamedTuple):
    """The memory of an array.

    kind: "input", "output", "stack" or "workspace". number: of the input or output; the offset in
    the workspace. start: the first of its bytes in the output, of which it may be a part. axes:
    which axes of the array it has; all for whole arrays. strides: for each of these, in numbers.
    lanes: for arrays of vectors, how many numbers each has, else 0. tag: equal for memory that may
    overlap.
    """

    kind: str
    number: int
    axes: tuple[int, ...]
    strides: tuple[int, ...]
    lanes: int
    tag: int
    bytes: int
    start: int = 0


@dataclass(frozen=True)
class Scratch:
    """Memory of a node beside its result: the offset in the workspace, and its tag."""

    offset: int
    tag: int


@dataclass
class Storage:
    """The places of all variables that have memory, and how much is needed in all.

    scratch: that of products and reductions, by node. shared: the loops within which a variable is
    computed and read. taken: results that lie where an array was that nobody reads any more, which
    is named. last_tag: the greatest of the tags.
    """

    places: dict[Variable, MemoryPlace] = field(default_factory=dict)
    workspace_bytes: int = 0
    stack_bytes: int = 0
    scratch: dict[int, Scratch] = field(default_factory=dict)
    shared: dict[Variable, Path] = field(default_factory=dict)
    taken: Mapping[Variable, Variable] = field(default_factory=dict)
    last_tag: int = 0


def in_registers(producer: ArrayNode, home: Path, access: Access, path: Path) -> bool:
    """Whether a reader finds the value of a producer in the registers of its loop."""
    if producer.kind in WHOLE:
        return not access.source.type.ndim
    if producer.kind is Kind.SCATTER or path[: len(home)] != home:
        return False
    if not producer.labels:
        return True
    if not set(rolled_axes(producer).values()) <= {loop.label for loop in home}:
        return False
    for axis, label in enumerate(producer.labels):
        term = access.terms[axis]
        if label is None:
            continue
        root = label.find()
        if not root.unrolled:
            if term != label_term(root):
                return False
        elif any(not isinstance(a, Label) or not a.find().unrolled for a in term.atoms()):
            return False
    return True


def rolled_axes(node: ArrayNode) -> dict[int, Label]:
    """The axes of a result that are walked by loops."""
    return {
        axis: label.find()
        for axis, label in enumerate(node.labels)
        if label is not None and not label.find().unrolled
    }


def own_bytes(node: ArrayNode, shape: Sequence[int], lanes: int) -> int:
    """The bytes in which each lane, or each thread, gathers a reduction for itself."""
    size = prod(shape) * max(lanes, 1) * node.output.type.dtype.itemsize
    return -(-size // ALIGNMENT) * ALIGNMENT


class Allocator:
    """Gives out parts of a workspace: first what is free again and large enough."""

    def __init__(self) -> None:
        self.size = 0
        self.slots: list[tuple[int, int]] = []  # offset and bytes
        self.free: list[int] = []

    def take(self, size: int) -> int:
        """The number of a slot with at least this many bytes."""
        size = -(-max(size, 1) // ALIGNMENT) * ALIGNMENT
        fitting = [slot for slot in self.free if self.slots[slot][1] >= size]
        if fitting:
            best = min(fitting, key=lambda slot: self.slots[slot][1])
            if self.slots[best][1] <= 4 * size:
                self.free.remove(best)
                return best
        self.slots.append((self.size, size))
        self.size += size
        return len(self.slots) - 1


def allocate(
    graph: Graph,
    scheduler: Scheduler,
    scratch: dict[int, int],
    threads: Mapping[Loop, int],
    taken: Mapping[Variable, Variable],
    first_tag: int,
    is_body: bool,
    most: int,
) -> Storage:
    """Decide where everything lives.

    scratch: the bytes that products and reductions need beside their operands, by node. threads:
    how many share an outermost loop; each has its own memory for what lives within a round.
    taken: results that lie where an array was. first_tag: the least that may be given. is_body:
    whether the program stands within another, which gets its numbers in registers. most: bytes of
    the stack.
    """
    storage = Storage(taken=taken)
    _place_given(storage, graph, first_tag, is_body)
    heads = _heads(storage)
    wanted = in_memory(graph, scheduler, paths(scheduler.items))
    if not is_body:  # whose outputs may lie over inputs
        _place_joined(storage, graph, wanted, heads)
    allocator, stack = Allocator(), 0
    largest = BODY_EACH if is_body else STACK_EACH
    first, last = _lifetimes(graph, scheduler)
    for variable, head in heads.items():
        last[head] = max(last.get(head, 0), last[variable])
    ends: dict[int, list[int]] = {}
    base = first_tag + len(graph.outputs) + 1
    beginning: dict[int, list[Variable]] = {}
    for variable in wanted:
        if variable not in storage.places and variable not in heads:
            beginning.setdefault(first[variable], []).append(variable)
    for position, item in enumerate(scheduler.items):
        held = []
        for variable in beginning.get(position, ()):
            axes, lanes, path = wanted[variable]
            shape = tuple(variable.type.shape[axis] for axis in axes)
            size = prod(shape) * max(lanes, 1) * variable.type.dtype.itemsize
            strides = graph.strides(variable, axes)
            storage.shared[variable] = path
            if size <= largest and stack + size <= most:
                stack += -(-size // ALIGNMENT) * ALIGNMENT
                tag_number = base + len(graph.nodes) + len(storage.places)
                place = MemoryPlace("stack", 0, axes, strides, lanes, tag_number, size)
            else:
                share = -(-size // ALIGNMENT) * ALIGNMENT
                slot = allocator.take(share * (threads.get(path[0], 1) if path else 1))
                offset = allocator.slots[slot][0]
                place = MemoryPlace("workspace", offset, axes, strides, lanes, base + slot, size)
                ends.setdefault(last[variable], []).append(slot)
            storage.places[variable] = place
        for node in nodes_within(item):
            if scratch.get(node.number):
                slot = allocator.take(scratch[node.number])
                storage.scratch[node.number] = Scratch(allocator.slots[slot][0], base + slot)
                held.append(slot)
        allocator.free += [*held, *ends.pop(position, [])]
    for variable, head in heads.items():
        storage.places[variable] = storage.places[head]
    storage.workspace_bytes, storage.stack_bytes = allocator.size, stack
    tags = (place.tag for place in storage.places.values())
    storage.last_tag = max(base + len(allocator.slots), *tags, base)
    return storage


def _place_given(storage: Storage, graph: Graph, first_tag: int, is_body: bool) -> None:
    """What comes from outside, and what goes there."""
    for number, variable in enumerate(graph.program.inputs):
        if variable.type.ndim:
            storage.places[variable] = _whole("input", number, variable, first_tag)
    for number, variable in enumerate(graph.outputs):
        if variable in graph.producers and (variable.type.ndim or not is_body):
            tag = first_tag + number + 1
            storage.places[variable] = _whole("output", number, variable, tag)


def _place_joined(
    storage: Storage,
    graph: Graph,
    wanted: Mapping[Variable, tuple[tuple[int, ...], int, Path]],
    heads: Mapping[Variable, Variable],
) -> None:
    """What is joined into an output lies there, unless it shares its memory with others."""
    sharing = {*heads, *heads.values(), *storage.taken, *storage.taken.values()}
    for variable, (output, start) in blocks_of_outputs(graph).items():
        place, needs = storage.places.get(output), wanted.get(variable)
        if place is None or place.kind != "output" or variable in storage.places or needs is None:
            continue
        axes, lanes, path = needs
        if lanes or path or variable in sharing or output in sharing:
            continue
        itemsize = variable.type.dtype.itemsize
        size, first = variable.type.size * itemsize, start * itemsize
        strides = graph.strides(variable)
        storage.places[variable] = place._replace(
            axes=axes, strides=strides, start=first, bytes=size
        )


def _heads(storage: Storage) -> dict[Variable, Variable]:
    """For each variable that shares its memory with others, the one that decides where it lies.

    That is what came from outside, or the output, or else the first.
    """
    following = {source: result for result, source in storage.taken.items()}
    heads: dict[Variable, Variable] = {}
    for first in following:
        if first in storage.taken:
            continue
        chain = [first]
        while chain[-1] in following:
            chain.append(following[chain[-1]])
        head = next((variable for variable in chain if variable in storage.places), first)
        heads.update((variable, head) for variable in chain if variable is not head)
    return heads


def _whole(kind: str, number: int, variable: Variable, tag: int) -> MemoryPlace:
    shape = variable.type.shape
    size = prod(shape) * variable.type.dtype.itemsize
    return MemoryPlace(kind, number, tuple(range(len(shape))), row_strides(shape), 0, tag, size)


def stored(graph: Graph, scheduler: Scheduler) -> dict[Variable, Path]:
    """The variables that are read elsewhere than in their own loop, and the loops they are in."""
    ways = paths(scheduler.items)
    homes: dict[Variable, Path] = {}
    for node in graph.nodes:
        if node.number not in ways:
            continue
        if node.kind is Kind.SCATTER or _finished_later(node, ways):
            homes.setdefault(node.output, result_path(node, ways[node.number]))
        if node.kind in WHOLE:
            homes.update((variable, ()) for variable in node.outputs if variable.type.ndim)
        for access in scheduler.reads(node):
            source = access.source
            if not isinstance(source, Variable) or source not in graph.producers:
                continue
            producer = graph.producers[source]
            home = result_path(producer, ways[producer.number])
            whole = node.kind is Kind.ROUTINE or (node.kind is Kind.CONTROL and source.type.ndim)
            if whole or not in_registers(producer, home, access, ways[node.number]):
                homes.setdefault(source, home)
    return homes


def in_memory(
    graph: Graph, scheduler: Scheduler, ways: dict[int, Path]
) -> dict[Variable, tuple[tuple[int, ...], int, Path]]:
    """The variables that need memory of their own: with which axes, how many lanes, where."""
    homes = stored(graph, scheduler)
    wanted = {}
    readers = _readers(graph, scheduler)
    for variable in homes:
        producer = graph.producers[variable]
        path = _shared(producer, homes[variable], readers.get(variable, ()), ways)
        within = {loop.label for loop in path}
        axes = tuple(
            axis
            for axis, label in enumerate(graph.axes[variable])
            if label is None or label.find() not in within
        )
        lanes = max((loop.lanes for loop in path), default=0)
        wanted[variable] = (axes, lanes, path)
    return wanted


def whole_places(graph: Graph, scheduler: Scheduler) -> set[Variable]:
    """The arrays that have memory of their own for all of their numbers."""
    wanted = in_memory(graph, scheduler, paths(scheduler.items))
    arrays = {
        variable for variable in (*graph.program.inputs, *graph.outputs) if variable.type.ndim
    }
    arrays.update(
        variable for variable, (_, lanes, path) in wanted.items() if not lanes and not path
    )
    return arrays


def _finished_later(node: ArrayNode, ways: dict[int, Path]) -> bool:
    """Whether a reduction has results for loops within the one that it started in."""
    if node.kind is not Kind.REDUCE:
        return False
    home = result_path(node, ways[node.number])
    return any(label not in {loop.label for loop in home} for label in rolled_axes(node).values())


def _readers(graph: Graph, scheduler: Scheduler) -> dict[Variable, list[tuple[ArrayNode, Access]]]:
    readers: dict[Variable, list[tuple[ArrayNode, Access]]] = {}
    for node in graph.nodes:
        if scheduler.is_left_out(node):
            continue
        for access in scheduler.reads(node):
            if isinstance(access.source, Variable):
                readers.setdefault(access.source, []).append((node, access))
    return readers


def _shared(
    producer: ArrayNode,
    home: Path,
    readers: Sequence[tuple[ArrayNode, Access]],
    ways: dict[int, Path],
) -> Path:
    """The loops, from the outermost, within which a value is computed and read at one index."""
    if producer.kind in WHOLE:
        return ()
    walked = producer.walked()
    axes = {label: axis for axis, label in rolled_axes(producer).items() if walked[axis]}
    depth = 0
    for depth, loop in enumerate(home, 1):
        if loop.label not in axes:
            # The value does not depend on this loop, but is computed in it anew each time.
            if not all(ways[node.number][:depth] == home[:depth] for node, _ in readers):
                return home[: depth - 1]
            continue
        identity = label_term(loop.label)
        for node, access in readers:
            if ways[node.number][:depth] != home[:depth]:
                return home[: depth - 1]
            if access.terms[axes[loop.label]] != identity:
                return home[: depth - 1]
    return home[:depth]


def _lifetimes(
    graph: Graph, scheduler: Scheduler
) -> tuple[dict[Variable, int], dict[Variable, int]]:
    """For each variable, the first and last item of the schedule that it lives in."""
    first: dict[Variable, int] = {}
    last: dict[Variable, int] = {}
    for position, item in enumerate(scheduler.items):
        for node in nodes_within(item):
            for variable in node.outputs:
                first[variable] = position
                last.setdefault(variable, position)
            for access in scheduler.reads(node):
                if isinstance(access.source, Variable):
                    last[access.source] = position
    return first, last


def nodes_within(item: Item) -> Iterator[ArrayNode]:
    """All nodes of an item."""
    if isinstance(item, Loop):
        for inner in item.body:
            yield from nodes_within(inner)
    else:
        yield item
