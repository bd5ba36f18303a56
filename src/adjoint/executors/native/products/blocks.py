"""Products that are larger than the caches, in blocks, and what is fetched while one is computed.

A block is what lies between two turns of the innermost loop around the tiles: one matrix of a
batch, a chunk of its rows, or a part of its sums. Its numbers stay in a cache while all tiles pass
over them, and meanwhile those of the next block are asked for, a cache line in each turn of a sum:
without that, tiles wait for memory for as long as they compute.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import ceil
from typing import Final

from adjoint.executors.native.products.plan import ProductAxis
from adjoint.executors.native.products.tiling import Tiling

# The bytes of a block's operands: about what the second-level cache holds.
_BLOCK: Final = 1 << 20
_CHUNK: Final = 1 << 18  # bytes of a chunk of rows of A, which meet all columns
_NEAR: Final = 1 << 22  # bytes of all rows of A up to which they need no chunks
_SUMS: Final = 1 << 17  # bytes of sums that are kept from one part to the next
_FEWEST: Final = 4  # tiles along the rows of a chunk
_FAR: Final = 1 << 24  # bytes from which operands lie in memory rather than in a cache
_LINE: Final = 64  # bytes
_MOST_LINES: Final = 4  # in a turn


def blocked(tiling: Tiling, itemsize: int) -> Tiling:
    """The tiling with its chunks of rows and the parts of its sums, where it needs some."""
    if tiling.along_sum or tiling.hoisted:
        return tiling
    tile = tiling.columns.size * itemsize * tiling.height
    if len(tiling.summed) == 1 and not tiling.repeats and _is_enough(tiling, _SUMS // tile):
        parted = replace(tiling, most_rows=_SUMS // tile * tiling.height)
        step = (chunk_of(parted) + tiling.columns.size) * itemsize
        is_packed_once = not tiling.packed or chunk_of(parted) == tiling.rows.size
        if tiling.depth * step > _BLOCK and is_packed_once:
            return replace(parted, part=ceil(tiling.depth / ceil(tiling.depth * step / _BLOCK)))
    fits = not tiling.packed or _panels_of(tiling) * itemsize <= _BLOCK
    if tiling.across > 1 and tiling.rows.size * tiling.depth * itemsize > _NEAR and fits:
        most = _CHUNK // (tiling.depth * itemsize * tiling.height)
        if _is_enough(tiling, most):
            return replace(tiling, most_rows=most * tiling.height)
    return tiling


def _panels_of(tiling: Tiling) -> int:
    """How many numbers the packed columns of B are, all of them."""
    return tiling.depth * tiling.across * sum(piece.width for piece in tiling.pieces)


def _is_enough(tiling: Tiling, tiles: int) -> bool:
    """Whether chunks of so many tiles are worth while, or hold all rows."""
    return tiles >= _FEWEST or 0 < tiling.rows.size <= tiles * tiling.height


def chunk_of(tiling: Tiling) -> int:
    """The rows of a chunk: whole tiles, and such that all chunks are about as long."""
    rows, height = tiling.rows.size, tiling.height
    if not tiling.most_rows:
        return rows
    count = ceil(rows / tiling.most_rows)
    return min(rows, ceil(rows / count / height) * height)


# --- what is fetched ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ahead:
    """What an operand or the result has of the next block: runs of cache lines.

    operand: its place among A, B and C. offset: of the next block, in bytes. step: from one run to
    the next, in bytes. tile: the first one that asks for these lines.
    """

    operand: int
    offset: int
    runs: int
    lines: int
    step: int
    tile: int


@dataclass(frozen=True)
class Fetching:
    """The lines of the next block, and how many of them are asked for in a turn of a sum.

    turns: of a tile's sum.
    """

    ranges: tuple[Ahead, ...]
    lines: int
    turns: int


def fetching(tiling: Tiling, itemsize: int) -> Fetching | None:
    """What is fetched ahead; None where all is in a cache, or would be fetched in vain.

    tiling: with its chunks and parts.
    """
    axis = _around(tiling)
    if axis is None or len(tiling.summed) != 1 or _moved(tiling, itemsize) < _FAR:
        return None
    block = list(_runs(tiling, axis, itemsize))
    tiles = ceil(chunk_of(tiling) / tiling.height) * tiling.across
    turns = (tiling.part or tiling.depth) // tiling.unroll
    for lines in range(1, _MOST_LINES + 1):
        ranges, tile = [], 0
        for run in block:
            ranges.append(replace(run, tile=tile))
            tile += ceil(run.runs * run.lines / max(1, turns * lines))
        if ranges and tile <= tiles and turns:
            return Fetching(tuple(ranges), lines, turns)
    return None


def _around(tiling: Tiling) -> ProductAxis | None:
    """How far it is from one block to the next; None where there is but one."""
    if tiling.part:
        (summed,) = tiling.summed
        return ProductAxis(2, tiling.part * summed.a, tiling.part * summed.b)
    chunk, rows = chunk_of(tiling), tiling.rows
    if chunk < rows.size:
        return ProductAxis(2, chunk * rows.a, 0, chunk * rows.c)
    is_plain = not (tiling.along_sum or tiling.hoisted or tiling.repeats)
    return tiling.batch[-1] if tiling.batch and is_plain else None


def _moved(tiling: Tiling, itemsize: int) -> int:
    """The bytes of the operands and the result."""
    axes = (*tiling.batch, *tiling.repeats, tiling.rows, tiling.columns, *tiling.summed)
    numbers = 0
    for operand in "abc":
        size = 1
        for axis in axes:
            size *= axis.size if getattr(axis, operand) else 1
        numbers += size
    return numbers * itemsize


def _runs(tiling: Tiling, around: ProductAxis, itemsize: int) -> Iterator[Ahead]:
    """The lines of A, B and C in the next block, of those that lie side by side."""
    rows = replace(tiling.rows, size=chunk_of(tiling))
    (summed,) = tiling.summed
    summed = replace(summed, size=tiling.part or summed.size)
    columns = tiling.columns
    pairs = ((summed, rows), (summed, columns), (rows, columns))
    for operand, (name, axes) in enumerate(zip("abc", pairs, strict=True)):
        offset = getattr(around, name)
        inner, outer = sorted(axes, key=lambda axis: abs(getattr(axis, name)))
        step = getattr(outer, name)
        if not offset or getattr(inner, name) != 1 or abs(step) < inner.size:
            continue
        run, runs = inner.size * itemsize, outer.size
        if abs(step) == inner.size:
            run, runs = run * runs, 1
        lines = ceil(run / _LINE)
        yield Ahead(operand, offset * itemsize, runs, lines, step * itemsize, 0)
