"""Laplacians of networks: of 100 numbers, of 100 particles one by one, and of all pairs of 20."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from itertools import pairwise
from typing import Any

import numpy as np

import adjoint as ad
from benchmarks.machine import limit
from benchmarks.measure import Thunk
from benchmarks.peers import agreeing_medians, installed, jax_modules, jitted_by_jax
from benchmarks.table import Table, compared

LAYERS, WIDTH, PARTICLES, SIZE, PAIRED = 10, 100, 100, 4, 20
BY_HAND = "NumPy by hand"
FORWARD_ON_REVERSE = "JAX with jit, forward on reverse"
JET = "JAX with jit, jet"


def network(weights: Any, x: Any, xp: Any = np) -> Any:
    """The sum of what ten layers make of the last axis, with tanh after each."""
    for matrix, shift in weights:
        x = xp.tanh(x @ matrix + shift)
    return xp.sum(x)


def of_pairs(weights: Any, x: Any, xp: Any = np) -> Any:
    """The same of the differences of all pairs of particles."""
    return network(weights, x[:, None, :] - x[None, :, :], xp)


def laplacian_by_hand(weights: Any, x: Any) -> Any:
    """Value, slopes and Laplacian, layer by layer; each particle's slopes by its own numbers."""
    (first, shift), *rest = weights
    x = np.tanh(x @ first + shift)
    slope = 1 - x * x
    bent = -2 * x * slope * np.sum(first * first, axis=0)
    moved = first.reshape(len(first), *(1,) * (x.ndim - 1), -1) * slope
    for matrix, shift in rest:
        x = np.tanh(x @ matrix + shift)
        slope = 1 - x * x
        moved = moved @ matrix
        bent = slope * (bent @ matrix) - 2 * x * slope * np.sum(moved * moved, axis=0)
        moved *= slope
    return np.sum(bent)


def of_pairs_by_hand(weights: Any, x: Any) -> Any:
    """Each difference moves with both particles alike; that of one with itself does not move."""
    gaps = x[:, None, :] - x[None, :, :]
    return 2 * laplacian_by_hand(weights, gaps[~np.eye(len(x), dtype=bool)])


def run() -> list[Table]:
    random = np.random.default_rng(0)
    numbers = random.standard_normal(WIDTH)
    particles, paired = (
        random.standard_normal((n, m)) for n, m in ((PARTICLES, SIZE), (PAIRED, 3))
    )
    return [
        _table(random, network, laplacian_by_hand, numbers, "", 1, WIDTH),
        _table(random, network, laplacian_by_hand, particles, ", one by one", PARTICLES, SIZE),
        _table(random, of_pairs, of_pairs_by_hand, paired, ", all pairs", PAIRED**2, 3),
    ]


def _table(
    random: np.random.Generator,
    function: Callable[..., Any],
    by_hand: Callable[..., Any],
    x: Any,
    words: str,
    count: int,
    directions: int,
) -> Table:
    """One function. count: how often the network is applied; directions: in each."""
    sizes = [x.shape[-1], *[WIDTH] * LAYERS]
    weights = [
        (random.standard_normal((n, m)) / np.sqrt(n), 0.1 * random.standard_normal(m))
        for n, m in pairwise(sizes)
    ]

    laplacian = ad.laplacian(lambda x: function(weights, x))
    jitted = ad.jit(laplacian)
    candidates: dict[str, Thunk] = {
        BY_HAND: lambda: by_hand(weights, x),
        "adjoint, ad.laplacian(f)(x)": lambda: laplacian(x),
        "adjoint with ad.jit": lambda: jitted(x),
        **_jax(function, weights, x),
    }
    times = agreeing_medians(candidates, by_hand(weights, x), 1e-9, seconds=8.0)
    flops = 2 * count * (LAYERS - 1) * WIDTH**2 * (directions + 2)
    title = f"x of shape {x.shape}{words}"
    bound = limit(flops=flops, tangents=count * LAYERS * WIDTH)
    return compared(times, BY_HAND, bound, [FORWARD_ON_REVERSE, JET], title)


def _jax(function: Callable[..., Any], weights: Any, x: Any) -> dict[str, Thunk]:
    if not installed("jax"):
        return {}
    jax, xp = jax_modules()
    jet = import_module("jax.experimental.jet").jet

    def forward_on_reverse(weights: Any, x: Any) -> Any:
        gradient = jax.grad(lambda x: function(weights, x, xp))

        def curvature(unit: Any) -> Any:
            return xp.sum(unit * jax.jvp(gradient, (x,), (unit,))[1])

        return xp.sum(jax.vmap(curvature)(_basis(xp, x)))

    def by_jet(weights: Any, x: Any) -> Any:
        def curvature(unit: Any) -> Any:
            series = ((unit, xp.zeros_like(x)),)
            return jet(lambda x: function(weights, x, xp), (x,), series)[1][1]

        return xp.sum(jax.vmap(curvature)(_basis(xp, x)))

    ways: dict[str, Callable[..., Any]] = {FORWARD_ON_REVERSE: forward_on_reverse, JET: by_jet}
    return {name: jitted_by_jax(way, [weights, x]) for name, way in ways.items()}


def _basis(xp: Any, x: Any) -> Any:
    return xp.eye(x.size).reshape(x.size, *x.shape)
