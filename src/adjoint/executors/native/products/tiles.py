"""Products as register tiles: the accumulators of a tile of C stay in vectors during the sum."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import ceil, prod
from typing import Any

import numpy as np

from adjoint.executors.native.machine.module import Module
from adjoint.executors.native.products.plan import ProductAxis
from adjoint.executors.native.products.tiling import ColumnPiece, Tiling
from adjoint.executors.native.products.writer import ProductWriter

# Adds the terms at two places, in A and B, to one of the sets of partial sums.
Step = Callable[[str, str, list[str]], list[str]]


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
            body([writer.at(place, step) for place, step in zip(places, steps, strict=True)])
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
        return _Sum(self.writer, self.tiling, axes, widths, step, unit).starting_at(a, b)


class _Sum:
    """The loops of a sum.

    axes: to sum over. widths: of the sums, of which there are several. step: adds one term to each.
    unit: how many numbers along the last axis are in a term.
    """

    def __init__(
        self,
        writer: ProductWriter,
        tiling: Tiling,
        axes: tuple[ProductAxis, ...],
        widths: list[int],
        step: Step,
        unit: int,
    ) -> None:
        self.writer = writer
        self.split, self.unroll, self.flush = tiling.split, tiling.unroll, tiling.flush
        self.axes = axes
        self.step = step
        self.unit = unit
        self.size = len(widths)
        self.widths = widths * self.split
        self.types = ["ptr", "ptr", *(writer.type_of(width) for width in self.widths)]
        self.zeros = [writer.filled(writer.zero, width) for width in self.widths]

    def starting_at(self, a: str, b: str) -> list[str]:
        """The sums from these places on in A and B."""
        sums = self.level(0, a, b, self.zeros)
        while len(sums) > self.size:
            half = len(sums) // self.size // 2 * self.size
            sums = [*self.added(sums[:half], sums[-half:]), *sums[half:-half]]
        return sums

    def added(self, left: list[str], right: list[str]) -> list[str]:
        """Sums of sums."""
        pairs = zip(left, right, self.widths[: len(left)], strict=True)
        return [self.writer.add(x, y, width) for x, y, width in pairs]

    def steps(self, count: int, a: str, b: str, sums: list[str]) -> list[str]:
        """Steps written out; the sets of partial sums take turns."""
        sums = list(sums)
        axis, size = self.axes[-1], self.size
        for index in range(count):
            first = index % self.split * size
            number = index * self.unit
            place_a, place_b = self.writer.advanced((a, b), (number * axis.a, number * axis.b))
            sums[first : first + size] = self.step(place_a, place_b, sums[first : first + size])
        return sums

    def level(self, depth: int, a: str, b: str, sums: list[str]) -> list[str]:
        """The sum over an axis and those inside of it, added to what is there."""
        writer, axis, last = self.writer, self.axes[depth], depth == len(self.axes) - 1
        per_turn = self.unroll if last else 1
        turns = axis.size // (per_turn * self.unit if last else 1)
        steps = [step * per_turn * (self.unit if last else 1) for step in (axis.a, axis.b)]

        def turn(_: str, values: list[str]) -> list[str]:
            place_a, place_b, *old = values
            if last:
                new = self.steps(per_turn, place_a, place_b, old)
            else:
                new = self.level(depth + 1, place_a, place_b, old)
            return [*writer.advanced((place_a, place_b), steps), *new]

        def part(index: str, values: list[str]) -> list[str]:
            start = writer.times(index, chunk)
            left = writer.smaller(writer.block.op(f"sub nsw i64 {turns}, {start}"), chunk)
            places = values[:2]
            partials = writer.loop(left, self.types, [*places, *self.zeros], turn)
            return [*partials[:2], *self.added(values[2:], partials[2:])]

        # Long sums are sums of the sums of their parts: less is rounded away.
        inside = per_turn * prod(other.size for other in self.axes[depth + 1 :])
        chunk = max(1, self.flush // inside)
        values = [a, b, *sums]
        if turns and inside <= self.flush < inside * turns:
            values = writer.loop(ceil(turns / chunk), self.types, values, part)
        elif turns:
            values = writer.loop(turns, self.types, values, turn)
        rest = axis.size // self.unit - turns * per_turn if last else 0
        return self.steps(rest, values[0], values[1], values[2:])


class _ColumnTiles(_Tiles):
    """Lanes along the columns: numbers of A meet vectors of B."""

    def __init__(self, writer: ProductWriter, tiling: Tiling) -> None:
        super().__init__(writer, tiling)
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
        columns = self.tiling.columns
        self.tiles(columns, min(self.width, columns.size), places, self.column)

    def column(self, places: list[str]) -> None:
        tiling = self.tiling
        if tiling.packed:
            self.pack(places[1], "%scratch")
            places[1] = "%scratch"
            self.scratch_elements = tiling.depth * self.width
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
                for piece, vector in zip(pieces, vectors, strict=True):
                    if columns.a:
                        start = writer.at(place, piece.offset * columns.a)
                        factor = writer.load(start, piece, columns.a, writer.nan)
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
        sums = self.sums(summed, widths, a, b, step)
        for row in range(height):
            place = writer.at(c, row * rows.c)
            for index, piece in enumerate(tiling.pieces):
                start = writer.at(place, piece.offset * columns.c)
                writer.store(sums[row * len(pieces) + index], start, piece, columns.c)


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
