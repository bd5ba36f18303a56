"""Calls of the inner loops of ufuncs (`machine/ufuncs.py`) for one number or a vector of them.

Each loop is wrapped in a function of registers, which hands it its numbers in memory on the stack.
NumPy asks after each loop whether the floating-point flags are raised, and SciPy's loops clear them
at their ends. So the wrapper leaves the flags that were raised before, and those that the loop has
left.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.executors.native.machine.llvm import machine
from adjoint.executors.native.machine.module import (
    Block,
    Module,
    Value,
    memory_type,
    scalar_type,
    vector_type,
)

_ATTRIBUTES = "nounwind willreturn memory(none)"  # of calls: nothing but the result matters
_ENVIRONMENT = 64  # bytes, more than any fenv_t has


def call(block: Block, symbol: str, operands: Sequence[Value], dtype: np.dtype[Any]) -> Value:
    """Write the call of a loop with operands of its dtypes and equal lanes; its result."""
    lanes = operands[0].lanes
    name = f"{symbol}.{lanes}"
    types = [operand.dtype for operand in operands]
    kind = _returned(dtype, lanes)
    if name not in block.module.wrappers:
        block.module.wrappers.add(name)
        block.module.functions.append(_wrapper(block.module, name, symbol, types, dtype, lanes))
    listing = ", ".join(
        f"{vector_type(scalar_type(operand.dtype), lanes)} {part}"
        for operand in operands
        for part in operand.parts
    )
    found = block.op(f"call {kind} @{name}({listing}) {_ATTRIBUTES}")
    if dtype.kind != "c":
        return Value((found,), dtype, lanes)
    parts = tuple(block.op(f"extractvalue {kind} {found}, {place}") for place in (0, 1))
    return Value(parts, dtype, lanes)


def _returned(dtype: np.dtype[Any], lanes: int) -> str:
    part = vector_type(scalar_type(dtype), lanes)
    return f"{{ {part}, {part} }}" if dtype.kind == "c" else part


def _wrapper(
    module: Module,
    name: str,
    symbol: str,
    types: Sequence[np.dtype[Any]],
    dtype: np.dtype[Any],
    lanes: int,
) -> str:
    block = Block(module)
    parameters, places = [], []
    for number, type_ in enumerate(types):
        kind = vector_type(scalar_type(type_), lanes)
        parts = [f"%x{number}.{part}" for part in range(2 if type_.kind == "c" else 1)]
        parameters += [f"{kind} {part}" for part in parts]
        places.append(_stored(block, parts, type_, lanes))
    result = block.stack(_memory(dtype, lanes))
    pointers = block.stack(f"[{len(types) + 1} x ptr]", 16)
    steps = block.stack(f"[{len(types) + 1} x i64]", 16)
    count = block.stack("i64", 16)
    block.do(f"store i64 {max(1, lanes)}, ptr {count}")
    for number, (place, type_) in enumerate(zip((*places, result), (*types, dtype), strict=True)):
        at = block.op(f"getelementptr ptr, ptr {pointers}, i64 {number}")
        block.do(f"store ptr {place}, ptr {at}")
        at = block.op(f"getelementptr i64, ptr {steps}, i64 {number}")
        block.do(f"store i64 {type_.itemsize}, ptr {at}")
    module.declare(symbol, f"@{symbol} = external global [2 x ptr]")
    function = block.op(f"load ptr, ptr @{symbol}")
    at = block.op(f"getelementptr i8, ptr @{symbol}, i64 8")
    data = block.op(f"load ptr, ptr {at}")
    arguments = ", ".join(f"ptr {x}" for x in (pointers, count, steps, data))
    _keeping_flags(block, f"call void {function}({arguments})")
    block.do(f"ret {_returned(dtype, lanes)} {_loaded(block, result, dtype, lanes)}")
    listing, returned = ", ".join(parameters), _returned(dtype, lanes)
    return block.function(f"define internal {returned} @{name}({listing}) noinline")


def _memory(dtype: np.dtype[Any], lanes: int) -> str:
    count = max(1, lanes) * (2 if dtype.kind == "c" else 1)
    return f"[{count} x {memory_type(dtype)}]"


def _stored(block: Block, parts: Sequence[str], dtype: np.dtype[Any], lanes: int) -> str:
    """Where the numbers were stored, one after the other."""
    place, scalar = block.stack(_memory(dtype, lanes)), scalar_type(dtype)
    kind = vector_type(scalar, lanes)
    if dtype.kind == "c" and lanes:
        mask = ", ".join(f"i32 {lane + part * lanes}" for lane in range(lanes) for part in (0, 1))
        both = f"<{2 * lanes} x i32> <{mask}>"
        text = block.op(f"shufflevector {kind} {parts[0]}, {kind} {parts[1]}, {both}")
        parts, kind = [text], vector_type(scalar, 2 * lanes)
    for number, part in enumerate(parts):
        at = block.op(f"getelementptr {scalar}, ptr {place}, i64 {number}")
        block.do(f"store {kind} {part}, ptr {at}, align {dtype.itemsize // len(parts)}")
    return place


def _loaded(block: Block, place: str, dtype: np.dtype[Any], lanes: int) -> str:
    scalar = scalar_type(dtype)
    kind = vector_type(scalar, lanes)
    if dtype.kind != "c":
        return block.op(f"load {kind}, ptr {place}, align {dtype.itemsize}")
    if lanes:
        wide = vector_type(scalar, 2 * lanes)
        whole = block.op(f"load {wide}, ptr {place}, align {dtype.itemsize // 2}")
        parts = []
        for part in (0, 1):
            mask = ", ".join(f"i32 {2 * lane + part}" for lane in range(lanes))
            picked = f"<{lanes} x i32> <{mask}>"
            parts.append(block.op(f"shufflevector {wide} {whole}, {wide} poison, {picked}"))
    else:
        parts = [block.op(f"load {scalar}, ptr {place}")]
        at = block.op(f"getelementptr {scalar}, ptr {place}, i64 1")
        parts.append(block.op(f"load {scalar}, ptr {at}"))
    returned = _returned(dtype, lanes)
    first = block.op(f"insertvalue {returned} poison, {kind} {parts[0]}, 0")
    return block.op(f"insertvalue {returned} {first}, {kind} {parts[1]}, 1")


def _keeping_flags(block: Block, text: str) -> None:
    """A call, after which the flags from before it are raised, and those that it has left."""
    module = block.module
    if not machine().is_x86:
        place = block.stack(f"[{_ENVIRONMENT} x i8]", 16)
        for name in ("feholdexcept", "feupdateenv"):
            module.declare(name, f"declare i32 @{name}(ptr)")
        block.op(f"call i32 @feholdexcept(ptr {place})")
        block.do(text)
        block.op(f"call i32 @feupdateenv(ptr {place})")
        return
    for name in ("llvm.x86.sse.stmxcsr", "llvm.x86.sse.ldmxcsr"):
        module.declare(name, f"declare void @{name}(ptr)")
    slot = block.stack("i32", 4)
    block.do(f"call void @llvm.x86.sse.stmxcsr(ptr {slot})")
    before = block.op(f"load i32, ptr {slot}")
    block.do(text)
    block.do(f"call void @llvm.x86.sse.stmxcsr(ptr {slot})")
    after = block.op(f"load i32, ptr {slot}")
    both, lost, kept = block.op(f"or i32 {before}, {after}"), "lost", "kept"
    same = block.op(f"icmp eq i32 {both}, {after}")
    block.do(f"br i1 {same}, label %{kept}, label %{lost}")
    block.place(lost)
    block.do(f"store i32 {both}, ptr {slot}")
    block.do(f"call void @llvm.x86.sse.ldmxcsr(ptr {slot})")
    block.do(f"br label %{kept}")
    block.place(kept)
