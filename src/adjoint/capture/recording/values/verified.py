"""Debug mode: what was recorded computes what NumPy computed beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from adjoint.base.errors import ProgramError
from adjoint.capture.recording.tracing.applying import peek, reapply
from adjoint.capture.recording.tracing.trace import Trace
from adjoint.capture.recording.tracing.traced import Traced
from adjoint.primitives import UFUNCS
from adjoint.primitives.calls.custom import is_users_code
from adjoint.primitives.elementwise.accuracy.slopes import KNOWN
from adjoint.primitives.elementwise.declaring import SCALE
from adjoint.primitives.structure.contraction import CONTRACT
from adjoint.program import Operation
from adjoint.program.nested import held_programs

_MASKED: Final = frozenset({SCALE, CONTRACT, UFUNCS[KNOWN]})
_LONGEST: Final = 1500  # records that are computed again
# Relative to the largest entry: sums are ordered otherwise, and factors may cancel.
_TOLERANCE: Final = {"f": 1e-5, "c": 1e-5}


def check_values(trace: Trace, leaves: Sequence[Any], outputs: Sequence[int]) -> None:
    """ProgramError unless the records give the values that NumPy gave."""
    if not trace.valued or trace.witness or trace.nested or len(trace.records) > _LONGEST:
        return
    if any(isinstance(head, Operation) and _is_apart(head) for head, *_ in trace.records):
        return
    for leaf, slot in zip(leaves, outputs, strict=True):
        if type(leaf) is not Traced or leaf._value is None or leaf._trace is not trace:
            continue
        with np.errstate(all="ignore"):
            recomputed = np.asarray(peek(trace.value(slot, reapply)))
        expected = np.asarray(leaf._value)
        if not _alike(recomputed, expected):
            raise ProgramError(
                f"NumPy computed {expected!r}, and what was recorded gives {recomputed!r}: a "
                "defect of adjoint."
            )


def _is_apart(op: Operation) -> bool:
    """Code of the user's, which may count its calls; what hard zeros or infinite data decide."""
    if is_users_code(op.primitive) or op.primitive in _MASKED:
        return True
    bodies = held_programs(op)
    return any(_is_apart(equation.operation) for body in bodies for equation in body.equations)


def _alike(recomputed: Any, expected: Any) -> bool:
    if recomputed.shape != expected.shape or recomputed.dtype != expected.dtype:
        return False
    tolerance = _TOLERANCE.get(expected.dtype.kind, 0.0)
    if expected.dtype.itemsize < 8 * (1 + (expected.dtype.kind == "c")):
        tolerance = max(tolerance, 1e-2)
    finite = np.isfinite(expected) if tolerance else np.zeros(expected.shape, bool)
    scale = max(1.0, float(np.max(np.abs(expected), where=finite, initial=0.0)))
    return bool(
        np.allclose(recomputed, expected, tolerance, tolerance * scale, equal_nan=tolerance > 0)
    )
