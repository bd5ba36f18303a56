"""The shared entry: checks its arguments, makes results, runs a kernel.

It is what METH_FASTCALL functions of Python call, with the table of their program. Whatever is not
as the code was compiled for, and every floating-point error, is answered by None ("miss"): the
caller then runs the program elsewhere. Nothing that is passed can make it read or write outside of
the arrays that were checked.
"""

from __future__ import annotations

import numpy as np

from adjoint.executors.native.entry.checks import WORKSPACE
from adjoint.executors.native.entry.python_api import (
    ARRAY_DATA,
    NUMBER_VALUE,
    TUPLE_ITEMS,
    TUPLE_SIZE,
    PythonApi,
)
from adjoint.executors.native.entry.tables import (
    ALIGNMENT,
    BARE,
    ENTER,
    ERRORS,
    GIVEN,
    LENT,
    OUTPUT,
    RECORD,
    RELEASE,
    TABLE,
    fields,
    load,
)
from adjoint.executors.native.machine.llvm import machine
from adjoint.executors.native.machine.module import OVERFLOW, PLAIN, RAISED


def release(api: PythonApi) -> str:
    """Let go of objects, some of which may be null."""
    return f"""define internal void @adjoint.release(ptr %objects, i64 %count) {PLAIN} {{
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %one ]
  %more = icmp ult i64 %i, %count
  br i1 %more, label %one, label %done
one:
  %at = getelementptr ptr, ptr %objects, i64 %i
  %object = load ptr, ptr %at
  call void @{api.functions["Py_DecRef"]}(ptr %object)
  %next = add i64 %i, 1
  br label %loop
done:
  ret void
}}"""


def enter(api: PythonApi) -> str:
    """Check, make, run, wrap."""
    probe = machine().stack_probe
    header = f"define ptr @{ENTER}(ptr %self, ptr %args, i64 %nargs, ptr %table) {PLAIN}{probe}"
    parts = (_arguments(), _checks(api), _workspace(), _outputs(api), _running(api), _judging(api))
    return "\n".join((f"{header} {{", *parts, _results(api), _returning(api), _leaving(api), "}"))


def _arguments() -> str:
    """The arguments in `%args`; program inputs that are missing there are those bound in `%self`.

    The object that keeps the code alive is counted with those that are bound.
    """
    return f"""entry:
{fields("%table", TABLE, TABLE)}
  %state = alloca {{ ptr, i32, i64 }}, align 8
  %pointers = add i64 %inputs_count, %constants_count
  %inputs = alloca ptr, i64 %pointers, align 16
  %slots = alloca i64, i64 %inputs_count, align 16
  %data = alloca ptr, i64 %outputs_count, align 16
  %results = alloca ptr, i64 %outputs_count, align 16
  %numbers = alloca [16 x i8], i64 %outputs_count, align 16
  br label %empty.loop
empty.loop:
  %e = phi i64 [ 0, %entry ], [ %e.next, %empty.one ]
  %e.more = icmp ult i64 %e, %outputs_count
  br i1 %e.more, label %empty.one, label %count
empty.one:
  %e.at = getelementptr ptr, ptr %results, i64 %e
  store ptr null, ptr %e.at
  %e.next = add i64 %e, 1
  br label %empty.loop
count:
{load("bound", "i64", "%self", TUPLE_SIZE)}
  %items = getelementptr i8, ptr %self, i64 {TUPLE_ITEMS}
  %with.workspace = and i64 %flags, {GIVEN}
  %extra = add i64 %with.workspace, %lent_count
  %given = sub i64 %nargs, %extra
  %total = add i64 %given, %bound
  %wanted.count = add i64 %inputs_count, 1
  %complete = icmp eq i64 %total, %wanted.count
  %enough = icmp sge i64 %given, 0
  %counted = and i1 %complete, %enough
  br i1 %counted, label %scipy, label %miss"""


def _checks(api: PythonApi) -> str:
    """A miss where an argument is not of its type, or SciPy is to warn of errors or raise them."""
    functions = api.functions
    return f"""scipy:
  %plain = icmp eq ptr %quiet, null
  br i1 %plain, label %checks, label %ask
ask:
  %answer = call ptr @{functions["PyObject_CallNoArgs"]}(ptr %quiet)
  %answered = icmp ne ptr %answer, null
  br i1 %answered, label %hear, label %failed
hear:
  call void @{functions["Py_DecRef"]}(ptr %answer)
  %ignored = icmp eq ptr %answer, @{api.objects["True"]}
  br i1 %ignored, label %checks, label %miss
checks:
  br label %checks.loop
checks.loop:
  %i = phi i64 [ 0, %checks ], [ %i.next, %checked ]
  %i.more = icmp ult i64 %i, %inputs_count
  br i1 %i.more, label %argument, label %constant
argument:
  %passed = icmp slt i64 %i, %given
  %behind = sub i64 %i, %given
  %in.args = getelementptr ptr, ptr %args, i64 %i
  %in.self = getelementptr ptr, ptr %items, i64 %behind
  %object.at = select i1 %passed, ptr %in.args, ptr %in.self
  %object = load ptr, ptr %object.at
  %record.at = getelementptr ptr, ptr %records, i64 %i
  %record = load ptr, ptr %record.at
  %check = load ptr, ptr %record
  %slot = getelementptr i64, ptr %slots, i64 %i
  %numbers.at = call ptr %check(ptr %object, ptr %record, ptr %slot)
  %input.at = getelementptr ptr, ptr %inputs, i64 %i
  store ptr %numbers.at, ptr %input.at
  ; No array of any length has the address null; one without numbers may, and is a miss.
  %fits = icmp ne ptr %numbers.at, null
  br i1 %fits, label %checked, label %miss
checked:
  %i.next = add i64 %i, 1
  br label %checks.loop
constant:
  %is.none = icmp eq i64 %constants_count, 0
  br i1 %is.none, label %space, label %constant.some
constant.some:
  %after.inputs = getelementptr ptr, ptr %inputs, i64 %inputs_count
  %constants.bytes = mul i64 %constants_count, 8
  call void @llvm.memcpy.p0.p0.i64(
    ptr align 8 %after.inputs, ptr align 8 %constants, i64 %constants.bytes, i1 false)
  br label %space"""


def _workspace() -> str:
    """The workspace: an array that is given, or on the stack."""
    return f"""space:
  %is.given = icmp ne i64 %with.workspace, 0
  br i1 %is.given, label %workspace.given, label %workspace.own
workspace.given:
  %workspace.at = getelementptr ptr, ptr %args, i64 %given
  %workspace.object = load ptr, ptr %workspace.at
  %theirs = call ptr @{WORKSPACE}(ptr %workspace.object, i64 %bytes)
  %there = icmp ne ptr %theirs, null
  br i1 %there, label %workspace.ready, label %miss
workspace.own:
  %own = alloca i8, i64 %bytes, align {ALIGNMENT}
  br label %workspace.ready
workspace.ready:
  %workspace = phi ptr [ %theirs, %workspace.given ], [ %own, %workspace.own ]
  %first.lent = add i64 %given, %with.workspace
  br label %outputs.loop"""


def _outputs(api: PythonApi) -> str:
    """Where each output is written: lent, in a new array, for a number on the stack."""
    functions = api.functions
    return f"""outputs.loop:
  %k = phi i64 [ 0, %workspace.ready ], [ %k.next, %output.ready ]
  %k.more = icmp ult i64 %k, %outputs_count
  br i1 %k.more, label %output, label %run
output:
  %output.at = getelementptr [{8 * len(OUTPUT)} x i8], ptr %outputs, i64 %k
  %output.record = load ptr, ptr %output.at
{fields("%output.at", OUTPUT, ("lent",))}
  %result.at = getelementptr ptr, ptr %results, i64 %k
{fields("%output.record", RECORD, ("dtype", "ndim", "shape"))}
  %is.lent = icmp sge i64 %lent, 0
  br i1 %is.lent, label %output.lent, label %output.new
output.lent:
  %lent.place = add i64 %first.lent, %lent
  %array.at = getelementptr ptr, ptr %args, i64 %lent.place
  %array = load ptr, ptr %array.at
  %lent.data = call ptr @{LENT}(ptr %array, ptr %output.record, ptr null)
  %lent.fits = icmp ne ptr %lent.data, null
  br i1 %lent.fits, label %output.taken, label %miss
output.taken:
  call void @{functions["Py_IncRef"]}(ptr %array)
  store ptr %array, ptr %result.at
  br label %output.ready
output.new:
  %is.number = icmp eq i64 %ndim, 0
  br i1 %is.number, label %output.number, label %output.array
output.number:
  %number.data = getelementptr [16 x i8], ptr %numbers, i64 %k
  br label %output.ready
output.array:
  call void @{functions["Py_IncRef"]}(ptr %dtype)  ; taken over by the array
  %axes = trunc i64 %ndim to i32
  %made = call ptr @{functions["PyArray_NewFromDescr"]}(
    ptr @{api.types[np.ndarray]}, ptr %dtype, i32 %axes, ptr %shape,
    ptr null, ptr null, i32 0, ptr null)
  store ptr %made, ptr %result.at
  %is.made = icmp ne ptr %made, null
  br i1 %is.made, label %output.made, label %failed
output.made:
{load("made.data", "ptr", "%made", ARRAY_DATA)}
  br label %output.ready
output.ready:
  %memory = phi ptr
    [ %lent.data, %output.taken ],
    [ %number.data, %output.number ],
    [ %made.data, %output.made ]
  %data.at = getelementptr ptr, ptr %data, i64 %k
  store ptr %memory, ptr %data.at
  %k.next = add i64 %k, 1
  br label %outputs.loop"""


def _running(api: PythonApi) -> str:
    """Run the kernel, and find out whether its results stand.

    The state is the thread when it does not hold the interpreter, errors seen so far, and the
    length of a tape that was too short.
    """
    functions = api.functions
    return f"""run:
  %noted.at = getelementptr i8, ptr %state, i64 8
  store ptr null, ptr %state
  store i32 0, ptr %noted.at
  %releases = and i64 %flags, {RELEASE}
  %stays = icmp eq i64 %releases, 0
  br i1 %stays, label %kernel, label %leave
leave:
  %thread = call ptr @{functions["PyEval_SaveThread"]}()
  store ptr %thread, ptr %state
  br label %kernel
kernel:
  call void @floating.clear()
  %status = call i32 %program(ptr %inputs, ptr %data, ptr %workspace, ptr %state)
  %now = call i32 @floating.raised()
  %noted = load i32, ptr %noted.at
  %seen = or i32 %now, %noted
  %counts = and i64 %flags, {ERRORS}
  %asked = icmp ne i64 %counts, 0
  %raised = select i1 %asked, i32 %seen, i32 0
  %wrong = or i32 %raised, %status
  %well = icmp eq i32 %wrong, 0
  br i1 %well, label %search.loop, label %back"""


def _judging(api: PythonApi) -> str:
    """Whether the results stand: no NaN in what is watched, no error of SciPy's functions."""
    functions = api.functions
    return f"""search.loop:
  %w = phi i64 [ 0, %kernel ], [ %w.next, %searched ]
  %w.more = icmp ult i64 %w, %outputs_count
  br i1 %w.more, label %search.one, label %back
search.one:
  %watched.output = getelementptr [{8 * len(OUTPUT)} x i8], ptr %outputs, i64 %w
{fields("%watched.output", OUTPUT, ("watched", "search"))}
  %unwatched = icmp eq i64 %watched, 0
  br i1 %unwatched, label %searched, label %look
look:
  %looked.at = getelementptr ptr, ptr %data, i64 %w
  %looked = load ptr, ptr %looked.at
  %undefined = call i1 %search(ptr %looked, i64 %watched)
  br i1 %undefined, label %back, label %searched
searched:
  %w.next = add i64 %w, 1
  br label %search.loop
back:
  %fine = phi i1 [ false, %kernel ], [ true, %search.loop ], [ false, %look ]
  %away = load ptr, ptr %state
  %holds = icmp eq ptr %away, null
  br i1 %holds, label %held, label %take
take:
  call void @{functions["PyEval_RestoreThread"]}(ptr %away)
  br label %held
held:
  br i1 %plain, label %judge, label %errors
errors:  ; of SciPy's functions: memory may have been wanting
  %error = call ptr @{functions["PyErr_Occurred"]}()
  %none = icmp eq ptr %error, null
  br i1 %none, label %judge, label %failed
judge:
  br i1 %fine, label %wrap.loop, label %unusual"""


def _results(api: PythonApi) -> str:
    """The objects that are returned: single numbers are made of what the kernel wrote."""
    functions = api.functions
    return f"""wrap.loop:
  %n = phi i64 [ 0, %judge ], [ %n.next, %wrapped ]
  %n.more = icmp ult i64 %n, %outputs_count
  br i1 %n.more, label %wrap.one, label %return
wrap.one:
  %n.at = getelementptr ptr, ptr %results, i64 %n
  %already = load ptr, ptr %n.at
  %is.there = icmp ne ptr %already, null
  br i1 %is.there, label %wrapped, label %wrap.number
wrap.number:
  %n.output = getelementptr [{8 * len(OUTPUT)} x i8], ptr %outputs, i64 %n
  %n.record = load ptr, ptr %n.output
{fields("%n.record", RECORD, ("scalar", "allocate", "itemsize"))}
  %value = getelementptr [16 x i8], ptr %numbers, i64 %n
  %is.truth = icmp eq ptr %allocate, null
  br i1 %is.truth, label %truth, label %scalar.new
truth:
  %truth.byte = load i8, ptr %value
  %is.true = icmp ne i8 %truth.byte, 0
  %truth.object = select i1 %is.true,
    ptr @{api.objects["numpy.True"]}, ptr @{api.objects["numpy.False"]}
  call void @{functions["Py_IncRef"]}(ptr %truth.object)
  store ptr %truth.object, ptr %n.at
  br label %wrapped
scalar.new:
  %scalar.object = call ptr %allocate(ptr %scalar, i64 0)
  store ptr %scalar.object, ptr %n.at
  %scalar.made = icmp ne ptr %scalar.object, null
  br i1 %scalar.made, label %scalar.fill, label %failed
scalar.fill:
  %scalar.value = getelementptr i8, ptr %scalar.object, i64 {NUMBER_VALUE}
  %is.word = icmp eq i64 %itemsize, 8
  br i1 %is.word, label %scalar.word, label %scalar.bytes
scalar.word:
  %word = load i64, ptr %value
  store i64 %word, ptr %scalar.value
  br label %wrapped
scalar.bytes:
  call void @llvm.memcpy.p0.p0.i64(ptr %scalar.value, ptr %value, i64 %itemsize, i1 false)
  br label %wrapped
wrapped:
  %n.next = add i64 %n, 1
  br label %wrap.loop"""


def _returning(api: PythonApi) -> str:
    """The only object, or a tuple of all."""
    return f"""return:
  %bare = and i64 %flags, {BARE}
  %is.bare = icmp ne i64 %bare, 0
  br i1 %is.bare, label %return.one, label %return.many
return.one:
  %only = load ptr, ptr %results
  ret ptr %only
return.many:
  %tuple = call ptr @{api.functions["PyTuple_New"]}(i64 %outputs_count)
  %tuple.made = icmp ne ptr %tuple, null
  br i1 %tuple.made, label %fill, label %failed
fill:
  %tuple.items = getelementptr i8, ptr %tuple, i64 {TUPLE_ITEMS}
  br label %fill.loop
fill.loop:
  %f = phi i64 [ 0, %fill ], [ %f.next, %fill.one ]
  %f.more = icmp ult i64 %f, %outputs_count
  br i1 %f.more, label %fill.one, label %filled
fill.one:
  %f.at = getelementptr ptr, ptr %results, i64 %f
  %f.item = getelementptr ptr, ptr %tuple.items, i64 %f
  %f.result = load ptr, ptr %f.at
  store ptr %f.result, ptr %f.item
  %f.next = add i64 %f, 1
  br label %fill.loop
filled:
  ret ptr %tuple"""


def _leaving(api: PythonApi) -> str:
    """Let go of all that was made: None where NumPy is to run the program, null with an error."""
    functions = api.functions
    return f"""unusual:
  call void @floating.clear()
  %too.short = icmp eq i32 %status, {OVERFLOW}
  br i1 %too.short, label %tape, label %signal
tape:
  %length.at = getelementptr i8, ptr %state, i64 16
  %length = load i64, ptr %length.at
  %rows = call ptr @{functions["PyLong_FromLongLong"]}(i64 %length)
  %rows.made = icmp ne ptr %rows, null
  br i1 %rows.made, label %say, label %failed
say:
  call void @{functions["PyErr_SetObject"]}(ptr @{api.objects["TapeOverflowError"]}, ptr %rows)
  call void @{functions["Py_DecRef"]}(ptr %rows)
  br label %failed
signal:
  %has.raised = icmp eq i32 %status, {RAISED}
  br i1 %has.raised, label %failed, label %miss
miss:
  call void @adjoint.release(ptr %results, i64 %outputs_count)
  call void @{functions["Py_IncRef"]}(ptr @{api.objects["None"]})
  ret ptr @{api.objects["None"]}
failed:
  call void @adjoint.release(ptr %results, i64 %outputs_count)
  ret ptr null"""
