"""Python's `min` and `max` of traced numbers: chosen in the program, and not asked for."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import adjoint as ad

X = np.array([1.5, -2.0, 0.5])


def clamped(x: Any) -> Any:
    return max(-1.0 * x[0], min(x[1], x[2]), x[0] / 2)


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 2, 0)])
def test_one_program_holds_for_all_orders(order: tuple[int, ...]) -> None:
    jitted = ad.jit(ad.value_and_grad(clamped))
    jitted(X)
    before = ad.cache_info().misses
    results = {}
    for number, place in enumerate((X, X[[2, 0, 1]], X[[1, 2, 0]], -X)):
        results[number] = jitted(place[list(order)])
    assert ad.cache_info().misses == before
    direction = np.array([0.25, 1.0, -0.5])
    for number, place in enumerate((X, X[[2, 0, 1]], X[[1, 2, 0]], -X)):
        x = place[list(order)]
        value, slope = results[number]
        assert value == clamped(x)
        assert slope @ direction == ad.jvp(clamped, (x,), (direction,))[1]


def test_every_example_of_a_batch_chooses() -> None:
    batch = np.stack([X, X[[1, 2, 0]], X[[2, 0, 1]]])
    np.testing.assert_array_equal(ad.vmap(clamped)(batch), [clamped(x) for x in batch])
    np.testing.assert_array_equal(
        ad.vmap(ad.grad(clamped))(batch), [ad.grad(clamped)(x) for x in batch]
    )

    def clip(x: Any, low: float, high: float) -> Any:
        return max(low, min(x, high))

    rows = np.linspace(-1, 1, 5)
    np.testing.assert_array_equal(
        ad.vmap(clip, in_axes=(0, None, None))(rows, -0.6, 0.2), np.clip(rows, -0.6, 0.2)
    )


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda a: min(a, 2 * a), 1.0),  # of equal ones the first, as Python has it
        (lambda a: min(2 * a, a), 2.0),
        (lambda a: max(a, 2 * a), 1.0),
        (lambda a: max(2 * a, a), 2.0),
        (lambda a: min([3 * a, a + 1.0]), 3.0),
        (lambda a: max(a * k - k for k in (3.0, 2.0, 1.0)), 1.0),
    ],
)
def test_ties(function: Any, expected: float) -> None:
    assert ad.grad(function)(0.0) == expected
    assert ad.jit(ad.grad(function))(0.0) == expected
    assert ad.jvp(function, (0.0,), (1.0,))[1] == expected


@pytest.mark.parametrize("choose", [min, max])
@pytest.mark.parametrize("others", [(math.nan, 1.0), (1.0, math.nan), (math.inf, -math.inf)])
def test_what_is_no_number(choose: Any, others: tuple[float, float]) -> None:
    def function(a: Any) -> Any:
        return choose(others[0] * 1.0, a, others[1])

    value, slope = ad.value_and_grad(function)(2.0)
    np.testing.assert_equal(float(value), float(choose(others[0], 2.0, others[1])))
    assert slope == (1.0 if value == 2.0 else 0.0)


def test_the_kind_of_number_is_pythons_own_affair() -> None:
    """What is chosen is an integer, a number of Python's, or one of NumPy's, as it came."""
    single = np.ones(2, np.float32)

    def function(a: Any) -> Any:
        return np.sum(single * max(a, 2)) + 0 * a  # the integer 2 leaves float32 as it is

    for a in (np.float64(1.0), np.float64(3.0), 1.0, 3.0):
        value, _ = ad.value_and_grad(function)(a)
        assert value == function(a)
        assert ad.jit(function)(a).dtype == function(a).dtype


def test_a_key_is_asked() -> None:
    assert ad.grad(lambda x: min(x, key=abs))(X).tolist() == [0.0, 0.0, 1.0]
    with pytest.raises(TypeError, match="NoneType"):
        ad.grad(lambda a: max(a, None))(2.0)


def test_time_warping_is_one_loop() -> None:
    def distance(x: Any, y: Any) -> Any:
        table = np.full((len(x) + 1, len(y) + 1), np.inf)
        table[0, 0] = 0.0
        for i in range(1, len(x) + 1):
            for j in range(1, len(y) + 1):
                best = min(table[i - 1, j], table[i, j - 1], table[i - 1, j - 1])
                table[i, j] = (x[i - 1] - y[j - 1]) ** 2 + best
        return table[-1, -1]

    rng = np.random.default_rng(0)
    jitted = ad.jit(ad.grad(distance))
    for _ in range(3):
        x, y = rng.normal(size=5), rng.normal(size=5)
        np.testing.assert_allclose(jitted(x, y), ad.grad(distance)(x, y), rtol=1e-12)
        step = 1e-6 * rng.normal(size=5)
        difference = (distance(x + step, y) - distance(x - step, y)) / 2
        np.testing.assert_allclose(jitted(x, y) @ step, difference, rtol=1e-5)


def test_kinks_are_seen() -> None:
    (kink,) = ad.kinks(lambda x: min(x, 2 * x), 0.0)
    assert "less" in repr(kink)
