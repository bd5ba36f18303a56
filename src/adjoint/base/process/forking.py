"""Locks and forks: a child has none of the threads that would let go of what they hold."""

from __future__ import annotations

import os
from typing import Any

_held: list[Any] = []


def hold_over_forks(lock: Any) -> None:
    """Let every fork wait until the lock, which is to live as long as the process, is free.

    They are taken in the order in which they are given here: what is taken while another is held
    comes after that other.
    """
    _held.append(lock)


def _acquire() -> None:
    for lock in _held:
        lock.acquire()


def _release() -> None:
    for lock in reversed(_held):
        lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_acquire, after_in_parent=_release, after_in_child=_release)
