"""Loops, branches and recomputation: programs that are written into the function around them.

Carried numbers are slots on the stack, which LLVM turns into registers; small carried arrays are
copied from one place on the stack to another, so that they can become registers as well. Larger
ones alternate between two places, or stay in one where the body writes them in place. Rows that are
scanned are read, and rows that are stacked written, where they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from adjoint.executors.native.emission.carrying import (
    Alternating,
    BodyOperand,
    Carried,
    CarriedNumber,
    Copied,
    InPlace,
    clear,
    copy,
    read_row,
    write_row,
)
from adjoint.executors.native.emission.dividing import DividedLoop
from adjoint.executors.native.emission.indices import INDEX
from adjoint.executors.native.emission.last_written import LastWritten, watched
from adjoint.executors.native.emission.writer import Writer
from adjoint.executors.native.graph.nodes import ArrayNode, Kind
from adjoint.executors.native.machine.module import (
    MISSED,
    OVERFLOW,
    Block,
    Module,
    Value,
    memory_type,
    vector_type,
)
from adjoint.executors.native.schedule.layout import Construct, InnerProgram, Layout
from adjoint.executors.native.schedule.order import Item, Loop
from adjoint.loops import SCAN, SWITCH, WHILE
from adjoint.loops.rules import row_type
from adjoint.optimise import reaches_all_rows
from adjoint.program import Atom, Program, Variable

FIRST_TIME: Final = 50_000  # nanoseconds, about, after which others may run for the first time
PAUSE_TIME: Final = 5_000_000  # and then again


class ProgramWriter(Writer):
    """Writes a program, and those within it, into one function.

    budget: the slot that says how long to go on until signals are seen to.
    """

    def __init__(
        self, module: Module, layout: Layout, block: Block | None = None, budget: str = ""
    ) -> None:
        super().__init__(module, layout, block)
        self.ranges = dict(layout.ranges)
        self.budget = budget
        if layout.constructs and not budget:
            self.budget = self.block.stack("i64", 8)
            self.block.opening.append(f"  store i64 {FIRST_TIME}, ptr {self.budget}")

    def item(self, item: Item) -> None:
        """One item of a schedule."""
        if isinstance(item, ArrayNode) and item.kind is Kind.CONTROL:
            _Constructs(self, item).emit()
        elif isinstance(item, Loop) and item in self.layout.divided:
            DividedLoop(self, item).emit()
        else:
            super().item(item)

    # --- as a body --------------------------------------------------------------------------------

    def place(
        self, workspace: str, inputs: Sequence[BodyOperand], outputs: Sequence[BodyOperand | None]
    ) -> None:
        """Say where everything is that the program reads and writes."""
        self.memory.workspace = workspace
        for variable, place in self.layout.storage.places.items():
            if place.kind == "workspace":
                base = self.block.op(f"getelementptr i8, ptr {workspace}, i64 {place.number}")
                self.memory.bases[variable] = base
            elif place.kind == "stack":
                self.reserve(variable, place)
            else:
                given = (inputs if place.kind == "input" else outputs)[place.number]
                assert given is not None
                self.memory.bases[variable] = given.pointer
                kind = "input" if given.fixed else "given"
                self.memory.places[variable] = place._replace(kind=kind, tag=given.tag)
        for variable, given in zip(self.layout.scheduler.graph.program.inputs, inputs, strict=True):
            if given.value is not None:
                self.memory.frame.registers[variable] = {(): given.value}
            if given.within is not None:
                self.ranges[variable] = given.within

    def run(self) -> None:
        """All of it."""
        for item in self.layout.scheduler.items:
            self.item(item)
        self.values.flush_faults()

    def result(self, number: int) -> Value:
        """An output that is a number."""
        variable = self.layout.scheduler.graph.outputs[number]
        return self.memory.frames[0].registers[variable][()]


class _Constructs:
    """Writes one loop, branch or recomputation."""

    def __init__(self, writer: ProgramWriter, node: ArrayNode) -> None:
        self.writer = writer
        self.block = writer.block
        self.memory = writer.memory
        self.node = node
        assert node.equation is not None
        self.params: dict[str, Any] = node.equation.params
        self.construct: Construct = writer.layout.constructs[node.number]
        scratch = writer.layout.storage.scratch.get(node.number)
        self.scratch = ""
        if scratch is not None:
            at = f"getelementptr i8, ptr {self.memory.workspace}, i64 {scratch.offset}"
            self.scratch = self.block.op(at)
        self.operands = [self._operand(place) for place in range(len(node.accesses))]
        self.bodies: list[ProgramWriter] = []
        self.last_written: dict[Variable, LastWritten] = {}

    def emit(self) -> None:
        """The construct, and its results."""
        assert self.node.equation is not None
        primitive = self.node.equation.primitive
        self._barrier()
        if primitive is SCAN:
            self._scan()
        elif primitive is WHILE:
            self._while()
        elif primitive is SWITCH:
            self._switch()
        else:
            results = self._results()
            body = self._body(0, self.operands, results)
            for number, variable in enumerate(self.node.outputs):
                if not variable.type.ndim:
                    self.writer.define_number(variable, body.result(number))
        self._barrier()
        for body in self.bodies:
            self.writer.values.faults.append((body.values.finish(), 0))
        self.writer.values.flush_faults()

    def _barrier(self) -> None:
        """The workspace of bodies is used by others before and after, under other names."""
        if self.construct.bytes:
            self.block.do('call void asm sideeffect "", "~{memory}"()')

    # --- operands and results ---------------------------------------------------------------------

    def _operand(self, place: int) -> BodyOperand:
        access = self.node.accesses[place]
        atom = self.node.equation.inputs[place]  # type: ignore[union-attr]
        if not atom.type.ndim:
            return BodyOperand(atom.type, self.writer.values.operands(self.node)[place]())
        assert isinstance(access.source, Variable)
        home = self.memory.places[access.source]
        start = 0
        for term, step in zip(access.terms, home.strides, strict=True):
            start += term.offset * step
        pointer = self.memory.bases[access.source]
        if start:
            size = start * atom.type.dtype.itemsize
            pointer = self.block.op(f"getelementptr i8, ptr {pointer}, i64 {size}")
        within = self.writer.ranges.get(access.source)
        return BodyOperand(atom.type, None, pointer, home.tag, home.kind == "input", within)

    def _results(self) -> list[BodyOperand | None]:
        """Where each result that is an array is to be written."""
        targets: list[BodyOperand | None] = []
        for variable in self.node.outputs:
            if not variable.type.ndim:
                targets.append(None)
                continue
            pointer, place = self.memory.bases[variable], self.memory.places[variable]
            targets.append(BodyOperand(variable.type, None, pointer, place.tag))
        return targets

    def _copied(self, number: int, operand: BodyOperand) -> None:
        """The memory of a result, holding an operand, if it is not that of the operand."""
        variable = self.node.outputs[number]
        if variable in self.writer.layout.storage.taken:
            return
        copy(self.block, self.memory.bases[variable], operand.pointer, operand.bytes)

    # --- bodies -----------------------------------------------------------------------------------

    def _body(
        self, number: int, inputs: Sequence[BodyOperand], outputs: Sequence[BodyOperand | None]
    ) -> ProgramWriter:
        """Write a body here."""
        body: InnerProgram = self.construct.bodies[number]
        writer = ProgramWriter(self.writer.module, body.layout, self.block, self.writer.budget)
        workspace = "null"
        if body.workspace_bytes:
            offset = self.construct.workspace
            workspace = self.block.op(f"getelementptr i8, ptr {self.scratch}, i64 {offset}")
        writer.place(workspace, inputs, outputs)
        writer.memory.last_written = self.last_written
        writer.values.leaves = True
        writer.run()
        self.bodies.append(writer)
        return writer

    # --- loops ------------------------------------------------------------------------------------

    def _carried(self, first_operand: int, first_result: int, odd: str) -> list[Carried]:
        """What goes from round to round. odd: whether their number is odd, if that is known."""
        results = self._results()
        carried: list[Carried] = []
        for k in range(self.params["carried"]):
            operand, result = self.operands[first_operand + k], results[first_result + k]
            carried.append(self._carried_value(k, first_result, operand, result, odd))
        return carried

    def _carried_value(
        self, k: int, first_result: int, operand: BodyOperand, result: BodyOperand | None, odd: str
    ) -> Carried:
        block = self.block
        if result is None:
            return CarriedNumber(block, operand.type, operand.value)
        if k in self.construct.bodies[-1].over:
            self._copied(first_result + k, operand)
            held = k in self.construct.held
            if not held and result.type.dtype.kind in "fiu":
                self._watch(k, result.type.dtype)
            return InPlace(block, result, held)
        if k in self.construct.held:
            return Copied(block, operand, result)
        offset = self.construct.buffers[k]
        spare = block.op(f"getelementptr i8, ptr {self.scratch}, i64 {offset}")
        return Alternating(block, operand, result, spare, odd)

    def _watch(self, k: int, dtype: np.dtype[Any]) -> None:
        """Keep what is written last into a carried array for the next round."""
        body, constants = self.construct.bodies[-1], self.params["constants"]
        write = watched(body.layout, constants + k, k, constants)
        if write is not None:
            last = LastWritten(self.block, memory_type(dtype), write)
            self.last_written.update(dict.fromkeys(write.variables, last))

    def _stacked(
        self, results: Sequence[BodyOperand | None], types: Sequence[Any], index: str
    ) -> list[BodyOperand]:
        """Where the rows of a round are to be written."""
        return [
            self._row(result, type_, index)
            for result, type_ in zip(results, types, strict=True)
            if result is not None
        ]

    def _row(self, whole: BodyOperand, type_: Any, index: str) -> BodyOperand:
        """A row of an array; a number is not read yet."""
        size = type_.size * type_.dtype.itemsize
        offset = self.block.op(f"mul nsw i64 {index}, {size}")
        pointer = self.block.op(f"getelementptr i8, ptr {whole.pointer}, i64 {offset}")
        return replace(whole, type=type_, pointer=pointer)

    def _scan(self) -> None:
        block, params = self.block, self.params
        constants, length = params["constants"], params["length"]
        count = self._count(self.operands[0], length)
        first = 1 + constants
        odd = block.op(f"trunc i64 {count} to i1")
        carried = self._carried(first, 0, odd)
        fixed = self.operands[1:first]
        scanned = self.operands[first + len(carried) :]
        stacked = self._results()[len(carried) :]
        head, within, done = (block.new_label(stem) for stem in ("head", "round", "done"))
        counter = block.stack("i64", 8)
        block.do(f"store i64 0, ptr {counter}")
        block.do(f"br label %{head}")
        block.place(head)
        number = block.op(f"load i64, ptr {counter}")
        more = block.op(f"icmp slt i64 {number}, {count}")
        block.do(f"br i1 {more}, label %{within}, label %{done}")
        block.place(within)
        index = number
        if params["reverse"]:
            last = block.op(f"sub nsw i64 {count}, 1")
            index = block.op(f"sub nsw i64 {last}, {number}")
        program: Program = params["body"]
        row_types = program.input_types[constants + len(carried) :]
        rows = [
            read_row(block, self._row(whole, type_, index))
            for whole, type_ in zip(scanned, row_types, strict=True)
        ]
        given = [*fixed, *(carry.current() for carry in carried), *rows]
        self._round(given, carried, stacked, index)
        block.do(f"store i64 {block.op(f'add nuw nsw i64 {number}, 1')}, ptr {counter}")
        block.do(f"br label %{head}")
        block.place(done)
        assert self.node.equation is not None
        self._clear_unreached(stacked, count, self.node.equation.inputs[0])
        self._finish(carried, 0)

    def _clear_unreached(
        self, stacked: Sequence[BodyOperand | None], count: str, rounds: Atom
    ) -> None:
        """Rows that no round has reached are zero, unless nothing reads them."""
        equation = self.node.equation
        assert equation is not None
        if not stacked or reaches_all_rows(equation):
            return
        program = self.writer.layout.scheduler.graph.program
        variables = equation.outputs[len(equation.outputs) - len(stacked) :]
        rest = self.block.op(f"sub nsw i64 {self.params['length']}, {count}")
        for variable, whole in zip(variables, stacked, strict=True):
            if whole is None or _read_by_rounds(variable, rounds, program):
                continue
            start = self._row(whole, row_type(variable.type), count)
            size = self.block.op(f"mul nsw i64 {rest}, {start.bytes}")
            clear(self.block, start.pointer, size)

    def _round(
        self,
        given: Sequence[BodyOperand],
        carried: Sequence[Carried],
        stacked: Sequence[BodyOperand | None],
        index: str,
    ) -> None:
        """One round of a loop: the body, what it carries on, and the time that it took."""
        program: Program = self.params["body"]
        count = len(carried)
        row_types = program.output_types[count:]
        rows = self._stacked(stacked, row_types, index)
        targets: list[BodyOperand | None] = [carry.target() for carry in carried]
        targets += [row if row.type.ndim else None for row in rows]
        number = len(self.construct.bodies) - 1
        body = self._body(number, given, targets)
        values = [
            None if type_.ndim else body.result(k) for k, type_ in enumerate(program.output_types)
        ]
        for value, row in zip(values[count:], rows, strict=True):
            if value is not None:
                write_row(self.block, row, value)
        for carry, value in zip(carried, values[:count], strict=True):
            carry.advance(value)
        self._spend(self.construct.bodies[number].nanoseconds)

    def _finish(self, carried: Sequence[Carried], first_result: int) -> None:
        for k, carry in enumerate(carried):
            value = carry.finish()
            if value is not None:
                self.writer.define_number(self.node.outputs[first_result + k], value)

    def _while(self) -> None:
        block, params = self.block, self.params
        constants, length = params["constants"], params["length"]
        fixed = self.operands[:constants]
        carried = self._carried(constants, 1, "")
        stacked = self._results()[1 + len(carried) :]
        head, within, done = (block.new_label(stem) for stem in ("head", "round", "done"))
        counter = block.stack("i64", 8)
        block.do(f"store i64 0, ptr {counter}")
        block.do(f"br label %{head}")
        block.place(head)
        given = [*fixed, *(carry.current() for carry in carried)]
        goes_on = self._body(0, given, [None]).result(0).text
        block.do(f"br i1 {goes_on}, label %{within}, label %{done}")
        block.place(within)
        number = block.op(f"load i64, ptr {counter}")
        if length is not None:
            self._check_length(block.op(f"icmp sge i64 {number}, {length}"), length)
        self._round(given, carried, stacked, number)
        block.do(f"store i64 {block.op(f'add nuw nsw i64 {number}, 1')}, ptr {counter}")
        block.do(f"br label %{head}")
        block.place(done)
        rounds = block.op(f"load i64, ptr {counter}")
        self.writer.define_number(self.node.output, Value((rounds,), INDEX))
        self._clear_unreached(stacked, rounds, self.node.output)
        self._finish(carried, 1)

    def _count(self, operand: BodyOperand, length: int | None) -> str:
        """How many rounds; more than there are rows for ends the run."""
        name = self.writer.module.declare("llvm.smax.i64", "declare i64 @llvm.smax.i64(i64, i64)")
        given = self._integer(operand)
        count = self.block.op(f"call i64 {name}(i64 {given}, i64 0)")
        if length is not None:
            self._check_length(self.block.op(f"icmp sgt i64 {count}, {length}"), length)
        return count

    def _integer(self, operand: BodyOperand) -> str:
        """An index as an i64; unsigned ones beyond that are as great as can be."""
        assert operand.value is not None
        dtype, text = operand.type.dtype, operand.value.text
        if dtype.itemsize < 8:
            extend = "zext" if dtype.kind == "u" else "sext"
            return self.block.op(f"{extend} {vector_type(memory_type(dtype), 0)} {text} to i64")
        if dtype.kind == "u":
            name = self.writer.module.declare(
                "llvm.umin.i64", "declare i64 @llvm.umin.i64(i64, i64)"
            )
            return self.block.op(f"call i64 {name}(i64 {text}, i64 {(1 << 63) - 1})")
        return text

    def _check_length(self, beyond: str, length: int) -> None:
        block = self.block
        over, on = block.new_label("overflow"), block.new_label("on")
        block.do(f"br i1 {beyond}, label %{over}, label %{on}")
        block.place(over)
        at = block.op("getelementptr i8, ptr %state, i64 16")
        block.do(f"store i64 {length}, ptr {at}")
        block.do(f"ret i32 {OVERFLOW}")
        block.place(on)

    def _spend(self, nanoseconds: float) -> None:
        """Time goes by; when it is up, Python may see to its signals, or end the run."""
        block = self.block
        left = block.op(f"load i64, ptr {self.writer.budget}")
        rest = block.op(f"sub nsw i64 {left}, {max(1, round(nanoseconds))}")
        block.do(f"store i64 {rest}, ptr {self.writer.budget}")
        up = block.op(f"icmp slt i64 {rest}, 0")
        pause, stopped, on = (block.new_label(stem) for stem in ("pause", "stopped", "on"))
        block.do(f"br i1 {up}, label %{pause}, label %{on}")
        block.place(pause)
        raised = block.op("call i32 @interrupted(ptr %state) cold")
        block.do(f"store i64 {PAUSE_TIME}, ptr {self.writer.budget}")
        errors = block.op("load i32, ptr " + block.op("getelementptr i8, ptr %state, i64 8"))
        missed = block.op(f"icmp ne i32 {errors}, 0")
        otherwise = block.op(f"select i1 {missed}, i32 {MISSED}, i32 0")
        well = block.op(f"icmp eq i32 {raised}, 0")
        status = block.op(f"select i1 {well}, i32 {otherwise}, i32 {raised}")
        stop = block.op(f"icmp ne i32 {status}, 0")
        block.do(f"br i1 {stop}, label %{stopped}, label %{on}")
        block.place(stopped)
        block.do(f"ret i32 {status}")
        block.place(on)

    # --- branches ---------------------------------------------------------------------------------

    def _switch(self) -> None:
        block = self.block
        index = self._integer(self.operands[0])
        results = self._results()
        for number, operand in self.construct.over.items():
            self._copied(number, self.operands[operand])
        given = list(self.operands[1:])
        for number, operand in self.construct.over.items():
            result = results[number]
            assert result is not None
            given[operand - 1] = result
        numbers = [k for k, variable in enumerate(self.node.outputs) if not variable.type.ndim]
        labels = [block.new_label("branch") for _ in self.construct.bodies]
        after = block.new_label("after")
        cases = "".join(f" i64 {k}, label %{label}" for k, label in enumerate(labels[1:-1], 1))
        low = block.op(f"icmp sle i64 {index}, 0")
        if len(labels) == 1:
            block.do(f"br label %{labels[0]}")
        else:
            others = block.new_label("others")
            block.do(f"br i1 {low}, label %{labels[0]}, label %{others}")
            block.place(others)
            block.do(f"switch i64 {index}, label %{labels[-1]} [{cases} ]")
        ends, ways = [], []
        for number, label in enumerate(labels):
            block.place(label)
            body = self._body(number, given, results)
            ends.append(block.label)
            ways.append([body.result(k) for k in numbers])
            block.do(f"br label %{after}")
        block.place(after)
        chosen = [block.merged(ends, values) for values in zip(*ways, strict=True)]
        for k, value in zip(numbers, chosen, strict=True):
            self.writer.define_number(self.node.outputs[k], value)


def _read_by_rounds(variable: Variable, count: Atom, program: Program) -> bool:
    """Whether only scans of as many rounds read an array of stacked rows."""
    if variable in program.outputs:
        return False
    for equation in program.equations:
        if variable not in equation.inputs:
            continue
        if equation.primitive is not SCAN or equation.inputs[0] is not count:
            return False
        rows = 1 + equation.params["constants"] + equation.params["carried"]
        if variable in equation.inputs[:rows]:
            return False
    return True
