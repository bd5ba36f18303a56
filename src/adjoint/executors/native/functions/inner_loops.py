"""Calls of the inner loops of ufuncs (`machine/ufuncs.py`) for one number or a vector of them.

Each loop is wrapped in a function of registers, which hands it its numbers in memory on the stack.
NumPy asks after each loop whether the floating-point flags are raised, and SciPy's loops clear them
at their ends. So the wrapper leaves the flags that were raised before, and those that the loop has
left.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
_MXCSR_ERRORS = 0x1 | 0x4 | 0x8  # invalid, division by zero, overflow


def call(
    block: Block, symbol: str, operands: Sequence[Value], dtypes: Sequence[np.dtype[Any]]
) -> list[Value]:
    """Write the call of a loop with operands of its dtypes and equal lanes; its results."""
    lanes = operands[0].lanes
    name = f"{symbol}.{lanes}"
    if name not in block.module.wrappers:
        block.module.wrappers.add(name)
        types = [operand.dtype for operand in operands]
        block.module.functions.append(_wrapper(block.module, name, symbol, types, dtypes, lanes))
    kind = _returned(dtypes, lanes)
    listing = ", ".join(
        f"{vector_type(scalar_type(operand.dtype), lanes)} {part}"
        for operand in operands
        for part in operand.parts
    )
    whole = block.once(f"call {kind} @{name}({listing}) {_ATTRIBUTES}")
    results, place = [], 0
    for dtype in dtypes:
        count = _parts(dtype)
        places = range(place, place + count)
        parts = tuple(block.once(f"extractvalue {kind} {whole}, {number}") for number in places)
        results.append(Value(parts, dtype, lanes))
        place += count
    return results


def call_for_each(block: Block, symbol: str, operands: Sequence[Value]) -> Value:
    """Write the calls of a function of doubles, number by number, which raise no flags."""
    lanes, dtype = operands[0].lanes, operands[0].dtype
    name = f"{symbol}.{lanes}"
    kind = vector_type("double", lanes)
    if name not in block.module.wrappers:
        block.module.wrappers.add(name)
        block.module.functions.append(
            _number_by_number(block.module, name, symbol, len(operands), lanes)
        )
    listing = ", ".join(f"{kind} {operand.text}" for operand in operands)
    return Value((block.once(f"call {kind} @{name}({listing}) {_ATTRIBUTES}"),), dtype, lanes)


def _number_by_number(module: Module, name: str, symbol: str, count: int, lanes: int) -> str:
    block, kind = Block(module), vector_type("double", lanes)
    module.declare(symbol, f"declare double @{symbol}({'double, ' * count}i32)")
    operands = [f"%x{number}" for number in range(count)]
    restore = noted_flags(block)
    if not lanes:
        listing = "".join(f"double {x}, " for x in operands)
        result = block.op(f"call double @{symbol}({listing}i32 0)")
    else:
        result = "poison"
        for lane in range(lanes):
            picked = [block.op(f"extractelement {kind} {x}, i32 {lane}") for x in operands]
            listing = "".join(f"double {x}, " for x in picked)
            one = block.op(f"call double @{symbol}({listing}i32 0)")
            result = block.op(f"insertelement {kind} {result}, double {one}, i32 {lane}")
    restore()
    block.do(f"ret {kind} {result}")
    parameters = ", ".join(f"{kind} {x}" for x in operands)
    return block.function(f"define internal {kind} @{name}({parameters}) noinline")


def noted_flags(block: Block) -> Callable[[], None]:
    """Note the flags; what is returned writes instructions that bring them back."""
    module = block.module
    if not machine().is_x86:
        place = block.stack(f"[{_ENVIRONMENT} x i8]", 16)
        for name in ("feholdexcept", "fesetenv"):
            module.declare(name, f"declare i32 @{name}(ptr)")
        block.op(f"call i32 @feholdexcept(ptr {place})")
        return lambda: block.do(f"call i32 @fesetenv(ptr {place})")
    slot, noted = block.stack("i32", 4), block.stack("i32", 4)
    _declare_mxcsr(module)
    block.do(f"call void @llvm.x86.sse.stmxcsr(ptr {noted})")

    def restore() -> None:
        block.do(f"call void @llvm.x86.sse.stmxcsr(ptr {slot})")
        before, after = (block.op(f"load i32, ptr {place}") for place in (noted, slot))
        new = block.op(f"and i32 {after}, {block.op(f'xor i32 {before}, -1')}")
        errors = block.op(f"and i32 {new}, {_MXCSR_ERRORS}")
        same, raised, kept = block.op(f"icmp eq i32 {errors}, 0"), "raised", "kept"
        block.do(f"br i1 {same}, label %{kept}, label %{raised}")
        block.place(raised)
        block.do(f"call void @llvm.x86.sse.ldmxcsr(ptr {noted})")
        block.do(f"br label %{kept}")
        block.place(kept)

    return restore


def all_flags_kept(block: Block) -> Callable[[], None]:
    """Note the flags; what is returned brings them back, whatever was raised or cleared."""
    if not machine().is_x86:
        return noted_flags(block)
    noted = block.stack("i32", 4)
    _declare_mxcsr(block.module)
    block.do(f"call void @llvm.x86.sse.stmxcsr(ptr {noted})")
    return lambda: block.do(f"call void @llvm.x86.sse.ldmxcsr(ptr {noted})")


def _declare_mxcsr(module: Module) -> None:
    for name in ("llvm.x86.sse.stmxcsr", "llvm.x86.sse.ldmxcsr"):
        module.declare(name, f"declare void @{name}(ptr)")


def _parts(dtype: np.dtype[Any]) -> int:
    return 2 if dtype.kind == "c" else 1


def _returned(dtypes: Sequence[np.dtype[Any]], lanes: int) -> str:
    """The type of all results together: of each its parts."""
    kinds = [vector_type(scalar_type(x), lanes) for x in dtypes for _ in range(_parts(x))]
    return f"{{ {', '.join(kinds)} }}"


def _wrapper(
    module: Module,
    name: str,
    symbol: str,
    types: Sequence[np.dtype[Any]],
    dtypes: Sequence[np.dtype[Any]],
    lanes: int,
) -> str:
    """The function of registers: operands of types, results of dtypes."""
    block = Block(module)
    parameters, places = [], []
    for number, type_ in enumerate(types):
        kind = vector_type(scalar_type(type_), lanes)
        parts = [f"%x{number}.{part}" for part in range(_parts(type_))]
        parameters += [f"{kind} {part}" for part in parts]
        places.append(_stored(block, parts, type_, lanes))
    results = [block.stack(_memory(dtype, lanes)) for dtype in dtypes]
    count = block.stack("i64", 16)
    block.do(f"store i64 {max(1, lanes)}, ptr {count}")
    pointers = _listed(block, "ptr", [*places, *results])
    steps = _listed(block, "i64", [str(type_.itemsize) for type_ in (*types, *dtypes)])
    module.declare(symbol, f"@{symbol} = external global [2 x ptr]")
    function = block.op(f"load ptr, ptr @{symbol}")
    at = block.op(f"getelementptr i8, ptr @{symbol}, i64 8")
    data = block.op(f"load ptr, ptr {at}")
    arguments = ", ".join(f"ptr {x}" for x in (pointers, count, steps, data))
    _keeping_flags(block, f"call void {function}({arguments})")
    whole, kind, place = "poison", _returned(dtypes, lanes), 0
    for result, dtype in zip(results, dtypes, strict=True):
        register = vector_type(scalar_type(dtype), lanes)
        for part in _loaded(block, result, dtype, lanes):
            whole = block.op(f"insertvalue {kind} {whole}, {register} {part}, {place}")
            place += 1
    block.do(f"ret {kind} {whole}")
    return block.function(f"define internal {kind} @{name}({', '.join(parameters)}) noinline")


def _listed(block: Block, kind: str, items: Sequence[str]) -> str:
    """Where these items lie, one after the other."""
    place = block.stack(f"[{len(items)} x {kind}]", 16)
    for number, item in enumerate(items):
        at = block.op(f"getelementptr {kind}, ptr {place}, i64 {number}")
        block.do(f"store {kind} {item}, ptr {at}")
    return place


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


def _loaded(block: Block, place: str, dtype: np.dtype[Any], lanes: int) -> list[str]:
    """The parts of what lies there."""
    scalar = scalar_type(dtype)
    kind, count = vector_type(scalar, lanes), _parts(dtype)
    size = dtype.itemsize // count
    if count == 1:
        return [block.op(f"load {kind}, ptr {place}, align {size}")]
    if not lanes:
        at = block.op(f"getelementptr {scalar}, ptr {place}, i64 1")
        return [block.op(f"load {scalar}, ptr {one}, align {size}") for one in (place, at)]
    wide, parts = vector_type(scalar, 2 * lanes), []
    whole = block.op(f"load {wide}, ptr {place}, align {size}")
    for part in (0, 1):
        mask = ", ".join(f"i32 {2 * lane + part}" for lane in range(lanes))
        picked = f"<{lanes} x i32> <{mask}>"
        parts.append(block.op(f"shufflevector {wide} {whole}, {wide} poison, {picked}"))
    return parts


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
    _declare_mxcsr(module)
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
