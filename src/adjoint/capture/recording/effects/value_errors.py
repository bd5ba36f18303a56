"""Errors of NumPy's that come of values, where nobody needs what the function gives.

`np.linalg.inv(A)` raises at a singular matrix, whatever becomes of the inverse. A program without
what it does not need would not; nor would it be known, before something is printed, whether the
function comes so far. So a program that is kept is asked, in these cases, whether it can be done.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from adjoint.base.errors import ValueNeededError
from adjoint.capture.recording.tracing.applying import ask_in_all
from adjoint.capture.recording.tracing.guards import DONE
from adjoint.capture.recording.tracing.trace import Trace, captures, outermost
from adjoint.capture.recording.tracing.traced import from_slot
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
