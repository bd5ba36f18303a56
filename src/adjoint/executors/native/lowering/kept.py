"""Machine code of earlier processes, found by the program alone, before anything is lowered.

An object file lies on disk under a digest of its text (`disk/object_cache.py`). Beside it lies
which text came of a program, under a digest of all that lowering depends on: the program, what is
asked of it, the processor and the cores, the versions of Python, NumPy, SciPy and LLVM, and the
sources of this package. The entry is authenticated as the object is, and names it by the digest of
its text, so that the two can only be a pair. What is missing, or is not as it should be, is
lowered.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from struct import Struct
from typing import Final

from adjoint.base.errors import NativeUnavailableError
from adjoint.executors.disk.contents import (
    UnknownContentError,
    program_digest,
    value_content,
)
from adjoint.executors.disk.object_cache import digest, object_cache
from adjoint.executors.disk.sources import LOWERING, are_unchanged, known_sources, surroundings
from adjoint.executors.interface import Needs
from adjoint.executors.native.entry.runtime import runtime
from adjoint.executors.native.lowering.lowered import Calling, Lowered, LoweredFunction
from adjoint.executors.native.machine import fourier, matrices, orders, pool, routines, ufuncs
from adjoint.executors.native.machine.llvm import Code, cores, machine
from adjoint.program import Program

Lowering = Callable[[Program, Needs], Lowered | None]

_KEY: Final = 32
_SIZES: Final = Struct("<QQQ")  # of the workspace, of the stack, how many outputs are lent
_NUMBER: Final = Struct("<Q")
_MOST: Final = 1 << 48  # bytes that anything may have


def find(program: Program, needs: Needs, lower: Lowering) -> LoweredFunction | None:
    """The machine code of a program that is kept on disk, if there is any.

    lower: makes its text, if anybody asks for that.
    """
    kept = object_cache()
    if kept is None:
        return None
    try:
        key = _key(program, needs)
        content = None if key is None else kept.load(key)
        entry = None if content is None else unpacked(content, program)
        code = None if entry is None else _load(entry[0])
    except NativeUnavailableError:  # whoever lowers says it, if there is anything to be lowered
        return None
    if entry is None or code is None:
        return None
    return LoweredFunction(program, code, entry[1], partial(lower, program, needs))


def keep(program: Program, needs: Needs, function: LoweredFunction) -> None:
    """Keep on disk what came of a program, for `find`."""
    kept = object_cache()
    if kept is None or len(function.code.key) != _KEY or not are_unchanged():
        return
    key = _key(program, needs)
    if key is not None:
        kept.store(key, packed(function.code.key, function.calling))


# --- keys ----------------------------------------------------------------------------------------


def _key(program: Program, needs: Needs) -> bytes | None:
    """The digest of all that lowering depends on; None where there is something unknown in it."""
    if needs.timed:  # which asks for counters, and for the regions that they are of
        return None
    own, around = known_sources(LOWERING), surroundings()
    content = None if own is None or around is None else program_digest(program)
    if own is None or around is None or content is None:
        return None
    try:
        asked = value_content(tuple(needs))
    except UnknownContentError:
        return None
    return digest("program", content, asked, own, str(cores()), *around, *machine().identity)


# --- entries --------------------------------------------------------------------------------------


def packed(code_key: bytes, calling: Calling) -> bytes:
    """An entry: the key of the object, and how it is called."""
    sizes = _SIZES.pack(calling.workspace_bytes, calling.stack_bytes, len(calling.lent))
    return b"".join((code_key, sizes, *map(_NUMBER.pack, calling.lent)))


def unpacked(content: bytes, program: Program) -> tuple[bytes, Calling] | None:
    """The same from an entry; None where it cannot be one of this program."""
    start = _KEY + _SIZES.size
    if len(content) < start:
        return None
    workspace_bytes, stack_bytes, count = _SIZES.unpack_from(content, _KEY)
    if max(workspace_bytes, stack_bytes) >= _MOST or len(content) != start + count * _NUMBER.size:
        return None
    lent = tuple([number for (number,) in _NUMBER.iter_unpack(content[start:])])
    ascending = all(one < other for one, other in pairwise(lent))
    if not ascending or any(
        number >= len(program.outputs) or not program.outputs[number].type.ndim for number in lent
    ):
        return None
    return content[:_KEY], Calling(workspace_bytes, stack_bytes, lent)


def _load(code_key: bytes) -> Code | None:
    """The object; None where it is gone, or refers to what this process has not."""
    runtime()  # which looks whether Python is as code takes it to be, and defines symbols
    return machine().load(code_key, _provide)


def _provide(symbol: str) -> None:
    for library in (routines, ufuncs, orders, fourier, matrices, pool):
        library.provide(symbol)
