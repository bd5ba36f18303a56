"""In which order the axes of an array lie in memory: that in which loops and products walk it.

The lanes of a loop run along one axis. Where that is not the last one in memory, every vector is
gathered from as many places, at ten times the cost. So the arrays that only this program sees are
turned, one by one or all at once, as long as that makes loops and products cheaper together; and
what comes from outside is copied once, turned, if it is walked often.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Final

from adjoint.executors.native.graph.indices import (
    Access,
    Dynamic,
    Label,
    Quotient,
    Term,
    label_term,
)
from adjoint.executors.native.graph.nodes import WHOLE, ArrayNode, Graph, Kind
from adjoint.executors.native.graph.structure import stride_along
from adjoint.executors.native.products import ArrayProduct, product_cycles
from adjoint.executors.native.schedule.operands import product_of, strides_of
from adjoint.executors.native.schedule.order import (
    Loop,
    Path,
    Scheduler,
    paths,
    result_path,
)
from adjoint.executors.native.schedule.storage import in_memory, in_registers
from adjoint.primitives.structure.contraction import CONTRACT
from adjoint.program import Variable

LEAST: Final = 512  # numbers of an array from which it is worth while to think about it
OFTEN: Final = 64  # so often small arrays are walked for which it is worth while as well
# Cycles for each number, if the numbers of a vector are neighbours, and if they are not; and what
# it costs more where each vector is on another page, of more pages than processors know well.
NEIGHBOUR: Final = 0.25
GATHERED: Final = 2.0
FAR: Final = 1.0
PAGE: Final = 4096
PAGES: Final = 64
WORTHWHILE: Final = 0.95  # of the cycles before: less is in the noise of the estimate

Order = tuple[int, ...]
Orders = Mapping[Variable, Order]


@dataclass(frozen=True)
class _ArrayWalk:
    """Numbers of an array that a loop with lanes reads or writes, so many in all.

    path: the loops around. inner: the labels of those within the loop with lanes.
    """

    terms: tuple[Term, ...]
    lane: Label
    path: Path
    inner: tuple[Label, ...]
    count: float

    @property
    def axis(self) -> int | None:
        """The axis along which the lanes run."""
        wanted = label_term(self.lane)
        return next((axis for axis, term in enumerate(self.terms) if term == wanted), None)


class MemoryOrders:
    """Chooses the orders of the arrays of one graph, of which there is a schedule.

    fixed: the arrays that have to lie as they are.
    """

    def __init__(self, graph: Graph, scheduler: Scheduler, fixed: set[Variable]) -> None:
        self.graph = graph
        self.fixed = fixed
        self.walks: dict[Variable, dict[_ArrayWalk, None]] = {}  # each once, in order
        self.products: dict[Variable, list[ArrayNode]] = {}
        self.one_by_one = 0.0  # numbers that loops without lanes read and write
        ways = paths(scheduler.items)
        self.held = in_memory(graph, scheduler, ways)
        # Within a loop with lanes there are arrays of vectors.
        fixed.update(variable for variable, (_, lanes, _) in self.held.items() if lanes)
        for node in graph.nodes:
            if node.number not in ways:
                continue
            for variable, terms in _walked(graph, scheduler, node, ways):
                if variable in self.held or variable in fixed:
                    self._walk(variable, terms, ways[node.number])
        for node in graph.nodes:
            if node.kind is Kind.ROUTINE and _is_contraction(node):
                sources = [access.source for access in node.accesses]
                for atom in dict.fromkeys((node.output, *sources)):
                    if isinstance(atom, Variable):
                        self.products.setdefault(atom, []).append(node)

    def _walk(self, variable: Variable, terms: tuple[Term, ...], path: Path) -> None:
        lane = next((loop.label for loop in path if loop.lanes), None)
        atoms = [atom for term in terms for atom in term.atoms()]
        if any(isinstance(atom, Quotient) for atom in atoms):
            self.fixed.add(variable)  # digits of a number that counts its entries
        used = {label for term in terms for label in term.labels()}
        if lane is None:
            self.one_by_one += prod(loop.label.extent for loop in path)
        if lane is None or lane not in used:
            return
        depth = max(depth for depth, loop in enumerate(path, 1) if loop.label in used)
        if any(isinstance(atom, Dynamic) for atom in atoms):
            depth = len(path)  # an index is another one in each round
        loops = prod(loop.label.extent for loop in path[:depth])
        count = loops * prod(label.extent for label in used if label.unrolled)
        labels = [loop.label for loop in path[:depth]]
        inner = labels[labels.index(lane) + 1 :]
        within = tuple(label for label in inner if label in used)
        # What is read again in the same loop is in a register.
        walk = _ArrayWalk(terms, lane, path[:depth], within, count)
        self.walks.setdefault(variable, {})[walk] = None

    # --- what is chosen ---------------------------------------------------------------------------

    def chosen(self) -> dict[Variable, Order]:
        """The orders that make the program cheaper; none, if it is well as it is."""
        offers = {
            variable: orders
            for variable in self.walks
            if variable not in self.fixed and (orders := self._offers(variable))
        }
        if not offers:
            return {}
        best: dict[Variable, Order] = {}
        cycles = before = self._cycles(best, offers)
        everything = {variable: orders[0] for variable, orders in offers.items()}
        if (other := self._cycles(everything, offers)) < cycles:
            best, cycles = everything, other
        for variable, orders in offers.items():
            for order in (None, *orders):
                trial = {**best, variable: order} if order else _without(best, variable)
                if trial != best and (other := self._cycles(trial, offers)) < cycles:
                    best, cycles = trial, other
        return best if cycles < WORTHWHILE * before else {}

    def copied(self) -> dict[Variable, Order]:
        """The inputs that are better copied in another order before they are walked."""
        copies = {}
        for variable in self.graph.program.inputs:
            for order in self._offers(variable):
                now = self._walking(variable)
                with self._turned({variable: order}):
                    then = self._walking(variable)
                if then + variable.type.size * (NEIGHBOUR + GATHERED) < WORTHWHILE * now:
                    copies[variable] = order
                    break
        return copies

    def realigned(self) -> dict[Variable, Order]:
        """Results of products that other lanes would suit, in loops whose lanes suit other arrays.

        An array that many loops walk is turned as most of them want it. What only this loop reads
        beside it is then turned in the same way, and the loop may have its lanes along that axis.
        """
        walks: dict[Loop, list[tuple[Variable, _ArrayWalk]]] = {}
        for variable, those in self.walks.items():
            for walk in those:
                loop = next(loop for loop in walk.path if loop.lanes)
                walks.setdefault(loop, []).append((variable, walk))
        turned: dict[Variable, Order] = {}
        for pairs in walks.values():
            label = self._crossed(pairs)
            for variable, walk in pairs:
                if label is None or variable in self.fixed or variable not in self.products:
                    continue
                terms, own = walk.terms, self.graph.in_memory_order(variable)
                if label_term(label) in terms and label_term(label) != terms[own[-1]]:
                    turned[variable] = _with_last(own, terms.index(label_term(label)))
        return turned

    def _crossed(self, pairs: Sequence[tuple[Variable, _ArrayWalk]]) -> Label | None:
        """The label of a loop along which those arrays lie that its lanes gather numbers from."""
        counts: dict[Label, float] = {}
        for variable, walk in pairs:
            strides = self.graph.strides(variable)
            large = variable.type.size >= LEAST and variable in self.graph.producers
            if not large or stride_along(walk.terms, strides, walk.lane) in (0, 1):
                continue
            last = walk.terms[self.graph.in_memory_order(variable)[-1]]
            for loop in walk.path:
                if label_term(loop.label) == last:
                    counts[loop.label] = counts.get(loop.label, 0.0) + walk.count
        return max(counts, key=lambda label: counts[label], default=None)

    def _offers(self, variable: Variable) -> list[Order]:
        """Orders with the axis last along which lanes run, the one that is walked most first."""
        often = sum(walk.count for walk in self.walks.get(variable, ()))
        if max(variable.type.size, often / OFTEN) < LEAST or variable.type.ndim < 2:
            return []
        counts: dict[int, float] = {}
        for walk in self.walks.get(variable, ()):
            if walk.axis is not None:
                counts[walk.axis] = counts.get(walk.axis, 0.0) + walk.count
        own = self.graph.in_memory_order(variable)
        axes = sorted(counts, key=lambda axis: -counts[axis])
        orders = [_with_last(own, axis) for axis in axes]
        return [order for order in orders if order != own]

    # --- what it costs ----------------------------------------------------------------------------

    def cycles(self) -> float:
        """Of all loops and products, as the arrays lie now."""
        products = {node.number: node for nodes in self.products.values() for node in nodes}
        walking = sum(map(self._walking, self.walks)) + GATHERED * self.one_by_one
        return walking + sum(map(self._multiplying, products.values()))

    @contextmanager
    def _turned(self, orders: Orders) -> Iterator[None]:
        """Let arrays lie in these orders meanwhile."""
        before = dict(self.graph.orders)
        self.graph.orders.update(orders)
        try:
            yield
        finally:
            self.graph.orders = before

    def _cycles(self, orders: Orders, offers: Mapping[Variable, object]) -> float:
        """Of all that touches arrays which may be turned."""
        products = {
            node.number: node for variable in offers for node in self.products.get(variable, ())
        }
        with self._turned(orders):
            cycles = sum(self._walking(variable) for variable in offers)
            return cycles + sum(self._multiplying(node) for node in products.values())

    def _walking(self, variable: Variable) -> float:
        """Of the loops that read and write an array, as it lies now."""
        strides = self.graph.strides(variable)
        itemsize = variable.type.dtype.itemsize
        return sum(
            walk.count * _cycles_of_number(walk, strides, itemsize)
            for walk in self.walks.get(variable, ())
        )

    def _multiplying(self, node: ArrayNode) -> float:
        strides = [strides_of(self.graph, access)[0] for access in node.accesses]
        return _cycles_of(product_of(self.graph, node, strides))


def _cycles_of_number(walk: _ArrayWalk, strides: tuple[int, ...], itemsize: int) -> float:
    """What it costs to read or write a number, in an array of these strides."""
    near = stride_along(walk.terms, strides, walk.lane) in (0, 1)
    cycles = NEIGHBOUR if near else GATHERED
    if walk.inner and prod(label.extent for label in walk.inner) > PAGES:
        step = stride_along(walk.terms, strides, walk.inner[-1])
        if step is None or abs(step) * itemsize >= PAGE:
            cycles += FAR
    return cycles


@lru_cache(maxsize=1024)
def _cycles_of(product: ArrayProduct) -> float:
    return product_cycles(product)


def _with_last(order: Order, axis: int) -> Order:
    return (*(other for other in order if other != axis), axis)


def _without(orders: Orders, variable: Variable) -> dict[Variable, Order]:
    return {other: order for other, order in orders.items() if other is not variable}


def _is_contraction(node: ArrayNode) -> bool:
    return node.equation is not None and node.equation.primitive is CONTRACT


def _walked(
    graph: Graph, scheduler: Scheduler, node: ArrayNode, ways: Mapping[int, Path]
) -> Iterator[tuple[Variable, tuple[Term, ...]]]:
    """What a node reads from memory, and where, and what it writes there."""
    if node.kind in WHOLE:
        return
    if node.kind is not Kind.SCATTER:
        yield node.output, node.terms()
    for access in scheduler.reads(node):
        if isinstance(access.source, Variable) and access.source.type.ndim:
            producer = graph.producers.get(access.source)
            if producer is not None:
                home = result_path(producer, ways[producer.number])
                if in_registers(producer, home, access, ways[node.number]):
                    continue
            yield access.source, access.terms


def unturned(graph: Graph, taken: set[Variable]) -> set[Variable]:
    """The arrays that others see, or that are written and read as blocks.

    taken: those that are written over each other.
    """
    fixed = {*graph.program.inputs, *graph.outputs, *taken}
    for node in graph.nodes:
        if node.kind is Kind.CONTROL or (node.kind is Kind.ROUTINE and not _is_contraction(node)):
            fixed.update(node.outputs)
        if node.kind is Kind.CONTROL:
            fixed.update(a.source for a in node.accesses if isinstance(a.source, Variable))
        if node.kind is Kind.SCATTER:
            fixed.add(node.output)
    return fixed


def copy_inputs(graph: Graph, orders: Orders) -> None:
    """Let loops read copies of inputs, with the axes in another order; products read the inputs."""
    for variable, order in orders.items():
        copy = Variable(variable.type)
        labels = graph.axes[variable]
        graph.axes[copy], graph.orders[copy] = labels, order
        terms = tuple(map(label_term, labels))
        for node in graph.nodes:
            if node.kind not in WHOLE:
                node.accesses = tuple(_redirected(a, variable, copy) for a in node.accesses)
        number = len(graph.nodes)
        node = ArrayNode(number, Kind.GUARDED, None, copy, labels, (Access(variable, terms),))
        graph.nodes.append(node)
        graph.producers[copy] = node


def _redirected(access: Access, source: Variable, copy: Variable) -> Access:
    return Access(copy, access.terms, access.guards) if access.source is source else access
