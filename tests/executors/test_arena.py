"""Scratch memory of the arena: bytes, of sizes that are shared."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from adjoint.base.arrays import array_type
from adjoint.executors import arena as arena_module
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


def within(seconds: float, work: Callable[[], None]) -> bool:
    """Whether it comes to an end by then, in a thread of its own."""
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(seconds)
    return not thread.is_alive()


def test_a_signal_handler_may_come_by_at_any_time(monkeypatch: pytest.MonkeyPatch) -> None:
    arena = Arena()
    arena.give([FLOATS], [np.empty(1000)])
    arena.give_scratch(np.empty(8192, np.uint8))
    del arena.lend([FLOATS])[0]  # it is known, and nobody has it
    got: list[Any] = []

    def handler(array: Any, type_: Any) -> bool:
        got.extend([*arena.lend([FLOATS]), *arena.take([FLOATS]), arena.take_scratch(8000)])
        arena.give([FLOATS], [np.empty(1000)])
        return True

    monkeypatch.setattr(arena_module, "_is_untouched", handler)
    assert within(60, lambda: got.extend(arena.lend([FLOATS])))
    assert len(got) == 4
    assert not any(np.shares_memory(got[-1], other) for other in got[:-1])
    assert (arena.kept, arena.lent) == (8000 + 8192, 8000)
