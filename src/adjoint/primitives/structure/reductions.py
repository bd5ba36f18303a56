"""Maxima, minima and running sums; sums are structural, means and variances composed."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.base.arrays import array_type
from adjoint.primitives.declaration import ITSELF, Joint, Primitive
from adjoint.primitives.elementwise.conversion import cast
from adjoint.primitives.elementwise.declaring import scale
from adjoint.primitives.expression import Expression, bind
from adjoint.primitives.samples import draw, sample
from adjoint.primitives.structure.moving import expand_reduced, reduced_shape, sum_axes


def _extremum(name: str, function: Any) -> Primitive:
    """max or min over axes; a tie is shared equally among the entries that attain it."""

    def derivative(tangents: Any, operands: Any, results: Any, axes: tuple[int, ...]) -> Any:
        (x,), (tangent,), (result,) = operands, tangents, results
        best: Any = expand_reduced(result, axes, x.shape)
        attained = cast(np.equal(x, best), x.dtype)
        count = sum_axes(attained, axes)
        return (scale(1 / count, sum_axes(scale(attained, tangent), axes)),)

    def batch(operands: Any, batched: Any, size: int, axes: tuple[int, ...]) -> Any:
        return bind(primitive, operands[0], axes=tuple(axis + 1 for axis in axes))

    primitive = Primitive(
        name,
        infer=lambda x, axes: array_type(reduced_shape(x.shape, axes), x.dtype),
        evaluate=lambda x, axes: function(x, axis=axes),
        linear=None,
        derivative=derivative,
        batch=batch,
        samples=(sample(draw(2, 3), axes=(1,)), sample(draw(2, 3), axes=(0, 1))),
    )
    return primitive


MAX = _extremum("max", np.max)
MIN = _extremum("min", np.min)


def _cumulative_sum(x: Any, axis: int, reverse: bool) -> Any:
    if reverse:
        return np.flip(np.cumsum(np.flip(x, axis), axis, dtype=x.dtype), axis)
    return np.cumsum(x, axis, dtype=x.dtype)


def cumulative_sum(x: Expression, axis: int, reverse: bool = False) -> Expression:
    """Running sums along an axis, from the end when reversed."""
    return bind(CUMULATIVE_SUM, x, axis=axis, reverse=reverse)  # type: ignore[no-any-return]


CUMULATIVE_SUM = Primitive(
    "cumulative_sum",
    infer=lambda x, axis, reverse: x,
    evaluate=_cumulative_sum,
    linear=Joint(),
    derivative=ITSELF,
    transpose=lambda cotangents, operands, axis, reverse: (
        cumulative_sum(cotangents[0], axis, not reverse),
    ),
    batch=lambda operands, batched, size, axis, reverse: cumulative_sum(
        operands[0], axis + 1, reverse
    ),
    samples=(sample(draw(4), axis=0, reverse=False), sample(draw(2, 3), axis=1, reverse=True)),
)
