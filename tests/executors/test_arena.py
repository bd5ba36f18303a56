"""Scratch memory of the arena: bytes, of sizes that are shared."""

from __future__ import annotations

import numpy as np

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
