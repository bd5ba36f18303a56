"""Contraction of two arrays: every product of matrices and tensors, as one bilinear primitive.

`spec` is written like einsum's, `"ij,jk->ik"`. In its canonical form each label occurs at most once
in an operand, and a label that is summed over occurs in both. So the transpose with respect to an
operand is another contraction: A^T R and R X^T for A X.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import prod
from string import ascii_letters
from typing import Any

import numpy as np

from adjoint.base.arrays import ArrayType, array_type
from adjoint.base.errors import ShapeError
from adjoint.primitives.declaration import ITSELF, Each, Primitive
from adjoint.primitives.elementwise.conversion import cast, conjugate
from adjoint.primitives.expression import Expression, bind
from adjoint.primitives.samples import draw, sample
from adjoint.primitives.typing_rules import promoted


def split_spec(spec: str) -> tuple[str, str, str]:
    """The labels of the left operand, the right one, and the result."""
    operands, result = spec.split("->")
    left, right = operands.split(",")
    return left, right, result


@lru_cache(maxsize=4096)
def canonical(spec: str) -> str:
    """The same contraction with its labels renamed in order of appearance."""
    names: dict[str, str] = {}
    for label in spec:
        if label.isalpha() and label not in names:
            names[label] = ascii_letters[len(names)]
    return "".join(names.get(label, label) for label in spec)


def _type(left: ArrayType, right: ArrayType, spec: str) -> ArrayType:
    lengths: dict[str, int] = {}
    left_labels, right_labels, result = split_spec(spec)
    for labels, type_ in ((left_labels, left), (right_labels, right)):
        for label, length in zip(labels, type_.shape, strict=True):
            if lengths.setdefault(label, length) != length:
                raise ShapeError(
                    f"a product of arrays of shapes {left.shape} and {right.shape}: axes that must "
                    f"agree have lengths {lengths[label]} and {length} ({spec})."
                )
    return array_type(tuple(lengths[label] for label in result), promoted(left, right))


@lru_cache(maxsize=4096)
def lowering(spec: str) -> Callable[[Any, Any], Any]:
    """A function that computes the contraction by one matrix product, with views around it."""
    left, right, result = split_spec(spec)
    shared = [label for label in left if label in right]
    batch = [label for label in shared if label in result]
    summed = [label for label in shared if label not in result]
    rows = [label for label in left if label not in right]
    columns = [label for label in right if label not in left]
    if not summed:
        return _aligned_product(left, right, result)
    left_axes = tuple(left.index(label) for label in (*batch, *rows, *summed))
    right_axes = tuple(right.index(label) for label in (*batch, *summed, *columns))
    natural = [*batch, *rows, *columns]
    order = tuple(natural.index(label) for label in result)
    b, r, s = len(batch), len(rows), len(summed)

    def product(x: Any, y: Any) -> Any:
        x, y = x.transpose(left_axes), y.transpose(right_axes)
        shape = x.shape[: b + r] + y.shape[b + s :]
        inner = prod(x.shape[b + r :])
        x = x.reshape((*x.shape[:b], prod(x.shape[b : b + r]), inner))
        y = y.reshape((*y.shape[:b], inner, prod(y.shape[b + s :])))
        return np.matmul(x, y).reshape(shape).transpose(order)

    return product


def _aligned_product(left: str, right: str, result: str) -> Callable[[Any, Any], Any]:
    """Nothing is summed: an outer or elementwise product, by broadcasting."""

    def align(labels: str) -> tuple[tuple[int, ...], tuple[Any, ...]]:
        axes = tuple(labels.index(label) for label in result if label in labels)
        return axes, tuple(slice(None) if label in labels else None for label in result)

    (left_axes, left_index), (right_axes, right_index) = align(left), align(right)

    def product(x: Any, y: Any) -> Any:
        x = np.asarray(x).transpose(left_axes)[left_index]
        return np.multiply(x, np.asarray(y).transpose(right_axes)[right_index])

    return product


def _transpose(cotangents: Any, operands: Any, spec: str) -> Any:
    left, right, result = split_spec(spec)
    x, y = operands
    (cotangent,) = cotangents
    if isinstance(y, Expression):
        return cast(contract(cotangent, conjugate(y), f"{result},{right}->{left}"), x.dtype), None
    return None, cast(contract(conjugate(x), cotangent, f"{left},{result}->{right}"), y.dtype)


def _batch(operands: Any, batched: Any, size: int, spec: str) -> Any:
    left, right, result = split_spec(spec)
    label = next(letter for letter in ascii_letters if letter not in spec)
    left, right = (label + left if batched[0] else left), (label + right if batched[1] else right)
    return contract(operands[0], operands[1], f"{left},{right}->{label}{result}")


CONTRACT = Primitive(
    "contract",
    infer=_type,
    evaluate=lambda x, y, spec: lowering(spec)(np.asarray(x), np.asarray(y)),
    linear=Each(),
    derivative=ITSELF,
    transpose=_transpose,
    batch=_batch,
    samples=(
        sample(draw(2, 3), draw(3, 4), spec="ab,bc->ac"),
        sample(draw(3), draw(3), spec="a,a->"),
        sample(draw(3), draw(3, 2), spec="a,ab->b"),
        sample(draw(2), draw(3), spec="a,b->ab"),
        sample(draw(2, 3, 4), draw(4, 2, 3), spec="abc,cab->b"),
        sample(draw(2, 3, 4), draw(2, 4, 2), spec="abc,acd->adb"),
        sample(draw(2, 3, dtype=complex), draw(3, 2, dtype=complex), spec="ab,bc->ac"),
        sample(draw(2, 3), draw(3, dtype=complex), spec="ab,b->a"),
        sample(draw(2, 3, dtype=np.float32), draw(3), spec="ab,b->a"),
        sample(draw(2, 0), draw(0, 3), spec="ab,bc->ac"),
        sample(draw(), draw(3, dtype=complex), spec=",a->a"),
    ),
)


def contract(x: Any, y: Any, spec: str) -> Expression:
    """The contraction of two arrays over the labels that the result does not have."""
    return bind(CONTRACT, x, y, spec=canonical(spec))  # type: ignore[no-any-return]
