"""Why an equation is left to NumPy, in words."""

from __future__ import annotations

from adjoint.base.arrays import ArrayType
from adjoint.executors.native import executable
from adjoint.executors.native.systems import equations as systems
from adjoint.primitives.calls.custom import is_users_code
from adjoint.program import Equation
from adjoint.program.operation import parameter_text


def text_of(equation: Equation) -> str:
    """An equation in a few words: its primitive, its parameters, the types of its operands."""
    operands = ", ".join(str(atom.type) for atom in equation.inputs)
    within = executable.lowering().programs_within(equation)
    parameters = "" if within else parameter_text(equation.params)
    return f"{equation.primitive.name}{parameters} of {operands or 'nothing'}"


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
        return f"it holds {text_of(inner)}: {reason_for(inner, precise)}"
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
