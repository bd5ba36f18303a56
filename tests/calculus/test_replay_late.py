"""Replay of long functions, whose paths are made at the call after the one that shows them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.calculus.jit import capturing, replay
from adjoint.calculus.jit.paths import Path
from tests.calculus.replaying import X
from tests.counting import counting


@pytest.fixture(autouse=True)
def long(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Everything is long; nothing is kept at first."""
    monkeypatch.setattr(capturing, "_LONG", -1)
    replay.forget_all()
    with ad.config(native=False):
        yield


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """For each path that is to be made ready, whether it was that already."""
    asked: list[bool] = []
    make_ready = Path.make_ready

    def noted(path: Path) -> None:
        asked.append(path.is_ready)
        make_ready(path)

    monkeypatch.setattr(Path, "make_ready", noted)
    return asked


def branching(x: Any) -> Any:
    return np.sum(x**3) if x[0] > 0 else np.sum(x * x)


def test_one_call_shows_the_path_and_the_next_makes_it(made: list[bool]) -> None:
    function, calls = counting(branching)
    counts = []
    for number in range(8):
        point = (1 + number / 10) * X
        np.testing.assert_allclose(ad.grad(function)(point), 3 * point**2)
        counts.append((len(calls), list(made)))
    few = replay.FEWEST_CALLS
    assert counts[few] == (few + 1, [])
    assert counts[few + 1] == (few + 2, [False])
    assert counts[-1] == counts[few + 1]


def test_short_functions_are_ready_at_once(
    made: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    function, calls = counting(branching)
    for _ in range(6):
        np.testing.assert_allclose(ad.grad(function)(X), 3 * X**2)
    assert len(calls) == replay.FEWEST_CALLS + 1
    assert capturing._LONG > 100


def test_jit_makes_it_at_once() -> None:
    function, calls = counting(branching)
    jitted = ad.jit(ad.grad(function))
    for _ in range(4):
        np.testing.assert_allclose(jitted(X), 3 * X**2)
    assert len(calls) == 1


def test_other_paths_are_made_late_too() -> None:
    function, calls = counting(branching)
    for scale in (1.0, 1.0, 1.0, 1.0, 1.0, -1.0, -1.0, -1.0, 1.0, -2.0, 3.0):
        point = scale * X
        expected = 3 * point**2 if scale > 0 else 2 * point
        np.testing.assert_allclose(ad.grad(function)(point), expected)
    assert len(calls) == replay.FEWEST_CALLS + 4


def test_data_that_vary_are_inputs_of_it() -> None:
    function, calls = counting(lambda w, x: np.sum((x @ w) ** 2) if w[0] > 0 else np.sum(w))
    rng = np.random.default_rng(0)
    for _ in range(12):
        x = rng.normal(size=(4, 3))
        np.testing.assert_allclose(ad.grad(function)(X, x), 2 * x.T @ (x @ X))
    assert len(calls) == replay.FEWEST_CALLS + 3


def test_numpy_warns_once_a_call() -> None:
    def function(x: Any) -> Any:
        return np.sum(np.log(x) * x) if x[1] < 0 else np.sum(x)

    for _ in range(7):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            ad.grad(function)(X)
        assert [str(each.message) for each in caught] == ["invalid value encountered in log"]


def test_what_is_drawn_and_printed(capsys: pytest.CaptureFixture[str]) -> None:
    rng, own = np.random.default_rng(3), np.random.default_rng(3)

    def function(x: Any) -> Any:
        noise = rng.normal(size=3)
        print("drawn")
        return np.sum(noise * x**2) if x[0] > 0 else np.sum(x)

    for _ in range(8):
        np.testing.assert_allclose(ad.grad(function)(X), 2 * own.normal(size=3) * X)
        assert capsys.readouterr().out == "drawn\n"


def test_an_error_is_the_functions_own() -> None:
    function, calls = counting(branching)
    gradient = ad.grad(function)
    for _ in range(replay.FEWEST_CALLS + 1):
        gradient(X)
    calls_before = len(calls)
    with pytest.raises(IndexError):
        gradient(np.zeros(0))
    np.testing.assert_allclose(gradient(X), 3 * X**2)
    np.testing.assert_allclose(gradient(X), 3 * X**2)
    assert len(calls) == calls_before + 2
