"""Floor 4: capture, from a plain NumPy function to a program."""

from adjoint.capture import methods, numpy_linalg, numpy_polynomial, operators, ufuncs
from adjoint.capture.capture import Captured, capture, traced_type
from adjoint.capture.escape import closes_over, sealed
from adjoint.capture.trace import current
from adjoint.capture.traced import (
    Traced,
    apply,
    apply_beside,
    concrete,
    from_slot,
    hush,
    is_known,
    peek,
    settle,
    unwrap,
    wrap,
)

__all__ = [
    "Captured",
    "Traced",
    "apply",
    "apply_beside",
    "capture",
    "closes_over",
    "concrete",
    "current",
    "from_slot",
    "hush",
    "is_known",
    "methods",
    "numpy_linalg",
    "numpy_polynomial",
    "operators",
    "peek",
    "sealed",
    "settle",
    "traced_type",
    "ufuncs",
    "unwrap",
    "wrap",
]
