"""Rows that a function has from outside: products with Hessians and Jacobians, maps, batches."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import scipy.optimize

import adjoint as ad
from adjoint.base.errors import ArgumentError, NotDifferentiableError, RowsError, ValueNeededError
from tests.calculus.rows.functions import FUNCTIONS, KINDS, W, X, Y, close, log_sum_exp, squares

x, y = ad.rows(X, chunk=137), ad.rows(Y, chunk=137)
U = W + 1.0


def residuals(w: Any) -> Any:
    return np.tanh(x @ w) - y


def residuals_in_memory(w: Any) -> Any:
    return np.tanh(X @ w) - Y


@pytest.mark.parametrize(
    ("function", "weights", "data"),
    [row[:3] for row in FUNCTIONS],
    ids=[row[0].__name__ for row in FUNCTIONS],
)
def test_all_derivatives_of_scalars(function: Any, weights: Any, data: Any) -> None:
    given = [ad.rows(array, chunk=137) for array in data]

    def over_rows(w: Any) -> Any:
        return function(w, *given)

    def in_memory(w: Any) -> Any:
        return function(w, *data)

    for f, g in ((over_rows, in_memory), (ad.jit(over_rows), ad.jit(in_memory))):
        close(ad.value_and_grad(f)(weights), ad.value_and_grad(g)(weights))
        close(ad.hvp(f, weights, weights), ad.hvp(g, weights, weights))
        close(ad.jvp(f, (weights,), (weights,)), ad.jvp(g, (weights,), (weights,)))
    value, pullback = ad.vjp(over_rows, weights)
    close((value, pullback(2.0)), (in_memory(weights), ad.vjp(in_memory, weights)[1](2.0)))


def test_maps_of_residuals() -> None:
    value, D = ad.linearize(residuals, W)
    expected, in_memory = ad.linearize(residuals_in_memory, W)
    close((value, D(U), D.H(Y)), (expected, in_memory(U), in_memory.H(Y)))
    close(D.matrix(), ad.jacobian(residuals_in_memory)(W))
    close(ad.jacobian(residuals)(W), D.matrix())
    close((D.H @ D)(U), (in_memory.H @ in_memory)(U))
    weighted, _, aux = ad.linearize(lambda w: (residuals(w), w[0]), W, has_aux=True)
    close((weighted, aux), (expected, W[0]))


def test_maps_can_be_pickled_with_rows_of_files(tmp_path: Any) -> None:
    np.save(tmp_path / "x.npy", X)
    D = ad.derivative(FileFit(ad.rows(tmp_path / "x.npy", chunk=100)), W)
    again = pickle.loads(pickle.dumps(D))
    close((again(U), again.H(Y)), (D(U), D.H(Y)))


class FileFit:
    def __init__(self, x: Any) -> None:
        self.x = x

    def __call__(self, w: Any) -> Any:
        return np.tanh(self.x @ w)


def test_products_of_gauss_and_newton_in_one_pass() -> None:
    def product(w: Any, u: Any) -> Any:
        D = ad.derivative(residuals, w)
        return D.H(D(u))

    told: list[int] = []
    with ad.config(progress=lambda done, total: told.append(total)):
        found = ad.jit(product)(W, U)
    assert set(told) == {8}  # chunks, of one pass
    D = ad.derivative(residuals_in_memory, W)
    close(found, D.H(D(U)))


def test_optimisers_take_functions_of_rows() -> None:
    def over_rows(w: Any) -> Any:
        return squares(w, x, y)

    expected = np.linalg.lstsq(X, Y, rcond=None)[0]
    found = scipy.optimize.minimize(ad.value_and_grad(over_rows), W, jac=True, tol=1e-10).x
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    descent = ad.optimize.descend(over_rows, W, max_iterations=5)
    close(descent.x, ad.optimize.descend(squares, W, args=(X, Y), max_iterations=5).x)
    newton = ad.optimize.minimize(over_rows, W, method="newton-cg")
    np.testing.assert_allclose(newton.x, expected, atol=1e-6)


def test_whatever_is_done_with_an_array() -> None:
    kinds = ad.rows(KINDS, chunk=137)

    def sums(w: Any) -> Any:
        out = np.zeros((len(y), 3))
        out[:, 0] = y
        out[:, 1] += x @ w
        out[:, 2] = (-x).T[0] * 2 + abs(y) * w[1]
        positive = np.where(x > 0, x, 1.0 / x.shape[0])
        return np.sum(out, axis=0), w @ x.T @ x, np.sum(positive @ w), y[:, None].sum() * w[0]

    def in_memory(w: Any) -> Any:
        out = np.stack([Y + 0 * w[0], X @ w, -X.T[0] * 2 + abs(Y) * w[1]], axis=1)
        positive = np.where(X > 0, X, 1.0 / 1000)
        return np.sum(out, axis=0), w @ X.T @ X, np.sum(positive @ w), Y.sum() * w[0]

    close(ad.jit(sums)(W), in_memory(W))
    close(ad.jacobian(sums)(W), ad.jacobian(in_memory)(W))
    counted = ad.grad(lambda w: np.sum(w[kinds] ** 2))(W)
    close(counted, 2 * W * np.bincount(KINDS, minlength=13))


def test_rows_of_another_closure_are_other_rows() -> None:
    for shift in range(3):
        moved = ad.rows(X + shift, chunk=300)
        for f in (ad.grad, ad.jit):
            over_rows = f(lambda w, moved=moved: np.sum(np.sin(moved @ w)))
            in_memory = f(lambda w, shift=shift: np.sum(np.sin((X + shift) @ w)))
            close(over_rows(W), in_memory(W))


def test_batches_of_rows_and_in_chunks() -> None:
    def one(w: Any, row: Any) -> Any:
        return np.sin(row @ w)

    expected = np.sin(X @ W)
    close(ad.vmap(one, in_axes=(None, 0))(W, x), expected)
    close(ad.vmap(one, in_axes=(None, 0), chunk=64)(W, X), expected)
    close(ad.vmap(one, in_axes=(None, 0), chunk=64)(W, x), expected)
    gradients = ad.vmap(ad.grad(one), in_axes=(None, 0), chunk=64)(W, X)
    close(gradients, np.cos(X @ W)[:, None] * X)
    tree = ad.vmap(lambda d: {"a": d["x"] @ W * d["y"]}, chunk=64)({"x": X, "y": Y})
    close(tree, {"a": X @ W * Y})
    slope = ad.grad(lambda w: np.sum(ad.vmap(one, in_axes=(None, 0), chunk=64)(w, X)))
    close(slope(W), X.T @ np.cos(X @ W))
    with pytest.raises(ArgumentError, match="moveaxis"):
        ad.vmap(one, in_axes=(None, 1), chunk=64)(W, X.T)
    with pytest.raises(RowsError, match="along another axis than the first"):
        ad.vmap(lambda row: row * W, out_axes=1, chunk=64)(X)


def test_what_is_refused() -> None:
    with pytest.raises(NotDifferentiableError, match="Leave them to the closure"):
        ad.vjp(squares, W, x, y)
    with pytest.raises(ValueNeededError, match="follows from rows"):
        ad.grad(lambda w: np.sum(x @ w) if x[0, 0] > 0 else w @ w)(W)
    with pytest.raises(RowsError, match="argsort") as raised:
        ad.hvp(lambda w: np.sum(np.sort(x @ w) ** 2), W, U)
    assert any("test_closures.py" in note for note in raised.value.__notes__)
    with pytest.raises(ArgumentError, match="999 and 1000"):
        ad.grad(lambda w: squares(w, x, ad_short))(W)


ad_short = ad.rows(Y[:999])


@pytest.mark.parametrize(
    "transform",
    [
        ad.grad,
        lambda f: ad.jit(ad.grad(f)),
        lambda f: lambda w: ad.hvp(f, w, w),
        lambda f: lambda w: ad.linearize(f, w)[1](w),
    ],
)
def test_rows_that_are_made_inside(transform: Any) -> None:
    for inside in (
        lambda w: squares(w, ad.rows(X), ad.rows(Y)),
        lambda w: squares(w, ad.rows(X), y),
        lambda w: squares(w, x, ad.rows(Y)),
    ):
        with pytest.raises(RowsError, match="makes rows each time it runs"):
            transform(inside)(W)
    made: list[Any] = []

    def once(w: Any) -> Any:
        if not made:
            made.append(ad.rows(X, chunk=137))
        return squares(w, made[0], y)

    close(transform(once)(W), transform(lambda w: squares(w, X, Y))(W))


def test_log_sum_exp_of_global_rows_twice() -> None:
    for _ in range(2):
        close(
            ad.grad(lambda w: log_sum_exp(w, x, y))(W),
            ad.grad(log_sum_exp)(W, X, Y),
        )
