"""What is recorded in one piece, or copied from an earlier call, is what it would be otherwise."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.capture.recording.values.recipes import RECIPES

X = np.array([0.7, 0.3, 0.5])


def decompositions(x: Any) -> Any:
    A = np.outer(x, x) + np.eye(3)
    total = np.var(A, axis=0).sum() + np.mean(x) + np.linalg.norm(A) + np.linalg.norm(x, 3)
    total += np.concatenate([x, np.zeros(2), 2 * x]).sum() + np.stack([x, x * 2.0])[1].sum()
    total += np.cumsum(x)[1] + np.diff(x).sum() + np.trace(A) + np.linalg.solve(A, x).sum()
    total += np.polyval([1.0, 2.0, 0.0], x).sum() + np.hypot(x[0], x[1])
    total += np.where(A > 1, A, 0).sum()
    return total + np.array([x[0], 1.0, x[2]]).sum() ** 2.5


def numbers_decide(x: Any) -> Any:
    orders = sum(np.linalg.norm(x, order) for order in (1, 2, 3.0, np.inf))
    powers = sum(np.power(x, exponent).sum() for exponent in (2, 2.0, 0.5, 3))
    return orders + powers + np.clip(x, 0.0, 0.4).sum() + np.clip(x, 0.35, 0.6).sum()


def views_are_none(x: Any) -> Any:
    A = np.outer(x, x)
    flat, turned, rows = A.ravel(), A.T, A.reshape(9)
    flat[0], turned[0, 1], rows[5] = 5 * x[0], x[1], 3.0
    return (A * turned).sum()


def own_entries(x: Any) -> Any:
    y = x.copy()
    y[1:] = y[:-1]
    y += y[::-1]
    y[:2] *= x[1:]
    return (y**3).sum()


def places(x: Any) -> Any:
    y, A = np.zeros(3), np.outer(x, x)
    for place in (np.int64(2), 0, 1):
        y[place] = x[place] * 2
        A[int(place), :] = y
        A[place] += x
        y[-1] -= A[0, 1]
    return (A @ y).sum()


def integers(x: Any) -> Any:
    total = 0
    for place in range(5):
        odd = place % 2
        total = total + x[0] * 2 * odd - (3 - x[1]) * 2 + 1 / (2 + x[2]) - x[0] * odd
        if x[0] > odd:
            total = total + 1 * x[1]
    return total


PROGRAMS = [decompositions, numbers_decide, views_are_none, own_entries, places, integers]


@pytest.mark.parametrize("function", PROGRAMS)
def test_values_and_derivatives(function: Callable[[Any], Any]) -> None:
    with ad.config(replay=False):
        for _ in range(2):
            value, gradient = ad.value_and_grad(function)(X)
            assert np.isclose(value, function(X.copy()), rtol=1e-14)
        step = 1e-6 * np.eye(3)
        differences = [(function(X + each) - function(X - each)) / 2e-6 for each in step]
    assert np.allclose(gradient, differences, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("function", PROGRAMS)
def test_the_program_is_the_same_with_and_without_what_was_kept(
    function: Callable[[Any], Any],
) -> None:
    for kept in RECIPES.values():
        kept.clear()
    first = str(ad.program(function, X))
    assert str(ad.program(function, X)) == first


def test_integers_in_the_code_are_one_input_and_others_are_data() -> None:
    def function(x: Any, count: int) -> Any:
        for _ in range(4):
            x = 3 * x + 2
        return x * count

    program = str(ad.program(lambda x: function(x, 2), X))
    assert len(re.findall(r"python int", program.splitlines()[0])) == 3


def test_an_integer_that_varies_at_one_place_is_no_literal() -> None:
    def function(x: Any) -> Any:
        for count in (1, 2, 3):
            x = x * count
        return x.sum()

    assert (ad.grad(function)(X) == 6).all()


def test_an_array_that_cannot_be_written_is_refused_as_numpy_does() -> None:
    def written(x: Any) -> Any:
        y = np.broadcast_to(x, (2, 3))
        y[0, 0] = 1.0
        return y.sum()

    for function in (written, ad.grad(written)):
        with pytest.raises(ValueError, match="read-only"):
            function(X)
