"""Replay: calls between which something changes are as in NumPy, and others do not run the code."""

from __future__ import annotations

import builtins
import collections
import dataclasses
import functools
import math
import operator
import threading
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.base import pytrees
from adjoint.calculus.jit import replay
from tests.counting import counting

X = np.array([0.7, -1.3, 2.1])


@pytest.fixture(autouse=True)
def nothing_kept() -> Iterator[None]:
    """Each test begins with nothing kept, and runs on NumPy."""
    replay.forget_all()
    with ad.config(native=False):
        yield


def by_differences(function: Callable[..., Any], x: Any, *rest: Any) -> Any:
    """The gradient of NumPy's own values."""
    slopes = []
    for place in range(len(x)):
        step = np.zeros(len(x))
        step[place] = 1e-6
        slopes.append((function(x + step, *rest) - function(x - step, *rest)) / 2e-6)
    return np.array(slopes)


def as_numpy(function: Callable[..., Any], x: Any = X, *rest: Any) -> None:
    """Value and gradient are NumPy's, at calls enough for what is kept to be used."""
    with_jit = ad.jit(ad.value_and_grad(function))
    for scale in (1.0, 1.0, 1.1, 0.9, 1.2):
        point = scale * x
        expected, slopes = function(point, *rest), by_differences(function, point, *rest)
        for derive in (ad.value_and_grad(function), with_jit):
            value, gradient = derive(point, *rest)
            assert np.isclose(value, expected, rtol=1e-12), (value, expected)
            np.testing.assert_allclose(gradient, slopes, rtol=1e-5, atol=1e-6)


def in_sequence(function: Callable[..., Any], *changes: Callable[[], Any]) -> None:
    """As NumPy before, between and after changes, with jitted functions that outlive them."""
    jitted, gradient = ad.jit(ad.value_and_grad(function)), ad.value_and_grad(function)
    for change in (lambda: None, *changes, *changes[:1]):
        change()
        for scale in (1.0, 1.1, 0.9, 1.2):
            point = scale * X
            expected, slopes = function(point), by_differences(function, point)
            for found in (gradient(point), jitted(point), ad.value_and_grad(function)(point)):
                assert np.isclose(found[0], expected, rtol=1e-12), (found[0], expected)
                np.testing.assert_allclose(found[1], slopes, rtol=1e-5, atol=1e-6)


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
    assert len(calls) == 13  # the helper reads the batch too, and it is not the function's own


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


# --- what changes between calls -------------------------------------------------------------------

scale = 2.0


def doubled(x: Any) -> Any:
    return 2 * x


def test_globals() -> None:
    global scale

    def change(value: Any) -> None:
        global scale
        scale = value

    try:
        in_sequence(
            lambda x: np.sum(x**2) * scale,
            lambda: change(3.0),
            lambda: change(3),
            lambda: change(np.array([1.0, 2.0, 4.0]).sum()),
            lambda: change(np.arange(3.0)[1]),
        )
    finally:
        scale = 2.0


def test_a_function_of_the_module_is_another(monkeypatch: pytest.MonkeyPatch) -> None:
    import tests.calculus.test_replay as own

    in_sequence(
        lambda x: np.sum(doubled(x) ** 2),
        lambda: monkeypatch.setattr(own, "doubled", lambda x: 3 * x),
        lambda: monkeypatch.setattr(own.doubled, "__code__", (lambda x: 5 * x).__code__),
    )


def test_closures() -> None:
    factor, data, nested = 2.0, np.ones(3), [1.0, {"a": (2.0, [3.0])}]

    def function(x: Any) -> Any:
        return factor * np.sum(data * x**2) * nested[1]["a"][1][0]  # type: ignore[index]

    def rebind() -> None:
        nonlocal factor, data
        factor, data = 3.0, np.array([1.0, 2.0, 3.0])

    in_sequence(
        function,
        rebind,
        lambda: data.__setitem__(1, 7.0),
        lambda: nested[1]["a"][1].__setitem__(0, 5.0),  # type: ignore[index]
        lambda: nested.__setitem__(1, {"a": (0, [2])}),
    )


def test_defaults_and_code() -> None:
    def function(x: Any, k: Any = 2.0, *, power: Any = 2) -> Any:
        return k * np.sum(x**power)

    def other(x: Any, k: Any = 2.0, *, power: Any = 2) -> Any:
        return k * np.sum(np.sin(x) * power)

    in_sequence(
        function,
        lambda: setattr(function, "__defaults__", (5.0,)),
        lambda: function.__kwdefaults__.update(power=3),
        lambda: setattr(function, "__kwdefaults__", {"power": 1}),
        lambda: setattr(function, "__code__", other.__code__),
    )


def test_attributes_of_functions() -> None:
    def function(x: Any) -> Any:
        return function.scale * np.sum(x**2)  # type: ignore[attr-defined]

    function.scale = 2.0  # type: ignore[attr-defined]
    in_sequence(function, lambda: setattr(function, "scale", 3.0))


class Model:
    """With data of the class and of the object."""

    offset = 1.0

    def __init__(self) -> None:
        self.weights = np.array([1.0, 2.0, 3.0])
        self.layers: list[Any] = [np.sin, doubled]
        self.options = {"power": 2}
        self.history: list[float] = []

    def loss(self, x: Any) -> Any:
        for layer in self.layers:
            x = layer(x)
        return np.sum(self.weights * x ** self.options["power"]) + self.shift(x)

    def shift(self, x: Any) -> Any:
        return self.offset * np.sum(x)


def test_attributes_of_objects() -> None:
    model = Model()
    before = Model.shift
    try:
        in_sequence(
            model.loss,
            lambda: setattr(model, "weights", np.ones(3)),
            lambda: model.weights.__setitem__(0, 4.0),
            lambda: setattr(model, "offset", 2.0),
            lambda: setattr(Model, "shift", lambda self, x: 3 * np.sum(x)),
            lambda: model.options.update(power=3),
            lambda: model.layers.append(np.cos),
            lambda: setattr(model, "shift", lambda x: 0.5 * np.sum(x)),
        )
    finally:
        Model.shift = before  # type: ignore[method-assign]


def test_attributes_that_are_not_read_may_change() -> None:
    model = Model()
    loss, calls = counting(model.loss)
    for _ in range(8):
        ad.grad(loss)(X)
        model.history.append(1.0)
    assert len(calls) == replay.FEWEST_CALLS + 1


@dataclasses.dataclass
class Options:
    rate: float
    names: tuple[str, ...] = ("a",)


def test_arguments_that_are_objects() -> None:
    def function(x: Any, options: Any) -> Any:
        return options.rate * np.sum(x ** len(options.names))

    options, gradient = Options(2.0), ad.jit(ad.grad(function))
    for change in (lambda: None, lambda: setattr(options, "names", ("a", "b"))):
        change()
        for _ in range(4):
            expected = by_differences(function, X, options)
            for found in (ad.grad(function)(X, options), gradient(X, options)):
                np.testing.assert_allclose(found, expected, rtol=1e-6)

    class Plain:
        rate = 3.0

    plain = Plain()
    for rate in (3.0, 4.0):
        plain.rate = rate
        for _ in range(4):
            for found in (ad.grad(lambda x, p: p.rate * np.sum(x))(X, plain),):
                np.testing.assert_array_equal(found, rate)


def test_members_of_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    in_sequence(
        lambda x: np.sum(np.sinc(x)) * math.tau,
        lambda: monkeypatch.setattr(np, "sinc", lambda x: 7 * x),
        lambda: monkeypatch.setattr(math, "tau", 1.0),
    )


def test_builtins(monkeypatch: pytest.MonkeyPatch) -> None:
    in_sequence(
        lambda x: sum(x) * ord("a"),
        lambda: monkeypatch.setattr(builtins, "ord", lambda _: 5.0),
        lambda: monkeypatch.setitem(globals(), "ord", lambda _: 7.0),
    )


def test_containers_of_other_kinds() -> None:
    held: dict[str, Any] = {"kept": collections.deque([1.0, 2.0])}

    def function(x: Any) -> Any:
        return np.sum(x * sum(held["kept"]))

    in_sequence(
        function,
        lambda: held.update(kept=collections.deque([1.0, 2.0])),
        lambda: held["kept"].append(3.0),
        lambda: held.update(kept={1.5, 2.5}),
        lambda: held["kept"].add(4.0),
        lambda: held.update(kept=collections.OrderedDict({1.0: "a", 2.0: "b"})),
        lambda: held.update(kept=frozenset({0.5})),
        lambda: held.update(kept=(np.float32(2.0), 1)),
    )


def test_equal_values_of_other_types() -> None:
    held: list[Any] = [2]

    def function(x: Any) -> Any:
        return (x * held[0]).dtype.itemsize * np.sum(x) + isinstance(held[0], int)

    in_sequence(function, *(functools.partial(held.__setitem__, 0, k) for k in (2.0, True, 1)))


def test_the_order_of_dicts_and_the_sign_of_zero() -> None:
    held: dict[str, float] = {"a": 1.0, "b": 2.0}
    zero = [0.0]

    def function(x: Any) -> Any:
        total = 0.0
        for name in held:
            total = 3 * total + held[name]
        return total * np.sum(x) * math.copysign(1.0, zero[0])

    def turn() -> None:
        held["a"] = held.pop("a")

    in_sequence(function, turn, lambda: zero.__setitem__(0, -0.0))


def test_what_is_one_object_and_what_is_two() -> None:
    first, second = [1.0], [1.0]
    pair = [first, second]

    def function(x: Any) -> Any:
        return np.sum(x) * (3.0 if pair[0] is pair[1] else 2.0)

    in_sequence(function, lambda: pair.__setitem__(1, first), lambda: pair.__setitem__(1, second))


def test_settings_of_numpy_and_of_this_package() -> None:
    def function(x: Any) -> Any:
        return np.sum(np.abs(x - 0.7))

    for _ in range(4):
        assert ad.grad(function)(X)[0] == 0.0
        with ad.config(kink=1.0):
            assert ad.grad(function)(X)[0] == 1.0

    def divides(x: Any) -> Any:
        return np.sum(1.0 / x)

    zero = np.array([0.0, 1.0])
    for _ in range(4):
        with np.errstate(all="ignore"):
            assert ad.value_and_grad(divides)(zero)[0] == np.inf
        with np.errstate(all="raise"), pytest.raises(FloatingPointError):
            ad.value_and_grad(divides)(zero)


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


# --- what is captured at every call ---------------------------------------------------------------


def test_random_numbers_are_drawn_anew() -> None:
    rng, same = (np.random.default_rng(3) for _ in range(2))

    def function(x: Any) -> Any:
        return np.sum(x * rng.normal(size=3))

    jitted = ad.jit(ad.grad(function))
    for _ in range(5):
        np.testing.assert_array_equal(ad.grad(function)(X), same.normal(size=3))
        np.testing.assert_array_equal(jitted(X), same.normal(size=3))


def test_seeds() -> None:
    def function(x: Any) -> Any:
        return np.sum(x * np.random.random(3))  # the old functions, too

    for seed in (1, 1, 1, 2, 2, 3):
        np.random.seed(seed)
        found = ad.grad(function)(X)
        np.random.seed(seed)
        np.testing.assert_array_equal(found, np.random.random(3))


def test_what_is_printed_is_printed_each_time(capsys: pytest.CaptureFixture[str]) -> None:
    def function(x: Any) -> Any:
        print("here")
        return np.sum(x)

    for _ in range(5):
        ad.grad(function)(X)
    assert capsys.readouterr().out.split() == ["here"] * 5


def test_effects_happen_at_each_call() -> None:
    seen: list[Any] = []
    count = 0

    def appends(x: Any) -> Any:
        seen.append(1)
        return np.sum(x)

    def counts(x: Any) -> Any:
        nonlocal count
        count += 1
        return count * np.sum(x)

    jitted = ad.jit(appends)
    for number in range(1, 7):
        ad.grad(appends)(X)
        jitted(X)
        assert len(seen) == 2 * number
        assert ad.grad(counts)(X)[0] == number


def test_an_iterator_goes_on() -> None:
    numbers = iter(range(1, 100))

    def function(x: Any) -> Any:
        return next(numbers) * np.sum(x)

    assert [ad.grad(function)(X)[0] for _ in range(6)] == [1, 2, 3, 4, 5, 6]


def test_what_is_stored_at_one_point_is_stored_at_the_next() -> None:
    class Keeps:
        last: Any = None

        def loss(self, x: Any) -> Any:
            self.last = float(np.sum(x))
            return np.sum(x**2)

    model = Keeps()
    for factor in (1.0, 1.0, 1.0, 1.0, 2.0, 3.0):  # the same at first
        ad.grad(model.loss)(factor * X)
        assert type(model.last) is float
        assert math.isclose(model.last, factor * X.sum())


def test_a_warm_cache_is_replayed() -> None:
    tables: dict[int, Any] = {}

    def table(n: int) -> Any:
        if n not in tables:
            tables[n] = np.arange(1.0, n + 1)
        return tables[n]

    function, calls = counting(lambda x: np.sum(table(3) * x))
    for _ in range(8):
        np.testing.assert_array_equal(ad.grad(function)(X), [1.0, 2.0, 3.0])
    assert len(calls) <= replay.FEWEST_CALLS + 2
    tables[3] = np.ones(3)
    np.testing.assert_array_equal(ad.grad(function)(X), 1.0)


# --- what is written into -------------------------------------------------------------------------


def _writes() -> list[tuple[str, Callable[[Any, Any], Any]]]:
    from numpy import copyto as c

    blas = pytest.importorskip("scipy.linalg.blas")
    return [
        ("np.add", lambda W, _: np.add(W, 1.0, W)),
        ("flat", lambda W, _: setattr(W, "flat", 2.0)),
        ("clip", lambda W, _: W.clip(2, 3, W)),
        ("cumsum", lambda W, _: np.cumsum(W, 0, None, W)),
        ("copyto", lambda W, _: c(W, 3.0)),
        ("getattr", lambda W, _: getattr(W, "fill")(2.0)),  # noqa: B009  # what is tested
        ("iadd", lambda W, _: operator.iadd(W, 1.0)),
        ("setitem", lambda W, _: operator.setitem(W, 0, 9.0)),
        ("out", lambda W, _: np.add(W, 1.0, **{"out": W})),
        ("view", lambda W, _: W[1:].fill(3.0)),
        ("reshaped", lambda W, _: W.reshape(-1, 1).__setitem__(0, 5.0)),
        ("put", lambda W, _: np.put(W, [0], 7.0)),
        ("sort", lambda W, _: W[::-1].sort()),
        ("partition", lambda W, _: W.partition(2)),
        ("attribute", lambda _, box: box.buf.fill(2.0)),
        ("multiply", lambda W, _: np.multiply(W, 2.0, W)),
        ("ufunc.at", lambda W, _: np.add.at(W, [0, 0], 1.0)),
        ("byteswap", lambda W, _: W.byteswap(True)),
        ("blas", lambda W, _: blas.dscal(2.0, W)),
        ("itemset", lambda W, _: W.__setitem__(slice(None), 4.0)),
    ]


@pytest.mark.parametrize("length", [10, 4097])
@pytest.mark.parametrize(("name", "write"), _writes(), ids=[name for name, _ in _writes()])
def test_writes_after_an_array_was_used(
    name: str, write: Callable[[Any, Any], Any], length: int
) -> None:
    W = np.arange(float(length))[::-1].copy()
    W[2] = -1.0
    box = types.SimpleNamespace(buf=W)

    def function(x: Any) -> Any:
        y = np.sum(W * x)
        write(W, box)
        return y + np.sum(W * x) * 0.5

    x, start = np.ones(length), W.copy()
    for _ in range(4):
        W[:] = start
        expected = function(x)
        after = W.copy()
        W[:] = start
        value, gradient = ad.value_and_grad(function)(x)
        np.testing.assert_allclose(value, expected, rtol=1e-12)
        np.testing.assert_allclose(gradient, start + 0.5 * after, rtol=1e-12)
        np.testing.assert_array_equal(W, after)


# --- nothing left over ----------------------------------------------------------------------------


def test_what_outlives_a_capture_is_numpys() -> None:
    kept: dict[Any, Any] = {"list": [], "set": set(), "nested": {"pair": None}}

    class Holder:
        __slots__ = ("loss",)

    holder, model = Holder(), types.SimpleNamespace()

    def function(x: Any) -> Any:
        loss = np.sum(x**2)
        kept["list"].append(float(loss))
        kept["set"].add(loss)
        kept["nested"]["pair"] = (loss, [x * 2])
        holder.loss, model.work, model.x = loss, np.zeros(3), x
        return loss

    x = X.copy()
    for _ in range(4):
        ad.grad(function)(x)
        loss = float(np.sum(x**2))
        assert type(kept["list"][-1]) is float
        assert math.isclose(kept["list"][-1], loss)
        assert all(type(each) is np.float64 for each in kept["set"])
        pair, (twice,) = kept["nested"]["pair"]
        assert type(pair) is np.float64
        np.testing.assert_array_equal(twice, 2 * x)
        assert type(holder.loss) is np.float64
        assert type(model.work) is np.ndarray
        assert model.x is x


def test_objects_of_classes_that_are_containers() -> None:
    class Log(dict[str, Any]):
        last: Any = None

    log = Log()

    def function(x: Any) -> Any:
        log["loss"] = np.sum(x)
        log.last = (np.sum(x), {"x": x * 2})
        return np.sum(x**2)

    ad.grad(function)(X)
    assert type(log["loss"]) is type(log.last[0]) is np.float64
    assert type(log.last[1]["x"]) is np.ndarray


def test_after_a_failure_too() -> None:
    model = types.SimpleNamespace()

    def function(x: Any) -> Any:
        model.state = x * 2
        raise KeyError("here")

    with pytest.raises(KeyError):
        ad.grad(function)(X)
    np.testing.assert_array_equal(model.state, 2 * X)
    assert type(model.state) is np.ndarray


class Memo:
    key: Any = None
    value: Any = None

    def loss(self, x: Any) -> Any:
        if self.key is None or not np.array_equal(self.key, x):
            self.key, self.value = x, np.sum(x**2)
        return self.value


def test_memoisation_by_hand_is_no_zero_gradient() -> None:
    memo = Memo()
    np.testing.assert_array_equal(ad.grad(memo.loss)(X), 2 * X)
    with pytest.raises(ad.errors.DroppedDerivativeError, match="an earlier call"):
        ad.grad(memo.loss)(X)
    np.testing.assert_array_equal(ad.grad(memo.loss)(2 * X), 4 * X)


def test_a_warm_start_is_a_warning() -> None:
    model = types.SimpleNamespace(guess=np.ones(3))

    def root(x: Any) -> Any:
        y = model.guess
        for _ in range(30):
            y = (y + x / y) / 2
        model.guess = y
        return np.sum(y)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_allclose(ad.grad(root)(X**2), 0.5 / np.abs(X))
    with pytest.warns(ad.errors.StaleValueWarning, match="implicit.root"):
        np.testing.assert_allclose(ad.grad(root)(4 * X**2), 0.25 / np.abs(X))


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
    rng = np.random.default_rng(0)

    def noisy(x: Any) -> Any:
        return x + rng.normal()

    with pytest.raises(ad.errors.NotReplayableError, match=r"rng: the state of a numpy\.random"):
        ad.jit(noisy, strict=True)(1.0)

    def shows(x: Any) -> Any:
        print("x")
        return x

    with pytest.raises(
        ad.errors.NotReplayableError, match=r"it prints .*test_replay.py:\d+: print"
    ):
        ad.jit(shows, strict=True)(1.0)
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
