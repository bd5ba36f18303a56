"""How eigenvectors and singular vectors turn, and where that is not known.

V moves by V Omega with Omega_ij = E_ij / (l_j - l_i) (and singular vectors by E_ij / (s_i + s_j),
too). Where two values coincide up to rounding, the vectors are any basis of their space: which one,
the *gauge*, is LAPACK's whim, and V has no derivative. Functions of a matrix, which do not depend
on the gauge, are recognised before they come here (`transforms/recognition/spectral/`); for
anything else that uses vectors of such a cluster, here is the error that names the pair.
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from adjoint.base.arrays import ArrayType, array_type
from adjoint.base.errors import DegenerateError
from adjoint.primitives.declaration import (
    NO_DERIVATIVE,
    Joint,
    Primitive,
)
from adjoint.primitives.elementwise.conversion import conjugate
from adjoint.primitives.expression import Expression, bind
from adjoint.primitives.samples import Fixed, draw, sample
from adjoint.primitives.structure.moving import align_batch, reshape, sum_to, with_batch
from adjoint.primitives.typing_rules import broadcast_shape, promoted

COMPUTED = "computed"  # in the place of the vectors that are used: their numbers are computed
_CLOSE = 16.0  # values closer than this times n eps times the largest are one cluster

# --- clusters ------------------------------------------------------------------------------------


def precision(values: Any) -> float:
    """The relative size of rounding errors in these values: LAPACK computes in double at most."""
    return precision_of(np.asarray(values).dtype)


def precision_of(dtype: np.dtype[Any]) -> float:
    """The same of values of this dtype."""
    return max(float(np.finfo(dtype).eps), float(np.finfo(float).eps))


def closeness(values: Any) -> Any:
    """Up to which distance values of a spectrum count as equal, with an axis of length one."""
    size = np.max(np.abs(values), axis=-1, keepdims=True, initial=0)
    return relative_closeness(values.shape[-1], values.dtype) * size


def relative_closeness(count: int, dtype: np.dtype[Any]) -> float:
    """The same for so many values whose largest is one."""
    return _CLOSE * count * precision_of(dtype)


def clusters(values: Any) -> Any:
    """For each value of a spectrum the number of its cluster: integers of the same shape."""
    count = values.shape[-1]
    numbers = np.broadcast_to(np.arange(count), values.shape)
    gap = np.abs(values[..., :, None] - values[..., None, :])
    near = gap <= closeness(values)[..., None]
    if np.count_nonzero(near) == values.size or not np.isfinite(gap).all():
        return numbers
    numbers = numbers.copy()
    for _ in range(count):  # chains of close values belong together
        lower = np.min(np.where(near, numbers[..., None, :], count), axis=-1)
        if np.array_equal(lower, numbers):
            break
        numbers = lower
    return numbers


def same_cluster(values: Any, sign: int) -> Any:
    """Which pairs have l_j - l_i = 0 (sign -1), or s_i + s_j = 0 (sign +1), up to rounding."""
    if sign > 0:
        none = np.abs(values) <= closeness(values)
        return none[..., :, None] & none[..., None, :]
    numbers = clusters(values)
    return numbers[..., :, None] == numbers[..., None, :]


def raise_degenerate(values: Any, bad: Any, text: str) -> NoReturn:
    """The error for the first pair that is marked."""
    place = tuple(int(n) for n in np.argwhere(bad)[0])
    i, j = sorted(place[-2:])
    row = np.broadcast_to(values, (*bad.shape[:-2], values.shape[-1]))[place[:-2]]
    where = f" of matrix {place[:-2]}" if place[:-2] else ""
    raise DegenerateError(
        f"Numbers {i} and {j}{where} coincide ({row[i]:.17g} and {row[j]:.17g}): {text}"
    )


_NO_BASIS = (
    "their vectors are any basis of a common space, and have no derivative. Use what does not "
    "depend on the basis: the values alone, a function of the matrix as (V * f(w)) @ V.conj().T, "
    "or the projector V[:, :k] @ V[:, :k].conj().T onto all of the space."
)
_PHASE = (
    "complex vectors have a free phase, and the function depends on the one that LAPACK chose. "
    "Use what does not depend on it, such as |v|^2 or v v^H."
)

# --- turning -------------------------------------------------------------------------------------


def _turn_type(values: ArrayType, x: ArrayType, **params: Any) -> ArrayType:
    lead = broadcast_shape("rotation", values.shape[:-1], x.shape[:-2])
    return array_type((*lead, *x.shape[-2:]), promoted(values, x))


def _unknown(values: Any, same: Any, x: Any, sign: int, used: Any, where: Any) -> Any:
    """The pairs of a cluster whose vectors may be used; an error, where it is known that one is."""
    # Where a singular value is zero, the two complex vectors have phases of their own.
    pairs = same & where if sign > 0 and x.dtype.kind == "c" else same & where & ~_diagonal(x)
    if used == COMPUTED:
        return pairs
    if used is not None:
        marks = np.array(used, bool)
        pairs = pairs & (marks[:, None] | marks[None, :])
    if pairs.any():
        raise_degenerate(values, pairs, _NO_BASIS)
    return None


def _diagonal(x: Any) -> Any:
    return np.eye(x.shape[-1], dtype=bool)


def _divided(values: Any, x: Any, same: Any, sign: int, unknown: Any) -> Any:
    gap = values[..., None, :] + sign * values[..., :, None]
    with np.errstate(all="ignore"):
        turn = np.where(same, x.dtype.type(0), x / np.where(same, 1, gap))
    if unknown is not None:
        turn = np.where(unknown, x.dtype.type(np.nan), turn)
    return turn.astype(np.result_type(values, x), copy=False)


def _rotation_evaluate(values: Any, x: Any, sign: int, used: Any, general: bool) -> Any:
    same = same_cluster(values, sign)
    moving = np.any(x != 0, axis=(-2, -1), keepdims=True)
    unknown = _unknown(values, same, x, sign, used, moving)
    return _divided(values, x, same, sign, unknown)


def _pulled_evaluate(values: Any, x: Any, sign: int, used: Any, general: bool) -> Any:
    same = same_cluster(values, sign)
    # Vectors that are not used have no cotangent: what is 0 in x needs no slope.
    unknown = _unknown(values, same, x, sign, used, x != 0 if used == COMPUTED else np.bool_(True))
    if x.dtype.kind == "c" and sign < 0 and not general and x.size:
        phases = np.abs(np.diagonal(x, axis1=-2, axis2=-1).imag)
        bound = precision(x) ** (2 / 3) * np.max(np.abs(x), axis=(-2, -1), initial=0)
        free = phases > bound[..., None]
        if free.any():
            raise DegenerateError(f"Vector {int(np.argwhere(free)[0][-1])} was used: {_PHASE}")
    return _divided(values, x, same, sign, unknown)


def _turn_derivative(name: str) -> Any:
    def derivative(tangents: Any, operands: Any, results: Any, **params: Any) -> Any:
        # X_ij = E_ij / (l_j + sign l_i), so dX = (dE - X o (dl_j + sign dl_i)) / (l_j + sign l_i).
        (d_values, d_x), (x,) = tangents, results
        right = None if d_x is None else d_x
        if d_values is not None:
            rows: Any = reshape(d_values, (*d_values.shape, 1))
            columns: Any = reshape(d_values, (*d_values.shape[:-1], 1, d_values.shape[-1]))
            gap = columns + rows if params["sign"] > 0 else columns - rows
            right = -(x * gap) if right is None else right - x * gap
        return (bind(_TURNS[name], operands[0], right, **params),)

    return derivative


def _turn_transpose(name: str) -> Any:
    def transpose(cotangents: Any, operands: Any, **params: Any) -> Any:
        values, x = operands
        return None, sum_to(bind(_TURNS[name], conjugate(values), cotangents[0], **params), x.shape)

    return transpose


def _turn_batch(name: str) -> Any:
    def batch(operands: Any, batched: Any, size: int, **params: Any) -> Any:
        values, x = (
            with_batch(operand, mark, size) for operand, mark in zip(operands, batched, strict=True)
        )
        missing = (x.ndim - 1) - values.ndim
        if missing > 0:
            values = reshape(values, (size, *(1,) * missing, *values.shape[1:]))
        elif missing < 0:
            x = reshape(x, (size, *(1,) * -missing, *x.shape[1:]))
        return bind(_TURNS[name], values, x, **params)

    return batch


_APART = Fixed([-1.3, 0.2, 1.1])
_FREE: dict[str, Any] = {"used": None, "general": False}
_TURN_SAMPLES = (
    sample(_APART, draw(3, 3), sign=-1, **_FREE),
    sample(Fixed([2.3, 1.2, 0.4]), draw(3, 3), sign=1, **_FREE),
    sample(Fixed([[-1.3, 0.2], [0.4, 2.0]]), draw(2, 2, 2), sign=-1, **_FREE),
    sample(draw(1), draw(1, 1), sign=-1, **_FREE),
)

# X_ij = E_ij / (l_j + sign l_i). used: which vectors are used at all, None for all, COMPUTED where
# that is not known before the run: where they have no derivative, it is NaN. general: if
# they come from `eig`, where LAPACK fixes their phases.
ROTATION: Primitive = Primitive(
    "rotation",
    infer=_turn_type,
    evaluate=_rotation_evaluate,
    linear=Joint(frozenset({1})),
    derivative=_turn_derivative("rotation"),
    transpose=_turn_transpose("pulled_rotation"),
    batch=_turn_batch("rotation"),
    samples=_TURN_SAMPLES,
)
PULLED_ROTATION: Primitive = Primitive(
    "pulled_rotation",
    infer=_turn_type,
    evaluate=_pulled_evaluate,
    linear=Joint(frozenset({1})),
    derivative=_turn_derivative("pulled_rotation"),
    transpose=_turn_transpose("rotation"),
    batch=_turn_batch("pulled_rotation"),
    samples=_TURN_SAMPLES,
)
_TURNS = {p.name: p for p in (ROTATION, PULLED_ROTATION)}


def rotation(values: Expression, x: Expression, sign: int, **params: Any) -> Expression:
    """X_ij = E_ij / (l_j + sign l_i)."""
    return bind(ROTATION, values, x, sign=sign, **params)  # type: ignore[no-any-return]


# --- means over clusters --------------------------------------------------------------------------


def _mean_evaluate(values: Any, x: Any) -> Any:
    numbers = clusters(values)
    shape = np.broadcast_shapes(numbers.shape, x.shape)
    x = np.broadcast_to(x, shape)
    if np.array_equal(numbers, np.broadcast_to(np.arange(numbers.shape[-1]), numbers.shape)):
        return x.copy()
    same = (numbers[..., :, None] == numbers[..., None, :]).astype(x.real.dtype)
    weights = same / np.sum(same, axis=-1, keepdims=True)
    return (weights @ x[..., None])[..., 0]


def _mean_type(values: ArrayType, x: ArrayType) -> ArrayType:
    return array_type(broadcast_shape("cluster_mean", values.shape, x.shape), x.dtype)


def cluster_mean(values: Expression, x: Expression) -> Expression:
    """The mean over each cluster of a spectrum, in all its places."""
    return bind(CLUSTER_MEAN, values, x)  # type: ignore[no-any-return]


def _mean_transpose(cotangents: Any, operands: Any) -> Any:
    return None, sum_to(cluster_mean(operands[0], cotangents[0]), operands[1].shape)


# A kink: the eigenvalues of a cluster share what they do together.
CLUSTER_MEAN: Primitive = Primitive(
    "cluster_mean",
    infer=_mean_type,
    evaluate=_mean_evaluate,
    linear=Joint(frozenset({1})),
    derivative=lambda tangents, operands, results: (
        None if tangents[1] is None else cluster_mean(operands[0], tangents[1]),
    ),
    transpose=_mean_transpose,
    batch=lambda operands, batched, size: bind(CLUSTER_MEAN, *align_batch(operands, batched)),
    samples=(
        sample(Fixed([1.0, 1.0, 2.0]), draw(3), constant=(0,)),
        sample(Fixed([[3.0, 1.0], [2.0, 2.0]]), draw(2, 2), constant=(0,)),
        sample(Fixed([1.0, 2.0]), draw(3, 2), constant=(0,)),
    ),
)


def _leading_evaluate(v: Any) -> Any:
    place = np.argmax(np.abs(v), axis=-2)[..., None, :] if v.shape[-2] else np.zeros(v.shape, int)
    rows = np.arange(v.shape[-2])[:, None]
    return (rows == place).astype(v.real.dtype)


# One where a column has its largest entry, which LAPACK makes real, and zero elsewhere.
LEADING: Primitive = Primitive(
    "leading_entries",
    infer=lambda v: array_type(v.shape, np.dtype(v.dtype.char.lower())),
    evaluate=_leading_evaluate,
    linear=None,
    derivative=NO_DERIVATIVE,
    transpose=NO_DERIVATIVE,
    batch=lambda operands, batched, size: bind(LEADING, operands[0]),
    samples=(sample(draw(3, 3)), sample(draw(2, 2, 2, dtype=complex)), sample(draw(2, 0, 0))),
)
