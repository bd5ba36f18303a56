"""Files that are complete or not there."""

from __future__ import annotations

import os
import stat
import sys
import threading
from pathlib import Path

import pytest

from adjoint.base.process.files import save, write_whole


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


def test_bytes_are_written_as_they_are(tmp_path: Path) -> None:
    target = tmp_path / "a.bin"
    write_whole(target, b"one\r\ntwo\n\0\xff")
    assert target.read_bytes() == b"one\r\ntwo\n\0\xff"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")
@pytest.mark.parametrize(("mask", "plain", "private"), [(0o022, 0o644, 0o600), (0, 0o666, 0o600)])
def test_who_may_read_it(tmp_path: Path, mask: int, plain: int, private: int) -> None:
    before = os.umask(mask)
    try:
        write_whole(tmp_path / "plain", "")
        write_whole(tmp_path / "private", "", 0o600)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "plain").stat().st_mode) == plain
    assert stat.S_IMODE((tmp_path / "private").stat().st_mode) == private


def test_the_first_one_stays_where_none_is_to_be_replaced(tmp_path: Path) -> None:
    target = tmp_path / "key"
    for text in ("first", "second"):
        write_whole(target, text, replace=False)
    assert target.read_text() == "first"
    assert [path.name for path in tmp_path.iterdir()] == ["key"]


def test_links_are_followed(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    target = tmp_path / "there" / "a.svg"
    link = tmp_path / "a.svg"
    link.symlink_to(target)
    for text in ("one", "two"):  # also to where there is nothing yet
        save(link, text)
        assert link.is_symlink()
        assert target.read_text() == text
    assert [path.name for path in target.parent.iterdir()] == ["a.svg"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes here")
def test_a_pipe_stays_one(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()), daemon=True)
    reader.start()
    save(pipe, "through")
    reader.join(60)
    assert (read, pipe.is_fifo()) == (["through"], True)


def test_a_directory_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=str(tmp_path.name)):
        save(tmp_path, "")
    assert tmp_path.is_dir()
