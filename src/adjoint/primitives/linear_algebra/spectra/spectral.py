"""Functions of Hermitian matrices, g(A) = V diag(g(l)) V^H, and their derivatives of any order.

With Ei = V^H Ai V, the derivative of g(A) along A1, ..., Ak is V T V^H, where T_ij is the sum over
all orders of the directions and all paths i, m, ..., j of g[l_i, l_m, ..., l_j] E1_im ... Ek_pj
(Yu. Daleckii, S. Krein, 1951; N. Higham, "Functions of Matrices", 2008, section 3.2), with divided
differences g[...]. No difference of eigenvalues is divided by where they coincide, and the choice
of eigenvectors is nowhere in it. g may have other arguments, and an index of its own as long as it
is equal in a cluster: else g(A) depends on that choice, which is an error.

Operands, everywhere: l, V, A; g and its first derivatives on l for reference; the same again, in
which the result is linear; and the directions.
"""

from __future__ import annotations

from itertools import permutations
from typing import Any, Final

import numpy as np

from adjoint.base.arrays import ArrayType, array_type
from adjoint.base.errors import MissingRuleError
from adjoint.primitives.declaration import (
    Each,
    EmptySlot,
    Primitive,
)
from adjoint.primitives.elementwise.conversion import cast
from adjoint.primitives.expression import Expression, bind
from adjoint.primitives.linear_algebra.spectra.divided_differences import Differences
from adjoint.primitives.linear_algebra.spectra.eigen import HERMITIAN
from adjoint.primitives.linear_algebra.spectra.rotations import (
    clusters,
    precision,
    raise_degenerate,
)
from adjoint.primitives.linear_algebra.systems import adjoint
from adjoint.primitives.structure.moving import with_batch, zeros
from adjoint.primitives.typing_rules import promoted

KNOWN: Final = 4  # g and its first three derivatives
_REFERENCE = slice(3, 3 + KNOWN)
_FUNCTION = slice(3 + KNOWN, 3 + 2 * KNOWN)
_FIRST = 3 + 2 * KNOWN  # the place of the first direction
_ORDERS = 64  # more directions than anyone will ever ask for

_DEPENDS = (
    "the function of the matrix treats them differently, so that it depends on which basis of "
    "their common space LAPACK chose. Treat equal eigenvalues alike."
)


class _FunctionOrDirection(Each):
    """Linear in g and its derivatives together, and in each direction."""

    def allows(self, marks: tuple[bool, ...]) -> bool:
        """Whether operands marked here may be the linear ones."""
        places = [place for place, mark in enumerate(marks) if mark]
        inside = range(*_FUNCTION.indices(len(marks)))
        return all(place in inside for place in places) or (
            len(places) == 1 and places[0] >= _FIRST
        )


# --- evaluation ----------------------------------------------------------------------------------


def _alone(numbers: Any) -> bool:
    """Whether every value is a cluster of its own."""
    return np.array_equal(numbers, np.broadcast_to(np.arange(numbers.shape[-1]), numbers.shape))


def _check_gauge(values: Any, numbers: Any, reference: Any, order: int) -> None:
    """Raise where g differs inside a cluster by more than its slope and rounding explain."""
    if _alone(numbers):
        return
    same = numbers[..., :, None] == numbers[..., None, :]
    gap = np.abs(values[..., :, None] - values[..., None, :])
    for number in range(min(order, KNOWN - 1) + 1):
        g = reference[number]
        size = np.max(np.abs(g), axis=-1, initial=0)[..., None, None]
        bound = 1e3 * values.shape[-1] * precision(values) * size
        if number + 1 < KNOWN:
            slope = np.abs(reference[number + 1])
            with np.errstate(all="ignore"):
                bound = bound + 2 * gap * np.maximum(slope[..., :, None], slope[..., None, :])
        apart = np.abs(g[..., :, None] - g[..., None, :])
        bad = same & (apart > bound)
        if bad.any():
            raise_degenerate(values, bad, _DEPENDS)


def _cluster_means(numbers: Any, x: Any) -> Any:
    if _alone(numbers):
        return x
    same = (numbers[:, None] == numbers[None, :]).astype(x.real.dtype)
    with np.errstate(invalid="ignore"):
        return x @ (same / np.sum(same, axis=-1, keepdims=True))


def _paths(differences: Differences, inner: list[Any]) -> Any:
    """T of the module's text, (..., n, n) for functions with axes in front."""
    first = differences.matrix()
    return sum(_ordered(differences, first, list(ordering)) for ordering in permutations(inner))


def _ordered(differences: Differences, first: Any, inner: list[Any]) -> Any:
    """The sum over paths with the directions in this order.

    Where its ends are apart, a path's difference is that of two shorter ones: products of matrices.
    """
    if len(inner) == 1:
        return _times(first, inner[0])
    shorter = inner[0] @ _ordered(differences, first, inner[1:])
    shorter = shorter - _ordered(differences, first, inner[:-1]) @ inner[-1]
    near = differences.near
    sums = shorter / np.where(near, 1, differences.gaps)
    starts, ends = np.nonzero(near)
    sums[..., starts, ends] = _between(differences, inner, starts, ends)
    return sums


def _between(differences: Differences, inner: list[Any], starts: Any, ends: Any) -> Any:
    """The sum over all paths between these places, one by one."""
    count, steps = inner[0].shape[-1], len(inner) - 1
    grid = np.indices((1,) + (count,) * steps)[1:]
    column = (-1,) + (1,) * steps
    places = [starts.reshape(column), *grid, ends.reshape(column)]
    product: Any = 1
    for direction, here, there in zip(inner, places[:-1], places[1:], strict=True):
        product = product * direction[here, there]
    return np.sum(_times(differences.at(*places), product), axis=tuple(range(-steps, 0)))


def _times(g: Any, x: Any) -> Any:
    """A product in which an exact zero on the right wins over anything."""
    with np.errstate(all="ignore"):
        return np.where(x == 0, 0, g * x)


def _adjoint_of(x: Any) -> Any:
    return np.conjugate(np.swapaxes(x, -1, -2))


def _one(
    values: Any, v: Any, numbers: Any, reference: list[Any], g: list[Any], directions: list[Any]
) -> Any:
    """The derivative at one matrix along these directions; g may have axes in front."""
    g = [_cluster_means(numbers, derivative) for derivative in g]
    if not directions:
        return (v * g[0][..., None, :]) @ _adjoint_of(v)
    reference = [_cluster_means(numbers, derivative) for derivative in reference]
    order = np.argsort(values, kind="stable")
    v = v[:, order]
    differences = Differences(
        values[order],
        [derivative[order] for derivative in reference],
        [derivative[..., order] for derivative in g],
    )
    inner = [_adjoint_of(v) @ direction @ v for direction in directions]
    return v @ _paths(differences, inner) @ _adjoint_of(v)


def _frechet_evaluate(values: Any, v: Any, a: Any, *rest: Any) -> Any:
    reference, g, directions = rest[:KNOWN], rest[KNOWN : 2 * KNOWN], rest[2 * KNOWN :]
    if len(directions) >= KNOWN:  # not when the rule is written: Taylor mode does not get so far
        raise MissingRuleError(
            f"Derivatives of functions of a matrix, as (V * g(w)) @ V.conj().T, are known up to "
            f"order {KNOWN - 1} by nesting. Higher ones, where all eigenvalues differ, come from "
            "ad.taylor."
        )
    numbers = clusters(values)
    _check_gauge(values, numbers, reference, len(directions))
    moved = np.empty(v.shape, np.result_type(v, *g, *directions))
    for place in np.ndindex(values.shape[:-1]) if v.size else ():
        chosen = ([stack[place] for stack in group] for group in (reference, g, directions))
        moved[place] = _one(values[place], v[place], numbers[place], *chosen)
    return moved


def _weights_evaluate(values: Any, v: Any, a: Any, *rest: Any) -> tuple[Any, ...]:
    reference, (*directions, w) = rest[:KNOWN], rest[KNOWN:]
    numbers = clusters(values)
    _check_gauge(values, numbers, reference, len(directions))
    dtype = np.result_type(w, v, *directions, *reference)
    weights = np.zeros((KNOWN, *values.shape), dtype)
    for place in np.ndindex(values.shape[:-1]) if v.size else ():
        given, along = ([stack[place] for stack in group] for group in (reference, directions))
        at = (slice(None), *place)
        weights[at] = _weights_at(values[place], v[place], numbers[place], given, along, w[place])
    if all(derivative.dtype.kind != "c" for derivative in reference):
        weights = np.real(weights)
    return tuple(
        weight.astype(kind.dtype, copy=False)
        for weight, kind in zip(weights, reference, strict=True)
    )


def _weights_at(
    values: Any, v: Any, numbers: Any, reference: list[Any], directions: list[Any], w: Any
) -> Any:
    """What each value of g, and of its derivatives, has to do with <w, result>."""
    count = len(values)
    if not directions:
        inner = np.diagonal(_adjoint_of(v) @ w @ v)
        first = _cluster_means(numbers, inner)
        return np.concatenate([first[None], np.zeros((KNOWN - 1, count), first.dtype)])
    units = np.eye(KNOWN * count, dtype=values.dtype).reshape(-1, KNOWN, count)
    moved = _one(values, v, numbers, reference, list(np.moveaxis(units, 1, 0)), directions)
    return np.sum(w * np.conjugate(moved), axis=(-2, -1)).reshape(KNOWN, count)


# --- rules ---------------------------------------------------------------------------------------


def _direction(v: Expression, d_a: Expression, lower: bool) -> Expression:
    return bind(HERMITIAN, cast(d_a, v.dtype), lower=lower)  # type: ignore[no-any-return]


def _filled(tangents: Any, operands: Any) -> Any:
    """The tangents of g and its derivatives; None if all are zero."""
    if all(tangent is None for tangent in tangents):
        return None
    return [
        zeros(operand.builder, operand.type) if tangent is None else tangent
        for tangent, operand in zip(tangents, operands, strict=True)
    ]


def _frechet_type(*types: ArrayType, lower: bool) -> ArrayType:
    v, moving = types[1], types[3 + KNOWN :]
    return array_type(v.shape, promoted(v, *moving))


def _replaced(operands: Any, place: int, value: Any) -> list[Any]:
    return [value if n == place else operand for n, operand in enumerate(operands)]


def _frechet_derivative(tangents: Any, operands: Any, results: Any, lower: bool) -> Any:
    terms = []
    if tangents[2] is not None:
        direction = _direction(operands[1], tangents[2], lower)
        terms.append(bind(FRECHET, *operands, direction, lower=lower))
    moved = _filled(tangents[_FUNCTION], operands[_FUNCTION])
    if moved is not None:
        fixed = operands[: _FUNCTION.start]
        terms.append(bind(FRECHET, *fixed, *moved, *operands[_FIRST:], lower=lower))
    for place in range(_FIRST, len(operands)):
        if tangents[place] is not None:
            changed = _replaced(operands, place, tangents[place])
            terms.append(bind(FRECHET, *changed, lower=lower))
    total: Any = None
    for term in terms:
        term = cast(term, results[0].dtype)
        total = term if total is None else total + term
    return (total,)


def _frechet_transpose(cotangents: Any, operands: Any, lower: bool) -> Any:
    (w,) = cotangents
    known = [isinstance(operand, Expression) for operand in operands]
    if all(known[_FIRST:]):
        fixed = operands[: _FUNCTION.start]
        weights = bind(WEIGHTS, *fixed, *operands[_FIRST:], w, lower=lower)
        pulled = [
            None if mark else cast(weight, operand.dtype)
            for weight, operand, mark in zip(
                weights, operands[_FUNCTION], known[_FUNCTION], strict=True
            )
        ]
        return (*(None for _ in fixed), *pulled, *(None for _ in operands[_FIRST:]))
    place = known.index(False)
    moved = adjoint(bind(FRECHET, *_replaced(operands, place, adjoint(w)), lower=lower))
    return tuple(
        cast(moved, operands[place].dtype) if n == place else None for n in range(len(operands))
    )


def _stacked(name: str) -> Any:
    def batch(operands: Any, batched: Any, size: int, lower: bool) -> Any:
        moved = [with_batch(x, mark, size) for x, mark in zip(operands, batched, strict=True)]
        return bind(_FUNCTIONS[name], *moved, lower=lower)

    return batch


_TRIED = EmptySlot("it takes an eigendecomposition; tests/primitives/test_spectral.py tries it")

# The derivative of g(A) along the directions given; g(A) itself if there are none.
FRECHET: Primitive = Primitive(
    "frechet",
    infer=_frechet_type,
    evaluate=lambda *operands, lower: _frechet_evaluate(*operands),
    linear=_FunctionOrDirection(frozenset(range(_FIRST, _FIRST + _ORDERS))),
    derivative=_frechet_derivative,
    transpose=_frechet_transpose,
    batch=_stacked("frechet"),
    samples=_TRIED,
)


def _weights_type(*types: ArrayType, lower: bool) -> tuple[ArrayType, ...]:
    return tuple(types[_REFERENCE])


def _weights_derivative(tangents: Any, operands: Any, results: Any, lower: bool) -> Any:
    first = _REFERENCE.stop
    rows = []
    if tangents[2] is not None:
        direction = _direction(operands[1], tangents[2], lower)
        rows.append(bind(WEIGHTS, *operands[:-1], direction, operands[-1], lower=lower))
    for place in range(first, len(operands)):
        if tangents[place] is not None:
            rows.append(bind(WEIGHTS, *_replaced(operands, place, tangents[place]), lower=lower))
    if not rows:
        return (None,) * KNOWN
    total = rows[0]
    for row in rows[1:]:
        total = [x + y for x, y in zip(total, row, strict=True)]
    return tuple(total)


def _weights_transpose(cotangents: Any, operands: Any, lower: bool) -> Any:
    first = _REFERENCE.stop
    known = [isinstance(operand, Expression) for operand in operands]
    place = known.index(False)
    given = operands[_REFERENCE]
    g = _filled(cotangents, given)
    directions = list(operands[first:-1])
    if place == len(operands) - 1:
        moved = bind(FRECHET, *operands[:first], *g, *directions, lower=lower)
    else:
        directions[place - first] = adjoint(operands[-1])
        moved = adjoint(bind(FRECHET, *operands[:first], *g, *directions, lower=lower))
    return tuple(
        cast(moved, operands[place].dtype) if n == place else None for n in range(len(operands))
    )


# The transpose of `frechet` in g: operands without g, and a cotangent last.
WEIGHTS: Primitive = Primitive(
    "frechet_weights",
    infer=_weights_type,
    evaluate=lambda *operands, lower: _weights_evaluate(*operands),
    linear=Each(frozenset(range(_FUNCTION.start, _FUNCTION.start + _ORDERS))),
    derivative=_weights_derivative,
    transpose=_weights_transpose,
    batch=_stacked("frechet_weights"),
    samples=_TRIED,
    multiple=True,
)


def _spectral_derivative(tangents: Any, operands: Any, results: Any, lower: bool) -> Any:
    # The first operand is the value; what follows is as in `frechet`, with g once.
    values, vectors, a, *g = operands[1:]
    whole = [values, vectors, a, *g, *g]
    moved = [None, None, tangents[3], *(None,) * KNOWN, *tangents[4:]]
    return _frechet_derivative(moved, whole, results, lower)


# A value g(A) that is there already, with the derivatives of g(A).
SPECTRAL: Primitive = Primitive(
    "spectral_function",
    infer=lambda value, *rest, lower: value,
    evaluate=lambda value, *rest, lower: value,
    linear=None,
    derivative=_spectral_derivative,
    batch=_stacked("spectral_function"),
    samples=_TRIED,
    view=True,
)
_FUNCTIONS = {p.name: p for p in (FRECHET, WEIGHTS, SPECTRAL)}
