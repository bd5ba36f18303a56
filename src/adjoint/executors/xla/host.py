"""What XLA has no function for: the primitive's own meaning in NumPy, called from the device.

Numbers of 64 bits travel as pairs of 32 bits (`words.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.base.arrays import ArrayType
from adjoint.executors.attempt import PYTHON
from adjoint.executors.xla.words import pack, packed, unpack, unpacked
from adjoint.primitives.calls.custom import is_users_code
from adjoint.program import Equation


def on_host(work: Any, equation: Equation, operands: Sequence[Any]) -> Any:
    """The results of an equation, by a call of NumPy; one tuple where there are several."""
    primitive = equation.primitive
    given = [atom.type for atom in equation.inputs]
    wanted = [variable.type for variable in equation.outputs]

    def call(*arrays: Any) -> tuple[Any, ...]:
        values = [_operand(x, type_) for x, type_ in zip(arrays, given, strict=True)]
        try:
            with np.errstate(all="ignore"):
                results = primitive.evaluate(*values, **equation.params)
        except Exception:  # a fault: NumPy raises it again where the user sees it
            failed = True
            results = tuple(np.zeros(type_.shape, type_.dtype) for type_ in wanted)
        else:
            failed = False
            results = results if primitive.multiple else (results,)
        numbers = (
            packed(np.asarray(x, type_.dtype).reshape(type_.shape))
            for x, type_ in zip(results, wanted, strict=True)
        )
        return (np.asarray(failed), *numbers)

    shapes = [np.asarray(False), *(packed(np.empty(t.shape, t.dtype)) for t in wanted)]
    structs = tuple(work.jax.ShapeDtypeStruct(x.shape, x.dtype) for x in shapes)
    failed, *travelled = work.jax.pure_callback(call, structs, *map(pack, operands))
    work.fault(failed)
    results = [unpack(x, type_.dtype) for x, type_ in zip(travelled, wanted, strict=True)]
    return tuple(results) if primitive.multiple else results[0]


def _operand(x: Any, type_: ArrayType) -> Any:
    """An operand as programs hold it: an array, a NumPy scalar, or a number of Python's."""
    array = unpacked(x, type_.dtype).reshape(type_.shape)
    if type_.weak:
        return PYTHON[type_.dtype.kind](array[()])
    return array if type_.ndim else array[()]


def reason_for_host(equation: Equation) -> str:
    """Why an equation goes through the host."""
    if is_users_code(equation.primitive):
        return "it calls code of yours"
    return "JAX has no function that gives the same"
