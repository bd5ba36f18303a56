"""Products as register tiles: the accumulators of a tile of C stay in vectors during the sum."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from math import ceil, prod
from typing import Any

import numpy as np

from adjoint.executors.native.machine.module import Module
from adjoint.executors.native.products.blocks import chunk_of, fetching
from adjoint.executors.native.products.fetching import emit_fetching
from adjoint.executors.native.products.plan import ProductAxis
from adjoint.executors.native.products.sums import Fetch, Step, SumLoops
from adjoint.executors.native.products.tiling import ColumnPiece, Tiling
from adjoint.executors.native.products.writer import ProductWriter


def emit_tiles(module: Module, name: str, dtype: np.dtype[Any], tiling: Tiling) -> int:
    """Write the function of a product in tiles; returns how many bytes of scratch it needs."""
    writer = ProductWriter(module, dtype)
    kernel = _SumTiles(writer, tiling) if tiling.along_sum else _ColumnTiles(writer, tiling)
    kernel.emit()
    kernel.writer.function(name)
    return kernel.scratch_elements * dtype.itemsize


def emit_zeros(
    module: Module, name: str, dtype: np.dtype[Any], axes: tuple[ProductAxis, ...]
) -> None:
    """Write the function of an empty sum."""
    writer = ProductWriter(module, dtype)
    if all(axis.size for axis in axes):
        one = ColumnPiece(0, 1, 1)
        writer.over(
            axes, ("%a", "%b", "%c"), lambda places: writer.store(writer.zero, places[2], one, 1)
        )
    writer.function(name)


class _Tiles:
    """What both kinds of tiles have in common: the loop over the sum."""

    scratch_elements = 0

    def __init__(self, writer: ProductWriter, tiling: Tiling) -> None:
        self.writer = writer
        self.tiling = tiling
        self.turns: list[str] = []  # of the open loops over tiles
        self.fetch: Fetch | None = None

    def emit(self) -> None:
        operands = ("%b", "%a") if self.tiling.swapped else ("%a", "%b")
        self.writer.over(self.tiling.batch, (*operands, "%c"), self.matrix)

    def matrix(self, places: list[str]) -> None:
        raise NotImplementedError

    def tiles(
        self, axis: ProductAxis, size: int, places: list[str], body: Callable[[list[str]], None]
    ) -> None:
        """Run the body for each tile along an axis; the last one reaches back to be whole."""
        writer = self.writer

        def turn(index: str, _: list[str]) -> list[str]:
            start = writer.times(index, size)
            if axis.size % size:
                start = writer.smaller(start, axis.size - size)
            steps = [writer.times(start, step) for step in (axis.a, axis.b, axis.c)]
            self.turns.append(index)
            body([writer.at(place, step) for place, step in zip(places, steps, strict=True)])
            self.turns.pop()
            return []

        writer.loop(ceil(axis.size / size), [], [], turn)

    def sums(
        self,
        axes: tuple[ProductAxis, ...],
        widths: list[int],
        a: str,
        b: str,
        step: Step,
        unit: int = 1,
    ) -> list[str]:
        """The sums over the axes, one of each width; `unit` numbers of the last axis are a step."""
        zeros = [self.writer.filled(self.writer.zero, width) for width in widths]
        if not axes:
            return step(a, b, zeros)
        total = SumLoops(self.writer, self.tiling, axes, widths, step, unit, self.fetch)
        return total.starting_at(a, b)


class _ColumnTiles(_Tiles):
    """Lanes along the columns: numbers of A meet vectors of B."""

    def __init__(self, writer: ProductWriter, tiling: Tiling) -> None:
        super().__init__(writer, tiling)
        self.ahead = fetching(tiling, writer.itemsize)
        in_chunks = chunk_of(tiling) < tiling.rows.size
        self.packs_once = tiling.packed and in_chunks and not tiling.part
        self.width = sum(piece.width for piece in tiling.pieces)

    def emit(self) -> None:
        if self.tiling.hoisted:
            self.hoisted()
        else:
            super().emit()

    def hoisted(self) -> None:
        """Pack B of the whole batch; then, for each tile of rows, go through the batch."""
        writer, tiling = self.writer, self.tiling
        steps = strides([axis.size for axis in tiling.batch], tiling.depth * self.width)
        sources = [
            ProductAxis(axis.size, axis.b, step, 0)
            for axis, step in zip(tiling.batch, steps, strict=True)
        ]
        inside = [replace(axis, b=step) for axis, step in zip(tiling.batch, steps, strict=True)]
        self.scratch_elements = tiling.depth * self.width * prod(axis.size for axis in inside)
        a, b = ("%b", "%a") if tiling.swapped else ("%a", "%b")
        writer.over(sources, (b, "%scratch", "%c"), lambda places: self.pack(places[0], places[1]))
        self.tiles(
            tiling.rows,
            tiling.height,
            [a, "%scratch", "%c"],
            lambda places: writer.over((*tiling.repeats, *inside), places, self.packed_tile),
        )

    def matrix(self, places: list[str]) -> None:
        rows, chunk = self.tiling.rows, chunk_of(self.tiling)
        body = self.parts if self.tiling.part else self.columns
        if chunk == rows.size:
            body(places)
            return
        if self.packs_once:
            self.column_tiles(places, self.panel)
        with self.part_of(rows=replace(rows, size=chunk)):
            self.tiles(rows, chunk, places, body)

    @contextmanager
    def part_of(self, **axes: Any) -> Iterator[None]:
        """Within this, the product has other axes."""
        whole, self.tiling = self.tiling, replace(self.tiling, **axes)
        yield
        self.tiling = whole

    def parts(self, places: list[str]) -> None:
        """Add up one part of all sums after the other in the scratch, and then write them."""
        writer, tiling = self.writer, self.tiling
        (summed,), lanes = tiling.summed, tiling.lanes
        sums = ProductAxis(self.sums_size() // lanes, c=lanes)
        zeros, all_lanes = writer.filled(writer.zero, lanes), ColumnPiece(0, lanes, lanes)
        inside = [*places[:2], writer.at("%scratch", self.panel_size())]
        writer.over((sums,), inside, lambda at: writer.store(zeros, at[2], all_lanes, 1))
        count, rest = divmod(summed.size, tiling.part)

        def turn(_: str, operands: list[str]) -> list[str]:
            self.columns([*operands, places[2]])
            return writer.advanced(operands, (tiling.part * summed.a, tiling.part * summed.b))

        with self.part_of(summed=(replace(summed, size=tiling.part),)):
            last = writer.loop(count, ["ptr", "ptr"], places[:2], turn)
        if rest:
            with self.part_of(summed=(replace(summed, size=rest),)):
                self.columns([*last, places[2]])
        self.column_tiles(
            places, lambda column: self.tiles(tiling.rows, tiling.height, column, self.write)
        )

    def sums_size(self) -> int:
        """How many numbers the sums of all tiles are, in whole vectors."""
        tiling = self.tiling
        tiles = ceil(tiling.rows.size / tiling.height) * tiling.across
        return ceil(tiles * tiling.height * self.width / tiling.lanes) * tiling.lanes

    def panel_size(self) -> int:
        """How many numbers of B are packed together, in whole cache lines."""
        tiling = self.tiling
        depth = tiling.part or tiling.depth
        return ceil(depth * self.width / 16) * 16 if tiling.packed else 0

    def panel(self, places: list[str]) -> None:
        """Pack the columns of a tile beside those of the others."""
        self.pack(places[1], self.panel_place())

    def panel_place(self) -> str:
        """Where the columns of a tile are packed."""
        if not self.packs_once:
            return "%scratch"
        return self.writer.at("%scratch", self.writer.times(self.turns[-1], self.panel_size()))

    def columns(self, places: list[str]) -> None:
        self.block = places
        self.column_tiles(places, self.column)

    def column_tiles(self, places: list[str], body: Callable[[list[str]], None]) -> None:
        columns = self.tiling.columns
        self.tiles(columns, min(self.width, columns.size), places, body)

    def column(self, places: list[str]) -> None:
        tiling = self.tiling
        panels = self.panel_size() * (tiling.across if self.packs_once else 1)
        sums = self.sums_size() if tiling.part else 0
        self.scratch_elements = max(self.scratch_elements, panels + sums)
        if tiling.packed:
            panel = self.panel_place()
            if not self.packs_once:
                self.pack(places[1], panel)
            places[1] = panel
        body = self.packed_tile if tiling.packed else self.plain_tile
        self.writer.over(
            tiling.repeats,
            places,
            lambda inside: self.tiles(tiling.rows, tiling.height, inside, body),
        )

    def plain_tile(self, places: list[str]) -> None:
        tiling = self.tiling
        self.tile(places, tiling.columns, tiling.summed, tiling.pieces)

    def packed_tile(self, places: list[str]) -> None:
        tiling = self.tiling
        steps = strides([axis.size for axis in tiling.summed], self.width)
        summed = tuple(
            replace(axis, b=step) for axis, step in zip(tiling.summed, steps, strict=True)
        )
        # In the panel, every lane has a number.
        pieces = tuple(replace(piece, count=piece.width) for piece in tiling.pieces)
        self.tile(places, replace(tiling.columns, b=1), summed, pieces)

    def pack(self, source: str, target: str) -> None:
        """Copy what a column tile needs of B, so that its lanes are neighbours."""
        writer, tiling = self.writer, self.tiling
        steps = strides([axis.size for axis in tiling.summed], self.width)
        axes = [
            ProductAxis(axis.size, axis.b, step, 0)
            for axis, step in zip(tiling.summed, steps, strict=True)
        ]

        def copy(places: list[str]) -> None:
            for piece in tiling.pieces:
                start = writer.at(places[0], piece.offset * tiling.columns.b)
                vector = writer.load(start, piece, tiling.columns.b, writer.nan)
                place = writer.at(places[1], piece.offset)
                writer.store(vector, place, replace(piece, count=piece.width), 1)

        writer.over(axes, (source, target, "%c"), copy)

    def tile(
        self,
        places: list[str],
        columns: ProductAxis,
        summed: tuple[ProductAxis, ...],
        pieces: tuple[ColumnPiece, ...],
    ) -> None:
        writer, tiling = self.writer, self.tiling
        rows, height = tiling.rows, tiling.height
        a, b, c = places
        sums_up = tiling.sums

        def step(a: str, b: str, sums: list[str]) -> list[str]:
            vectors = [
                writer.load(writer.at(b, piece.offset * columns.b), piece, columns.b, writer.nan)
                for piece in pieces
            ]
            result = []
            for row in range(height):
                place = writer.at(a, row * rows.a)
                numbers: dict[int, str] = {}
                for piece, own, vector in zip(pieces, tiling.pieces, vectors, strict=True):
                    if columns.a:  # A has numbers for its own columns alone, as B may be packed
                        start = writer.at(place, own.offset * columns.a)
                        factor = writer.load(start, own, columns.a, writer.nan)
                    else:
                        if piece.width not in numbers:
                            first = numbers.setdefault(1, "") or writer.number(place)
                            numbers[1] = first
                            numbers[piece.width] = writer.splat(first, piece.width)
                        factor = numbers[piece.width]
                    if not sums_up:
                        result.append(writer.multiply(factor, vector, piece.width))
                        continue
                    old = sums[len(result)]
                    result.append(writer.multiply_add(factor, vector, old, piece.width))
            return result

        widths = [piece.width for piece in pieces] * height
        if self.ahead is not None:
            self.fetch = emit_fetching(writer, self.ahead, self.block, self.number())
        sums = self.sums(summed, widths, a, b, step)
        if tiling.part:
            self.keep(sums)
        else:
            self.store(c, sums)

    def number(self) -> str:
        """The number of a tile among those of its block."""
        column, row = self.turns[-2:]
        tiles = ceil(self.tiling.rows.size / self.tiling.height)
        return self.writer.plus(self.writer.times(column, tiles), row)

    def kept(self) -> Iterator[tuple[str, ColumnPiece]]:
        """The places of the tile's sums in the scratch, with as many lanes as they have."""
        writer, tiling = self.writer, self.tiling
        start = writer.times(self.number(), tiling.height * self.width)
        place = writer.at(writer.at("%scratch", self.panel_size()), start)
        for row in range(tiling.height):
            for piece in tiling.pieces:
                whole = replace(piece, count=piece.width)
                yield writer.at(place, row * self.width + piece.offset), whole

    def keep(self, sums: list[str]) -> None:
        """Add a part of the sums to those before it."""
        writer = self.writer
        for (place, piece), total in zip(self.kept(), sums, strict=True):
            before = writer.load(place, piece, 1, writer.zero)
            writer.store(writer.add(before, total, piece.width), place, piece, 1)

    def write(self, places: list[str]) -> None:
        """Write the sums of a tile to the result."""
        writer = self.writer
        sums = [writer.load(place, piece, 1, writer.zero) for place, piece in self.kept()]
        self.store(places[2], sums)

    def store(self, c: str, sums: list[str]) -> None:
        writer, tiling = self.writer, self.tiling
        for row in range(tiling.height):
            place = writer.at(c, row * tiling.rows.c)
            for index, piece in enumerate(tiling.pieces):
                start = writer.at(place, piece.offset * tiling.columns.c)
                total = sums[row * len(tiling.pieces) + index]
                writer.store(total, start, piece, tiling.columns.c)


class _SumTiles(_Tiles):
    """Lanes along the sum: vectors of A meet vectors of B, and lanes are added up at the end."""

    def matrix(self, places: list[str]) -> None:
        self.tiles(self.tiling.columns, self.tiling.across, places, self.column)

    def column(self, places: list[str]) -> None:
        tiling = self.tiling
        if tiling.packed:
            self.pack(places[1])
            places[1] = "%scratch"
            self.scratch_elements = tiling.depth * tiling.across
        self.writer.over(
            tiling.repeats,
            places,
            lambda inside: self.tiles(tiling.rows, tiling.height, inside, self.tile),
        )

    def pack(self, source: str) -> None:
        """Copy the columns of B one after the other."""
        writer, tiling = self.writer, self.tiling
        one = ColumnPiece(0, 1, 1)
        steps = strides([axis.size for axis in tiling.summed], 1)
        axes = [
            ProductAxis(axis.size, axis.b, step, 0)
            for axis, step in zip(tiling.summed, steps, strict=True)
        ]

        def copy(places: list[str]) -> None:
            for column in range(tiling.across):
                number = writer.number(writer.at(places[0], column * tiling.columns.b))
                writer.store(number, writer.at(places[1], column * tiling.depth), one, 1)

        writer.over(axes, (source, "%scratch", "%c"), copy)

    def tile(self, places: list[str]) -> None:
        writer, tiling = self.writer, self.tiling
        rows, columns, summed = tiling.rows, tiling.columns, tiling.summed
        if tiling.packed:
            columns = replace(columns, b=tiling.depth)
            steps = strides([axis.size for axis in summed], 1)
            summed = tuple(replace(axis, b=step) for axis, step in zip(summed, steps, strict=True))
        a, b, c = places

        def terms(piece: ColumnPiece) -> Step:
            def step(a: str, b: str, sums: list[str]) -> list[str]:
                left, right = (
                    [writer.load(writer.at(x, i * stride), piece, 1, writer.zero) for i in range(n)]
                    for x, stride, n in (
                        (a, rows.a, tiling.height),
                        (b, columns.b, tiling.across),
                    )
                )
                pairs = [(x, y) for x in left for y in right]
                return [
                    writer.multiply_add(x, y, total, piece.width)
                    for (x, y), total in zip(pairs, sums, strict=True)
                ]

            return step

        lanes, inner = tiling.lanes, summed[-1]
        count = tiling.height * tiling.across
        whole = inner.size // lanes * lanes
        # What is left after whole vectors is a sum of its own, in narrower vectors.
        parts = []
        if whole:
            full = ColumnPiece(0, lanes, lanes)
            axes = (*summed[:-1], replace(inner, size=whole))
            parts.append((full, self.sums(axes, [lanes] * count, a, b, terms(full), lanes)))
        plain = _Tiles(writer, replace(tiling, split=1, unroll=1))
        for piece in tiling.pieces:
            left, right = writer.advanced((a, b), (piece.offset, piece.offset))
            widths = [piece.width] * count
            parts.append((piece, plain.sums(summed[:-1], widths, left, right, terms(piece))))
        places_c = [
            row * rows.c + column * columns.c
            for row in range(tiling.height)
            for column in range(tiling.across)
        ]
        self.finish(c, places_c, parts)

    def finish(self, c: str, places: list[int], parts: list[tuple[ColumnPiece, list[str]]]) -> None:
        """Add up the lanes of every sum, and write the results to their places."""
        writer = self.writer
        first = 0
        while first < len(places):
            narrowest = min(piece.width for piece, _ in parts)
            size = 1 << (min(len(places) - first, narrowest).bit_length() - 1)
            totals = [
                writer.totals(vectors[first : first + size], piece.width)
                for piece, vectors in parts
            ]
            number = totals[0]
            for other in totals[1:]:
                number = writer.add(number, other, size)
            group = places[first : first + size]
            piece = ColumnPiece(0, size, size)
            stride = group[1] - group[0] if size > 1 else 1
            if group == [group[0] + i * stride for i in range(size)]:
                writer.store(number, writer.at(c, group[0]), piece, stride)
            else:
                for lane, place in enumerate(group):
                    writer.store_lane(number, lane, size, writer.at(c, place))
            first += size


def strides(sizes: list[int], step: int) -> list[int]:
    """How far apart the turns of nested loops are, when they go through memory in order."""
    return [step * prod(sizes[index + 1 :]) for index in range(len(sizes))]
