"""Why an equation is left to NumPy, in words."""

from __future__ import annotations

from adjoint.base.arrays import ArrayType
from adjoint.executors.interface import LeftEquation
from adjoint.executors.native.running import executable
from adjoint.executors.native.systems import equations as systems
from adjoint.primitives.calls.custom import is_users_code
from adjoint.program import Equation


def reason_for(equation: Equation, precise: bool) -> str:
    """Why an equation is not machine code."""
    if is_users_code(equation.primitive):
        return "it calls a function that is not looked into"
    if executable.lowering().lowerable(equation, precise):
        return "it is too little for machine code by itself"
    if equation.primitive in systems.ROUTINES and not systems.is_supported(equation):
        return "LAPACK computes it"
    inner = executable.lowering().hindrance(equation, precise)
    if inner is not None:
        left = LeftEquation.of(inner, reason_for(inner, precise))
        return f"it holds {left.equation}: {left.reason}"
    types = [atom.type for atom in (*equation.inputs, *equation.outputs)]
    if any(not type_.size for type_ in types):
        return "it has no numbers"
    odd = next((x for x in types if x.dtype.kind not in "biufc" or not _known(x)), None)
    if odd is not None:
        return f"there is no machine code for numbers of dtype {odd.dtype}"
    return "there is no machine code for it"


def _known(type_: ArrayType) -> bool:
    sizes = {"f": (4, 8), "c": (8, 16)}.get(type_.dtype.kind, (1, 2, 4, 8))
    return type_.dtype.isnative and type_.dtype.itemsize in sizes
