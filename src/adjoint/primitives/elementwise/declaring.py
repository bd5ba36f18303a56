"""How elementwise primitives are declared: a ufunc, its partial derivatives, its sample inputs.

E.1.16: the derivative of f applied entry by entry is u -> f'(x) * u; no diagonal matrix is needed.
The product with the partial derivative is the primitive `scale`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.base.arrays import ArrayType, array_type, real_dtype
from adjoint.base.errors import DTypeError, MissingRuleError
from adjoint.primitives.declaration import (
    FROM_DERIVATIVE,
    NO_DERIVATIVE,
    NONLINEAR,
    PRIMITIVES,
    Each,
    EmptySlot,
    Linearity,
    Primitive,
    Rule,
)
from adjoint.primitives.elementwise.conversion import cast, conjugate
from adjoint.primitives.expression import Expression, bind
from adjoint.primitives.samples import Sample, draw, sample
from adjoint.primitives.structure.moving import align_batch, broadcast_to, sum_to
from adjoint.primitives.typing_rules import (
    broadcast_shape,
    promoted,
    resolve,
    ufunc_types,
)


def elementwise(
    ufunc: Any,
    *partials: Callable[..., Any] | EmptySlot | None,
    samples: tuple[Sample, ...] | EmptySlot,
    name: str | None = None,
    linear: Linearity = None,
    transpose: Rule | EmptySlot = NONLINEAR,
    taylor: Rule | None = None,
    companion: str | None = None,
) -> Primitive:
    """Declare an elementwise primitive.

    ufunc: its NumPy function, both its meaning and its front-end name; or a `LateUfunc`.
    partials: for each operand, the partial derivative as a function of the operands and the result,
        `(x, ..., result)`, written with NumPy's functions; it may return a number, or a tuple of
        factors whose product may be out of range where it weighs a tangent that is not. A reason,
        or None, where none is known: asking for it is an error. No partials: no derivative at all.
    taylor: its Taylor rule, where it is not to follow from the partial derivatives.
    companion: the name of a function that comes of the same evaluation, as of any primitive.
    """
    name = name or ufunc.__name__
    return Primitive(
        name,
        infer=lambda *types: ufunc_types(resolve(ufunc), *types),
        evaluate=ufunc,
        linear=linear,
        derivative=sum_of_partials(name, partials) if partials else NO_DERIVATIVE,
        transpose=transpose,
        batch=batch_aligned(name),
        taylor=taylor or (FROM_DERIVATIVE if partials else NO_DERIVATIVE),
        samples=samples,
        ufunc=ufunc,
        companion=companion,
    )


def no_partial(name: str, place: int, reason: EmptySlot | None) -> MissingRuleError:
    """The error for a derivative in an argument that has none."""
    text = "no closed form is known" if reason is None else reason.text
    return MissingRuleError(
        f"{name!r} has no derivative in its argument {place}: {text}. Hold that argument fixed "
        "(stop_gradient), or give the derivative with ad.primitive."
    )


def sum_of_partials(name: str, partials: tuple[Callable[..., Any] | EmptySlot | None, ...]) -> Rule:
    """The derivative rule of a function applied entry by entry, from its partial derivatives."""

    def derivative(tangents: Any, operands: Any, results: Any) -> Any:
        total = None
        for place, (partial, tangent) in enumerate(zip(partials, tangents, strict=True)):
            if tangent is None:
                continue
            if not callable(partial):
                raise no_partial(name, place, partial)
            slope = partial(*operands, results[0])
            if not _is_number(slope, 0):
                term = tangent
                for factor in slope if isinstance(slope, tuple) else (slope,):
                    term = weigh(factor, term, results[0].type)
                total = term if total is None else total + term
        return (total,)

    return derivative


def batch_aligned(name: str) -> Rule:
    """The batching rule of whatever broadcasts its operands: align their axes under the batch."""

    def batch(operands: Any, batched: Any, size: int, **params: Any) -> Any:
        return bind(PRIMITIVES[name], *align_batch(operands, batched), **params)

    return batch


def weigh(partial: Any, tangent: Expression, result: ArrayType) -> Expression:
    """partial * tangent as a tangent of the result: in its dtype and its shape."""
    tangent = cast(tangent, result.dtype)
    if isinstance(partial, Expression):
        if not partial.type.weak:  # a Python scalar takes the dtype of the tangent by itself
            dtype = result.dtype if partial.dtype.kind == "c" else real_dtype(result.dtype)
            partial = cast(partial, dtype)
        tangent = scale(partial, tangent)
    elif partial != 1:
        tangent = -tangent if partial == -1 else scale(partial, tangent)
    return broadcast_to(tangent, result.shape)


def _is_number(value: Any, number: int) -> bool:
    return not isinstance(value, Expression) and value == number


# --- scale: partial derivative times tangent ------------------------------------------------------


def _scale_type(partial: ArrayType, tangent: ArrayType) -> ArrayType:
    if promoted(partial, tangent) != tangent.dtype.newbyteorder("="):
        raise DTypeError(f"a partial derivative of type {partial} cannot scale a {tangent}.")
    return array_type(broadcast_shape("scale", partial.shape, tangent.shape), tangent.dtype)


def _scale_evaluate(partial: Any, tangent: Any) -> Any:
    with np.errstate(all="ignore"):
        return np.multiply(partial, tangent)


def _scale_derivative(tangents: Any, operands: Any, results: Any) -> Any:
    partial, tangent = operands
    d_partial, d_tangent = tangents
    shape, total = results[0].shape, None
    if d_tangent is not None:
        total = broadcast_to(scale(partial, d_tangent), shape)
    if d_partial is not None:
        term = broadcast_to(scale(tangent, cast(d_partial, results[0].dtype)), shape)
        total = term if total is None else total + term
    return (total,)


def _scale_transpose(cotangents: Any, operands: Any) -> Any:
    partial, tangent = operands
    (cotangent,) = cotangents
    if isinstance(tangent, Expression):  # linear in the partial derivative instead
        product = scale(conjugate(tangent), cotangent)
        return cast(sum_to(product, partial.shape), partial.dtype), None
    return None, sum_to(scale(conjugate(partial), cotangent), tangent.shape)


SCALE = Primitive(
    "scale",
    infer=_scale_type,
    evaluate=_scale_evaluate,
    linear=Each(),
    derivative=_scale_derivative,
    transpose=_scale_transpose,
    batch=batch_aligned("scale"),
    samples=(
        sample(draw(3), draw(3)),
        sample(draw(2, 3), draw(3)),
        sample(draw(2), draw(2, dtype=complex)),
        sample(draw(2, dtype=complex), draw(2, dtype=complex)),
    ),
)


def scale(partial: Any, tangent: Expression) -> Expression:
    """A partial derivative times a tangent; a hard zero of either wins (`hardness.py`)."""
    return bind(SCALE, partial, tangent)  # type: ignore[no-any-return]
