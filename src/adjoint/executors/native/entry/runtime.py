"""What all entries share: one piece of machine code a process, which tables tell what to do.

Its text is written out, and not built, since it is the same for all programs. It is compiled when
the first program is, and kept on disk as they are.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from adjoint.executors.native.entry.checks import checks
from adjoint.executors.native.entry.enter import enter, release
from adjoint.executors.native.entry.python_api import PythonApi, python_api
from adjoint.executors.native.entry.status import has_nan, interrupted, status
from adjoint.executors.native.entry.tables import (
    ARRAY,
    ENTER,
    FLOAT,
    INTEGER,
    LENT,
    NUMBER,
    SEARCHES,
    TRUTH,
)
from adjoint.executors.native.machine.llvm import Code, machine
from adjoint.executors.native.machine.symbols import define

# What kernels call.
FOR_KERNELS: Final = {
    "floating.clear": "declare void @floating.clear()",
    "floating.raised": "declare i32 @floating.raised()",
    "interrupted": "declare i32 @interrupted(ptr)",
}
_NAMES: Final = (
    *(ENTER, ARRAY, LENT, NUMBER, TRUTH, INTEGER, FLOAT),
    *SEARCHES.values(),
    *FOR_KERNELS,
)
_COPY: Final = "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"
_installed: Final[list[Code]] = []  # for as long as the process lives, since all code refers to it


def runtime() -> PythonApi:
    """Have the runtime, and the symbols that it and programs refer to."""
    api = python_api()
    if not _installed:
        install(api)
    return api


def install(api: PythonApi) -> None:
    """Compile the runtime, for the programs that are linked from now on."""
    code = machine().compile(runtime_text(api))
    _installed.append(code)
    for name in _NAMES:
        define(name, code.address(name))


def runtime_text(api: PythonApi) -> str:
    """The runtime as a text for LLVM."""
    symbols = [*api.functions.values(), *api.types.values(), *api.objects.values()]
    symbols.append(api.scalar(np.dtype(np.uint8)).dtype)
    declared = [f"@{symbol} = external global i8" for symbol in symbols]
    parts = [
        *(has_nan(SEARCHES[size], kind) for size, kind in ((4, "float"), (8, "double"))),
        *(checks(api), status(api), interrupted(api), release(api), enter(api)),
    ]
    return "\n".join((*declared, _COPY, *parts, ""))
