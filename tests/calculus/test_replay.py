"""Replay: what is proven unchanged is not captured again, and errors are NumPy's and Python's."""

from __future__ import annotations

import functools
import math
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.base import pytrees
from adjoint.calculus.jit import replay
from adjoint.executors.compilation import Compilation
from tests.calculus.replaying import X
from tests.counting import counting


@pytest.fixture(autouse=True)
def nothing_kept() -> Iterator[None]:
    """Each test begins with nothing kept, and runs on NumPy."""
    replay.forget_all()
    with ad.config(native=False):
        yield


scale = 2.0


# --- that it is done ------------------------------------------------------------------------------


def test_a_function_is_captured_as_often_as_it_must_be_and_then_no_more() -> None:
    function, calls = counting(lambda x: np.sum(x**2))
    gradient = ad.grad(function)
    for scale in range(10):
        np.testing.assert_allclose(gradient(scale * X), 2 * scale * X)
    assert len(calls) == replay.FEWEST_CALLS + 1


def test_a_gradient_made_anew_of_a_function_made_anew_is_replayed() -> None:
    _, calls = counting(lambda: None)
    data = np.array([1.0, 2.0, 3.0])
    counter = counting(lambda: None)[0]

    def made(data: Any) -> Callable[..., Any]:
        def loss(x: Any) -> Any:
            counter()
            return np.sum(data * x**2)

        return loss

    before = len(calls)
    for _ in range(8):
        np.testing.assert_allclose(ad.grad(made(data.copy()))(X), 2 * data * X)
    assert len(calls) == before


@pytest.mark.parametrize(
    "derive",
    [
        lambda f: ad.grad(f)(X),
        lambda f: ad.value_and_grad(f)(X),
        lambda f: ad.grad(f, space=ad.spaces.Euclidean(3))(X),
        lambda f: ad.jvp(f, (X,), (np.ones(3),)),
        lambda f: ad.hessian(f)(X),
        lambda f: ad.laplacian(f)(X),
        lambda f: ad.value_grad_laplacian(f)(X),
        lambda f: ad.second_order_operator(f, np.ones(len(X)), X)(X),
        lambda f: ad.estimate_laplacian(f, np.ones((2, len(X))))(X),
        lambda f: ad.hvp(f, X, np.ones(3)),
        lambda f: ad.jacobian(f)(X),
        lambda f: ad.grad(ad.grad(lambda t: f(t * X)))(1.0),
    ],
)
def test_derivatives_that_are_replayed(derive: Callable[..., Any]) -> None:
    function, calls = counting(lambda x: np.sum(np.sin(x) * x))
    results = [derive(function) for _ in range(6)]
    assert len(calls) == replay.FEWEST_CALLS + 1
    first = pytrees.leaves(results[0])
    for each in results[1:]:
        for one, other in zip(pytrees.leaves(each), first, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-13)


def test_settings_of_inner_derivatives_are_told_apart() -> None:
    def function(x: Any, y: Any = 3.0) -> Any:
        return np.sum(x**3) * y

    for _ in range(5):
        for argnums, expected in ((0, 9.0), (1, 1.0)):
            inner = ad.grad(function, argnums=argnums)
            assert ad.jvp(lambda x, inner=inner: inner(x, 3.0), (1.0,), (1.0,))[0] == expected
            assert ad.grad(ad.jit(inner))(1.0, 3.0) == (18.0 if argnums == 0 else 3.0)


def test_machine_code_is_replayed() -> None:
    function, calls = counting(lambda x: np.sum(np.exp(x) * x) if x[0] > 0 else np.sum(x))
    with ad.config(native=True, debug=False):
        for scale in (1.0, 1.0, 1.1, 0.9, 1.2, -1.0, -2.0, 1.0, -1.0):
            point = scale * X
            expected = np.exp(point) * (point + 1) if scale > 0 else np.ones(3)
            np.testing.assert_allclose(ad.grad(function)(point), expected, rtol=1e-12)
    assert len(calls) == replay.FEWEST_CALLS + 2


def test_both_sides_of_a_branch_are_kept() -> None:
    function, calls = counting(lambda x: np.sum(x**2) if x[0] > 0 else -np.sum(x))
    for scale in (1.0, 1.0, 1.0, 1.0, -1.0, -1.0, 1.0, -2.0, 3.0):
        expected = 2 * scale * X if scale > 0 else -np.ones(3)
        np.testing.assert_allclose(ad.grad(function)(scale * X), expected)
    assert len(calls) == replay.FEWEST_CALLS + 2


def test_data_that_differ_from_call_to_call_become_inputs() -> None:
    function, calls = counting(lambda w, x, rate: rate * np.sum((x @ w) ** 2))
    rng = np.random.default_rng(0)
    for _ in range(10):
        x, rate = rng.normal(size=(4, 3)), float(rng.uniform())
        np.testing.assert_allclose(ad.grad(function)(X, x, rate), 2 * rate * x.T @ (x @ X))
    assert len(calls) == replay.FEWEST_CALLS + 2


def test_data_in_the_closure_that_differ_from_call_to_call_become_inputs() -> None:
    tick, calls = counting(lambda: None)
    rng = np.random.default_rng(0)

    def gradient(x: Any, rate: float) -> Any:
        def loss(w: Any) -> Any:
            tick()
            return rate * np.sum((x @ w) ** 2) + helper(w)

        def helper(w: Any) -> Any:
            return np.sum(w) * len(x)

        return ad.grad(loss)(X)

    for length in (4, 4, 4, 4, 4, 4, 4, 5, 5, 5, 5, 4, 4):
        x, rate = rng.normal(size=(length, 3)), float(rng.uniform())
        np.testing.assert_allclose(gradient(x, rate), 2 * rate * x.T @ (x @ X) + length)
    assert len(calls) <= 9  # the helper reads the batch too, from a closure of its own


def test_a_batch_in_the_closure_is_replayed() -> None:
    tick, calls = counting(lambda: None)
    rng = np.random.default_rng(0)

    def over(x: Any, rate: float) -> Any:
        return ad.grad(lambda w: tick() or rate * np.sum((x @ w) ** 2))(X)

    for native in (False, True):
        with ad.config(native=native, debug=not native):
            for _ in range(10):
                x, rate = rng.normal(size=(4, 3)), float(rng.uniform())
                np.testing.assert_allclose(over(x, rate), 2 * rate * x.T @ (x @ X))
    assert len(calls) == replay.FEWEST_CALLS + 2 + 1  # once more for machine code


def test_a_recursion_reads_its_own_closure() -> None:
    def gradient(rate: float) -> Any:
        def power(x: Any, n: int = 3) -> Any:
            return rate * np.sum(x) if n == 0 else rate * power(x, n - 1)

        return ad.grad(power)(X)

    for rate in (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0):
        np.testing.assert_allclose(gradient(rate), rate**4)


def test_results_are_the_callers_own() -> None:
    gradient = ad.grad(lambda x: np.sum(x * np.array([1.0, 2.0, 3.0])))
    for _ in range(5):
        found = gradient(X)
        np.testing.assert_array_equal(found, [1.0, 2.0, 3.0])
        found[:] = 0.0


def test_arguments_of_other_types_and_structures() -> None:
    def loss(parameters: Any, power: Any = 2) -> Any:
        total = 0.0
        for name in parameters:
            total = 3 * total + np.sum(parameters[name] ** power)
        return total

    for _ in range(4):
        one = ad.grad(loss)({"a": 2.0, "b": 3.0})
        other = ad.grad(loss)({"b": 3.0, "a": 2.0})
        assert (one["a"], one["b"]) == (12.0, 6.0)
        assert (other["a"], other["b"]) == (4.0, 18.0)
        assert ad.grad(loss)({"a": 2.0}, 3)["a"] == 12.0
        assert ad.grad(loss)({"a": np.float32(2.0)})["a"].dtype == np.float32


# --- errors ---------------------------------------------------------------------------------------


def divided(x: Any) -> Any:
    t = float(x[0])
    try:
        return (1.0 / t + 5.0 // t) * x[1]
    except ZeroDivisionError:
        return 7 * x[1]


def rooted(x: Any) -> Any:
    try:
        return math.sqrt(x[0]) * x[1]
    except ValueError:
        return 7 * x[1]


def raised(x: Any) -> Any:
    try:
        return float(x[0]) ** 1000 * x[1]
    except OverflowError:
        return 7 * x[1]


def solved(x: Any) -> Any:
    try:
        return np.linalg.solve(np.array([[x[0], 1.0], [1.0, 1.0]]), np.ones(2))[0] + x[1]
    except np.linalg.LinAlgError:
        return 7 * x[1]


def picked(x: Any) -> Any:
    try:
        return x[int(x[0])] * x[1]
    except IndexError:
        return 7 * x[1]


@pytest.mark.parametrize(
    ("function", "points"),
    [
        (divided, (2.0, 3.0, 4.0, 5.0, 0.0, 2.0, 0.0)),
        (divided, (0.0, 0.0, 0.0, 0.0, 2.0, 0.0)),
        (rooted, (2.0, 3.0, 4.0, 5.0, -1.0, 2.0, -2.0)),
        (raised, (1.0, 1.0, 1.0, 1.0, 1e10, 1.0)),
        (solved, (2.0, 3.0, 4.0, 5.0, 1.0, 2.0)),
        (picked, (0.0, 1.0, 0.0, 1.0, 5.0, 0.0)),
    ],
)
def test_errors_that_the_function_handles(function: Any, points: tuple[float, ...]) -> None:
    jitted = ad.jit(ad.value_and_grad(function))
    for first in points:
        x = np.array([first, 1.5])
        for found in (ad.value_and_grad(function)(x), jitted(x)):
            assert np.isclose(found[0], function(x))


def test_errors_that_the_caller_handles() -> None:
    def function(x: Any) -> Any:
        return 1.0 / float(x[0]) * x[1]

    jitted = ad.jit(ad.value_and_grad(function))
    for first in (1.0, 2.0, 3.0, 4.0, 0.0, 1.0, 0.0):
        x = np.array([first, 1.5])
        for derive in (ad.value_and_grad(function), jitted):
            if first:
                assert derive(x)[0] == function(x)
            else:
                with pytest.raises(ZeroDivisionError):
                    derive(x)


# --- jit ------------------------------------------------------------------------------------------


def test_jit_tells_types_apart() -> None:
    small = np.array([100, 2], np.int8)
    jitted = ad.jit(lambda n, x: n * x)
    for _ in range(2):
        for n in (2, np.int64(2), 2.0, np.float64(2.0), 2j, np.complex128(2j)):
            with np.errstate(all="ignore"):
                found, expected = jitted(n, small), n * small
            np.testing.assert_array_equal(found, expected)
            assert found.dtype == expected.dtype


def test_jit_tells_keys_and_statics_apart() -> None:
    def named(parameters: Any, mode: Any) -> Any:
        (key,) = parameters
        bonus = 1.0 if type(key) is int else 2.0
        return bonus * np.sum(parameters[key]) + (10.0 if mode is True else 0.0)

    jitted = ad.jit(named)
    for _ in range(2):
        for key in (1, True):
            assert jitted({key: X}, "a") == named({key: X}, "a")

    order = ad.jit(lambda parameters: functools.reduce(lambda a, b: 2 * a + b, parameters.values()))
    for _ in range(2):
        for parameters in ({"a": 1.0, "b": 5.0}, {"b": 5.0, "a": 1.0}):
            assert order(parameters) == functools.reduce(
                lambda a, b: 2 * a + b, parameters.values()
            )


def test_strict_jit_refuses_with_a_reason() -> None:
    numbers = iter([1.0, 2.0])

    def counts(x: Any) -> Any:
        return x + next(numbers)

    with pytest.raises(ad.errors.NotReplayableError, match="list_iterator is unknown"):
        ad.jit(counts, strict=True)(1.0)

    def late(x: Any) -> Any:
        return x + time.time()

    with pytest.raises(
        ad.errors.NotReplayableError, match=r"it uses time, .*test_replay.py:\d+: return x"
    ):
        ad.jit(late, strict=True)(1.0)
    assert ad.jit(lambda x: x + scale, strict=True)(1.0) == 3.0


# --- looking --------------------------------------------------------------------------------------


def test_explain_lists_facts_and_questions() -> None:
    found = ad.explain(ad.grad(lambda x: scale * np.sum(x**2) if x[0] > 0 else np.sum(x)), X)
    assert found.replayed
    assert any(fact == ("scale", "value 2.0") for fact in found.facts)
    assert len(found.questions) == 1
    assert "test_replay.py" in str(found)


def test_explain_names_what_the_call_changes() -> None:
    history: list[float] = []

    def function(x: Any) -> Any:
        history.append(1.0)
        return np.sum(x)

    found = ad.explain(function, X)
    assert not found.replayed
    assert "the call has changed history" in str(found)


# --- threads --------------------------------------------------------------------------------------


def test_threads() -> None:
    faults: list[Any] = []

    def work(number: int) -> None:
        weights = np.full(3, float(number))

        def loss(x: Any) -> Any:
            return np.sum(weights * x**2)

        for _ in range(30):
            found = ad.grad(loss)(X)
            if not np.allclose(found, 2 * number * X):
                faults.append((number, found))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults


def test_closeness_is_a_question_of_truth() -> None:
    def solved(x: Any) -> Any:
        y = np.ones(3)
        for _ in range(50):
            before, y = y, 0.5 * np.cos(y) + x
            if np.allclose(before, y, atol=1e-6) or np.array_equal(before, y):
                break
        return np.sum(y)

    counted, calls = counting(solved)
    way = ad.jit(ad.value_and_grad(counted))
    for number in range(8):
        x = X * (1 + number * 1e-9)
        assert np.isclose(way(x)[0], solved(x), rtol=1e-12)
    assert len(calls) == 1


def test_no_unjitted_call_waits_for_machine_code_that_answers_questions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waits: list[float | None] = []
    wait = Compilation.wait

    def noted(compilation: Compilation, seconds: float | None = None) -> bool:
        waits.append(seconds)
        return wait(compilation, seconds)

    monkeypatch.setattr(Compilation, "wait", noted)
    function, _ = counting(lambda x: np.sum(x**3) if np.sum(x) > 0 else np.sum(x * x))
    with ad.config(native=None):
        for number in range(60):
            point = (1 + number / 100) * X
            np.testing.assert_allclose(ad.grad(function)(point), 3 * point**2)
        assert None not in waits
        np.testing.assert_allclose(ad.jit(ad.grad(function))(X), 3 * X**2)
        assert waits[-1] is None
