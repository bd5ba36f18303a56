"""Random generators that are given traced arrays: entries move, and keep their derivatives."""

from __future__ import annotations

import json

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import UnsupportedFunctionError

POINT = np.arange(6.0) + 0.3
WEIGHTS = np.arange(1.0, 7.0)


def _shuffled(x):
    y = x.reshape(3, 2) * 1
    generator = np.random.default_rng(3)
    generator.shuffle(y)
    generator.shuffle(y, axis=1)
    return y.ravel()


def _shuffled_through_a_view(x):
    y = x.copy()
    np.random.RandomState(2).shuffle(y[:4])
    return y


def _shuffled_by_name(x):
    y = x.reshape(3, 2) * 1
    np.random.default_rng(3).shuffle(x=y)
    np.random.RandomState(4).shuffle(x=y)
    return y.ravel()


def _drawn_into_a_part(x):
    y = np.zeros(6)
    np.random.default_rng(3).standard_normal(out=y[2:])
    return y * x + x


def _drawn_over_a_traced_one(x):
    y = 2 * x
    np.random.default_rng(3).random(out=y)
    return y * x


def _after(generator, x):
    first = generator.normal(x, x)
    return first * generator.uniform(x, 3.0 * x + 1) / x + generator.random(6)


PROGRAMS = {
    "shuffle": _shuffled,
    "shuffle a view": _shuffled_through_a_view,
    "shuffle by name": _shuffled_by_name,
    "permutation by name": lambda x: np.random.default_rng(3).permutation(x=x),
    "choice by name": lambda x: np.random.default_rng(3).choice(a=x, size=6),
    "permutation": lambda x: np.random.default_rng(3).permutation(x),
    "permutation of rows": lambda x: np.random.RandomState(3).permutation(x.reshape(3, 2)).ravel(),
    "permuted": lambda x: np.random.default_rng(3).permuted(x.reshape(2, 3), axis=1).ravel(),
    "choice": lambda x: np.random.default_rng(3).choice(x, size=6),
    "normal around": lambda x: np.random.default_rng(3).normal(x, 2.0),
    "normal in a width": lambda x: np.random.RandomState(3).normal(0.5, x, size=(2, 6)).sum(0),
    "normal by name": lambda x: np.random.default_rng(3).normal(size=6, scale=x, loc=2 * x),
    "one normal": lambda x: np.random.default_rng(3).normal(x[0], x[1]) * x / x,
    "uniform": lambda x: np.random.default_rng(3).uniform(x, 2 * x + 1),
    "uniform to": lambda x: np.random.RandomState(3).uniform(high=x + 1.0),
    "exponential": lambda x: np.random.default_rng(3).exponential(x, (2, 6))[1],
    "laplace": lambda x: np.random.default_rng(3).laplace(x, 2 * x),
    "logistic": lambda x: np.random.default_rng(3).logistic(x, 2 * x),
    "gumbel": lambda x: np.random.default_rng(3).gumbel(x, 2 * x),
    "rayleigh": lambda x: np.random.default_rng(3).rayleigh(x),
    "old rayleigh": lambda x: np.random.RandomState(3).rayleigh(x),
    "the stream goes on": lambda x: _after(np.random.default_rng(3), x),
    "out": _drawn_into_a_part,
    "out over traced": _drawn_over_a_traced_one,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_drawn_and_its_derivative(name):
    program = PROGRAMS[name]
    loss = lambda x: np.sum(program(x) * WEIGHTS)  # noqa: E731
    value, gradient = ad.value_and_grad(loss)(POINT)
    assert value == loss(POINT)
    differences = [(loss(POINT + e) - loss(POINT - e)) / 2e-6 for e in 1e-6 * np.eye(6)]
    assert np.allclose(gradient, differences, rtol=1e-6)


@pytest.mark.parametrize(
    ("draw", "error"),
    [
        (lambda rng, x: rng.normal(x, -x), ValueError),
        (lambda rng, x: rng.uniform(0.0, np.inf * x), OverflowError),
        (lambda rng, x: rng.normal(x, 1.0, size=(6, 2)), ValueError),
        (lambda rng, x: rng.normal(x, 1.0, loc=2.0), TypeError),
        (lambda rng, x: rng.normal(x, deviation=1.0), TypeError),
    ],
)
def test_what_numpy_refuses_to_draw(draw, error):
    generator = np.random.default_rng(3)
    with pytest.raises(error) as theirs:
        draw(np.random.default_rng(3), POINT)
    with pytest.raises(error) as ours:
        ad.grad(lambda x: np.sum(draw(generator, x)))(POINT)
    assert str(ours.value).splitlines()[0] == str(theirs.value).splitlines()[0]
    assert generator.random() == np.random.default_rng(3).random()  # nothing was drawn


def test_draws_around_traced_places_are_drawn_anew_at_each_call():
    ours, theirs = np.random.default_rng(3), np.random.default_rng(3)
    sample = lambda x: np.sum(ours.normal(x, 2 * x) ** 2)  # noqa: E731
    for gradient in (ad.grad(sample), ad.jit(ad.grad(sample))):
        for _ in range(5):
            draws = theirs.standard_normal(6)
            np.testing.assert_allclose(gradient(POINT), 2 * POINT * (1 + 2 * draws) ** 2)


def test_what_code_that_is_not_entered_fails_at_is_a_refusal():
    def swallowing(x):
        try:
            return len(json.dumps(x.tolist())) * x[0]
        except Exception:
            return 0 * x[0]

    with pytest.raises(UnsupportedFunctionError, match=r"json\.dumps .*was given traced values"):
        ad.grad(swallowing)(POINT)


def test_what_such_code_rightly_refuses_is_the_users():
    def caught(x):
        try:
            json.loads("{")
        except ValueError:
            return np.sum(x)

    assert np.array_equal(ad.grad(caught)(POINT), np.ones(6))
