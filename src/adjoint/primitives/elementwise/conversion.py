"""Conversions between dtypes, real and complex; all linear over the reals.

A complex space is a real inner-product space under Re<x, y>, so the transpose of taking the real
part is to read a real covector as a complex one, and that of complex conjugation is itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.base.arrays import ArrayType, array_type, real_dtype
from adjoint.base.errors import DTypeError
from adjoint.primitives.declaration import ITSELF, NO_DERIVATIVE, Joint, Primitive
from adjoint.primitives.expression import Expression, bind
from adjoint.primitives.samples import Fixed, draw, sample


def _batch_same(name: str) -> Any:
    def batch(operands: Any, batched: Any, size: int, **params: Any) -> Any:
        return bind(BY_NAME[name], *operands, **params)

    return batch


def _cast_transpose(cotangents: Any, operands: Any, dtype: np.dtype[Any]) -> Any:
    (operand,) = operands
    return (cast(cotangents[0], operand.dtype),)


def _cast_evaluate(x: Any, dtype: np.dtype[Any]) -> Any:
    x = np.asarray(x)
    if x.dtype.kind == "c" and dtype.kind not in "cb":  # of which NumPy warns
        x = x.real
    return x.astype(dtype)


CAST = Primitive(
    "cast",
    infer=lambda x, dtype: array_type(x.shape, dtype),
    evaluate=_cast_evaluate,
    linear=Joint(),
    derivative=ITSELF,
    transpose=_cast_transpose,
    batch=_batch_same("cast"),
    samples=(
        sample(draw(3), dtype=np.dtype(complex)),
        sample(draw(2, 3, dtype=complex), dtype=np.dtype(float)),
        sample(draw(3), dtype=np.dtype(np.float32)),
        sample(Fixed([2j, 0, 1, -1 + 1j]), dtype=np.dtype(bool)),
    ),
)


def cast(x: Expression, dtype: np.dtype[Any]) -> Expression:
    """Convert to a dtype, if it is not the right one.

    Complex to real takes the real part; to a boolean, whether the number is not zero.
    """
    if x.dtype == dtype and not x.type.weak:
        return x
    return bind(CAST, x, dtype=dtype)  # type: ignore[no-any-return]


def _real_type(x: ArrayType) -> ArrayType:
    return array_type(x.shape, real_dtype(x.dtype))


REAL = Primitive(
    "real",
    infer=_real_type,
    evaluate=lambda x: np.real(np.asarray(x)),  # never a Python float, which would be weak
    linear=Joint(),
    derivative=ITSELF,
    transpose=lambda cotangents, operands: (cast(cotangents[0], operands[0].dtype),),
    batch=_batch_same("real"),
    samples=(sample(draw(3, dtype=complex)), sample(draw(3))),
    view=True,
)


def real(x: Expression) -> Expression:
    """The real part; the same expression when it is real."""
    return bind(REAL, x) if x.dtype.kind == "c" else x


def _imag_transpose(cotangents: Any, operands: Any) -> Any:
    # <Im u, v> = Re(conj(i v) u): the transpose multiplies by i. A real array has no imaginary
    # part.
    (cotangent,), (operand,) = cotangents, operands
    return (cast(cotangent, operand.dtype) * 1j if operand.dtype.kind == "c" else None,)


IMAG = Primitive(
    "imag",
    infer=_real_type,
    evaluate=lambda x: np.imag(np.asarray(x)),
    linear=Joint(),
    derivative=ITSELF,
    transpose=_imag_transpose,
    batch=_batch_same("imag"),
    samples=(sample(draw(3, dtype=complex)), sample(draw(3))),
    view=True,
)

CONJUGATE = Primitive(
    "conjugate",
    infer=lambda x: array_type(x.shape, np.int8 if x.dtype.kind == "b" else x.dtype),
    evaluate=np.conjugate,
    linear=Joint(),
    derivative=ITSELF,
    transpose=lambda cotangents, operands: (conjugate(cotangents[0]),),
    batch=_batch_same("conjugate"),
    samples=(sample(draw(3, dtype=complex)),),
    ufunc=np.conjugate,
)


def conjugate(x: Any) -> Any:
    """The complex conjugate; the same when it is real. A Python number stays one, and so weak."""
    if not isinstance(x, Expression):
        return x.conjugate()
    if x.dtype.kind != "c":
        return x
    conjugated = bind(CONJUGATE, x)
    return bind(PYTHON_NUMBER, conjugated) if x.type.weak else conjugated


# --- Python's numbers ----------------------------------------------------------------------------


def _number_type(x: ArrayType) -> ArrayType:
    if x.ndim or x.dtype.kind not in "fic":
        raise DTypeError(f"{x} is no single number.")
    return array_type((), np.dtype(_PYTHON[x.dtype.kind]), True)


_PYTHON = {"f": float, "i": int, "c": complex}

# What Python itself computes with is weak under NEP 50: it widens no array that it meets.
PYTHON_NUMBER = Primitive(
    "python_number",
    infer=_number_type,
    evaluate=lambda x: x.item() if isinstance(x, np.generic | np.ndarray) else x,
    linear=Joint(),
    derivative=lambda tangents, operands, results: (cast(tangents[0], results[0].dtype),),
    transpose=lambda cotangents, operands: (cast(cotangents[0], operands[0].dtype),),
    # A batch of numbers is an array, which is never weak.
    batch=lambda operands, batched, size: cast(operands[0], _number_dtype(operands[0])),
    samples=(sample(draw()), sample(draw(dtype=complex)), sample(draw(dtype=np.float32))),
)


def _number_dtype(x: Expression) -> np.dtype[Any]:
    return np.dtype(_PYTHON[x.dtype.kind])


STOP_GRADIENT = Primitive(
    "stop_gradient",
    infer=lambda x: x,
    evaluate=lambda x: x,
    linear=None,
    derivative=NO_DERIVATIVE,
    transpose=NO_DERIVATIVE,
    batch=_batch_same("stop_gradient"),
    samples=(sample(draw(3)),),
    view=True,
)

BY_NAME = {p.name: p for p in (CAST, REAL, IMAG, CONJUGATE, STOP_GRADIENT)}
