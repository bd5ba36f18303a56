"""Compiled code kept on disk, for the next process.

An entry lies under a digest of all that it depends on, so that nothing is ever out of date. Most
are object files as LLVM has made them: they depend on the text of the module, in which no address
of a process stands, the processor, the effort, and the versions of what compiles. The folder
belongs to the user alone, and each entry bears a message authentication code under a random key
that lies in the folder: what somebody else has put there, or has been cut short, is not loaded.
Other files in the folder are let alone.

Processes may share a folder: an entry is there as a whole or not at all.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import stat
import sys
from collections.abc import Callable
from contextlib import suppress
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Final, NamedTuple

from adjoint.base.process.files import write_whole
from adjoint.base.settings import settings

LIMIT: Final = 1 << 28  # bytes of entries; beyond them those go that were not used for longest
_OFTEN: Final = 1 << 24  # bytes that a process stores before it looks at the size again
_MAC: Final = 32
_MODE: Final = 0o600
_KEY_FILE: Final = "key"
_OURS: Final = re.compile(r"[0-9a-f]{64}|\.[0-9a-f]{16}")  # entries, and what was not finished
# Another word for each way of making objects of a text, and of writing entries: those of an earlier
# version of this package are then no entries of this one.
_FORM: Final = b"objects in parts"
VARIABLE: Final = "ADJOINT_CACHE"
_stored: dict[Path, int] = {}  # bytes, in a folder, since its size was looked at


class StoredObject(NamedTuple):
    """Object files that belong together: the names that they show to others, and want of them."""

    images: tuple[bytes, ...]
    defined: tuple[str, ...]
    external: tuple[str, ...]

    def content(self) -> bytes:
        """What is kept of it."""
        head = json.dumps([self.defined, self.external, [*map(len, self.images)]]).encode()
        return b"".join((len(head).to_bytes(8, "little"), head, *self.images))

    @classmethod
    def of(cls, content: bytes) -> StoredObject:
        """What was kept so."""
        start = 8 + int.from_bytes(content[:8], "little")
        defined, external, sizes = json.loads(content[8:start])
        ends = [*accumulate(sizes, initial=start)]
        images = tuple(content[first:last] for first, last in pairwise(ends))
        return cls(images, tuple(defined), tuple(external))


class Counts:
    """How many pieces of machine code this process has loaded from disk, and has compiled."""

    loaded = 0
    compiled = 0


class ObjectCache:
    """The entries in a folder that is private to the user."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._secret = _secret(folder)

    def load(self, key: bytes) -> bytes | None:
        """The entry, or None; one that is not what was stored goes."""
        path = self.folder / key.hex()
        try:
            content = path.read_bytes()
        except OSError:
            return None
        payload = content[_MAC:]
        if not hmac.compare_digest(content[:_MAC], self._mac(key, payload)):
            with suppress(OSError):
                path.unlink()
            return None
        with suppress(OSError):
            os.utime(path)
        return payload

    def store(self, key: bytes, payload: bytes) -> None:
        """Keep an entry, if the disk takes it."""
        with suppress(OSError):
            write_whole(self.folder / key.hex(), self._mac(key, payload) + payload, _MODE)
            _stored[self.folder] = _stored.get(self.folder, _OFTEN) + len(payload)
            if _stored[self.folder] >= _OFTEN:
                _stored[self.folder] = 0
                self._make_room()

    def clear(self) -> None:
        """Remove all entries."""
        for _, _, path in self._entries():
            with suppress(OSError):
                path.unlink()

    def _mac(self, key: bytes, payload: bytes) -> bytes:
        return hmac.digest(self._secret, key + payload, "sha256")

    def _entries(self) -> list[tuple[float, int, Path]]:
        entries = []
        with suppress(OSError), os.scandir(self.folder) as listing:
            for entry in listing:
                if _OURS.fullmatch(entry.name):
                    with suppress(OSError):
                        facts = entry.stat(follow_symlinks=False)
                        entries.append((facts.st_mtime, facts.st_size, Path(entry.path)))
        return sorted(entries)

    def _make_room(self) -> None:
        entries = self._entries()
        size = sum(bytes_ for _, bytes_, _ in entries)
        if size <= LIMIT:
            return
        for _, bytes_, path in entries:
            with suppress(OSError):
                path.unlink()
            size -= bytes_
            if size <= LIMIT * 3 // 4:
                return


def digest(*parts: str | bytes) -> bytes:
    """The key of what comes of these texts, in the form in which entries are written now."""
    total = hashlib.sha256(_FORM)
    for part in parts:
        encoded = part.encode() if isinstance(part, str) else part
        total.update(len(encoded).to_bytes(8, "little"))
        total.update(encoded)
    return total.digest()


# --- where ----------------------------------------------------------------------------------------


def object_cache() -> ObjectCache | None:
    """The cache under the settings in force; None where there is none, or no private place for it.

    `ad.config(cache=...)` decides, else the environment variable ADJOINT_CACHE (a folder, or
    `off`), else it is the folder `adjoint` where the platform has its caches.
    """
    chosen = settings().cache
    if chosen is None:
        chosen = os.environ.get(VARIABLE) or True
        chosen = False if chosen == "off" else chosen
    if chosen is False:
        return None
    try:  # each time anew, as the folder may be gone, or have become somebody else's
        folder = _platforms_folder() / "adjoint" if chosen is True else Path(str(chosen))
        return ObjectCache(folder.expanduser().absolute())
    except (OSError, RuntimeError, ValueError):
        return None  # no home, no folder, no name of one, or not the user's alone


def _platforms_folder() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    named = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return named if named.is_absolute() else Path.home() / ".cache"  # as XDG has it


def _secret(folder: Path) -> bytes:
    """The key of the folder, which is drawn where there is none yet.

    Raises:
        PermissionError: others may write there, or read the key.
        OSError: the folder cannot be made.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    _check_private(folder, stat.S_ISDIR)
    path = folder / _KEY_FILE
    if not path.exists():
        write_whole(path, os.urandom(_MAC), _MODE, replace=False)
    _check_private(path, stat.S_ISREG)
    secret = path.read_bytes()
    if len(secret) != _MAC:
        raise PermissionError(f"{str(path)!r} is not a key")
    return secret


def _check_private(path: Path, is_kind: Callable[[int], bool]) -> None:
    facts = path.lstat()
    if not is_kind(facts.st_mode):
        raise PermissionError(f"{str(path)!r} is something else than it should be")
    # On Windows the folder of the user's local data is private by what it inherits.
    if hasattr(os, "getuid") and (facts.st_uid != os.getuid() or facts.st_mode & 0o077):
        raise PermissionError(f"others than the user may read or write {str(path)!r}")
