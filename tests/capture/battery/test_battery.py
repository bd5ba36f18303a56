"""None of the programs and sequences is wrong, but for those that are known to be."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from tests.capture.battery import running, sequences
from tests.capture.battery.everything import TABLES
from tests.capture.battery.known import REFUSED, WRONG
from tests.capture.battery.observing import Outcome
from tests.capture.battery.registry import PROGRAMS, SEQUENCES

LEAST = {"program": 600, "sequence": 300}


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


def names_of(kind: str, mode: str) -> list[str]:
    """What is run in a way."""
    return [name for name in TABLES[kind][0] if mode in ways(name)]


def test_there_are_many() -> None:
    for kind, (table, _) in TABLES.items():
        assert len(table) >= LEAST[kind]


def test_what_is_known_is_there() -> None:
    for kind, (_, module) in TABLES.items():
        assert set(module.MODES) <= set(REFUSED), kind
    assert set(WRONG) <= {*REFUSED, "ownership"}
    names = {name for way in REFUSED for name in WRONG.get(way, ())}
    assert names <= {*PROGRAMS, *SEQUENCES}


@pytest.mark.parametrize("name", PROGRAMS)
def test_plain_numpy_gives_what_is_compared(name: str) -> None:
    subject = running.subject_of(name)
    wanted = [*subject.slopes, subject.second]
    assert subject.tangents
    assert all(each is None or each for each in wanted)
    if subject.program.smooth == 0:
        assert subject.wanted[0].error is None, "an error needs no word about smoothness"


@pytest.mark.parametrize(("name", "mode"), cases("program"))
def test_a_program(name: str, mode: str) -> None:
    verdict = running.outcome(name, mode)
    assert verdict.outcome is not Outcome.WRONG, verdict.reason


@pytest.mark.parametrize(("name", "mode"), cases("sequence"))
def test_a_sequence(name: str, mode: str) -> None:
    verdict = sequences.outcome(name, mode)
    assert verdict.outcome is not Outcome.WRONG, verdict.reason


@pytest.mark.parametrize(
    ("kind", "mode"), [(k, m) for k, (_, at) in TABLES.items() for m in at.MODES]
)
def test_no_more_is_refused_than_was(kind: str, mode: str) -> None:
    outcome = TABLES[kind][1].outcome
    refused = [n for n in names_of(kind, mode) if outcome(n, mode).outcome is Outcome.REFUSED]
    assert len(refused) <= REFUSED[mode], refused
