"""From a program to its layout: what is computed in which order, and where everything lives."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from adjoint.executors.native.graph.bodies import build_graph
from adjoint.executors.native.graph.indices import Access
from adjoint.executors.native.graph.nodes import SCATTERS, ArrayNode, Graph, Kind
from adjoint.executors.native.machine.llvm import machine
from adjoint.executors.native.machine.module import Module
from adjoint.executors.native.schedule.idle import idle_rounds
from adjoint.executors.native.schedule.layout import Construct, InnerProgram, Layout
from adjoint.executors.native.schedule.memory_order import (
    WORTHWHILE,
    MemoryOrders,
    copy_inputs,
    unturned,
)
from adjoint.executors.native.schedule.operands import emit_routines, is_product
from adjoint.executors.native.schedule.order import (
    Item,
    Scheduler,
    paths,
)
from adjoint.executors.native.schedule.overwriting import candidates, settled
from adjoint.executors.native.schedule.recomputing import (
    compute_again,
    has_loops,
    scheduled,
)
from adjoint.executors.native.schedule.regions import (
    Region,
    divided_loops,
    own_memory,
    region_of,
    regions_of,
    threads_for,
    work_of,
)
from adjoint.executors.native.schedule.storage import (
    ALIGNMENT,
    BODY_STACK,
    STACK,
    allocate,
    whole_places,
)
from adjoint.executors.native.schedule.unrolling import choose_unrolled
from adjoint.loops import CHECKPOINT, SCAN, SWITCH, WHILE
from adjoint.program import Equation, Literal, Program, Variable

WATCHED: Final = 1024  # numbers that are looked at for NaN while they are written
COPIED: Final = 1024  # bytes of a carried array that is copied from one place to another
HELD: Final = 256  # bytes of one that is written in place, and held on the stack meanwhile
BODIES_STACK: Final = 1 << 17  # bytes that all bodies of a module have of the stack, at most
ROUND_TIME: Final = 2.0  # nanoseconds that a round takes at least


@dataclass(frozen=True)
class Planner:
    """Plans the programs of one module.

    precise: nothing is fused. threads: how many may share a loop; None for all cores. ranges: the
    least and the greatest number of tables of integers. bodies: those that are planned, of which
    equal ones are one.
    """

    module: Module
    precise: bool
    threads: int | None
    ranges: Mapping[Variable, tuple[int, int]]
    bodies: dict[tuple[Program, tuple[tuple[int, int], ...]], InnerProgram] = field(
        default_factory=dict
    )

    def kernel(
        self, program: Program, watched: Sequence[int], timed: int | None
    ) -> tuple[Layout, list[Region]]:
        """A program that is a function of its own, and its regions.

        watched, timed: see `Layout`.
        """
        layout, _ = self._layout(program, None, watched, timed)
        return layout, [*map(region_of, layout.regions, layout.work)]

    def body(self, program: Program, over: Mapping[int, int]) -> InnerProgram:
        """A program within another. over: which outputs may be written over which inputs."""
        key = program, tuple(over.items())
        if key not in self.bodies:
            self.bodies[key] = self._body(program, over)
        return self.bodies[key]

    def _body(self, program: Program, over: Mapping[int, int]) -> InnerProgram:
        layout, kept = self._layout(program, over, (), None)
        regions = zip(layout.regions, layout.work, strict=True)
        time = ROUND_TIME + sum(
            work.nanoseconds for items, work in regions if not _is_construct(items[0])
        )
        return InnerProgram(layout, layout.storage.workspace_bytes, time, kept)

    def _layout(
        self,
        program: Program,
        wanted: Mapping[int, int] | None,
        watched: Sequence[int],
        timed: int | None,
    ) -> tuple[Layout, Mapping[int, int]]:
        over = wanted or {}
        graph, trial = settled_graph(program, wanted)
        constructs = {
            node.number: self._construct(node.equation)
            for node in graph.nodes
            if node.kind is Kind.CONTROL and node.equation is not None
        }
        takes = candidates(graph, constructs, over)
        if trial is not None and not takes:
            graph, scheduler = trial.graph, trial
        else:
            scheduler = arranged(graph, takes)
        if takes:
            takes = settled(graph, scheduler, takes, over)
        compute_again(graph, scheduler, takes)
        divided = divided_loops(scheduler, self.threads, wanted is not None)
        routines, scratch = emit_routines(self.module, graph, threads_for(self.threads))
        scratch.update(own_memory(graph, scheduler, divided))
        scratch.update({number: construct.bytes for number, construct in constructs.items()})
        first_tag, is_body = self.module.last_tag + 1, wanted is not None
        stack = STACK
        if is_body:
            stack = min(BODY_STACK, BODIES_STACK - self.module.stack_bytes)
        threads = {loop: division.threads for loop, division in divided.items()}
        storage = allocate(graph, scheduler, scratch, threads, takes, first_tag, is_body, stack)
        self.module.stack_bytes += storage.stack_bytes * is_body
        self.module.last_tag = storage.last_tag
        regions = regions_of(scheduler.items)
        ways = paths(scheduler.items)
        layout = Layout(
            scheduler,
            storage,
            ways,
            routines,
            divided,
            contract=not self.precise,
            watched=_watched_within(graph, watched),
            timed=timed,
            constructs=constructs,
            ranges=self.ranges,
            regions=regions,
            work=[work_of(items, storage.taken) for items in regions],
            idle=idle_rounds(scheduler, ways, storage.places),
        )
        return layout, _in_place(graph, takes, over)

    # --- loops and branches -----------------------------------------------------------------------

    def _construct(self, equation: Equation) -> Construct:
        primitive, params = equation.primitive, equation.params
        if primitive is CHECKPOINT:
            return _arranged((self.body(params["body"], {}),), {}, (), {})
        if primitive is SWITCH:
            return self._switch(params["branches"])
        constants, carried, body = params["constants"], params["carried"], params["body"]
        wanted = {k: constants + k for k in range(carried) if body.outputs[k].type.ndim}
        planned = self.body(body, wanted)
        held, buffers = set(), {}
        for k in wanted:
            size = _bytes(body.outputs[k].type.size * body.outputs[k].type.dtype.itemsize)
            if k in planned.over:
                if size <= HELD and self._takes_stack(size):
                    held.add(k)
            elif size <= COPIED and self._takes_stack(2 * size):
                held.add(k)
            else:
                buffers[k] = size
        if primitive is WHILE:
            over = {1 + k: constants + k for k in planned.over}
            return _arranged((self.body(params["test"], {}), planned), over, held, buffers)
        over = {k: 1 + constants + k for k in planned.over}
        return _arranged((planned,), over, held, buffers)

    def _takes_stack(self, size: int) -> bool:
        """Whether so much is left of the stack; it is spent then."""
        left = self.module.stack_bytes + size <= BODIES_STACK
        self.module.stack_bytes += size * left
        return left

    def _switch(self, branches: Sequence[Program]) -> Construct:
        """Branches all of which write the same results over the same operands."""
        known: _Origins = {}
        origins = [_traced(branch, known) for branch in branches]
        wanted: dict[int, int] = {}
        for k, place in origins[0].items():
            if place not in wanted.values() and all(other.get(k) == place for other in origins):
                wanted[k] = place
        while True:
            bodies = tuple(self.body(branch, wanted) for branch in branches)
            kept = {k: j for k, j in wanted.items() if all(k in body.over for body in bodies)}
            if kept == wanted:
                break
            wanted = kept
        return _arranged(bodies, {k: 1 + j for k, j in wanted.items()}, (), {})


_Origins = dict[int, dict[int, int]]


def _is_construct(item: Item) -> bool:
    return isinstance(item, ArrayNode) and item.kind is Kind.CONTROL


def _traced(program: Program, known: _Origins) -> dict[int, int]:
    """For each array that a program returns, the input that it may have been written over.

    known: the same for programs within, by identity, each of which is looked at once.
    """
    if id(program) in known:
        return known[id(program)]
    producers = {
        v: (equation, n) for equation in program.equations for n, v in enumerate(equation.outputs)
    }
    inputs = {variable: place for place, variable in enumerate(program.inputs)}
    origins = {}
    for number, atom in enumerate(program.outputs):
        while atom in producers:
            equation, place = producers[atom]
            source = _written(equation, place, known)
            if source is None:
                break
            atom = equation.inputs[source]
        if not isinstance(atom, Literal) and atom in inputs and atom.type.ndim:
            origins[number] = inputs[atom]
    known[id(program)] = origins
    return origins


def _written(equation: Equation, place: int, known: _Origins) -> int | None:
    """The operand that a result of an equation could be written over."""
    primitive, params = equation.primitive, equation.params
    if primitive in SCATTERS:
        return 0
    if primitive is SCAN and place < params["carried"]:
        return 1 + int(params["constants"]) + place
    if primitive is WHILE and 0 < place <= params["carried"]:
        return int(params["constants"]) + place - 1
    if primitive is SWITCH:
        traced = [_traced(branch, known).get(place) for branch in params["branches"]]
        if traced[0] is not None and len(set(traced)) == 1:
            return 1 + traced[0]
    return None


def _in_place(
    graph: Graph, takes: Mapping[Variable, Variable], over: Mapping[int, int]
) -> dict[int, int]:
    """The outputs that lie where the inputs were that they may be written over."""
    places = {}
    for number, place in over.items():
        variable = graph.outputs[number]
        while variable in takes:
            variable = takes[variable]
        if variable is graph.program.inputs[place]:
            places[number] = place
    return places


def _arranged(
    bodies: tuple[InnerProgram, ...],
    over: Mapping[int, int],
    held: Collection[int],
    buffers: Mapping[int, int],
) -> Construct:
    offsets, total = {}, 0
    for number, size in buffers.items():
        offsets[number] = total
        total += size
    most = max(body.workspace_bytes for body in bodies)
    return Construct(bodies, over, frozenset(held), offsets, total, total + most)


def _bytes(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


def _watched_within(graph: Graph, watched: Sequence[int]) -> frozenset[Variable]:
    """The large outputs that are looked at for NaN while they are written, and not once more."""
    kinds = (Kind.POINTWISE, Kind.GUARDED, Kind.GATHER)
    return frozenset(
        variable
        for variable in (graph.outputs[number] for number in watched)
        if variable.type.size >= WATCHED
        and variable.type.inexact
        and graph.producers[variable].kind in kinds
    )


# --- schedules ------------------------------------------------------------------------------------


def settled_graph(
    program: Program, wanted: Mapping[int, int] | None
) -> tuple[Graph, Scheduler | None]:
    """The graph of a program, and which labels are written out.

    A contraction is computed where loops read it only if they leave none of it for later: what has
    to be stored whole is better a product. Where that had to be tried, an equal graph comes too, as
    it is arranged if nothing is written over an array.
    """
    whole: set[Variable] = set()
    while True:
        graph, streamed = _graph(program, wanted, whole)
        if not streamed:
            return graph, None
        trial = arranged(graph, {})
        kept = streamed & whole_places(graph, trial)
        if not kept:
            return _graph(program, wanted, whole)[0], trial  # the first with no array turned
        whole |= kept


def _graph(
    program: Program, wanted: Mapping[int, int] | None, whole: Collection[Variable]
) -> tuple[Graph, set[Variable]]:
    """A graph, and which results of contractions would be products if they were wanted whole."""
    streamed: set[Variable] = set()

    def is_left(equation: Equation, given: Sequence[Access | None], stored: bool) -> bool:
        (output,) = equation.outputs
        if is_product(equation, given, stored or output in whole):
            return True
        if is_product(equation, given, True):
            streamed.add(output)
        return False

    graph = build_graph(program, is_left, wanted)
    if graph.labels:
        choose_unrolled(graph, machine().native_lanes(np.dtype(float)), wanted is not None)
    return graph, streamed


def arranged(graph: Graph, takes: Mapping[Variable, Variable]) -> Scheduler:
    """Arrange the nodes, and then the arrays in memory as the loops walk them."""
    scheduler = scheduled(graph, takes)
    if not has_loops(scheduler):
        return scheduler
    fixed = unturned(graph, {*takes, *takes.values()})
    orders = MemoryOrders(graph, scheduler, fixed)
    chosen = orders.chosen()
    if chosen:
        graph.orders.update(chosen)
        scheduler = scheduled(graph, takes)
        orders = MemoryOrders(graph, scheduler, fixed)
    realigned = orders.realigned()
    if realigned:
        before, cycles = dict(graph.orders), orders.cycles()
        graph.orders.update(realigned)
        other = scheduled(graph, takes)
        others = MemoryOrders(graph, other, fixed)
        if others.cycles() < WORTHWHILE * cycles:
            scheduler, orders = other, others
        else:
            graph.orders = before
    copied = orders.copied()
    if copied:
        copy_inputs(graph, copied)
        scheduler = scheduled(graph, takes)
    return scheduler
