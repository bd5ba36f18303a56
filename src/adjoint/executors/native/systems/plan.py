"""What a routine on square matrices is to do, with everything known but the numbers."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any, Final

import numpy as np

WRITTEN_OUT: Final = 4  # rows of matrices whose numbers all stay in registers
LARGEST: Final = 48  # rows of matrices that code of our own is made for


@dataclass(frozen=True)
class Strides:
    """How an operand lies in memory, in numbers: along the stack, the rows and the columns."""

    batch: tuple[int, ...]
    row: int
    column: int = 0


@dataclass(frozen=True)
class SquareSystem:
    """A routine on a stack of square matrices, whose results lie in the order of C.

    operation: the name of the primitive. size: rows of the matrices. columns: of the right-hand
    sides, 0 where there are none. batch: the axes of the stack. operands: the matrix, or its LU
    factors and their pivots (`factored`), and the right-hand side where there is one. turned:
    whether the system is that of the transpose. conjugated: whether of the conjugate too. lower,
    unit: of a triangular matrix. checked: whether all numbers of the matrix have to be finite,
    those that are not read too. limit: the condition number beyond which there is no result.
    """

    operation: str
    dtype: np.dtype[Any]
    size: int
    columns: int
    batch: tuple[int, ...]
    operands: tuple[Strides, ...]
    factored: bool = False
    turned: bool = False
    conjugated: bool = False
    lower: bool = True
    unit: bool = False
    checked: bool = False
    limit: float | None = None

    @property
    def flops(self) -> int:
        """Additions and multiplications together, about."""
        size, weight = self.size, 4 if self.dtype.kind == "c" else 1
        work = 2 * size**2 * max(self.columns, 1)
        if not self.factored and self.operation != "solve_triangular":
            work += 2 * size**3 // 3
        if self.operation in ("inv", "adjugate"):
            work += 2 * size**3
        return weight * work * prod(self.batch)
