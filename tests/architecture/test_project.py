"""The files around the package agree with it and with one another."""

import re
import subprocess
import tomllib

from tests.architecture.floors import INNER_ROOMS, ROOMS
from tests.architecture.modules import ROOT


def page(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_floors_on_the_page_are_those_enforced() -> None:
    rows = re.findall(r"^\| (\d+) \| ([^|]*) \|", page("docs/architecture.md"), re.MULTILINE)
    shown = {room: int(floor) for floor, cell in rows for room in re.findall(r"`(\w+)`", cell)}
    assert shown == {room: floor for room, (floor, _) in ROOMS.items() if room}


def test_the_rooms_of_machine_code_on_the_page_are_those_enforced() -> None:
    rows = re.findall(r"^\| (\d+) \| `(\w+)` \|", page("docs/native.md"), re.MULTILINE)
    shown = {room: int(number) for number, room in rows}
    assert shown == {room: place for place, room in enumerate(INNER_ROOMS["executors.native"])}


def test_continuous_integration_runs_the_commands_of_the_readme() -> None:
    done = subprocess.run(
        ["bash", str(ROOT / ".ci" / "run"), "--list"], capture_output=True, text=True, check=True
    )
    commands = done.stdout.splitlines()
    assert len(commands) == 2
    for command, end in zip(
        commands, ["adjoint wine", "pytest -q -n 2 --dist worksteal"], strict=True
    ):
        assert command in page("README.md")
        assert command.startswith("python3 -m venv .venv && .venv/bin/pip install")
        assert command.endswith(end)


def test_the_core_depends_on_little() -> None:
    project = tomllib.loads(page("pyproject.toml"))["project"]
    names = {re.match(r"[\w-]+", text).group() for text in project["dependencies"]}  # type: ignore[union-attr]
    assert names == {"llvmlite", "numpy", "optree", "scipy", "threadpoolctl"}


def test_the_command_line_asks_for_what_its_extra_installs() -> None:
    from adjoint.cli import NEEDS

    extra = tomllib.loads(page("pyproject.toml"))["project"]["optional-dependencies"]["cli"]
    assert sorted(NEEDS) == sorted(re.match(r"[\w-]+", text).group() for text in extra)  # type: ignore[union-attr]


def test_changes_are_noted_as_unreleased() -> None:
    assert "## [Unreleased]" in page("CHANGELOG.md")
