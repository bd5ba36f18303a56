"""Elementwise primitives compiled on their own, to be compared with NumPy number by number."""

from __future__ import annotations

import ctypes
import platform
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint.base.arrays import ArrayType, array_type
from adjoint.executors.native import elements
from adjoint.executors.native.machine.llvm import Code, Effort, Machine, machine
from adjoint.executors.native.machine.module import (
    Block,
    Module,
    Value,
    constant,
    memory_type,
    scalar_type,
    vector_type,
)
from adjoint.primitives.declaration import PRIMITIVES
from adjoint.program import Equation

# Invalid, division by zero and overflow, as C numbers them on x86, and elsewhere.
FLAGS = 13 if platform.machine() in ("x86_64", "AMD64") else 7


@dataclass(frozen=True)
class Case:
    """One primitive on operands of certain types, in a function of its own."""

    name: str
    equation: Equation

    def __str__(self) -> str:
        return f"{self.equation.operation} of {self.types}"

    @property
    def primitive(self) -> str:
        return str(self.equation.primitive.name)

    @property
    def types(self) -> tuple[ArrayType, ...]:
        return tuple(atom.type for atom in self.equation.inputs)

    @property
    def result(self) -> np.dtype[Any]:
        return self.equation.outputs[0].type.dtype


Body = Callable[[Block, list[elements.Fault], list[Value]], Value]


def module_of(cases: list[Case], lanes: int) -> Module:
    """A module with a function for each case."""
    writer = Writer(lanes)
    for case in cases:
        writer.add(case)
    return writer.module


class Writer:
    """A function `void name(i64 count, ptr arrays, ptr status)` for each case.

    It goes through the arrays in steps of so many lanes; each step leaves in the status whether a
    flag was raised (2) or a fault found (1). Each part of a complex array is an array of its own.
    """

    def __init__(self, lanes: int) -> None:
        self.lanes = lanes
        self.module = Module()
        for name in ("feclearexcept", "fetestexcept"):
            self.module.declare(name, f"declare i32 @{name}(i32)")

    def add(self, case: Case) -> None:
        def body(block: Block, faults: list[elements.Fault], operands: list[Value]) -> Value:
            primitive, params = case.equation.primitive, case.equation.params
            types, result = case.types, case.result
            return elements.emit(block, faults, primitive, params, operands, types, result, False)

        self.function(case.name, [t.dtype for t in case.types], case.result, body)

    def function(
        self, name: str, dtypes: list[np.dtype[Any]], result: np.dtype[Any], body: Body
    ) -> None:
        block = Block(self.module)
        block.do("br label %loop")
        block.place("loop")
        block.do("%i = phi i64 [ 0, %entry ], [ %next, %tail ]")
        block.do(f"call i32 @feclearexcept(i32 {FLAGS})")
        place = 0
        operands = []
        for dtype in dtypes:
            count = 2 if dtype.kind == "c" else 1
            parts = tuple(self._load(block, place + k, dtype) for k in range(count))
            operands.append(Value(parts, dtype, self.lanes))
            place += count
        faults: list[elements.Fault] = []
        found = body(block, faults, operands)
        assert (found.dtype, found.lanes) == (result, self.lanes)
        for part in found.parts:
            self._store(block, place, part, result)
            place += 1
        self._finish(block, faults)
        self.module.functions.append(
            block.function(f"define void @{name}(i64 %n, ptr %arrays, ptr %status)")
        )

    def _address(self, block: Block, place: int, dtype: np.dtype[Any]) -> str:
        slot = block.op(f"getelementptr ptr, ptr %arrays, i64 {place}")
        base = block.op(f"load ptr, ptr {slot}")
        return block.op(f"getelementptr {memory_type(dtype)}, ptr {base}, i64 %i")

    def _load(self, block: Block, place: int, dtype: np.dtype[Any]) -> str:
        address = self._address(block, place, dtype)
        kind = vector_type(memory_type(dtype), self.lanes)
        loaded = block.op(f"load {kind}, ptr {address}, align 1")
        if dtype.kind == "b":
            return block.op(f"trunc {kind} {loaded} to {vector_type('i1', self.lanes)}")
        return loaded

    def _store(self, block: Block, place: int, part: str, dtype: np.dtype[Any]) -> None:
        address = self._address(block, place, dtype)
        kind = vector_type(scalar_type(dtype), self.lanes)
        if dtype.kind == "b":
            wide = vector_type("i8", self.lanes)
            part, kind = block.op(f"zext {kind} {part} to {wide}"), wide
        block.do(f"store {kind} {part}, ptr {address}, align 1")

    def _finish(self, block: Block, faults: list[elements.Fault]) -> None:
        fault = "false"
        for text, lanes in faults:
            if lanes:
                whole = block.op(f"bitcast <{lanes} x i1> {text} to i{lanes}")
                text = block.op(f"icmp ne i{lanes} {whole}, 0")
            fault = block.op(f"or i1 {fault}, {text}")
        raised = block.op(f"call i32 @fetestexcept(i32 {FLAGS})")
        flag = block.op(f"icmp ne i32 {raised}, 0")
        status = block.op(f"select i1 {flag}, i8 2, i8 0")
        low = block.op(f"zext i1 {fault} to i8")
        status = block.op(f"or i8 {status}, {low}")
        address = block.op("getelementptr i8, ptr %status, i64 %i")
        block.do(f"store i8 {status}, ptr {address}")
        block.do("br label %tail")
        block.place("tail")
        block.do(f"%next = add i64 %i, {max(self.lanes, 1)}")
        block.do("%more = icmp slt i64 %next, %n")
        block.do("br i1 %more, label %loop, label %end")
        block.place("end")
        block.do("ret void")


def compiled(module: Module, on: Machine | None = None, effort: Effort | None = None) -> Code:
    """The module in machine code, by default for this processor."""
    return (on or machine()).compile(module.text(), effort, verify=True)


def run(code: Code, case: Case, arrays: list[Any], lanes: int) -> tuple[Any, Any]:
    """The results, and for each step whether a flag was raised or a fault found."""
    return call(code, case.name, arrays, case.result, lanes)


def call(
    code: Code, name: str, arrays: list[Any], dtype: np.dtype[Any], lanes: int
) -> tuple[Any, Any]:
    """The same of any function that a `Writer` has written."""
    assert arrays[0].size % max(lanes, 1) == 0
    inputs = [np.ascontiguousarray(part) for array in arrays for part in _parts(array)]
    size = arrays[0].size
    result = np.empty(size, dtype)
    outputs = [part.copy() for part in _parts(result)]
    status = np.zeros(size, np.int8)
    pointers = (ctypes.c_void_p * (len(inputs) + len(outputs)))(
        *(array.ctypes.data for array in (*inputs, *outputs))
    )
    function = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)(
        code.address(name)
    )
    function(size, ctypes.addressof(pointers), status.ctypes.data)
    if dtype.kind == "c":
        result.real, result.imag = outputs
    else:
        result = outputs[0]
    return result, status[:: max(lanes, 1)] != 0


def _parts(array: Any) -> list[Any]:
    return [array.real, array.imag] if array.dtype.kind == "c" else [array]


def combined(kind: str, first: Any, second: Any, lanes: int) -> Any:
    """Two arrays combined as a reduction does; the first is that of the identity if None."""
    dtype = second.dtype

    def body(block: Block, faults: list[elements.Fault], operands: list[Value]) -> Value:
        left, right = operands
        if first is None:
            left = block.splat(elements.identity(kind, dtype), lanes)
        return elements.combine(block, kind, left, right)

    writer = Writer(lanes)
    writer.function("combined", [dtype, dtype], dtype, body)
    arrays = [second if first is None else first, second]
    return call(compiled(writer.module), "combined", arrays, dtype, lanes)[0]


class Emitter:
    """Emits float64 primitives by name, for expressions of several."""

    def __init__(self, block: Block, faults: list[elements.Fault], lanes: int, contract: bool):
        self.block, self.faults, self.lanes, self.contract = block, faults, lanes, contract

    def number(self, value: float) -> Value:
        """A Python number, as a constant."""
        return self.block.splat(constant(value, np.dtype(type(value))), self.lanes)

    def __call__(self, name: str, *operands: Value) -> Value:
        types = [
            array_type((3,), operand.dtype)
            if operand.text.startswith("%")
            else array_type((), operand.dtype, True)
            for operand in operands
        ]
        primitive = PRIMITIVES[name]
        (result,) = primitive.infer(*types)
        return elements.emit(
            self.block, self.faults, primitive, {}, operands, types, result.dtype, self.contract
        )


def evaluated(
    expression: Callable[[Emitter, Value], Value], x: Any, lanes: int, contract: bool = True
) -> tuple[Any, Any]:
    """An expression of one float64 array: its values, and where it raised flags."""

    def body(block: Block, faults: list[elements.Fault], operands: list[Value]) -> Value:
        return expression(Emitter(block, faults, lanes, contract), operands[0])

    writer = Writer(lanes)
    writer.function("evaluated", [x.dtype], x.dtype, body)
    return call(compiled(writer.module), "evaluated", [x], x.dtype, lanes)
