"""Floor 3: the primitives, one file a family; each declaration says everything about it."""

from adjoint.primitives import (
    calls,
    comparison,
    conversion,
    custom,
    gathering,
    kinks,
    reductions,
    slicing,
    smooth,
    structure,
)
from adjoint.primitives.arithmetic import integer_power
from adjoint.primitives.contraction import CONTRACT
from adjoint.primitives.declaration import PRIMITIVES, UFUNCS, Itself, Primitive, Reason
from adjoint.primitives.expression import Expression, bind
from adjoint.primitives.special import find_special

__all__ = [
    "CONTRACT",
    "PRIMITIVES",
    "UFUNCS",
    "Expression",
    "Itself",
    "Primitive",
    "Reason",
    "bind",
    "calls",
    "comparison",
    "conversion",
    "custom",
    "find_special",
    "gathering",
    "integer_power",
    "kinks",
    "reductions",
    "slicing",
    "smooth",
    "structure",
]
