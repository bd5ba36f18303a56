"""Layout, choice and numbering of entries: errors, views, batches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint as ad

X = np.array([0.5, 2.0, -1.0, 3.0])
SQUARE = np.arange(6.0).reshape(2, 3)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.asarray_chkfinite(x / 0.0),
        lambda x: np.dsplit(x, 2),
        lambda x: np.resize(x, (-1, 2)),
        lambda x: np.trim_zeros(x, "q"),
        lambda x: np.cumulative_sum(x[None]),
        lambda x: np.choose([0, 3], [x[0], 1.0]),
        lambda x: np.choose([0.5], [x[0], 1.0]),
        lambda x: np.ix_(x[None]),
        lambda x: np.unravel_index(x, (2, 2)),
        lambda x: np.place(np.array(x), x[:2] > 0, [1.0]),
        lambda x: np.place(np.array(x), x > 0, []),
    ],
)
def test_what_numpy_refuses(function: Any) -> None:
    with np.errstate(all="ignore"):
        with pytest.raises((ValueError, TypeError)) as expected:
            function(X)
        with pytest.raises((ValueError, TypeError)) as found:
            ad.jit(function)(X)
        assert isinstance(found.value, ValueError) == isinstance(expected.value, ValueError)


def test_a_choice_that_there_is_not_is_an_error_when_it_runs() -> None:
    choose = ad.jit(lambda n, x: np.choose(n, [x, 2 * x]))
    np.testing.assert_array_equal(choose(np.array([0, 1, 1, 0]), X), [0.5, 4.0, -2.0, 3.0])
    for wrong in (2, -1):
        with pytest.raises(ValueError, match="invalid entry in choice array"):
            choose(np.array([0, 1, wrong, 0]), X)


def test_numbers_of_entries_come_in_batches() -> None:
    def largest(x: Any) -> Any:
        return x[np.unravel_index(np.argmax(x), x.shape)]

    many = np.random.default_rng(0).normal(size=(4, 2, 3))
    np.testing.assert_array_equal(ad.vmap(largest)(many), many.max((1, 2)))
    flat = ad.vmap(lambda n: np.ravel_multi_index((n[0], n[1]), (2, 3)))(np.array([[0, 1], [1, 2]]))
    np.testing.assert_array_equal(flat, [1, 5])


def test_a_place_beyond_the_array_stays_beyond_it() -> None:
    with pytest.raises(ValueError, match="out of bounds"):
        ad.jit(lambda x, n: x[np.unravel_index(n, (2, 3))])(SQUARE, np.array(6))


def test_place_cycles_through_its_values() -> None:
    def placed(x: Any, v: Any) -> Any:
        out = np.array(x)
        np.place(out, out > 0, v)
        return out

    values = np.array([10.0, 20.0])
    np.testing.assert_array_equal(ad.jit(placed)(X, values), placed(X, values))
    slopes = ad.grad(lambda x, v: placed(x, v).sum(), (0, 1))(X, values)
    np.testing.assert_array_equal(slopes[0], [0, 0, 1, 0])
    np.testing.assert_array_equal(slopes[1], [2, 1])
    outside = np.ones(4)
    with pytest.raises(ad.errors.UnsupportedFunctionError, match="outside"):
        ad.jit(lambda x: np.place(outside, outside > 0, x))(X)


def test_angles_without_jumps() -> None:
    angles = np.array([0.0, 3.0, -3.0, 0.5, 2.0, 9.0])
    for arguments in ({}, {"discont": 5.0}, {"period": 4.0}):
        found = ad.jit(lambda p, a=arguments: np.unwrap(p, **a))(angles)
        np.testing.assert_allclose(found, np.unwrap(angles, **arguments))
    whole = np.array([0, 3, 1, 2, 5])
    found = ad.jit(lambda p: np.unwrap(p, period=4))(whole)
    np.testing.assert_array_equal(found, np.unwrap(whole, period=4))
    slope = ad.grad(lambda period: np.unwrap(angles, period=period)[-1])(4.0)
    assert slope == round(slope) != 0


def test_what_must_own_its_memory_is_no_view() -> None:
    def written(x: Any) -> Any:
        y = np.zeros(4)
        z = np.require(y[:2], requirements=["O"])
        z[0] = x[0]
        return y

    np.testing.assert_array_equal(ad.jit(written)(X), written(X))
