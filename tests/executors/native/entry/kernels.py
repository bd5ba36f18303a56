"""Small kernels, written by hand, that an entry is put around."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

from adjoint.base.arrays import ArrayType, array_type
from adjoint.executors.native.entry.callable import make_callable
from adjoint.executors.native.entry.function import EntrySpec, emit_entry
from adjoint.executors.native.machine.llvm import Code, machine
from adjoint.executors.native.machine.module import Module, memory_type

INT = array_type((), int, True)
FLOAT = array_type((), float, True)
COMPLEX = array_type((), complex, True)


def same(result: Any, wanted: Any) -> None:
    """Equal in type, dtype, shape and bits."""
    assert type(result) is type(wanted)
    assert result.dtype == wanted.dtype
    assert result.shape == wanted.shape
    assert result.tobytes() == wanted.tobytes()


def f8(*shape: int) -> ArrayType:
    return array_type(shape, "f8")


def text(spec: EntrySpec, body: str, *extra: str) -> str:
    """The module whose kernel has this body."""
    module = Module()
    for line in extra:
        module.declare(line, line)
    header = "ptr noalias %inputs, ptr noalias %outputs, ptr noalias %workspace, ptr %state"
    module.functions.append(f"define internal i32 @program({header}) {{\nentry:\n{body}\n}}")
    emit_entry(module, spec)
    return module.text()


def code(spec: EntrySpec, body: str, *extra: str) -> Code:
    """The same, compiled."""
    return machine().compile(text(spec, body, *extra), verify=True)


def built(spec: EntrySpec, body: str, constants: Sequence[Any] = (), *extra: str) -> Callable:
    """The callable of such a module."""
    return make_callable(code(spec, body, *extra), "kernel", constants)


def copies(*types: ArrayType) -> str:
    """The kernel that copies input k to output k, byte by byte."""
    lines = []
    for place, type_ in enumerate(types):
        size = type_.size * type_.dtype.itemsize
        lines.append(f"""
  %at{place} = getelementptr ptr, ptr %inputs, i64 {place}
  %from{place} = load ptr, ptr %at{place}
  %to_at{place} = getelementptr ptr, ptr %outputs, i64 {place}
  %to{place} = load ptr, ptr %to_at{place}
  call void @llvm.memcpy.p0.p0.i64(ptr %to{place}, ptr %from{place}, i64 {size}, i1 false)""")
    return "\n".join([*lines, "  ret i32 0"])


MEMCPY = "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"


def identity(*types: ArrayType, **options: Any) -> Callable:
    """A callable that returns copies of its arguments."""
    return built(EntrySpec(types, types, **options), copies(*types), (), MEMCPY)


def binary(operation: str, type_: ArrayType) -> str:
    """The kernel of one operation on two inputs of real numbers."""
    number = memory_type(type_.dtype)
    return f"""
  %a = load ptr, ptr %inputs
  %b_at = getelementptr ptr, ptr %inputs, i64 1
  %b = load ptr, ptr %b_at
  %o = load ptr, ptr %outputs
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %p = getelementptr {number}, ptr %a, i64 %i
  %q = getelementptr {number}, ptr %b, i64 %i
  %r = getelementptr {number}, ptr %o, i64 %i
  %x = load {number}, ptr %p
  %y = load {number}, ptr %q
  %z = {operation} {number} %x, %y
  store {number} %z, ptr %r
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, {type_.size}
  br i1 %more, label %loop, label %done
done:
  ret i32 0"""


# Returns what the only input says, an integer: 0, 1 or 2.
STATUS = """
  %a = load ptr, ptr %inputs
  %n = load i64, ptr %a
  %s = trunc i64 %n to i32
  ret i32 %s"""


def raising(error: type[BaseException]) -> str:
    """The kernel that sets a Python exception, which asks for the interpreter."""
    function = ctypes.cast(ctypes.pythonapi.PyErr_SetNone, ctypes.c_void_p).value or 0
    set_none, raised = (f"inttoptr (i64 {place} to ptr)" for place in (function, id(error)))
    return f"  call void {set_none}(ptr {raised})\n  ret i32 2"


# Waits until the first number of the input is not 0, or until a signal raises.
WAITING = """
  %a = load ptr, ptr %inputs
  br label %loop
loop:
  %answer = call i32 @interrupted(ptr %state)
  %raised = icmp ne i32 %answer, 0
  br i1 %raised, label %leave, label %look
look:
  %bits = load atomic i64, ptr %a monotonic, align 8
  %on = icmp eq i64 %bits, 0
  br i1 %on, label %loop, label %done
done:
  ret i32 0
leave:
  ret i32 2"""
