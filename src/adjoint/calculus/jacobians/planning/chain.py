"""Chains of linear maps, and in which order to multiply them (lecture, "Product of Jacobians").

The derivative of a composition is J_n ... J_1, where J_i takes d_{i-1} numbers to d_i. The product
is the same in any order; the work is not. Forward mode starts at J_1, reverse mode at J_n, meeting
in the middle at both ends, and dynamic programming finds the cheapest order of all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from itertools import pairwise
from math import inf


class ProductStep(Enum):
    """How a partial product J_j ... J_{i+1} comes about.

    IDENTITY: it is empty. GIVEN: it is one matrix that is there already. PUSH: the columns of a
    shorter product go through the map J_j. PULL: the rows of one go back through J_{i+1}. PRODUCT:
    two shorter ones are multiplied as matrices.
    """

    IDENTITY = "identity"
    GIVEN = "given"
    PUSH = "push"
    PULL = "pull"
    PRODUCT = "product"


@dataclass(frozen=True, slots=True)
class Order:
    """A partial product J_stop ... J_{start+1}, and the order in which it is computed.

    parts: what it is made of: none, one for PUSH and PULL, and (first, second) for PRODUCT, which
    is second times first. operations: multiply-adds and other operations on numbers, in all;
    infinitely many where a derivative rule is missing.
    memory: the most numbers held at once.
    """

    start: int
    stop: int
    step: ProductStep
    parts: tuple[Order, ...]
    operations: float
    memory: int

    def __str__(self) -> str:
        """The product with brackets: `(J4 J3) (J2 J1)`."""
        if self.stop - self.start <= 1:
            return f"J{self.stop}" if self.stop > self.start else "1"
        if self.step is ProductStep.PUSH:
            return f"J{self.stop} {_bracketed(self.parts[0])}"
        if self.step is ProductStep.PULL:
            return f"{_bracketed(self.parts[0])} J{self.start + 1}"
        return f"{_bracketed(self.parts[1])} {_bracketed(self.parts[0])}"

    def products(self) -> Iterator[Order]:
        """The partial products of more than one map, in the order in which they are computed."""
        for part in self.parts:
            yield from part.products()
        if self.stop - self.start > 1:
            yield self


def _bracketed(order: Order) -> str:
    return f"({order})" if order.stop - order.start > 1 else str(order)


@dataclass(frozen=True)
class Chain:
    """The product J_n ... J_1.

    sizes: d_0, ..., d_n. push, pull: for each map, the operations that it takes on one tangent, and
    its transpose on one cotangent. given: for each map, whether its matrix is there already.
    widths: for each map, the most numbers held at once while one tangent goes through it.
    """

    sizes: tuple[int, ...]
    push: tuple[float, ...]
    pull: tuple[float, ...]
    given: tuple[bool, ...]
    widths: tuple[int, ...]

    @classmethod
    def of_matrices(cls, sizes: Sequence[int]) -> Chain:
        """The chain of matrices J_i of d_i x d_{i-1} numbers that are all there already."""
        work = tuple(before * after for before, after in pairwise(sizes))
        widths = tuple(before + after for before, after in pairwise(sizes))
        return cls(tuple(sizes), work, work, (True,) * len(work), widths)

    def __len__(self) -> int:
        return len(self.push)

    # --- steps -----------------------------------------------------------------------------------

    def _identity(self, place: int) -> Order:
        return Order(place, place, ProductStep.IDENTITY, (), 0, self.sizes[place] ** 2)

    def _given(self, number: int) -> Order:
        size = self.sizes[number] * self.sizes[number + 1]
        return Order(number, number + 1, ProductStep.GIVEN, (), 0, size)

    def _pushed(self, first: Order) -> Order:
        number, columns = first.stop, self.sizes[first.start]
        work = first.operations + _times(columns, self.push[number])
        memory = max(first.memory, columns * self.widths[number])
        return Order(first.start, number + 1, ProductStep.PUSH, (first,), work, memory)

    def _pulled(self, last: Order) -> Order:
        number, rows = last.start - 1, self.sizes[last.stop]
        work = last.operations + _times(rows, self.pull[number])
        memory = max(last.memory, rows * self.widths[number])
        return Order(number, last.stop, ProductStep.PULL, (last,), work, memory)

    def _multiplied(self, first: Order, second: Order) -> Order:
        before, between, after = (
            self.sizes[first.start],
            self.sizes[first.stop],
            self.sizes[second.stop],
        )
        work = first.operations + second.operations + before * between * after
        held = before * between
        memory = max(first.memory, held + second.memory, held + between * after + before * after)
        return Order(first.start, second.stop, ProductStep.PRODUCT, (first, second), work, memory)

    # --- orders ----------------------------------------------------------------------------------

    def forward(self, stop: int | None = None) -> Order:
        """J_stop (... (J_2 J_1)): matrices given, sum over i > 1 of d_0 d_i d_{i-1}."""
        stop = len(self) if stop is None else stop
        order = self._given(0) if stop and self.given[0] else self._identity(0)
        while order.stop < stop:
            order = self._pushed(order)
        return order

    def reverse(self, start: int = 0) -> Order:
        """((J_n J_{n-1}) ...) J_{start+1}: matrices given, sum over i < n of d_n d_i d_{i-1}."""
        last = len(self) - 1
        order = (
            self._given(last) if start <= last and self.given[last] else self._identity(last + 1)
        )
        while order.start > start:
            order = self._pulled(order)
        return order

    def meeting(self, place: int) -> Order:
        """Forward mode up to d_place and reverse mode down to it, and the product of both."""
        return self._multiplied(self.forward(place), self.reverse(place))

    @cached_property
    def middle(self) -> Order:
        """The cheapest place to meet at; forward or reverse mode where there is none."""
        places = [self.meeting(place) for place in range(1, len(self))]
        places = [order for order in places if order.operations < inf]
        return min(places or [self.forward(), self.reverse()], key=_cost)

    @cached_property
    def optimal(self) -> Order:
        """The cheapest order of all, by dynamic programming over partial products (Godbole 1973).

        O(n^3) for n maps.
        """
        count = len(self)
        best: dict[tuple[int, int], Order] = {(n, n): self._identity(n) for n in range(count + 1)}
        for length in range(1, count + 1):
            for start in range(count - length + 1):
                best[start, start + length] = self._cheapest(best, start, start + length)
        return best[0, count]

    def _cheapest(self, best: dict[tuple[int, int], Order], start: int, stop: int) -> Order:
        extended = min(
            self._pushed(best[start, stop - 1]), self._pulled(best[start + 1, stop]), key=_cost
        )
        if stop - start == 1 and self.given[start]:
            return min(self._given(start), extended, key=_cost)
        ends = self.sizes[start] * self.sizes[stop]
        place, work = 0, extended.operations
        for middle in range(start + 1, stop):
            total = best[start, middle].operations + best[middle, stop].operations
            total += ends * self.sizes[middle]
            if total < work:
                place, work = middle, total
        return self._multiplied(best[start, place], best[place, stop]) if place else extended


def _times(lines: int, work: float) -> float:
    return work if work == inf else lines * work


def _cost(order: Order) -> tuple[float, int]:
    return order.operations, order.memory
