"""Products in blocks: chunks of rows, parts of sums, and what is fetched ahead."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from adjoint.executors.native.machine.llvm import machine
from adjoint.executors.native.products import blocks, emission
from adjoint.executors.native.products.blocks import Fetching, blocked, chunk_of, fetching
from adjoint.executors.native.products.plan import ArrayProduct, grouped
from adjoint.executors.native.products.tiling import Tiling, Vectors, tiled
from tests.executors.native.products.test_products import Place, check, place

VECTORS = Vectors(lanes=8, registers=32, itemsize=8)


@pytest.fixture
def tilings(monkeypatch: pytest.MonkeyPatch) -> list[Tiling]:
    """Caches of a few hundred bytes, so that small products need blocks; the tilings taken."""
    for name, size in (("_BLOCK", 600), ("_CHUNK", 2000), ("_NEAR", 300), ("_SUMS", 3000)):
        monkeypatch.setattr(blocks, name, size)
    monkeypatch.setattr(blocks, "_FAR", 100)
    monkeypatch.setattr(blocks, "_FEWEST", 1)
    taken: list[Tiling] = []

    def kept(tiling: Tiling, itemsize: int) -> Tiling:
        taken.append(blocked(tiling, itemsize))
        return taken[-1]

    monkeypatch.setattr(emission, "blocked", kept)
    return taken


def large_case(random: np.random.Generator) -> tuple[str, list[Place]]:
    """A product of two matrices, or of some, whose axes lie in memory in any order."""
    sizes = {label: int(random.integers(1, 150)) for label in "rcs"}
    sizes["b"] = int(random.integers(1, 4))
    groups = [
        list(group) for group in (("brs", "bsc", "brc"), ("rs", "sc", "rc"))[random.integers(2)]
    ]
    places = []
    dtype = random.choice(["f4", "f8"])
    for group in groups:
        random.shuffle(group)
        order = tuple(int(axis) for axis in random.permutation(len(group)))
        gaps = tuple(int(gap) for gap in random.choice([1, 1, 1, 2], len(group)))
        places.append(place(tuple(sizes[label] for label in group), dtype, order, gaps))
    left, right, result = ("".join(group) for group in groups)
    return f"{left},{right}->{result}", places


@pytest.mark.parametrize("seed", range(60))
def test_arbitrary_products_in_small_blocks(
    seed: int, tilings: list[Tiling], monkeypatch: pytest.MonkeyPatch
) -> None:
    random = np.random.default_rng(seed)
    if seed % 2:
        monkeypatch.setattr(blocks, "_BLOCK", 10**6)
    spec, places = large_case(random)
    lanes = min(int(random.choice([2, 4, 8])), machine().native_lanes(places[0].array.dtype))
    check(spec, *places, blas=False, lanes=lanes, registers=int(random.choice([16, 32])))


CASES = [
    ("ab,bc->ac", {"a": 178, "b": 13, "c": 80}, {"chunk"}),
    ("ab,cb->ac", {"a": 177, "b": 14, "c": 80}, {"chunk", "packed"}),
    ("dab,dcb->dac", {"a": 177, "b": 14, "c": 80, "d": 3}, {"chunk", "packed"}),
    ("ba,bc->ac", {"a": 30, "b": 301, "c": 24}, {"part"}),
    ("dba,dbc->dac", {"a": 9, "b": 128, "c": 20, "d": 3}, {"part"}),
    ("ba,bc->ca", {"a": 9, "b": 333, "c": 17}, {"part"}),
    ("dba,dbc->acd", {"a": 9, "b": 53, "c": 17, "d": 2}, {"part"}),
]


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(("spec", "sizes", "kinds"), CASES)
def test_blocks_of_each_kind(
    spec: str,
    sizes: dict[str, int],
    kinds: set[str],
    dtype: Any,
    tilings: list[Tiling],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if "part" not in kinds:
        monkeypatch.setattr(blocks, "_BLOCK", 10**6)
    labels = spec.replace("->", ",").split(",")
    places = [place(tuple(sizes[label] for label in group), dtype) for group in labels]
    check(spec, *places, blas=False)
    assert len(tilings) == 1
    if dtype == "f8":
        tiling, _ = blocks_of(spec, sizes)  # whatever vectors this machine has
        seen = {
            "part": tiling.part > 0,
            "chunk": chunk_of(tiling) < tiling.rows.size,
            "packed": tiling.packed,
        }
        assert all(seen[kind] for kind in kinds), tiling


def product_of(spec: str, sizes: dict[str, int]) -> ArrayProduct:
    groups = [tuple(sizes[x] for x in group) for group in spec.replace("->", ",").split(",")]
    strides = [tuple(int(x) // 8 for x in np.empty(shape).strides) for shape in groups]
    return ArrayProduct(np.dtype(float), spec, groups[0], groups[1], *strides)


def blocks_of(spec: str, sizes: dict[str, int]) -> tuple[Tiling, Fetching | None]:
    tiling = blocked(tiled(grouped(product_of(spec, sizes)), VECTORS), 8)
    return tiling, fetching(tiling, 8)


def test_many_rows_meet_all_columns_in_chunks() -> None:
    tiling, ahead = blocks_of("ab,bc->ac", {"a": 300_000, "b": 64, "c": 64})
    chunk = chunk_of(tiling)
    assert chunk * 64 * 8 <= 2**18
    assert ahead is not None
    assert [(run.operand, run.offset, run.runs) for run in ahead.ranges] == [
        (0, chunk * 512, 1),
        (2, chunk * 512, 1),
    ]
    assert ahead.ranges[0].lines == chunk * 8


def test_long_sums_are_added_up_in_parts() -> None:
    tiling, ahead = blocks_of("ba,bc->ac", {"a": 784, "b": 20_000, "c": 128})
    chunk = chunk_of(tiling)
    assert chunk * 128 * 8 <= 2**17
    assert tiling.part * (chunk + 128) * 8 <= 2**20
    assert ahead is not None
    rows, columns = ahead.ranges
    assert (rows.runs, rows.lines, rows.step) == (tiling.part, -(-chunk // 8), 784 * 8)
    assert (columns.runs, columns.lines) == (1, tiling.part * 16)


@pytest.mark.parametrize(
    ("spec", "sizes"),
    [
        ("ab,bc->ac", {"a": 256, "b": 256, "c": 256}),
        ("ab,b->a", {"a": 300_000, "b": 64}),
        ("ab,bc->ac", {"a": 300_000, "b": 64, "c": 8}),
    ],
)
def test_one_pass_over_memory_needs_no_blocks(spec: str, sizes: dict[str, int]) -> None:
    tiling, ahead = blocks_of(spec, sizes)
    assert (tiling.most_rows, tiling.part, ahead) == (0, 0, None)


def test_parts_do_not_depend_on_how_a_product_is_shared() -> None:
    tiling, _ = blocks_of("ba,bc->ac", {"a": 784, "b": 20_000, "c": 128})
    fewer = replace(tiling, rows=replace(tiling.rows, size=28))
    assert fewer.part == tiling.part
    assert chunk_of(fewer) == 28
