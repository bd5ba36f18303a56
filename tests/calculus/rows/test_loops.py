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


def until_small(w: Any, x: Any, y: Any) -> Any:
    """Goes on while what no row has a part in is large."""

    def step(carry: Any) -> Any:
        size, s = carry
        return size * 0.5 + 1e-3 * w[0] ** 2, np.tanh(s + x @ w * size) - 0.1 * y

    _, s = ad.while_loop(lambda carry: carry[0] > 0.05, step, (1.0, y))
    return np.mean(s**2)


def until_the_mean_is_small(w: Any, x: Any, y: Any) -> Any:
    def step(carry: Any) -> Any:
        size, s, total = carry
        return size * 0.5, s * np.cos(size) + x @ w, total + np.sum(s * w[1])

    start = (1 + np.mean(y) ** 2, y, 0.0)
    _, s, total = ad.while_loop(lambda carry: carry[0] > 0.05, step, start)
    return np.mean(np.sin(s)) + total / len(y)


def chosen_by_weights(w: Any, x: Any, y: Any) -> Any:
    number = (w[0] > 0).astype(int) + (w[1] > 10)
    s = ad.switch(
        number,
        [lambda s: np.sin(s) * w[2], lambda s: np.tanh(s * w[3]), lambda s: s * 0],
        x @ w - y,
    )
    return np.mean(s**2) + ad.cond(
        w[2] > -9, lambda u: np.sum(x @ u), lambda u: np.sum(x**2 @ u), w
    )


def chosen_in_a_loop(w: Any, x: Any, y: Any) -> Any:
    def step(k: Any, s: Any) -> Any:
        return ad.cond(k % 2 == 0, lambda s: np.tanh(s + x @ w), lambda s: s * w[0] - y, s)

    return np.sum(ad.fori_loop(0, 5, step, y) ** 2)


def doubled(w: Any, s: Any) -> Any:
    return ad.while_loop(lambda c: c[0] < w[0], lambda c: (c[0] + 1, c[1] * w[1]), (w[2], s))[1]


FUNCTIONS = [
    *(until_small, until_the_mean_is_small, chosen_by_weights, chosen_in_a_loop),
    *(growth, weights_within, recurrent, roots, epochs, layers, nested, sums_of_rounds, kept_apart),
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


@pytest.mark.parametrize("chunk", [137, 500])
def test_more_rounds_than_a_tape_has_and_a_test_at_its_bound(chunk: int) -> None:
    """All chunks make as many rounds, although their programs may round a value otherwise."""

    def slow(w: Any, x: Any, y: Any) -> Any:
        def step(carry: Any) -> Any:
            size, s = carry
            return size * np.exp(-1 / 300) * np.cos(w[0] * 1e-4), s + size * np.tanh(s - x @ w) / 99

        bound = np.exp(-1.0)  # the product of 300 factors, up to rounding
        return np.sum(ad.while_loop(lambda carry: carry[0] > bound, step, (1.0, y))[1])

    given = ad.rows(X, chunk=chunk), ad.rows(Y, chunk=chunk)
    for w in (W, np.zeros(13)):
        close(ad.value_and_grad(slow)(w, *given), ad.value_and_grad(slow)(w, X, Y))


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
            "by their numbers|how many rounds",
        ),
        (
            lambda w, x: np.sum(
                ad.while_loop(lambda c: np.sum(c) < 9, lambda c: c + x @ w, x[:, 0])
            ),
            "how many rounds it makes follows from rows",
        ),
        (
            lambda w, x: np.sum(ad.fori_loop(0, 2, lambda _, u: doubled(w, u), x[:, 0])),
            "not known to keep rows apart",
        ),
        (
            lambda w, x: ad.cond(w[0] > 0, lambda w: np.sum(x @ w), lambda w: w[0], w),
            "in some of its branches only",
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
