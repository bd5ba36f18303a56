"""The digest of the package's sources: what is kept is made by them, as this process runs them."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

import adjoint
from adjoint.executors.disk import sources
from adjoint.executors.disk.sources import DERIVING, LOWERING, digest_of, unchanged_content
from tests.architecture.modules import SOURCE, imports, read_modules

HOUR = 3_600_000_000_000


@pytest.mark.parametrize(
    ("room", "rooms"),
    [("executors.native", LOWERING), ("calculus", DERIVING)],
    ids=["native", "calculus"],
)
def test_all_that_it_imports_is_in_it(room: str, rooms: tuple[str, ...]) -> None:
    modules = read_modules(SOURCE)
    known: dict[str, set[str]] = {name: set() for name in modules}
    for entry in imports(modules):
        known[entry.importer].add(entry.imported)
    waiting = [name for name in modules if name.startswith(f"adjoint.{room}")]
    reached = set(waiting)
    while waiting:
        following = known[waiting.pop()] - reached
        reached |= following
        waiting += following
    named = {name.removesuffix(".py") for name in rooms}
    assert {name.split(".")[1] for name in reached if "." in name} <= named


def test_a_file_alone_is_in_it(tmp_path: Path) -> None:
    home, later = package(tmp_path / "home"), time.time_ns() + HOUR
    (home / "alone.py").write_text("z = 1\n")
    rooms = (*LOWERING, "alone.py")
    before = digest_of(home, later, rooms)
    (home / "alone.py").write_text("z = 2\n")
    after = digest_of(home, later, rooms)
    assert len({None, before, after, digest_of(home, later)}) == 4
    (home / "alone.py").unlink()
    assert digest_of(home, later, rooms) is None


def test_the_package_has_one() -> None:
    home = Path(adjoint.__file__).parent
    digest = digest_of(home, time.time_ns() + HOUR)
    assert digest is not None
    assert len(digest) == 32
    assert sources.sources_digest() in (digest, None)  # None where somebody has just written one


def package(home: Path) -> Path:
    for room in LOWERING:
        (home / room / "inner").mkdir(parents=True)
        (home / room / "one.py").write_text("x = 1\n")
        (home / room / "inner" / "two.py").write_text("y = 2\n")
    return home


def test_each_change_gives_another(tmp_path: Path) -> None:
    home, later = package(tmp_path / "home"), time.time_ns() + HOUR
    digests = [digest_of(home, later)]
    path = home / "executors" / "inner" / "two.py"
    facts = path.stat()
    path.write_text("y = 3\n")
    os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))  # as if it were the same
    digests.append(digest_of(home, later))
    path.rename(path.with_name("three.py"))
    digests.append(digest_of(home, later))
    (home / "base" / "new.py").write_text("")
    digests.append(digest_of(home, later))
    (home / "base" / "one.py").unlink()
    digests.append(digest_of(home, later))
    assert None not in digests
    assert len(set(digests)) == len(digests)


def test_what_does_not_count(tmp_path: Path) -> None:
    home, later = package(tmp_path / "home"), time.time_ns() + HOUR
    before = digest_of(home, later)
    (home / "base" / "__pycache__").mkdir()
    (home / "base" / "__pycache__" / "one.cpython.pyc").write_bytes(b"code")
    (home / "base" / "py.typed").write_text("")
    assert digest_of(home, later) == before
    assert digest_of(package(tmp_path / "elsewhere"), later) == before


def test_a_source_that_is_younger_than_the_process_leaves_none(tmp_path: Path) -> None:
    """It may be another than the one that was imported."""
    home = package(tmp_path / "home")
    assert digest_of(home, time.time_ns() - HOUR) is None
    for place in (home / "program" / "inner", home / "program"):  # as one that has taken a place
        time.sleep(0.05)
        between = time.time_ns()
        assert digest_of(home, between) is not None
        time.sleep(0.05)
        place.chmod(0o700)
        assert digest_of(home, between) is None
    path = home / "program" / "one.py"
    os.utime(path, ns=(0, 0))  # which does not make it any older
    assert unchanged_content(path, time.time_ns() - HOUR) is None
    assert unchanged_content(path, time.time_ns() + HOUR) == b"x = 1\n"


def test_a_package_that_was_replaced_leaves_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As by another that had been installed long before: a link leads there now, say."""
    link = tmp_path / "home"
    link.symlink_to(package(tmp_path / "one"))
    monkeypatch.setattr(sources, "_HOME", link)
    monkeypatch.setattr(sources, "_HOME_PLACE", sources._place(link))
    monkeypatch.setattr(sources, "_OLDEST", time.time_ns() + HOUR)
    known = sources.sources_digest()
    assert known is not None
    monkeypatch.setattr(sources, "known_sources", lambda rooms: known)
    assert sources.are_unchanged()
    (tmp_path / "one" / "base" / "one.py").write_text("x = 3\n")
    assert not sources.are_unchanged()
    link.unlink()
    assert sources.sources_digest() is None
    link.symlink_to(package(tmp_path / "other"))
    assert sources.sources_digest() is None
    assert not sources.are_unchanged()


def test_without_sources_there_is_none(tmp_path: Path) -> None:
    later = time.time_ns() + HOUR
    assert digest_of(tmp_path / "nowhere", later) is None
    for room in LOWERING:
        (tmp_path / room).mkdir()
    assert digest_of(tmp_path, later) is None
    assert unchanged_content(tmp_path / "nothing.py") is None
