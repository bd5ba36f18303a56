"""A program as a function of C: an object file, and the header that declares it.

Nothing of Python is in it. Code may call the C library and its vector functions, BLAS and LAPACK,
by their own names; what else has its address from Python, NumPy or SciPy in this process has none
in another one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from adjoint.base.arrays import ArrayType
from adjoint.base.errors import ArgumentError, NotExportableError
from adjoint.base.process.collection import collector_at_rest
from adjoint.executors.interface import LeftEquation, Needs
from adjoint.executors.native.entry.function import STACK_LIMIT
from adjoint.executors.native.entry.tables import ALIGNMENT
from adjoint.executors.native.lowering.lower import hindrance, kernels, lowerable, lowerable_within
from adjoint.executors.native.lowering.tables import add_table
from adjoint.executors.native.machine.llvm import machine
from adjoint.executors.native.machine.routines import with_public_names
from adjoint.executors.native.machine.symbols import address_of
from adjoint.program import Equation, Program

_TYPES: Final = {
    **{f"int{bits}": f"int{bits}_t" for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": f"uint{bits}_t" for bits in (8, 16, 32, 64)},
    **{"bool": "uint8_t", "float32": "float", "float64": "double"},
    **{"complex64": "float", "complex128": "double"},  # two for each number
}
_NAMED: Final = 5  # symbols in an error
# One thread, nobody to hear of floating-point errors, hard zeros where the program has them.
_NEEDS: Final = Needs(hard=True, threads=1)
_WHAT_KERNELS_CALL: Final = """define internal void @floating.clear() {
  ret void
}
define internal i32 @floating.raised() {
  ret i32 0
}
define internal i32 @interrupted(ptr %state) {
  ret i32 0
}"""
_NO_MEMORY: Final = -1
_PREAMBLE: Final = """/* Made by adjoint for {cpu}. Link with {libraries}. */
#ifndef {guard}
#define {guard}
#include <stdint.h>
#ifdef __cplusplus
extern "C" {{
#endif

"""
_END: Final = """
#ifdef __cplusplus
}
#endif
#endif
"""


class CFunction(NamedTuple):
    """A function of C: its object file, its header, and the libraries that it is linked with."""

    image: bytes
    header: str
    libraries: tuple[str, ...]


def c_function(program: Program, constants: Sequence[Any], name: str) -> CFunction:
    """The function of a program whose last inputs are constants.

    Raises:
        NotExportableError: it needs NumPy or Python when it runs.
        ArgumentError: the name is taken by what the code calls.
        NativeUnavailableError: LLVM cannot be used here.
    """
    _check_lowerable(program)
    with collector_at_rest():
        without_entry = kernels(program, _NEEDS)
    module = without_entry.module
    count = len(program.inputs) - len(constants)
    types = program.input_types[count:]
    arrays = [np.asarray(x, type_.dtype) for x, type_ in zip(constants, types, strict=True)]
    held = [*(add_table(module, array) for array in arrays), *without_entry.tables]
    given, results = program.input_types[:count], program.output_types
    for known in ("floating.clear", "floating.raised", "interrupted"):
        module.declarations.pop(known, None)
    module.functions.append(_WHAT_KERNELS_CALL)
    text, _ = with_public_names(module.text())
    if re.search(rf"@{name}\b", text):
        raise ArgumentError(
            f"name={name!r} is that of something that the code calls; give another."
        )
    module.functions.append(
        _entry(name, count, len(results), held, without_entry.kernel.workspace_bytes)
    )
    text, routines = with_public_names(module.text())
    stored = machine().object_file(text)
    _check_symbols(stored.external)
    vectors = any(symbol.startswith("_ZGV") for symbol in stored.external)
    libraries = (
        *(("-llapack", "-lblas") if routines else ()),
        *(("-lmvec",) if vectors else ()),
        "-lm",
    )
    (image,) = stored.images
    return CFunction(image, _header(name, given, results, libraries, routines), libraries)


def _check_lowerable(program: Program) -> None:
    types = (*program.input_types, *program.output_types)
    unknown = [str(type_) for type_ in types if type_.dtype.name not in _TYPES]
    if unknown:
        raise NotExportableError(f"A function of C has no numbers like {', '.join(unknown)}.")
    left = [
        equation
        for equation in program.equations
        if not (lowerable(equation, False) or lowerable_within(equation, False))
    ]
    named = [LeftEquation.of(_blamed(equation), "").equation for equation in left[:_NAMED]]
    if left:
        more = f" and {len(left) - _NAMED} more" if len(left) > _NAMED else ""
        raise NotExportableError(
            f"A function of C cannot hold what NumPy runs: {'; '.join(named)}{more}. Leave it out "
            "of what is exported."
        )


def _blamed(equation: Equation) -> Equation:
    return hindrance(equation, False) or equation


def _check_symbols(external: Sequence[str]) -> None:
    """Refuse code that calls what is in this process alone."""
    foreign = [name for name in external if address_of(name) or name.startswith(("Py", "_Py"))]
    if foreign:
        raise NotExportableError(
            f"A function of C cannot call what NumPy and SciPy have in this process: "
            f"{', '.join(foreign[:_NAMED])}. Leave it out of what is exported (special "
            "functions of SciPy's are such)."
        )


# --- the entry ------------------------------------------------------------------------------------


def _entry(name: str, inputs: int, outputs: int, held: Sequence[str], workspace: int) -> str:
    """The function that C calls with one pointer an argument and one a result."""
    parameters = [*(f"ptr %x{k}" for k in range(inputs)), *(f"ptr %y{k}" for k in range(outputs))]
    pointers = [*(f"%x{k}" for k in range(inputs)), *held]
    lines = [
        f'define i32 @"{name}"({", ".join(parameters)}) {{',
        "entry:",
        f"  %inputs = alloca [{max(len(pointers), 1)} x ptr]",
        f"  %outputs = alloca [{max(outputs, 1)} x ptr]",
        "  %state = alloca [8 x i64]",
        "  store [8 x i64] zeroinitializer, ptr %state",
    ]
    lines += _stores("inputs", pointers)
    lines += _stores("outputs", [f"%y{k}" for k in range(outputs)])
    on_stack = workspace <= STACK_LIMIT
    whole = -(-max(workspace, 1) // ALIGNMENT) * ALIGNMENT
    call = (
        "  %status = call i32 @program(ptr %inputs, ptr %outputs, ptr %workspace, ptr %state)\n"
        "{free}  ret i32 %status"
    )
    if on_stack:
        lines += [f"  %workspace = alloca [{whole} x i8], align {ALIGNMENT}", call.format(free="")]
        return "\n".join([*lines, "}"])
    lines += [
        f"  %workspace = call ptr @aligned_alloc(i64 {ALIGNMENT}, i64 {whole})",
        "  %none = icmp eq ptr %workspace, null",
        "  br i1 %none, label %without, label %with",
        "without:",
        f"  ret i32 {_NO_MEMORY}",
        "with:",
        call.format(free="  call void @free(ptr %workspace)\n"),
        "}",
        "declare ptr @aligned_alloc(i64, i64)",
        "declare void @free(ptr)",
    ]
    return "\n".join(lines)


def _stores(array: str, pointers: Sequence[str]) -> list[str]:
    lines = []
    for place, pointer in enumerate(pointers):
        lines.append(f"  %{array}.{place} = getelementptr ptr, ptr %{array}, i64 {place}")
        lines.append(f"  store ptr {pointer}, ptr %{array}.{place}")
    return lines


# --- the header -----------------------------------------------------------------------------------


def _header(
    name: str,
    given: Sequence[ArrayType],
    results: Sequence[ArrayType],
    libraries: Sequence[str],
    routines: Mapping[str, int],
) -> str:
    parameters = [f"const {_TYPES[t.dtype.name]} *x{k}" for k, t in enumerate(given)]
    parameters += [f"{_TYPES[t.dtype.name]} *y{k}" for k, t in enumerate(results)]
    about = [f" *   x{k}: {_said(type_)}" for k, type_ in enumerate(given)]
    about += [f" *   y{k}: {_said(type_)}, written" for k, type_ in enumerate(results)]
    preamble = _PREAMBLE.format(
        cpu=f"{machine().triple}, {machine().cpu}",
        libraries=" ".join(libraries),
        guard=f"ADJOINT_{name.upper()}_H",
    )
    preamble += _said_of(routines)
    described = "\n".join(about)
    return (
        f"{preamble}/* Arrays in C's order, which do not overlap:\n{described}\n"
        " * 0 if all is well; else there are no results: -1, there is no memory; 1, an index is\n"
        " * beyond its axis, or a matrix is singular or not finite (in a branch not taken, too);\n"
        " * 3, a loop has more rounds than its tape. */\n"
        f"int {name}({', '.join(parameters)});\n{_END}"
    )


def _said_of(routines: Mapping[str, int]) -> str:
    """What a header says of the library that routines are to come from."""
    if not routines:
        return ""
    bits = " and ".join(map(str, sorted(set(routines.values()))))
    return (
        f"/* It calls {', '.join(sorted(routines))} of BLAS and LAPACK, whose integers have {bits} "
        "bits.\n * Any library that has them will do: -lopenblas, or MKL, in the place of -llapack "
        "-lblas. */\n"
    )


def _said(type_: ArrayType) -> str:
    parts = " (real and imaginary parts in turns)" if type_.dtype.kind == "c" else ""
    shape = "".join(f"[{length}]" for length in type_.shape)
    return f"{type_.dtype.name}{shape or ', one number'}{parts}"
