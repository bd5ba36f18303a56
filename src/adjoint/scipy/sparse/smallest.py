"""The smallest singular values, which have no derivative where they are zero up to rounding.

A singular value s with vectors u and v has the slope u^H dA v, and u is A v / s: of a value that is
rounding, u is anything, and so is the slope.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

import numpy as np

from adjoint.base.arrays import ArrayType, array_type
from adjoint.base.errors import DegenerateError
from adjoint.calculus.implicit.problems import DefinedFunction, DerivativeCheck
from adjoint.calculus.implicit.recording import apply_or_run
from adjoint.capture import Traced
from adjoint.primitives.calls.custom import Marks, Pushed
from adjoint.primitives.calls.solving import IMPLICIT
from adjoint.primitives.expression import Expression, bind
from adjoint.program import Builder
from adjoint.transforms.jvp import tangent_type

# In units of the precision and of the size of the matrix: slopes have five digits less than that.
_LOST: Final = 1e5


class SmallSingularValues(DefinedFunction):
    """(values, size of the matrix) -> values; whoever differentiates them learns of zeros."""

    def __init__(self, values: ArrayType) -> None:
        super().__init__()
        self.inputs = (values, array_type((), values.dtype))
        self.outputs = (values,)
        self.key = ("small singular values", values)

    def evaluate(self, *operands: Any) -> tuple[Any, ...]:
        """They are what they are."""
        return (np.array(operands[0]),)

    def push(self, moving: Marks) -> Pushed:
        """Their tangents, or an error."""
        builder = Builder()
        operands = [Expression(builder, builder.input(type_)) for type_ in self.inputs]
        builder.input(self.outputs[0])
        pairs = zip(self.inputs, moving, strict=True)
        tangents = [builder.input(tangent_type(type_)) if mark else None for type_, mark in pairs]
        if tangents[0] is None:
            return Pushed(builder.build([]), (False,))
        (one,) = bind(IMPLICIT, *operands, function=_Nonzero(self).function)
        slope = Expression(builder, tangents[0]) * one
        return Pushed(builder.build([slope.atom]), (True,))


class _Nonzero(DerivativeCheck):
    """One; an error where one of the values is zero up to rounding."""

    def __init__(self, values: SmallSingularValues) -> None:
        super().__init__()
        self.inputs = values.inputs
        self.outputs = (values.inputs[1],)
        self.key = ("nonzero singular values", values.key)

    def evaluate(self, *operands: Any) -> tuple[Any, ...]:
        """Look at the smallest."""
        values, size = map(np.asarray, operands)
        least = np.min(values, initial=np.inf)
        if least <= _LOST * np.finfo(values.dtype).eps * size:
            raise DegenerateError(
                "A derivative of singular values was asked for where one of them is zero up to "
                f"rounding: {float(least):.1e} of a matrix of size {float(size):.1e}. A singular "
                "value has a kink at zero, and its left and right vectors have no derivative there."
            )
        return (np.ones((), values.dtype),)


_small_values: Final = lru_cache(maxsize=64)(SmallSingularValues)


def differentiable_values(values: Any, size: Any) -> Any:
    """Singular values, which refuse to be differentiated at zero. size: of the matrix."""
    if not isinstance(values, Traced):
        return values
    type_ = array_type(values.shape, values.dtype)
    operands = [values, (size * np.ones((), values.dtype)).astype(values.dtype)]
    function = _small_values(type_)
    (result,) = apply_or_run(IMPLICIT, operands, function.evaluate, function=function.function)
    return result
