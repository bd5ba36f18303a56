"""Replay: data in closures, attributes and modules' names that change are inputs of the program."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.calculus.jit import replay
from tests.calculus.replaying import X, in_sequence
from tests.counting import counting

DATA = np.ones(3)
RATE = 1.0
LARGE = np.ones(3)
TABLE = np.arange(6.0).reshape(2, 3)


@pytest.fixture(autouse=True)
def nothing_kept() -> Iterator[None]:
    """Each test begins with nothing kept, and runs on NumPy."""
    replay.forget_all()
    with ad.config(native=False):
        yield


def _changing_globals() -> tuple[Any, Any]:
    def function(x: Any) -> Any:
        return RATE * np.sum(DATA * np.sin(x)) / DATA.mean()

    def change(number: int) -> None:
        global DATA, RATE
        DATA, RATE = np.array([number + 1.0, 2.0, 3.0]), 1.0 + number / 7

    return function, change


class Parts:
    scale = 1.0

    def __init__(self) -> None:
        self.scale = 2.0


class Model:
    def __init__(self) -> None:
        self.batch = np.ones(3)
        self.rate = 0.5
        self.parts = Parts()

    def loss(self, x: Any) -> Any:
        return np.mean((self.batch - x) ** 2) * self.rate + self.parts.scale * x[0]


def _changing_attributes() -> tuple[Any, Any]:
    model = Model()

    def change(number: int) -> None:
        model.batch = number + np.arange(3.0)
        model.rate = 0.3 + number
        model.parts.scale = number / 3

    return model.loss, change


def _changing_cells() -> tuple[Any, Any]:
    batch, rate = np.ones(3), 0.5

    def function(x: Any) -> Any:
        return np.sum(np.tanh(batch * x)) * rate

    def change(number: int) -> None:
        nonlocal batch, rate
        batch, rate = number + np.arange(3.0), 0.1 * number

    return function, change


def _changing_names() -> tuple[Any, Any]:
    state = types.SimpleNamespace(batch=np.ones(3), rate=0.5)

    def function(x: Any) -> Any:
        return np.sum(np.tanh(state.batch * x)) * state.rate

    def change(number: int) -> None:
        state.batch, state.rate = number + np.arange(3.0), 0.1 * number

    return function, change


def _asking() -> tuple[Any, Any]:
    model = Model()

    def function(x: Any) -> Any:
        if np.sum(model.batch) > 12:
            return np.sum(model.batch * x)
        return np.sum(x**2) * model.rate

    def change(number: int) -> None:
        model.batch = number + np.arange(3.0)

    return function, change


MAKERS = [_changing_globals, _changing_attributes, _changing_cells, _changing_names, _asking]


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
@pytest.mark.parametrize("debug", [False, True])
@pytest.mark.parametrize("jitted", [False, True])
def test_data_that_change_are_inputs(
    make: Callable[[], tuple[Any, Any]], debug: bool, jitted: bool
) -> None:
    function, change = make()
    counted, calls = counting(function)
    gradient = ad.value_and_grad(counted)
    way = ad.jit(gradient) if jitted else gradient
    with ad.config(debug=debug):
        for number in range(12):
            change(number)
            value, slope = way(X)
            assert np.isclose(value, function(X), rtol=1e-12)
            with ad.config(replay=False):
                np.testing.assert_allclose(slope, ad.grad(function)(X), rtol=1e-12)
    assert len(calls) <= 8


def test_another_object_of_the_same_kind() -> None:
    models = [Model() for _ in range(3)]
    for number in range(12):
        model = models[number % 3]
        model.batch = number + np.arange(3.0)
        value, _ = ad.value_and_grad(model.loss)(X)
        assert np.isclose(value, model.loss(X))


def test_data_that_are_written_into_are_not() -> None:
    model = Model()

    def function(x: Any) -> Any:
        model.batch = model.batch + 1.0
        model.batch[0] *= 2.0
        return np.sum(model.batch * x)

    expected = np.ones(3)
    for number in range(10):
        if number > 3:
            model.batch = expected = np.full(3, float(number))
        expected = expected + 1.0
        expected[0] *= 2.0
        np.testing.assert_allclose(ad.grad(function)(X), expected)
        np.testing.assert_allclose(model.batch, expected)


def test_data_that_no_rule_takes() -> None:
    model = Model()

    def function(x: Any) -> Any:
        return np.sum(x) * len(np.unique(np.round(model.batch))) + float(str(model.batch[1])[:3])

    for number in range(12):
        model.batch = number + np.array([0.0, 1.0, number % 2])
        assert np.isclose(ad.value_and_grad(function)(X)[0], function(X))


def test_the_places_hold_what_they_held() -> None:
    model = Model()
    for number in range(8):
        model.batch = batch = number + np.arange(3.0)
        ad.grad(model.loss)(X)
        assert model.batch is batch
        assert type(model.rate) is float


def test_an_array_that_is_not_written_into_is_no_hindrance() -> None:
    def function(x: Any) -> Any:
        scores = TABLE @ x
        scores -= scores.max()  # which might have been the table
        return np.sum(np.exp(scores))

    table = id(TABLE)
    gradient = ad.grad(function)
    for _ in range(6):
        gradient(X)
    assert ad.explain(gradient, X).replayed
    assert id(TABLE) == table


def test_classes_of_code_that_was_run_without_being_imported() -> None:
    names: dict[str, Any] = {"__name__": "code_that_was_run", "np": np}
    text = """
class Sum:
    def __init__(self, x):
        self.total = np.sum(x**2)

def function(x):
    return Sum(x).total
"""
    exec(compile(text, "code_that_was_run.py", "exec"), names)
    found = ad.explain(ad.grad(names["function"]), X)
    assert found.replayed, found.reasons


# --- data that are too large to compare -----------------------------------------------------------


def test_large_data_of_a_closure_an_attribute_and_a_module_are_inputs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    large = [np.full(3_000_000, scale) for scale in (1.0, 2.0, 3.0)]
    monkeypatch.setitem(globals(), "LARGE", large[1])

    class Model:
        def __init__(self) -> None:
            self.weights = large[2]

    data, model = large[0], Model()

    def loss(x: Any) -> Any:
        return np.sum((data[:3] + LARGE[:3] + model.weights[-3:]) * x**2)

    def replace() -> None:
        nonlocal data
        data = data[::-1].copy() + 1.0

    in_sequence(
        loss,
        lambda: large[0].__setitem__(1, large[0][1] + 1.0),
        lambda: large[1].__setitem__(slice(2), large[1][0] + 1.0),
        lambda: setattr(model, "weights", model.weights + 1.0),
        replace,
    )
    assert "is replayed" in str(ad.explain(loss, X))


def test_a_branch_on_large_data_is_taken_as_they_are() -> None:
    large = np.full(3_000_000, 1.0)

    def loss(x: Any) -> Any:
        return np.sum(x**2) if large[0] > 0 else np.sum(x**3)

    in_sequence(loss, lambda: large.__setitem__(0, -large[0]))


def test_large_data_that_are_written_into_are_no_inputs() -> None:
    large = np.full(3_000_000, 1.0)

    def loss(x: Any) -> Any:
        large[0] += 1.0
        return np.sum(large[0] * x**2)

    gradient = ad.grad(loss)
    factors = [float(gradient(X)[0] / (2 * X[0])) for _ in range(4)]
    assert np.allclose(np.diff(factors), 1.0)
