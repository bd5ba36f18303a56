"""Two programs whose loops end when values say so, with derivatives inside, in all four modes.

A charged particle (Siskind and Pearlmutter's examples): Euler steps until the path crosses an axis,
the force being a gradient, and a gradient descent around it. And a saddle point, by a descent of
which each step is the result of another one. Differentiated in the outer loops forwards and in
reverse, and in the inner ones likewise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from tests.reverse import pulled

Gradient = Callable[[Any], Any]


def _forward(function: Any) -> Gradient:
    def gradient(x: Any) -> Any:
        count = np.size(x)
        if np.ndim(x) == 0:
            return ad.jvp(function, (x,), (1.0,))[1]
        return np.stack([ad.jvp(function, (x,), (e,))[1] for e in np.eye(count)])

    return gradient


MODES = {"f": _forward, "r": pulled}


def _crossing(w: Any, inner: Any) -> Any:
    """The squared place where a charge that is repelled by two others meets y = 0."""
    charges = (np.array([10.0, 10.0 - w]), np.array([10.0, 0.0]))

    def potential(x: Any) -> Any:
        return sum(1 / np.sqrt(np.sum((x - each) ** 2)) for each in charges)

    force = inner(potential)
    step = 1e-1

    def euler(state: Any) -> Any:
        x, v = state
        return x + step * v, v - step * force(x)

    x, v = ad.while_loop(
        lambda s: s[0][1] + step * s[1][1] > 0, euler, (np.array([0.0, 8.0]), np.array([0.75, 0.0]))
    )
    x = x - x[1] / v[1] * v
    return x[0] ** 2


def _python_crossing(w: float) -> float:
    x, v = np.array([0.0, 8.0]), np.array([0.75, 0.0])
    while x[1] + 0.1 * v[1] > 0:
        gaps = [x - np.array([10.0, 10.0 - w]), x - np.array([10.0, 0.0])]
        force = sum(-gap / np.sum(gap**2) ** 1.5 for gap in gaps)
        x, v = x + 0.1 * v, v - 0.1 * force
    return float((x - x[1] / v[1] * v)[0] ** 2)


def _descent(w: Any, inner: Any, outer: Any) -> Any:
    """A few steps of gradient descent of the crossing in the place of a charge."""
    slope = outer(lambda w: _crossing(w, inner))

    def step(state: Any) -> Any:
        w, g, count = state
        w = w - 0.01 * g
        return w, slope(w), count + 1

    start = (w, slope(w), 0)
    return ad.while_loop(lambda s: (np.abs(s[1]) > 1e-3) & (s[2] < 4), step, start)[0]


def test_the_crossing_is_that_of_pythons_loop() -> None:
    assert np.isclose(_crossing(0.3, ad.grad), _python_crossing(0.3))


@pytest.mark.parametrize("modes", ["ff", "fr", "rf", "rr"])
def test_the_particle(modes: str) -> None:
    outer, inner = (MODES[mode] for mode in modes)
    h = 1e-5
    numeric = (_python_crossing(0.3 + h) - _python_crossing(0.3 - h)) / (2 * h)
    assert np.isclose(outer(lambda w: _crossing(w, inner))(0.3), numeric, rtol=1e-6)
    w, expected = 0.3, 0.3
    for _ in range(4):
        up, down = _python_crossing(expected + h), _python_crossing(expected - h)
        expected -= 0.01 * (up - down) / (2 * h)
    w = _descent(0.3, inner, outer)
    assert np.isclose(w, expected, rtol=1e-6)


@pytest.mark.parametrize("mode", "fr")
def test_the_descent_itself_is_differentiated(mode: str) -> None:
    gradient = MODES[mode](lambda w: _descent(w, ad.grad, ad.grad))
    h = 1e-6  # the number of steps jumps not far from here
    numeric = (_descent(0.3 + h, ad.grad, ad.grad) - _descent(0.3 - h, ad.grad, ad.grad)) / (2 * h)
    assert np.isclose(gradient(0.3), numeric, rtol=1e-5)


def _minimum(function: Any, start: Any, gradient: Any, rate: float, tolerance: float) -> Any:
    slope = gradient(function)

    def step(state: Any) -> Any:
        x, g = state
        x = x - rate * g
        return x, slope(x)

    test = lambda s: np.sum(s[1] ** 2) > tolerance**2  # noqa: E731
    return ad.while_loop(test, step, (start, slope(start)))[0]


@pytest.mark.parametrize("modes", ["ff", "fr", "rf", "rr"])
def test_the_saddle_point(modes: str) -> None:
    """min over x of max over y of |x|^2 - |y|^2 + coupling, where the answer is known."""
    outer, inner = (MODES[mode] for mode in modes)
    shift = np.array([0.3, -0.2])

    def value(x: Any, y: Any) -> Any:
        return np.sum((x - shift) ** 2) - np.sum(y**2) + 0.5 * np.sum(x * y)

    def worst(x: Any) -> Any:
        y = _minimum(lambda y: -value(x, y), np.zeros(2), inner, 0.2, 1e-9)
        return value(x, y)

    # y = x / 4, so the worst is |x - c|^2 + |x|^2 / 16, which is least at x = 16 c / 17.
    found = _minimum(worst, np.ones(2), outer, 0.2, 1e-7)
    assert np.allclose(found, 16 / 17 * shift, atol=1e-6)
