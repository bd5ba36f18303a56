"""Products that several threads share."""

from __future__ import annotations

import warnings
from math import prod

import numpy as np
import pytest

import adjoint as ad
from adjoint.executors.native.products.plan import ArrayProduct, grouped
from adjoint.executors.native.products.shared import shared
from adjoint.executors.native.products.tiling import Tiling, Vectors, tiled


def product_of(spec: str, left: tuple[int, ...], right: tuple[int, ...]) -> ArrayProduct:
    def strides(shape: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(prod(shape[axis + 1 :]) for axis in range(len(shape)))

    lengths = dict(zip(spec.split("->")[0].replace(",", ""), left + right, strict=True))
    result = tuple(lengths[letter] for letter in spec.split("->")[1])
    return ArrayProduct(
        np.dtype(float), spec, left, right, strides(left), strides(right), strides(result)
    )


VECTORS = Vectors(lanes=8, registers=32, itemsize=8)


@pytest.mark.parametrize("threads", [2, 3, 7])
@pytest.mark.parametrize(
    "product",
    [
        product_of("ij,jk->ik", (1000, 300), (300, 333)),
        product_of("ij,jk->ik", (40, 900), (900, 1001)),
        product_of("ij,kj->ik", (300, 400), (301, 400)),
        product_of("ij,j->i", (10_000, 40), (40,)),
        product_of("bij,bjk->bik", (101, 64, 64), (101, 64, 64)),
    ],
)
def test_the_parts_are_the_whole(product: ArrayProduct, threads: int) -> None:
    tiling = tiled(grouped(product), VECTORS)
    share = shared(tiling, 10**7, threads)
    assert share is not None

    def size(part: Tiling) -> int:
        axes = (*part.batch, *part.repeats, part.rows, part.columns, *part.summed)
        return prod(axis.size for axis in axes)

    assert (share.count - 1) * size(share.whole) + size(share.rest) == size(tiling)
    assert 2 <= share.threads <= threads
    assert share.threads <= share.count <= 2 * threads
    for part in (share.whole, share.rest):
        assert part.height <= part.rows.size
        assert (part.split, part.unroll, part.flush) == (tiling.split, tiling.unroll, tiling.flush)


def test_small_products_are_not_shared() -> None:
    small = tiled(grouped(product_of("ij,jk->ik", (30, 30), (30, 30))), VECTORS)
    assert shared(small, 3 * 8 * 900, 2) is None
    large = tiled(grouped(product_of("ij,jk->ik", (400, 400), (400, 400))), VECTORS)
    assert shared(large, 10**6, 2) is not None
    assert shared(large, 10**6, 1) is None


@pytest.mark.parametrize("threads", [2, 3])
@pytest.mark.parametrize(("rows", "summed", "columns"), [(513, 200, 301), (65, 300, 1027)])
def test_shared_products_are_those_of_numpy(
    threads: int, rows: int, summed: int, columns: int
) -> None:
    random = np.random.default_rng(rows)
    x, y = random.standard_normal((rows, summed)), random.standard_normal((summed, columns))
    with ad.config(native=True, threads=threads):
        jitted = ad.jit(lambda x, y: (np.tanh(x @ y), (x.T * 2.0).T @ y, y.T @ x.T))
        got = jitted(x, y)
    for one, other in zip(got, (np.tanh(x @ y), 2 * x @ y, (x @ y).T), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    ("rows", "summed", "columns"), [(513, 200, 301), (7, 900, 1027), (901, 77, 5)]
)
def test_the_bits_do_not_depend_on_the_threads(
    dtype: type, rows: int, summed: int, columns: int
) -> None:
    random = np.random.default_rng(rows)
    x = random.standard_normal((rows, summed)).astype(dtype)
    y = random.standard_normal((summed, columns)).astype(dtype)
    results = []
    for threads in (1, 2, 3, 5):
        with ad.config(native=True, threads=threads):
            products = ad.jit(lambda x, y: (x @ y, y.T @ x.T, x.T.copy().T @ y))(x, y)
        results.append([product.tobytes() for product in products])
    assert all(result == results[0] for result in results)


def test_errors_of_all_threads_count() -> None:
    x, y = np.ones((512, 200)), np.ones((200, 512))
    with ad.config(native=True, threads=3):
        jitted = ad.jit(lambda x, y: x @ y)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            np.testing.assert_array_equal(jitted(x, y), x @ y)
        for row in (0, 300, 511):
            far = x.copy()
            far[row] = 1e308
            with pytest.warns(RuntimeWarning, match="overflow"):
                got = jitted(far, y)
            assert np.isinf(got[row]).all()
            assert np.isfinite(np.delete(got, row, 0)).all()
