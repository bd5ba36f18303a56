"""Whether a function of NumPy's fails: what a program asks that goes on after its error."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.base.arrays import array_type
from adjoint.primitives.declaration import NO_DERIVATIVE, Primitive, Reason
from adjoint.primitives.samples import draw, sample


def _fails(*operands: Any, function: str, rest: tuple[Any, ...], named: tuple[Any, ...]) -> Any:
    """NumPy is asked itself: it is the same function that raised, and that the user's code tries.

    rest: the arguments that follow the operands.
    """
    try:
        with np.errstate(all="ignore"):
            getattr(np.linalg, function)(*operands, *rest, **dict(named))
    except np.linalg.LinAlgError:
        return np.True_
    return np.False_


FAILS = Primitive(
    "fails",
    infer=lambda *types, function, rest, named: array_type((), np.dtype(bool)),
    evaluate=_fails,
    linear=None,
    derivative=NO_DERIVATIVE,
    transpose=NO_DERIVATIVE,
    batch=Reason("an error is that of a whole batch"),
    taylor=NO_DERIVATIVE,
    samples=(sample(draw(2, 2), function="cholesky", rest=(), named=()),),
)
