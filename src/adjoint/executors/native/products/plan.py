"""What a product is: its axes in groups, and what it is to become.

A product is C[batch, rows, columns] = sum over K of A[batch, rows, K] B[batch, K, columns].
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from adjoint.primitives.structure.contraction import split_spec


@dataclass(frozen=True)
class ArrayProduct:
    """A product of two arrays in memory, with everything known but the numbers.

    spec: like einsum's, `"abc,acd->abd"`, where every label that is summed over occurs in both
    operands. Strides are in elements, by axis of each array; those of operands may be zero.
    """

    dtype: np.dtype[Any]
    spec: str
    left_shape: tuple[int, ...]
    right_shape: tuple[int, ...]
    left_strides: tuple[int, ...]
    right_strides: tuple[int, ...]
    result_strides: tuple[int, ...]

    @property
    def lengths(self) -> dict[str, int]:
        """The length of each label."""
        left, right, _ = split_spec(self.spec)
        pairs = zip(left + right, self.left_shape + self.right_shape, strict=True)
        return dict(pairs)

    @property
    def flops(self) -> int:
        """Additions and multiplications together."""
        return 2 * prod(self.lengths.values())


@dataclass(frozen=True, slots=True)
class ProductAxis:
    """A loop: how often, and how far each turn of it goes in A, B and C, in elements."""

    size: int
    a: int = 0
    b: int = 0
    c: int = 0

    @property
    def swapped(self) -> ProductAxis:
        """The axis when A and B change places."""
        return ProductAxis(self.size, self.b, self.a, self.c)


ONE = ProductAxis(1)


@dataclass(frozen=True)
class Groups:
    """The axes of a product by their role; neighbours in memory are one axis, lengths 1 none.

    sums: whether the product has labels that are summed over, be they of length 1.
    """

    batch: tuple[ProductAxis, ...]
    rows: tuple[ProductAxis, ...]
    columns: tuple[ProductAxis, ...]
    summed: tuple[ProductAxis, ...]
    sums: bool

    @property
    def swapped(self) -> Groups:
        """The same product with A and B in each other's place."""

        def turned(axes: tuple[ProductAxis, ...]) -> tuple[ProductAxis, ...]:
            return tuple(axis.swapped for axis in axes)

        return Groups(
            turned(self.batch),
            turned(self.columns),
            turned(self.rows),
            turned(self.summed),
            self.sums,
        )


def grouped(product: ArrayProduct) -> Groups:
    """The axes of the product, merged where they can be."""
    left, right, result = split_spec(product.spec)
    strides = [
        dict(zip(labels, steps, strict=True))
        for labels, steps in (
            (left, product.left_strides),
            (right, product.right_strides),
            (result, product.result_strides),
        )
    ]
    members: dict[str, list[ProductAxis]] = {"b": [], "r": [], "c": [], "s": []}
    for label, length in product.lengths.items():
        axis = ProductAxis(length, *(steps.get(label, 0) for steps in strides))
        if label not in result:
            role = "s"
        elif label not in right:
            role = "r"
        else:
            role = "c" if label not in left else "b"
        if length != 1:
            members[role].append(axis)
    sums = any(label not in result for label in left)
    batch, rows, columns, summed = (merged(members[role]) for role in "brcs")
    return Groups(batch, rows, columns, summed, sums)


def merged(axes: Iterable[ProductAxis]) -> tuple[ProductAxis, ...]:
    """The axes with those joined that run on into each other; widest strides first."""
    joined = sorted(axes, key=lambda axis: (-abs(axis.c), -abs(axis.a), -abs(axis.b)))
    index = 0
    while index < len(joined):
        inner = joined[index]
        for outer in joined:
            runs_on = all(
                getattr(outer, name) == getattr(inner, name) * inner.size for name in "abc"
            )
            if outer is not inner and runs_on:
                joined[index] = replace(inner, size=inner.size * outer.size)
                joined.remove(outer)
                index = -1
                break
        index += 1
    return tuple(joined)
