"""Random programs in memory between protected pages: a read or write outside ends the process.

Run as `python -m tests.executors.native.fenced KIND FIRST LAST`; KIND is "values" or "indices", of
which the latter has index arrays that point outside, so that machine code must give up; or "loops"
or "loop-indices", the same for the bodies of loops; or "rows", sorting, transforms and filters; or
"strided", reads of every other number and the like; or "columns", those of matrices, and writes; or
"stencils", whose arrays are computed where they are read, under masks.
"""

from __future__ import annotations

import ctypes
import faulthandler
import mmap
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.executors import Needs, NumpyExecutor
from adjoint.executors.native.lowering import lower
from adjoint.executors.native.schedule import planning, recomputing, storage, zones
from adjoint.program import Program
from tests.executors.native.comparing import compare, is_lowerable
from tests.executors.native.emission.strided import random_columns, random_strided
from tests.executors.native.loop_programs import random_loop
from tests.executors.native.random_programs import random_program
from tests.executors.native.rows.random_rows import random_rows
from tests.executors.native.schedule.random_stencils import random_stencil

PAGE = mmap.PAGESIZE
CANARY = 0xA5
FAR = (10**6, -(10**6), 2**31 - 1, -(2**31), 2**40, 2**62, -(2**63), 2**63 - 1, 1001, -1001, 255)

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
_libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


class Fence:
    """Gives out arrays that end, or begin, where protected memory does."""

    def __init__(self, at_end: bool) -> None:
        self.at_end = at_end
        self.maps: list[tuple[int, int]] = []

    def array(self, shape: tuple[int, ...], dtype: Any, alignment: int = 1) -> Any:
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        inside = max(1, -(-size // PAGE)) * PAGE
        base = _libc.mmap(None, inside + 2 * PAGE, 3, 0x22, -1, 0)
        for page in (base, base + PAGE + inside):
            assert _libc.mprotect(page, PAGE, 0) == 0
        self.maps.append((base, inside + 2 * PAGE))
        start = base + PAGE + (inside - -(-size // alignment) * alignment if self.at_end else 0)
        return np.frombuffer((ctypes.c_char * size).from_address(start), dtype).reshape(shape)

    def run(self, program: Program, arguments: Sequence[Any]) -> Any:
        GAPS.clear()  # those of the program before, should this one take nothing
        made = lower.native(program, Needs())
        given: list[Any] = []
        for value in arguments:
            if isinstance(value, np.ndarray) and value.ndim:
                given.append(self.array(value.shape, value.dtype))
                given[-1][...] = value
            else:
                given.append(value)
        extra, size = [], made.workspace_bytes
        if size:
            extra.append(self.array((size,), np.uint8, 64))
            extra[0][:] = CANARY
        extra += [self.array(type_.shape, type_.dtype) for type_ in made.lent]
        found = made.function(*given, *extra)
        for start, stop in GAPS:
            assert not size or stop > size or (extra[0][start:stop] == CANARY).all(), "canary"
        for value, copy in zip(arguments, given, strict=True):
            assert np.array_equal(value, copy), "an input changed"
        return None if found is None else tuple(np.array(x)[()] for x in found)

    def free(self) -> None:
        for base, size in self.maps:
            _libc.munmap(base, size)
        self.maps.clear()


GAPS: list[tuple[int, int]] = []
_take = storage.Allocator.take


def _take_with_gap(allocator: Any, size: int) -> int:
    """A part of the workspace, with canaries behind it."""
    count = len(allocator.slots)
    slot = _take(allocator, size)
    if len(allocator.slots) > count:
        if not count:
            GAPS.clear()
        start, length = allocator.slots[slot]
        GAPS.append((start + length, allocator.size + 64))
        allocator.size += 64
    return slot


def pointing_outside(
    program: Program, arguments: Sequence[Any], generator: np.random.Generator
) -> list[Any] | None:
    """The arguments with one index that is out of bounds; None if nothing is indexed."""
    first = {"gather": 1, "gather_add": 2, "gather_set": 2}
    indices = {
        variable
        for equation in program.equations
        for variable in equation.inputs[first.get(equation.primitive.name, 99) :]
    }
    places = [place for place, variable in enumerate(program.inputs) if variable in indices]
    if not places:
        return None
    place = int(generator.choice(places))
    value = np.array(arguments[place])
    info = np.iinfo(value.dtype)
    far = [number for number in FAR if info.min <= number <= info.max]
    value.reshape(-1)[int(generator.integers(value.size))] = far[int(generator.integers(len(far)))]
    changed = list(arguments)
    changed[place] = value if value.ndim else value[()]
    return changed


def loops(kind: str, first: int, last: int) -> int:
    """The same for loops, of which nothing lies on the stack."""
    lower.LENT, lower.STACK_LIMIT, storage.STACK_EACH = 1, 0, 0  # type: ignore[misc]
    storage.BODY_EACH, planning.COPIED, planning.HELD = 0, 0, 0  # type: ignore[misc]
    done = 0
    for seed in range(first, last):
        program, arguments = random_loop(seed)
        if not is_lowerable(program):
            continue
        fence = Fence(at_end=bool(seed % 2))
        if kind == "loops":
            compare(program, arguments, True, fence.run)
            done += 1
        else:
            done += outside(program, arguments, np.random.default_rng([seed, 4]), fence)
        fence.free()
    return done


def outside(
    program: Program, arguments: Sequence[Any], generator: np.random.Generator, fence: Fence
) -> bool:
    """Whether some integer of the arguments, far off, is an index out of bounds for NumPy."""
    changed = list(arguments)
    for place, value in enumerate(arguments[1:], 1):
        array = np.array(value)
        if array.dtype.kind not in "iu" or type(value) is int:
            continue
        info = np.iinfo(array.dtype)
        far = [number for number in FAR if info.min <= number <= info.max]
        if far:
            number = far[int(generator.integers(len(far)))]
            array.reshape(-1)[int(generator.integers(array.size))] = number
            changed[place] = array if array.ndim else array[()]
    try:
        NumpyExecutor().compile(program).run(*changed)
    except IndexError:
        assert fence.run(program, changed) is None, "it was not given up"
        return True
    except (OverflowError, FloatingPointError):
        return False
    fence.run(program, changed)
    return False


MAKERS: dict[str, Callable[[int], tuple[Program, list[Any]]]] = {
    "rows": random_rows,
    "stencils": random_stencil,
    "strided": random_strided,
    "columns": random_columns,
}


def main(kind: str, first: int, last: int) -> int:
    """How many programs ran; raises, or ends the process, where memory is not kept to."""
    faulthandler.enable()
    if kind.startswith("loop"):
        return loops(kind, first, last)
    lower.LENT, lower.STACK_LIMIT, storage.STACK_EACH = 1, 0, 0  # type: ignore[misc]
    storage.Allocator.take = _take_with_gap  # type: ignore[method-assign]
    if kind == "stencils":
        recomputing.LARGE, zones.LEAST_SPARED = 1, 10**9  # type: ignore[misc]
    done = 0
    for seed in range(first, last):
        program, arguments = MAKERS[kind](seed) if kind in MAKERS else random_program(seed, True)
        if not is_lowerable(program):
            continue
        fence = Fence(at_end=bool(seed % 2))
        if kind != "indices":
            compare(program, arguments, kind in ("values", "columns"), fence.run)
        else:
            changed = pointing_outside(program, arguments, np.random.default_rng([seed, 3]))
            if changed is None:
                continue
            try:
                NumpyExecutor().compile(program).run(*changed)
                continue  # 255 may be within bounds
            except IndexError:
                assert fence.run(program, changed) is None, f"seed {seed} was not given up"
        fence.free()
        done += 1
    return done


if __name__ == "__main__":
    print(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
