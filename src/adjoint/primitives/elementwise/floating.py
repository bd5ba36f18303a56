"""Functions of floating-point numbers as such: neighbours, exponents, powers of two."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.base.arrays import ArrayType, array_type
from adjoint.primitives.declaration import (
    ITSELF,
    NO_DERIVATIVE,
    EmptySlot,
    Joint,
    Primitive,
)
from adjoint.primitives.elementwise.conversion import cast
from adjoint.primitives.elementwise.declaring import batch_aligned, elementwise
from adjoint.primitives.samples import Fixed, draw, sample
from adjoint.primitives.structure.moving import sum_to
from adjoint.primitives.typing_rules import ufunc_types

# The neighbour of x lies as far from it as it does for all numbers of the same exponent.
elementwise(
    np.nextafter,
    lambda x, towards, result: 1.0,
    lambda x, towards, result: 0.0,
    samples=(sample(draw(3), draw(3)), sample(draw(2, 3), draw(3))),
)
# The distance to that neighbour is the same for all of them.
elementwise(
    np.spacing,
    lambda x, result: 0.0,
    samples=EmptySlot(
        "of a wider type it is another number; tests/capture/test_numpy_making.py goes there"
    ),
)
elementwise(np.bitwise_count, samples=(sample(draw(3, low=-9, high=9, dtype=int)),))


def _ldexp_transpose(cotangents: Any, operands: Any) -> Any:
    x, power = operands
    part = cast(np.ldexp(cotangents[0], power), x.dtype)
    return sum_to(part, x.shape), None


LDEXP = Primitive(
    "ldexp",  # x times a power of two, exactly
    infer=lambda x, power: ufunc_types(np.ldexp, x, power),
    evaluate=np.ldexp,
    linear=Joint(frozenset({0})),
    derivative=ITSELF,
    transpose=_ldexp_transpose,
    batch=batch_aligned("ldexp"),
    samples=(
        sample(draw(3), Fixed([1, -2, 0])),
        sample(draw(3), Fixed([[1, -2, 0], [3, 1, 2]])),
        sample(draw(3, dtype=np.float32), Fixed(2)),
    ),
    ufunc=np.ldexp,
)


def _exponent_type(x: ArrayType) -> ArrayType:
    return array_type(x.shape, np.frexp(np.zeros(0, x.dtype))[1].dtype)


EXPONENT = Primitive(
    "exponent",  # the second result of np.frexp: the n for which 1/2 <= |x| / 2^n < 1
    infer=_exponent_type,
    evaluate=lambda x: np.asarray(np.frexp(x)[1]),
    linear=None,
    derivative=NO_DERIVATIVE,
    transpose=NO_DERIVATIVE,
    batch=batch_aligned("exponent"),
    samples=(sample(draw(3)),),
)
