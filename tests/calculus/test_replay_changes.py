"""Replay: where something has changed between calls, all is as in NumPy."""

from __future__ import annotations

import builtins
import collections
import dataclasses
import functools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.calculus.jit import replay
from tests.calculus.replaying import X, by_differences, in_sequence
from tests.counting import counting


@pytest.fixture(autouse=True)
def nothing_kept() -> Iterator[None]:
    """Each test begins with nothing kept, and runs on NumPy."""
    replay.forget_all()
    with ad.config(native=False):
        yield


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
    import tests.calculus.test_replay_changes as own

    in_sequence(
        lambda x: np.sum(doubled(x) ** 2),
        lambda: monkeypatch.setattr(own, "doubled", lambda x: 3 * x),
        lambda: monkeypatch.setattr(own.doubled, "__code__", (lambda x: 5 * x).__code__),
    )


class _EntryByEntry:
    """Calls that are to be entered: an array that is made within is filled by numbers."""

    def __init__(self, x: Any = ()) -> None:
        self.result = self(x)

    def __call__(self, x: Any) -> Any:
        result = np.zeros(len(x))
        for place in range(len(x)):
            result[place] = math.sin(x[place])
        return result

    def __array__(self, *_: Any, **__: Any) -> Any:  # for NumPy, of what the class makes
        return self.result

    def __pow__(self, power: int) -> Any:
        return self.result**power


def test_a_function_of_the_module_becomes_something_else(monkeypatch: pytest.MonkeyPatch) -> None:
    import tests.calculus.test_replay_changes as own

    for other in (_EntryByEntry(), _EntryByEntry().__call__, _EntryByEntry):
        in_sequence(
            lambda x: np.sum(doubled(x) ** 2),
            lambda other=other: monkeypatch.setattr(own, "doubled", other),
            lambda: monkeypatch.setattr(own, "doubled", np.tanh),
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


def test_data_that_the_rule_of_a_primitive_reads() -> None:
    rate = [2.0]
    primitive = ad.primitive(lambda x: x * rate[0])
    primitive.jvp(lambda primals, tangents: (primals[0] * rate[0], tangents[0] * rate[0]))
    in_sequence(lambda x: np.sum(primitive(x)), lambda: rate.__setitem__(0, 3.0))


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


def test_data_that_are_asked_whether_they_are_one_are_no_inputs() -> None:
    first, second = np.ones(3), np.ones(3)

    def function(x: Any) -> Any:
        return np.sum(x**2) if first is second else np.sum(x) * first[0]

    for number in (1.0, 2.0, 3.0, 3.0, 3.0, 3.0):  # changed, so that they might become inputs
        first, second = np.full(3, number), np.full(3, number)
        np.testing.assert_array_equal(ad.grad(function)(X), np.full(3, number))
    second = first
    for _ in range(3):
        np.testing.assert_array_equal(ad.grad(function)(X), 2 * X)
