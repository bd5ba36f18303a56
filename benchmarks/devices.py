"""Gradients on a device: the first GPU that JAX has, or else the processor.

Of the wine network with respect to both weight matrices, float32, of 178 samples; and of a short
formula of few numbers and many, where a call costs more than arithmetic, or less.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import adjoint as ad
from adjoint.datasets import load_wine
from adjoint.report import draw_weights, hand_written_gradient, loss_on
from benchmarks.measure import Thunk, medians
from benchmarks.peers import installed, jax_modules
from benchmarks.table import Table, duration, ratio
from benchmarks.wine import network

HIDDEN = (16, 200, 2000, 20_000)
NUMBERS = (1, 100, 10_000, 1_000_000)
_SECONDS = 3.0


def run() -> list[Table]:
    if not installed("jax"):
        return [Table(["skipped: jax is not installed"])]
    jax, _ = jax_modules()
    device = f"{jax.devices()[0].platform}:0"
    columns = [
        f"hidden units ({device})",
        *("NumPy by hand", "native", "XLA, weights copied", "XLA, all there", "JAX, all there"),
        "JAX = 1",
    ]
    table = Table(columns)
    table.rows += [_row(hidden, device) for hidden in HIDDEN]
    formula = Table(
        [
            f"numbers ({device})",
            *("XLA, NumPy in and out", "JAX, NumPy in and out", "JAX = 1"),
            *("XLA, all there", "JAX, all there", "JAX = 1"),
        ]
    )
    formula.rows += [_formula_row(numbers, device) for numbers in NUMBERS]
    return [table, formula]


def _row(hidden: int, device: str) -> list[str]:
    jax, xp = jax_modules()
    X, y = load_wine().network_data()
    W = draw_weights(hidden, X.shape[0], seed=0)

    def loss(W: Any, X: Any, y: Any) -> Any:
        return loss_on(X, y)(W)

    native, slope = ad.jit(ad.grad(loss)), ad.jit(ad.grad(loss), device=device)
    there, data = ad.device_put(W, device), ad.device_put((X, y), device)
    theirs = jax.jit(jax.grad(lambda W, X, y: network(W, xp, X, y)))
    inputs = jax.device_put(([*W], X, y), jax.devices()[0])
    candidates: dict[str, Thunk] = {
        "by hand": lambda: hand_written_gradient(W, X, y),
        "native": lambda: native(W, X, y),
        "copied": lambda: slope(W, *data),
        "there": lambda: jax.block_until_ready([g.array for g in slope(there, *data)]),
        "JAX": lambda: jax.block_until_ready(theirs(*inputs)),
    }
    _agree(candidates, hidden)
    times = medians(candidates, _SECONDS)
    shown = [duration(times[name]) for name in candidates]
    return [str(hidden), *shown, ratio(times["there"] / times["JAX"])]


def _formula_row(numbers: int, device: str) -> list[str]:
    """The gradient of sum(x sin(x)), float64."""
    jax, xp = jax_modules()
    x = np.linspace(0.1, 1.5, numbers)
    slope = ad.jit(ad.grad(lambda x: np.sum(np.sin(x) * x)), device=device)
    theirs = jax.jit(jax.grad(lambda x: xp.sum(xp.sin(x) * x)))
    there, given = ad.device_put(x, device), jax.device_put(x, jax.devices()[0])
    candidates: dict[str, Thunk] = {
        "copied": lambda: slope(x),
        "JAX, copied": lambda: np.array(theirs(x)),
        "there": lambda: jax.block_until_ready(slope(there).array),
        "JAX": lambda: jax.block_until_ready(theirs(given)),
    }
    for candidate in candidates.values():
        np.testing.assert_allclose(np.asarray(candidate()), np.cos(x) * x + np.sin(x), rtol=1e-12)
    times = medians(candidates, _SECONDS)
    cells = [str(numbers)]
    for ours, other in (("copied", "JAX, copied"), ("there", "JAX")):
        cells += [duration(times[ours]), duration(times[other]), ratio(times[ours] / times[other])]
    return cells


def _agree(candidates: dict[str, Thunk], hidden: int) -> None:
    """Refuse to time what is not the gradient; sums of thousands of products round in float32."""
    expected: Any = candidates["by hand"]()
    for name, candidate in candidates.items():
        found: Any = candidate()
        for x, y in zip(found, expected, strict=True):
            off = np.max(np.abs(np.asarray(x) - y)) / np.max(np.abs(y))
            if not off <= 1e-5 * max(1, hidden / 100):
                raise AssertionError(f"{name} differs by {off:.1g} for {hidden} hidden units")
