"""Loops and functions that are computed again for their derivatives."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from tests.calculus.control_flow.comparing import check_modes
from tests.reverse import pulled

X = np.array([0.7, -0.4])


def _checkpointed(schedule: Any) -> list[Any]:
    def until(x: Any) -> Any:
        final = ad.while_loop(
            lambda s: np.sum(s * s) < 300.0,
            lambda s: 1.1 * s + 0.02 * np.sin(s) * x,
            x,
            checkpoint=schedule,
        )
        return np.sum(np.sin(final))

    def counted(x: Any) -> Any:
        final = ad.fori_loop(2, 25, lambda i, s: np.sin(s) * x + 0.01 * i, x, checkpoint=schedule)
        return np.sum(final**2)

    def scanned(x: Any) -> Any:
        table = np.outer(np.linspace(0, 1, 11), x)
        last, made = ad.scan(
            lambda c, r: (np.sin(c) + r, c * r), x, table, reverse=True, checkpoint=schedule
        )
        return np.sum(last**2) + np.sum(made**3)

    return [until, counted, scanned]


@pytest.mark.parametrize("place", range(3), ids=["while", "fori", "scan"])
@pytest.mark.parametrize("schedule", ["sqrt", "log", 1, 3, 50])
def test_every_mode_is_that_of_the_tape(schedule: str | int, place: int) -> None:
    check_modes(_checkpointed(schedule)[place], _checkpointed(None)[place], X, 1e-10)


@pytest.mark.parametrize("schedule", ["sqrt", "log", 1, 3, 50])
@pytest.mark.parametrize("rounds", [0, 1, 2, 3, 7, 16, 17])
def test_any_number_of_rounds_fits_into_blocks(rounds: int, schedule: str | int) -> None:
    def function(x: Any, checkpoint: Any) -> Any:
        return ad.fori_loop(0, rounds, lambda i, s: s * np.cos(x) + i, x, checkpoint=checkpoint)

    compiled = ad.jit(pulled(lambda x, n: _power(x, n, schedule)))
    assert np.isclose(pulled(function)(0.4, schedule), ad.grad(function)(0.4, None))
    assert np.isclose(compiled(0.4, rounds), ad.grad(_power)(0.4, rounds, None))


def _power(x: Any, rounds: Any, checkpoint: Any) -> Any:
    return ad.fori_loop(0, rounds, lambda i, s: s * np.cos(x) + i, x, checkpoint=checkpoint)


def _peak(function: Any, *args: Any) -> int:
    function(*args)
    tracemalloc.start()
    try:
        function(*args)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_few_states_are_kept() -> None:
    weights = np.linspace(-0.3, 0.3, 900).reshape(30, 30)

    def function(x: Any, checkpoint: Any) -> Any:
        def step(i: Any, s: Any) -> Any:
            return np.tanh(weights @ s) + 0.1 * x

        return np.sum(ad.fori_loop(0, 2048, step, x, checkpoint=checkpoint))

    x = np.full(30, 0.1)
    with ad.config(native=False, debug=False):  # which would capture at every call
        tape, root, logarithm = (
            _peak(ad.grad(function), x, each) for each in (None, "sqrt", "log")
        )
        forward = _peak(lambda: ad.jvp(lambda x: function(x, "log"), (x,), (x,)))
    assert root < 0.1 * tape
    assert logarithm < 0.08 * tape
    assert forward < 0.08 * tape


def test_a_checkpointed_function_keeps_its_arguments_alone() -> None:
    def chain(x: Any) -> Any:
        for _ in range(30):
            x = np.sin(x) + 0.1
        return np.sum(x)

    x = np.linspace(0.0, 1.0, 20_000)
    with ad.config(native=False):
        plain, again = _peak(ad.vjp, chain, x), _peak(ad.vjp, ad.checkpoint(chain), x)
    assert again < 0.3 * plain
    assert np.array_equal(ad.grad(ad.checkpoint(chain))(x), ad.grad(chain)(x))


def test_a_checkpointed_function_takes_what_the_function_takes() -> None:
    @ad.checkpoint
    def model(weights: Any, x: Any, activation: str = "tanh", *, power: int = 2) -> Any:
        function = {"tanh": np.tanh, "sin": np.sin}[activation]
        if x[0] > 0:  # a value may be asked for: the arguments are known
            return {"loss": np.sum(function(weights["w"] @ x) ** power)}
        return {"loss": np.sum(x)}

    weights = {"w": np.array([[0.1, 0.2], [0.3, -0.4]])}
    gradient = ad.grad(lambda w: model(w, X, "sin", power=3)["loss"])(weights)
    expected = ad.grad(lambda w: np.sum(np.sin(w["w"] @ X) ** 3))(weights)
    assert np.allclose(gradient["w"], expected["w"])
    assert model.__name__ == "model"


def test_a_checkpointed_function_in_every_mode() -> None:
    def model(x: Any) -> Any:
        return np.sum(np.tanh(np.outer(x, x)) @ np.sin(x))

    check_modes(ad.checkpoint(model), model, X)
