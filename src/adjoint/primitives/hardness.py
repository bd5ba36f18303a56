"""Marks that say which zeros are hard: where no path leads, so that they win over everything.

A zero that arithmetic has made is a number, and times infinity it is NaN. Marks change no value
where nothing is infinite: a program runs without them, and only where a NaN has turned up again
with them (`transforms/hard_zeros/hardness.py`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.base.arrays import ArrayType
from adjoint.primitives.declaration import (
    NO_DERIVATIVE,
    EmptySlot,
    Joint,
    Primitive,
)
from adjoint.primitives.expression import bind
from adjoint.primitives.structure.contraction import CONTRACT, lowering
from adjoint.primitives.structure.moving import with_batch

_SAMPLES = EmptySlot("its value is its operand; tests/transforms/test_hardness.py tries it")


def _batched(name: str) -> Any:
    def batch(operands: Any, batched: Any, size: int) -> Any:
        whole = (with_batch(x, mark, size) for x, mark in zip(operands, batched, strict=True))
        return bind({"hard": HARD, "tame": TAME}[name], *whole)

    return batch


# x, whose exact zeros are hard: what a seed or a factor says by being zero. With a second operand,
# the zeros where that holds. Its derivative is that of x as it stands.
HARD: Primitive = Primitive(
    "hard",
    infer=lambda x, *where: x,
    evaluate=lambda x, *where: x,
    linear=Joint(frozenset({0})),
    derivative=lambda tangents, operands, results: (tangents[0],),
    transpose=lambda cotangents, operands: (cotangents[0], *(None for _ in operands[1:])),
    batch=_batched("hard"),
    taylor=lambda operands, results, k: (operands[0][k],),
    samples=_SAMPLES,
    view=True,
)

# A slope that is bounded wherever it is used, times what is used there: an infinity of it is a
# share of nothing, and counts as 0. Its own derivative is as infinite as it is. The second operand
# is what is under the root of which it is the slope.
TAME: Primitive = Primitive(
    "tame",
    infer=lambda x, *under: x,
    evaluate=lambda x, *under: x,
    linear=None,
    derivative=lambda tangents, operands, results: (tangents[0],),
    batch=_batched("tame"),
    taylor=lambda operands, results, k: (operands[0][k],),
    samples=_SAMPLES,
    view=True,
)


def _strong_type(
    x: ArrayType, y: ArrayType, hard_x: ArrayType, hard_y: ArrayType, spec: str
) -> ArrayType:
    (type_,) = CONTRACT.infer(x, y, spec=spec)
    return type_


def _strong_contract(x: Any, y: Any, hard_x: Any, hard_y: Any, spec: str) -> Any:
    """Terms that are infinite or undefined count only where neither factor is a hard zero."""
    x, y = np.asarray(x), np.asarray(y)
    with np.errstate(all="ignore"):
        return _strong_sum(x, y, ~np.asarray(hard_x), ~np.asarray(hard_y), lowering(spec))


def _strong_sum(x: Any, y: Any, soft_x: Any, soft_y: Any, product: Any) -> Any:
    good_x, good_y = np.isfinite(x), np.isfinite(y)
    finite = product(np.where(good_x & soft_x, x, 0), np.where(good_y & soft_y, y, 0))
    if good_x.all() and good_y.all():
        return finite

    def any_term(where_x: Any, where_y: Any) -> Any:
        return product((where_x & soft_x).astype(float), (where_y & soft_y).astype(float)) > 0

    if finite.dtype.kind == "c":  # which part is infinite is left open
        lost = any_term(~good_x, True) | any_term(True, ~good_y)
        return np.where(lost, np.asarray(np.nan, finite.dtype), finite)
    big_x, big_y = np.isinf(x), np.isinf(y)
    lost = any_term(np.isnan(x), True) | any_term(True, np.isnan(y))
    lost |= any_term(big_x, y == 0) | any_term(x == 0, big_y)
    up = down = np.zeros(np.shape(finite), bool)
    for sign in (1, -1):
        for one, other in ((big_x, ~np.isnan(y)), (~np.isnan(x), big_y)):
            up = up | any_term(one & (sign * x > 0), other & (sign * y > 0))
            down = down | any_term(one & (sign * x > 0), other & (sign * y < 0))
    lost |= up & down
    total = np.where(up, np.inf, np.where(down, -np.inf, finite))
    return np.where(lost, np.nan, total).astype(finite.dtype)


# The contraction of two arrays with hard zeros, of which the last two operands are the masks. Only
# programs that are run have it, so that nothing is derived from it.
STRONG_CONTRACT: Primitive = Primitive(
    "strong_contract",
    infer=_strong_type,
    evaluate=_strong_contract,
    linear=None,
    derivative=NO_DERIVATIVE,
    batch=EmptySlot("it stands only in programs that are run"),
    samples=_SAMPLES,
)


def hard(x: Any) -> Any:
    """x, whose zeros win over any other factor."""
    return bind(HARD, x)


def tame(x: Any, under: Any) -> Any:
    """x, the slope of a root, whose infinities stand beside zeros alone."""
    return bind(TAME, x, under)
