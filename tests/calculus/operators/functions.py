"""Functions whose operators are known from their Hessians, as tests of operators share them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import adjoint as ad

RANDOM = np.random.default_rng(7)
WEIGHTS = [RANDOM.normal(size=shape) / 2 for shape in ((4, 6), (6, 5), (6, 6), (5,))]
TABLE = np.arange(12) % 4


def network(x: Any) -> Any:
    return np.sum(np.tanh(np.sin(x @ WEIGHTS[0]) @ WEIGHTS[1]) @ WEIGHTS[3])


def by_pairs(x: Any) -> Any:
    gaps = x[:, None] - x[None, :]
    return np.sum(np.exp(-(gaps**2)) * np.cos(x)[:, None])


def attention(x: Any) -> Any:
    scores = (x @ x.T) / 2
    weights = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
    return np.sum(np.tanh(weights / np.sum(weights, axis=-1, keepdims=True) @ x) ** 2)


def rational(x: Any) -> Any:
    return np.prod(x) / (1 + np.sum(x**2)) + np.hypot(x[0], x[1]) ** x[2] + np.arctan2(x[1], x[3])


def matrices(x: Any) -> Any:
    square = x @ x.T + 3 * np.eye(len(x))
    return np.linalg.slogdet(square)[1] + np.sum(np.linalg.solve(square, x)) + np.sum(square[::-1])


def looped(x: Any) -> Any:
    def body(carry: Any, row: Any) -> Any:
        return np.tanh(WEIGHTS[2][:4, :4] @ carry * row), np.sum(carry**2)

    last, rows = ad.scan(body, x, np.linspace(1, 2, 5))
    return np.sum(last) + np.sum(rows)


def branched(x: Any) -> Any:
    return ad.cond(np.sum(x) > 0, lambda x: np.sum(np.exp(x)), lambda x: np.sum(x**3), x)


def whiled(x: Any) -> Any:
    return np.sum(ad.while_loop(lambda y: np.sum(y**2) < 50, lambda y: y * (1 + y**2), x))


def shuffled(x: Any) -> Any:
    parts = np.concatenate([x[::2], np.sort(x)[1:], x[TABLE]])
    return np.sum(np.cumsum(parts) ** 2 * np.roll(parts, 1)) + np.linalg.norm(x) + np.max(x) ** 3


def by_particle(x: Any) -> Any:
    hidden = np.tanh(x @ WEIGHTS[0])
    pooled = np.mean(hidden, axis=0, keepdims=True)
    both = np.concatenate([hidden, hidden * pooled, np.broadcast_to(pooled, hidden.shape)], axis=-1)
    stacked = np.stack([both[:, ::2], both[:, 1::2]])
    return np.sum(np.log1p(np.sum(stacked**2, axis=(0, 2))) * x[:, 1])


@ad.primitive
def times_cosine(x: Any, w: Any) -> Any:
    return np.cos(x) * w


@times_cosine.vjp
def _(x: Any, w: Any) -> Any:
    return times_cosine(x, w), lambda v: (-np.sin(x) * w * v, times_cosine(x, v))


@ad.primitive
def reversed_only(x: Any) -> Any:
    """The sine, with a rule that cannot be transposed: capture does not enter what it calls."""
    return np.sin(x)


@reversed_only.vjp
def _(x: Any) -> Any:
    return reversed_only(x), lambda w: times_cosine(x, w)


LINE = RANDOM.normal(size=4) + 0.1
SQUARE = RANDOM.normal(size=(3, 4))

FUNCTIONS: list[tuple[Callable[..., Any], Any]] = [
    (network, LINE),
    (network, SQUARE),
    (by_pairs, LINE),
    (attention, SQUARE),
    (rational, np.abs(LINE)),
    (matrices, SQUARE),
    (looped, LINE),
    (branched, LINE),
    (branched, -np.abs(LINE)),
    (whiled, LINE),
    (shuffled, LINE),
    (by_particle, SQUARE),
]


def flat_hessian(function: Any, x: Any) -> Any:
    """The Hessian as a matrix."""
    return np.reshape(ad.hessian(function)(x), (x.size, x.size))
