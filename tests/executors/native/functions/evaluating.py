"""Elementary functions compiled on their own, with the flags that they raise."""

import ctypes
import platform
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from adjoint.executors.native.functions.elementary import FUNCTIONS, call, written
from adjoint.executors.native.machine.llvm import Code, Machine, machine
from adjoint.executors.native.machine.module import Block, Module, Value, scalar_type, vector_type

Array = np.ndarray[Any, np.dtype[Any]]

TWO_OPERANDS = {"arctan2", "hypot", "power"}

# Invalid, divide by zero, overflow: as C counts them here.
_ON_X86 = platform.machine().lower() in ("x86_64", "amd64", "i386", "i686")
INVALID, DIVIDE, OVERFLOW = (1, 4, 8) if _ON_X86 else (1, 2, 4)
WATCHED = INVALID | DIVIDE | OVERFLOW

HOSTS: dict[str, Callable[[], Machine]] = {
    "host": machine,
    "avx2": lambda: Machine("x86-64", "+avx,+avx2,+fma"),
    "sse2": lambda: Machine("x86-64", ""),
    "plain": lambda: Machine("x86-64", "", None),
}
DTYPES = [np.dtype("f8"), np.dtype("f4")]


@cache
def host_of(name: str) -> Machine:
    return HOSTS[name]()


@dataclass(frozen=True)
class Evaluated:
    """The results of a function and the flags that each vector of them raised."""

    results: Array
    flags: Array


@dataclass(frozen=True)
class Native:
    """A loop over whole vectors, with the flags cleared before each call and read after it."""

    code: Code
    lanes: int
    text: str

    def __call__(self, *operands: Array) -> Evaluated:
        width = max(self.lanes, 1)
        first, second = operands[0], operands[-1]
        assert first.size % width == 0
        results, flags = np.empty_like(first), np.empty(first.size // width, np.int32)
        pointers = [array.ctypes.data for array in (first, second, results, flags)]
        types = [*[ctypes.c_void_p] * 4, ctypes.c_int64]
        ctypes.CFUNCTYPE(None, *types)(self.code.address("run"))(*pointers, flags.size)
        return Evaluated(results, flags & WATCHED)

    def each(self, *operands: Array) -> Evaluated:
        """One vector for each number, all its lanes the same."""
        width = max(self.lanes, 1)
        found = self(*(np.repeat(operand, width) for operand in operands))
        return Evaluated(found.results[::width], found.flags)


Write = Callable[[Block, list[Value], Machine], Value]


def native(
    host: Machine, name: str, dtype: np.dtype[Any], lanes: int, write: Write | None = None
) -> Native:
    """A function compiled; as `write` writes it, if that is given."""
    module = Module()
    block = Block(module)
    scalar = scalar_type(dtype)
    wide = vector_type(scalar, lanes)
    for function in ("feclearexcept", "fetestexcept"):
        module.declare(function, f"declare i32 @{function}(i32)")
    block.do("br label %loop")
    block.place("loop")
    block.do("%i = phi i64 [0, %entry], [%next, %last]")
    at = block.op(f"mul i64 %i, {max(lanes, 1)}")
    block.do(f"call i32 @feclearexcept(i32 {WATCHED})")
    operands = []  # volatile, so that nothing is computed before the flags are cleared
    for pointer in ("%x", "%z")[: 2 if name in TWO_OPERANDS else 1]:
        place = block.op(f"getelementptr {scalar}, ptr {pointer}, i64 {at}")
        loaded = block.op(f"load volatile {wide}, ptr {place}, align {dtype.itemsize}")
        operands.append(Value((loaded,), dtype, lanes))
    if write is not None:
        result = write(block, operands, host)
    elif name in FUNCTIONS:
        result, fault = call(block, name, operands, host)
        assert fault is None
    else:
        found = written(block, name, operands[0], host)
        assert found is not None
        result = found
    place = block.op(f"getelementptr {scalar}, ptr %y, i64 {at}")
    block.do(f"store {wide} {result.text}, ptr {place}, align {dtype.itemsize}")
    flags = block.op(f"call i32 @fetestexcept(i32 {WATCHED})")
    place = block.op("getelementptr i32, ptr %flags, i64 %i")
    block.do(f"store i32 {flags}, ptr {place}")
    block.do("br label %last")
    block.place("last")
    block.do("%next = add i64 %i, 1")
    block.do("%more = icmp slt i64 %next, %n")
    block.do("br i1 %more, label %loop, label %done")
    block.place("done")
    block.do("ret void")
    header = "define void @run(ptr %x, ptr %z, ptr %y, ptr %flags, i64 %n) nounwind"
    module.functions.append(block.function(header))
    text = module.text()
    return Native(host.compile(text, verify=True), lanes, text)


def by_numpy(name: str, *operands: Array) -> Evaluated:
    """NumPy's results, and the flags for which it warns, number by number."""
    raised = [0]

    def note(kind: str, flag: int) -> None:
        raised[0] |= (DIVIDE if flag & 1 else 0) | (OVERFLOW if flag & 2 else 0)
        raised[0] |= INVALID if flag & 8 else 0

    results = np.empty_like(operands[0])
    flags = np.zeros(results.size, np.int32)
    with np.errstate(all="call", under="ignore", call=note):
        for i in range(results.size):
            raised[0] = 0
            parts = [operand[i : i + 1] for operand in operands]
            getattr(np, name)(*parts, out=results[i : i + 1])
            flags[i] = raised[0]
    return Evaluated(results, flags)
