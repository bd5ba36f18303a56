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
    "out": _drawn_into_a_part,
    "out over traced": _drawn_over_a_traced_one,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_drawn_and_its_derivative(name):
    program = PROGRAMS[name]
    loss = lambda x: np.sum(program(x) * WEIGHTS)  # noqa: E731
    value, gradient = ad.value_and_grad(loss)(POINT)
    assert value == pytest.approx(loss(POINT))
    differences = [(loss(POINT + e) - loss(POINT - e)) / 2 for e in np.eye(6)]
    assert np.allclose(gradient, differences)  # it is linear


def test_what_code_that_is_not_entered_fails_at_is_a_refusal():
    def swallowing(x):
        try:
            return len(json.dumps(x.tolist())) * x[0]
        except Exception:
            return 0 * x[0]

    with pytest.raises(UnsupportedFunctionError, match=r"json\.dumps was given traced values"):
        ad.grad(swallowing)(POINT)


def test_what_such_code_rightly_refuses_is_the_users():
    def caught(x):
        try:
            json.loads("{")
        except ValueError:
            return np.sum(x)

    assert np.array_equal(ad.grad(caught)(POINT), np.ones(6))
