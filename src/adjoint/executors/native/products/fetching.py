"""Asks for the numbers of the next block of a product while the tiles of this one are computed."""

from __future__ import annotations

from collections.abc import Callable

from adjoint.executors.native.products.blocks import Fetching
from adjoint.executors.native.products.writer import ProductWriter


def emit_fetching(
    writer: ProductWriter, ahead: Fetching, places: list[str], tile: str
) -> Callable[[str], None]:
    """Write which lines a tile asks for; what is returned writes those of a turn of its sum.

    places: of the block in A, B and C. tile: its number in the block. Lines beyond the arrays do
    no harm: nothing is read there.
    """
    block = writer.block
    first, *others = ahead.ranges
    base = _further(writer, places[first.operand], str(first.offset))
    values = {"tile": str(first.tile), "lines": str(first.lines), "step": str(first.step)}
    for other in others:
        reached = block.op(f"icmp uge i64 {tile}, {other.tile}")
        there = _further(writer, places[other.operand], str(other.offset))
        base = block.op(f"select i1 {reached}, ptr {there}, ptr {base}")
        for name, value in values.items():
            own = getattr(other, name)
            values[name] = block.op(f"select i1 {reached}, i64 {own}, i64 {value}")
    own = block.op(f"sub i64 {tile}, {values['tile']}")
    start = block.op(f"mul i64 {own}, {ahead.turns * ahead.lines}")
    side_by_side = all(run.runs == 1 for run in ahead.ranges)

    def place_of(line: str) -> str:
        if side_by_side:
            return _further(writer, base, block.op(f"shl i64 {line}, 6"))
        run = block.op(f"udiv i64 {line}, {values['lines']}")
        before = block.op(f"mul i64 {run}, {values['lines']}")
        inside = block.op(f"sub i64 {line}, {before}")
        away = block.op(f"mul i64 {run}, {values['step']}")
        return _further(writer, _further(writer, base, away), block.op(f"shl i64 {inside}, 6"))

    def fetch(turn: str) -> None:
        lines = writer.plus(start, writer.times(turn, ahead.lines))
        for index in range(ahead.lines):
            block.prefetch(place_of(writer.plus(lines, str(index))), 2)

    return fetch


def _further(writer: ProductWriter, pointer: str, bytes_: str) -> str:
    return writer.block.op(f"getelementptr i8, ptr {pointer}, i64 {bytes_}")
