"""Checks of single arguments in machine code: each a function from the object to its numbers.

`ptr @check(ptr %object, ptr %slot)` returns the address of the numbers, or null if the object is
not of the type. Python's integers and truth values are written to `%slot`, 8 bytes, since the
object does not hold them as the kernel reads them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from adjoint.base.arrays import ArrayType
from adjoint.base.errors import NativeUnavailableError
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
    pointer,
)
from adjoint.executors.native.machine.module import SWEPT, Block, Module

ALIGNMENT: Final = 64  # of the workspace
_PYTHON_TYPES: Final = {"i": int, "f": float, "c": complex}


def load(block: Block, type_text: str, base: str, offset: int) -> str:
    """A field of an object."""
    at = block.op(f"getelementptr i8, ptr {base}, i64 {offset}")
    return block.op(f"load {type_text}, ptr {at}")


def go_on(block: Block, condition: str, otherwise: str) -> None:
    """Go on in a new basic block if the condition holds, else leave for that label."""
    label = block.new_label("next")
    block.do(f"br i1 {condition}, label %{label}, label %{otherwise}")
    block.place(label)


def shape_constant(module: Module, shape: tuple[int, ...]) -> str:
    """A global that holds the lengths of the axes."""
    name = "entry.shape." + "x".join(map(str, shape))
    lengths = ", ".join(f"i64 {length}" for length in shape)
    text = f"@{name} = internal constant [{len(shape)} x i64] [{lengths}]"
    return module.declare(name, text)


class CheckWriter:
    """Writes the checks that an entry needs, one for each type."""

    def __init__(self, module: Module, api: PythonApi) -> None:
        self.module = module
        self.api = api
        self._names: dict[Any, str] = {}

    def check(self, type_: ArrayType, writeable: bool) -> str:
        """The name of the check of this type; `writeable` asks that of an array, too.

        One check serves all arrays of a dtype and number of axes: `%slot` is then their shape.
        """
        key = (type_.dtype, type_.ndim, writeable) if type_.ndim else type_
        if key not in self._names:
            if not type_.dtype.isnative:
                raise NativeUnavailableError(f"native code knows no numbers of dtype {type_.dtype}")
            writer = _Check(self.module, self.api)
            if type_.weak:
                writer.python_number(type_)
            elif type_.ndim == 0:
                writer.number(type_)
            else:
                writer.array(type_, writeable)
            self._names[key] = writer.end()
        return self._names[key]

    def workspace(self, size: int) -> str:
        """The name of the check of a `uint8` array that has room for so many aligned bytes."""
        writer = _Check(self.module, self.api)
        writer.workspace(size)
        return writer.end()


class _Check:
    """Writes one check; tests that fail go to the label `wrong`."""

    def __init__(self, module: Module, api: PythonApi) -> None:
        self.module = module
        self.api = api
        self.block = Block(module)

    def end(self) -> str:
        name = f"@{self.module.fresh('check')}"
        self.block.place("wrong")
        self.block.do("ret ptr null")
        header = f"define internal ptr {name}(ptr %object, ptr %slot) {SWEPT}"
        self.module.functions.append(self.block.function(header))
        return name

    def _is(self, reference: str, symbols: Sequence[str]) -> str:
        """Whether a pointer is one of these."""
        block = self.block
        places = [pointer(self.module, symbol) for symbol in symbols]
        first, *others = (block.op(f"icmp eq ptr {reference}, {place}") for place in places)
        for other in others:
            first = block.op(f"or i1 {first}, {other}")
        return first

    def _type(self) -> str:
        return load(self.block, "ptr", "%object", OBJECT_TYPE)

    def _returns_value(self) -> None:
        at = self.block.op(f"getelementptr i8, ptr %object, i64 {NUMBER_VALUE}")
        self.block.do(f"ret ptr {at}")

    def _returns_if(self, condition: str) -> None:
        """Where the condition holds, the value lies in the object."""
        block = self.block
        here, on = block.new_label("here"), block.new_label("on")
        block.do(f"br i1 {condition}, label %{here}, label %{on}")
        block.place(here)
        self._returns_value()
        block.place(on)

    def python_number(self, type_: ArrayType) -> None:
        """A Python number, or the NumPy scalar that stands for one."""
        block = self.block
        object_type = self._type()
        scalar = self.api.scalar(type_.dtype).type
        python = self.api.types[_PYTHON_TYPES[type_.dtype.kind]]
        if type_.dtype.kind != "i":
            go_on(block, self._is(object_type, (python, scalar)), "wrong")
            self._returns_value()
            return
        self._returns_if(self._is(object_type, (scalar,)))
        go_on(block, self._is(object_type, (python,)), "wrong")
        overflow = block.stack("i32", 4)
        convert = pointer(self.module, self.api.functions["PyLong_AsLongLongAndOverflow"])
        number = block.op(f"call i64 {convert}(ptr %object, ptr {overflow})")
        fits = block.op(f"icmp eq i32 {block.op(f'load i32, ptr {overflow}')}, 0")
        go_on(block, fits, "wrong")
        block.do(f"store i64 {number}, ptr %slot")
        block.do("ret ptr %slot")

    def number(self, type_: ArrayType) -> None:
        """A NumPy scalar, an array without axes, or a truth value of Python."""
        block = self.block
        object_type = self._type()
        self._returns_if(self._is(object_type, (self.api.scalar(type_.dtype).type,)))
        if type_.dtype.kind == "b":
            array, truth = block.new_label("array"), block.new_label("truth")
            is_truth = self._is(object_type, (self.api.types[bool],))
            block.do(f"br i1 {is_truth}, label %{truth}, label %{array}")
            block.place(truth)
            true = block.op(f"zext i1 {self._is('%object', (self.api.objects['True'],))} to i8")
            block.do(f"store i8 {true}, ptr %slot")
            block.do("ret ptr %slot")
            block.place(array)
        self.array(type_, False)

    def array(self, type_: ArrayType, writeable: bool) -> None:
        """An array of exactly this type, aligned and without gaps."""
        block = self.block
        wanted = ALIGNED | CONTIGUOUS | (WRITEABLE if writeable else 0)
        go_on(block, self._is(self._type(), (self.api.types[np.ndarray],)), "wrong")
        self._same_dtype(self.api.scalar(type_.dtype).dtype)
        self._flags_and_axes(wanted, type_.ndim)
        if type_.ndim:
            shape = load(block, "ptr", "%object", ARRAY_SHAPE)
            for axis in range(type_.ndim):
                length = load(block, "i64", shape, 8 * axis)
                expected = load(block, "i64", "%slot", 8 * axis)
                go_on(block, block.op(f"icmp eq i64 {length}, {expected}"), "wrong")
        block.do(f"ret ptr {load(block, 'ptr', '%object', ARRAY_DATA)}")

    def _flags_and_axes(self, wanted: int, ndim: int) -> None:
        block = self.block
        flags = load(block, "i32", "%object", ARRAY_FLAGS)
        bits = block.op(f"and i32 {flags}, {wanted}")
        go_on(block, block.op(f"icmp eq i32 {bits}, {wanted}"), "wrong")
        axes = load(block, "i32", "%object", ARRAY_NDIM)
        go_on(block, block.op(f"icmp eq i32 {axes}, {ndim}"), "wrong")

    def _same_dtype(self, wanted: str) -> None:
        """The dtype is NumPy's own object, or one equal to it, as arrays from pickles have."""
        block = self.block
        dtype = load(block, "ptr", "%object", ARRAY_DTYPE)
        same, other = block.new_label("same"), block.new_label("other")
        block.do(f"br i1 {self._is(dtype, (wanted,))}, label %{same}, label %{other}")
        block.place(other)
        function = pointer(self.module, self.api.functions["PyArray_EquivTypes"])
        own = pointer(self.module, wanted)
        equal = block.op(f"call i8 {function}(ptr {dtype}, ptr {own})")
        truth = block.op(f"icmp ne i8 {equal}, 0")
        block.do(f"br i1 {truth}, label %{same}, label %wrong")
        block.place(same)

    def workspace(self, size: int) -> None:
        """Bytes that may be written, enough of them after the first aligned one."""
        block = self.block
        go_on(block, self._is(self._type(), (self.api.types[np.ndarray],)), "wrong")
        dtype = load(block, "ptr", "%object", ARRAY_DTYPE)
        is_bytes = self._is(dtype, (self.api.scalar(np.dtype(np.uint8)).dtype,))
        go_on(block, is_bytes, "wrong")
        self._flags_and_axes(ALIGNED | CONTIGUOUS | WRITEABLE, 1)
        length = load(block, "i64", load(block, "ptr", "%object", ARRAY_SHAPE), 0)
        start = load(block, "i64", "%object", ARRAY_DATA)
        end = block.op(f"add i64 {start}, {length}")
        above = block.op(f"add i64 {start}, {ALIGNMENT - 1}")
        aligned = block.op(f"and i64 {above}, {-ALIGNMENT}")
        needed = block.op(f"add i64 {aligned}, {size}")
        go_on(block, block.op(f"icmp ule i64 {needed}, {end}"), "wrong")
        block.do(f"ret ptr {block.op(f'inttoptr i64 {aligned} to ptr')}")
