"""Which nodes have a loop of their own: those that read rows, and those made of their sums."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ad

RANDOM = np.random.default_rng(0)
ROWS = RANDOM.normal(size=(5000, 20))
WEIGHTS = RANDOM.normal(size=20) * 0.1
LONG_ROWS = RANDOM.normal(size=(200, 1000))


def logistic(z: Any) -> Any:
    return np.sum(np.log1p(np.exp(-np.abs(z))) + np.maximum(z, 0))


def of_computed_rows(w: Any, x: Any) -> Any:
    return logistic(np.exp(x * 0.1) @ w)


def of_given_rows(w: Any, x: Any) -> Any:
    return logistic(x @ w)


def of_sums_of_rows(w: Any, x: Any) -> Any:
    return logistic(np.sum(x * x, axis=1) * w[0])


def softmax(x: Any) -> Any:
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    return np.log(np.sum(e / np.sum(e, axis=1, keepdims=True) * x, axis=1) ** 2 + 1)


def loops_of(function: Callable[..., Any], *arguments: Any) -> list[str]:
    """The names of the loops and products of a program."""
    table = str(ad.program(function, *arguments).native().regions())
    return [line.split("  ")[0] for line in table.splitlines()[1:]]


@pytest.mark.parametrize("function", [of_computed_rows, of_given_rows, of_sums_of_rows])
def test_rows_and_what_is_made_of_their_sums_are_apart(function: Callable[..., Any]) -> None:
    names = loops_of(function, WEIGHTS, ROWS)
    of_rows = [name for name in names if "contract" in name or "multiply, sum" in name]
    elementary = [name for name in names if "exp, log1p" in name or "absolute" in name]
    assert len(of_rows) == 1
    assert elementary
    assert not set(of_rows) & set(elementary)


def test_numbers_that_follow_each_other_are_one_region() -> None:
    def function(x: Any, rows: Any) -> Any:
        y = np.sin(x[0]) * x[1] + x[2]
        return np.sum(np.exp(rows * y)) / (y + x[1])

    code = ad.program(function, np.arange(3.0), ROWS).native()
    numbers, loop, rest = code.regions()
    assert (numbers.name, numbers.equations) == ("sin, multiply, add", 4)
    assert loop.name.startswith("loop of")
    assert (rest.name, rest.equations) == ("divide", 1)
    places = [place for place in code.places() if place is not None]
    assert sorted(places) == [*[0] * 4, *[1] * (len(places) - 5), 2]


def test_long_rows_stay_in_one_loop() -> None:
    """Each row is in a cache while it is read several times, and few numbers are made of them."""
    assert len(loops_of(softmax, LONG_ROWS)) == 1


@pytest.mark.parametrize("function", [of_computed_rows, of_given_rows, of_sums_of_rows])
def test_values_and_gradients_are_those_of_numpy(function: Callable[..., Any]) -> None:
    results = []
    for native in (False, True):
        with ad.config(native=native):
            results.append(ad.jit(ad.value_and_grad(function))(WEIGHTS, ROWS))
    (value, slopes), (wanted, expected) = results
    np.testing.assert_allclose(value, wanted, rtol=1e-13)
    np.testing.assert_allclose(slopes, expected, rtol=1e-11, atol=1e-12)
    with ad.config(native=True):
        curved = ad.jit(ad.hessian(function))(WEIGHTS, ROWS)
    with ad.config(native=False):
        np.testing.assert_allclose(
            curved, ad.hessian(function)(WEIGHTS, ROWS), rtol=1e-9, atol=1e-9
        )
