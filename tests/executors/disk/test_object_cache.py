"""Compiled code on disk: right in the next process, the user's alone, never what was not stored."""

from __future__ import annotations

import errno
import io
import json
import os
import shutil
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import adjoint as ad
from adjoint.executors.disk import object_cache
from adjoint.executors.disk.object_cache import Counts, ObjectCache, StoredObject, digest
from adjoint.executors.native.entry.python_api import python_api
from adjoint.executors.native.entry.runtime import runtime_text
from adjoint.executors.native.machine.llvm import machine

X = np.array([0.5, 1.0, 2.0])
KEY = digest("key")
OBJECT = StoredObject((b"an object\0file", b"another"), ("entry",), ("sin", "python.object.None"))
STORED = OBJECT.content()
TEXT = "define i32 @one(i32 %x) {\n  %y = add i32 %x, 1\n  ret i32 %y\n}\n"
PROGRAM = """
import json, numpy as np, adjoint as ad
def loss(w):
    return np.log(np.sum(np.exp(np.tanh(w @ w)))) + np.sum(np.sin(w) * w.mean(axis=0))
w = np.linspace(-1, 1, 16).reshape(4, 4)
with ad.config(threads=1):
    slope = ad.jit(ad.grad(loss))(w)
    ad.jit(ad.grad(lambda x: x * x if x > 0 else -x))(2.0)
info = ad.cache_info()
print(json.dumps([slope.tobytes().hex(), info.compiled, info.loaded]))
"""


def everything_in(folder: Path) -> dict[str, bytes | None]:
    """What lies in a folder, and in folders in it."""
    return {str(path): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


def in_a_process(folder: Any) -> list[Any]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "ADJOINT_CACHE": str(folder)},
        capture_output=True,
        text=True,
        check=True,
    )
    results: list[Any] = json.loads(done.stdout)
    return results


def test_the_next_process_compiles_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    slope, compiled, loaded = in_a_process(folder)
    assert (compiled > 2, loaded) == (True, 0)
    assert in_a_process(folder) == [slope, 0, compiled]
    assert in_a_process("off") == [slope, compiled, 0]
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    for path in folder.iterdir():  # what has been changed is compiled anew, and stored
        if path.name != "key":
            content = bytearray(path.read_bytes())
            content[len(content) // 2] ^= 1
            path.write_bytes(content)
    assert in_a_process(folder) == [slope, compiled, 0]
    assert in_a_process(folder) == [slope, 0, compiled]


def test_many_processes_share_a_folder(tmp_path: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(in_a_process, [tmp_path / "kept"] * 4))
    assert len({slope for slope, _, _ in results}) == 1
    assert not [path for path in (tmp_path / "kept").iterdir() if path.name.startswith(".")]
    assert in_a_process(tmp_path / "kept")[1] == 0


def test_entries_are_what_was_stored(tmp_path: Path) -> None:
    kept = ObjectCache(tmp_path / "kept")
    assert kept.load(KEY) is None
    kept.store(KEY, STORED)
    assert kept.load(KEY) == STORED
    assert ObjectCache(tmp_path / "kept").load(KEY) == STORED
    assert StoredObject.of(STORED) == OBJECT
    path = kept.folder / KEY.hex()
    whole = path.read_bytes()
    for content in (b"", whole[:20], whole[:-1], whole + b"0", bytes(32) + whole[32:]):
        path.write_bytes(content)
        assert kept.load(KEY) is None
        assert not path.exists()
    path.write_bytes(whole)
    other = digest("other")
    path.rename(kept.folder / other.hex())
    assert kept.load(other) is None  # an entry is of its own key
    kept.store(KEY, STORED)
    (kept.folder / "key").write_bytes(os.urandom(32))
    assert ObjectCache(kept.folder).load(KEY) is None
    kept.store(KEY, STORED)
    kept.clear()
    assert [path.name for path in kept.folder.iterdir()] == ["key"]


def test_there_is_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_cache, "LIMIT", 10_000)
    monkeypatch.setattr(object_cache, "_OFTEN", 1)
    kept = ObjectCache(tmp_path / "kept")
    keys = [digest(str(number)) for number in range(12)]
    for number, key in enumerate(keys):
        kept.store(key, bytes(1000))
        path = kept.folder / key.hex()
        if path.exists():
            os.utime(path, (number, number))
        if number == 5:
            kept.load(keys[0])  # used just now
    assert kept.load(keys[0]) is not None
    assert kept.load(keys[1]) is None
    assert kept.load(keys[-1]) is not None
    assert sum(path.stat().st_size for path in kept.folder.iterdir()) <= 10_000


KINDS = ["others write", "a link", "a file", "the key", "a short key", "a link for a key"]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")
@pytest.mark.parametrize("kind", KINDS)
def test_a_place_that_is_not_the_users_alone_is_not_used(tmp_path: Path, kind: str) -> None:
    folder = tmp_path / "kept"
    if kind == "others write":
        folder.mkdir()
        folder.chmod(0o777)
    elif kind == "a link":
        (tmp_path / "other").mkdir(mode=0o700)
        folder.symlink_to(tmp_path / "other")
    elif kind == "a file":
        folder.write_text("")
    elif kind == "a link for a key":
        folder.mkdir(mode=0o700)
        (folder / "key").symlink_to(tmp_path / "elsewhere")
    else:
        ObjectCache(folder)
        if kind == "the key":
            (folder / "key").chmod(0o644)
        else:
            (folder / "key").write_bytes(b"short")
    before = everything_in(tmp_path)
    with pytest.raises(OSError, match=r".+"):
        ObjectCache(folder)

    def function(x: Any) -> Any:  # of each kind another, since code that is alive is not compiled
        return sum((np.sin(x) * x for _ in range(KINDS.index(kind))), np.sin(x) * x)

    with ad.config(cache=folder, native=True):
        ad.cache_clear(disk=True)
        compiled = Counts.compiled
        np.testing.assert_allclose(ad.jit(function)(X), function(X))
    assert Counts.compiled > compiled
    assert everything_in(tmp_path) == before


@pytest.mark.skipif(not hasattr(os, "chown") or os.getuid() != 0, reason="only root gives away")
@pytest.mark.parametrize("what", ["kept", "kept/key"])
def test_a_place_of_somebody_elses_is_not_used(tmp_path: Path, what: str) -> None:
    ObjectCache(tmp_path / "kept")
    os.chown(tmp_path / what, 12345, 12345)
    before = everything_in(tmp_path)
    with ad.config(cache=tmp_path / "kept"):
        assert object_cache.object_cache() is None
        machine().compile(TEXT)
        ad.cache_clear(disk=True)
    assert everything_in(tmp_path) == before


def test_files_of_others_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = ObjectCache(tmp_path / "kept")
    names = ["a.txt", "key.old", "0" * 63, "0" * 65, "A" * 64, ".hidden", "." + "0" * 15, "é" * 64]
    for name in names:
        (kept.folder / name).write_bytes(bytes(20_000))
        os.utime(kept.folder / name, (1, 1))  # nothing is older
    (kept.folder / ("f" * 64)).mkdir()
    monkeypatch.setattr(object_cache, "LIMIT", 10_000)
    monkeypatch.setattr(object_cache, "_OFTEN", 1)
    keys = [digest(str(number)) for number in range(12)]
    for key in keys:
        kept.store(key, bytes(1000))
    assert 6 <= sum((kept.folder / key.hex()).exists() for key in keys) < 12
    (kept.folder / ("." + "0" * 16)).write_bytes(b"not finished")
    kept.clear()
    assert {path.name for path in kept.folder.iterdir()} == {*names, "key", "f" * 64}


def test_a_full_disk_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = ObjectCache(tmp_path / "kept")
    before = everything_in(tmp_path)
    opened = []

    class Full(io.FileIO):
        def write(self, content: Any) -> int:
            super().write(content[: len(content) // 2])
            raise OSError(errno.ENOSPC, "No space left on device")

    def full(descriptor: int, mode: str) -> Full:
        opened.append(Full(descriptor, mode))
        return opened[-1]

    monkeypatch.setattr(os, "fdopen", full)
    kept.store(KEY, STORED)
    assert [file.closed for file in opened] == [True]
    assert kept.load(KEY) is None
    assert everything_in(tmp_path) == before


# --- where ----------------------------------------------------------------------------------------


def test_without_a_home_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody(*arguments: Any) -> Any:
        raise RuntimeError("Could not determine home directory.")

    for name in (object_cache.VARIABLE, "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", nobody)
    monkeypatch.setattr(Path, "expanduser", lambda path: nobody() if "~" in str(path) else path)
    monkeypatch.chdir(tmp_path)
    for chosen in (None, True, "~/kept", "~nobody/kept"):
        with ad.config(cache=chosen):
            assert object_cache.object_cache() is None
            machine().compile(TEXT)
            ad.cache_clear(disk=True)
    assert everything_in(tmp_path) == {}


def test_home_and_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    places = {"~/kept": "home/kept", "kept": "here/kept", "../kept": "kept"}
    for chosen, place in places.items():
        for folder in (chosen, Path(chosen)):
            with ad.config(cache=folder):
                machine().compile(TEXT)
        monkeypatch.setenv(object_cache.VARIABLE, chosen)
        machine().compile(TEXT)
        entries = [path.name for path in (tmp_path / place).iterdir()]
        assert (len(entries), "key" in entries) == (2, True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["here", "home", "kept"]


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="these do not know XDG")
def test_the_platforms_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(object_cache.VARIABLE, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    for named, place in (("", "home/.cache"), ("relative", "home/.cache"), (tmp_path / "x", "x")):
        monkeypatch.setenv("XDG_CACHE_HOME", str(named))
        for chosen in (None, True):
            with ad.config(cache=chosen):
                cache = object_cache.object_cache()
            assert cache is not None
            assert cache.folder == tmp_path / place / "adjoint"


@pytest.mark.parametrize("name", ["a\0b", "\ud800", "x" * 5000])
def test_what_cannot_be_a_folder_is_no_error(name: str) -> None:
    with ad.config(cache=name):
        machine().compile(TEXT)
        ad.cache_clear(disk=True)


def test_a_folder_that_has_been_removed_is_made_anew(tmp_path: Path) -> None:
    with ad.config(cache=tmp_path / "kept"):
        machine().compile(TEXT)
        shutil.rmtree(tmp_path / "kept")
        compiled, loaded = Counts.compiled, Counts.loaded
        machine().compile(TEXT)
        machine().compile(TEXT)
    assert (Counts.compiled, Counts.loaded) == (compiled + 1, loaded + 1)


def test_a_text_has_no_addresses() -> None:
    ad.cache_clear()
    view = ad.program(lambda x: np.sin(x) * x, X).native()
    for text in (view.ir(), runtime_text(python_api())):
        assert "inttoptr (i64" not in text
    assert "@numpy.dtype.float64 = external" in view.ir()
    assert "@python.object.None = external" in runtime_text(python_api())


def test_what_is_kept_is_of_the_machine(tmp_path: Path) -> None:
    with ad.config(cache=tmp_path / "kept"):
        machine().compile(TEXT)
        before = Counts.loaded, Counts.compiled
        machine().compile(TEXT)
        assert (Counts.loaded, Counts.compiled) == (before[0] + 1, before[1])
        machine().compile(TEXT.replace("add", "sub"))
        machine().compile(TEXT, verify=True)
        assert (Counts.loaded, Counts.compiled) == (before[0] + 1, before[1] + 2)
        ad.cache_clear(disk=True)
        machine().compile(TEXT)
        assert Counts.compiled == before[1] + 3


def test_settings_are_checked() -> None:
    with pytest.raises(ad.errors.ArgumentTypeError, match="cache must be"), ad.config(cache=3):
        pass
    with pytest.raises(ad.errors.ArgumentError, match="an empty name"), ad.config(cache=""):
        pass
