"""Random programs over state; `python -m tests.fuzz --state` runs as many as are asked for."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import adjoint as ad
from adjoint.primitives.declaration import PRIMITIVES
from tests.capture.battery.known import WRONG_SEEDS
from tests.fuzz.state_programs import (
    CHANGES,
    STATEMENTS,
    check_state,
    choices_of,
    state_program,
)

SEEDS = 60
NATIVE = 20  # one in so many may become machine code


@pytest.fixture(autouse=True)
def numpy_alone() -> Iterator[None]:
    """What each program is asked for is its own matter; few become machine code."""
    with ad.config(native=False):
        yield


@pytest.mark.parametrize(
    "seed",
    [
        pytest.param(
            seed,
            marks=pytest.mark.xfail(strict=False, reason="known to be wrong")
            if seed in WRONG_SEEDS
            else (),
        )
        for seed in range(SEEDS)
    ],
)
def test_a_random_program_over_state(seed: int) -> None:
    check_state(choices_of(seed), seed, seed % NATIVE == 0)


def test_the_known_are_run() -> None:
    assert set(range(SEEDS)) >= WRONG_SEEDS


def test_a_seed_makes_one_program() -> None:
    assert state_program(choices_of(5)) == state_program(choices_of(5))
    assert len({state_program(choices_of(seed)) for seed in range(50)}) == 50


def test_all_statements_and_changes_occur() -> None:
    text = "".join(state_program(choices_of(seed)) for seed in range(1000))
    for template in (*STATEMENTS, *CHANGES):
        first = template.strip().partition("\n")[0].partition("{")[0]
        assert first in text, template


def test_a_planted_fault_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    rule = PRIMITIVES["tanh"].derivative
    monkeypatch.setattr(
        PRIMITIVES["tanh"],
        "derivative",
        lambda *args, **params: tuple(1.001 * each for each in rule(*args, **params)),
    )
    act, norm = (
        STATEMENTS.index("y = model.act({v})"),
        STATEMENTS.index("total = total + norm({v})"),
    )
    numbers = [1, *(act, 0, 0, 0), *(norm, 1, 0, 0)]
    assert "y = model.act(x)\n        total = total + norm(y)\n" in state_program(numbers)
    with pytest.raises(AssertionError, match="by differences"):
        check_state(numbers, 0)
