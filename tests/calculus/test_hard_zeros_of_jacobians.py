"""Hard zeros of Jacobians beside NaN: the same in every mode, and where Jacobians are values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ad

RNG = np.random.default_rng(2)
X = RNG.normal(size=12)
WIDE, HIGH = RNG.normal(size=(2, 12)), RNG.normal(size=14)
HOLED = HIGH.copy()
HOLED[4] = np.nan
PARTLY = np.array([np.nan, 1.0])


def overwritten(x: Any) -> Any:
    """A bottleneck of two numbers, behind a number that nothing follows from."""
    x = x.copy()
    x[3] = 0.0
    return np.concatenate([np.sin(w * (WIDE @ x)) for w in HOLED])


def squares_overwritten(x: Any) -> Any:
    x = x.copy()
    x[3] = 0.0
    z = np.stack([np.sum(x[:5] ** 2), np.sum(np.sin(x[5:]))])
    return np.concatenate([np.sin(w * z) * PARTLY for w in HIGH])


def masked(x: Any) -> Any:
    z = np.tanh(WIDE @ np.where(np.arange(12) == 3, 0.0, x))
    return np.concatenate([np.sin(w * z) for w in HOLED])


def replaced(x: Any) -> Any:
    z = np.tanh(WIDE @ np.concatenate([x[:3], np.zeros(1), x[4:]]))
    return np.concatenate([np.sin(w * z) for w in HOLED])


FUNCTIONS: list[Callable[[Any], Any]] = [overwritten, squares_overwritten, masked, replaced]


@pytest.mark.parametrize("mode", ["reverse", "auto", "middle", "optimal", "elimination"])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_bottlenecks(function: Any, mode: Any) -> None:
    expected = ad.jacobian(function, mode="forward")(X)
    assert (expected[:, 3] == 0).all()
    assert np.isnan(expected).any()
    np.testing.assert_allclose(ad.jacobian(function, mode=mode)(X), expected, rtol=1e-10)


def scaled_twice(x: Any) -> Any:
    return (x * [1.0, np.nan, 2.0])[[0, 1, 1, 2]] * [3.0, np.nan, 1.0, 1.0]


def sums(x: Any) -> Any:
    return np.stack([3 * np.sum(x[:2] ** 2), np.sum(x[2:] * x[2:])])


PLACES: dict[str, Callable[[Any], Callable[[Any], Any]]] = {
    "jvp": lambda J: lambda x: ad.jvp(J, (x,), (np.ones_like(x),))[0],
    "vjp": lambda J: lambda x: ad.vjp(J, x)[0],
    "linearize": lambda J: lambda x: ad.linearize(J, x)[0],
    "taylor": lambda J: lambda x: ad.taylor(J, x, np.ones_like(x), order=1)[0],
    "beside a gradient": lambda J: (
        lambda x: ad.value_and_grad(lambda x: (np.sum(x), J(x)), has_aux=True)(x)[0][1]
    ),
    "beside a Jacobian": lambda J: (
        lambda x: ad.jacobian(lambda x: (x**2, J(x)), has_aux=True)(x)[1]
    ),
    "beside a Hessian": lambda J: (
        lambda x: ad.hessian(lambda x: (np.sum(x**3), J(x)), has_aux=True)(x)[1]
    ),
    "jit": ad.jit,
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("mode", ["forward", "reverse", "auto"])
@pytest.mark.parametrize(
    ("function", "x"),
    [(scaled_twice, np.ones(3)), (sums, np.array([np.nan, 1.0, 2.0, 3.0]))],
    ids=["scaled twice", "sums"],
)
def test_values_that_are_jacobians(function: Any, x: Any, mode: Any, place: str) -> None:
    """The tangent of such a value may be finite where the value is not."""
    J = ad.jacobian(function, mode=mode)
    expected = J(x)
    assert np.isnan(expected).any()
    assert (expected == 0).any()
    np.testing.assert_array_equal(PLACES[place](J)(x), expected)


@pytest.mark.parametrize("native", [False, True])
def test_factors_that_loops_are_given(native: bool) -> None:
    """Repeated terms become a loop, before which the factor -2 of a slope is multiplied."""
    mixing, weights = np.array([[1.0, np.nan, 2.0], [0.5, 1.0, -1.0]]), RNG.normal(size=6)

    def waves(x: Any) -> Any:
        z = np.tanh(mixing @ x[[0, 1, 3]])
        total = 0.0
        for weight in weights:
            total = total + np.sin(weight * z)
        return np.sum(total)

    def curvature(x: Any, u: Any, v: Any) -> Any:
        return ad.jvp(lambda x: ad.jvp(waves, (x,), (u,))[1], (x,), (v,))[1]

    x, units = np.ones(5), np.eye(5)
    with ad.config(native=native):
        for _ in range(4):  # cold, and as machine code
            assert curvature(x, units[2], units[0]) == 0
            assert curvature(x, units[0], units[4]) == 0
            assert np.isnan(curvature(x, units[0], units[0]))
