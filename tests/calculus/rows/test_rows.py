"""Derivatives over rows that are read some at a time: as in memory, and in little of it."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.base import pytrees
from adjoint.base.errors import ArgumentError, ArgumentTypeError, RowsError, ValueNeededError
from adjoint.calculus.rows import passes

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


def close(found: Any, expected: Any) -> None:
    pairs = zip(pytrees.leaves(found), pytrees.leaves(expected), strict=True)
    for x, y in pairs:
        assert np.asarray(x).dtype == np.asarray(y).dtype
        np.testing.assert_allclose(x, y, rtol=1e-11, atol=1e-13)


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
        lambda rows: ad.grad(lambda w: squares(w, rows, Y))(W),
        lambda rows: ad.jit(lambda w: squares(w, rows, Y))(W),
        lambda rows: ad.grad(lambda w: ad.grad(squares)(w, rows, Y)[0])(W),
    ],
)
def test_rows_are_no_array(misuse: Any) -> None:
    with pytest.raises(ad.errors.AdjointError, match=r"rows are read some at a time|Rows"):
        misuse(ad.rows(X))


# --- sources --------------------------------------------------------------------------------------


def test_files_lists_and_whatever_is_sliced(tmp_path: Path) -> None:
    class Sliced:
        shape, dtype = Y.shape, Y.dtype

        def __getitem__(self, index: Any) -> Any:
            return Y[index].tolist()

    np.save(tmp_path / "x.npy", X)
    expected = ad.grad(squares)(W, X, Y)
    for x in (str(tmp_path / "x.npy"), tmp_path / "x.npy", [X[:10], X[10:11], X[11:]]):
        for y in (Sliced(), [Y[:999], Y[999:]]):
            given = ad.rows(x, chunk=64), ad.rows(y, chunk=50)
            close(ad.grad(squares)(W, *given), expected)
    assert repr(given[0]) == "Rows(1000x13 float64, 64 at a time)"
    assert len(given[0]) == COUNT


@pytest.mark.parametrize(
    ("source", "chunk", "error", "text"),
    [
        (3.0, None, ArgumentTypeError, "got float"),
        (X, 0, ArgumentError, "1 or more"),
        (X, "2", ArgumentTypeError, "number of rows"),
        (X[:0], None, ArgumentError, "no rows"),
        ([], None, ArgumentError, "at least one axis"),
        ([X, X[:, :2]], None, ArgumentError, "part 1 has rows of shape"),
        (np.array(1.0), None, ArgumentError, "at least one axis"),
    ],
)
def test_sources_that_are_none(source: Any, chunk: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        ad.rows(source, chunk)


def test_rows_of_different_numbers() -> None:
    with pytest.raises(ArgumentError, match="999 and 1000"):
        ad.grad(squares)(W, ad.rows(X), ad.rows(Y[:999]))


def test_a_source_that_changes_its_shape() -> None:
    class Shrunk:
        shape, dtype = (COUNT, 13), X.dtype

        def __getitem__(self, index: Any) -> Any:
            return X[index][:, :5]

    with pytest.raises(ArgumentError, match="the source has changed"):
        ad.grad(squares)(W, ad.rows(Shrunk(), chunk=10), ad.rows(Y))


def test_many_rows_take_the_memory_of_a_few_chunks(tmp_path: Path) -> None:
    shape, chunk = (200_000, 16), 10_000  # 24 MiB, and 1.2
    stored = np.lib.format.open_memmap(tmp_path / "x.npy", mode="w+", dtype=float, shape=shape)
    stored[:] = RANDOM.normal(size=16)
    stored.flush()

    def loss(w: Any, x: Any) -> Any:
        hidden = np.tanh(x * w)
        return np.mean(np.log(np.sum(np.exp(hidden), axis=1)) * hidden[:, 0])

    given = ad.rows(tmp_path / "x.npy", chunk=chunk)
    for _ in range(2):  # the second is compiled
        tracemalloc.start()
        found = ad.grad(loss)(np.ones(16), given)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert most < 3 * 8 * 16 * chunk
    close(found, ad.grad(loss)(np.ones(16), np.array(stored)))
