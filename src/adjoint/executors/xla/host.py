"""What XLA has no function for: the primitive's own meaning in NumPy, called from the device.

Numbers of 64 bits travel as pairs of 32 bits. JAX converts what it hands to a function on the host,
and does so in a thread of XLA's, where its switch for double precision is off.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.base.arrays import ArrayType
from adjoint.executors.attempt import PYTHON
from adjoint.primitives.calls.custom import is_users_code
from adjoint.program import Equation


def on_host(work: Any, equation: Equation, operands: Sequence[Any]) -> Any:
    """The results of an equation, by a call of NumPy; one tuple where there are several."""
    primitive = equation.primitive
    given = [atom.type for atom in equation.inputs]
    wanted = [variable.type for variable in equation.outputs]

    def call(*arrays: Any) -> tuple[Any, ...]:
        values = [_unpacked(x, type_) for x, type_ in zip(arrays, given, strict=True)]
        try:
            with np.errstate(all="ignore"):
                results = primitive.evaluate(*values, **equation.params)
        except BaseException as error:  # NumPy raises it again where the user sees it
            work.note_error(error)
            results = tuple(np.zeros(type_.shape, type_.dtype) for type_ in wanted)
        else:
            results = results if primitive.multiple else (results,)
        return tuple(
            _packed(np.asarray(x, type_.dtype).reshape(type_.shape))
            for x, type_ in zip(results, wanted, strict=True)
        )

    shapes = [_packed(np.empty(type_.shape, type_.dtype)) for type_ in wanted]
    structs = tuple(work.jax.ShapeDtypeStruct(x.shape, x.dtype) for x in shapes)
    packed = [_pack(work, x) for x in operands]
    results = work.jax.pure_callback(call, structs, *packed)
    unpacked = [_unpack(work, x, type_) for x, type_ in zip(results, wanted, strict=True)]
    return tuple(unpacked) if primitive.multiple else unpacked[0]


# --- on the host ----------------------------------------------------------------------------------


def _words(dtype: np.dtype[Any]) -> tuple[int, ...]:
    """The shape of a number as words of 32 bits; none where it travels as it is."""
    return {8: (2,), 16: (2, 2)}.get(dtype.itemsize if dtype.name != "complex64" else 4, ())


def _packed(x: Any) -> Any:
    words = _words(x.dtype)
    if not words:
        return x
    return np.ascontiguousarray(x).reshape(-1).view(np.uint32).reshape(*x.shape, *words)


def _unpacked(x: Any, type_: ArrayType) -> Any:
    """An operand as programs hold it: an array, a NumPy scalar, or a number of Python's."""
    array = np.ascontiguousarray(x)
    if _words(type_.dtype):
        array = array.reshape(-1).view(type_.dtype)
    array = array.reshape(type_.shape)
    if type_.weak:
        return PYTHON[type_.dtype.kind](array[()])
    return array if type_.ndim else array[()]


# --- on the device --------------------------------------------------------------------------------


def _pack(work: Any, x: Any) -> Any:
    if not _words(x.dtype):
        return x
    if x.dtype.kind == "c":
        x = work.np.stack([work.np.real(x), work.np.imag(x)], -1)
    return work.lax.bitcast_convert_type(x, np.uint32)


def _unpack(work: Any, x: Any, type_: ArrayType) -> Any:
    if not _words(type_.dtype):
        return x
    if type_.dtype.kind == "c":
        x = work.lax.bitcast_convert_type(x, np.float64)
        return work.lax.complex(x[..., 0], x[..., 1])
    return work.lax.bitcast_convert_type(x, type_.dtype)


def reason_for_host(equation: Equation) -> str:
    """Why an equation goes through the host."""
    if is_users_code(equation.primitive):
        return "it calls code of yours"
    return "JAX has no function that gives the same"
