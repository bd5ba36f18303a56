"""The checks of single arguments, which the shared entry makes.

`ptr @check(ptr %object, ptr %record, ptr %slot)` returns the address of the numbers, or null if the
object is not of the type. Python's integers and truth values are written to `%slot`, 8 bytes, since
the object does not hold them as kernels read them.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from adjoint.executors.native.entry.python_api import (
    ALIGNED,
    ARRAY_DATA,
    ARRAY_DTYPE,
    ARRAY_FLAGS,
    ARRAY_NDIM,
    ARRAY_SHAPE,
    CONTIGUOUS,
    NUMBER_VALUE,
    OBJECT_TYPE,
    WRITEABLE,
    PythonApi,
)
from adjoint.executors.native.entry.tables import (
    ALIGNMENT,
    ARRAY,
    FLOAT,
    INTEGER,
    LENT,
    NUMBER,
    RECORD,
    TRUTH,
    fields,
    load,
)
from adjoint.executors.native.machine.module import PLAIN

WORKSPACE: Final = "adjoint.check.workspace"
READ: Final = ALIGNED | CONTIGUOUS
WRITTEN: Final = READ | WRITEABLE


def checks(api: PythonApi) -> str:
    """All of them."""
    texts = (array(api, ARRAY, READ), array(api, LENT, WRITTEN), number(), truth(api), integer(api))
    return "\n".join((*texts, float_(), workspace(api)))


def array(api: PythonApi, name: str, wanted: int) -> str:
    """An array of exactly this type, aligned and without gaps.

    Its dtype is NumPy's own object, or one equal to it, as arrays from pickles have.
    """
    equal = api.functions["PyArray_EquivTypes"]
    return f"""define ptr @{name}(ptr %object, ptr %record, ptr %slot) {PLAIN} {{
entry:
{load("type", "ptr", "%object", OBJECT_TYPE)}
  %is.array = icmp eq ptr %type, @{api.types[np.ndarray]}
  br i1 %is.array, label %dtypes, label %wrong
dtypes:
{fields("%record", RECORD, ("dtype", "ndim", "shape"))}
{load("own", "ptr", "%object", ARRAY_DTYPE)}
  %same = icmp eq ptr %own, %dtype
  br i1 %same, label %flags, label %other
other:
  %answer = call i8 @{equal}(ptr %own, ptr %dtype)
  %equal = icmp ne i8 %answer, 0
  br i1 %equal, label %flags, label %wrong
flags:
{load("bits", "i32", "%object", ARRAY_FLAGS)}
  %set = and i32 %bits, {wanted}
  %all = icmp eq i32 %set, {wanted}
{load("axes", "i32", "%object", ARRAY_NDIM)}
  %many = sext i32 %axes to i64
  %as.many = icmp eq i64 %many, %ndim
  %fine = and i1 %all, %as.many
{load("lengths", "ptr", "%object", ARRAY_SHAPE)}
  br i1 %fine, label %loop, label %wrong
loop:
  %i = phi i64 [ 0, %flags ], [ %next, %axis ]
  %more = icmp ult i64 %i, %ndim
  br i1 %more, label %axis, label %right
axis:
  %length.at = getelementptr i64, ptr %lengths, i64 %i
  %length = load i64, ptr %length.at
  %wanted.at = getelementptr i64, ptr %shape, i64 %i
  %wanted = load i64, ptr %wanted.at
  %next = add i64 %i, 1
  %fits = icmp eq i64 %length, %wanted
  br i1 %fits, label %loop, label %wrong
right:
{load("data", "ptr", "%object", ARRAY_DATA)}
  ret ptr %data
wrong:
  ret ptr null
}}"""


def number() -> str:
    """A NumPy scalar, or an array without axes."""
    return f"""define ptr @{NUMBER}(ptr %object, ptr %record, ptr %slot) {PLAIN} {{
entry:
{load("type", "ptr", "%object", OBJECT_TYPE)}
{fields("%record", RECORD, ("scalar",))}
  %value = getelementptr i8, ptr %object, i64 {NUMBER_VALUE}
  %same = icmp eq ptr %type, %scalar
  br i1 %same, label %here, label %array
here:
  ret ptr %value
array:
  %data = tail call ptr @{ARRAY}(ptr %object, ptr %record, ptr %slot)
  ret ptr %data
}}"""


def truth(api: PythonApi) -> str:
    """A truth value of Python's or of NumPy's, or an array of one."""
    return f"""define ptr @{TRUTH}(ptr %object, ptr %record, ptr %slot) {PLAIN} {{
entry:
{load("type", "ptr", "%object", OBJECT_TYPE)}
  %same = icmp eq ptr %type, @{api.types[bool]}
  br i1 %same, label %truth, label %number
truth:
  %yes = icmp eq ptr %object, @{api.objects["True"]}
  %byte = zext i1 %yes to i8
  store i8 %byte, ptr %slot
  ret ptr %slot
number:
  %data = tail call ptr @{NUMBER}(ptr %object, ptr %record, ptr %slot)
  ret ptr %data
}}"""


def float_() -> str:
    """A float or complex number of Python's, or the NumPy scalar that stands for one."""
    return f"""define ptr @{FLOAT}(ptr %object, ptr %record, ptr %slot) {PLAIN} {{
entry:
{load("type", "ptr", "%object", OBJECT_TYPE)}
{fields("%record", RECORD, ("scalar", "python"))}
  %is.scalar = icmp eq ptr %type, %scalar
  %is.python = icmp eq ptr %type, %python
  %either = or i1 %is.scalar, %is.python
  %value = getelementptr i8, ptr %object, i64 {NUMBER_VALUE}
  %found = select i1 %either, ptr %value, ptr null
  ret ptr %found
}}"""


def integer(api: PythonApi) -> str:
    """An integer of Python's that is one of 64 bits, or the NumPy scalar that stands for one."""
    convert = api.functions["PyLong_AsLongLongAndOverflow"]
    return f"""define ptr @{INTEGER}(ptr %object, ptr %record, ptr %slot) {PLAIN} {{
entry:
  %overflow = alloca i32, align 4
{load("type", "ptr", "%object", OBJECT_TYPE)}
{fields("%record", RECORD, ("scalar", "python"))}
  %value = getelementptr i8, ptr %object, i64 {NUMBER_VALUE}
  %is.scalar = icmp eq ptr %type, %scalar
  br i1 %is.scalar, label %here, label %integer
here:
  ret ptr %value
integer:
  %is.python = icmp eq ptr %type, %python
  br i1 %is.python, label %convert, label %wrong
convert:
  %number = call i64 @{convert}(ptr %object, ptr %overflow)
  %beyond = load i32, ptr %overflow
  %fits = icmp eq i32 %beyond, 0
  br i1 %fits, label %right, label %wrong
right:
  store i64 %number, ptr %slot
  ret ptr %slot
wrong:
  ret ptr null
}}"""


def workspace(api: PythonApi) -> str:
    """The first aligned byte of a `uint8` array with room for so many from there on, or null."""
    return f"""define internal ptr @{WORKSPACE}(ptr %object, i64 %bytes) {PLAIN} {{
entry:
{load("type", "ptr", "%object", OBJECT_TYPE)}
  %is.array = icmp eq ptr %type, @{api.types[np.ndarray]}
  br i1 %is.array, label %kind, label %wrong
kind:
{load("dtype", "ptr", "%object", ARRAY_DTYPE)}
  %is.bytes = icmp eq ptr %dtype, @{api.scalar(np.dtype(np.uint8)).dtype}
{load("bits", "i32", "%object", ARRAY_FLAGS)}
  %set = and i32 %bits, {WRITTEN}
  %all = icmp eq i32 %set, {WRITTEN}
{load("axes", "i32", "%object", ARRAY_NDIM)}
  %one = icmp eq i32 %axes, 1
  %both = and i1 %is.bytes, %all
  %fine = and i1 %both, %one
  br i1 %fine, label %room, label %wrong
room:
{load("lengths", "ptr", "%object", ARRAY_SHAPE)}
  %length = load i64, ptr %lengths
{load("start", "i64", "%object", ARRAY_DATA)}
  %end = add i64 %start, %length
  %above = add i64 %start, {ALIGNMENT - 1}
  %aligned = and i64 %above, {-ALIGNMENT}
  %needed = add i64 %aligned, %bytes
  %enough = icmp ule i64 %needed, %end
  %memory = inttoptr i64 %aligned to ptr
  %found = select i1 %enough, ptr %memory, ptr null
  ret ptr %found
wrong:
  ret ptr null
}}"""
