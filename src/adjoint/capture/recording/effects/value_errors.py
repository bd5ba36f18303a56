"""Errors of NumPy's that come of values, which a program by itself would not raise.

`np.linalg.inv(A)` raises at a singular matrix, whatever becomes of the inverse. A program without
what it does not need would not; nor would it be known, before something is printed, whether the
function comes so far. So a program that is kept is asked, in these cases, whether it can be done.

`np.digitize` refuses bins that neither rise nor fall, and `np.unravel_index` a number beyond the
array. NumPy itself says so while a function is captured; a program that is kept for other values
does not run it. So what is recorded comes with a condition under which NumPy has nothing to say: a
guard. Where it does not hold, the function is captured, and NumPy decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from adjoint.base.errors import ValueNeededError
from adjoint.capture.recording.tracing.applying import ask_in_all
from adjoint.capture.recording.tracing.guards import DONE
from adjoint.capture.recording.tracing.trace import (
    Trace,
    captures,
    is_guarded,
    note_effect,
    outermost,
)
from adjoint.capture.recording.tracing.traced import Traced, from_slot, is_known
from adjoint.primitives.linear_algebra.cholesky import CHOLESKY
from adjoint.primitives.linear_algebra.least_squares import LSTSQ, PINV
from adjoint.primitives.linear_algebra.matrix_functions import MATRIX_FUNCTION, SYLVESTER
from adjoint.primitives.linear_algebra.spectra.eigen import EIGH, EIGVALSH
from adjoint.primitives.linear_algebra.spectra.eigen_general import EIG, EIGVALS
from adjoint.primitives.linear_algebra.spectra.singular_values import SVD, SVDVALS
from adjoint.primitives.linear_algebra.systems import INV, SOLVE
from adjoint.primitives.structure.gathering import GATHER, GATHER_ADD, GATHER_SET
from adjoint.program import Operation

RAISING: Final = frozenset(
    {
        *(INV, SOLVE, CHOLESKY, EIGH, EIGVALSH, EIG, EIGVALS, SVD, SVDVALS),
        *(PINV, LSTSQ, MATRIX_FUNCTION, SYLVESTER),
        *(GATHER, GATHER_ADD, GATHER_SET),  # of an index out of bounds
    }
)


def ask_for_errors(trace: Trace, outputs: Sequence[int]) -> None:
    """Note which functions have not failed in a capture, where its outputs do not tell."""
    outer = outermost()
    if outer is None or outer.guards is None:
        return
    raising = [
        number
        for number, (head, *_) in enumerate(trace.records)
        if isinstance(head, Operation) and head.primitive in RAISING
    ]
    if not raising or any(capture.witness for capture in captures()):
        return
    tells = outer.script is None or outer.script.is_empty  # else something is done before the end
    needed = trace.needed((*outputs, *(slot for slot, _ in trace.guards or ()))) if tells else ()
    for number in raising:
        if number in needed or number in trace.failed:
            continue
        slot = trace.start(number)
        if trace is outer:
            trace.guard(len(trace.records), slot, DONE, None)
            continue
        try:
            ask_in_all(from_slot(trace, slot), DONE)
        except ValueNeededError:  # one of a batch: the run will tell
            return


# --- conditions -----------------------------------------------------------------------------------


def suppose(condition: Any) -> None:
    """Let what is recorded count only where all of a condition holds."""
    if type(condition) is not Traced or is_known(condition):
        return
    if not is_guarded():
        note_effect("it supposes something of values")  # which is no part of a recipe, say
    elif not any(capture.witness for capture in captures()):
        before = [(capture, set(capture.guards or ()), capture.asked) for capture in captures()]
        ask_in_all(np.all(condition), "bool")
        for trace, known, asked in before:
            if trace.guards is None:
                trace.asked = asked  # the guard is with the outermost one
            else:
                trace.supposed.update(trace.guards.keys() - known)


def suppose_answered(result: Any, *operands: Any) -> None:
    """Let what is recorded count where Python's own numbers have a result, and raise no error.

    Of finite numbers they have a finite one, or raise an error, or go on in the complex numbers.
    What is infinite or NaN must come of such an operand, and a program that was kept for it knows
    nothing of an operand that is finite, nor of an infinity that would become NaN.
    """
    if not is_guarded():
        return
    suppose(np.isfinite(result))
    if not np.isfinite(result._value):
        suppose(np.isnan(result))
        for operand in operands:
            if type(operand) is Traced and operand.type.dtype.kind in "fc":
                suppose(np.isfinite(operand))
                suppose(np.isnan(operand))
