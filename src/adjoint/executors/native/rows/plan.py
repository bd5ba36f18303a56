"""What a function along an axis or of matrices is to do, with everything known but the numbers."""

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


@dataclass(frozen=True)
class MatrixRoutine:
    """A function that is called for a stack of matrices; its results lie in the order of C.

    symbol: of the function. factor: of the one that makes R, where that makes Q of what it leaves.
    lengths: those that it is told. batch: the lengths of the other axes.
    operand: the strides of all axes, in bytes. dtypes, shapes: of the results, those of one stack.
    values: which result has the eigenvalues or singular values, or is Q. finite: whether NumPy
    refuses matrices with infinities and NaN.
    """

    symbol: str
    factor: str | None
    lengths: tuple[int, ...]
    batch: tuple[int, ...]
    dtype: np.dtype[Any]
    operand: tuple[int, ...]
    dtypes: tuple[np.dtype[Any], ...]
    shapes: tuple[tuple[int, ...], ...]
    values: int
    finite: bool


@dataclass(frozen=True)
class LeastSquaresRoutine:
    """Solutions of stacks of linear systems by least squares, which lie in the order of C.

    symbol: of the function. lengths: those that it is told. batch: the lengths of the other axes.
    operands: the strides of the matrices and of the right-hand sides, in bytes; 0 where the same
    ones count again. cutoff: the share of the largest singular value below which one is none.
    """

    symbol: str
    lengths: tuple[int, ...]
    batch: tuple[int, ...]
    dtype: np.dtype[Any]
    operands: tuple[tuple[int, ...], tuple[int, ...]]
    cutoff: float
