"""Products that several threads share."""

from __future__ import annotations

import warnings
from math import prod
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.executors.native.products.plan import ArrayProduct, grouped
from adjoint.executors.native.products.shared import SHARED_FLOPS, shared


def product_of(spec: str, left: tuple[int, ...], right: tuple[int, ...]) -> ArrayProduct:
    def strides(shape: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(prod(shape[axis + 1 :]) for axis in range(len(shape)))

    lengths = dict(zip(spec.split("->")[0].replace(",", ""), left + right, strict=True))
    result = tuple(lengths[letter] for letter in spec.split("->")[1])
    return ArrayProduct(
        np.dtype(float), spec, left, right, strides(left), strides(right), strides(result)
    )


@pytest.mark.parametrize("threads", [2, 3, 7])
@pytest.mark.parametrize(
    "product",
    [
        product_of("ij,jk->ik", (1000, 300), (300, 333)),
        product_of("ij,jk->ik", (40, 900), (900, 1001)),
        product_of("bij,bjk->bik", (101, 64, 64), (101, 64, 64)),
    ],
)
def test_the_parts_are_the_whole(product: ArrayProduct, threads: int) -> None:
    groups = grouped(product)
    share = shared(groups, product.flops, threads)
    assert share is not None

    def size(part: Any) -> int:
        return prod(axis.size for axis in (*part.batch, *part.rows, *part.columns, *part.summed))

    assert (share.threads - 1) * size(share.whole) + size(share.rest) == size(groups)
    assert 2 <= share.threads <= threads
    assert 0 < size(share.rest) <= size(share.whole)


def test_small_products_are_not_shared() -> None:
    product = product_of("ij,jk->ik", (100, 100), (100, 100))
    assert product.flops < SHARED_FLOPS
    assert shared(grouped(product), product.flops, 2) is None
    large = product_of("ij,jk->ik", (20, 100_000), (100_000, 20))
    assert shared(grouped(large), large.flops, 2) is None
    assert shared(grouped(large), large.flops, 1) is None


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
