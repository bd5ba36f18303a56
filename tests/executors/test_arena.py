"""Scratch memory of the arena: bytes, of sizes that are shared."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from adjoint.base.arrays import array_type
from adjoint.executors.arena import Arena


def test_scratch_has_room_for_an_aligned_part() -> None:
    arena = Arena()
    for size in (1, 63, 4096, 10_000, 1_000_000):
        array = arena.take_scratch(size)
        assert array.dtype == np.uint8
        assert size + 64 <= array.nbytes <= 2 * size + 3 * 4096


def test_scratch_is_handed_out_again_to_what_needs_about_as_much() -> None:
    arena = Arena()
    array = arena.take_scratch(1_000_000)
    arena.give_scratch(array)
    assert arena.kept == array.nbytes
    assert arena.take_scratch(1_000_100) is array
    assert arena.kept == 0
    assert arena.take_scratch(1_000_000) is not array


def test_scratch_counts_towards_the_limit() -> None:
    arena = Arena(limit=10_000)
    arrays = [arena.take_scratch(4000) for _ in range(3)]
    for array in arrays:
        arena.give_scratch(array)
        assert arena.kept <= arena.limit
    arena.give_scratch(np.empty(20_000, np.uint8))
    assert arena.kept == 0


FLOATS = array_type((1000,), np.dtype(float))


@pytest.mark.parametrize("change", ["frozen", "shape", "dtype"])
def test_what_a_user_has_changed_is_not_lent_again(change: str) -> None:
    arena = Arena()
    (lent,) = arena.lend([FLOATS])
    memory: Any = lent.base
    if change == "frozen":
        memory.setflags(write=False)
    elif change == "shape":
        memory.shape = (10, 100)
    else:
        memory.dtype = np.dtype(np.int64)
    del lent, memory
    (again,) = arena.lend([FLOATS])
    assert (again.shape, again.dtype, again.flags.writeable) == ((1000,), np.dtype(float), True)
    assert arena.lent == 8000
    place = again.ctypes.data
    del again
    assert arena.lend([FLOATS])[0].ctypes.data == place, "memory that nobody has is lent again"
    assert arena.lent == 8000
