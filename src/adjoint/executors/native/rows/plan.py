"""What a function along one axis of an array is to do, with everything known but the numbers."""

from __future__ import annotations

from dataclasses import dataclass
from math import log2, prod
from typing import Any, Final

import numpy as np

_STEPS: Final = 5.0  # additions for each number and each doubling of their count, about


@dataclass(frozen=True)
class Side:
    """The operand or the result: its dtype, and how it lies in memory, in numbers.

    length: of a row. step: from one of its numbers to the next. batch: the same between rows, for
    each other axis.
    """

    dtype: np.dtype[Any]
    length: int
    step: int
    batch: tuple[int, ...]


@dataclass(frozen=True)
class RowRoutine:
    """A function that is called for each row of an array; its result lies in the order of C.

    operation: the name of the primitive. symbol: of the function. batch: the lengths of the axes
    that are no rows. factor: by which a Fourier transform multiplies. inner: by which it multiplies
    all coefficients of a real signal that stand for two, besides.
    """

    operation: str
    symbol: str
    batch: tuple[int, ...]
    operand: Side
    result: Side
    factor: float = 1.0
    inner: float = 1.0

    @property
    def flops(self) -> float:
        """About how many additions it takes as long as."""
        count = max(self.operand.length, self.result.length)
        return _STEPS * count * (1.0 + log2(count)) * prod(self.batch)
