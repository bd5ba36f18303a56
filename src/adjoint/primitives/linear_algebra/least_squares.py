"""The pseudo-inverse and least squares, where the rank stays what it is.

With Y = A^+ the derivative is Y' = -Y A' Y + Y Y^H A'^H (1 - A Y) + (1 - Y A) A'^H Y^H Y, for
tangents that keep the rank (G. Golub, V. Pereyra, "The differentiation of pseudo-inverses and
nonlinear least squares problems whose variables separate", 1973). Singular values below the cutoff
count as zero in NumPy, and stay below it nearby, so the formula is right at matrices of lower rank
too, as long as what is cut off is rounding alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.base.arrays import ArrayType, array_type
from adjoint.base.errors import LinearAlgebraError, ShapeError
from adjoint.primitives.declaration import EmptySlot, Joint, Primitive
from adjoint.primitives.elementwise.conversion import cast
from adjoint.primitives.expression import Expression, bind
from adjoint.primitives.linear_algebra.spectra.eigen import spread
from adjoint.primitives.linear_algebra.spectra.rotations import precision
from adjoint.primitives.linear_algebra.spectra.singular_values import matrix_shape
from adjoint.primitives.linear_algebra.systems import adjoint, matrix_dtype, multiply
from adjoint.primitives.samples import draw, sample
from adjoint.primitives.structure.moving import align_batch, sum_to

# --- pinv -----------------------------------------------------------------------------------------


def _largest(x: Any) -> Any:
    return np.max(np.abs(x), axis=(-2, -1))


def _cut_evaluate(y: Any, a: Any) -> Any:
    if y.size:
        left, size = _largest(a @ (y @ a) - a), _largest(a)
        bound = 10 * max(a.shape[-2:]) * precision(y) * size * np.maximum(1, size * _largest(y))
        if (left > bound).any():
            raise LinearAlgebraError(
                "The cutoff (rcond, rtol) drops a part of a matrix that is more than rounding: "
                f"{np.max(left):.1e} of {np.max(size):.1e}. The derivative is known only where the "
                "singular values below the cutoff are zero. Lower the cutoff."
            )
    return y


# A pseudo-inverse y of a as it is, after a check that A Y A = A.
UNCUT: Primitive = Primitive(
    "uncut_inverse",
    infer=lambda y, a: y,
    evaluate=_cut_evaluate,
    linear=Joint(frozenset({0})),
    derivative=lambda tangents, operands, results: (tangents[0],),
    transpose=lambda cotangents, operands: (cotangents[0], None),
    batch=lambda operands, batched, size: bind(UNCUT, *align_batch(operands, batched)),
    samples=EmptySlot("it stands in derivatives of pinv and lstsq, whose samples try it"),
    view=True,
)


def _pinv_type(a: ArrayType, rtol: float | None, hermitian: bool) -> ArrayType:
    lead, dtype = matrix_shape("pinv", a), matrix_dtype("pinv", a)
    return array_type((*lead, a.shape[-1], a.shape[-2]), dtype)


def _pinv_evaluate(a: Any, rtol: float | None, hermitian: bool) -> Any:
    if rtol is None:  # NumPy's rtol=None is that of the array API, and not its own default
        return np.linalg.pinv(a, hermitian=hermitian)
    return np.linalg.pinv(a, rtol, hermitian=hermitian)


def _pinv_derivative(tangents: Any, operands: Any, results: Any, **params: Any) -> Any:
    (a,), (d_a,), (y,) = operands, tangents, results
    a, d_a = cast(a, y.dtype), cast(d_a, y.dtype)
    y = bind(UNCUT, y, a)
    yh, d_ah = adjoint(y), adjoint(d_a)
    total = -multiply(multiply(y, d_a), y)
    left = multiply(multiply(y, yh), d_ah)
    right = multiply(d_ah, multiply(yh, y))
    total = total + left - multiply(multiply(left, a), y)
    return (total + right - multiply(y, multiply(a, right)),)


PINV: Primitive = Primitive(
    "pinv",
    infer=_pinv_type,
    evaluate=_pinv_evaluate,
    linear=None,
    derivative=_pinv_derivative,
    batch=lambda operands, batched, size, **params: bind(PINV, operands[0], **params),
    samples=(
        sample(spread(3, 3), rtol=None, hermitian=False),
        sample(spread(3, 2), rtol=None, hermitian=False),
        sample(spread(2, 3, dtype=complex), rtol=1e-6, hermitian=False),
        sample(spread(2, 3, 2), rtol=None, hermitian=False),
    ),
)


# --- lstsq ----------------------------------------------------------------------------------------


def _lstsq_type(a: ArrayType, b: ArrayType, rcond: float | None) -> ArrayType:
    if a.ndim < 2 or b.ndim < 2 or a.shape[-2] != b.shape[-2]:
        raise ShapeError(
            f"lstsq: a matrix of shape {a.shape} does not fit right-hand sides of shape "
            f"{b.shape}, which need as many rows."
        )
    lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return array_type((*lead, a.shape[-1], b.shape[-1]), matrix_dtype("lstsq", a, b))


def _lstsq_evaluate(a: Any, b: Any, rcond: float | None) -> Any:
    if a.ndim == 2 and b.ndim == 2:
        return np.linalg.lstsq(a, b, rcond)[0]
    lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a, b = (np.broadcast_to(matrix, (*lead, *matrix.shape[-2:])) for matrix in (a, b))
    solutions = np.zeros((*lead, a.shape[-1], b.shape[-1]), matrix_dtype_of(a, b))
    for place in np.ndindex(lead):
        solutions[place] = np.linalg.lstsq(a[place], b[place], rcond)[0]
    return solutions


def matrix_dtype_of(*arrays: Any) -> np.dtype[Any]:
    """The dtype in which NumPy's linear algebra computes with these arrays."""
    return matrix_dtype("lstsq", *(array_type(array.shape, array.dtype) for array in arrays))


def _lstsq_derivative(tangents: Any, operands: Any, results: Any, rcond: float | None) -> Any:
    (a, b), (d_a, d_b), (x,) = operands, tangents, results
    a = cast(a, x.dtype)
    y = bind(UNCUT, bind(PINV, a, rtol=_cutoff(a, rcond), hermitian=False), a)
    total = None if d_b is None else multiply(y, cast(d_b, x.dtype))
    if d_a is None:
        return (total,)
    d_a = cast(d_a, x.dtype)
    d_ah, yh = adjoint(d_a), adjoint(y)
    rest = cast(b, x.dtype) - multiply(a, x)
    turned = multiply(d_ah, multiply(yh, x))
    moved = multiply(y, multiply(yh, multiply(d_ah, rest)) - multiply(d_a, x))
    moved = moved + turned - multiply(y, multiply(a, turned))
    return (moved if total is None else total + moved,)


def _cutoff(a: Expression, rcond: float | None) -> float:
    if rcond is None:
        return float(np.finfo(a.dtype).eps) * max(a.shape[-2:])
    return rcond if rcond >= 0 else float(np.finfo(a.dtype).eps)


def _lstsq_transpose(cotangents: Any, operands: Any, rcond: float | None) -> Any:
    a, b = operands
    y = bind(PINV, cast(a, cotangents[0].dtype), rtol=_cutoff(a, rcond), hermitian=False)
    return None, cast(sum_to(multiply(adjoint(y), cotangents[0]), b.shape), b.dtype)


LSTSQ: Primitive = Primitive(
    "lstsq",
    infer=_lstsq_type,
    evaluate=_lstsq_evaluate,
    linear=Joint(frozenset({1})),
    derivative=_lstsq_derivative,
    transpose=_lstsq_transpose,
    batch=lambda operands, batched, size, rcond: bind(
        LSTSQ, *align_batch(operands, batched), rcond=rcond
    ),
    samples=(
        sample(spread(4, 2), draw(4, 2), rcond=None),
        sample(spread(2, 3), draw(2, 1), rcond=None),
        sample(spread(3, 2, dtype=complex), draw(3, 1, dtype=complex), rcond=None),
    ),
)
