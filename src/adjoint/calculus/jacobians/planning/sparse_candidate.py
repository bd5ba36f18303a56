"""What a sparse Jacobian would cost: by its pattern, and by few products with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from adjoint.calculus.jacobians.planning.cuts import CutSegment
from adjoint.calculus.jacobians.planning.jacobians import Differentiated
from adjoint.calculus.jacobians.planning.mode import Mode
from adjoint.calculus.jacobians.sparsity.derivatives import SparseDerivative


@dataclass(frozen=True)
class SparseCandidate:
    """What `ad.jacobian(f, sparse=True)` does, where it takes fewer products than a dense one.

    Attributes:
        entries: how many entries of the Jacobian may be other than zero.
        columns: products with sums of basis vectors of the arguments, by forward mode.
        rows: products with sums of basis vectors of the result, by reverse mode.
        operations: of all products, as those of a `Candidate`.
        memory: how many numbers the products have.
    """

    entries: int
    columns: int
    rows: int
    operations: float
    memory: int

    def __str__(self) -> str:
        parts = [
            f"{count} {name}{'s' * (count > 1)}"
            for count, name in ((self.columns, "column"), (self.rows, "row"))
            if count
        ]
        return f"{', '.join(parts)} for {self.entries:,} entries"


def sparse_candidate(
    differentiated: Differentiated, count: int, inputs: Callable[[int], Any]
) -> SparseCandidate | None:
    """The candidate; None where nothing is saved.

    count: how many of the program's inputs are arguments. inputs: gives an input by its number.
    """
    crossings = differentiated.crossings
    width, height = crossings.sizes[0], sum(of.size for of in differentiated.output_types)
    if differentiated.is_empty:
        return None
    derivative = SparseDerivative(differentiated, count, Mode.AUTO, False)
    columns, rows = derivative.compression(inputs).counts
    if not 0 < columns + rows < min(width, height):
        return None
    segment: CutSegment = crossings.between(0, len(crossings.moving))
    operations = columns * segment.push_operations if columns else 0
    operations += rows * segment.pull_operations if rows else 0
    entries = derivative.pattern(inputs).matrix.nnz
    return SparseCandidate(entries, columns, rows, operations, columns * height + rows * width)
