"""Replay: random numbers are drawn anew, by the same generators, in NumPy's own order."""

from __future__ import annotations

import random
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.calculus.jit import replay
from tests.calculus.replaying import X
from tests.counting import counting

DATA = np.arange(24.0).reshape(8, 3) / 10
Function = Callable[[Any], Any]


@pytest.fixture(autouse=True)
def nothing_kept() -> Iterator[None]:
    """Each test begins with nothing kept, and runs on NumPy."""
    replay.forget_all()
    with ad.config(native=False):
        yield


def _minibatch(rng: Any) -> Function:
    def function(x: Any) -> Any:
        rows = rng.integers(0, len(DATA), size=4)
        noise = 0.01 * rng.normal(size=4)
        return np.mean((DATA[rows] @ x - 1 + noise) ** 2)

    return function


def _single_rows(rng: Any) -> Function:
    def function(x: Any) -> Any:
        total = 0.0
        for place in rng.permutation(len(DATA))[:3]:
            total += np.tanh(DATA[place] @ x)
        return total

    return function


def _branches(rng: Any) -> Function:
    def function(x: Any) -> Any:
        if rng.random() < 0.5:
            return np.sum(x) * rng.normal()
        return np.sum(x**2) + rng.exponential() * rng.normal()

    return function


def _dropout(rng: Any) -> Function:
    def function(x: Any) -> Any:
        kept = rng.random(3) < 0.7
        return np.sum(np.where(kept, np.sin(x), 0.0)) + np.sum(x[rng.choice(3, 2, replace=False)])

    return function


def _rounds(rng: Any) -> Function:
    def function(x: Any) -> Any:
        for _ in range(int(rng.integers(1, 4))):
            x = np.sin(x) * rng.uniform(0.5, 1.5)
        return np.sum(x)

    return function


def _shuffled(rng: Any) -> Function:
    def function(x: Any) -> Any:
        order = np.arange(3)
        rng.shuffle(order)
        return np.sum(x[order] * np.arange(3.0))

    return function


def _filled(rng: Any) -> Function:
    def function(x: Any) -> Any:
        noise = rng.standard_normal(3)
        noise[1] = x[0]
        noise[2] += x[1]
        rng.random(out=(other := np.empty(2)))
        return np.sum(noise * x) + other.sum() * x[0]

    return function


def _factorised(rng: Any) -> Function:
    def function(x: Any) -> Any:
        rng.normal()
        A = np.diag(x**2 - 0.4 + 0.2 * rng.random(3))
        try:
            return np.sum(np.linalg.cholesky(A)) * rng.normal()
        except np.linalg.LinAlgError:
            return np.sum(x)

    return function


def _weighted(rng: Any) -> Function:
    chances = np.array([0.2, 0.3, 0.5])

    def function(x: Any) -> Any:
        place = rng.choice(3, p=chances)
        rows = rng.choice(DATA, size=2)
        mean = rng.multivariate_normal(np.zeros(3), np.eye(3))
        return x[place] * np.sum(rows @ x) + mean @ x

    return function


def _as_attribute(rng: Any) -> Function:
    class Sampler:
        def __init__(self) -> None:
            self.rng = rng
            self.draw = rng.normal

        def loss(self, x: Any) -> Any:
            scale = [self.rng.gamma(2.0), self.draw(1.0, size=3)]
            return np.sum(scale[0] * x**2) + scale[1] @ x

    return Sampler().loss


def _text(rng: Any) -> Function:
    def function(x: Any) -> Any:
        return np.sum(x) * len(rng.bytes(3)) * rng.normal()

    return function


FUNCTIONS = [
    *(_minibatch, _single_rows, _branches, _dropout, _rounds, _shuffled, _filled, _factorised),
    *(_weighted, _as_attribute, _text),
]
REPLAYED = (_minibatch, _single_rows, _dropout, _weighted, _as_attribute, _branches)


def _checked(one: Function, other: Function, calls: int, *ways: Any) -> None:
    """One function under some ways, against another of the same generators on NumPy alone."""
    for number in range(calls):
        for way in ways:
            x = X * (1 + number / 50)
            value, slope = way(x)
            assert np.isclose(value, other(x), rtol=1e-10)
            assert slope.shape == x.shape


@pytest.mark.parametrize("make", FUNCTIONS)
@pytest.mark.parametrize("debug", [False, True])
def test_the_stream_of_numbers_is_numpys(make: Callable[[Any], Function], debug: bool) -> None:
    one, other = (make(np.random.default_rng(3)) for _ in range(2))
    gradient = ad.value_and_grad(one)
    with ad.config(debug=debug):
        _checked(one, other, 24, gradient, ad.jit(gradient))


@pytest.mark.parametrize("make", REPLAYED, ids=lambda make: make.__name__)
def test_functions_that_draw_are_not_run_again(make: Callable[[Any], Function]) -> None:
    function, calls = counting(make(np.random.default_rng(3)))
    gradient = ad.grad(function)
    for _ in range(12):
        gradient(X)
    before = len(calls)
    for _ in range(6):
        gradient(X)
    assert len(calls) == before


@pytest.mark.parametrize("make", [_minibatch, _dropout, _branches])
def test_machine_code(make: Callable[[Any], Function]) -> None:
    one, other = (make(np.random.default_rng(3)) for _ in range(2))
    with ad.config(native=True):
        _checked(one, other, 12, ad.jit(ad.value_and_grad(one)))


def test_the_old_generators() -> None:
    def function(x: Any) -> Any:
        first = np.random.rand(3) @ x + np.random.normal(0, 1, 3) @ x**2
        return first * random.gauss(0, 1) + random.random() * x[random.randrange(3)]

    gradient = ad.value_and_grad(function)
    jitted = ad.jit(gradient)
    for number in range(12):
        for way in (gradient, jitted):
            np.random.seed(number // 2)
            random.seed(number // 2)
            found = way(X)[0]
            np.random.seed(number // 2)
            random.seed(number // 2)
            assert np.isclose(found, function(X))


def test_names_of_what_draws() -> None:
    from random import gauss

    from numpy.random import normal, seed

    def function(x: Any) -> Any:
        seed(3)
        return np.sum(x * normal(size=3)) * gauss(0, 1)

    gradient = ad.value_and_grad(function)
    for _ in range(6):
        random.seed(2)
        found = gradient(X)[0]
        random.seed(2)
        assert np.isclose(found, function(X))
    assert ad.explain(gradient, X).replayed


def test_generators_that_are_made_inside() -> None:
    def function(x: Any) -> Any:
        rng = np.random.default_rng(7)
        old = np.random.RandomState(1)
        long = np.random.Generator(np.random.PCG64(5))
        python = random.Random(3)
        assert isinstance(rng, np.random.Generator)
        noise = rng.normal(size=3) + old.rand(3) + long.random(3)
        return noise @ x * python.uniform(0, 2) * np.sum(random.Random(1).sample(range(9), 3))

    counted, calls = counting(function)
    gradient = ad.value_and_grad(counted)
    for _ in range(8):
        assert np.isclose(gradient(X)[0], function(X))
    assert len(calls) <= replay.FEWEST_CALLS + 2


def test_without_a_seed_numbers_differ() -> None:
    def function(x: Any) -> Any:
        return np.sum(x) * np.random.default_rng().normal()

    gradient = ad.grad(function)
    assert len({gradient(X)[0] for _ in range(8)}) == 8


def test_a_training_loop() -> None:
    def trained(step: Callable[[Any], Any], calls: int) -> Any:
        x = np.zeros(3)
        for _ in range(calls):
            x = x - 0.1 * step(x)
        return x

    one, other = (_minibatch(np.random.default_rng(1)) for _ in range(2))
    with ad.config(replay=False):
        expected = trained(ad.grad(other), 30)
    np.testing.assert_allclose(trained(ad.grad(one), 30), expected, rtol=1e-12)
    one = _minibatch(np.random.default_rng(1))
    whole = ad.jit(lambda x: trained(ad.grad(one), 3) + x)
    other = _minibatch(np.random.default_rng(1))
    for _ in range(4):
        np.testing.assert_allclose(whole(X), trained(ad.grad(other), 3) + X, rtol=1e-12)


def test_another_generator_is_another_fact() -> None:
    box = types.SimpleNamespace(rng=np.random.default_rng(0))

    def function(x: Any) -> Any:
        return np.sum(x) * box.rng.normal()

    for seed in (0, 0, 1, 2):
        box.rng, same = np.random.default_rng(seed), np.random.default_rng(seed)
        for _ in range(5):
            assert ad.grad(function)(X)[0] == same.normal()


def test_an_error_comes_where_it_comes_in_the_function() -> None:
    rng, same = (np.random.default_rng(3) for _ in range(2))

    def function(x: Any, source: Any = rng) -> Any:
        size = source.normal()
        A = np.diag(x) * (np.abs(size) > 0.9)  # singular now and then
        solved = np.linalg.solve(A, x)
        return np.sum(solved) * source.normal()

    gradient = ad.value_and_grad(lambda x: function(x))
    for _ in range(30):
        try:
            expected = function(X, same)
        except np.linalg.LinAlgError:
            with pytest.raises(np.linalg.LinAlgError):
                gradient(X)
        else:
            assert np.isclose(gradient(X)[0], expected)


def test_reading_a_state_is_no_draw() -> None:
    rng = np.random.default_rng(0)

    def function(x: Any) -> Any:
        return np.sum(x) * (rng.bit_generator.state["state"]["state"] % 7)

    gradient = ad.grad(function)
    for _ in range(6):
        rng.random()
        assert gradient(X)[0] == rng.bit_generator.state["state"]["state"] % 7


def test_what_is_drawn_is_said() -> None:
    found = ad.explain(ad.grad(_minibatch(np.random.default_rng(0))), X)
    assert found.replayed
    assert [each.what for each in found.anew] == ["draws with integers", "draws with normal"]
    assert "integers" in str(found)


def test_seeds_that_are_arguments() -> None:
    def noisy(x: Any, seed: Any, several: Any) -> Any:
        np.random.seed(seed)
        drawn = [
            np.random.normal(),
            np.random.default_rng(seed).normal(),
            np.random.default_rng([seed, 1]).normal(),
            np.random.default_rng(several).normal(),
            np.random.RandomState(seed).normal(),
            random.Random(seed).random(),
        ]
        return np.sum(x) * sum(drawn)

    jitted = ad.jit(noisy)
    for seed in (1, 1, 2, 1, 2, 3):
        several = np.array([seed, 5])
        assert np.isclose(jitted(X, seed, several), noisy(X, seed, several))
