"""Arrays that a program holds itself: machine code has them in its own memory.

Such are the numbers of indices that a rolled loop looks up. They are read as inputs are, after
which they come, and nobody passes them.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from adjoint.executors.native.machine.module import Module
from adjoint.executors.native.schedule.storage import ALIGNMENT
from adjoint.primitives.calls.custom import CONSTANT
from adjoint.program import Equation, Program

MOST_BYTES: Final = 1 << 20  # of one array; the text of the code has each of them as a letter


def is_table(equation: Equation) -> bool:
    """Whether an equation is an array that can stand in the code."""
    (result,) = equation.outputs
    return (
        equation.primitive is CONSTANT
        and result.type.ndim > 0
        and result.type.size * result.type.dtype.itemsize <= MOST_BYTES
    )


def with_tables_as_inputs(program: Program) -> tuple[Program, list[np.ndarray[Any, Any]]]:
    """The program with its tables as its last inputs, and what these are."""
    tables = [equation for equation in program.equations if equation.primitive is CONSTANT]
    if not tables:
        return program, []
    inputs = [*program.inputs, *(equation.outputs[0] for equation in tables)]
    rest = [equation for equation in program.equations if equation.primitive is not CONSTANT]
    arrays = [equation.params["array"].value for equation in tables]
    return Program(inputs, rest, program.outputs), arrays


def range_of(array: np.ndarray[Any, Any]) -> tuple[int, int] | None:
    """The least and the greatest number of an array of integers, where LLVM can be told them."""
    if array.dtype.kind != "i":
        return None
    least, most = int(array.min()), int(array.max())
    return (least, most) if most < np.iinfo(array.dtype).max else None


def add_table(module: Module, array: np.ndarray[Any, Any]) -> str:
    """A global that holds the numbers of an array in order; returns its name."""
    octets = np.ascontiguousarray(array).tobytes()
    text = "".join([f"\\{octet:02X}" for octet in octets])
    name = module.fresh("table")
    return module.declare(
        name,
        f'@{name} = internal constant [{len(octets)} x i8] c"{text}", align {ALIGNMENT}',
    )
