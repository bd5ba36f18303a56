"""What is kept on disk depends on besides what it is of: the package's sources, and other packages.

A digest of the sources tells what this process runs only as long as nothing is changed under it.
So there is none where a file or a folder is younger than the process, by its content or by its
place, and none where the package has been replaced by another. On disk that is looked at once more
before anything is kept, since much of the package is imported when it is first needed.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Sequence
from functools import cache
from hashlib import sha256
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import numpy as np

# All that lowering imports of the package lies in these rooms.
LOWERING: Final = ("base", "program", "primitives", "transforms", "loops", "optimise", "executors")
# And besides them in these all that derives one program from another.
_DERIVING: Final = ("calculus", "capture", "manifolds", "maps", "pipeline.py", "spaces", "tensors")
DERIVING: Final = (*LOWERING, *_DERIVING)
# Nanoseconds before this module is imported in which others may have been.
_IMPORTING: Final = 5_000_000_000
_OLDEST: Final = time.time_ns() - _IMPORTING
_HOME: Final = Path(__file__).parents[2]
_NAMES: Final = getattr(os, "confstr_names", ())  # of what the C library tells


def _place(folder: Path) -> tuple[int, int] | None:
    """Which folder is there."""
    try:
        facts = os.stat(folder)
    except OSError:
        return None
    return facts.st_dev, facts.st_ino


_HOME_PLACE: Final = _place(_HOME)


def sources_digest(rooms: Sequence[str] = LOWERING) -> bytes | None:
    """The digest of the sources that this process runs; None where they may be others by now."""
    return digest_of(_HOME, _OLDEST, rooms) if _place(_HOME) == _HOME_PLACE else None


known_sources = cache(sources_digest)


def are_unchanged(rooms: Sequence[str] = LOWERING) -> bool:
    """Whether there is a digest, and it still is what it was when it was first asked for."""
    known = known_sources(rooms)
    return known is not None and known == sources_digest(rooms)


@cache
def surroundings() -> tuple[str | bytes, ...] | None:
    """What else it depends on, which stays as it is: versions and libraries.

    None where SciPy, which takes long to load, may be another by now than it was.
    """
    try:
        scipy = find_spec("scipy")
    except ValueError:  # a module that somebody has put together
        return None
    origin = None if scipy is None else scipy.origin
    versions = None if origin is None else unchanged_content(Path(origin).with_name("version.py"))
    if versions is None:
        return None
    of_c = os.confstr("CS_GNU_LIBC_VERSION") if "CS_GNU_LIBC_VERSION" in _NAMES else ""
    return sys.version, EXTENSION_SUFFIXES[0], np.__version__, versions, of_c or ""


def digest_of(home: Path, oldest: int, rooms: Sequence[str] = LOWERING) -> bytes | None:
    """The digest of the sources in a folder, unless one is younger than a time in nanoseconds."""
    total = sha256()
    count = 0
    try:
        for room in rooms:
            for path in _sources(os.path.join(home, room), oldest):
                content = None if path is None else unchanged_content(path, oldest)
                if path is None or content is None:
                    return None
                name = os.path.relpath(path, home).encode("utf-8", "surrogateescape")
                for part in (name, content):
                    total.update(len(part).to_bytes(8, "little"))
                    total.update(part)
                count += 1
    except OSError:
        return None
    return total.digest() if count else None


def unchanged_content(path: Path | str, oldest: int = _OLDEST) -> bytes | None:
    """The content of a file, unless it is younger."""
    try:
        with open(path, "rb", buffering=0) as file:
            content = file.readall()
            facts = os.fstat(file.fileno())  # after it was read
    except OSError:
        return None
    return None if _is_younger(facts, oldest) else content


def _is_younger(facts: os.stat_result, oldest: int) -> bool:
    return max(facts.st_mtime_ns, facts.st_ctime_ns) > oldest


def _sources(folder: str, oldest: int) -> Iterator[str | None]:
    """The files in a folder and below, in order; None where a folder is younger.

    A file alone is all there is in it.
    """
    if folder.endswith(".py"):
        yield folder
        return
    with os.scandir(folder) as listing:
        entries = sorted(listing, key=lambda entry: entry.name)
    if _is_younger(os.stat(folder), oldest):
        yield None
    for entry in entries:
        if entry.name.endswith(".py"):
            yield entry.path
        elif entry.name != "__pycache__" and entry.is_dir():
            yield from _sources(entry.path, oldest)
