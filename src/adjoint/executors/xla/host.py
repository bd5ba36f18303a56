"""What XLA has no function for: the primitive's own meaning in NumPy, called from the device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.executors.attempt import PYTHON
from adjoint.executors.xla.rules import RULES
from adjoint.primitives.calls.custom import is_users_code
from adjoint.program import Equation


def on_host(work: Any, equation: Equation, operands: Sequence[Any]) -> Any:
    """The results of an equation, by a call of NumPy; one tuple where there are several."""
    primitive = equation.primitive
    weak = [atom.type.weak for atom in equation.inputs]
    shapes = tuple(
        work.jax.ShapeDtypeStruct(variable.type.shape, variable.type.dtype)
        for variable in equation.outputs
    )

    def call(*arrays: Any) -> tuple[Any, ...]:
        values = [_own(x, is_weak) for x, is_weak in zip(arrays, weak, strict=True)]
        try:
            with np.errstate(all="ignore"):
                results = primitive.evaluate(*values, **equation.params)
        except BaseException as error:  # NumPy raises it again where the user sees it
            work.note_error(error)
            return tuple(np.zeros(shape.shape, shape.dtype) for shape in shapes)
        results = results if primitive.multiple else (results,)
        return tuple(
            np.asarray(result, shape.dtype).reshape(shape.shape)
            for result, shape in zip(results, shapes, strict=True)
        )

    results = work.jax.pure_callback(call, shapes, *operands)
    return tuple(results) if primitive.multiple else results[0]


def _own(x: Any, weak: bool) -> Any:
    """An operand as programs hold it: an array, a NumPy scalar, or a number of Python's."""
    array = np.asarray(x)
    if weak:
        return PYTHON[array.dtype.kind](array[()])
    return array if array.ndim else array[()]


def reason_for_host(equation: Equation) -> str | None:
    """Why an equation goes through the host; None where it does not."""
    if is_users_code(equation.primitive):
        return "it calls code of yours"
    if equation.primitive.name not in RULES:
        return "XLA has no function for it that is as exact"
    return None
