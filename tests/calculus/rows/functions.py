"""Functions of rows, and data for them."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.base import pytrees

RANDOM = np.random.default_rng(0)
COUNT = 1000
X, Y = RANDOM.normal(size=(COUNT, 13)), RANDOM.normal(size=COUNT)
KINDS = RANDOM.integers(0, 3, COUNT)
W = RANDOM.normal(size=13)
NETWORK = (RANDOM.normal(size=(13, 16)), RANDOM.normal(size=(16, 3)))


def squares(w: Any, x: Any, y: Any) -> Any:
    return np.mean((x @ w - y) ** 2)


def cross_entropy(weights: Any, x: Any, kinds: Any) -> Any:
    scores = np.tanh(x @ weights[0]) @ weights[1]
    scores = scores - np.max(scores, axis=1, keepdims=True)
    logarithms = scores - np.log(np.sum(np.exp(scores), axis=1, keepdims=True))
    return -np.mean(logarithms[np.arange(len(kinds)), kinds])


def standardised(w: Any, x: Any, y: Any) -> Any:
    return np.sum((((x - x.mean(0)) / x.std(0)) @ w - y) ** 2)


def log_sum_exp(w: Any, x: Any, y: Any) -> Any:
    scores = x @ w
    top = np.max(scores)
    return np.log(np.sum(np.exp(scores - top))) + top + np.mean(y)


def embedded(table: Any, kinds: Any, y: Any) -> Any:
    return np.mean((table[kinds].sum(1) - y) ** 2)


def by_number(w: Any, x: Any, y: Any) -> Any:
    return np.sum(np.exp(-np.arange(len(y)) / 100.0) * (x @ w - y) ** 2)


def clipped(w: Any, x: Any, y: Any) -> Any:
    return np.mean(np.where(y > 0, np.clip(x @ w, -1, 1), np.abs(x @ w)))


def with_ones(w: Any, x: Any, y: Any) -> Any:
    whole = np.concatenate([x, np.ones((len(x), 1))], axis=1)
    return np.mean((whole @ np.append(w, 1.0) - y) ** 2)


def quadratic(w: Any, x: Any, y: Any) -> Any:
    return np.einsum("ij,ik,j,k->", x, x, w, w) / len(y) + np.var(x @ w, ddof=1) + np.std(y)


FUNCTIONS: list[tuple[Any, Any, tuple[Any, ...], int]] = [
    (squares, W, (X, Y), 1),
    (cross_entropy, NETWORK, (X, KINDS), 1),
    (standardised, W, (X, Y), 3),
    (log_sum_exp, W, (X, Y), 3),
    (embedded, RANDOM.normal(size=(3, 4)), (KINDS, Y), 1),
    (by_number, W, (X, Y), 1),
    (clipped, W, (X, Y), 1),
    (with_ones, W, (X, Y), 1),
    (quadratic, W, (X, Y), 3),
]


def same_bits(one: Any, other: Any) -> None:
    for x, y in zip(pytrees.leaves(one), pytrees.leaves(other), strict=True):
        np.testing.assert_array_equal(x, y)


def close(found: Any, expected: Any) -> None:
    pairs = zip(pytrees.leaves(found), pytrees.leaves(expected), strict=True)
    for x, y in pairs:
        assert np.asarray(x).dtype == np.asarray(y).dtype
        np.testing.assert_allclose(x, y, rtol=1e-11, atol=1e-13)
