"""Floor 4: capture, from a plain NumPy function to a program."""

from adjoint.capture import methods, ufuncs
from adjoint.capture.capture import Captured, capture, traced_type
from adjoint.capture.trace import current
from adjoint.capture.traced import (
    Traced,
    apply,
    concrete,
    from_slot,
    hush,
    is_known,
    settle,
    unwrap,
)

__all__ = [
    "Captured",
    "Traced",
    "apply",
    "capture",
    "concrete",
    "current",
    "from_slot",
    "hush",
    "is_known",
    "methods",
    "settle",
    "traced_type",
    "ufuncs",
    "unwrap",
]
