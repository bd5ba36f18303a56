"""Results belong to the caller, and arrays of the caller may change: before, between, after."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from tests.capture.battery.known import WRONG


def known(name: str) -> Any:
    """What is wrong today may be."""
    wrong = name in WRONG.get("ownership", ())
    return pytest.mark.xfail(wrong, strict=False, reason="known to be wrong")


SIZES = (2, 5000)  # longer ones may be shared where short ones are copied
plain: Callable[[Any], Any] = lambda function: function  # noqa: E731


@pytest.fixture(params=[plain, ad.jit], ids=["unjitted", "jitted"])
def made(request: pytest.FixtureRequest) -> Callable[[Any], Any]:
    """A transformed function, jitted or not."""
    return request.param  # type: ignore[no-any-return]


@pytest.mark.parametrize("n", SIZES)
def test_a_gradient_that_is_overwritten_is_not_seen_again(made: Any, n: int) -> None:
    gradient = made(ad.grad(lambda x: np.sum(x)))
    x = np.ones(n)
    for _ in range(3):
        found = gradient(x)
        np.testing.assert_array_equal(found, 1.0)
        found[...] = 7.0


@pytest.mark.parametrize("n", SIZES)
def test_a_value_that_is_overwritten_is_not_seen_again(made: Any, n: int) -> None:
    data = np.arange(float(n))
    function = made(lambda x: data)
    for _ in range(3):
        found = function(np.ones(n)) if made is ad.jit else ad.jvp(function, (1.0,), (1.0,))[0]
        np.testing.assert_array_equal(found, np.arange(float(n)))
        found[...] = 7.0
    np.testing.assert_array_equal(data, np.arange(float(n)))


@pytest.mark.parametrize("n", SIZES)
def test_a_value_is_not_the_argument(n: int) -> None:
    x = np.ones(n)
    value, slope = ad.jvp(lambda x: x, (x,), (x,))
    value[...] = 3.0
    slope[...] = 4.0
    np.testing.assert_array_equal(x, 1.0)
    first, second = ad.jvp(lambda x: (x, x), (x,), (x,))[0]
    first[...] = 5.0
    np.testing.assert_array_equal(second, 1.0)


@pytest.mark.parametrize("n", SIZES)
def test_a_pullback_keeps_the_data_of_its_time(n: int) -> None:
    data, x = np.full(n, 2.0), np.ones(n)
    _, pullback = ad.vjp(lambda x: data * x**2, x)
    data[:] = 100.0
    np.testing.assert_allclose(pullback(np.ones(n))[0], 4.0)


@pytest.mark.parametrize("n", SIZES)
def test_a_pullback_keeps_the_point_of_its_time(n: int) -> None:
    x = np.ones(n)
    _, pullback = ad.vjp(lambda x: np.sum(x**3), x)
    x[:] = 100.0
    np.testing.assert_allclose(pullback(1.0)[0], 3.0)


@pytest.mark.parametrize("n", SIZES)
def test_a_linear_map_keeps_what_it_was_made_of(n: int) -> None:
    class Model:
        weights = np.full(n, 2.0)

        def __call__(self, x: Any) -> Any:
            return self.weights * np.sin(x)

    model, x = Model(), np.ones(n)
    value, linear = ad.linearize(model, x)
    model.weights[:] = 0.0
    x[:] = 0.0
    value[...] = 0.0
    np.testing.assert_allclose(linear(np.ones(n)), 2.0 * np.cos(1.0))


@pytest.mark.parametrize("n", SIZES)
def test_a_workspace_does_not_reach_into_results(n: int) -> None:
    class Model:
        def __init__(self) -> None:
            self.work = np.zeros(n)

        def __call__(self, x: Any) -> Any:
            self.work[:] = x
            return self.work

    function = Model()
    first = ad.jvp(function, (np.ones(n),), (np.ones(n),))[0]
    second = ad.jvp(function, (np.full(n, 2.0),), (np.ones(n),))[0]
    np.testing.assert_array_equal(first, 1.0)
    np.testing.assert_array_equal(second, 2.0)


@known("what_is_kept_is_not_changed_by_later_calls")
def test_what_is_kept_is_not_changed_by_later_calls() -> None:
    kept: list[Any] = []

    def function(x: Any) -> Any:
        kept.append(x * 2)
        return np.sum(kept[-1] ** 2)

    x = np.ones(2)
    for k in range(3):
        x[:] = k
        ad.grad(function)(x)
    for k, each in enumerate(kept):
        np.testing.assert_array_equal(np.asarray(each), 2.0 * k)


def test_gradients_of_one_point_are_separate() -> None:
    gradients = ad.grad(lambda x, y: np.sum(x + y), argnums=(0, 1))(np.ones(2), np.ones(2))
    gradients[0][...] = 9.0
    np.testing.assert_array_equal(gradients[1], 1.0)


def test_a_read_only_argument_stays_so() -> None:
    x = np.ones(2)
    x.flags.writeable = False
    ad.grad(lambda x: np.sum(x**2))(x)
    assert not x.flags.writeable
    assert ad.grad(lambda x: np.sum(x**2))(x).flags.writeable


def test_data_that_are_written_between_two_reads_of_a_map() -> None:
    data = np.ones(2)
    derivative = ad.derivative(lambda x: data * x, np.ones(2))
    first = derivative(np.ones(2))
    data[:] = 5.0
    np.testing.assert_array_equal(derivative(np.ones(2)), first)
    np.testing.assert_array_equal(derivative.H(np.ones(2)), first)


def test_random_numbers_of_a_linear_map_are_drawn_once() -> None:
    generator = np.random.default_rng(0)
    _, linear = ad.linearize(lambda x: generator.normal(size=2) * x, np.ones(2))
    after = generator.bit_generator.state
    np.testing.assert_array_equal(linear(np.ones(2)), linear(np.ones(2)))
    assert generator.bit_generator.state == after
