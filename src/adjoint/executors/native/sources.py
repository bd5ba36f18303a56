"""The package's own sources, as a digest: what machine code is made by, as well as of."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Final

# All that lowering imports of the package lies in these rooms.
ROOMS: Final = ("base", "program", "primitives", "transforms", "loops", "optimise", "executors")
_HOME: Final = Path(__file__).resolve().parents[2]
# Nanoseconds before this module is imported in which others may have been.
_IMPORTING: Final = 5_000_000_000
_OLDEST: Final = time.time_ns() - _IMPORTING


def sources_digest() -> bytes | None:
    """The digest of the sources that this process runs; None where they may be other ones by now.

    That is so where there is none, or one has changed since the process has begun.
    """
    return digest_of(_HOME, _OLDEST)


known_sources = cache(sources_digest)


def digest_of(home: Path, oldest: int) -> bytes | None:
    """The digest of the sources in a folder, unless one is younger than a time in nanoseconds."""
    total = sha256()
    count = 0
    try:
        for room in ROOMS:
            for path in _sources(os.path.join(home, room)):
                content = unchanged_content(path, oldest)
                if content is None:
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
    return None if max(facts.st_mtime_ns, facts.st_ctime_ns) > oldest else content


def _sources(folder: str) -> Iterator[str]:
    with os.scandir(folder) as listing:
        entries = sorted(listing, key=lambda entry: entry.name)
    for entry in entries:
        if entry.name.endswith(".py"):
            yield entry.path
        elif entry.name != "__pycache__" and entry.is_dir():
            yield from _sources(entry.path)
