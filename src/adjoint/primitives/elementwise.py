"""How elementwise primitives are declared: a ufunc, its partial derivatives, its sample inputs.

E.1.16: the derivative of f applied entry by entry is u -> f'(x) * u; no diagonal matrix is needed. The product with the
partial derivative is the primitive `scale`, in which a tangent that is exactly zero stays zero.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.base.arrays import ArrayType, array_type, real_dtype
from adjoint.base.errors import DTypeError
from adjoint.primitives.conversion import cast, conjugate
from adjoint.primitives.declaration import (
    NO_DERIVATIVE,
    NONLINEAR,
    PRIMITIVES,
    TAYLOR_LATER,
    Each,
    Linearity,
    Primitive,
    Reason,
    Rule,
)
from adjoint.primitives.expression import Expression, bind
from adjoint.primitives.samples import Sample, draw, sample
from adjoint.primitives.structure import align_batch, broadcast_to, sum_to
from adjoint.primitives.typing_rules import (
    broadcast_shape,
    promoted,
    resolve,
    ufunc_types,
)


def elementwise(
    ufunc: Any,
    *partials: Callable[..., Any] | None,
    samples: tuple[Sample, ...],
    name: str | None = None,
    linear: Linearity = None,
    transpose: Rule | Reason = NONLINEAR,
) -> Primitive:
    """Declare an elementwise primitive.

    ufunc: its NumPy function, both its meaning and its front-end name; or a `LateUfunc`.
    partials: for each operand, the partial derivative as a function of the operands and the result, `(x, ..., result)`,
    written with NumPy's functions; it may return a number. None where there is none. No partials: no derivative at all.
    """

    def derivative(tangents: Any, operands: Any, results: Any) -> Any:
        total = None
        for partial, tangent in zip(partials, tangents, strict=True):
            if tangent is None or partial is None:
                continue
            slope = partial(*operands, results[0])
            if not _is_number(slope, 0):
                term = weigh(slope, tangent, results[0].type)
                total = term if total is None else total + term
        return (total,)

    name = name or ufunc.__name__
    return Primitive(
        name,
        infer=lambda *types: ufunc_types(resolve(ufunc), *types),
        evaluate=ufunc,
        linear=linear,
        derivative=derivative if partials else NO_DERIVATIVE,
        transpose=transpose,
        batch=batch_aligned(name),
        taylor=TAYLOR_LATER,
        samples=samples,
        ufunc=ufunc,
    )


def batch_aligned(name: str) -> Rule:
    """The batching rule of whatever broadcasts its operands: align their axes under the batch."""

    def batch(operands: Any, batched: Any, size: int, **params: Any) -> Any:
        return bind(PRIMITIVES[name], *align_batch(operands, batched), **params)

    return batch


def weigh(partial: Any, tangent: Expression, result: ArrayType) -> Expression:
    """partial * tangent as a tangent of the result: in its dtype and its shape."""
    tangent = cast(tangent, result.dtype)
    if isinstance(partial, Expression):
        dtype = result.dtype if partial.dtype.kind == "c" else real_dtype(result.dtype)
        tangent = scale(cast(partial, dtype), tangent)
    elif partial != 1:
        tangent = -tangent if partial == -1 else scale(partial, tangent)
    return broadcast_to(tangent, result.shape)


def _is_number(value: Any, number: int) -> bool:
    return not isinstance(value, Expression) and value == number


# --- scale: partial derivative times tangent ---------------------------------------------------------


def _scale_type(partial: ArrayType, tangent: ArrayType, symmetric: bool) -> ArrayType:
    if promoted(partial, tangent) != tangent.dtype:
        raise DTypeError(f"a partial derivative of type {partial} cannot scale a {tangent}.")
    return array_type(broadcast_shape("scale", partial.shape, tangent.shape), tangent.dtype)


def _scale_evaluate(partial: Any, tangent: Any, symmetric: bool) -> Any:
    with np.errstate(all="ignore"):
        product = np.asarray(np.multiply(partial, tangent))
    lost = np.isnan(product)
    if lost.any():
        zero = np.equal(tangent, 0)
        if symmetric:
            zero = zero | np.equal(partial, 0)
        product = np.where(zero, np.zeros((), product.dtype), product)
    return product


def _scale_derivative(tangents: Any, operands: Any, results: Any, symmetric: bool) -> Any:
    partial, tangent = operands
    d_partial, d_tangent = tangents
    total = None
    if d_tangent is not None:
        total = broadcast_to(
            bind(SCALE, partial, d_tangent, symmetric=symmetric), results[0].shape
        )
    if d_partial is not None:
        # Where the tangent is exactly zero the whole term is, whatever the second derivative.
        d_partial = cast(d_partial, results[0].dtype)
        term = broadcast_to(bind(SCALE, tangent, d_partial, symmetric=True), results[0].shape)
        total = term if total is None else total + term
    return (total,)


def _scale_transpose(cotangents: Any, operands: Any, symmetric: bool) -> Any:
    partial, tangent = operands
    if isinstance(tangent, Expression):  # linear in the partial derivative instead
        product = bind(SCALE, conjugate(tangent), cotangents[0], symmetric=True)
        return cast(sum_to(product, partial.shape), partial.dtype), None
    product = bind(SCALE, conjugate(partial), cotangents[0], symmetric=symmetric)
    return None, sum_to(product, tangent.shape)


SCALE = Primitive(
    "scale",
    infer=_scale_type,
    evaluate=_scale_evaluate,
    linear=Each(),
    derivative=_scale_derivative,
    transpose=_scale_transpose,
    batch=batch_aligned("scale"),
    taylor=TAYLOR_LATER,
    samples=(
        sample(draw(3), draw(3), symmetric=False),
        sample(draw(2, 3), draw(3), symmetric=False),
        sample(draw(2, dtype=complex), draw(2, dtype=complex), symmetric=True),
    ),
)


def scale(partial: Any, tangent: Expression) -> Expression:
    """A partial derivative times a tangent; zero wherever the tangent is exactly zero (strong zeros)."""
    return bind(SCALE, partial, tangent, symmetric=False)  # type: ignore[no-any-return]
