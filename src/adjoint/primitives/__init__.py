"""Floor 3: the primitives, one file a family; each declaration says everything about it."""

from adjoint.primitives import (
    calls,
    cholesky,
    comparison,
    conversion,
    custom,
    determinants,
    gathering,
    kinks,
    linear_algebra,
    reductions,
    slicing,
    smooth,
    solving,
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
    "cholesky",
    "comparison",
    "conversion",
    "custom",
    "determinants",
    "find_special",
    "gathering",
    "integer_power",
    "kinks",
    "linear_algebra",
    "reductions",
    "slicing",
    "smooth",
    "solving",
    "structure",
]
