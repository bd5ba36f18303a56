"""Loops over rows: of the user's own, of ad.scan, within one another, and their derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import RowsError
from adjoint.calculus.rows import passes
from tests.calculus.rows.functions import RANDOM, W, X, Y, close, squares


def growth(w: Any, x: Any, y: Any) -> Any:
    s = np.ones(len(y))
    for _ in range(50):
        s = s + np.tanh(x @ w) * s * 0.01
    return np.sum(s)


def weights_within(w: Any, x: Any, y: Any) -> Any:
    s = np.zeros(len(y))
    for _ in range(40):
        s = np.tanh(x @ w * 0.1 + s * w[0]) - y * 0.01
    return np.mean(s**2)


def recurrent(w: Any, x: Any, y: Any) -> Any:
    v, u = w[:2], w[2:4]

    def step(h: Any, t: Any) -> Any:
        h = np.tanh(h * v[0] + t * v[1])
        return h, h

    h, hs = ad.scan(step, np.zeros(len(y)), x.T)
    return np.sum((h * u[0] - y) ** 2) + np.sum(hs) + np.sum(np.max(hs, axis=1))


def roots(w: Any, x: Any, y: Any) -> Any:
    mean, s = np.mean(x @ w), y
    for _ in range(30):
        s = s - (s**3 + s - mean * y) / (3 * s**2 + 1)
    return np.sum(s * (x @ w))


def epochs(w: Any, x: Any, y: Any) -> Any:
    for _ in range(5):  # passes
        w = w - 0.01 * x.T @ (x @ w - y) / len(y)
    return np.sum(w**2)


def layers(w: Any, x: Any, y: Any) -> Any:
    matrix, h = np.outer(w[:3], w[3:6]), x[:, :3]
    for _ in range(20):
        h = np.tanh(h @ matrix * 0.1 + x[:, 1:4])
    return np.sum(h) / len(y)


def nested(w: Any, x: Any, y: Any) -> Any:
    def body(_: Any, h: Any) -> Any:
        def inner(_: Any, g: Any) -> Any:
            return np.tanh(g * w[1] + x @ w * 0.1)

        return ad.fori_loop(0, 4, inner, h) * w[2]

    return np.mean(ad.fori_loop(0, 3, body, y))


def sums_of_rounds(w: Any, x: Any, y: Any) -> Any:
    def step(carry: Any, k: Any) -> Any:
        total, scale, count = carry
        return (total + np.sum(np.sin(x @ w * k)), scale * w[0], count + 1.0), np.sum(y * k)

    (total, scale, count), each = ad.scan(step, (0.0, 1.0, 0.0), np.arange(1.0, 6.0))
    return total * scale + count + np.sum(each**2)


def kept_apart(w: Any, x: Any, y: Any) -> Any:
    return ad.checkpoint(lambda w: ad.checkpoint(squares)(w, x, y) + np.max(x @ w))(w)


FUNCTIONS = [
    *(growth, weights_within, recurrent, roots, epochs, layers, nested, sums_of_rounds, kept_apart)
]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
@pytest.mark.parametrize("chunk", [137, 1000])
def test_loops_and_their_derivatives(function: Any, chunk: int) -> None:
    given = ad.rows(X, chunk=chunk), ad.rows(Y, chunk=chunk)
    close(ad.value_and_grad(function)(W, *given), ad.value_and_grad(function)(W, X, Y))
    if chunk < 1000:

        def product(w: Any, x: Any, y: Any) -> Any:
            return ad.hvp(lambda w: function(w, x, y), w, w + 1)

        close(ad.jit(product)(W, *given), product(W, X, Y))


def test_gradients_of_a_loop_take_one_pass() -> None:
    ad.cache_clear()
    ad.grad(weights_within)(W, ad.rows(X, chunk=137), ad.rows(Y, chunk=137))
    (held,) = passes._held.values()
    assert {len(of_size) for of_size in held.passes.values()} == {1}


def test_sums_that_begin_at_zero_and_others() -> None:
    def function(w: Any, x: Any, start: Any) -> Any:
        return ad.fori_loop(0, 7, lambda i, c: c + np.sum(np.sin(x @ w * i)), start)

    x = ad.rows(X, chunk=300)
    for start in (0.0, np.zeros(())):
        close(
            ad.value_and_grad(lambda w, x, start=start: function(w, x, start))(W, x),
            ad.value_and_grad(function)(W, X, start),
        )
    with pytest.raises(RowsError, match="all rows in each of its rounds"):
        ad.value_and_grad(lambda w, x: function(w, x, 1.0))(W, x)


def test_as_many_rounds_as_rows() -> None:
    x, y = X[:13], Y[:13]
    given = ad.rows(x, chunk=4), ad.rows(y, chunk=4)
    for function in (weights_within, recurrent, layers):
        try:
            found = ad.grad(function)(W, *given)
        except RowsError:
            continue  # or it cannot tell
        close(found, ad.grad(function)(W, x, y))


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (lambda w, x: ad.scan(lambda c, r: (c + r @ w, None), 0.0, x)[0], "from row to row"),
        (
            lambda w, x: ad.fori_loop(0, 3, lambda i, c: c - np.mean(np.sin(x @ c)) * c, w)[0],
            "all rows in each of its rounds",
        ),
        (
            lambda w, x: ad.fori_loop(0, 3, lambda i, c: c + np.max(np.sin(x @ w * c)), 1.0),
            "all rows in each of its rounds",
        ),
        (
            lambda w, x: ad.fori_loop(0, 3, lambda i, c: c**2 + np.sum(np.sin(x @ w * i)), 0.0),
            "all rows in each of its rounds",
        ),
        (
            lambda w, x: ad.while_loop(lambda c: c[0] < 9, lambda c: c + x @ w, x[:, 0])[0],
            "by their numbers|not known",
        ),
    ],
)
def test_what_goes_from_row_to_row_is_refused(function: Any, why: str) -> None:
    with pytest.raises(ad.errors.AdjointError, match=why):
        ad.grad(function)(W, ad.rows(X, chunk=300))


def test_random_bodies_are_right_or_refused() -> None:
    """Loops that are put together at random, of sums, rows and weights."""
    steps = [
        lambda w, x, y, s, t, u: (s + t * 0, t + np.sum(s), u),
        lambda w, x, y, s, t, u: (np.tanh(s + x @ w), t * w[0], u + t),
        lambda w, x, y, s, t, u: (s * w[1], t + y @ s, u * 0.5),
        lambda w, x, y, s, t, u: (s - y, 0.3 * t + np.sum(x @ w), u - 2 * t),
        lambda w, x, y, s, t, u: (s + u, t, np.sum(s * s)),
        lambda w, x, y, s, t, u: (s, t + w[2] * np.sum(np.sin(s)), u + w[0]),
        lambda w, x, y, s, t, u: (s, u, t),
        lambda w, x, y, s, t, u: (s, t, u + np.max(s)),
    ]
    right = 0
    for _ in range(60):
        first, second = (steps[n] for n in RANDOM.integers(0, len(steps), 2))

        def function(w: Any, x: Any, y: Any, first: Any = first, second: Any = second) -> Any:
            def body(_: Any, carry: Any) -> Any:
                return second(w, x, y, *first(w, x, y, *carry))

            s, t, u = ad.fori_loop(0, 3, body, (np.zeros(len(y)), 0.0, 0.0))
            return np.sum(s) + t * 0.01 + np.cos(u)

        x, y = X[:60], Y[:60]
        try:
            found = ad.value_and_grad(function)(W, ad.rows(x, chunk=25), ad.rows(y, chunk=25))
        except RowsError:
            continue
        close(found, ad.value_and_grad(function)(W, x, y))
        right += 1
    assert right > 10
