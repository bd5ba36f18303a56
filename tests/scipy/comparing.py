"""Comparing a function of SciPy's under capture with SciPy itself, and with differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import adjoint as ad

STEP = 1e-6


def leaves(result: Any) -> list[Any]:
    """The arrays of a result."""
    parts = result if isinstance(result, (tuple, list)) else (result,)
    return [np.asarray(part) for part in parts]


def tangents(args: tuple[Any, ...], seed: int = 0) -> tuple[Any, ...]:
    """Random directions."""
    generator = np.random.default_rng(seed)
    return tuple(generator.standard_normal(np.shape(arg)) for arg in args)


def agrees(function: Callable[..., Any], *args: Any, tolerance: float = 1e-5) -> None:
    """Value as SciPy's; forward mode as differences of SciPy; reverse as forward."""
    u = tangents(args)
    value, slope = ad.jvp(function, args, u)
    ahead = function(*(x + STEP * d for x, d in zip(args, u, strict=True)))
    behind = function(*(x - STEP * d for x, d in zip(args, u, strict=True)))
    for found, expected in zip(leaves(value), leaves(function(*args)), strict=True):
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11)
    slopes = leaves(slope)
    for found, one, other in zip(slopes, leaves(ahead), leaves(behind), strict=True):
        difference = (one - other) / (2 * STEP)
        np.testing.assert_allclose(found, difference, rtol=tolerance, atol=1e-2 * tolerance)
    result, pull = ad.vjp(function, *args)
    weights = tangents(tuple(leaves(result)), 1)
    seeds = tuple(np.asarray(w)[()] for w in weights)
    back = pull(type(result)(seeds) if isinstance(result, (tuple, list)) else seeds[0])
    forward = sum(np.sum(w * s) for w, s in zip(weights, slopes, strict=True))
    backward = sum(np.sum(d * b) for d, b in zip(u, back, strict=True))
    np.testing.assert_allclose(backward, forward, rtol=1e-8, atol=1e-10)


def agrees_in_all_modes(function: Callable[[Any], Any], x: Any, tolerance: float = 1e-6) -> None:
    """A real function of one array: ff, fr, rf, rr, a batch, and compiled."""
    generator = np.random.default_rng(2)
    u, v = generator.standard_normal((2, *np.shape(x)))

    def forward(h: Any, d: Any) -> Any:
        return lambda y: ad.jvp(h, (y,), (d,))[1]

    def reverse(h: Any, d: Any) -> Any:
        return lambda y: np.sum(ad.grad(h)(y) * d)

    found = [
        float(outer(inner(function, u), v)(x))
        for outer in (forward, reverse)
        for inner in (forward, reverse)
    ]
    gradient = ad.grad(function)
    ahead, behind = gradient(x + STEP * v), gradient(x - STEP * v)
    expected = np.sum((ahead - behind) * u) / (2 * STEP)
    np.testing.assert_allclose(found, expected, rtol=100 * tolerance, atol=tolerance)
    np.testing.assert_allclose(found, found[0], rtol=1e-7, atol=1e-9)
    rows = np.stack([x, x + 0.01 * u])
    batch = ad.vmap(gradient)(rows)
    np.testing.assert_allclose(
        batch, np.stack([gradient(row) for row in rows]), rtol=1e-7, atol=1e-9
    )
    compiled = ad.jit(gradient)
    for row in rows[::-1]:
        np.testing.assert_allclose(compiled(row), gradient(row), rtol=1e-7, atol=1e-9)
