"""Files that are complete or not there."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def write_whole(path: Path, content: str | bytes, mode: int = 0o666, replace: bool = True) -> None:
    """Write a file beside its place first, and then move it there.

    mode: who may read and write it, before the user's own mask. replace: whether it takes the place
    of one that is there already.

    Raises:
        OSError: the directory does not exist, or the file cannot be written.
    """
    if not path.parent.is_dir():
        raise FileNotFoundError(f"There is no directory {str(path.parent)!r} to save in.")
    whole = content.encode() if isinstance(content, str) else content
    beside = path.with_name(f".{os.urandom(8).hex()}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    try:
        with os.fdopen(os.open(beside, flags, mode), "wb") as file:
            file.write(whole)
        if replace:
            beside.replace(path)
        else:
            with suppress(FileExistsError):
                os.link(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def save(path: Path, content: str) -> None:
    """Write a whole file where the user wants one: a link is followed, a device or pipe written to.

    Raises:
        OSError: the directory does not exist, or the file cannot be written.
    """
    if path.exists() and not path.is_file():
        path.write_bytes(content.encode())
    else:
        write_whole(path.resolve(), content)
