"""Files that are complete or not there."""

from __future__ import annotations

from pathlib import Path

import pytest

from adjoint.base.files import write_whole


def test_a_file_is_written_over(tmp_path: Path) -> None:
    target = tmp_path / "a.svg"
    for text in ("one\n", "zwei: ü\n"):
        write_whole(target, text)
        assert target.read_bytes() == text.encode()
    assert [path.name for path in tmp_path.iterdir()] == ["a.svg"]


def test_a_failure_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "a.svg"
    target.write_text("old")

    def fail(self: Path, target: Path) -> None:
        raise OSError("no room")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="no room"):
        write_whole(target, "new")
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["a.svg"]


def test_there_must_be_a_directory(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="missing"):
        write_whole(tmp_path / "missing" / "a.svg", "")
