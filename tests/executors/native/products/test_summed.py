"""Products whose long sums are cut into parts."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import adjoint as ad
from adjoint.executors.native.products.plan import grouped
from adjoint.executors.native.products.summed import CutSum, cut_sum
from adjoint.executors.native.products.tiling import Vectors, tiled
from tests.executors.native.products.test_shared import product_of

VECTORS = Vectors(lanes=8, registers=32, itemsize=8)


def cut_of(spec: str, left: tuple[int, ...], right: tuple[int, ...]) -> CutSum | None:
    groups = grouped(product_of(spec, left, right))
    return cut_sum(groups, tiled(groups, VECTORS), 10**7, VECTORS)


@pytest.mark.parametrize(("depth", "columns"), [(100_000, 20), (50_001, 3), (9_999, 100)])
def test_the_parts_are_the_whole_sum(depth: int, columns: int) -> None:
    cut = cut_of("ab,a->b", (depth, columns), (depth,))
    assert cut is not None
    assert cut.count >= 2
    assert (cut.count - 1) * cut.part + cut.rest.depth == depth
    assert cut.whole.depth == cut.part
    assert 0 < cut.rest.depth <= cut.part
    assert cut.results == columns


def test_products_with_rows_to_share_are_not_cut() -> None:
    assert cut_of("ij,jk->ik", (500, 1000), (1000, 500)) is None
    assert cut_of("ab,b->a", (100_000, 20), (20,)) is None
    assert cut_of("ab,a->b", (100, 20), (100,)) is None


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    ("depth", "rows", "columns"), [(100_003, 1, 21), (40_000, 2, 9), (20_001, 5, 5)]
)
def test_results_are_those_of_numpy_for_any_number_of_threads(
    dtype: type, depth: int, rows: int, columns: int
) -> None:
    random = np.random.default_rng(depth)
    x = random.standard_normal((depth, columns)).astype(dtype)
    y = random.standard_normal((depth, rows)).astype(dtype)
    expected = y.astype(float).T @ x.astype(float)
    results = []
    for threads in (1, 2, 3, 5):
        with ad.config(native=True, threads=threads):
            results.append(ad.jit(lambda x, y: y.T @ x)(x, y))
    assert all(result.tobytes() == results[0].tobytes() for result in results)
    size = np.abs(y).astype(float).T @ np.abs(x).astype(float)
    assert (np.abs(results[0] - expected) <= 32 * np.finfo(dtype).eps * size).all()


def test_errors_of_any_part_count() -> None:
    x, y = np.ones((100_000, 20)), np.ones(100_000)
    with ad.config(native=True, threads=3):
        jitted = ad.jit(lambda x, y: y @ x)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            np.testing.assert_array_equal(jitted(x, y), y @ x)
        for row in (0, 60_000, 99_999):
            far = x.copy()
            far[row] = 1e308
            far[row - 1] = 1e308
            with pytest.warns(RuntimeWarning, match="overflow"):
                assert np.isinf(jitted(far, y)).all()
