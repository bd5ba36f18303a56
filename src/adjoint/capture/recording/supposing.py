"""What a program supposes of values, since NumPy would raise an error without.

`np.digitize` refuses bins that neither rise nor fall, and `np.unravel_index` a number beyond the
array. NumPy itself says so while a function is captured; a program that is kept for other values
does not run it. So what is recorded comes with a condition under which NumPy has nothing to say: a
guard. Where it does not hold, the function is captured, and NumPy decides.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.capture.recording.applying import ask_in_all
from adjoint.capture.recording.trace import captures, is_guarded, note_effect
from adjoint.capture.recording.traced import Traced, is_known


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
