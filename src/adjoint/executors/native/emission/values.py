"""The value of a node at the present indices: its operands read, its operation applied."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from math import inf
from typing import Any, Final

import numpy as np

from adjoint.base.arrays import ArrayType, array_type
from adjoint.executors.native.elements import Fault, convert, emit, emit_both
from adjoint.executors.native.emission.indices import INDEX
from adjoint.executors.native.emission.last_written import LastWritten
from adjoint.executors.native.emission.memory import Memory
from adjoint.executors.native.graph.indices import Access, Dynamic, Label, Term
from adjoint.executors.native.graph.nodes import REDUCTIONS, ArrayNode, Graph, Kind
from adjoint.executors.native.graph.quotients import is_quotient, shared_divisors
from adjoint.executors.native.graph.structure import axis_values
from adjoint.executors.native.machine.module import Block, Value, constant, vector_type
from adjoint.executors.native.schedule.order import Path, Scheduler, result_path
from adjoint.executors.native.schedule.storage import Storage, in_registers
from adjoint.primitives import UFUNCS
from adjoint.primitives.elementwise.arithmetic import ADD, MULTIPLY
from adjoint.primitives.elementwise.selection import SELECT
from adjoint.primitives.structure.contraction import CONTRACT
from adjoint.primitives.structure.gathering import GATHER
from adjoint.program import Literal, Variable

Reader = Callable[[], Value]


class _GuardedAccesses:
    """The accesses of a guarded node, of which those that cannot count are passed over quickly."""

    def __init__(self, accesses: Sequence[Access], readers: Sequence[Reader]) -> None:
        self.all = list(zip(accesses, readers, strict=True))
        intervals = [[g.interval for g in access.guards] for access in accesses]
        labels = Counter(one[0] for row in intervals for one in row if one is not None)
        self.label = labels.most_common(1)[0][0] if labels else None
        self._ends = [
            next(
                (
                    (low, end)
                    for one in row
                    if one
                    for label, low, end in [one]
                    if label is self.label
                ),
                (-inf, inf),
            )
            for row in intervals
        ]

    def within(self, least: int, most: int) -> list[tuple[Access, Reader]]:
        """Those that may count where the label has values from `least` to `most`."""
        return [
            part
            for part, (low, end) in zip(self.all, self._ends, strict=True)
            if low <= most and least < end
        ]


_RECIPROCAL: Final = UFUNCS[np.reciprocal]


class Values:
    """Reads and computes in one function.

    ways: the loops around each node. contract: whether products may be fused with sums. leaves:
    whether a run ends at once where NumPy has to make it: within loops, whose rounds would have
    to keep that in mind.
    """

    def __init__(
        self,
        memory: Memory,
        scheduler: Scheduler,
        storage: Storage,
        ways: dict[int, Path],
        contract: bool,
    ) -> None:
        self.memory = memory
        self.block: Block = memory.block
        self.graph: Graph = scheduler.graph
        self.scheduler = scheduler
        self.storage = storage
        self.ways = ways
        self.contract = contract
        self.leaves = False
        self.faults: list[Fault] = []
        # Where those of so many lanes have been noted, and of how many bits each is there.
        self._noted: dict[tuple[int, int], str] = {}
        self._readers: dict[int, list[Reader]] = {}
        self._guarded_accesses: dict[int, _GuardedAccesses] = {}
        self._homes: dict[int, Path] = {}
        self._divisors: frozenset[int] | None = None
        self._companions: frozenset[Any] | None = None

    def home(self, node: ArrayNode) -> Path:
        """The loops within which the result of a node is known."""
        path = self._homes.get(node.number)
        if path is None:
            path = self._homes[node.number] = result_path(node, self.ways[node.number])
        return path

    # --- reading ----------------------------------------------------------------------------------

    def operands(self, node: ArrayNode) -> list[Reader]:
        """What reads each operand of a node at the present indices."""
        readers = self._readers.get(node.number)
        if readers is None:
            readers = [self.reader(node, access) for access in node.accesses]
            self._readers[node.number] = readers
        return readers

    def reader(self, node: ArrayNode, access: Access, mask: Reader | None = None) -> Reader:
        """A function that reads an access of a node at the present indices."""
        source = access.source
        if isinstance(source, Literal):
            number = constant(source.value, source.type.dtype)
            return lambda: number
        if source in self.scheduler.inlined:
            return self._inlined(node, access, mask)
        producer = self.graph.producers.get(source)
        if producer is None and not source.type.ndim:
            return lambda: self.memory.frames[0].registers[source][()]
        if producer is not None:
            home = self.home(producer)
            if in_registers(producer, home, access, self.ways[node.number]):
                return self._register(producer, access)
        terms = access.terms
        if mask is None:
            last = self.memory.last_written.get(source)
            if last is not None and node.number in last.watched.readers:
                return partial(self._last_written, last, source, terms)
            return lambda: self.memory.load(source, terms)
        return lambda: self.memory.load(source, terms, mask())

    def _last_written(self, last: LastWritten, source: Variable, terms: Sequence[Term]) -> Value:
        """What was written last, or the number in memory if that is another."""
        place, dtype = self.memory.places[source], source.type.dtype
        address = self.memory.address(source, place, terms)
        text = last.read(
            address.pointer, lambda: self.memory.load_at(dtype, place, address, None).text
        )
        return Value((text,), dtype)

    def _register(self, producer: ArrayNode, access: Access) -> Reader:
        source = access.source  # one of the results, where there are several
        assert isinstance(source, Variable)
        memory = self.memory
        depth = len(self.home(producer))
        if not producer.labels:
            return lambda: memory.frames[depth].registers[source][()]
        axes = [
            axis
            for axis, label in enumerate(producer.labels)
            if label is not None and label.find().unrolled
        ]
        terms = [access.terms[axis] for axis in axes]
        plain = [
            term.parts[0][0].find() if isinstance(term.parts[0][0], Label) else None
            for term in terms
            if len(term.parts) == 1 and not term.offset and term.parts[0][1] == 1
        ]
        if len(plain) == len(terms) and None not in plain:
            labels = [label for label in plain if label is not None]

            def read_plain() -> Value:
                key = tuple([memory.unrolled[label] for label in labels])
                return memory.frames[depth].registers[source][key]

            return read_plain

        def read() -> Value:
            key = tuple([int(memory.index(term).text) for term in terms])
            return memory.frames[depth].registers[source][key]

        return read

    def _inlined(self, node: ArrayNode, access: Access, mask: Reader | None) -> Reader:
        """A reader that computes the producer at the terms of the access."""
        assert isinstance(access.source, Variable)
        producer = self.graph.producers[access.source]
        values = axis_values(producer.labels, access)
        moved = [inner.substituted(values) for inner in producer.accesses]
        readers = [self.reader(node, inner, mask) for inner in moved]
        target = tuple(access.substituted(values).terms)
        guarded = _GuardedAccesses(moved, readers) if producer.kind is Kind.GUARDED else None

        def read() -> Value:
            if guarded is not None:
                return self._guarded(node, producer, guarded, mask)
            if producer.kind is Kind.NUMBER:
                return self.memory.index(target[0])
            return self._apply(producer, [reader() for reader in readers])

        return read

    # --- computing --------------------------------------------------------------------------------

    def number(self, node: ArrayNode) -> Value:
        """The value of a node that is a number: as a rule, of numbers that are known here."""
        registers: dict[Any, dict[tuple[int, ...], Value]] = self.memory.frame.registers
        operands = []
        for access in node.accesses:
            known = registers.get(access.source, {}).get(())
            operands.append(self.reader(node, access)() if known is None else known)
        return self._apply(node, operands)

    def value(self, node: ArrayNode) -> Value:
        """The value of a node (for a reduction, of one part) at the present indices."""
        if node.kind is Kind.GUARDED:
            parts = self._guarded_accesses.get(node.number)
            if parts is None:
                parts = self._guarded_accesses[node.number] = _GuardedAccesses(
                    node.accesses, self.operands(node)
                )
            return self._guarded(node, node, parts)
        if node.kind is Kind.NUMBER:
            return self.memory.index(node.target[0])
        if node.kind is Kind.GATHER:
            self.set_indices(node)
        return self._apply(node, [read() for read in self.operands(node)])

    def _apply(self, node: ArrayNode, operands: Sequence[Value]) -> Value:
        """The operation of an equation on operands in registers."""
        equation = node.equation
        assert equation is not None
        primitive, dtype = equation.primitive, node.output.type.dtype
        if primitive in REDUCTIONS or primitive is GATHER:
            return convert(self.block, self.faults, operands[0], dtype)
        lanes = max([value.lanes for value in operands])
        wide = [self.memory.splat(value, lanes) for value in operands] if lanes else operands
        types = [atom.type for atom in equation.inputs]
        params = equation.params
        if self._by_reciprocal(node):
            return self._quotient(wide, types, dtype)
        if primitive.companion is not None:
            known = self._along(node, wide[0], dtype)
            if known is not None:
                return known
        alone = not lanes and not any(type_.ndim for type_ in types)
        if primitive is CONTRACT:
            primitive, params = MULTIPLY, {}
            types = [array_type((), type_.dtype, type_.weak) for type_ in types]
        value = emit(
            self.block,
            self.faults,
            primitive,
            params,
            wide,
            types,
            dtype,
            self.contract,
            alone,
            precise=not self.contract,
            part=node.part,
        )
        if self.faults:
            self.flush_faults()
        return value

    def _by_reciprocal(self, node: ArrayNode) -> bool:
        """Whether a quotient is one of several with the same divisor, of derivatives."""
        if not self.contract or not is_quotient(node):
            return False
        if self._divisors is None:
            self._divisors = shared_divisors(self.graph)
        return node.number in self._divisors

    def _quotient(
        self, operands: Sequence[Value], types: Sequence[ArrayType], dtype: np.dtype[Any]
    ) -> Value:
        """x times 1 / y, which is computed once; should that overflow, NumPy divides."""
        x, y = operands
        known = self.memory.frame.reciprocals
        if y not in known:
            known[y] = emit(self.block, self.faults, _RECIPROCAL, {}, [y], [types[1]], dtype)
        both = [types[0], array_type((), dtype)]
        return emit(self.block, self.faults, MULTIPLY, {}, [x, known[y]], both, dtype, True)

    def _along(self, node: ArrayNode, x: Value, dtype: np.dtype[Any]) -> Value | None:
        """The result by an evaluation that gives its companion's too, if both are wanted here."""
        assert node.equation is not None
        primitive, known = node.equation.primitive, self.memory.frame.along
        if (primitive.name, x) not in known:
            if x.dtype != dtype or not self._is_accompanied(node):
                return None
            both = emit_both(self.block, primitive, x)
            if both is None:
                return None
            known.update({(name, x): value for name, value in both.items()})
        return known[primitive.name, x]

    def _is_accompanied(self, node: ArrayNode) -> bool:
        """Whether the companion of a function is computed of the same numbers in the same loop."""
        if self._companions is None:
            self._companions = frozenset(
                (other.equation.primitive.companion, other.accesses, self.ways[other.number])
                for other in self.graph.nodes
                if other.equation is not None and other.number in self.ways
            )
        assert node.equation is not None
        way = self.ways.get(node.number)
        return (node.equation.primitive.name, node.accesses, way) in self._companions

    def _guarded(
        self,
        node: ArrayNode,
        home: ArrayNode,
        parts: _GuardedAccesses,
        outer: Reader | None = None,
    ) -> Value:
        """What is written last, or the sum of all that is written.

        outer: where it is read at all.
        """
        dtype = home.output.type.dtype
        written: Value | None = None
        within = self.memory.range_of(parts.label) if parts.label is not None else None
        for access, reader in parts.all if within is None else parts.within(*within):
            held = self.memory.holds(access.guards)
            if held is False:
                continue
            if held is True:
                value = convert(self.block, self.faults, reader(), dtype)
                written = self._plus(written, value) if home.combine == "sum" and written else value
                continue
            mask: Value = held
            value = self._masked(node, access, reader, mask, outer)
            value = convert(self.block, self.faults, value, dtype)
            if written is None:
                written = value
                continue
            both = self._plus(written, value) if home.combine == "sum" else value
            written = self.select(mask, both, written)
        assert written is not None
        return written

    def _masked(
        self, node: ArrayNode, access: Access, reader: Reader, mask: Value, outer: Reader | None
    ) -> Value:
        """Memory is read only where the guards hold, if it is not the array's everywhere.

        They are about one axis, and what is outside along another one is not read either.
        """
        source = access.source
        if not isinstance(source, Variable):
            return reader()
        if source in self.scheduler.inlined or (
            source in self.storage.places and not self.memory.is_within(source, access.terms)
        ):
            within = mask if outer is None else self.memory.both(mask, outer())
            return self.reader(node, access, lambda: within)()
        return reader()

    def _plus(self, one: Value, other: Value) -> Value:
        lanes = max(one.lanes, other.lanes)
        one, other = self.memory.splat(one, lanes), self.memory.splat(other, lanes)
        types = [array_type((), one.dtype)] * 2
        both = [one, other]
        return emit(self.block, self.faults, ADD, {}, both, types, one.dtype, self.contract)

    def select(self, mask: Value, one: Value, other: Value) -> Value:
        """`one` where the mask holds, else `other`."""
        lanes = max(mask.lanes, one.lanes, other.lanes)
        values = [self.memory.splat(value, lanes) for value in (mask, one, other)]
        types = [array_type((), value.dtype) for value in values]
        return emit(self.block, self.faults, SELECT, {}, values, types, one.dtype)

    # --- indices that are known at run time -------------------------------------------------------

    def set_indices(self, node: ArrayNode) -> None:
        """The index operands, counted from the start; outside of the bounds is a fault."""
        key = -1 - node.number
        readers = self._readers.get(key)
        if readers is None:
            readers = [self.reader(node, access) for access in node.indices]
            self._readers[key] = readers
        for place, (read, length) in enumerate(zip(readers, node.bounds, strict=True)):
            value = convert(self.block, self.faults, read(), INDEX)
            self.memory.dynamic[Dynamic(place)] = self._within(value, length)

    def _within(self, value: Value, length: int) -> Value:
        block, lanes = self.block, value.lanes
        if self._leaves_for(lanes):
            return Value((self._single_within(value.text, length),), INDEX)
        wide, bits = vector_type("i64", lanes), vector_type("i1", lanes)
        size = block.splat(constant(length, INDEX), lanes).text
        zero = block.splat(constant(0, INDEX), lanes).text
        below = block.op(f"icmp slt {wide} {value.text}, {zero}")
        moved = block.op(f"add {wide} {value.text}, {size}")
        index = block.op(f"select {bits} {below}, {wide} {moved}, {wide} {value.text}")
        outside = block.op(f"icmp uge {wide} {index}, {size}")
        self.faults.append((outside, lanes))
        safe = block.op(f"select {bits} {outside}, {wide} {zero}, {wide} {index}")
        return Value((safe,), INDEX, lanes)

    def _single_within(self, text: str, length: int) -> str:
        """An index counted from the start, where those counted from the end are rare."""
        block = self.block
        inside, outside, behind = map(block.new_label, ("inside", "outside", "behind"))
        beyond = block.op(f"icmp uge i64 {text}, {length}")
        block.rarely(beyond, outside, behind)
        block.do(f"br label %{inside}")
        block.place(outside)
        moved = block.op(f"add i64 {text}, {length}")
        wrong = block.op(f"icmp uge i64 {moved}, {length}")
        tag = block.module.rare_tag()
        block.do(f"br i1 {wrong}, label %{block.missed()}, label %{inside}, !prof {tag}")
        block.place(inside)
        return block.op(f"phi i64 [{text}, %{behind}], [{moved}, %{outside}]")

    # --- faults -----------------------------------------------------------------------------------

    def _leaves_for(self, lanes: int) -> bool:
        return self.leaves and not lanes and len(self.memory.frames) == 1

    def flush_faults(self) -> None:
        """Note the conditions under which NumPy has to run the program, for each lane."""
        for text, lanes in self.faults:
            if self._leaves_for(lanes):
                self.block.rarely(text, self.block.missed(), self.block.new_label("well"))
                continue
            # Gathers take a mask. Of single bits, those noted lie in such a register too (AVX-512),
            # which LLVM sets the mask from, so that each gather would wait for the one before.
            bits = 32 if lanes in self.memory.gathered else 1
            wide = vector_type(f"i{bits}", lanes)
            place = self._noted.get((lanes, bits))
            if place is None:
                # LLVM takes a vector for aligned to all of its bytes.
                align = max(8, lanes * bits // 8)
                place = self._noted[lanes, bits] = self.block.stack(wide, align)
                self.block.opening.append(f"  store {wide} zeroinitializer, ptr {place}")
            if bits > 1:
                text = self.block.op(f"sext {vector_type('i1', lanes)} {text} to {wide}")
            before = self.block.op(f"load {wide}, ptr {place}")
            both = self.block.op(f"or {wide} {before}, {text}")
            self.block.do(f"store {wide} {both}, ptr {place}")
        self.faults.clear()

    def finish(self) -> str:
        """Whether any condition was met: an i1. No node is read any more.

        Readers hold on to this, and this to them: the garbage collector took a third of the time in
        which a long program is written.
        """
        self.flush_faults()
        self._readers.clear()
        self._guarded_accesses.clear()
        any_fault = "false"
        for (lanes, bits), place in self._noted.items():
            wide = vector_type(f"i{bits}", lanes)
            text = self.block.op(f"load {wide}, ptr {place}")
            if bits > 1:
                text = self.block.op(f"icmp ne {wide} {text}, zeroinitializer")
            if lanes:
                name = f"llvm.vector.reduce.or.v{lanes}i1"
                self.block.module.declare(name, f"declare i1 @{name}(<{lanes} x i1>)")
                text = self.block.op(f"call i1 @{name}(<{lanes} x i1> {text})")
            any_fault = self.block.op(f"or i1 {any_fault}, {text}")
        return any_fault
