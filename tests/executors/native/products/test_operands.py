"""Products of matrices that are parts, repetitions and other arrangements of arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import adjoint as ad
from tests.sampling import one_in

LENGTHS = (2, 3, 7, 8, 16, 17, 30, 60)
Random = np.random.Generator

# For the shape of a matrix, that of an array, and how the one is made of the other.
ARRANGED: list[tuple[Callable[..., tuple[int, ...]], Callable[..., Any]]] = [
    (lambda n, m: (n, m), lambda x, n, m: x),
    (lambda n, m: (m, n), lambda x, n, m: x.T),
    (lambda n, m: (2 * n, 3 * m), lambda x, n, m: x[::2, ::3]),
    (lambda n, m: (n, m), lambda x, n, m: x[::-1]),
    (lambda n, m: (n, m), lambda x, n, m: x[:, ::-1]),
    (lambda n, m: (m,), lambda x, n, m: np.broadcast_to(x, (n, m))),
    (lambda n, m: (n, 1), lambda x, n, m: np.broadcast_to(x, (n, m))),
    (lambda n, m: (n * m,), lambda x, n, m: x.reshape(n, m)),
    (lambda n, m: (m, n), lambda x, n, m: x.reshape(n, m)),
    (lambda n, m: (n + 2, m + 3), lambda x, n, m: x[1:-1, 2:-1]),
    (lambda n, m: (n, m, 2), lambda x, n, m: x[:, :, 1]),
    (lambda n, m: (n,), lambda x, n, m: np.concatenate([x[:, None]] * m, axis=1)),
    (lambda n, m: (n, m), lambda x, n, m: np.roll(x, 3, axis=0)),
]
AFTERWARDS: list[Callable[..., Any]] = [
    lambda product, c: product,
    lambda product, c: product + c,
    lambda product, c: np.sum(product * c, axis=0),
    lambda product, c: product.T[::-1],
    lambda product, c: product @ c.T,
    lambda product, c: np.maximum(product, c)[1:],
]
WAYS: list[Callable[..., Any]] = [
    lambda function: function,
    lambda function: ad.vmap(function, in_axes=(0, None, None)),
    lambda function: ad.vmap(function),
    lambda function: ad.grad(lambda *given: np.sum(function(*given) ** 2), (0, 1, 2)),
]


def numbers(random: Random, shape: tuple[int, ...], dtype: str) -> Any:
    return random.integers(-4, 5, shape).astype(dtype) / 8


@pytest.mark.parametrize("seed", one_in(4, range(60)))
def test_operands_of_any_arrangement(seed: int) -> None:
    random = np.random.default_rng(seed)
    dtype = str(random.choice(["f8", "f4"]))
    n, k, m = (int(each) for each in random.choice(LENGTHS, 3))
    first, left = ARRANGED[seed % len(ARRANGED)]
    second, right = ARRANGED[random.integers(len(ARRANGED))]
    afterwards, way = AFTERWARDS[random.integers(6)], random.integers(4)

    def function(x: Any, y: Any, z: Any) -> Any:
        return afterwards(left(x, n, k) @ right(2 * y, k, m), z)

    arguments = [numbers(random, shape, dtype) for shape in (first(n, k), second(k, m), (n, m))]
    if way in (1, 2):
        arguments[0] = np.stack([arguments[0], -2 * arguments[0]])
    if way == 2:
        arguments[1:] = [np.stack([x, 3 * x]) for x in arguments[1:]]
    applied = WAYS[way](function)
    with ad.config(native=False):
        expected = applied(*arguments)
    with ad.config(native=True):
        results = ad.jit(applied)(*arguments)
    both = zip(results, expected, strict=True) if way == 3 else [(results, expected)]
    for found, wanted in both:
        assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
        scale = max(float(np.max(np.abs(wanted))), 1.0)
        bound = (1e-13 if dtype == "f8" else 1e-5) * scale
        np.testing.assert_allclose(found, wanted, rtol=0, atol=bound)


def test_two_large_arrays_that_are_walked_in_different_orders() -> None:
    random = np.random.default_rng(1)
    left, right = random.random((100, 130)), random.random((130, 100))
    with ad.config(native=True):
        found = ad.jit(lambda x, y: np.einsum("ij,ji->i", x, y))(left, right)
    np.testing.assert_allclose(found, np.einsum("ij,ji->i", left, right), rtol=1e-13)
