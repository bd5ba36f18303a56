"""From a schedule to the instructions of one function."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from typing import Any, Final

import numpy as np

from adjoint.base.arrays import array_type
from adjoint.executors.native.accumulation import Accumulators
from adjoint.executors.native.elements import Fault, convert, emit
from adjoint.executors.native.graph import Graph, Kind, Node
from adjoint.executors.native.indices import Access, Dynamic, Guard, Label
from adjoint.executors.native.memory import INDEX, Frame, Memory
from adjoint.executors.native.module import Block, Module, Value, constant, vector_type
from adjoint.executors.native.schedule import (
    Item,
    Loop,
    Scheduler,
    axis_values,
    instances,
    paths,
)
from adjoint.executors.native.storage import Storage, in_registers
from adjoint.program import Literal, Variable

SHORT: Final = 24  # instances of a body that is written several times
TURNS: Final = 4
ROUNDS: Final = 16  # of a loop between two compensated additions to a sum

Reader = Callable[[], Value]


class Emitter:
    """Writes the kernel of a scheduled graph.

    products: for each product of matrices, the name of its function and where its operands start.
    """

    def __init__(
        self,
        module: Module,
        graph: Graph,
        scheduler: Scheduler,
        storage: Storage,
        products: dict[int, tuple[str, tuple[int, int]]],
    ) -> None:
        self.module = module
        self.graph = graph
        self.scheduler = scheduler
        self.storage = storage
        self.products = products
        self.block = Block(module)
        self.memory = Memory(self.block, storage.places)
        self.ways = paths(scheduler.items)
        self.label = "entry"  # the basic block that is being written
        self.faults: list[Fault] = []
        self.fault = self.block.stack("i1", 1)
        self.block.opening.append(f"  store i1 false, ptr {self.fault}")
        self.accumulators = Accumulators(self.memory, self.ways, storage)
        self._readers: dict[int, list[Reader]] = {}
        self._inputs = {variable: n for n, variable in enumerate(graph.program.inputs)}

    def emit(self, name: str = "program") -> str:
        """The text of the kernel, as a function of this name."""
        self._bases()
        for item in self.scheduler.items:
            self._item(item)
        self._flush_faults()
        status = self.block.op(f"load i1, ptr {self.fault}")
        self.block.do(f"ret i32 {self.block.op(f'zext i1 {status} to i32')}")
        header = (
            f"define internal i32 @{name}(ptr noalias %inputs, ptr noalias %outputs, "
            "ptr noalias %workspace, ptr %state)"
        )
        self.module.alias_tag(0)
        return self.block.function(header)

    def _bases(self) -> None:
        for variable, place in self.storage.places.items():
            if place.kind == "stack":
                base = self.block.stack(f"[{max(place.bytes, 1)} x i8]")
            elif place.kind == "workspace":
                base = self.block.op(f"getelementptr i8, ptr %workspace, i64 {place.number}")
            else:
                source = "%inputs" if place.kind == "input" else "%outputs"
                base = self.pointer_at(source, place.number)
            self.memory.bases[variable] = base
        for variable, number in self._inputs.items():
            if variable.type.ndim:
                continue
            base = self.pointer_at("%inputs", number)
            self.memory.bases[variable] = base
            self.storage.places[variable] = self._scalar_place(number)
            value = self.memory.load(variable, ())
            self.memory.frame.registers[variable] = {(): value}

    def _scalar_place(self, number: int) -> Any:
        first = next(iter(self.storage.places.values()), None)
        kind = type(first) if first is not None else None
        assert kind is not None
        return kind("input", number, (), (), 0, 0, 8)

    def pointer_at(self, array: str, number: int) -> str:
        """A pointer out of an array of pointers."""
        at = self.block.op(f"getelementptr ptr, ptr {array}, i64 {number}")
        return self.block.op(f"load ptr, ptr {at}, align 8, !invariant.load !0")

    # --- items ------------------------------------------------------------------------------------

    def _item(self, item: Item) -> None:
        if isinstance(item, Loop):
            self._loop(item)
        elif item.kind is Kind.PRODUCT:
            self._product(item)
        else:
            self._node(item)

    def _product(self, node: Node) -> None:
        name, offsets = self.products[node.number]
        arguments = [f"ptr {self.memory.bases[node.output]}"]
        for access, offset in zip(node.accesses, offsets, strict=True):
            assert isinstance(access.source, Variable)
            size = access.source.type.dtype.itemsize
            base = self.memory.bases[access.source]
            if offset:
                base = self.block.op(f"getelementptr i8, ptr {base}, i64 {offset * size}")
            arguments.append(f"ptr {base}")
        scratch = self.storage.scratch.get(node.number, 0)
        place = self.block.op(f"getelementptr i8, ptr %workspace, i64 {scratch}")
        self.block.do(f"call void @{name}({', '.join(arguments)}, ptr {place})")

    # --- loops ------------------------------------------------------------------------------------

    def _loop(self, loop: Loop) -> None:
        turns = self._turns(loop)
        for node in loop.starts:
            self._start(node, turns)
        step = max(loop.lanes, 1)
        extent = loop.label.extent
        whole = extent // (step * turns) * step * turns if turns > 1 else 0
        if whole:
            self._rounds(loop, 0, whole, turns)
        if whole < extent:
            self._rounds(loop, whole, extent, 1)
        for node in loop.starts:
            self._finish(node)

    def _turns(self, loop: Loop) -> int:
        """How many rounds are written side by side, so that they need not wait for each other."""
        gathers = any(node.kind is Kind.REDUCE for node in loop.starts)
        nodes = [item for item in loop.body if isinstance(item, Node)]
        short = len(nodes) == len(loop.body) and sum(map(instances, nodes)) <= SHORT
        rounds = loop.label.extent // max(loop.lanes, 1)
        if not gathers or not short or any(node.kind is Kind.SCATTER for node in nodes):
            return 1
        return TURNS if rounds >= TURNS else 1

    def _rounds(self, loop: Loop, first: int, last: int, turns: int) -> None:
        """The rounds from first to last, and sums carried over now and then."""
        summed = [
            item
            for item in loop.body
            if isinstance(item, Node)
            and item.kind is Kind.REDUCE
            and self.accumulators.compensated(item)
            and loop.label in {label.find() for label in item.reduced}
        ]
        step = max(loop.lanes, 1) * turns

        def body(position: str) -> None:
            for turn in range(turns):
                self.accumulators.turn = turn
                here = position
                if turn:
                    here = self.block.op(f"add i64 {position}, {turn * max(loop.lanes, 1)}")
                self._round(loop, here, last % step != 0)
            self.accumulators.turn = 0

        if not summed or last - first <= 2 * ROUNDS * step:
            with self.counting(str(first), str(last), step) as position:
                body(position)
            return
        with self.counting(str(first), str(last), ROUNDS * step) as start:
            end = self.least(self.block.op(f"add i64 {start}, {ROUNDS * step}"), str(last))
            with self.counting(start, end, step) as position:
                body(position)
            for node in summed:
                self.accumulators.carry_over(node)

    def least(self, one: str, other: str) -> str:
        """The smaller of two i64."""
        name = self.module.declare("llvm.smin.i64", "declare i64 @llvm.smin.i64(i64, i64)")
        return self.block.op(f"call i64 {name}(i64 {one}, i64 {other})")

    @contextmanager
    def counting(self, start: str, end: str, step: int) -> Iterator[str]:
        """A loop from start to end; yields its counter."""
        block = self.block
        head, after = block.new_label("loop"), block.new_label("done")
        counter, following = f"%{head}.i", f"%{head}.next"
        block.do(f"br label %{head}")
        before = self.label
        block.place(head)
        self.label = head
        place = len(block.lines)
        block.lines.append("")
        yield counter
        block.lines[place] = (
            f"  {counter} = phi i64 [{start}, %{before}], [{following}, %{self.label}]"
        )
        block.do(f"{following} = add nuw nsw i64 {counter}, {step}")
        more = block.op(f"icmp slt i64 {following}, {end}")
        block.do(f"br i1 {more}, label %{head}, label %{after}")
        block.place(after)
        self.label = after

    def _round(self, loop: Loop, counter: str, partial: bool) -> None:
        """The body once, for one value of the label or for as many as there are lanes."""
        frame = Frame(loop.label, loop.lanes, counter)
        extent, lanes = loop.label.extent, loop.lanes
        if lanes and partial:
            # The last round starts earlier, so that all its lanes lie within the arrays.
            frame.position = self.least(counter, str(extent - lanes))
            behind = self.block.op(f"sub i64 {counter}, {frame.position}")
            wide = vector_type("i64", lanes)
            shift = self.block.splat(Value((behind,), INDEX), lanes)
            steps = ", ".join(f"i64 {lane}" for lane in range(lanes))
            mask = self.block.op(f"icmp uge {wide} <{steps}>, {shift.text}")
            frame.fresh = Value((mask,), np.dtype(bool), lanes)
        self.memory.frames.append(frame)
        for item in loop.body:
            self._item(item)
        self._flush_faults()
        self.memory.frames.pop()

    @contextmanager
    def _plain_loop(self, label: Label) -> Iterator[None]:
        with self.counting("0", str(label.extent), 1) as counter:
            self.memory.frames.append(Frame(label, 0, counter))
            yield
            self.memory.frames.pop()

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
        else:
            with self._plain_loop(label):
                self.nest(rest, body)

    def _start(self, node: Node, turns: int = 1) -> None:
        if node.kind is Kind.SCATTER:
            labels = [label.find() for label in node.labels if label is not None]
            held = {frame.label for frame in self.memory.frames}
            read = self._reader(node, node.accesses[0])

            def copy() -> None:
                value = convert(self.block, self.faults, read(), node.output.type.dtype)
                self.memory.store(node.output, node.terms(), value)

            self.nest([label for label in labels if label not in held], copy)
            return
        self.accumulators.start(node, self.nest, turns)

    def _finish(self, node: Node) -> None:
        if node.kind is Kind.REDUCE:
            self.accumulators.finish(node, self.nest, self._define)

    # --- nodes ------------------------------------------------------------------------------------

    def _node(self, node: Node) -> None:
        labels = [label for label in node.iteration() if label.unrolled]
        inner = {label.find() for label in node.reduced if label.find().unrolled}
        if node.kind is Kind.SCATTER and not any(
            loop.label in {each.find() for each in node.reduced} for loop in self.ways[node.number]
        ):
            self._start(node)
        if node.kind is Kind.REDUCE:
            labels = [label for label in labels if label not in inner]
        for values in product(*(range(label.extent) for label in labels)):
            self.memory.unrolled.update(zip(labels, values, strict=True))
            self._instance(node, list(inner))

    def _instance(self, node: Node, inner: Sequence[Label]) -> None:
        if node.kind is Kind.SCATTER:
            self._scatter(node)
            return
        if node.kind is not Kind.REDUCE:
            self._define(node, self._value(node))
            return
        parts = []
        for values in product(*(range(label.extent) for label in inner)):
            self.memory.unrolled.update(zip(inner, values, strict=True))
            parts.append(self._value(node))
        value = self.accumulators.combined(node, parts)
        if all(label.find().unrolled for label in node.reduced):
            self._define(node, value)
        else:
            self.accumulators.add(node, value)

    def _define(self, node: Node, value: Value) -> None:
        """The result of a node at the present indices is known."""
        key = self._key(node)
        self.memory.frame.registers.setdefault(node.output, {})[key] = value
        if node.output in self.storage.places:
            self.memory.store(node.output, node.terms(), value)

    def _key(self, node: Node) -> tuple[int, ...]:
        unrolled = self.memory.unrolled
        return tuple(
            unrolled[found]
            for found in (label.find() for label in node.labels if label is not None)
            if found.unrolled
        )

    # --- reading ----------------------------------------------------------------------------------

    def _operands(self, node: Node) -> list[Reader]:
        found = self._readers.get(node.number)
        if found is None:
            found = [self._reader(node, access) for access in node.accesses]
            self._readers[node.number] = found
        return found

    def _reader(self, node: Node, access: Access, mask: Reader | None = None) -> Reader:
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
            home = self.accumulators.home(producer)
            if in_registers(producer, home, access, self.ways[node.number]):
                return self._register(producer, access)
        terms = access.terms
        if mask is None:
            return lambda: self.memory.load(source, terms)
        return lambda: self.memory.load(source, terms, mask())

    def _register(self, producer: Node, access: Access) -> Reader:
        source = producer.output
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
        memory = self.memory
        depth = len(self.accumulators.home(producer))
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

    def _inlined(self, node: Node, access: Access, mask: Reader | None) -> Reader:
        """A reader that computes the producer at the terms of the access."""
        assert isinstance(access.source, Variable)
        producer = self.graph.producers[access.source]
        values = axis_values(producer, access)
        moved = [inner.substituted(values) for inner in producer.accesses]
        readers = [self._reader(node, inner, mask) for inner in moved]
        target = tuple(access.substituted(values).terms)

        def read() -> Value:
            if producer.kind is Kind.GUARDED:
                guarded = [(inner, reader) for inner, reader in zip(moved, readers, strict=True)]
                return self._guarded(node, producer, guarded)
            if producer.kind is Kind.NUMBER:
                return self.memory.index(target[0])
            return self._apply(producer, [reader() for reader in readers])

        return read

    # --- computing --------------------------------------------------------------------------------

    def _value(self, node: Node) -> Value:
        """The value of a node (for a reduction, of one part) at the present indices."""
        if node.kind is Kind.GUARDED:
            readers = self._operands(node)
            return self._guarded(node, node, list(zip(node.accesses, readers, strict=True)))
        if node.kind is Kind.NUMBER:
            return self.memory.index(node.target[0])
        if node.kind is Kind.GATHER:
            self._set_indices(node)
        return self._apply(node, [read() for read in self._operands(node)])

    def _apply(self, node: Node, operands: Sequence[Value]) -> Value:
        """The operation of an equation on operands in registers."""
        equation = node.equation
        assert equation is not None
        name, dtype = equation.primitive.name, node.output.type.dtype
        if name in ("sum", "max", "min", "all", "any", "gather"):
            return convert(self.block, self.faults, operands[0], dtype)
        lanes = max(value.lanes for value in operands)
        wide = [self.memory.splat(value, lanes) for value in operands]
        types = [atom.type for atom in equation.inputs]
        params = equation.params
        if name == "contract":
            name, params = "multiply", {}
            types = [array_type((), each.dtype, each.weak) for each in types]
        value = emit(self.block, self.faults, name, params, wide, types, dtype)
        if self.faults:
            self._flush_faults()
        return value

    def _guarded(self, node: Node, home: Node, parts: Sequence[tuple[Access, Reader]]) -> Value:
        """What is written last, or the sum of all that is written."""
        dtype = home.output.type.dtype
        found: Value | None = None
        for access, reader in parts:
            held = self.memory.holds(access.guards)
            if held is False:
                continue
            if held is True:
                value = convert(self.block, self.faults, reader(), dtype)
                found = self._plus(found, value) if home.combine == "sum" and found else value
                continue
            mask: Value = held
            value = self._masked(node, access, reader, mask)
            value = convert(self.block, self.faults, value, dtype)
            if found is None:
                found = value
                continue
            both = self._plus(found, value) if home.combine == "sum" else value
            found = self._select(mask, both, found)
        assert found is not None
        return found

    def _masked(self, node: Node, access: Access, reader: Reader, mask: Value) -> Value:
        """Memory is read only where the guards hold."""
        if isinstance(access.source, Variable) and (
            access.source in self.storage.places or access.source in self.scheduler.inlined
        ):
            return self._reader(node, access, lambda: mask)()
        return reader()

    def _plus(self, one: Value, other: Value) -> Value:
        lanes = max(one.lanes, other.lanes)
        one, other = self.memory.splat(one, lanes), self.memory.splat(other, lanes)
        types = [array_type((), one.dtype)] * 2
        return emit(self.block, self.faults, "add", {}, [one, other], types, one.dtype)

    def _select(self, mask: Value, one: Value, other: Value) -> Value:
        lanes = max(mask.lanes, one.lanes, other.lanes)
        values = [self.memory.splat(value, lanes) for value in (mask, one, other)]
        types = [array_type((), value.dtype) for value in values]
        return emit(self.block, self.faults, "select", {}, values, types, one.dtype)

    # --- indices that are known at run time -------------------------------------------------------

    def _set_indices(self, node: Node) -> None:
        """The index operands, counted from the start; outside of the bounds is a fault."""
        key = -1 - node.number
        readers = self._readers.get(key)
        if readers is None:
            readers = [self._reader(node, access) for access in node.indices]
            self._readers[key] = readers
        for place, (read, length) in enumerate(zip(readers, node.bounds, strict=True)):
            value = convert(self.block, self.faults, read(), INDEX)
            self.memory.dynamic[Dynamic(place)] = self._within(value, length)

    def _within(self, value: Value, length: int) -> Value:
        block, lanes = self.block, value.lanes
        wide, bits = vector_type("i64", lanes), vector_type("i1", lanes)
        size = block.splat(constant(length, INDEX), lanes).text
        zero = block.splat(constant(0, INDEX), lanes).text
        below = block.op(f"icmp slt {wide} {value.text}, {zero}")
        moved = block.op(f"add {wide} {value.text}, {size}")
        found = block.op(f"select {bits} {below}, {wide} {moved}, {wide} {value.text}")
        outside = block.op(f"icmp uge {wide} {found}, {size}")
        self.faults.append((outside, lanes))
        safe = block.op(f"select {bits} {outside}, {wide} {zero}, {wide} {found}")
        return Value((safe,), INDEX, lanes)

    def _scatter(self, node: Node) -> None:
        """Write one value, or one for each lane, one after the other as NumPy does."""
        self._set_indices(node)
        value = convert(self.block, self.faults, self._operands(node)[1](), node.output.type.dtype)
        lane_frame = self.memory.lane_frame()
        place = self.storage.places[node.output]
        address = self.memory.address(node.output, place, node.target)
        one_by_one = lane_frame is not None and (address.stride != 0 or value.lanes > 0)
        lanes = lane_frame.lanes if one_by_one and lane_frame else 0
        fresh = lane_frame.fresh if one_by_one and lane_frame else None
        if lane_frame is not None and lane_frame.label in {
            loop.label for loop in self.accumulators.home(node)
        }:
            fresh = None  # the whole scatter is made again for the lanes that are computed again
        value = self.memory.splat(value, lanes)
        self.accumulators.write(node, address, value, lanes, fresh)

    # --- faults -----------------------------------------------------------------------------------

    def _flush_faults(self) -> None:
        """Note the conditions under which NumPy has to run the program."""
        for text, lanes in self.faults:
            if lanes:
                name = f"llvm.vector.reduce.or.v{lanes}i1"
                self.module.declare(name, f"declare i1 @{name}(<{lanes} x i1>)")
                text = self.block.op(f"call i1 @{name}(<{lanes} x i1> {text})")
            before = self.block.op(f"load i1, ptr {self.fault}")
            self.block.do(f"store i1 {self.block.op(f'or i1 {before}, {text}')}, ptr {self.fault}")
        self.faults.clear()


__all__ = ["Emitter", "Guard"]
