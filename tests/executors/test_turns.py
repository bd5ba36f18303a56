"""When programs turn to machine code."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from adjoint.executors import turns
from adjoint.executors.turns import Turn
from tests.building import f8, program_of

RUNS = 3


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock of its own, programs that are hot after three runs, each of a tenth of a second."""
    monkeypatch.setattr(turns, "_clock", turns._Clock())
    monkeypatch.setattr(turns, "runs_on_numpy", lambda program: RUNS)
    monkeypatch.setattr(turns, "seconds_of_run", lambda program: 0.1)


def turn() -> Turn:
    return Turn(program_of(np.sin, f8(3)))


def loop(seconds: list[float], rounds: int) -> list[list[int]]:
    """Programs run one after the other in each round: those at which each has come.

    seconds: how long each is compiled, as estimated.
    """
    members = [turn() for _ in seconds]
    came: list[list[int]] = [[] for _ in seconds]
    over = [False for _ in seconds]
    for number in range(1, rounds + 1):
        for place, member in enumerate(members):
            if over[place] or not member.comes():
                continue
            came[place].append(number)
            if len(came[place]) == 1:
                member.put_off(seconds[place])
            else:
                member.is_over()
                over[place] = True
    return came


def test_it_is_compiled_after_a_few_runs_and_turns_after_as_many() -> None:
    assert loop([0.0], 20) == [[RUNS + 1, 2 * RUNS + 1]]


def test_it_turns_when_compiling_is_over_but_for_what_may_be_waited_for() -> None:
    for seconds in (0.52, 1.02, 2.02):
        rounds = (seconds - turns._WAIT) * turns._BESIDE / 0.1
        assert loop([seconds], 100) == [[RUNS + 1, RUNS + 1 + int(np.ceil(rounds))]]


def test_programs_of_one_round_turn_at_different_rounds() -> None:
    for count in (2, 3, 5):
        came = loop([0.0] * count, 40)
        assert [first for first, _ in came] == [RUNS + 1] * count
        assert [last for _, last in came] == [2 * RUNS + 1 + n for n in range(count)]


def test_who_is_compiled_after_another_has_its_turn_after_it() -> None:
    (_, last), (_, after) = loop([1.0, 1.0], 200)
    alone = loop([1.0], 200)[0][1]
    assert last < alone < after  # two runs a round, for as long as both are NumPy's
    (_, quick), (_, slow) = loop([0.0, 1.0], 200)
    assert quick == 2 * RUNS + 1 < slow


def test_what_is_not_run_in_the_round_puts_nothing_off() -> None:
    other = turn()
    while not other.comes():
        pass
    other.put_off(1000.0)
    assert loop([0.52], 100) == [[RUNS + 1, RUNS + 1 + 10]]


def test_what_is_gone_puts_nothing_off() -> None:
    members = [turn(), turn()]
    for _ in range(RUNS + 1):
        came = [member.comes() for member in members]
    assert came == [True, True]
    members[0].put_off(1000.0)
    del members[0]
    gc.collect()
    members[0].put_off(0.5)
    assert members[0]._finish < 2.0


def test_a_wait_in_vain_is_made_up_for() -> None:
    member = turn()
    found = [n for n in range(1, 60) if member.comes() and not member.put_off(0.0)]
    assert found == [4, 7, 13, 25, 49]


def test_the_same_runs_give_the_same_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    def found() -> list[list[int]]:
        monkeypatch.setattr(turns, "_clock", turns._Clock())
        return loop([0.3, 0.05, 0.9, 0.0], 300)

    assert found() == found() == found()


def test_two_threads_that_estimate_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that comes second finds the work estimated, and goes on with its own numbers."""
    member = turn()

    def in_between(program: object) -> int:
        monkeypatch.setattr(turns, "runs_on_numpy", lambda program: RUNS)
        assert not member.comes()  # what another thread does
        return RUNS

    monkeypatch.setattr(turns, "runs_on_numpy", in_between)
    assert [member.comes() for _ in range(3)] == [False, False, True]
