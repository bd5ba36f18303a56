"""Files, functions and lines stay short, and nothing is left to do without an issue."""

from pathlib import Path

import pytest

from tests.architecture.modules import ROOT, SOURCE
from tests.architecture.sizes import (
    FILE_LINES,
    FUNCTION_LINES,
    LINE_COLUMNS,
    ROOM_ENTRIES,
    crowded_rooms,
    open_ends,
    size_violations,
)

PYTHON_FILES = sorted([*SOURCE.rglob("*.py"), *(ROOT / "benchmarks").rglob("*.py")])
TEXT_FILES = sorted([*PYTHON_FILES, *ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def test_sizes() -> None:
    assert [fault for path in PYTHON_FILES for fault in size_violations(path)] == []


def test_rooms_are_not_crowded() -> None:
    assert crowded_rooms(SOURCE) == []


def test_no_open_ends_without_an_issue() -> None:
    assert [fault for path in TEXT_FILES for fault in open_ends(path)] == []


# --- the rules ------------------------------------------------------------------------------------


def written(folder: Path, text: str) -> Path:
    path = folder / "a.py"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_long_file_is_found(tmp_path: Path) -> None:
    assert size_violations(written(tmp_path, "x = 1\n" * FILE_LINES)) == []
    (fault,) = size_violations(written(tmp_path, "x = 1\n" * (FILE_LINES + 1)))
    assert "501 lines" in fault


def test_a_long_line_is_found(tmp_path: Path) -> None:
    assert size_violations(written(tmp_path, "#" * LINE_COLUMNS)) == []
    (fault,) = size_violations(written(tmp_path, "\n" + "#" * (LINE_COLUMNS + 1)))
    assert "a.py:2: 101 columns" in fault


@pytest.mark.parametrize("keyword", ["def", "async def"])
def test_a_long_function_is_found(tmp_path: Path, keyword: str) -> None:
    docstring = '    """One\n\n    two\n    """\n'
    body = "    x = 1\n" * (FUNCTION_LINES - 1)
    text = f"{keyword} f():\n{docstring}{body}"
    assert size_violations(written(tmp_path, text)) == []
    (fault,) = size_violations(written(tmp_path, text + "    x = 1\n"))
    assert "f has 61 lines" in fault


@pytest.mark.parametrize("line", ["# TODO: faster", "# FIXME", "x = 1  # TODO(me) soon"])
def test_an_open_end_is_found(tmp_path: Path, line: str) -> None:
    assert len(open_ends(written(tmp_path, line))) == 1


def test_an_open_end_with_an_issue_is_fine(tmp_path: Path) -> None:
    assert open_ends(written(tmp_path, "# TODO: faster (#12)\nTODOS = 1")) == []


def test_a_crowded_room_is_found(tmp_path: Path) -> None:
    room = tmp_path / "room"
    for number in range(ROOM_ENTRIES):
        (room / f"inner{number}").mkdir(parents=True)
        (room / f"inner{number}" / "a.py").write_text("")
    (room / "__init__.py").write_text("")
    (room / "without_code").mkdir()
    assert crowded_rooms(tmp_path) == []
    (room / "b.py").write_text("")
    (fault,) = crowded_rooms(tmp_path)
    assert "room: 15 entries" in fault
