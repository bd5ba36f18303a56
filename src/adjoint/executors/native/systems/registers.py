"""Factorisations and substitutions of matrices all of whose numbers are in registers.

The steps are those of LAPACK's unblocked routines, and choices between rows are selections, so that
each lane can hold a matrix of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import Any, Protocol, TypeVar

import numpy as np

from adjoint.executors.native.machine.module import Value, constant
from adjoint.executors.native.systems.arithmetic import Arithmetic

Rows = list[list[Value]]
Pair = tuple[Value, Value]
_Number = TypeVar("_Number")
INDEX = np.dtype(np.int32)


@dataclass
class PivotedFactors:
    """L below the diagonal and U from it on, the row that each step swapped, in what was chosen.

    chosen: for each step, whether it swapped its row with each of those below.
    """

    rows: Rows
    pivots: list[Value]
    chosen: list[list[Value]]


def factorised(numbers: Arithmetic, rows: Rows) -> PivotedFactors:
    """The LU factors with partial pivoting; a column of zeros is left as it is."""
    writer, size = numbers.writer, len(rows)
    rows = [list(row) for row in rows]
    pivots, chosen = [], []
    for k in range(size):
        best, lanes = numbers.size(rows[k][k]), rows[k][k].lanes
        place = numbers.block.splat(constant(k, INDEX), lanes)
        for i in range(k + 1, size):
            other = numbers.size(rows[i][k])
            larger = writer.compare("ogt", other, best)
            best = writer.select(larger, other, best)
            place = writer.select(larger, writer.constant(i, place), place)
        masks = [writer.equal_number(place, i) for i in range(k + 1, size)]
        swap(numbers, rows, k, masks)
        pivots.append(place)
        chosen.append(masks)
        by = numbers.reciprocal(rows[k][k])
        for i in range(k + 1, size):
            rows[i][k] = numbers.multiply(rows[i][k], by)
            for j in range(k + 1, size):
                product = numbers.multiply(rows[i][k], rows[k][j])
                rows[i][j] = numbers.subtract(rows[i][j], product)
    for k in range(1, size):
        above = numbers.size(rows[0][k])
        for i in range(1, k):
            other = numbers.size(rows[i][k])
            above = writer.select(writer.compare("ogt", other, above), other, above)
        numbers.require_significant(rows[k][k], above, size)
    return PivotedFactors(rows, pivots, chosen)


def factors_of(numbers: Arithmetic, rows: Rows, pivots: list[Value]) -> PivotedFactors:
    """PivotedFactors that are given."""
    size, writer = len(rows), numbers.writer
    chosen = [[writer.equal_number(pivots[k], i) for i in range(k + 1, size)] for k in range(size)]
    return PivotedFactors(rows, pivots, chosen)


def swap(numbers: Arithmetic, rows: Rows, k: int, masks: Sequence[Value]) -> None:
    """Swap row k with the one below it that is chosen, if any."""
    first = rows[k]
    for i, mask in enumerate(masks, k + 1):
        rows[k] = [numbers.select(mask, *pair) for pair in zip(rows[i], rows[k], strict=True)]
    for i, mask in enumerate(masks, k + 1):
        rows[i] = [numbers.select(mask, *pair) for pair in zip(first, rows[i], strict=True)]


def substituted(
    numbers: Arithmetic,
    triangle: Rows,
    right: Rows,
    lower: bool,
    unit: bool,
    turned: bool,
    conjugated: bool,
) -> Rows:
    """The solution with a triangle of a matrix, its transpose, or the conjugate of that."""
    size, right = len(triangle), [list(row) for row in right]

    def entry(i: int, j: int) -> Value:
        value = triangle[j][i] if turned else triangle[i][j]
        return numbers.conjugate(value) if conjugated else value

    forward = lower is not turned
    order = range(size) if forward else range(size - 1, -1, -1)
    for j in order:
        if not unit:
            by = numbers.reciprocal(entry(j, j))
            right[j] = [numbers.multiply(value, by) for value in right[j]]
        for i in range(j + 1, size) if forward else range(j):
            factor = entry(i, j)
            right[i] = [
                numbers.subtract(value, numbers.multiply(factor, known))
                for value, known in zip(right[i], right[j], strict=True)
            ]
    return right


def solved(
    numbers: Arithmetic, factors: PivotedFactors, right: Rows, turned: bool, conjugated: bool
) -> Rows:
    """The solution of A x = b, or of that with A^T or A^H, from the factors of A."""
    steps = range(len(factors.rows))
    right = [list(row) for row in right]

    def half(right: Rows, lower: bool) -> Rows:
        return substituted(numbers, factors.rows, right, lower, lower, turned, conjugated)

    if turned:
        right = half(half(right, False), True)
        for k in reversed(steps):
            swap(numbers, right, k, factors.chosen[k])
        return right
    for k in steps:
        swap(numbers, right, k, factors.chosen[k])
    return half(half(right, True), False)


def cholesky(numbers: Arithmetic, rows: Rows) -> Rows:
    """The lower factor of a Hermitian matrix, of which the lower triangle is read."""
    size = len(rows)
    rows = [list(row) for row in rows]
    for k in range(size):
        root = numbers.lifted(numbers.root(numbers.real(rows[k][k])))
        by = numbers.reciprocal(root)
        rows[k][k] = root
        for i in range(k + 1, size):
            rows[i][k] = numbers.multiply(rows[i][k], by)
        for j in range(k + 1, size):
            turned = numbers.conjugate(rows[j][k])
            for i in range(j, size):
                product = numbers.multiply(rows[i][k], turned)
                rows[i][j] = numbers.subtract(rows[i][j], product)
    zero = numbers.number(0.0)
    return [[rows[i][j] if j <= i else zero for j in range(size)] for i in range(size)]


def is_even(numbers: Arithmetic, factors: PivotedFactors) -> Value:
    """Whether the rows were swapped an even number of times."""
    writer, even = numbers.writer, None
    for k, place in enumerate(factors.pivots):
        stayed = writer.equal_number(place, k)
        even = stayed if even is None else writer.invert(writer.binary("xor", even, stayed))
    assert even is not None
    return even


def determinant(numbers: Arithmetic, factors: PivotedFactors) -> Value:
    """The product of the pivots, with the sign of the order of rows.

    It is zero where a pivot is. A product on the way that is so small that it loses digits is a
    fault.
    """
    pivots = [factors.rows[k][k] for k in range(len(factors.rows))]
    product = pivots[0]
    some_zero = numbers.is_zero(product)
    for pivot in pivots[1:]:
        some_zero = numbers.writer.either(some_zero, numbers.is_zero(pivot))
        product = numbers.multiply(product, pivot)
        numbers.faults.append(too_small(numbers, product, some_zero))
    negative = numbers.negative(product)
    product = numbers.select(is_even(numbers, factors), product, negative)
    product = numbers.select(some_zero, numbers.number(0.0), product)
    numbers.require_finite([product])
    return product


def too_small(numbers: Arithmetic, product: Value, some_zero: Value) -> Value:
    """Whether a product of numbers none of which is zero may have lost digits."""
    writer = numbers.writer
    size = numbers.size(product)
    information = np.finfo(numbers.part)
    least = float(information.tiny)
    if numbers.dtype.kind == "c":  # of which one part may be much smaller than the other
        least /= float(information.eps)
    below = writer.compare("olt", size, writer.constant(least, size))
    return writer.both(below, writer.invert(some_zero))


def sign_and_logarithm(numbers: Arithmetic, factors: PivotedFactors) -> tuple[Value, Value]:
    """The sign of the determinant, and the logarithm of its modulus; a fault where it is zero."""
    writer = numbers.writer
    pivots = [factors.rows[k][k] for k in range(len(factors.rows))]
    numbers.faults += [numbers.is_zero(pivot) for pivot in pivots]
    sign, total = None, None
    for pivot in pivots:
        turn, logarithm = turn_and_logarithm(numbers, pivot)
        sign = turn if sign is None else numbers.multiply(sign, turn)
        total = logarithm if total is None else writer.add(total, logarithm)
    assert sign is not None
    assert total is not None
    return numbers.select(is_even(numbers, factors), sign, numbers.negative(sign)), total


def turn_and_logarithm(numbers: Arithmetic, pivot: Value) -> tuple[Value, Value]:
    """A number of modulus one with the direction of a pivot, and the logarithm of its modulus."""
    writer = numbers.writer
    if numbers.dtype.kind != "c":
        one = writer.constant(1.0, pivot)
        size = writer.absolute(pivot)
        safe = writer.select(numbers.is_zero(pivot), one, size)
        return writer.intrinsic("copysign", one, pivot), numbers.logarithm(safe)
    size = numbers.modulus(pivot)
    zero = writer.equal_number(size, 0.0)
    size = writer.select(zero, writer.constant(1.0, size), size)
    parts = [writer.divide(Value((p,), size.dtype, size.lanes), size).text for p in pivot.parts]
    return Value(tuple(parts), pivot.dtype, pivot.lanes), numbers.logarithm(size)


class _Ring(Protocol[_Number]):
    """What minors are made with."""

    def add(self, x: _Number, y: _Number) -> _Number:
        """x + y."""

    def subtract(self, x: _Number, y: _Number) -> _Number:
        """x - y."""

    def multiply(self, x: _Number, y: _Number) -> _Number:
        """x y."""

    def negative(self, x: _Number) -> _Number:
        """-x."""


class _TangentArithmetic:
    """Numbers with tangents."""

    def __init__(self, numbers: Arithmetic) -> None:
        self.numbers = numbers

    def add(self, x: Pair, y: Pair) -> Pair:
        """x + y."""
        return self.numbers.add(x[0], y[0]), self.numbers.add(x[1], y[1])

    def subtract(self, x: Pair, y: Pair) -> Pair:
        """x - y."""
        return self.numbers.subtract(x[0], y[0]), self.numbers.subtract(x[1], y[1])

    def multiply(self, x: Pair, y: Pair) -> Pair:
        """x y."""
        multiply = self.numbers.multiply
        slope = self.numbers.add(multiply(x[0], y[1]), multiply(x[1], y[0]))
        return multiply(x[0], y[0]), slope

    def negative(self, x: Pair) -> Pair:
        """-x."""
        return self.numbers.negative(x[0]), self.numbers.negative(x[1])


def adjugate(numbers: Arithmetic, rows: Rows) -> Rows:
    """The transposed cofactors; nothing is divided, so that singular matrices have them too."""
    return _cofactors(numbers, rows) if len(rows) > 1 else [[numbers.number(1.0)]]


def adjugate_slope(numbers: Arithmetic, rows: Rows, tangents: Rows) -> Rows:
    """The derivative of the adjugate."""
    if len(rows) == 1:
        return [[numbers.number(0.0)]]
    pairs = [list(zip(*both, strict=True)) for both in zip(rows, tangents, strict=True)]
    return [[slope for _, slope in row] for row in _cofactors(_TangentArithmetic(numbers), pairs)]


def _cofactors(numbers: _Ring[_Number], rows: list[list[_Number]]) -> list[list[_Number]]:
    size = len(rows)

    @cache
    def minor(some: tuple[int, ...], others: tuple[int, ...]) -> _Number:
        first, *rest = some
        if not rest:
            return rows[first][others[0]]
        total: _Number | None = None
        for place, column in enumerate(others):
            left = (*others[:place], *others[place + 1 :])
            term = numbers.multiply(rows[first][column], minor(tuple(rest), left))
            if total is None:
                total = term
            else:
                total = (numbers.subtract if place % 2 else numbers.add)(total, term)
        assert total is not None
        return total

    without = {sum(range(size)) - sum(kept): kept for kept in combinations(range(size), size - 1)}
    result: list[list[_Number]] = [[] for _ in range(size)]
    for i in range(size):
        for j in range(size):
            value = minor(without[j], without[i])
            result[i].append(numbers.negative(value) if (i + j) % 2 else value)
    return result


def identity(numbers: Arithmetic, size: int) -> Rows:
    """The matrix of ones and zeros."""
    one, zero = numbers.number(1.0), numbers.number(0.0)
    return [[one if i == j else zero for j in range(size)] for i in range(size)]


def is_too_ill(numbers: Arithmetic, rows: Rows, inverse: Rows, limit: float) -> Value:
    """Whether the condition number in the 1-norm is not below a limit."""
    writer: Any = numbers.writer
    condition = writer.multiply(_one_norm(numbers, rows), _one_norm(numbers, inverse))
    below = writer.compare("ole", condition, writer.constant(limit, condition))
    return writer.invert(below)  # type: ignore[no-any-return]


def _one_norm(numbers: Arithmetic, rows: Rows) -> Value:
    writer, most = numbers.writer, None
    for j in range(len(rows)):
        total = numbers.modulus(rows[0][j])
        for row in rows[1:]:
            total = writer.add(total, numbers.modulus(row[j]))
        if most is None:
            most = total
        else:
            most = writer.select(writer.compare("ogt", total, most), total, most)
    assert most is not None
    return most
