"""Products that several threads share: each has a part of the rows, the columns or the batch.

The tiles are those of the whole product, so that each number is summed in the same order, and has
the same bits, whatever the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from adjoint.executors.native.machine.module import Module
from adjoint.executors.native.machine.pool import SHARED_TIME, emit_pool
from adjoint.executors.native.products.plan import ProductAxis
from adjoint.executors.native.products.tiling import Tiling

_CYCLE_TIME: Final = 0.3  # nanoseconds, about
# Nanoseconds from which each thread has two parts: for one that is held up others wait less long.
LONG_TIME: Final = 600_000.0
_BYTE_TIME: Final = 0.0125  # in the caches

Emit = Callable[[str, Tiling], int]  # adds a function of this name; the bytes of its scratch


@dataclass(frozen=True)
class Share:
    """How a product is shared, by how many threads.

    part: the length of the parts along an axis, but for the last one. count: of the parts. steps:
    how far one is from the next, in numbers of A, B and C. whole: the tiles of such a part. rest:
    those of the last.
    """

    part: int
    count: int
    threads: int
    steps: tuple[int, int, int]
    whole: Tiling
    rest: Tiling


def shared(tiling: Tiling, moved: int, threads: int) -> Share | None:
    """How threads may share a product; None where it is too small, or has too few rows.

    moved: the bytes of the operands and the result.
    """
    time = time_of(tiling, moved)
    if threads < 2 or time < SHARED_TIME:
        return None
    wanted = threads * (2 if time > LONG_TIME else 1)
    # The axis that has as many parts as wanted, and of several the longest one.
    cuts = [(_cut(axis, grain, wanted), axis) for axis, grain in _axes(tiling)]
    cuts = [cut for cut in cuts if cut[0][1] > 1]
    if not cuts:
        return None
    (part, count), axis = max(cuts, key=lambda cut: (cut[0][1], cut[1].size))
    left, right = (axis.b, axis.a) if tiling.swapped else (axis.a, axis.b)
    last = axis.size - (count - 1) * part
    steps = (part * left, part * right, part * axis.c)
    return Share(
        part,
        count,
        min(threads, count),
        steps,
        _resized(tiling, axis, part),
        _resized(tiling, axis, last),
    )


def time_of(tiling: Tiling, moved: int) -> float:
    """About how long a product takes on one core, in nanoseconds."""
    return max(tiling.cycles * _CYCLE_TIME, moved * _BYTE_TIME)


def _axes(tiling: Tiling) -> Iterator[tuple[ProductAxis, int]]:
    """The axes that may be cut, and of what the parts are multiples, so that tiles stay whole."""
    for axis in (*tiling.batch, *tiling.repeats):
        yield axis, 1
    yield tiling.rows, tiling.height
    width = sum(piece.width for piece in tiling.pieces)
    if tiling.along_sum:
        yield tiling.columns, tiling.across
    elif tiling.columns.size > width:
        yield tiling.columns, width


def _cut(axis: ProductAxis, grain: int, wanted: int) -> tuple[int, int]:
    """The length of the parts, and how many there are; the last one has a tile at least."""
    part = -(-axis.size // (wanted * grain)) * grain
    count = -(-axis.size // part)
    return part, count - (axis.size - (count - 1) * part < grain)


def _resized(tiling: Tiling, axis: ProductAxis, size: int) -> Tiling:
    def resized(axes: tuple[ProductAxis, ...]) -> tuple[ProductAxis, ...]:
        return tuple(replace(x, size=size) if x is axis else x for x in axes)

    (rows,), (columns,) = resized((tiling.rows,)), resized((tiling.columns,))
    return replace(
        tiling,
        batch=resized(tiling.batch),
        repeats=resized(tiling.repeats),
        rows=rows,
        columns=columns,
    )


def emit_shared(module: Module, name: str, dtype: np.dtype[Any], share: Share, emit: Emit) -> int:
    """Add the function of a product, which its threads compute; returns the bytes of scratch."""
    whole = rest = f"{name}.whole"
    scratch = emit(whole, share.whole)
    if share.rest != share.whole:
        rest = f"{name}.rest"
        scratch = max(scratch, emit(rest, share.rest))
    scratch = -(-scratch // 64) * 64
    steps = (step * dtype.itemsize for step in share.steps)
    module.functions.append(
        _PART.format(
            name=name,
            whole=whole,
            rest=rest,
            last=share.count - 1,
            scratch=scratch,
            **dict(zip("abc", steps, strict=True)),
        )
    )
    pool = emit_pool(module)
    module.functions.append(
        _FUNCTION.format(name=name, count=share.count, threads=share.threads, pool=pool)
    )
    return scratch * share.threads


_PART: Final = """
define internal void @{name}.part(ptr %context, i64 %number, i64 %worker) nounwind {{
entry:
  %c.whole = load ptr, ptr %context, align 8
  %a.at = getelementptr i8, ptr %context, i64 8
  %a.whole = load ptr, ptr %a.at, align 8
  %b.at = getelementptr i8, ptr %context, i64 16
  %b.whole = load ptr, ptr %b.at, align 8
  %scratch.at = getelementptr i8, ptr %context, i64 24
  %scratch.whole = load ptr, ptr %scratch.at, align 8
  %c.by = mul i64 %number, {c}
  %a.by = mul i64 %number, {a}
  %b.by = mul i64 %number, {b}
  %scratch.by = mul i64 %worker, {scratch}
  %c = getelementptr i8, ptr %c.whole, i64 %c.by
  %a = getelementptr i8, ptr %a.whole, i64 %a.by
  %b = getelementptr i8, ptr %b.whole, i64 %b.by
  %scratch = getelementptr i8, ptr %scratch.whole, i64 %scratch.by
  %is.last = icmp eq i64 %number, {last}
  br i1 %is.last, label %rest, label %whole
whole:
  call void @{whole}(ptr %c, ptr %a, ptr %b, ptr %scratch)
  ret void
rest:
  call void @{rest}(ptr %c, ptr %a, ptr %b, ptr %scratch)
  ret void
}}
"""

_FUNCTION: Final = """
define internal void @{name}(ptr %c, ptr %a, ptr %b, ptr %scratch) {{
entry:
  %context = alloca [4 x ptr], align 8
  store ptr %c, ptr %context, align 8
  %a.at = getelementptr i8, ptr %context, i64 8
  store ptr %a, ptr %a.at, align 8
  %b.at = getelementptr i8, ptr %context, i64 16
  store ptr %b, ptr %b.at, align 8
  %scratch.at = getelementptr i8, ptr %context, i64 24
  store ptr %scratch, ptr %scratch.at, align 8
  call void {pool}(ptr @{name}.part, ptr %context, i64 {count}, i64 {threads})
  ret void
}}
"""
