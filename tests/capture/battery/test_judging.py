"""The battery finds what it is there to find: each kind of fault, planted."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.primitives.declaration import PRIMITIVES
from tests.capture.battery import running, sequences
from tests.capture.battery.differences import RoughError, difference
from tests.capture.battery.observing import Outcome, Seen, different_things, judged, watched
from tests.capture.battery.registry import WAYS, Program, Sequence

ROW = np.array([0.7, 1.3])


def program(function: Any, *args: Any, smooth: int = 2) -> Program:
    """A program that is in no list."""
    return Program(
        "planted", "none", lambda: (function, lambda: None), args, None, smooth, False, WAYS
    )


def outcome(wanted: Seen, found: Seen, differentiated: bool = False) -> str:
    """What is made of two calls."""
    return judged(wanted, found, differentiated=differentiated).outcome.value


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (1.0, 1.0 + 1e-9),
        (np.float64(1.0), np.array(1.0)),
        (np.array(1.0), np.float64(1.0)),
        (np.float64(1.0), np.float32(1.0)),
        (np.ones(2), np.ones((2, 1))),
        (np.ones(2), np.ones(2, np.float32)),
        (np.ones(2), np.array([1.0, np.nan])),
        ((1.0, 2.0), [1.0, 2.0]),
        ({"a": 1.0}, {"b": 1.0}),
        (1, 1.0),
        (True, 1),
    ],
)
def test_another_value_is_wrong(wanted: Any, found: Any) -> None:
    assert outcome(Seen(wanted), Seen(found)) == "wrong"
    assert outcome(Seen(wanted), Seen(wanted)) == "right"


def test_numpys_number_stands_for_pythons() -> None:
    assert outcome(Seen(1.0), Seen(np.float64(1.0))) == "right"
    assert outcome(Seen(np.float64(1.0)), Seen(1.0)) == "wrong"


def test_errors_are_compared_by_class() -> None:
    raised = Seen(error=ValueError("a"))
    assert outcome(raised, Seen(error=ValueError("b"))) == "right"
    assert outcome(raised, Seen(error=TypeError("a"))) == "wrong"
    assert outcome(raised, Seen(1.0)) == "wrong"
    assert outcome(Seen(1.0), raised) == "wrong"
    assert outcome(Seen(1.0), Seen(error=ad.errors.AliasingError("a"))) == "refused"
    assert outcome(raised, Seen(error=ad.errors.DTypeError("a"))) == "refused"


def test_warnings_are_compared() -> None:
    warned = Seen(1.0, warned=[(RuntimeWarning, "divide")])
    twice = Seen(1.0, warned=warned.warned * 2)
    assert outcome(warned, Seen(1.0)) == "wrong"
    assert outcome(Seen(1.0), warned) == "wrong"
    assert outcome(warned, twice) == "wrong"
    assert outcome(warned, warned) == "right"
    assert outcome(Seen(1.0), warned, differentiated=True) == "right"  # the derivative's own
    user = Seen(1.0, warned=[(UserWarning, "mind")])
    assert outcome(Seen(1.0), user, differentiated=True) == "wrong"


def test_what_a_warning_of_ours_says_is_a_refusal() -> None:
    said = Seen(2.0, warned=[(ad.errors.ManyPathsWarning, "many")])
    assert outcome(Seen(1.0), said) == "refused"


def test_arguments_and_state_are_compared() -> None:
    assert outcome(Seen(1.0), Seen(1.0, kept=False)) == "wrong"
    assert outcome(Seen(1.0, state=[1.0]), Seen(1.0, state=[2.0])) == "wrong"
    assert outcome(Seen(1.0, state=[1.0]), Seen(1.0, state=[np.float64(1.0)])) == "right"


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ([1], (1,)),
        ([1, 2], [1]),
        (np.float64(1.0), 1.0),
        (1, np.int64(1)),
        ({1.0}, {2.0}),
        ("a", "b"),
        (np.ones(2), np.ones(3)),
        (None, False),
    ],
)
def test_other_things_are_told_apart(wanted: Any, found: Any) -> None:
    assert different_things(wanted, found, "it")
    assert not different_things(wanted, wanted, "it")


def test_a_call_is_watched() -> None:
    def call() -> float:
        warnings.warn("mind", UserWarning, stacklevel=1)
        raise KeyError("a")

    seen = watched(call)
    assert isinstance(seen.error, KeyError)
    assert seen.warned == [(UserWarning, "mind")]


def test_differences_check_themselves() -> None:
    found = difference(lambda x: np.sum(np.sin(x)), [ROW], (np.ones(2),), 1)
    assert found is not None
    assert abs(found[0] - np.sum(np.cos(ROW))) < 1e-10
    rough: list[Any] = [
        np.abs,
        np.sign,
        lambda x: (x == 0) * 1.0,
        lambda x: np.where(x > 0, x, 0.0),
    ]
    for function in rough:
        with pytest.raises(RoughError):
            difference(function, [np.zeros(1)], (np.ones(1),), 1)
    with pytest.raises(RoughError):
        difference(lambda x: np.abs(x) ** 1.5, [np.zeros(1)], (np.ones(1),), 2)


@pytest.mark.parametrize("mode", ["grad", "jvp", "jit_grad", "nested"])
def test_a_wrong_derivative_is_found(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    right = running.Subject(program(lambda x: np.sum(np.tanh(x) * x), ROW))
    assert running.MODES[mode](right).outcome is Outcome.RIGHT
    ad.cache_clear()
    subject = running.Subject(program(lambda x: np.sum(np.tanh(x) * x), ROW))  # nothing is kept
    rule = PRIMITIVES["tanh"].derivative
    monkeypatch.setattr(
        PRIMITIVES["tanh"],
        "derivative",
        lambda *args, **params: tuple(1.001 * each for each in rule(*args, **params)),
    )
    verdict = running.MODES[mode](subject)
    assert verdict.outcome is Outcome.WRONG
    assert "differences" in verdict.reason
    ad.cache_clear()


def test_a_wrong_batch_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PRIMITIVES["tanh"], "batch", lambda operands, *_: np.cos(operands[0]))
    subject = running.Subject(program(lambda x: np.sum(np.tanh(x)), ROW))
    assert running.MODES["vmap"](subject).outcome is Outcome.WRONG


def test_a_stale_answer_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def steps() -> Iterator[tuple[Any, ...]]:
        scale = 1.0

        def f(x: Any) -> Any:
            return np.sum(scale * x**2)

        for each in (1.0, 1.0, 2.0):
            scale = each
            yield f, ROW

    plain = sequences.MODES["kept"]

    def remembering() -> sequences.Runner:
        run, answers = plain(), []

        def first(function: Any, args: tuple[Any, ...]) -> Any:
            answers.append(run(function, args))
            return answers[0]

        return first

    calls = Sequence("steps", "none", steps, smooth=True, native=False, single=False)
    assert sequences.verdict_of(calls, "kept").outcome is Outcome.RIGHT
    monkeypatch.setitem(sequences.MODES, "kept", remembering)
    verdict = sequences.verdict_of(calls, "kept")
    assert verdict.outcome is Outcome.WRONG
    assert verdict.reason.startswith("step 3")
