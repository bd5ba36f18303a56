"""What the next round of a loop reads is fetched while this one runs, where pages are far apart.

A loop over points, and within it over centres, walks an array of shape (centres, points, n) by
rows that lie in as many pages as there are centres. The processor follows only some streams by
itself, and waits for each row of the others. The row of the next point lies just after that of
this one, so it is asked for here, a round of the outer loop ahead.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from adjoint.executors.native.graph.indices import Label, SortedTerm
from adjoint.executors.native.machine.module import Block
from adjoint.program import Variable

PAGE: Final = 4096  # bytes from which rows lie in pages of their own
STREAMS: Final = 16  # pages in a round from which the processor does not follow them by itself
LARGE: Final = 2**22  # bytes of an array that is not in the caches anyway
HELD: Final = 2**18  # bytes of a round up to which they are still there in the next one


def fetch_ahead(
    block: Block,
    variable: Variable,
    where: SortedTerm,
    pointer: str,
    labels: Sequence[Label | None],
    written: bool = False,
) -> None:
    """Ask for the numbers of the next round, if that is worth while.

    where: the place in the array. pointer: to the numbers of this round, which are side by side.
    labels: of the open loops. An address beyond the array does no harm: nothing is read there.
    """
    ahead = bytes_ahead(where, labels, variable.type.dtype.itemsize, variable.type.size)
    if ahead:
        block.prefetch(block.op(f"getelementptr i8, ptr {pointer}, i64 {ahead}"), 3, written)


def bytes_ahead(where: SortedTerm, labels: Sequence[Label | None], itemsize: int, size: int) -> int:
    """How far ahead the numbers of the next round of an outer loop lie; 0 to fetch none.

    where: the place in an array of `size` numbers. labels: of the open loops, from the outermost.
    """
    if where.odd or size * itemsize < LARGE:
        return 0
    factors = dict(where.rolled)
    held, far = itemsize, False
    for label in reversed(labels):
        step = factors.get(label, 0) * itemsize if label is not None else 0
        if label is None or not step:
            continue
        if far and abs(step) < PAGE:
            return step if held <= HELD else 0
        held *= label.extent
        far = far or (abs(step) >= PAGE and label.extent >= STREAMS)
    return 0
