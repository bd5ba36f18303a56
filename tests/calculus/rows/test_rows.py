"""Derivatives over rows that are read some at a time: as in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import ArgumentTypeError, RowsError, ValueNeededError
from adjoint.calculus.rows import passes
from tests.calculus.rows.functions import (
    FUNCTIONS,
    W,
    X,
    Y,
    close,
    log_sum_exp,
    squares,
    standardised,
)


@pytest.mark.parametrize(
    ("function", "weights", "data", "count"), FUNCTIONS, ids=lambda x: getattr(x, "__name__", None)
)
def test_gradients_are_those_in_memory(function: Any, weights: Any, data: Any, count: int) -> None:
    ad.cache_clear()
    given = [ad.rows(array, chunk=137) for array in data]
    close(ad.grad(function)(weights, *given), ad.grad(function)(weights, *data))
    (held,) = passes._held.values()
    assert {len(of_size) for of_size in held.passes.values()} == {count}
    close(ad.value_and_grad(function)(weights, *given), ad.value_and_grad(function)(weights, *data))
    close(ad.jit(function)(weights, *given), function(weights, *data))


def test_hessians_and_products_with_them() -> None:
    given = ad.rows(X, chunk=300), ad.rows(Y, chunk=300)
    close(ad.hessian(log_sum_exp)(W, *given), ad.hessian(log_sum_exp)(W, X, Y))

    def product(w: Any, u: Any, x: Any, y: Any) -> Any:
        return ad.hvp(lambda w: standardised(w, x, y), w, u)

    close(ad.jit(product)(W, W + 1, *given), product(W, W + 1, X, Y))


def test_results_with_rows_are_put_together() -> None:
    def predicted(w: Any, x: Any) -> Any:
        scores = np.tanh(x @ w)
        return scores - np.mean(scores), np.sum(scores)

    close(ad.jit(predicted)(W, ad.rows(X, chunk=90)), predicted(W, X))
    slope = ad.grad(lambda x, w: np.mean((x @ w) ** 2))
    close(slope(ad.rows(X, chunk=90), W), slope(X, W))


@pytest.mark.parametrize("chunk", [1, 2, 3, 7])
def test_the_largest_row_is_found_again_in_a_later_pass(chunk: int) -> None:
    def relative(w: Any, x: Any) -> Any:
        rows = x * w + np.arange(len(x))[:, None] / len(x) * 1.5
        rows = rows / (1 + np.abs(rows).max(0))
        return np.mean(rows**2) + np.linalg.norm(x * w)

    for count in (17, 40, 41):
        x, w = X[:count, :4], W[:4]
        close(ad.grad(relative)(w, ad.rows(x, chunk=chunk)), ad.grad(relative)(w, x))


def test_arrays_that_are_filled_by_columns() -> None:
    def filled(w: Any, x: Any) -> Any:
        rows, out = x * w, np.zeros((len(x), 4))
        out[:, 0] = rows[:, 1]
        out[:, 1:3] += rows[:, :2] * 2
        out[:, 3] = 0.5
        return np.mean(out**2)

    given = ad.rows(X[:, :4], chunk=300)
    close(ad.grad(filled)(W[:4], given), ad.grad(filled)(W[:4], X[:, :4]))


@pytest.mark.parametrize("chunk", [1, 7, 999, 1000, 5000])
def test_any_chunk_will_do(chunk: int) -> None:
    few = X[:40], Y[:40]
    given = [ad.rows(array, chunk=chunk) for array in few]
    close(ad.grad(log_sum_exp)(W, *given), ad.grad(log_sum_exp)(W, *few))


def test_the_same_bits_each_time() -> None:
    given = ad.rows(X, chunk=64), ad.rows(Y, chunk=64)
    first = ad.grad(log_sum_exp)(W, *given)
    for _ in range(3):
        np.testing.assert_array_equal(ad.grad(log_sum_exp)(W, *given), first)


def test_other_data_and_weights_at_each_call() -> None:
    slope = ad.grad(squares)
    for shift in range(4):
        x, w = X + shift, W * (1 + shift)
        close(slope(w, ad.rows(x, chunk=300), ad.rows(Y, chunk=300)), slope(w, x, Y))


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (lambda w, x, y: np.sum(np.sort(x @ w) * y), "argsort"),
        (lambda w, x, y: np.sum((x @ x.T) @ y) * w[0], "each row by all others"),
        (lambda w, x, y: np.sum(np.diff(x @ w) ** 2), "some rows out by their numbers"),
        (lambda w, x, y: np.sum(np.cumsum(x @ w) ** 2), "cumulative_sum"),
        (lambda w, x, y: np.sum((x @ w)[::-1] * y), "rows by their numbers"),
        (lambda w, x, y: np.sum((x @ w)[y.astype(int)]), "by their numbers"),
        (lambda w, x, y: np.sum((x @ w).reshape(2, -1).max(0)), "joins the axis"),
    ],
)
def test_what_needs_all_rows_is_refused_with_the_line(function: Any, why: str) -> None:
    with pytest.raises(RowsError, match=why) as raised:
        ad.grad(function)(W, ad.rows(X, chunk=300), ad.rows(Y, chunk=300))
    assert any("test_rows.py" in note for note in raised.value.__notes__)


def test_as_many_rows_as_columns_is_right_or_refused() -> None:
    x, y = X[:13], Y[:13]
    given = ad.rows(x, chunk=4), ad.rows(y, chunk=4)
    for function in (squares, log_sum_exp, standardised):
        close(ad.grad(function)(W, *given), ad.grad(function)(W, x, y))
    weighted = np.arange(13.0)
    with pytest.raises(RowsError):
        ad.grad(lambda w, x, y: np.mean((x * weighted @ w - y) ** 2))(W, *given)
    slope = ad.grad(lambda w, x, y: np.mean((x @ w - y) ** 2 * weighted))
    close(slope(W, *given), slope(W, x, y))


@pytest.mark.parametrize("chunk", [1, 2, 8])
def test_an_array_beside_rows_that_is_as_long_is_refused(chunk: int) -> None:
    slope = ad.grad(lambda w, x, y: np.sum(w[(y > 0).astype(int)] * x))
    with pytest.raises(RowsError, match="value has as many entries as there are rows"):
        slope(W, Y[:8], ad.rows(Y[:8], chunk=chunk))
    given = ad.rows(Y[:8], chunk=chunk)
    close(slope(W, given, given), slope(W, Y[:8], Y[:8]))
    close(slope(W, Y[:1], given), slope(W, Y[:1], Y[:8]))


def test_a_single_row_is_an_array() -> None:
    for function in (squares, log_sum_exp):
        given = ad.rows(X[:1]), ad.rows(Y[:1], chunk=3)
        close(ad.grad(function)(W, *given), ad.grad(function)(W, X[:1], Y[:1]))
        close(ad.hessian(function)(W, *given), ad.hessian(function)(W, X[:1], Y[:1]))
        objective = lambda w: function(w, *given)  # noqa: B023, E731
        close(ad.hvp(objective, W, W + 1), ad.hessian(function)(W, X[:1], Y[:1]) @ (W + 1))
    predicted = ad.jit(lambda x, y: (x * y[:, None], np.sort(y)))
    close(predicted(*given), (X[:1] * Y[:1, None], Y[:1]))


def test_a_branch_on_rows_is_refused() -> None:
    with pytest.raises(ValueNeededError, match="follows from rows"):
        ad.grad(lambda w, x: np.sum(x @ w) if x[0, 0] > 0 else w @ w)(W, ad.rows(X))
    bent = ad.grad(lambda w, x: np.sum(x @ w) if w[0] > 0 else w @ w)
    for sign in (1.0, -1.0):  # of weights it can ask
        w = np.copysign(W, sign)
        close(bent(w, ad.rows(X, chunk=300)), bent(w, X))


def test_without_replay_too() -> None:
    with ad.config(replay=False):
        found = ad.grad(squares)(W, ad.rows(X, chunk=300), ad.rows(Y, chunk=300))
    close(found, ad.grad(squares)(W, X, Y))


@pytest.mark.parametrize(
    "misuse",
    [
        lambda rows: np.sum(rows),
        lambda rows: rows @ W,
        lambda rows: W * rows,
        lambda rows: squares(W, rows, Y),
        lambda rows: rows[:10],
        lambda rows: rows.mean(0),
        lambda rows: list(rows),
        lambda rows: ad.taylor(lambda w: squares(w, rows, Y), W, W, 2),
        lambda rows: ad.second_derivative(lambda w: squares(w, rows, Y), W),
    ],
)
def test_rows_are_no_array_outside_of_functions(misuse: Any) -> None:
    with pytest.raises(ArgumentTypeError, match="rows are read some at a time, and are no array"):
        misuse(ad.rows(X))
    assert not hasattr(ad.rows(X), "columns")
