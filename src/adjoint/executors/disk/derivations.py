"""Programs that earlier processes have derived from others, kept on disk where that takes long.

A derivative of ten thousand equations takes a third of a second to write, and a few hundredths to
read. It lies under a digest of all that it depends on: the program that it is derived from, with
the lines that its equations come from, what was asked of it, the sources of this package, and the
versions of Python and NumPy. A program in which there is something of the user's own, whose meaning
is in no source of this package, has no content (see `contents.py`) and is derived anew.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from adjoint.base.settings import settings
from adjoint.executors.disk.contents import UnknownContentError, whole_content
from adjoint.executors.disk.object_cache import digest, object_cache
from adjoint.executors.disk.reading import UnreadableError, read
from adjoint.executors.disk.sources import DERIVING, are_unchanged, known_sources, surroundings
from adjoint.program import Program, all_equations

FEWEST: Final = 1_000  # equations from which deriving takes longer than to look on the disk


class Derivation(NamedTuple):
    """What is derived: a program, its outputs to be watched for NaN, and facts about it."""

    program: Program
    watched: tuple[int, ...]
    facts: Any


class KeptDerivation:
    """The place on disk of what is derived from a program for a purpose."""

    def __init__(self, about: Any, program: Program) -> None:
        self._folder = object_cache() if _takes_long(program) else None
        self._key = None if self._folder is None else _key(about, program)

    def load(self) -> Derivation | None:
        """What was derived, if it is kept."""
        if self._folder is None or self._key is None:
            return None
        content = self._folder.load(self._key)
        try:
            return None if content is None else Derivation(*read(content))
        except (TypeError, UnreadableError):
            return None

    def store(self, derivation: Derivation) -> None:
        """Keep what was derived."""
        if self._folder is None or self._key is None or not are_unchanged(DERIVING):
            return
        try:
            content = whole_content(tuple(derivation))
        except (RecursionError, UnknownContentError):
            return
        self._folder.store(self._key, content)


def _takes_long(program: Program) -> bool:
    chosen = settings()
    if chosen.native is False or chosen.debug:  # which checks what is derived, pass by pass
        return False
    return len(program) >= FEWEST or sum(1 for _ in all_equations(program)) >= FEWEST


def _key(about: Any, program: Program) -> bytes | None:
    own, around = known_sources(DERIVING), surroundings()
    if own is None or around is None:
        return None
    try:
        content = whole_content((about, program))
    except (RecursionError, UnknownContentError):  # programs within programs, many times over
        return None
    return digest("derivation", content, own, *around)
