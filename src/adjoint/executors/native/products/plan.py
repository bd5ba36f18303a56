"""Which way a product goes: its axes in groups, and the tiles in which it is computed.

A product is C[batch, rows, columns] = sum over K of A[batch, rows, K] B[batch, K, columns]. Tiles
have a height (rows) and a width (columns along the lanes of vectors); what they cost is estimated
in clock cycles, and the cheapest arrangement wins.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from math import ceil, gcd, prod
from typing import Any

import numpy as np

from adjoint.primitives.contraction import split_spec


@dataclass(frozen=True)
class Product:
    """A product of two arrays in memory, with everything known but the numbers.

    spec: like einsum's, `"abc,acd->abd"`, where every label that is summed over occurs in both
    operands. Strides are in elements, by axis of each array; none is zero.
    """

    dtype: np.dtype[Any]
    spec: str
    left_shape: tuple[int, ...]
    right_shape: tuple[int, ...]
    left_strides: tuple[int, ...]
    right_strides: tuple[int, ...]
    result_strides: tuple[int, ...]

    @property
    def lengths(self) -> dict[str, int]:
        """The length of each label."""
        left, right, _ = split_spec(self.spec)
        pairs = zip(left + right, self.left_shape + self.right_shape, strict=True)
        return dict(pairs)

    @property
    def flops(self) -> int:
        """Additions and multiplications together."""
        return 2 * prod(self.lengths.values())


@dataclass(frozen=True, slots=True)
class Axis:
    """A loop: how often, and how far each turn of it goes in A, B and C, in elements."""

    size: int
    a: int = 0
    b: int = 0
    c: int = 0

    @property
    def swapped(self) -> Axis:
        """The axis when A and B change places."""
        return Axis(self.size, self.b, self.a, self.c)


ONE = Axis(1)


@dataclass(frozen=True)
class Groups:
    """The axes of a product by their role; neighbours in memory are one axis, lengths 1 none.

    sums: whether the product has labels that are summed over, be they of length 1.
    """

    batch: tuple[Axis, ...]
    rows: tuple[Axis, ...]
    columns: tuple[Axis, ...]
    summed: tuple[Axis, ...]
    sums: bool

    @property
    def swapped(self) -> Groups:
        """The same product with A and B in each other's place."""

        def turned(axes: tuple[Axis, ...]) -> tuple[Axis, ...]:
            return tuple(axis.swapped for axis in axes)

        return Groups(
            turned(self.batch),
            turned(self.columns),
            turned(self.rows),
            turned(self.summed),
            self.sums,
        )


def grouped(product: Product) -> Groups:
    """The axes of the product, merged where they can be."""
    left, right, result = split_spec(product.spec)
    strides = [
        dict(zip(labels, steps, strict=True))
        for labels, steps in (
            (left, product.left_strides),
            (right, product.right_strides),
            (result, product.result_strides),
        )
    ]
    members: dict[str, list[Axis]] = {"b": [], "r": [], "c": [], "s": []}
    for label, length in product.lengths.items():
        axis = Axis(length, *(steps.get(label, 0) for steps in strides))
        if label not in result:
            role = "s"
        elif label not in right:
            role = "r"
        else:
            role = "c" if label not in left else "b"
        if length != 1:
            members[role].append(axis)
    sums = any(label not in result for label in left)
    batch, rows, columns, summed = (merged(members[role]) for role in "brcs")
    return Groups(batch, rows, columns, summed, sums)


def merged(axes: Iterable[Axis]) -> tuple[Axis, ...]:
    """The axes with those joined that run on into each other; widest strides first."""
    found = sorted(axes, key=lambda axis: (-abs(axis.c), -abs(axis.a), -abs(axis.b)))
    index = 0
    while index < len(found):
        inner = found[index]
        for outer in found:
            runs_on = all(
                getattr(outer, name) == getattr(inner, name) * inner.size for name in "abc"
            )
            if outer is not inner and runs_on:
                found[index] = replace(inner, size=inner.size * outer.size)
                found.remove(outer)
                index = -1
                break
        index += 1
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Piece:
    """Neighbouring columns in one vector: the first `count` of its `width` lanes are used."""

    offset: int
    width: int
    count: int


@dataclass(frozen=True)
class Tiling:
    """How a product is computed in tiles, after A and B have perhaps changed places.

    along_sum: the lanes run along the innermost summed axis, and a tile ends with the sums of its
        vectors; otherwise they run along `columns`.
    batch: loops in which B changes; repeats: loops in which it stays the same. height: rows of a
        tile. pieces: its columns (or with along_sum what is left of the summed axis after whole
        vectors). split: how many partial sums take turns. unroll: steps of the summed loop that
        are written out. packed: whether B is copied, column tile by column tile,
        so that its lanes are neighbours. hoisted: whether that is done for all of the batch first,
        and the batch is then the innermost loop, which goes through A and C as they lie.
    """

    swapped: bool
    along_sum: bool
    batch: tuple[Axis, ...]
    repeats: tuple[Axis, ...]
    rows: Axis
    columns: Axis
    summed: tuple[Axis, ...]
    sums: bool
    lanes: int
    height: int
    across: int
    pieces: tuple[Piece, ...]
    split: int
    unroll: int
    packed: bool
    hoisted: bool
    cycles: float

    @property
    def depth(self) -> int:
        """The length of the sums."""
        return prod(axis.size for axis in self.summed)


# A packed panel may use this much scratch, which is about half of the second-level cache.
_PANEL_BYTES = 1 << 19
# What the first-level cache holds with ease, and the pages that it knows.
_NEAR_BYTES = 1 << 15
_NEAR_PAGES = 64
# What longer code costs: so much of a product's time for each instruction of its loop.
_CODE_COST = 0.004
# The instructions of a summed loop that is written out several times.
_LOOP_INSTRUCTIONS = 56
_LATENCY = 4  # cycles of a multiply-add
FLUSH = 512  # longer sums are added up in parts


def tiled(groups: Groups, itemsize: int, lanes: int, registers: int) -> Tiling:
    """The cheapest way to compute the product in tiles."""
    candidates = (
        tiling
        for swapped in (False, True)
        for tiling in _tilings(
            groups.swapped if swapped else groups, swapped, itemsize, lanes, registers
        )
    )
    return min(candidates, key=lambda tiling: tiling.cycles)


def _without(axes: tuple[Axis, ...], axis: Axis) -> tuple[Axis, ...]:
    return tuple(other for other in axes if other is not axis)


def _tilings(
    groups: Groups, swapped: bool, itemsize: int, lanes: int, registers: int
) -> Iterator[Tiling]:
    rows = max(groups.rows, key=lambda axis: axis.size, default=ONE)
    lane_axes = [axis for axis in groups.batch if axis.a == axis.b == axis.c == 1]
    for columns in (*(groups.columns or (ONE,)), *lane_axes):
        outer = (
            *_without(groups.batch, columns),
            *_without(groups.columns, columns),
            *_without(groups.rows, rows),
        )
        yield _by_columns(groups, outer, rows, columns, swapped, itemsize, lanes, registers)
    inner = next((axis for axis in reversed(groups.summed) if axis.a == 1), None)
    if inner is None:
        return
    columns = max(groups.columns, key=lambda axis: axis.size, default=ONE)
    outer = (
        *groups.batch,
        *_without(groups.columns, columns),
        *_without(groups.rows, rows),
    )
    summed = (*_without(groups.summed, inner), inner)
    yield from _by_sums(groups, outer, rows, columns, summed, swapped, itemsize, lanes, registers)


def _split_outer(outer: tuple[Axis, ...]) -> tuple[tuple[Axis, ...], tuple[Axis, ...]]:
    """The loops in which B changes, and those in which it does not."""
    return tuple(axis for axis in outer if axis.b), tuple(axis for axis in outer if not axis.b)


def pieces_of(size: int, lanes: int) -> tuple[Piece, ...]:
    """Whole vectors, and the rest in a narrower one, or in several when vectors are short."""
    pieces = [Piece(offset, lanes, lanes) for offset in range(0, size - lanes + 1, lanes)]
    offset = len(pieces) * lanes
    while offset < size:
        rest = size - offset
        # Processors with short vectors have no masks.
        width = 1 << ((rest - 1).bit_length() if lanes > 4 else rest.bit_length() - 1)
        pieces.append(Piece(offset, width, min(width, rest)))
        offset += width
    return tuple(pieces)


def _heights(rows: int, limit: int) -> Iterator[int]:
    """Heights of tiles that cover the rows with little overlap."""
    limit = max(1, min(rows, limit))
    fewest = ceil(rows / limit)
    seen = set()
    for count in range(fewest, fewest + 4):
        height = ceil(rows / count)
        if height not in seen:
            seen.add(height)
            yield height


def _by_columns(
    groups: Groups,
    outer: tuple[Axis, ...],
    rows: Axis,
    columns: Axis,
    swapped: bool,
    itemsize: int,
    lanes: int,
    registers: int,
) -> Tiling:
    """The best tiles with lanes along the columns."""
    batch, repeats = _split_outer(outer)
    summed = groups.summed
    depth = prod(axis.size for axis in summed)
    everything = pieces_of(columns.size, lanes)
    times = prod(axis.size for axis in outer)
    best: Tiling | None = None
    for vectors in sorted({min(count, len(everything)) for count in (1, 2, 3, 4, 6, 8, 12, 24)}):
        whole = vectors == len(everything)
        if not whole and vectors * lanes > columns.size:
            continue
        pieces = (
            everything if whole else tuple(Piece(i * lanes, lanes, lanes) for i in range(vectors))
        )
        width = sum(piece.width for piece in pieces)
        across = 1 if whole else ceil(columns.size / width)
        held = registers - (3 if vectors == 1 else 2 + vectors)
        for height in _heights(rows.size, held // vectors):
            if height * vectors > max(held, 1):
                continue
            tiles = ceil(rows.size / height)
            accumulators = height * vectors
            split = max(1, min(4, -(-2 * _LATENCY // accumulators), held // accumulators))
            split = min(split, summed[-1].size if summed else 1)
            vector_a = height * vectors if columns.a else height
            step = max(accumulators / 2, (vector_a + vectors) / 2, _LATENCY / split)
            used = sum(piece.count for piece in pieces)
            strided = columns.b not in (0, 1)
            lines = sum(ceil(piece.width * itemsize / 64) for piece in pieces)
            # Numbers of A share their cache lines with later ones; vectors of B do not.
            step += 0.15 * lines if depth * lines * 64 > _NEAR_BYTES // 4 else 0
            far = _far(summed, depth, lines, itemsize)
            options = []
            if not strided:
                options.append((False, max(step, far), 0.0))
            else:
                options.append((False, step, depth * used * 1.3 * tiles))
            if columns.b and depth * width * itemsize <= _PANEL_BYTES and summed:
                transposable = any(axis.b == 1 for axis in summed)
                each = 1.5 * vectors + far if not strided else used * (0.6 if transposable else 1.3)
                shared = prod(axis.size for axis in repeats)
                near = 0 if depth * lines * 64 <= _NEAR_BYTES else 2
                options.append((True, max(step, lines * near), depth * each / shared))
            packed, step, fetch = min(
                options, key=lambda option: option[1] * depth * tiles + option[2]
            )
            if columns.a not in (0, 1):
                fetch += depth * height * width * 1.3 * tiles
            store = accumulators if columns.c == 1 else 1.3 * height * width
            cycles = times * across * (tiles * (depth * step + store + 6 + split) + fetch)
            cycles *= 1 + _CODE_COST * accumulators * split
            if best is None or cycles < best.cycles:
                hoisted = packed and whole and _streams(batch, rows, depth * width * itemsize)
                inner = summed[-1].size if summed else 1
                unroll = _unrolled(inner, split, accumulators + height + vectors)
                best = Tiling(
                    swapped, False, batch, repeats, rows, columns, summed, groups.sums, lanes,
                    height, across, pieces, split, unroll, packed, hoisted, cycles,
                )  # fmt: skip
    assert best is not None
    return best


def _streams(batch: tuple[Axis, ...], rows: Axis, panel_bytes: int) -> bool:
    """Whether the batch lies inside the rows in A, and B of the whole batch fits into a cache."""
    inside = bool(batch) and max(abs(axis.a) for axis in batch) < abs(rows.a)
    return inside and panel_bytes * prod(axis.size for axis in batch) <= _PANEL_BYTES // 2


def _far(summed: tuple[Axis, ...], depth: int, lines: int, itemsize: int) -> float:
    """What a step of the sum waits for its cache lines of B, when B is where it is.

    Caches keep few lines whose addresses are the same but for a multiple of 4096, and processors
    know few pages and do not foresee the next one.
    """
    if len(summed) != 1:
        return 0.0 if depth * lines * 64 <= _NEAR_BYTES else 3.0 * lines
    step = abs(summed[0].b) * itemsize
    places = 64 // gcd(max(step // 64, 1), 64)
    kept = min(_NEAR_BYTES // 64, _NEAR_BYTES // 4096 * places * lines)
    if depth * lines <= kept and depth * min(step, 4096) <= _NEAR_PAGES * 4096:
        return 0.0
    # Lines that follow each other are fetched ahead of time.
    return 2.0 * lines + (0.0 if step <= 64 * lines else 6.0)


def _unrolled(depth: int, split: int, instructions: int) -> int:
    """How many steps of a summed loop are written out: a multiple of the partial sums."""
    if depth * instructions <= 2 * _LOOP_INSTRUCTIONS:
        return max(depth, 1)
    most = max(1, min(8 // split, _LOOP_INSTRUCTIONS // (instructions * split)))
    # Steps that are left over are written out once more.
    turns = next((turns for turns in range(most, 1, -1) if depth % (turns * split) == 0), most)
    return min(depth, split * turns)


def _by_sums(
    groups: Groups,
    outer: tuple[Axis, ...],
    rows: Axis,
    columns: Axis,
    summed: tuple[Axis, ...],
    swapped: bool,
    itemsize: int,
    lanes: int,
    registers: int,
) -> Iterator[Tiling]:
    """The tiles with lanes along the innermost summed axis."""
    batch, repeats = _split_outer(outer)
    inner = summed[-1]
    depth = prod(axis.size for axis in summed)
    steps = len(pieces_of(inner.size, lanes)) * depth // inner.size
    packed = inner.b != 1
    shared = prod(axis.size for axis in repeats)
    times = prod(axis.size for axis in outer)
    for across in range(1, min(4, columns.size) + 1):
        if packed and depth * across * itemsize > _PANEL_BYTES:
            continue
        for height in _heights(rows.size, min(8, (registers - 4) // across)):
            products = height * across
            split = max(1, min(4, -(-2 * _LATENCY // products), (registers - 4) // products))
            split = min(split, max(1, inner.size // lanes))
            tiles = ceil(rows.size / height)
            step = max(products / 2, (height + across) / 2, _LATENCY / split)
            ending = 1.5 * products + 5 + 2 * split
            cycles = tiles * (steps * step + ending)
            cycles += 1.3 * depth * across / shared if packed else 0
            cycles *= times * ceil(columns.size / across)
            cycles *= 1 + _CODE_COST * products * split
            unroll = _unrolled(inner.size // lanes, split, products + height + across)
            whole = inner.size // lanes * lanes
            pieces = tuple(
                Piece(whole + piece.offset, piece.width, piece.count)
                for piece in pieces_of(inner.size - whole, lanes)
            )
            yield Tiling(
                swapped, True, batch, repeats, rows, columns, summed, groups.sums, lanes,
                height, across, pieces, split, unroll, packed, False, cycles,
            )  # fmt: skip
