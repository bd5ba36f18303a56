"""vmap: a function of one example as a function of a batch."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import adjoint as ad

RNG = np.random.default_rng(6)
A = RNG.normal(size=(3, 4))
BATCH = RNG.normal(size=(5, 4))
W = RNG.normal(size=4)


def f(x):
    return np.tanh(A @ x)


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize(
    "function",
    [
        f,
        np.sum,
        lambda x: x[1:] * x[:-1],
        lambda x: np.where(x > 0, x, -x),
        lambda x: np.outer(x, x),
        lambda x: x @ W,
        lambda x: np.concatenate([x, W])[::2],
        lambda x: np.max(x) - np.argmax(x),
        lambda x: np.einsum("i,ji->j", x, A),
        lambda x: np.cumsum(x.reshape(2, 2), axis=0).T,
    ],
)
def test_same_as_a_loop(function):
    close(ad.vmap(function)(BATCH), np.stack([function(x) for x in BATCH]))


def test_filling_an_array_in_a_loop():
    def filled(x):
        out = np.zeros(6)
        for place in range(4):
            out[place + 1] = x[place] ** 2
        return out

    close(ad.vmap(filled)(BATCH), np.stack([filled(x) for x in BATCH]))


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
def test_in_axes_of_an_argument(axis):
    x = RNG.normal(size=(2, 3, 4))
    expected = np.stack([np.sin(part).sum(0) for part in np.moveaxis(x, axis, 0)])
    close(ad.vmap(lambda part: np.sin(part).sum(0), in_axes=axis)(x), expected)
    close(ad.vmap(lambda part: np.sin(part).sum(0), in_axes=(axis,))(x), expected)


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
def test_out_axes(axis):
    found = ad.vmap(lambda x: np.outer(x, [1.0, 2.0]), out_axes=axis)(BATCH)
    close(found, np.moveaxis(BATCH[:, :, None] * [1.0, 2.0], 0, axis))


def test_arguments_that_all_examples_share():
    def function(x, w, power, how):
        return np.sum(w * x**power) if how == "sum" else x[0]

    found = ad.vmap(function, in_axes=(0, None, None, None))(BATCH, W, 2, "sum")
    close(found, BATCH**2 @ W)
    assert ad.vmap(function, (0, None, None, None))(BATCH, W, 2, "first").tolist() == list(
        BATCH[:, 0]
    )


def test_what_is_shared_may_decide_a_branch():
    found = ad.vmap(lambda x, n: x * 2 if n > 3 else x, in_axes=(0, None))(BATCH, 4)
    close(found, 2 * BATCH)


def test_keyword_arguments_are_shared():
    close(ad.vmap(lambda x, *, w: x @ w)(BATCH, w=W), BATCH @ W)


@dataclass
class Model:
    w: Any
    b: Any


def test_containers_with_axes_of_their_own():
    tree = {"x": BATCH, "m": Model(W, np.arange(5.0))}
    found = ad.vmap(
        lambda t: {"y": t["x"] @ t["m"].w + t["m"].b, "b": (t["m"].b,)},
        in_axes=({"x": 0, "m": Model(None, 0)},),
    )(tree)
    close(found["y"], BATCH @ W + np.arange(5.0))
    close(found["b"][0], np.arange(5.0))


def test_results_that_do_not_vary_are_repeated():
    found = ad.vmap(lambda x: (x, W, 3.0))(BATCH)
    close(found[1], np.tile(W, (5, 1)))
    close(found[2], np.full(5, 3.0))
    found[1][0, 0] = 7  # rows of their own
    assert found[1][1, 0] == W[0]


@pytest.mark.parametrize("shape", [(0,), (0, 4), (3, 0)])
def test_empty_batches_and_examples(shape):
    assert ad.vmap(lambda x: np.sin(x) * 2)(np.zeros(shape)).shape == shape


# --- with the other transformations ---------------------------------------------------------------


def test_of_a_gradient():
    close(ad.vmap(ad.grad(lambda x: np.sum(f(x))))(BATCH), (1 - f(BATCH.T).T ** 2) @ A)


def test_of_a_value_and_gradient_with_aux():
    (value, aux), gradient = ad.vmap(
        ad.value_and_grad(lambda x: (np.sum(x**2), {"x": x}), has_aux=True)
    )(BATCH)
    close(value, np.sum(BATCH**2, axis=1))
    close(aux["x"], BATCH)
    close(gradient, 2 * BATCH)


def test_inside_a_gradient():
    gradient = ad.grad(lambda w: np.sum(ad.vmap(lambda x: np.sin(x @ w))(BATCH)))(W)
    close(gradient, np.cos(BATCH @ W) @ BATCH)


@pytest.mark.parametrize("mode", list(ad.Mode))
def test_of_a_jacobian_and_a_hessian(mode):
    close(ad.vmap(ad.jacobian(f, mode=mode))(BATCH)[2], ad.jacobian(f)(BATCH[2]))
    hessian = ad.vmap(ad.hessian(lambda x: np.sum(f(x))))(BATCH)
    close(hessian[3], ad.hessian(lambda x: np.sum(f(x)))(BATCH[3]))


def test_of_vmap():
    outer = ad.vmap(ad.vmap(lambda a, b: a * b, in_axes=(None, 0)), in_axes=(0, None))
    close(outer(W, np.arange(3.0)), np.outer(W, np.arange(3.0)))


def test_of_a_pullback_and_of_a_linear_map():
    _, pullback = ad.vjp(f, W)
    close(ad.vmap(pullback)(np.eye(3))[0], ad.jacobian(f)(W))
    _, linear = ad.linearize(f, W)
    close(ad.vmap(linear)(np.eye(4)).T, ad.jacobian(f)(W))


def test_with_jit():
    close(ad.vmap(ad.jit(f))(BATCH), ad.jit(ad.vmap(f))(BATCH))


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x if x > 0 else -x,
        lambda x: np.ones(3)[int(x)],
        lambda x: np.zeros(4)[: round(x)],
    ],
)
def test_values_cannot_be_asked_for(function):
    with pytest.raises(ad.errors.ValueNeededError, match=r"np\.where") as caught:
        ad.vmap(function)(np.array([1.0, -1.0]))
    assert any("test_vmap.py" in note for note in caught.value.__notes__)


@pytest.mark.parametrize(
    ("axes", "args", "error", "message"),
    [
        (0, (BATCH, W), ad.errors.ShapeError, r"different lengths: \[4, 5\]"),
        (2, (BATCH,), ad.errors.ArgumentError, "axis 2 of an argument with 2 axes"),
        (0, (3.0,), ad.errors.ArgumentError, "axis 0 of an argument with 0 axes; pass None"),
        (None, (BATCH,), ad.errors.ArgumentError, "at least one argument with a batch axis"),
        ((0, 0), (BATCH,), ad.errors.ArgumentError, "2 entries, .* called with 1 arguments"),
        (({"a": 0},), ({"a": W, "b": W},), ad.errors.ArgumentError, "does not fit the structure"),
        (0, ("text",), ad.errors.ArgumentTypeError, "takes arrays, got a str; in_axes=None"),
    ],
)
def test_wrong_axes(axes, args, error, message):
    with pytest.raises(error, match=message):
        ad.vmap(lambda *args: 1.0, in_axes=axes)(*args)


def test_wrong_out_axes():
    with pytest.raises(ad.errors.ArgumentError, match=r"out_axes names axis 2 .* has 2 axes"):
        ad.vmap(lambda x: x, out_axes=2)(BATCH)
    with pytest.raises(ad.errors.ArgumentTypeError, match="out_axes must be an integer"):
        ad.vmap(lambda x: x, out_axes=(0,))


@pytest.mark.parametrize("name", ["exp", "sqrt", "log", "lgamma"])
def test_pythons_functions_that_may_fail_are_batched_at_every_call(name: str) -> None:
    """They ask nothing of the examples, however often the function comes by."""
    ours = getattr(math, name)
    x = np.array([0.5, 1.5])
    value, slope = ad.vmap(lambda v: ours(v)), ad.vmap(ad.grad(lambda v: 2.0 * ours(v)))
    expected = 2 * np.array([ad.grad(lambda v: ours(v))(entry) for entry in x])
    for function in (value, ad.jit(value)):
        for _ in range(5):
            np.testing.assert_allclose(function(x), [ours(entry) for entry in x])
    for function in (slope, ad.jit(slope)):
        for _ in range(5):
            np.testing.assert_allclose(function(x), expected)


FAILING: dict[str, tuple[Callable[[Any], Any], type[Exception], float]] = {
    "exp": (lambda x: math.exp(x), OverflowError, 1000.0),
    "sqrt": (lambda x: math.sqrt(x), ValueError, -1.0),
    "quotient": (lambda x: 1 / float(x), ZeroDivisionError, 0.0),
    "floor of a quotient": (lambda x: x + 1 // float(x), ZeroDivisionError, 0.0),
    "power": (lambda x: float(x) ** -1, ZeroDivisionError, 0.0),
    "logarithm": (lambda x: math.log(x, 2), ValueError, 0.0),
}


@pytest.mark.parametrize("name", FAILING)
def test_an_error_of_one_example_says_nothing_of_the_others(name: str) -> None:
    attempt, kind, bad = FAILING[name]

    def function(x: Any) -> Any:
        try:
            return attempt(x)
        except kind:
            return -x

    for way in (ad.vmap(function), ad.jit(ad.vmap(function)), ad.vmap(ad.grad(function))):
        with pytest.raises(ad.errors.ValueNeededError):
            way(np.array([bad, 1.0]))
