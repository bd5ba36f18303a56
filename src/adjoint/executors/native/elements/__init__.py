"""Elementwise primitives as LLVM instructions, with NumPy's exact meaning.

Each module enters the rules of one family into a table when it is imported.
"""

from adjoint.executors.native.elements import (
    arithmetic,
    comparisons,
    complex_numbers,
    functions,
    integers,
    rounding,
)
from adjoint.executors.native.elements.conversions import convert
from adjoint.executors.native.elements.emission import (
    cost,
    emit,
    emit_both,
    has_rule,
    held_in_registers,
    supports,
)
from adjoint.executors.native.elements.reductions import combine, identity
from adjoint.executors.native.elements.rules import RULES
from adjoint.executors.native.elements.writer import ElementWriter, Fault

__all__ = [
    "RULES",
    "ElementWriter",
    "Fault",
    "arithmetic",
    "combine",
    "comparisons",
    "complex_numbers",
    "convert",
    "cost",
    "emit",
    "emit_both",
    "functions",
    "has_rule",
    "held_in_registers",
    "identity",
    "integers",
    "rounding",
    "supports",
]
