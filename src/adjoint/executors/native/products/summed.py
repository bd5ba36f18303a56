"""Products of few numbers, each a long sum: threads share the sums, and the parts are added up.

Into how many parts a sum is cut does not depend on the number of threads, so that the result has
the same bits for one thread and for many.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, prod
from typing import Any, Final

import numpy as np

from adjoint.executors.native.machine.module import Module
from adjoint.executors.native.machine.pool import SHARED_TIME, emit_pool
from adjoint.executors.native.products.plan import Groups, ProductAxis
from adjoint.executors.native.products.shared import Emit, time_of
from adjoint.executors.native.products.tiling import Tiling, Vectors, tiled
from adjoint.executors.native.products.writer import ProductWriter

_PART_TIME: Final = 6_000.0  # nanoseconds
_MOST_PARTS: Final = 16
_MOST_TILES: Final = 4  # of a product whose rows and columns are not worth sharing
_MOST_RESULTS: Final = 1024


@dataclass(frozen=True)
class CutSum:
    """How a sum is cut. part: the length of all parts but the last along an axis that is summed.

    steps: how far a part is from the next one, in numbers of A and B. whole, rest: the tiles of a
    part, and of the last one. results: how many numbers the product has.
    """

    part: int
    count: int
    steps: tuple[int, int]
    whole: Tiling
    rest: Tiling
    results: int


def cut_sum(groups: Groups, tiling: Tiling, moved: int, vectors: Vectors) -> CutSum | None:
    """How the sums of a product are cut into parts; None where that is worth nothing.

    tiling: of the whole. moved: the bytes of the operands and the result.
    """
    outer = (*groups.batch, *groups.rows, *groups.columns)
    results = prod(axis.size for axis in outer)
    width = sum(piece.width for piece in tiling.pieces)
    across = tiling.across if tiling.along_sum else width
    tiles = ceil(tiling.rows.size / tiling.height) * ceil(tiling.columns.size / max(across, 1))
    tiles *= prod(axis.size for axis in (*tiling.batch, *tiling.repeats))
    time = time_of(tiling, moved)
    dense = sum((axis.size - 1) * axis.c for axis in outer) == results - 1
    if (
        not dense
        or results > _MOST_RESULTS
        or tiles >= _MOST_TILES
        or time < SHARED_TIME
        or not groups.summed
    ):
        return None
    axis = max(groups.summed, key=lambda axis: axis.size)
    most = min(_MOST_PARTS, int(time / _PART_TIME), axis.size // (16 * vectors.lanes))
    if most < 2:
        return None
    parts = 1 << (most.bit_length() - 1)
    part = ceil(axis.size / (parts * vectors.lanes)) * vectors.lanes
    count = ceil(axis.size / part)
    last = axis.size - (count - 1) * part
    whole, rest = (tiled(_cut(groups, axis, size), vectors) for size in (part, last))
    return CutSum(part, count, (part * axis.a, part * axis.b), whole, rest, results)


def _cut(groups: Groups, axis: ProductAxis, size: int) -> Groups:
    summed = tuple(replace(x, size=size) if x is axis else x for x in groups.summed)
    return replace(groups, summed=summed)


def emit_cut_sum(
    module: Module, name: str, dtype: np.dtype[Any], cut: CutSum, threads: int, emit: Emit
) -> int:
    """Add the function of a product whose sums are cut; returns the bytes of scratch."""
    whole, rest = f"{name}.whole", f"{name}.rest"
    scratch = max(emit(whole, cut.whole), emit(rest, cut.rest))
    scratch = -(-scratch // 64) * 64
    size = -(-cut.results * dtype.itemsize // 64) * 64
    a, b = (step * dtype.itemsize for step in cut.steps)
    module.functions.append(
        _PART.format(
            *(name, whole, rest),
            last=cut.count - 1, a=a, b=b, size=size, scratch=scratch, sums=cut.count * size,
        )
    )  # fmt: skip
    _emit_total(module, f"{name}.total", dtype, cut, size)
    threads = min(threads, cut.count)
    if threads > 1:
        pool = emit_pool(module)
        run = f"  call void {pool}(ptr @{name}.part, ptr %context, i64 {cut.count}, i64 {threads})"
    else:
        call = f"  call void @{name}.part(ptr %context, i64 {{}}, i64 0)"
        run = "\n".join(map(call.format, range(cut.count)))
    module.functions.append(_FUNCTION.format(name=name, run=run))
    return cut.count * size + scratch * threads


def _emit_total(
    module: Module, name: str, dtype: np.dtype[Any], cut: CutSum, part_bytes: int
) -> None:
    """Add a function that adds the sums of all parts, in pairs, and in pairs of pairs."""
    writer = ProductWriter(module, dtype)
    step = part_bytes // dtype.itemsize

    def turn(_: str, places: list[str]) -> list[str]:
        source, target = places
        sums = [writer.number(writer.at(source, step * part)) for part in range(cut.count)]
        while len(sums) > 1:
            pairs = zip(sums[::2], sums[1::2], strict=False)
            sums = [writer.add(x, y, 1) for x, y in pairs] + sums[len(sums) // 2 * 2 :]
        writer.block.do(f"store {writer.scalar} {sums[0]}, ptr {target}, align {dtype.itemsize}")
        return writer.advanced(places, (1, 1))

    writer.loop(cut.results, ["ptr", "ptr"], ["%scratch", "%c"], turn)
    writer.function(name)


_PART: Final = """
define internal void @{0}.part(ptr %context, i64 %number, i64 %worker) nounwind {{
entry:
  %a.whole = load ptr, ptr %context, align 8
  %b.at = getelementptr i8, ptr %context, i64 8
  %b.whole = load ptr, ptr %b.at, align 8
  %sums.at = getelementptr i8, ptr %context, i64 16
  %sums = load ptr, ptr %sums.at, align 8
  %a.by = mul i64 %number, {a}
  %b.by = mul i64 %number, {b}
  %c.by = mul i64 %number, {size}
  %scratch.by = mul i64 %worker, {scratch}
  %a = getelementptr i8, ptr %a.whole, i64 %a.by
  %b = getelementptr i8, ptr %b.whole, i64 %b.by
  %c = getelementptr i8, ptr %sums, i64 %c.by
  %scratches = getelementptr i8, ptr %sums, i64 {sums}
  %scratch = getelementptr i8, ptr %scratches, i64 %scratch.by
  %is.last = icmp eq i64 %number, {last}
  br i1 %is.last, label %rest, label %whole
whole:
  call void @{1}(ptr %c, ptr %a, ptr %b, ptr %scratch)
  ret void
rest:
  call void @{2}(ptr %c, ptr %a, ptr %b, ptr %scratch)
  ret void
}}
"""

_FUNCTION: Final = """
define internal void @{name}(ptr %c, ptr %a, ptr %b, ptr %scratch) {{
entry:
  %context = alloca [3 x ptr], align 8
  store ptr %a, ptr %context, align 8
  %b.at = getelementptr i8, ptr %context, i64 8
  store ptr %b, ptr %b.at, align 8
  %sums.at = getelementptr i8, ptr %context, i64 16
  store ptr %scratch, ptr %sums.at, align 8
{run}
  call void @{name}.total(ptr %c, ptr %a, ptr %b, ptr %scratch)
  ret void
}}
"""
