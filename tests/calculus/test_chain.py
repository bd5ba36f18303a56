"""Chains of linear maps, and the cheapest order to multiply them in."""

from __future__ import annotations

from functools import lru_cache

from hypothesis import given, settings
from hypothesis import strategies as st

from adjoint.calculus.jacobians.planning import Chain, Order, ProductStep

SIZES = st.lists(st.integers(1, 12), min_size=2, max_size=8)


def brute_force(d):
    """The cheapest of all bracketings of a product of matrices: as many as Catalan's numbers."""
    count = 0

    def every(i, j):
        nonlocal count
        if j - i == 1:
            return [0]
        return [
            left + right + d[i] * d[k] * d[j]
            for k in range(i + 1, j)
            for left in every(i, k)
            for right in every(k, j)
        ]

    costs = every(0, len(d) - 1)
    return min(costs), len(costs)


@settings(max_examples=40, deadline=None)
@given(SIZES)
def test_dynamic_programming_is_the_best_of_all_bracketings(d):
    """Lecture, "Which mode should be used depending on the d_i?": none of the modes, in general."""
    best, count = brute_force(d)
    assert count == [1, 1, 2, 5, 14, 42, 132][len(d) - 2]
    optimal = Chain.of_matrices(d).optimal
    assert optimal.operations == best
    assert replayed(optimal, d) == best


def replayed(order, d):
    """The operations of an order, counted again from its steps alone."""
    total = sum(replayed(part, d) for part in order.parts)
    ends = d[order.start] * d[order.stop]
    match order.step:
        case ProductStep.PUSH:
            return total + ends * d[order.stop - 1]
        case ProductStep.PULL:
            return total + ends * d[order.start + 1]
        case ProductStep.PRODUCT:
            return total + ends * d[order.parts[0].stop]
    return total


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_dynamic_programming_on_general_chains(data):
    """Maps that are no matrices, which cost less, or more, to apply than their size."""
    n = data.draw(st.integers(1, 5))
    sizes = data.draw(st.lists(st.integers(1, 9), min_size=n + 1, max_size=n + 1))
    push, pull = (
        tuple(data.draw(st.lists(st.integers(0, 99), min_size=n, max_size=n))) for _ in range(2)
    )
    known = tuple(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    chain = Chain(tuple(sizes), push, pull, known, (1,) * n)

    @lru_cache
    def best(i, j):
        if i == j:
            return 0
        ways = [best(i, j - 1) + sizes[i] * push[j - 1], best(i + 1, j) + sizes[j] * pull[i]]
        ways += [best(i, k) + best(k, j) + sizes[i] * sizes[k] * sizes[j] for k in range(i + 1, j)]
        return min([*ways, 0] if j - i == 1 and known[i] else ways)

    assert chain.optimal.operations == best(0, n)
    others = (chain.forward(), chain.reverse(), chain.middle)
    assert chain.optimal.operations <= min(each.operations for each in others)


def test_memory_of_orders():
    """The numbers of partial products that are held at once."""
    chain = Chain.of_matrices([2, 3, 5])
    assert chain.forward().memory == 2 * (3 + 5)
    assert chain.reverse().memory == 5 * (2 + 3)
    assert chain.meeting(1).memory == 2 * 3 + 3 * 5 + 2 * 5


def test_text_of_orders():
    chain = Chain.of_matrices([3, 3, 3, 3])
    assert str(chain.forward()) == "J3 (J2 J1)"
    assert str(chain.reverse()) == "(J3 J2) J1"
    assert str(Chain.of_matrices([50, 2, 50, 2, 50]).optimal) == "J4 ((J3 J2) J1)"
    assert str(Chain.of_matrices([4, 1, 4, 4, 4, 1, 4]).meeting(3)) == "((J6 J5) J4) (J3 (J2 J1))"
    assert [str(each) for each in chain.reverse().products()] == ["J3 J2", "(J3 J2) J1"]


def test_an_order_is_a_value():
    assert Chain.of_matrices([2, 3, 4]).forward() == Order(
        0, 2, ProductStep.PUSH, (Order(0, 1, ProductStep.GIVEN, (), 0, 6),), 24, 14
    )
