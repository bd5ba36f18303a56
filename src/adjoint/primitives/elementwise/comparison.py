"""Comparisons, logic and integer arithmetic: their results carry no derivative."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.base.arrays import array_type
from adjoint.primitives.declaration import NO_DERIVATIVE, Primitive
from adjoint.primitives.elementwise.declaring import elementwise
from adjoint.primitives.expression import bind
from adjoint.primitives.samples import draw, sample
from adjoint.primitives.structure.moving import reduced_shape

_REALS = (sample(draw(3), draw(3)), sample(draw(2, 3), draw(3)))
_BOOLEANS = (sample(draw(3, dtype=bool), draw(3, dtype=bool)),)
_INTEGERS = (sample(draw(3, low=0, high=9, dtype=int), draw(3, low=1, high=9, dtype=int)),)

_ufunc: Any
for _ufunc in (
    np.less,
    np.less_equal,
    np.greater,
    np.greater_equal,
    np.equal,
    np.not_equal,
    np.logical_and,
    np.logical_or,
    np.logical_xor,
):
    elementwise(_ufunc, samples=_REALS)
for _ufunc in (np.isnan, np.isinf, np.isfinite, np.signbit, np.logical_not):
    elementwise(_ufunc, samples=(sample(draw(3)),))
for _ufunc in (np.bitwise_and, np.bitwise_or, np.bitwise_xor):
    elementwise(_ufunc, samples=_BOOLEANS)
elementwise(np.invert, samples=(sample(draw(3, dtype=bool)),))
for _ufunc in (np.left_shift, np.right_shift, np.gcd, np.lcm):
    elementwise(_ufunc, samples=_INTEGERS)


def _search(name: str, function: Any, dtype: Any) -> Primitive:
    """A reduction of one axis to an index, or of several to a boolean."""

    def batch(operands: Any, batched: Any, size: int, axes: tuple[int, ...]) -> Any:
        return bind(primitive, operands[0], axes=tuple(axis + 1 for axis in axes))

    primitive = Primitive(
        name,
        infer=lambda x, axes: array_type(reduced_shape(x.shape, axes), np.dtype(dtype)),
        evaluate=function,
        linear=None,
        derivative=NO_DERIVATIVE,
        transpose=NO_DERIVATIVE,
        batch=batch,
        samples=(sample(draw(2, 3), axes=(1,)),),
    )
    return primitive


ARGMAX = _search("argmax", lambda x, axes: np.argmax(x, axes[0]), np.intp)
ARGMIN = _search("argmin", lambda x, axes: np.argmin(x, axes[0]), np.intp)
ANY = _search("any", lambda x, axes: np.any(x, axes), bool)
ALL = _search("all", lambda x, axes: np.all(x, axes), bool)
