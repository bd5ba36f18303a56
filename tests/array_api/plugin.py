"""What pytest does around the official suite: a trace for each test, and the skips.

Each test of the suite runs while a trace is open, so that the arrays of `traced_namespace` are
slots of it. The tests that `skips.txt` names are skipped, with the reason that stands above them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from adjoint.program import Operation
from tests.array_api import traced_namespace

SKIPS = Path(__file__).with_name("skips.txt")
TEST = "array_api_tests/"

recorded = 0


def reasons(text: str) -> dict[str, str]:
    """The tests that a file of skips names, each with the comment that heads its group.

    Groups stand apart by blank lines.

    Raises:
        ValueError: a group has no comment, or a line below it names no test of the suite.
    """
    found: dict[str, str] = {}
    for group in text.strip().split("\n\n"):
        lines = group.splitlines()
        comment = [line.removeprefix("#").strip() for line in lines if line.startswith("#")]
        tests = lines[len(comment) :]
        if not comment or not all(test.startswith(TEST) for test in tests):
            raise ValueError(f"skips: a comment that says why, and tests below it; got\n{group}")
        found.update(dict.fromkeys(tests, " ".join(comment)))
    return found


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: Any, items: list[Any]) -> None:
    """Mark the tests to skip. All of them must exist, in the files that were collected."""
    skips = reasons(SKIPS.read_text(encoding="utf-8"))
    files = {_file(item.nodeid) for item in items}
    unknown = {name for name in skips if _file(name) in files} - {item.nodeid for item in items}
    if unknown and not any("::" in argument for argument in config.args):
        raise pytest.UsageError(f"{SKIPS.name} names tests that do not exist: {sorted(unknown)}")
    for item in items:
        if item.nodeid in skips:
            item.add_marker(pytest.mark.skip(reason=skips[item.nodeid]))


def _file(test: str) -> str:
    return test.partition("::")[0]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: Any) -> Iterator[None]:
    """Open a trace for a test."""
    global recorded
    trace = traced_namespace.begin()
    try:
        return (yield)
    finally:
        traced_namespace.end(trace)
        recorded += sum(isinstance(record[0], Operation) for record in trace.records)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say how much was recorded: with nothing recorded, NumPy alone would have been tested."""
    terminalreporter.write_line(f"{recorded} operations were recorded on traced arrays.")
