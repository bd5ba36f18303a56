"""Files that are complete or not there."""

from __future__ import annotations

import os
from pathlib import Path


def write_whole(path: Path, text: str) -> None:
    """Write a text beside its place first, and then move it there.

    Raises:
        OSError: the directory does not exist, or the file cannot be written.
    """
    if not path.parent.is_dir():
        raise FileNotFoundError(f"There is no directory {str(path.parent)!r} to save in.")
    beside = path.with_name(f".{os.urandom(8).hex()}")
    try:
        beside.write_text(text, encoding="utf-8", newline="\n")
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
