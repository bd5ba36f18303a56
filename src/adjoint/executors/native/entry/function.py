"""The function that Python calls, which hands the table of its program to the shared entry.

It is a METH_FASTCALL function `@entry(ptr %self, ptr %args, i64 %nargs) -> ptr`.

`%self` is a tuple: the program inputs bound beforehand, which are the trailing ones, and then one
object that keeps the machine code alive. They are checked at each call like those in `%args`, since
an array can be resized at any time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from adjoint.base.arrays import ArrayType
from adjoint.base.errors import NativeUnavailableError, ProgramError
from adjoint.executors.native.entry.python_api import PythonApi, pointer
from adjoint.executors.native.entry.runtime import FOR_KERNELS, runtime
from adjoint.executors.native.entry.tables import (
    ALIGNMENT,
    ARRAY,
    BARE,
    ENTER,
    ERRORS,
    FLOAT,
    GIVEN,
    INTEGER,
    NUMBER,
    OUTPUT,
    RECORD,
    RELEASE,
    SEARCHES,
    TABLE,
    TRUTH,
    kind_of,
)
from adjoint.executors.native.machine.module import HOT, PLAIN, Module
from adjoint.executors.native.machine.ufuncs import IGNORED

STACK_LIMIT: Final = 32 << 10  # bytes of workspace that may lie on the stack
SPARE: Final = ALIGNMENT - 1  # bytes that a workspace array needs beyond the workspace itself
_PYTHON_TYPES: Final = {"i": int, "f": float, "c": complex}
_NEVER_RAISED: Final = f"define internal i32 @floating.raised() {HOT} {{\nentry:\n  ret i32 0\n}}"
_ENTRY: Final = f"""define ptr @entry(ptr %self, ptr %args, i64 %nargs) {PLAIN} {{
entry:
  %result = tail call ptr @{ENTER}(ptr %self, ptr %args, i64 %nargs, ptr @entry.table)
  ret ptr %result
}}"""


@dataclass(frozen=True, slots=True)
class EntrySpec:
    """What the entry is to do around the kernel.

    inputs, outputs: of the program. Arguments are the inputs that are not bound, then the
        workspace if it is given, then the lent outputs.
    workspace_bytes: scratch of the kernel. workspace_given: it is a `uint8` array passed by the
        caller, of SPARE bytes more or aligned; else it lies on the stack.
    lent: outputs that the caller passes as arrays to be written, and that are returned.
    release: let other threads of Python run meanwhile.
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
    """Add `@entry`, and what kernels call; the module must define `@program`."""
    api = runtime()
    for name, text in FOR_KERNELS.items():
        if spec.errors or name != "floating.raised":
            module.declare(name, text)
    if not spec.errors:
        module.functions.append(_NEVER_RAISED)
    module.declare(ENTER, f"declare ptr @{ENTER}(ptr, ptr, i64, ptr)")
    _TableWriter(module, api).table(spec)
    module.functions.append(_ENTRY)


class _TableWriter:
    """Writes the table of one program, as globals of its module."""

    def __init__(self, module: Module, api: PythonApi) -> None:
        self.module = module
        self.api = api
        self._records: dict[ArrayType, str] = {}

    def table(self, spec: EntrySpec) -> None:
        """The table itself, `@entry.table`."""
        given = spec.workspace_given * GIVEN | spec.release * RELEASE
        fields = {
            "program": "@program",
            "records": self._pointers("records", [self._record(type_) for type_ in spec.inputs]),
            "outputs": self._outputs(spec),
            "constants": self._pointers("constants", spec.tables),
            "quiet": pointer(self.module, IGNORED) if spec.special else "null",
            "inputs_count": len(spec.inputs),
            "outputs_count": len(spec.outputs),
            "constants_count": len(spec.tables),
            "lent_count": len(spec.lent),
            "bytes": spec.workspace_bytes,
            "flags": given | spec.errors * ERRORS | spec.bare * BARE,
        }
        self._global("table", _struct(TABLE, fields))

    def _outputs(self, spec: EntrySpec) -> str:
        if not spec.outputs:
            return "null"
        rows = []
        for place, type_ in enumerate(spec.outputs):
            fields: dict[str, Any] = {
                "record": self._record(type_),
                "lent": spec.lent.index(place) if place in spec.lent else -1,
                "watched": 0,
                "search": "null",
            }
            if place in spec.watched and type_.dtype.kind in "fc":
                parts = 2 if type_.dtype.kind == "c" else 1
                search = SEARCHES[type_.dtype.itemsize // parts]
                fields["watched"] = type_.size * parts
                fields["search"] = self.module.declare(search, f"declare i1 @{search}(ptr, i64)")
            rows.append(_struct(OUTPUT, fields))
        kind = rows[0].partition("} ")[0] + "}"
        return self._global("outputs", f"[{len(rows)} x {kind}] [{', '.join(rows)}]")

    def _record(self, type_: ArrayType) -> str:
        """The record of a type, which all arguments and results of that type share."""
        known = self._records.get(type_)
        if known is not None:
            return known
        if not type_.dtype.isnative:
            raise NativeUnavailableError(f"native code knows no numbers of dtype {type_.dtype}")
        scalar, check = self.api.scalar(type_.dtype), _check_of(type_)
        python = self.api.types[_PYTHON_TYPES[type_.dtype.kind]] if type_.weak else None
        fields = {
            "check": self.module.declare(check, f"declare ptr @{check}(ptr, ptr, ptr)"),
            "dtype": pointer(self.module, scalar.dtype),
            "scalar": pointer(self.module, scalar.type),
            "python": "null" if python is None else pointer(self.module, python),
            "allocate": "null",
            "ndim": type_.ndim,
            "shape": self._shape(type_.shape),
            "itemsize": type_.dtype.itemsize,
        }
        if type_.dtype.kind != "b":
            fields["allocate"] = pointer(self.module, scalar.allocate)
        name = self._global(f"type.{len(self._records)}", _struct(RECORD, fields))
        self._records[type_] = name
        return name

    def _shape(self, shape: tuple[int, ...]) -> str:
        if not shape:
            return "null"
        lengths = ", ".join(f"i64 {length}" for length in shape)
        name = "shape." + "x".join(map(str, shape))
        return self._global(name, f"[{len(shape)} x i64] [{lengths}]")

    def _pointers(self, name: str, pointers: Sequence[str]) -> str:
        if not pointers:
            return "null"
        listed = ", ".join(f"ptr {place}" for place in pointers)
        return self._global(name, f"[{len(pointers)} x ptr] [{listed}]")

    def _global(self, name: str, text: str) -> str:
        name = f"entry.{name}"
        return self.module.declare(name, f"@{name} = internal constant {text}")


def _struct(layout: Sequence[str], fields: dict[str, Any]) -> str:
    """A constant of the fields of a layout."""
    kinds = ", ".join(map(kind_of, layout))
    values = ", ".join(f"{kind_of(name)} {fields[name]}" for name in layout)
    return f"{{ {kinds} }} {{ {values} }}"


def _check_of(type_: ArrayType) -> str:
    """Which check arguments of a type have."""
    if type_.weak:
        return INTEGER if type_.dtype.kind == "i" else FLOAT
    if type_.ndim:
        return ARRAY
    return TRUTH if type_.dtype.kind == "b" else NUMBER
