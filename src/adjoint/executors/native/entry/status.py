"""What surrounds the kernel: floating-point errors, interrupts, the search for NaN.

The functions written here: `void @floating.clear()` and `i32 @floating.raised()` (not 0 when an
operation was invalid, divided by zero or overflowed since the clearing, in this thread), and
`i32 @interrupted(ptr %state)`, which the kernel may call.

The errors watched for are those that NumPy warns of unless told otherwise. NumPy clears the flags
before its own loops, so that they are left cleared here, and other flags, the rounding mode and the
masks are not touched.
"""

from __future__ import annotations

from typing import Final

from adjoint.executors.native.entry.python_api import PythonApi
from adjoint.executors.native.machine.module import PLAIN, RAISED

_MXCSR_ERRORS: Final = 0x1 | 0x4 | 0x8  # invalid, division by zero, overflow
_NUMPY_ERRORS: Final = 0x8 | 0x1 | 0x2  # the same as NPY_FPE_...
_LANES: Final = 8
_STEP: Final = 4 * _LANES

_MXCSR = f"""declare void @llvm.x86.sse.stmxcsr(ptr)
declare void @llvm.x86.sse.ldmxcsr(ptr)
define void @floating.clear() {PLAIN} {{
entry:
  %slot = alloca i32
  call void @llvm.x86.sse.stmxcsr(ptr %slot)
  %found = load i32, ptr %slot
  %errors = and i32 %found, {_MXCSR_ERRORS}
  %any = icmp ne i32 %errors, 0
  br i1 %any, label %clear, label %done
clear:
  %kept = and i32 %found, {~_MXCSR_ERRORS}
  store i32 %kept, ptr %slot
  call void @llvm.x86.sse.ldmxcsr(ptr %slot)
  br label %done
done:
  ret void
}}
define i32 @floating.raised() {PLAIN} {{
entry:
  %slot = alloca i32
  call void @llvm.x86.sse.stmxcsr(ptr %slot)
  %found = load i32, ptr %slot
  %errors = and i32 %found, {_MXCSR_ERRORS}
  ret i32 %errors
}}"""

_BY_NUMPY = """define void @floating.clear() {plain} {{
entry:
  call void @{clear}()
  ret void
}}
define i32 @floating.raised() {plain} {{
entry:
  %found = call i32 @{raised}()
  %errors = and i32 %found, {errors}
  ret i32 %errors
}}"""


def status(api: PythonApi) -> str:
    """The functions `@floating.clear` and `@floating.raised`."""
    if api.reads_mxcsr:
        return _MXCSR
    clear, raised = (api.functions[f"PyUFunc_{name}fperr"] for name in ("clear", "get"))
    return _BY_NUMPY.format(plain=PLAIN, clear=clear, raised=raised, errors=_NUMPY_ERRORS)


def interrupted(api: PythonApi) -> str:
    """The function `@interrupted`: runs handlers of signals that came, lets other threads run.

    It returns RAISED if a handler has raised, else 0. The state is the thread, null while it holds
    the interpreter, and floating-point errors seen so far: they are noted before handlers, which
    are Python, can change the flags.
    """
    restore, check, save = (
        api.functions[name]
        for name in ("PyEval_RestoreThread", "PyErr_CheckSignals", "PyEval_SaveThread")
    )
    return f"""define i32 @interrupted(ptr %state) {PLAIN} {{
entry:
  %noted.at = getelementptr i8, ptr %state, i64 8
  %now = call i32 @floating.raised()
  %noted = load i32, ptr %noted.at
  %errors = or i32 %noted, %now
  store i32 %errors, ptr %noted.at
  %thread = load ptr, ptr %state
  %released = icmp ne ptr %thread, null
  br i1 %released, label %take, label %ask
take:
  call void @{restore}(ptr %thread)
  br label %ask
ask:
  %answer = call i32 @{check}()
  %again = call ptr @{save}()
  store ptr %again, ptr %state
  call void @floating.clear()
  %raised = icmp ne i32 %answer, 0
  %result = select i1 %raised, i32 {RAISED}, i32 0
  ret i32 %result
}}"""


def has_nan(name: str, scalar: str) -> str:
    """A function of this name that says whether some number of an LLVM type is NaN."""
    reduce = f"llvm.vector.reduce.or.v{_LANES}i1"
    return f"declare i1 @{reduce}(<{_LANES} x i1>)\n" * (scalar == "float") + _HAS_NAN.format(
        name=name,
        scalar=scalar,
        vector=f"<{_LANES} x {scalar}>",
        mask=f"<{_LANES} x i1>",
        size=4 if scalar == "float" else 8,
        step=_STEP,
        **{f"offset{number}": _LANES * number for number in (1, 2, 3)},
        lanes=_LANES,
    )


# A comparison of two numbers is unordered if either is NaN, so that one looks at two vectors.
_HAS_NAN = """define i1 @{name}(ptr %data, i64 %count) {{
entry:
  %rest = urem i64 %count, {step}
  %whole = sub i64 %count, %rest
  br label %vectors
vectors:
  %i = phi i64 [ 0, %entry ], [ %i.next, %body ]
  %found = phi {mask} [ zeroinitializer, %entry ], [ %found.next, %body ]
  %more = icmp ult i64 %i, %whole
  br i1 %more, label %body, label %reduce
body:
  %p0 = getelementptr {scalar}, ptr %data, i64 %i
  %p1 = getelementptr {scalar}, ptr %p0, i64 {offset1}
  %p2 = getelementptr {scalar}, ptr %p0, i64 {offset2}
  %p3 = getelementptr {scalar}, ptr %p0, i64 {offset3}
  %a0 = load {vector}, ptr %p0, align {size}
  %a1 = load {vector}, ptr %p1, align {size}
  %a2 = load {vector}, ptr %p2, align {size}
  %a3 = load {vector}, ptr %p3, align {size}
  %u0 = fcmp uno {vector} %a0, %a1
  %u1 = fcmp uno {vector} %a2, %a3
  %u = or {mask} %u0, %u1
  %found.next = or {mask} %found, %u
  %i.next = add i64 %i, {step}
  br label %vectors
reduce:
  %some = call i1 @llvm.vector.reduce.or.v{lanes}i1({mask} %found)
  br label %scalars
scalars:
  %j = phi i64 [ %whole, %reduce ], [ %j.next, %one ]
  %seen = phi i1 [ %some, %reduce ], [ %seen.next, %one ]
  %left = icmp ult i64 %j, %count
  br i1 %left, label %one, label %done
one:
  %q = getelementptr {scalar}, ptr %data, i64 %j
  %b = load {scalar}, ptr %q, align {size}
  %n = fcmp uno {scalar} %b, %b
  %seen.next = or i1 %seen, %n
  %j.next = add i64 %j, 1
  br label %scalars
done:
  ret i1 %seen
}}"""
