"""From a program to a native function: which equations can be lowered, and how."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, Final

import numpy as np

from adjoint.base.arrays import ArrayType
from adjoint.executors.native.accumulation import own_bytes
from adjoint.executors.native.callable import make_callable
from adjoint.executors.native.calls import emit_calls, place_values
from adjoint.executors.native.elements import cost, held_in_registers, supports
from adjoint.executors.native.emission import TURNS, Layout
from adjoint.executors.native.entry import STACK_LIMIT, EntrySpec, emit_entry
from adjoint.executors.native.graph import (
    OTHERS,
    REDUCTIONS,
    SCATTERS,
    STRUCTURE,
    WRITES,
    Graph,
    Kind,
    Node,
    build_graph,
)
from adjoint.executors.native.indices import Access, Label
from adjoint.executors.native.kernel import emit_kernel
from adjoint.executors.native.machine import Code, machine
from adjoint.executors.native.module import Module
from adjoint.executors.native.products import Emitted, Product, emit_product
from adjoint.executors.native.schedule import (
    Item,
    Loop,
    Scheduler,
    choose_unrolled,
    paths,
    result_path,
    stride_along,
)
from adjoint.executors.native.segments import Cut, cut
from adjoint.executors.native.storage import allocate, nodes_within, rolled_axes, stored
from adjoint.primitives.contraction import split_spec
from adjoint.program import Equation, Program, Variable

NAMED: Final = 4  # operations of a region that are told by name
LENT: Final = 1 << 15  # bytes from which results are lent by the caller
PRODUCT_WORK: Final = 256  # multiplications from which a product is left to its own routine
LARGE: Final = 1024  # numbers from which it is worth while to compute an array again
MOST_ROUNDS: Final = 4
FLOP_TIME: Final = 0.05  # nanoseconds, about
BYTE_TIME: Final = 0.05
SHARED_TIME: Final = 150_000.0  # nanoseconds from which a loop is shared by threads
PAUSED_TIME: Final = 5_000_000.0  # nanoseconds of a region after which signals are seen to
MOST_GATHERED: Final = 1 << 20  # bytes that each thread may gather in
RELEASED: Final = 50_000.0  # additions from which other threads of Python run meanwhile


@dataclass(frozen=True)
class Options:
    """How to compile.

    watched: outputs to be watched for NaN. precise: elementary functions are left to NumPy, and
    nothing is fused.
    threads: cores to use, all for None. timed: whether each region notes the time that it takes.
    """

    watched: tuple[int, ...] = ()
    precise: bool = False
    threads: int | None = None
    timed: bool = False


@dataclass(frozen=True)
class Region:
    """One loop nest or product: its equations, flops, and bytes that it moves."""

    name: str
    equations: int
    flops: float
    bytes: int

    @property
    def estimate(self) -> float:
        """About how long it takes on one core, in nanoseconds."""
        return max(self.flops * FLOP_TIME, self.bytes * BYTE_TIME)


@dataclass
class NativeFunction:
    """A program as machine code.

    function: takes the inputs, then the workspace if there is one, then the lent results; returns
    the tuple of results, or None where the program has to be run otherwise.
    """

    function: Callable[..., Any]
    code: Code
    workspace_bytes: int
    lent: tuple[ArrayType, ...]
    regions: tuple[Region, ...] = ()
    stack_bytes: int = 0

    def ir(self) -> str:
        """The optimised code of LLVM."""
        return self.code.ir()

    def assembly(self) -> str:
        """The machine code, as text."""
        return self.code.assembly()

    def cycles(self) -> list[int]:
        """What each region has taken so far, in ticks of a counter, if it is timed."""
        times = ctypes.c_int64 * len(self.regions)
        return list(times.from_address(self.code.address("times")))


def lowerable(equation: Equation, precise: bool) -> bool:
    """Whether an equation can be made machine code of."""
    name = equation.primitive.name
    types = [atom.type for atom in (*equation.inputs, *equation.outputs)]
    if any(not type_.size or not held_in_registers(type_.dtype) for type_ in types):
        return False
    if name in ("custom_call", "linear_call") or equation.primitive.multiple:
        return False
    if name in REDUCTIONS or name in STRUCTURE or name in WRITES or name in SCATTERS:
        return name not in ("max", "min") or types[0].dtype.kind != "c"
    return name in OTHERS or supports(equation, precise)


def is_product(equation: Equation) -> bool:
    """Whether a contraction is left to the routines for products of matrices."""
    left, right, result = split_spec(equation.params["spec"])
    shapes = [atom.type for atom in equation.inputs]
    dtype = equation.outputs[0].type.dtype
    if any(type_.dtype != dtype for type_ in shapes) or dtype.kind != "f":
        return False
    lengths = dict(zip(left + right, shapes[0].shape + shapes[1].shape, strict=True))
    summed = prod(n for letter, n in lengths.items() if letter not in result)
    rows = prod(n for letter, n in lengths.items() if letter not in right)
    columns = prod(n for letter, n in lengths.items() if letter not in left)
    if summed < 3 or min(rows, columns) < 2:
        return False
    return prod(lengths.values()) >= PRODUCT_WORK


@dataclass
class _Kernel:
    """What came of a kernel: its needs, its regions, and the outputs that it looks at for NaN."""

    workspace_bytes: int
    stack_bytes: int
    regions: list[Region]
    watched: frozenset[int]


def native(program: Program, options: Options) -> NativeFunction | None:
    """Compile a program all of whose equations are lowerable.

    None where an input that only its shape is asked of, or that is returned as it is, has numbers
    that machine code does not know.
    """
    if not all(held_in_registers(type_.dtype) for type_ in _outside(program)):
        return None
    module = Module()
    pieces = cut(program)
    if pieces is None:
        built = _kernel(module, program, "program", options, 0)
    else:
        built = _kernels(module, program, pieces, options)
    lent = tuple(
        number
        for number, atom in enumerate(program.outputs)
        if atom.type.ndim and atom.type.size * atom.type.dtype.itemsize >= LENT
    )
    spec = EntrySpec(
        inputs=program.input_types,
        outputs=program.output_types,
        workspace_bytes=built.workspace_bytes,
        workspace_given=built.workspace_bytes > STACK_LIMIT,
        lent=lent,
        release=sum(region.flops for region in built.regions) > RELEASED,
        watched=tuple(number for number in options.watched if number not in built.watched),
    )
    if options.timed:
        module.functions.append(f"@times = global [{len(built.regions)} x i64] zeroinitializer")
    emit_entry(module, spec)
    code = machine().compile(module.text())
    return NativeFunction(
        make_callable(code, "program"),
        code,
        built.workspace_bytes if spec.workspace_given else 0,
        tuple(program.outputs[number].type for number in lent),
        tuple(built.regions),
        stack_bytes=built.stack_bytes + built.workspace_bytes * (not spec.workspace_given),
    )


def _kernels(module: Module, program: Program, pieces: Cut, options: Options) -> _Kernel:
    """Add the kernels of a program in segments, and the one that calls them."""
    rows, workspace_bytes = place_values(program, pieces)
    names = [module.fresh("segment") for _ in pieces.templates]
    unwatched = replace(options, watched=())
    regions: list[Region] = []
    spaces, stacks = [0], [0]
    for template, name in zip(pieces.templates, names, strict=True):
        built = _kernel(module, template, name, unwatched, len(regions))
        regions += built.regions
        spaces.append(built.workspace_bytes)
        stacks.append(built.stack_bytes)
    emit_calls(module, names, pieces, rows, workspace_bytes)
    return _Kernel(workspace_bytes + max(spaces), max(stacks), regions, frozenset())


def _outside(program: Program) -> tuple[ArrayType, ...]:
    return (*program.input_types, *program.output_types)


def _kernel(
    module: Module, program: Program, name: str, options: Options, first_region: int
) -> _Kernel:
    """Add the kernel of a program."""
    graph = build_graph(program, is_product)
    choose_unrolled(graph, machine().native_lanes(np.dtype(float)))
    scheduler = scheduled(graph)
    threads = shared_loops(scheduler, options.threads)
    products, scratch = _products(module, graph)
    scratch.update(own_memory(graph, scheduler, threads))
    storage = allocate(graph, scheduler, scratch, threads)
    regions = [region_of(item) for item in scheduler.items]
    watched = _watched_within(graph, options.watched)
    layout = Layout(
        scheduler,
        storage,
        paths(scheduler.items),
        products,
        threads,
        contract=not options.precise,
        watched=frozenset(graph.outputs[number] for number in watched),
        pauses=frozenset(n for n, each in enumerate(regions) if each.estimate > PAUSED_TIME),
        timed=first_region if options.timed else None,
    )
    emit_kernel(module, layout, name)
    stack = sum(place.bytes for place in storage.places.values() if place.kind == "stack")
    return _Kernel(storage.workspace_bytes, stack, regions, watched)


def _watched_within(graph: Graph, watched: Sequence[int]) -> frozenset[int]:
    """The large outputs that are looked at for NaN while they are written, and not once more."""
    kinds = (Kind.POINTWISE, Kind.GUARDED, Kind.GATHER)
    return frozenset(
        number
        for number in watched
        if graph.outputs[number].type.size >= LARGE
        and graph.outputs[number].type.inexact
        and graph.producers[graph.outputs[number]].kind in kinds
    )


def scheduled(graph: Graph) -> Scheduler:
    """Arrange the nodes; what is cheap and would have to be stored is computed where it is read."""
    inlined: frozenset[Variable] = frozenset()
    scheduler = Scheduler(graph, lanes_for, inlined)
    for _ in range(MOST_ROUNDS):
        more = _cheap(graph, scheduler)
        if not more:
            break
        inlined |= more
        scheduler = Scheduler(graph, lanes_for, inlined)
    return scheduler


def _cheap(graph: Graph, scheduler: Scheduler) -> set[Variable]:
    """Large stored arrays that one operation on what is in memory anyway gives again."""
    found: set[Variable] = set()
    for variable in stored(graph, scheduler):
        node = graph.producers[variable]
        volume = prod(label.extent for label in node.iteration() if not label.unrolled)
        if node.kind is not Kind.POINTWISE or variable in scheduler.outside or volume < LARGE:
            continue
        wide = [access.source for access in node.accesses if access.source.type.ndim]
        # What it reads stays in memory, unless that is itself computed again.
        if cost(node.operation) <= 1 and len(wide) <= 2 and found.isdisjoint(wide):
            found.add(variable)
    return found


def lanes_for(nodes: Sequence[Node]) -> int:
    """The lanes that suit the numbers of some nodes."""
    floats = [node.output.type.dtype for node in nodes if node.output.type.dtype.kind in "fc"]
    dtypes = floats or [node.output.type.dtype for node in nodes]
    sizes = [dtype.itemsize // (2 if dtype.kind == "c" else 1) for dtype in dtypes]
    return machine().native_lanes(np.dtype(f"f{min(8, max(4, *sizes))}"))


def _products(
    module: Module, graph: Graph
) -> tuple[dict[int, tuple[str, tuple[int, int]]], dict[int, int]]:
    """The functions of all products, and the scratch that they need."""
    functions: dict[int, tuple[str, tuple[int, int]]] = {}
    scratch: dict[int, int] = {}
    known: dict[Product, Emitted] = {}
    for node in graph.nodes:
        if node.kind is not Kind.PRODUCT:
            continue
        assert node.equation is not None
        sides = [_strides(access) for access in node.accesses]
        shapes = [atom.type.shape for atom in node.equation.inputs]
        result = (
            tuple(int(n) for n in np.cumprod((1, *node.output.type.shape[:0:-1]))[::-1])
            if node.output.type.ndim
            else ()
        )
        wanted = Product(
            node.output.type.dtype,
            node.equation.params["spec"],
            shapes[0],
            shapes[1],
            _filled(sides[0][0], node, 0),
            _filled(sides[1][0], node, 1),
            result,
        )
        if wanted not in known:
            made = emit_product(module, wanted)
            assert made is not None
            known[wanted] = made
        functions[node.number] = (known[wanted].name, (sides[0][1], sides[1][1]))
        scratch[node.number] = known[wanted].scratch_bytes
    return functions, scratch


def _filled(strides: dict[Label, int], node: Node, side: int) -> tuple[int, ...]:
    """The stride of each axis of an operand: 0 where it is the same number again and again.

    For axes of length one it does not matter: it is 1.
    """
    assert node.equation is not None
    left, right, result = split_spec(node.equation.params["spec"])
    letters = (left, right)[side]
    labels = _letters(node, left, right, result)
    return tuple(strides.get(found, 0) if (found := labels[x]) else 1 for x in letters)


def _letters(node: Node, left: str, right: str, result: str) -> dict[str, Label | None]:
    assert node.equation is not None
    found: dict[str, Label | None] = {
        letter: None if label is None else label.find()
        for letter, label in zip(result, node.labels, strict=True)
    }
    lengths: dict[str, int] = {}
    for letters, atom in zip((left, right), node.equation.inputs, strict=True):
        lengths.update(zip(letters, atom.type.shape, strict=True))
    waiting = iter(node.reduced)
    for letter in dict.fromkeys(left + right):
        if letter not in found:
            found[letter] = next(waiting).find() if lengths[letter] != 1 else None
    return found


def _strides(access: Access) -> tuple[dict[Label, int], int]:
    """For each label, the distance in memory; and where the operand starts."""
    assert isinstance(access.source, Variable)
    shape = access.source.type.shape
    strides: dict[Label, int] = {}
    offset = 0
    steps = [prod(shape[axis + 1 :]) for axis in range(len(shape))]
    for term, step in zip(access.terms, steps, strict=True):
        offset += term.offset * step
    for label in access.labels():
        stride = stride_along(access.terms, shape, label)
        assert stride is not None
        strides[label] = stride
    return strides, offset


def own_memory(graph: Graph, scheduler: Scheduler, threads: dict[Loop, int]) -> dict[int, int]:
    """What reductions need for which every lane or thread gathers in memory of its own."""
    ways = paths(scheduler.items)
    found = {}
    for node in graph.nodes:
        if node.kind is not Kind.REDUCE or not ways.get(node.number):
            continue
        way = ways[node.number]
        count = threads.get(way[0], 1)
        lanes = next((loop for loop in way if loop.lanes), None)
        home = {loop.label for loop in result_path(node, way)}
        inner = [label for label in rolled_axes(node).values() if label not in home]
        reduced = {label.find() for label in node.reduced}
        lane_reduced = lanes is not None and lanes.label in reduced
        if inner and (lane_reduced or (count > 1 and not home)):
            shape = [
                node.output.type.shape[axis]
                for axis, label in enumerate(node.labels)
                if label is None or label.find() not in home
            ]
            wide = lanes.lanes if lanes is not None and lane_reduced else 0
            found[node.number] = own_bytes(node, shape, wide) * count
    return found


def shared_loops(scheduler: Scheduler, threads: int | None) -> dict[Loop, int]:
    """The outermost loops that are long enough for several threads, and how many."""
    count = cores() if threads is None else threads
    if count < 2 or machine().find("pthread_create") is None:
        return {}
    found = {}
    for item in scheduler.items:
        if not isinstance(item, Loop):
            continue
        nodes = list(nodes_within(item))
        if any(node.kind is Kind.SCATTER for node in nodes):
            continue
        region = region_of(item)
        grains = item.label.extent // (max(item.lanes, 1) * TURNS)
        gathered = sum(
            node.output.type.size * node.output.type.dtype.itemsize
            for node in item.starts
            if rolled_axes(node)
        )
        if region.estimate > SHARED_TIME and grains >= 4 * count and gathered <= MOST_GATHERED:
            found[item] = count
    return found


def cores() -> int:
    """The cores that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1


def region_of(item: Item) -> Region:
    """What an item of a schedule computes and moves."""
    nodes = list(nodes_within(item))
    flops = 0.0
    moved: dict[Variable, int] = {}
    for node in nodes:
        flops += cost(node.operation) * prod(label.extent for label in node.iteration())
        for variable in (node.output, *(access.source for access in node.reads())):
            if isinstance(variable, Variable):
                moved[variable] = variable.type.size * variable.type.dtype.itemsize
    names = dict.fromkeys(node.operation for node in nodes)
    title = ", ".join([*names][:NAMED]) + ", ..." * (len(names) > NAMED)
    if isinstance(item, Loop):
        title = f"loop of {item.label.extent}: {title}"
    return Region(title, len(nodes), flops, sum(moved.values()))
