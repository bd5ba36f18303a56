"""Entries under a mask that differs from example to example, inside `vmap`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ad

X = np.random.default_rng(3).normal(size=(4, 5))
X[0] = [0.4, -0.3, 1.2, 0.7, -2.0]


def _in_place(x):
    y, m = x.copy(), x > 0
    y[m] *= 2
    return np.sum(y**2)


def _each_half(x):
    y = x * 1.0
    y[y < 0] = np.exp(y[y < 0]) - 1
    y[~(x < 0)] = np.sqrt(y[~(x < 0)])
    return y @ x


def _into_zeros(x):
    y, m = np.zeros(5), x > 0.3
    y[m] = np.sin(x[m]) + x[m] ** 2 / 3
    y[~m] = 0.5
    y[m] -= x[0] * x[m]
    return y @ x


def _softplus(x):
    out, negative = np.empty(5), x < 0
    out[negative] = np.log1p(np.exp(x[negative]))
    out[~negative] = x[~negative] + np.log1p(np.exp(-x[~negative]))
    return np.sum(out)


def _numbers_of(x):
    s = x[x > 0]
    return s.sum() / s.size + np.dot(s, s) + (s @ (2 * s)) / s.shape[0] + (s**2).mean()


def _narrowed(x):
    s = x[x > 0]
    s = s[s < 1]
    s *= 3
    return np.sum(np.clip(s, 0.0, 2.5)) + np.sum(np.where(s > 0.5, s * 2, 3.0))


def _matrix(x):
    a = np.stack([x, 2 * x])
    m = np.stack([x > 0, x < 1])
    return np.sum(a[m] ** 2)


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "in place": _in_place,
    "each half": _each_half,
    "into zeros": _into_zeros,
    "softplus": _softplus,
    "how many": _numbers_of,
    "narrowed": _narrowed,
    "a matrix": _matrix,
    "sum": lambda x: np.sum(x[x > 0]),
    "logarithms": lambda x: np.mean(np.log(x[x > 0])),
    "extremes": lambda x: np.max(x[x > -1] ** 2) + x[x > -1].min(),
    "variance": lambda x: np.var(x[x > -2.5]) + np.std(x[x > -2.5]),
    "another array": lambda x: np.sum((2 * x)[x > 0] * x[x > 0] / x[0]),
    "of none": lambda x: np.sum(x[x > 9]) + np.sum(x[x > 9] ** 2) * x[0],
    "truths": lambda x: np.any(x[x > 0] > 1) * x[0] + np.count_nonzero(x[x > 0]) * x[1],
}
WAYS = {"value": lambda f: f, "gradient": ad.grad, "hessian": ad.hessian}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_example_is_what_it_is_alone(name: str, way: str) -> None:
    one = WAYS[way](PROGRAMS[name])
    expected = np.stack([one(x) for x in X])
    with np.errstate(all="raise", under="ignore"):  # nothing is computed of the other entries
        np.testing.assert_allclose(ad.vmap(one)(X), expected, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(ad.jit(ad.vmap(one))(X), expected, rtol=1e-12, atol=1e-14)
    nested = ad.vmap(lambda x: ad.vmap(one)(x))(X[:, None])[:, 0]
    np.testing.assert_allclose(nested, expected, rtol=1e-12, atol=1e-14)


def test_the_largest_of_none_is_no_number() -> None:
    assert np.isnan(ad.vmap(lambda x: np.max(x[x > 9]))(X)).all()


def test_a_mask_that_all_examples_share_selects_an_array() -> None:
    mask = np.array([True, False, True, False, True])
    assert ad.vmap(lambda x: x[mask][::-1])(X).shape == (4, 3)


@pytest.mark.parametrize(
    ("function", "what"),
    [
        (lambda x: np.concatenate([x[x > 0], x]), "concatenate"),
        (lambda x: len(x[x > 0]), "its length"),
        (lambda x: x[x > 0][0], "an entry"),
        (lambda x: x[x > 0] * x[x < 0], "under another mask"),
        (lambda x: x[x > 0] + x, "an array"),
        (lambda x: [v for v in x[x > 0]], "one by one"),
        (lambda x: np.sort(x[x > 0]), "sort"),
        (lambda x: np.cumsum(x[x > 0]), "cumsum"),
        (lambda x: np.sum(x[x > 0], keepdims=True), "keepdims"),
        (lambda x: x[x > 0].tolist(), "tolist"),
        (lambda x: np.add.accumulate(x[x > 0]), "add"),
        (lambda x: np.add.outer(x[x > 0], x[x > 0]), "add"),
        (lambda x: 1.0 if x[x > 0] else 2.0, "its truth"),
    ],
)
def test_what_wants_to_know_how_many_there_are(function: Callable[..., Any], what: str) -> None:
    with pytest.raises(ad.errors.ValueNeededError, match=what):
        ad.vmap(function)(X)


def test_it_cannot_be_written_elsewhere() -> None:
    def shifted(x):
        y = np.zeros(5)
        y[x < 0] = x[x > 0]
        return y

    with pytest.raises(ad.errors.ValueNeededError, match="under another mask"):
        ad.vmap(shifted)(X)


def test_it_is_no_result() -> None:
    with pytest.raises(ad.errors.ArgumentTypeError):
        ad.vmap(lambda x: x[x > 0])(X)
