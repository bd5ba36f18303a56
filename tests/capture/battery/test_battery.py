"""None of the programs and sequences is wrong, but for those that are known to be."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from tests.capture.battery import running, sequences
from tests.capture.battery.everything import TABLES
from tests.capture.battery.known import REFUSED, WRONG
from tests.capture.battery.observing import Outcome, Verdict
from tests.capture.battery.registry import PROGRAMS, SEQUENCES

LEAST = {"program": 600, "sequence": 300}
MAY_REFUSE = frozenset[str]().union(*REFUSED.values())


def cases(kind: str) -> list[Any]:
    """Each program in each way; those that are known to be wrong may be."""
    table, module = TABLES[kind]
    known = pytest.mark.xfail(strict=False, reason="known to be wrong")
    return [
        pytest.param(name, mode, marks=known if name in WRONG.get(mode, ()) else ())
        for name in table
        for mode in module.MODES
        if mode in ways(name)
    ]


def ways(name: str) -> Iterable[str]:
    """In which a program or a sequence is run."""
    return PROGRAMS[name].ways if name in PROGRAMS else SEQUENCES[name].ways


def test_there_are_many() -> None:
    for kind, (table, _) in TABLES.items():
        assert len(table) >= LEAST[kind]


def test_what_is_known_is_there() -> None:
    ways_of_all = {mode for _, module in TABLES.values() for mode in module.MODES}
    assert set(WRONG) <= {*ways_of_all, "ownership"}
    assert set(REFUSED) <= ways_of_all
    names = {name for way in ways_of_all for name in (*WRONG.get(way, ()), *REFUSED.get(way, ()))}
    assert names <= {*PROGRAMS, *SEQUENCES}


@pytest.mark.parametrize("name", PROGRAMS)
def test_plain_numpy_gives_what_is_compared(name: str) -> None:
    subject = running.subject_of(name)
    wanted = [*subject.slopes, subject.second]
    assert subject.tangents
    assert all(each is None or each for each in wanted)
    if subject.program.smooth == 0:
        assert subject.wanted[0].error is None, "an error needs no word about smoothness"


def hold(verdict: Verdict, name: str, mode: str) -> None:
    """Nothing is wrong, and nothing more is refused than was, in this way or another."""
    assert verdict.outcome is not Outcome.WRONG, verdict.reason
    if verdict.outcome is Outcome.REFUSED and mode != "vmap":
        assert name in MAY_REFUSE or name in WRONG.get(mode, ()), verdict.reason


@pytest.mark.parametrize(("name", "mode"), cases("program"))
def test_a_program(name: str, mode: str) -> None:
    hold(running.outcome(name, mode), name, mode)


@pytest.mark.parametrize(("name", "mode"), cases("sequence"))
def test_a_sequence(name: str, mode: str) -> None:
    hold(sequences.outcome(name, mode), name, mode)
