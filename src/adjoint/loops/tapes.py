"""Tapes: what an early loop stacks for a late one, and how many rows it is given.

Where the number of rounds is known only when the program runs, the tape is given a length that is
generous as long as it is small. A loop that makes more rounds raises TapeOverflowError, and the
program is run again with a longer tape. Memory that is not touched costs nothing. The lengths are
prime numbers, which sizes of other arrays hardly are: so a program's tapes can be told by them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from typing import Final

from adjoint.base.arrays import ArrayType

# A short one, for the states of checkpoints, and the least primes above 2^7, 2^8, ...
LENGTHS: Final = (
    *(37, 131, 257, 521, 1031, 2053, 4099, 8209, 16411, 32771, 65537, 131101, 262147, 524309),
    *(1048583, 2097169, 4194319, 8388617, 16777259, 33554467, 67108879, 134217757),
    *(268435459, 536870923, 1073741827, 2147483659, 4294967311, 8589934609, 17179869209),
)
_GENEROUS: Final = 1 << 18  # bytes of a tape that is made long without being asked
_GROWTH: Final = 4  # how many lengths further a tape is that was too short: 16 times as long


def tape_length(rows: Iterable[ArrayType]) -> int:
    """How many rows a tape gets before it is known how many it needs."""
    size = sum(type_.size * type_.dtype.itemsize for type_ in rows)
    return LENGTHS[min(max(bisect_left(LENGTHS, _GENEROUS // max(size, 1)), 1), 9)]


def longer(length: int) -> int:
    """The next length of a tape that was too short."""
    return LENGTHS[bisect_left(LENGTHS, length) + _GROWTH]


def bound(rounds: int) -> int:
    """A bound of a number of rounds that is shared by many numbers, so that programs are too."""
    power = 1 << max(rounds - 1, 0).bit_length()
    return 3 * power // 4 if power >= 4 and rounds <= 3 * power // 4 else power
