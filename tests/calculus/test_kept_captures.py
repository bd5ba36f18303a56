"""Captures that are kept for pullbacks, linear maps, Taylor coefficients, batches and the like."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.base import pytrees
from adjoint.base.errors import ProgramError
from adjoint.calculus.jit import replay
from tests.calculus.replaying import X
from tests.counting import counting

Way = Callable[[Callable[..., Any], Any], Any]


@pytest.fixture(autouse=True, params=[False, None], ids=["numpy", "native"])
def nothing_kept(request: pytest.FixtureRequest) -> Iterator[None]:
    """Each test begins with nothing kept, on NumPy and on machine code."""
    replay.forget_all()
    with ad.config(native=request.param):
        yield


def pulled(function: Callable[..., Any], x: Any) -> Any:
    value, pullback = ad.vjp(function, x)
    return value, pullback(np.ones_like(value))


WAYS: dict[str, Way] = {
    "vjp": pulled,
    "linearize": lambda f, x: ad.linearize(f, x)[1](x),
    "derivative": lambda f, x: ad.derivative(f, x)(x),
    "differential": lambda f, x: ad.differential(lambda y: np.sum(f(y)), x)(x),
    "taylor": lambda f, x: ad.taylor(f, x, x, 2),
    "second_derivative": lambda f, x: ad.second_derivative(f, x)(x, x),
    "vmap": lambda f, x: ad.vmap(f)(np.stack([x, 2 * x])),
    "derivative_tensor": lambda f, x: ad.derivative_tensor(f, x, 2).components,
}


def same(one: Any, other: Any) -> None:
    for left, right in zip(pytrees.leaves(one), pytrees.leaves(other), strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-12)


@pytest.mark.parametrize("name", WAYS)
def test_a_function_is_not_run_again(name: str) -> None:
    function, runs = counting(lambda x: np.sin(x) * x)
    for number in range(1, 8):
        x = X * number
        WAYS[name](function, x)
    assert len(runs) == 3


@pytest.mark.parametrize("name", ["vjp", "linearize", "taylor"])
def test_nothing_is_derived_again_once_a_capture_is_kept(name: str) -> None:
    def function(x: Any) -> Any:
        return np.sin(x) * x if np.sum(x) > 0 else x

    X = np.array([0.5, 1.0, 2.0])
    ad.cache_clear()
    WAYS[name](function, X)
    first = ad.cache_info().misses
    for number in range(2, 8):
        WAYS[name](function, X * number)
    assert ad.cache_info().misses == first + 1  # the program of the questions


@pytest.mark.parametrize("name", WAYS)
def test_what_changes_is_seen(name: str) -> None:
    factor = 1.0

    def function(x: Any) -> Any:
        return factor * np.sin(x)

    for number in range(12):
        factor = float(1 + number // 4)
        found = WAYS[name](function, X)
        with ad.config(replay=False):
            same(found, WAYS[name](function, X))


@pytest.mark.parametrize("name", [each for each in WAYS if each != "vmap"])
def test_questions_are_answered_anew(name: str) -> None:
    function, runs = counting(lambda x: x * x if x[0] > 0 else np.sin(x))
    for number in range(12):
        x = X * (-1) ** number
        found = WAYS[name](function, x)
        before = len(runs)
        with ad.config(replay=False):
            same(found, WAYS[name](function, x))
        del runs[before:]
    assert len(runs) == 4  # two times nothing is kept of, and once for each answer


def test_questions_of_what_all_examples_share() -> None:
    function, runs = counting(lambda x, c: x * c if c > 0 else x - c)
    batch = np.stack([X, 2 * X])
    for number in range(12):
        c = (-1.0) ** number
        found = ad.vmap(function, (0, None))(batch, c)
        np.testing.assert_array_equal(found, batch * c if c > 0 else batch - c)
    assert len(runs) == 4


def test_many_answers_are_given_up() -> None:
    function, _ = counting(lambda x: x * int(x[0]))
    for number in range(40):
        x = X + number
        value, pullback = ad.vjp(function, x)
        np.testing.assert_array_equal(value, x * int(x[0]))
        np.testing.assert_array_equal(pullback(X)[0], X * int(x[0]))


def test_results_may_be_written_into() -> None:
    held = np.array([1.0, 2.0, 3.0])

    def function(x: Any) -> Any:
        return x**2, x, held

    for _ in range(50):
        x = X.copy()
        (square, same_x, constant), pullback = ad.vjp(function, x)
        for each in (x, square, same_x, constant):
            each[:] = 9.0
        np.testing.assert_array_equal(held, [1.0, 2.0, 3.0])
        cotangents = pullback((np.ones(3), np.ones(3), np.ones(3)))
        np.testing.assert_allclose(cotangents[0], 2 * X + 1)


def test_what_does_not_depend_on_the_arguments_warns_once_at_every_call() -> None:
    def function(x: Any) -> Any:
        zeros = np.zeros(2)
        zeros /= 0.0
        return x * 2 + np.sum(np.log(np.zeros(2)))

    with pytest.warns(RuntimeWarning) as expected:
        function(1.0)
    jitted = ad.jit(function)
    for way in (ad.grad(function), jitted, lambda x: ad.vjp(function, x)[1](1.0)):
        for _ in range(6):
            with pytest.warns(RuntimeWarning) as record:
                way(1.0)
            assert [str(w.message) for w in record] == [str(w.message) for w in expected]
            assert [w.lineno for w in record] == [w.lineno for w in expected]


def test_warnings_are_numpys() -> None:
    def asks(x: Any) -> Any:
        if np.log(x[0]) < 1:  # a warning that what is differentiated does not give
            return x * 2
        return x

    for _ in range(6):
        with pytest.warns(RuntimeWarning, match="divide by zero encountered in log"):
            ad.vjp(asks, np.array([0.0, 1.0]))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            ad.vjp(asks, np.array([1.0, 1.0]))


@pytest.mark.parametrize("debug", [False, True])
def test_what_is_drawn_is_drawn_anew(debug: bool) -> None:
    rng, alike = np.random.default_rng(1), np.random.default_rng(1)
    function, runs = counting(lambda x: x * rng.normal() if rng.random() < 0.5 else x)
    with ad.config(debug=debug):
        for _ in range(20):
            value, pullback = ad.vjp(function, X)
            expected = alike.normal() if alike.random() < 0.5 else 1.0
            np.testing.assert_array_equal(value, X * expected)
            np.testing.assert_array_equal(pullback(np.ones(3))[0], np.full(3, expected))
    assert len(runs) < 10


def test_what_is_printed_is_printed_each_time(capsys: pytest.CaptureFixture[str]) -> None:
    def function(x: Any) -> Any:
        print("sum", np.sum(x))
        if x[0] > 3:
            print("large")
        return x * x

    for number in range(8):
        value, _ = ad.vjp(function, X + number)
        np.testing.assert_array_equal(value, (X + number) ** 2)
        with ad.config(replay=False):
            expected = capsys.readouterr().out
            function(X + number)
            assert expected == capsys.readouterr().out


def test_other_effects_are_had_at_each_call() -> None:
    seen: list[Any] = []

    def function(x: Any) -> Any:
        seen.append(1)
        return x

    for number in range(1, 8):
        ad.vjp(function, X)
        assert len(seen) == number


def test_loops_whose_tapes_grow() -> None:
    def rounds(x: Any, count: Any) -> Any:
        def body(state: Any) -> Any:
            return state[0] * np.cos(state[0] * 0.1), state[1] + 1, state[2]

        return ad.while_loop(lambda state: state[1] < state[2], body, (x, 0.0, count))[0]

    for count in (3.0, 5.0, 40.0, 700.0, 3.0, 3000.0, 8.0, 8.0):
        value, pullback = ad.vjp(rounds, np.float64(1.3), np.float64(count))
        slope = pullback(np.float64(1.0))[0]
        with ad.config(replay=False):
            expected, reference = ad.vjp(rounds, np.float64(1.3), np.float64(count))
            assert value == expected
            np.testing.assert_allclose(slope, reference(np.float64(1.0))[0])


def test_debug_mode_finds_what_was_not_noted() -> None:
    class Hidden:
        """Looks like a part of the package, which is taken for pure."""

        __module__ = "adjoint.hidden"
        factor = 1.0

        def __call__(self) -> float:
            Hidden.factor += 1.0
            return Hidden.factor

    hidden = Hidden()

    def calls() -> None:
        for _ in range(5):
            ad.vjp(lambda x: x * hidden(), X)

    with ad.config(debug=True), pytest.raises(ProgramError, match="a defect of adjoint"):
        calls()
