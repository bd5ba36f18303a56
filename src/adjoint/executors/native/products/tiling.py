"""The tiles in which a product is computed: of all arrangements, the one of the fewest cycles.

Tiles have a height (rows) and a width (columns, along the lanes of vectors). What an arrangement
costs is estimated from two loads, two multiply-adds and one store in a cycle, and what is known of
caches; the numbers were fitted to measurements.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import cbrt, ceil, gcd, prod

from adjoint.executors.native.products.plan import ONE, Groups, ProductAxis


@dataclass(frozen=True, slots=True)
class ColumnPiece:
    """Neighbouring columns in one vector: the first `count` of its `width` lanes are used."""

    offset: int
    width: int
    count: int


@dataclass(frozen=True, slots=True)
class Vectors:
    """The vector unit: numbers in a register, registers, bytes of a number."""

    lanes: int
    registers: int
    itemsize: int


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
    most_rows: that meet all columns before the next rows do; 0 for all. part: of the sums that
        all tiles have before they go on to the next one; 0 for the whole sums.
    """

    swapped: bool
    along_sum: bool
    batch: tuple[ProductAxis, ...]
    repeats: tuple[ProductAxis, ...]
    rows: ProductAxis
    columns: ProductAxis
    summed: tuple[ProductAxis, ...]
    sums: bool
    lanes: int
    height: int
    across: int
    pieces: tuple[ColumnPiece, ...]
    split: int
    unroll: int
    packed: bool
    hoisted: bool
    cycles: float
    most_rows: int = 0
    part: int = 0

    @property
    def depth(self) -> int:
        """The length of the sums."""
        return prod(axis.size for axis in self.summed)

    @property
    def flush(self) -> int:
        """The length of the parts of the sums: rounding in them and between them is the same."""
        return max(_FLUSH, round(cbrt(self.depth**2)))


# A packed panel may use this much scratch, which is about half of the second-level cache.
_PANEL_BYTES = 1 << 19
# What the first-level cache holds with ease, and the pages that it knows.
_NEAR_BYTES = 1 << 15
_NEAR_PAGES = 64
# What longer code costs: so much of a product's time, but no more than of so many cycles, for each
# of the multiply-adds of its loop.
_CODE_COST = 0.004
_CODE_CYCLES = 5000
# The instructions of a summed loop that is written out several times.
_LOOP_INSTRUCTIONS = 32
_LATENCY = 4  # cycles of a multiply-add
_FLUSH = 256  # longer sums are added up in parts


def tiled(groups: Groups, vectors: Vectors) -> Tiling:
    """The cheapest way to compute the product in tiles."""
    tilings: list[Tiling] = []
    for swapped in (False, True):
        for setting in _settings(groups.swapped if swapped else groups, swapped, vectors):
            tilings.extend(_by_sums(setting) if setting.along_sum else _by_columns(setting))
    return min(tilings, key=lambda tiling: tiling.cycles)


@dataclass(frozen=True)
class _Setting:
    """Which axes have which part in the tiles; see `Tiling`."""

    swapped: bool
    along_sum: bool
    batch: tuple[ProductAxis, ...]
    repeats: tuple[ProductAxis, ...]
    rows: ProductAxis
    columns: ProductAxis
    summed: tuple[ProductAxis, ...]
    sums: bool
    vectors: Vectors
    depth: int
    shared: int  # tiles of rows meet the same columns of B so many times
    times: int  # all of the loops around the rows and columns


def _settings(groups: Groups, swapped: bool, vectors: Vectors) -> Iterator[_Setting]:
    rows = max(groups.rows, key=lambda axis: axis.size, default=ONE)
    longest = max(groups.columns, key=lambda axis: axis.size, default=ONE)
    everything = (*groups.batch, *groups.columns, *groups.rows)

    def setting(columns: ProductAxis, summed: tuple[ProductAxis, ...], along_sum: bool) -> _Setting:
        outer = tuple(axis for axis in everything if axis is not rows and axis is not columns)
        repeats = tuple(axis for axis in outer if not axis.b)
        return _Setting(
            swapped=swapped,
            along_sum=along_sum,
            batch=tuple(axis for axis in outer if axis.b),
            repeats=repeats,
            rows=rows,
            columns=columns,
            summed=summed,
            sums=groups.sums,
            vectors=vectors,
            depth=prod(axis.size for axis in summed),
            shared=prod(axis.size for axis in repeats),
            times=prod(axis.size for axis in outer),
        )

    for columns in groups.columns or (ONE,):
        yield setting(columns, groups.summed, False)
    for columns in groups.batch:
        if columns.a == columns.b == columns.c == 1:
            yield setting(columns, groups.summed, False)
    inner = next((axis for axis in reversed(groups.summed) if axis.a == 1), None)
    if inner is not None:
        others = tuple(axis for axis in groups.summed if axis is not inner)
        yield setting(longest, (*others, inner), True)


def pieces_of(size: int, vectors: Vectors, masked: bool = True) -> tuple[ColumnPiece, ...]:
    """Whole vectors, and the rest in a narrower one, or in several.

    masked: whether a vector may have lanes that are not used.
    """
    lanes = vectors.lanes
    pieces = [ColumnPiece(offset, lanes, lanes) for offset in range(0, size - lanes + 1, lanes)]
    offset = len(pieces) * lanes
    # LLVM widens vectors of less than 16 bytes, and computes with whatever is in the lanes added.
    narrowest = 16 // vectors.itemsize
    while offset < size:
        rest = size - offset
        # Processors with short vectors have no masks.
        if masked and lanes > 4 and rest > 1:
            width = max(narrowest, 1 << (rest - 1).bit_length())
        else:
            width = 1 << (rest.bit_length() - 1)
            width = width if width >= narrowest else 1
        pieces.append(ColumnPiece(offset, width, min(width, rest)))
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


def _split(accumulators: int, held: int, length: int) -> int:
    """Partial sums enough that multiply-adds need not wait for each other."""
    enough = min(4, ceil(2 * _LATENCY / accumulators))
    return max(1, min(enough, held // accumulators, length))


def _unrolled(depth: int, split: int, instructions: int) -> int:
    """How many steps of a summed loop are written out: a multiple of the partial sums."""
    if depth * instructions <= 2 * _LOOP_INSTRUCTIONS:
        return max(depth, 1)
    most = max(1, min(8 // split, _LOOP_INSTRUCTIONS // (instructions * split)))
    # Steps that are left over are written out once more.
    turns = next((turns for turns in range(most, 1, -1) if depth % (turns * split) == 0), most)
    return min(depth, split * turns)


def _by_columns(setting: _Setting) -> Iterator[Tiling]:
    """The tiles with lanes along the columns."""
    lanes, registers = setting.vectors.lanes, setting.vectors.registers
    size = setting.columns.size
    everything = pieces_of(size, setting.vectors, masked=setting.columns.c == 1)
    length = setting.summed[-1].size if setting.summed else 1
    for count in sorted({min(count, len(everything)) for count in (1, 2, 3, 4, 6, 8, 12, 24)}):
        pieces, across = everything, 1
        if count < len(everything):
            if count * lanes > size:
                continue
            pieces = tuple(ColumnPiece(index * lanes, lanes, lanes) for index in range(count))
            across = ceil(size / (count * lanes))
        # With one vector in a row, numbers of A are taken from memory by the multiply-adds.
        held = registers - (3 if count == 1 else 2 + count)
        for height in _heights(setting.rows.size, held // count):
            accumulators = height * count
            if accumulators > max(held, 1):
                continue
            split = _split(accumulators, held, length)
            cycles, packed = _column_cycles(setting, pieces, across, height, split)
            panel = setting.depth * sum(piece.width for piece in pieces)
            yield Tiling(
                *(setting.swapped, False, setting.batch, setting.repeats, setting.rows),
                *(setting.columns, setting.summed, setting.sums, lanes),
                height=height,
                across=across,
                pieces=pieces,
                split=split,
                unroll=_unrolled(length, split, accumulators + height + count),
                packed=packed,
                hoisted=packed and across == 1 and _streams(setting, panel),
                cycles=cycles,
            )


def _column_cycles(
    setting: _Setting, pieces: tuple[ColumnPiece, ...], across: int, height: int, split: int
) -> tuple[float, bool]:
    """What tiles of so many rows and these columns cost, and whether B is better packed."""
    columns, depth, itemsize = setting.columns, setting.depth, setting.vectors.itemsize
    vectors, accumulators = len(pieces), height * len(pieces)
    width, used = sum(piece.width for piece in pieces), sum(piece.count for piece in pieces)
    lines = sum(ceil(piece.width * itemsize / 64) for piece in pieces)
    tiles = ceil(setting.rows.size / height)
    loads = vectors + (accumulators if columns.a else height)
    step = max(accumulators / 2, loads / 2, _LATENCY / split)
    # Numbers of A share their cache lines with later ones; vectors of B do not.
    step += 0.15 * lines if depth * lines * 64 > _NEAR_BYTES // 4 else 0
    far = _far(setting.summed, depth, lines, itemsize)
    # The cycles of a step, and those of fetching B for all of the rows.
    strided = columns.b not in (0, 1)
    choices = [
        (step, depth * used * 1.3 * tiles, False) if strided else (max(step, far), 0.0, False)
    ]
    if columns.b and setting.summed and depth * width * itemsize <= _PANEL_BYTES:
        packing = used * 1.3 if strided else 1.5 * vectors + far
        near = 0 if depth * lines * 64 <= _NEAR_BYTES else 2
        choices.append((max(step, lines * near), depth * packing / setting.shared, True))
    step, fetch, packed = min(choices, key=lambda choice: choice[0] * depth * tiles + choice[1])
    if columns.a not in (0, 1):
        fetch += depth * height * width * 1.3 * tiles
    store = accumulators if columns.c == 1 else 1.3 * height * width
    cycles = tiles * (depth * step + store + 6 + split) + fetch
    return _with_code(cycles * setting.times * across, accumulators * split), packed


def _with_code(cycles: float, instructions: int) -> float:
    """Cycles, and what it costs to make the code."""
    return cycles + min(cycles, _CODE_CYCLES) * _CODE_COST * instructions


def _streams(setting: _Setting, panel: int) -> bool:
    """Whether the batch lies inside the rows in A, and B of the whole batch fits into a cache."""
    batch = setting.batch
    inside = bool(batch) and max(abs(axis.a) for axis in batch) < abs(setting.rows.a)
    size = panel * prod(axis.size for axis in batch) * setting.vectors.itemsize
    return inside and size <= _PANEL_BYTES // 2


def _far(summed: tuple[ProductAxis, ...], depth: int, lines: int, itemsize: int) -> float:
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


def _by_sums(setting: _Setting) -> Iterator[Tiling]:
    """The tiles with lanes along the innermost summed axis."""
    lanes, held = setting.vectors.lanes, setting.vectors.registers - 4
    rows, columns, depth = setting.rows, setting.columns, setting.depth
    inner, itemsize = setting.summed[-1], setting.vectors.itemsize
    steps = len(pieces_of(inner.size, setting.vectors)) * depth // inner.size
    packed = inner.b != 1
    whole = inner.size // lanes * lanes
    pieces = tuple(
        ColumnPiece(whole + piece.offset, piece.width, piece.count)
        for piece in pieces_of(inner.size - whole, setting.vectors)
    )
    for across in range(1, min(4, columns.size) + 1):
        if packed and depth * across * itemsize > _PANEL_BYTES:
            continue
        for height in _heights(rows.size, min(8, held // across)):
            count = height * across
            split = _split(count, held, max(1, inner.size // lanes))
            step = max(count / 2, (height + across) / 2, _LATENCY / split)
            footprint = rows.size * depth * itemsize
            if across < columns.size and footprint > _NEAR_BYTES:
                # Rows come from a farther cache for every tile of columns again.
                step = max(step, (2.0 if footprint <= _PANEL_BYTES else 4.0) * height)
            cycles = ceil(rows.size / height) * (steps * step + 1.5 * count + 5 + 2 * split)
            cycles += 1.3 * depth * across / setting.shared if packed else 0
            cycles *= setting.times * ceil(columns.size / across)
            yield Tiling(
                *(setting.swapped, True, setting.batch, setting.repeats, rows),
                *(columns, setting.summed, setting.sums, lanes),
                height=height,
                across=across,
                pieces=pieces,
                split=split,
                unroll=_unrolled(inner.size // lanes, split, count + height + across),
                packed=packed,
                hoisted=False,
                cycles=_with_code(cycles, count * split),
            )
