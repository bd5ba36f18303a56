"""A product becomes a function of a module: by tiles, by BLAS, or by nothing but zeros."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from adjoint.executors.native.machine.llvm import machine
from adjoint.executors.native.machine.module import Module
from adjoint.executors.native.products.blas import called, emit_call, fewest_flops
from adjoint.executors.native.products.blocks import blocked
from adjoint.executors.native.products.plan import ArrayProduct, grouped
from adjoint.executors.native.products.shared import emit_shared, shared
from adjoint.executors.native.products.summed import cut_sum, emit_cut_sum
from adjoint.executors.native.products.tiles import emit_tiles, emit_zeros
from adjoint.executors.native.products.tiling import Tiling, Vectors, tiled


@dataclass(frozen=True)
class Emitted:
    """A function `void @name(ptr noalias %c, ptr %a, ptr %b, ptr %scratch)` of a module.

    scratch_bytes: what `%scratch` must have, 64-byte aligned. bytes: of the operands and the
    result.
    """

    name: str
    scratch_bytes: int
    flops: int
    bytes: int
    uses_blas: bool


def emit_product(
    module: Module,
    product: ArrayProduct,
    lanes: int | None = None,
    registers: int | None = None,
    blas: bool | None = None,
    threads: int = 1,
) -> Emitted | None:
    """Add the function of a product to the module; None when it is of a kind that is not known.

    lanes, registers: of the vector unit; by default those of this machine. blas: whether BLAS is
    to be called, where it can; by default when that is likely to be faster.
    """
    if product.dtype.kind != "f" or product.dtype.itemsize not in (4, 8):
        return None
    vectors = _vectors(product, lanes, registers)
    name = module.fresh("product")
    groups = grouped(product)
    outer = (*groups.batch, *groups.rows, *groups.columns)
    size = product.dtype.itemsize
    moved = size * (
        prod(product.left_shape) + prod(product.right_shape) + prod(axis.size for axis in outer)
    )
    if not product.flops:
        emit_zeros(module, name, product.dtype, outer)
        return Emitted(name, 0, 0, moved, False)
    least = fewest_flops(vectors.lanes * size) if blas is None else 0
    call = called(groups, product.dtype) if blas is not False and product.flops >= least else None
    if call is not None and call.flops >= least:
        emit_call(module, name, product.dtype, call)
        return Emitted(name, 0, product.flops, moved, True)

    def tiles(part: str, tiling: Tiling) -> int:
        return emit_tiles(module, part, product.dtype, tiling)

    tiling = blocked(tiled(groups, vectors), size)
    sums = cut_sum(groups, tiling, moved, vectors)
    share = shared(tiling, moved, threads) if sums is None else None
    if sums is not None:
        scratch = emit_cut_sum(module, name, product.dtype, sums, threads, tiles)
    elif share is None:
        scratch = tiles(name, tiling)
    else:
        scratch = emit_shared(module, name, product.dtype, share, tiles)
    return Emitted(name, scratch, product.flops, moved, False)


def product_cycles(product: ArrayProduct) -> float:
    """About how many cycles a product takes, which depends on how its arrays lie in memory."""
    groups, vectors = grouped(product), _vectors(product, None, None)
    least = fewest_flops(vectors.lanes * vectors.itemsize)
    call = called(groups, product.dtype) if product.flops >= least else None
    if call is not None and call.flops >= least:
        return product.flops / (4 * vectors.lanes)
    return tiled(groups, vectors).cycles


def _vectors(product: ArrayProduct, lanes: int | None, registers: int | None) -> Vectors:
    """The vector unit that is there, or that is asked for."""
    size = product.dtype.itemsize
    if lanes is None:
        lanes = machine().native_lanes(product.dtype)
    if registers is None:
        registers = 32 if lanes * size >= 64 else 16
    return Vectors(lanes if lanes * size >= 16 else 1, registers, size)
