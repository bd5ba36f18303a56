"""The function that Python calls: checks its arguments in machine code, makes results, runs.

It is a METH_FASTCALL function `@entry(ptr %self, ptr %args, i64 %nargs) -> ptr`. Whatever is not
as the code was compiled for, and every floating-point error, is answered by None ("miss"): the
caller then runs the program elsewhere. Nothing that is passed can make it read or write outside of
the arrays that were checked.

`%self` is a tuple: the program inputs bound beforehand, which are the trailing ones, and then one
object that keeps the machine code alive. They are checked at each call like those in `%args`, since
an array can be resized at any time.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final

import numpy as np

from adjoint.base.arrays import ArrayType
from adjoint.base.errors import ProgramError
from adjoint.executors.native.entry.checks import (
    ALIGNMENT,
    CheckWriter,
    go_on,
    load,
    shape_constant,
)
from adjoint.executors.native.entry.python_api import (
    ARRAY_DATA,
    NUMBER_VALUE,
    TUPLE_ITEMS,
    TUPLE_SIZE,
    PythonApi,
    pointer,
    python_api,
)
from adjoint.executors.native.entry.status import emit_has_nan, emit_interrupted, emit_status
from adjoint.executors.native.machine.llvm import machine
from adjoint.executors.native.machine.module import OVERFLOW, RAISED, SWEPT, Block, Module
from adjoint.executors.native.machine.ufuncs import IGNORED

STACK_LIMIT: Final = 32 << 10  # bytes of workspace that may lie on the stack
MANY: Final = 8  # inputs of one type in a row that are checked in a loop
SPARE: Final = ALIGNMENT - 1  # bytes that a workspace array needs beyond the workspace itself


@dataclass(frozen=True, slots=True)
class EntrySpec:
    """What the entry is to do around the kernel.

    inputs, outputs: of the program. Arguments are the inputs that are not bound, then the
        workspace if it is given, then the lent outputs.
    workspace_bytes: scratch of the kernel. workspace_given: it is a `uint8` array passed by the
        caller, of SPARE bytes more or aligned; else it lies on the stack.
    lent: outputs that the caller passes as arrays to be written, and that are returned.
    release: let other threads of Python run meanwhile. loops: whether the kernel may return
        OVERFLOW.
    errors: whether a floating-point error is a miss.
    watched: outputs in which a NaN is a miss. bare: return the only output, not a tuple of it.
    tables: the kernel's last inputs, which are globals of the module, by name.
    special: whether functions of SciPy are called, which report errors in a way of their own.
    """

    inputs: tuple[ArrayType, ...]
    outputs: tuple[ArrayType, ...]
    workspace_bytes: int = 0
    workspace_given: bool = False
    lent: tuple[int, ...] = ()
    release: bool = False
    loops: bool = False
    errors: bool = True
    watched: tuple[int, ...] = ()
    bare: bool = False
    tables: tuple[str, ...] = ()
    special: bool = False

    def __post_init__(self) -> None:
        if self.workspace_bytes > STACK_LIMIT and not self.workspace_given:
            raise ProgramError(
                f"a workspace of {self.workspace_bytes} bytes cannot be on the stack"
            )
        if self.bare and len(self.outputs) != 1:
            raise ProgramError(f"{len(self.outputs)} outputs cannot be returned bare")
        if any(not self.outputs[place].ndim for place in self.lent):
            raise ProgramError("a single number cannot be lent")


def emit_entry(module: Module, spec: EntrySpec) -> None:
    """Add `@entry` and `@interrupted`; the module must define `@program`."""
    _EntryWriter(module, spec).emit()


class _EntryWriter:
    """Writes one entry function."""

    def __init__(self, module: Module, spec: EntrySpec) -> None:
        self.module = module
        self.spec = spec
        self.api: PythonApi = python_api()
        self.block = Block(module)
        self.miss = self.block.new_label("miss")
        self.failed = self.block.new_label("failed")
        self.checks = CheckWriter(module, self.api)

    def emit(self) -> None:
        """Check, make, run, wrap."""
        spec, block = self.spec, self.block
        emit_status(self.module, self.api, spec.errors)
        emit_interrupted(self.module, self.api)
        # Memory for pointers: data of inputs and outputs, and the objects to be returned.
        inputs = block.stack(f"[{max(1, len(spec.inputs) + len(spec.tables))} x ptr]", 16)
        outputs = block.stack(f"[{max(1, len(spec.outputs))} x ptr]", 16)
        self.results = block.stack(f"[{max(1, len(spec.outputs))} x ptr]", 16)
        for place in range(len(spec.outputs)):
            block.do(f"store ptr null, ptr {self._at(self.results, place)}")
        given = self._check_count()
        if spec.special:
            self._check_quiet()
        self._check_inputs(inputs, given)
        workspace, lent = self._check_memory(given)
        data = self._make_outputs(outputs, lent)
        status, fine = self._run(inputs, outputs, workspace, data)
        self._finish(status, fine, data)
        probe = machine().stack_probe if spec.workspace_bytes else ""
        header = f"define ptr @entry(ptr %self, ptr %args, i64 %nargs) {SWEPT}{probe}"
        self.module.functions.append(block.function(header))

    # --- writing ---------------------------------------------------------------------------------

    def _call(self, result: str, function: str, arguments: str) -> str:
        text = f"call {result} {self._pointer(self.api.functions[function])}({arguments})"
        if result != "void":
            return self.block.op(text)
        self.block.do(text)
        return ""

    def _pointer(self, symbol: str) -> str:
        return pointer(self.module, symbol)

    def _at(self, base: str, place: int | str) -> str:
        """The address of one pointer of several."""
        return self.block.op(f"getelementptr ptr, ptr {base}, i64 {place}")

    def _load(self, type_text: str, base: str, offset: int) -> str:
        return load(self.block, type_text, base, offset)

    def _go_on(self, condition: str, otherwise: str) -> None:
        go_on(self.block, condition, otherwise)

    # --- arguments -------------------------------------------------------------------------------

    def _check_count(self) -> str:
        """How many program inputs are in `%args`; the others must be those bound."""
        block, spec = self.block, self.spec
        extra = int(spec.workspace_given) + len(spec.lent)
        size = self._load("i64", "%self", TUPLE_SIZE)
        given = block.op(f"sub i64 %nargs, {extra}")
        total = block.op(f"add i64 {given}, {size}")
        # The object that keeps the code alive is counted with those that are bound.
        complete = block.op(f"icmp eq i64 {total}, {len(spec.inputs) + 1}")
        enough = block.op(f"icmp sge i64 {given}, 0")
        self._go_on(block.op(f"and i1 {complete}, {enough}"), self.miss)
        return given

    def _check_quiet(self) -> None:
        """A miss where SciPy is to warn of errors, or to raise them: it must run itself."""
        function = self._pointer(IGNORED)
        answer = self._call("ptr", "PyObject_CallNoArgs", f"ptr {function}")
        self._go_on(self.block.op(f"icmp ne ptr {answer}, null"), self.failed)
        self._call("void", "Py_DecRef", f"ptr {answer}")  # of a truth value, which stays
        yes = self._pointer(self.api.objects["True"])
        self._go_on(self.block.op(f"icmp eq ptr {answer}, {yes}"), self.miss)

    def _check_inputs(self, inputs: str, given: str) -> None:
        block = self.block
        items = block.op(f"getelementptr i8, ptr %self, i64 {TUPLE_ITEMS}")
        back = block.op(f"sub i64 0, {given}")
        bound = self._at(items, back)  # input k lies k places from here
        first = 0
        for type_, group in groupby(self.spec.inputs):
            last = first + len(list(group))
            if last - first < MANY:
                for place in range(first, last):
                    self._check_input(str(place), type_, inputs, (given, bound), "null")
            else:
                self._check_many(first, last, type_, inputs, (given, bound))
            first = last
        for place, table in enumerate(self.spec.tables, first):
            block.do(f"store ptr {table}, ptr {self._at(inputs, place)}")

    def _check_input(
        self, place: str, type_: ArrayType, inputs: str, sources: tuple[str, str], slot: str
    ) -> None:
        block = self.block
        given, bound = sources
        passed = block.op(f"icmp sgt i64 {given}, {place}")
        base = block.op(f"select i1 {passed}, ptr %args, ptr {bound}")
        argument = block.op(f"load ptr, ptr {self._at(base, place)}")
        data = self._checked(argument, type_, slot=slot)
        block.do(f"store ptr {data}, ptr {self._at(inputs, place)}")

    def _check_many(
        self, first: int, last: int, type_: ArrayType, inputs: str, sources: tuple[str, str]
    ) -> None:
        """Arguments of one type in a loop, so that thousands of them are little code."""
        block = self.block
        slots = block.stack(f"[{last - first} x i64]", 8)
        counter = block.stack("i64", 8)
        block.do(f"store i64 {first}, ptr {counter}")
        loop, after = block.new_label("inputs"), block.new_label("checked")
        block.do(f"br label %{loop}")
        block.place(loop)
        place = block.op(f"load i64, ptr {counter}")
        number = block.op(f"sub i64 {place}, {first}")
        slot = block.op(f"getelementptr i64, ptr {slots}, i64 {number}")
        self._check_input(place, type_, inputs, sources, slot)
        following = block.op(f"add i64 {place}, 1")
        block.do(f"store i64 {following}, ptr {counter}")
        more = block.op(f"icmp slt i64 {following}, {last}")
        block.do(f"br i1 {more}, label %{loop}, label %{after}")
        block.place(after)

    def _checked(
        self, argument: str, type_: ArrayType, writeable: bool = False, slot: str = "null"
    ) -> str:
        """The address of the numbers in an argument; a miss where it is not of the type."""
        check = self.checks.check(type_, writeable)
        if type_.ndim:
            slot = shape_constant(self.module, type_.shape)
        elif slot == "null" and type_.dtype.kind in "bi":
            slot = self.block.stack("i64", 8)
        data = self.block.op(f"call ptr {check}(ptr {argument}, ptr {slot})")
        # No array of any length has the address null; one without numbers may, and is a miss.
        self._go_on(self.block.op(f"icmp ne ptr {data}, null"), self.miss)
        return data

    def _check_memory(self, given: str) -> tuple[str, dict[int, tuple[str, str]]]:
        """The workspace, and of each lent output the array and its data."""
        block, spec = self.block, self.spec
        after = self._at("%args", given)
        workspace = "null"
        if spec.workspace_given:
            array = block.op(f"load ptr, ptr {after}")
            check = self.checks.workspace(spec.workspace_bytes)
            workspace = block.op(f"call ptr {check}(ptr {array}, ptr null)")
            self._go_on(block.op(f"icmp ne ptr {workspace}, null"), self.miss)
        elif spec.workspace_bytes:
            workspace = block.stack(f"[{spec.workspace_bytes} x i8]", ALIGNMENT)
        lent = {}
        for number, place in enumerate(spec.lent):
            at = self._at(after, number + int(spec.workspace_given))
            array = block.op(f"load ptr, ptr {at}")
            lent[place] = array, self._checked(array, spec.outputs[place], True)
        return workspace, lent

    # --- results ---------------------------------------------------------------------------------

    def _make_outputs(self, outputs: str, lent: dict[int, tuple[str, str]]) -> list[str]:
        """Where each output is to be written: lent, a new array, or for a number the stack."""
        block, data = self.block, []
        for place, type_ in enumerate(self.spec.outputs):
            self.api.scalar(type_.dtype)
            if place in lent:
                array, memory = lent[place]
                self._call("void", "Py_IncRef", f"ptr {array}")
                block.do(f"store ptr {array}, ptr {self._at(self.results, place)}")
            elif type_.ndim:
                array = self._new_array(type_)
                block.do(f"store ptr {array}, ptr {self._at(self.results, place)}")
                self._go_on(block.op(f"icmp ne ptr {array}, null"), self.failed)
                memory = self._load("ptr", array, ARRAY_DATA)
            else:
                memory = block.stack("[16 x i8]", 16)
            block.do(f"store ptr {memory}, ptr {self._at(outputs, place)}")
            data.append(memory)
        return data

    def _new_array(self, type_: ArrayType) -> str:
        dtype = self._pointer(self.api.scalar(type_.dtype).dtype)
        shape = shape_constant(self.module, type_.shape)
        self._call("void", "Py_IncRef", f"ptr {dtype}")  # taken over by the array
        array = self._pointer(self.api.types[np.ndarray])
        return self._call(
            "ptr",
            "PyArray_NewFromDescr",
            f"ptr {array}, ptr {dtype}, i32 {type_.ndim}, ptr {shape}, "
            "ptr null, ptr null, i32 0, ptr null",
        )

    def _run(self, inputs: str, outputs: str, workspace: str, data: list[str]) -> tuple[str, str]:
        """Run the kernel: its status, and whether its results stand."""
        block, spec = self.block, self.spec
        # The state: the thread when it does not hold the interpreter, errors seen so far, and the
        # length of a tape that was too short.
        state = block.stack("{ ptr, i32, i64 }", 8)
        thread = self._call("ptr", "PyEval_SaveThread", "") if spec.release else "null"
        block.do(f"store ptr {thread}, ptr {state}")
        noted = block.op(f"getelementptr i8, ptr {state}, i64 8")
        block.do(f"store i32 0, ptr {noted}")
        block.do("call void @floating.clear()")
        # Not inlined: its floating-point operations could then be moved past the reading of the
        # flags, since LLVM does not know that they set any.
        status = block.op(
            f"call i32 @program(ptr {inputs}, ptr {outputs}, ptr {workspace}, ptr {state}) noinline"
        )
        now = block.op("call i32 @floating.raised()")
        before = block.op(f"load i32, ptr {noted}")
        raised = block.op(f"or i32 {now}, {before}")
        wrong = block.op(f"or i32 {raised}, {status}")
        fine = block.op(f"icmp eq i32 {wrong}, 0")
        for place in spec.watched:
            fine = self._without_nan(fine, data[place], spec.outputs[place])
        self._take_back(state)
        if spec.special:  # memory may have been wanting
            error = self._call("ptr", "PyErr_Occurred", "")
            self._go_on(block.op(f"icmp eq ptr {error}, null"), self.failed)
        self.length = block.op(f"getelementptr i8, ptr {state}, i64 16")
        return status, fine

    def _take_back(self, state: str) -> None:
        """Hold the interpreter again, if that is not so."""
        block = self.block
        thread = block.op(f"load ptr, ptr {state}")
        away, back = block.new_label("away"), block.new_label("back")
        block.do(f"br i1 {block.op(f'icmp ne ptr {thread}, null')}, label %{away}, label %{back}")
        block.place(away)
        self._call("void", "PyEval_RestoreThread", f"ptr {thread}")
        block.do(f"br label %{back}")
        block.place(back)

    def _without_nan(self, fine: str, data: str, type_: ArrayType) -> str:
        """Whether all is fine and the numbers have no NaN among them; looked at only if fine."""
        if type_.dtype.kind not in "fc":
            return fine
        block = self.block
        parts = 2 if type_.dtype.kind == "c" else 1
        scalar = "float" if type_.dtype.itemsize == 4 * parts else "double"
        name = emit_has_nan(self.module, scalar)
        origin, look, after = (block.new_label(stem) for stem in ("before", "look", "after"))
        block.do(f"br label %{origin}")
        block.place(origin)
        block.do(f"br i1 {fine}, label %{look}, label %{after}")
        block.place(look)
        undefined = block.op(f"call i1 {name}(ptr {data}, i64 {type_.size * parts})")
        without = block.op(f"xor i1 {undefined}, true")
        block.do(f"br label %{after}")
        block.place(after)
        return block.op(f"phi i1 [ false, %{origin} ], [ {without}, %{look} ]")

    def _finish(self, status: str, fine: str, data: list[str]) -> None:
        block, spec = self.block, self.spec
        unusual = block.new_label("unusual")
        self._go_on(fine, unusual)
        for place, type_ in enumerate(spec.outputs):
            if not type_.ndim:
                number = self._number(data[place], type_.dtype)
                block.do(f"store ptr {number}, ptr {self._at(self.results, place)}")
                self._go_on(block.op(f"icmp ne ptr {number}, null"), self.failed)
        count = len(spec.outputs)
        if spec.bare:
            result = block.op(f"load ptr, ptr {self.results}")
        else:
            result = self._call("ptr", "PyTuple_New", f"i64 {count}")
            self._go_on(block.op(f"icmp ne ptr {result}, null"), self.failed)
        for place in range(0 if spec.bare else count):
            item = block.op(f"load ptr, ptr {self._at(self.results, place)}")
            at = block.op(f"getelementptr i8, ptr {result}, i64 {TUPLE_ITEMS + 8 * place}")
            block.do(f"store ptr {item}, ptr {at}")
        block.do(f"ret ptr {result}")
        block.place(unusual)
        block.do("call void @floating.clear()")
        if spec.loops:
            self._raise_overflow(status)
        error = block.op(f"icmp eq i32 {status}, {RAISED}")
        block.do(f"br i1 {error}, label %{self.failed}, label %{self.miss}")
        self._leave(self.miss, self._pointer(self.api.objects["None"]))
        self._leave(self.failed, "null")

    def _raise_overflow(self, status: str) -> None:
        """An error where a tape was too short, with its length."""
        block = self.block
        fits = block.new_label("fits")
        self._go_on(block.op(f"icmp eq i32 {status}, {OVERFLOW}"), fits)
        length = block.op(f"load i64, ptr {self.length}")
        number = self._call("ptr", "PyLong_FromLongLong", f"i64 {length}")
        self._go_on(block.op(f"icmp ne ptr {number}, null"), self.failed)
        error = self._pointer(self.api.objects["TapeOverflowError"])
        self._call("void", "PyErr_SetObject", f"ptr {error}, ptr {number}")
        self._call("void", "Py_DecRef", f"ptr {number}")
        block.do(f"br label %{self.failed}")
        block.place(fits)

    def _leave(self, label: str, result: str) -> None:
        """Let go of all that was made, and return the result."""
        block = self.block
        block.place(label)
        for place in range(len(self.spec.outputs)):
            output = block.op(f"load ptr, ptr {self._at(self.results, place)}")
            self._call("void", "Py_DecRef", f"ptr {output}")  # which takes null too
        if result != "null":
            self._call("void", "Py_IncRef", f"ptr {result}")
        block.do(f"ret ptr {result}")

    def _number(self, data: str, dtype: np.dtype[Any]) -> str:
        """A new NumPy scalar of the number there, or null."""
        block = self.block
        if dtype.kind == "b":
            truth = block.op(f"icmp ne i8 {block.op(f'load i8, ptr {data}')}, 0")
            yes, no = (self._pointer(self.api.objects[f"numpy.{x}"]) for x in (True, False))
            answers = f"ptr {yes}, ptr {no}"
            number = block.op(f"select i1 {truth}, {answers}")
            self._call("void", "Py_IncRef", f"ptr {number}")
            return number
        scalar = self.api.scalar(dtype)
        allocate, type_ = self._pointer(scalar.allocate), self._pointer(scalar.type)
        number = block.op(f"call ptr {allocate}(ptr {type_}, i64 0)")
        created, after = block.new_label("created"), block.new_label("after")
        block.do(
            f"br i1 {block.op(f'icmp ne ptr {number}, null')}, label %{created}, label %{after}"
        )
        block.place(created)
        at = block.op(f"getelementptr i8, ptr {number}, i64 {NUMBER_VALUE}")
        bits = f"i{8 * dtype.itemsize}"
        block.do(f"store {bits} {block.op(f'load {bits}, ptr {data}, align 8')}, ptr {at}, align 8")
        block.do(f"br label %{after}")
        block.place(after)
        return number
