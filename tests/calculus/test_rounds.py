"""Python's own `while` as one operation of the program, where its rounds are proven to be alike."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.calculus.control_flow import rounds
from adjoint.executors import aside
from adjoint.primitives.declaration import PRIMITIVES
from adjoint.program import all_equations
from tests.reverse import pulled


def loops_in(function: Callable[..., Any], *args: Any) -> int:
    """How many loops that end by values are in a function's program, as it is kept."""
    program = ad.program(ad.jit(function), *args).program
    return sum(equation.primitive.name == "while" for equation in all_equations(program))


def root(a: Any) -> Any:
    y = a
    while abs(y * y - a) > 1e-12:
        y = y - 0.1 * (y * y - a) / y
    return y


def broken(a: Any) -> Any:
    x = np.ones(2) * a
    while True:
        x = x * 0.9
        if np.sum(x) < 0.01:
            break
    return np.sum(x * a)


def negated(a: Any) -> Any:
    done, x = a < 0, a * 1.0
    while not done:
        x, done = 0.5 * x, x < 1e-6
    return x * a


def swapped(a: Any) -> Any:
    x, y = np.sin(a), np.cos(a)
    while x * x + y * y > 1e-8:
        x, y = y, 0.9 * x + 0.01 * y * a
    return x + 2 * y


def previous(a: Any) -> Any:
    x, before = a, 2 * a
    while abs(x - before) > 1e-9:
        before, x = x, np.cos(x) * 0.7 + 0.1 * a
    return x + before


class Model:
    """A state that is written into."""

    def __init__(self, a: Any) -> None:
        self.place = np.array([1.0, 2.0]) * a
        self.speed = np.zeros(2)

    def step(self) -> None:
        self.speed += -0.1 * self.place - 0.3 * self.speed
        self.place += 0.1 * self.speed


def in_place(a: Any) -> Any:
    model = Model(a)
    while np.sum(model.place**2) > 1e-4:
        model.step()
    return model.place[0] * a + np.sum(model.speed)


def with_gradient_within(a: Any) -> Any:
    def energy(x: Any) -> Any:
        return np.sum((x - a) ** 2) + 0.1 * np.sum(x**4)

    x = np.zeros(2)
    while np.sum(ad.grad(energy)(x) ** 2) > 1e-10:
        x = x - 0.02 * ad.grad(energy)(x)
    return np.sum(x)


def nested(a: Any) -> Any:
    x, total = a, 0.0 * a
    while x > 1e-3:
        y = x
        while y > 1e-2:
            y = 0.6 * y
        total = total + y
        x = 0.9 * x
    return total


def with_other_question(a: Any) -> Any:
    x, y = a, 1.0 + a * 0
    while y > 1e-6:
        x = 0.98 * x if x > 0.5 else x + 0.001 * a
        y = 0.95 * y
    return x


LOOPS = (root, broken, negated, swapped, previous, in_place, with_gradient_within, nested)
POINTS = (2.0, 3.0, 1.5, 2.5, 0.8)


@pytest.mark.parametrize("function", [*LOOPS, with_other_question], ids=lambda f: f.__name__)
def test_values_and_derivatives_are_those_of_the_rounds(function: Any) -> None:
    jitted, value, back = (ad.jit(f) for f in (ad.grad(function), function, pulled(function)))
    for a in (*POINTS, *POINTS[::-1]):
        h = 1e-6
        expected = (function(a + h) - function(a - h)) / (2 * h)
        slopes = ad.grad(function)(a), jitted(a), pulled(function)(a), back(a)
        for slope in (*slopes, ad.jvp(function, (a,), (1.0,))[1]):
            np.testing.assert_allclose(slope, expected, rtol=1e-5, atol=1e-7)
        for number in (value(a), ad.value_and_grad(function)(a)[0]):
            np.testing.assert_allclose(number, function(a), rtol=1e-9)


@pytest.mark.parametrize("function", LOOPS, ids=lambda f: f.__name__)
def test_they_are_loops(function: Any) -> None:
    assert loops_in(function, 2.0) >= 1


def test_other_numbers_of_rounds_need_no_capture() -> None:
    def counted(a: Any) -> Any:
        y = a
        while y > 1e-3:
            y = 0.9 * y
        return y

    jitted = ad.jit(counted)
    jitted(1.0)
    before = ad.cache_info()
    for a in (1.0, 10.0, 100.0, 3.0):
        np.testing.assert_allclose(jitted(a), counted(a), rtol=1e-12)
    after = ad.cache_info()
    assert (after.hits, after.misses) == (before.hits, before.misses)


def counting(a: Any) -> Any:
    count, x = 0, a
    while x > 1e-3:
        x = 0.9 * x
        count += 1
    return x * count


def limited(a: Any) -> Any:
    count, x = 0, a
    while x > 1e-3 and count < 37:
        x = 0.9 * x
        count += 1
    return x


def remembering(a: Any) -> Any:
    x, history = a, []
    while x > 1e-3:
        history.append(x)
        x = 0.9 * x
    return sum(history)


def iterating(a: Any) -> Any:
    x, factors = a, iter([0.9, 0.8, 0.7] * 100)
    while x > 1e-3:
        x = x * next(factors)
    return x


def over_a_generator(a: Any) -> Any:
    def halves() -> Any:
        x = a
        while x > 1e-3:
            x = 0.5 * x
            yield x

    return sum(halves())


class Counter:
    calls = 0


def of_a_class(a: Any) -> Any:
    x, Counter.calls = a, 0
    while x > 1e-3:
        Counter.calls += 1
        x = x * (0.9 if Counter.calls < 20 else 0.5)
    return x


def of_a_dictionary(a: Any) -> Any:
    x, state = a, {"count": 0}
    while x > 1e-3:
        state["count"] += 1
        x = x * (0.9 if state["count"] < 20 else 0.5)
    return x


def of_a_closure(a: Any) -> Any:
    count = 0

    def factor() -> float:
        nonlocal count
        count += 1
        return 0.9 if count < 20 else 0.5

    x = a
    while x > 1e-3:
        x = x * factor()
    return x


def called_often(a: Any) -> Any:
    def once(x: Any, k: int) -> Any:
        if x > 0:
            x = x - 0.01 * x * (k % 3)
        return x

    for k in range(40):
        a = once(a, k)
    return a


def with_another_state_than_its_names(a: Any) -> Any:
    total = 0.0 * a
    for scale in (0.9, 0.8, 0.5):
        x = a
        while x > 1e-3:
            x = scale * x
        total = total + x
    return total


HIDDEN = (
    *(counting, limited, remembering, iterating, over_a_generator, of_a_class, of_a_dictionary),
    *(of_a_closure, called_often, with_another_state_than_its_names),
)


@pytest.mark.parametrize("function", HIDDEN, ids=lambda f: f.__name__)
def test_state_that_differs_from_round_to_round_counts(function: Any) -> None:
    jitted = ad.jit(ad.value_and_grad(function))
    for a in (1.0, 2.0, 5.0, 1.0, 0.3, 7.0):
        h = 1e-7
        slope = (function(a + h) - function(a - h)) / (2 * h)
        for value, derivative in (jitted(a), ad.value_and_grad(function)(a)):
            np.testing.assert_allclose(value, function(a), rtol=1e-9)
            np.testing.assert_allclose(derivative, slope, rtol=1e-4, atol=1e-7)


def test_draws_in_rounds_are_made() -> None:
    def noisy(a: Any, rng: np.random.Generator) -> Any:
        x = a
        while x > 1e-3:
            x = x * (0.8 + 0.1 * rng.random())
        return x

    for _ in range(4):
        one, other = np.random.default_rng(3), np.random.default_rng(3)
        value = ad.value_and_grad(lambda a, rng=one: noisy(a, rng))(1.0)[0]
        np.testing.assert_allclose(value, noisy(1.0, other), rtol=1e-12)
        assert one.random() == other.random()


def test_what_is_printed_in_rounds_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    def told(a: Any) -> Any:
        while a > 1e-2:
            a = 0.5 * a
            print("round")
        return a

    for _ in range(5):
        ad.grad(told)(1.0)
        assert capsys.readouterr().out == "round\n" * 7


def test_a_warning_of_a_round_is_that_of_its_line() -> None:
    def overflowing(a: Any) -> Any:
        x, y = np.float64(a), np.float64(a)
        while x > 1e-3:
            x, y = 0.9 * x, y * 1e10
        return x + 1 / y

    for function in (overflowing, ad.grad(overflowing), ad.jit(ad.grad(overflowing))):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            function(1e3)
        assert any("overflow" in str(warning.message) for warning in caught)


def test_arrays_that_are_written_into_are_so_for_all_their_names() -> None:
    def shared(a: Any) -> Any:
        x = np.array([1.0, 2.0]) * a
        other = x
        while x[0] > 1e-3:
            x *= 0.9
        return other[1] * a

    for a in (1.0, 2.0, 0.5):
        np.testing.assert_allclose(ad.jit(shared)(a), shared(a), rtol=1e-10)
        np.testing.assert_allclose(
            ad.jit(ad.grad(shared))(a), (shared(a + 1e-7) - shared(a - 1e-7)) / 2e-7, rtol=1e-5
        )


def test_a_view_of_what_is_carried_follows_it() -> None:
    def viewed(a: Any) -> Any:
        x = np.array([1.0, 2.0, 3.0]) * a
        tail = x[1:]
        while x[0] > 1e-3:
            x *= 0.9
        return np.sum(tail)

    for a in (1.0, 2.0, 0.5):
        np.testing.assert_allclose(ad.jit(viewed)(a), viewed(a), rtol=1e-10)
        np.testing.assert_allclose(ad.grad(viewed)(a), viewed(a) / a, rtol=1e-4)


def test_results_that_depend_by_the_test_alone_are_told() -> None:
    def halved(a: Any) -> Any:
        x = np.float64(1.0)
        while x > a * 1e-6:
            x = x * 0.5
        return x

    for _ in range(4):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            assert ad.grad(halved)(2.0) == 0
        names = [warning.category.__name__ for warning in caught]
        assert names == ["QuestionsAloneWarning"]


def test_higher_derivatives_and_batches_go_through() -> None:
    expected = -1 / (4 * 2.0**1.5)
    np.testing.assert_allclose(ad.jit(ad.grad(ad.grad(root)))(2.0), expected, rtol=1e-6)
    np.testing.assert_allclose(ad.hessian(root)(2.0), expected, rtol=1e-6)
    with pytest.raises(ad.errors.ValueNeededError):
        ad.vmap(root)(np.array([1.0, 2.0]))


# --- long loops -----------------------------------------------------------------------------------


def settled(a: Any) -> Any:
    """A loop within a loop, of many rounds each."""
    total, step = 0.0 * a, a
    while step > 1e-4:
        y = step
        while abs(y * y - step) > 1e-9:
            y = y - 0.02 * (y * y - step) / y
        total, step = total + y, 0.9 * step
    return total


def test_long_loops_that_jit_finds_are_machine_code_from_a_few_rounds_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compiled: list[int] = []
    run = aside._LoopAside.compiled

    def noted(*given: Any) -> Any:
        compiled.append(1)
        return run(*given)

    monkeypatch.setattr(aside._LoopAside, "compiled", noted)
    ad.cache_clear()
    np.testing.assert_allclose(ad.jit(settled)(2.0), settled(2.0), rtol=1e-9)
    assert compiled
    compiled.clear()
    ad.grad(settled)(2.0)  # nothing is to wait for a compiler
    assert not compiled


def test_a_long_loop_gives_what_all_its_rounds_by_numpy_give(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[Any] = []
    found = aside.loop_results

    def noted(*given: Any) -> Any:
        asked.append(given)
        return found(*given)

    monkeypatch.setattr(rounds, "loop_results", noted)
    ad.cache_clear()
    ad.jit(root)(2.0)
    loop, numbers, _ = asked[0]
    whole = loop.primitive.evaluate(*numbers, **loop.params)
    for longest in (1, 10**9):
        aside.forget_aside()
        results = aside.loop_results(loop, numbers, longest)
        assert results[0] == whole[0]
        for got, expected in zip(results, whole, strict=True):
            np.testing.assert_allclose(got, expected, rtol=1e-10)
    # Machine code follows a few rounds by NumPy, from where these have led.
    aside.forget_aside()
    monkeypatch.setattr(aside, "seconds_of_run", lambda *_: 1e9)
    results = aside.loop_results(loop, numbers, 1)
    assert results[0] == whole[0]
    for got, expected in zip(results, whole, strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-10)


def test_what_a_loop_has_given_is_not_computed_again_for_a_question_within(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def inner(w: Any) -> Any:
        x = 4.0 + w
        while x > 1.0:
            x = 0.8 * x
        return x * w

    def outer(a: Any) -> Any:
        w = a
        while w > 1e-2:
            w = 0.7 * w
        return ad.grad(inner)(w) * a

    while_ = PRIMITIVES["while"]
    count: list[int] = []
    evaluate = while_.evaluate

    def counted(*given: Any, **params: Any) -> Any:
        count.append(1)
        return evaluate(*given, **params)

    expected = ad.grad(outer)(3.0)
    ad.cache_clear()
    object.__setattr__(while_, "evaluate", counted)
    try:
        np.testing.assert_allclose(ad.jit(ad.grad(outer))(3.0), expected, rtol=1e-9)
        assert len(count) <= 4
    finally:
        object.__setattr__(while_, "evaluate", evaluate)
