"""The loops over the sums of a tile, whose terms are added to vectors that stay in registers."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, prod

from adjoint.executors.native.products.plan import ProductAxis
from adjoint.executors.native.products.tiling import Tiling
from adjoint.executors.native.products.writer import ProductWriter

# Adds the terms at two places, in A and B, to one of the sets of partial sums.
Step = Callable[[str, str, list[str]], list[str]]
# Asks for cache lines, in a turn of this number.
Fetch = Callable[[str], None]


class SumLoops:
    """The loops of a sum.

    axes: to sum over. widths: of the sums, of which there are several. step: adds one term to each.
    unit: how many numbers along the last axis are in a term. fetch: writes what is to be asked for
    in a turn of the only loop.
    """

    def __init__(
        self,
        writer: ProductWriter,
        tiling: Tiling,
        axes: tuple[ProductAxis, ...],
        widths: list[int],
        step: Step,
        unit: int,
        fetch: Fetch | None,
    ) -> None:
        self.writer = writer
        self.split, self.unroll, self.flush = tiling.split, tiling.unroll, tiling.flush
        self.axes = axes
        self.step = step
        self.unit = unit
        self.fetch = fetch
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

        def turn(index: str, values: list[str]) -> list[str]:
            place_a, place_b, *old = values
            if last and self.fetch is not None:
                self.fetch(writer.plus(first, index))
            if last:
                new = self.steps(per_turn, place_a, place_b, old)
            else:
                new = self.level(depth + 1, place_a, place_b, old)
            return [*writer.advanced((place_a, place_b), steps), *new]

        first = "0"

        def part(index: str, values: list[str]) -> list[str]:
            nonlocal first
            first = start = writer.times(index, chunk)
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
