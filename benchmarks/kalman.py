"""The gradient of the log likelihood of a Kalman filter: small linear systems in a long loop."""

from __future__ import annotations

from typing import Any

import numpy as np

import adjoint as ad
from benchmarks.machine import limit
from benchmarks.measure import Thunk
from benchmarks.peers import agreeing_medians, installed, jax_modules, jitted_by_jax
from benchmarks.table import Table, compared

STEPS = 1000
SIZES = ((2, 1), (4, 2), (8, 4))  # numbers of the state and of an observation
BY_HAND = "NumPy by hand"
VALUE = "NumPy, the value alone"


def step(model: Any, state: Any, y: Any, xp: Any) -> Any:
    """One observation: the state, its covariance, and what is added to the log likelihood."""
    f, h, q, r = model
    x, p = state
    x, p = f @ x, f @ p @ f.T + q
    s, rest = h @ p @ h.T + r, y - h @ x
    gain = xp.linalg.solve(s, h @ p).T
    share = -0.5 * (xp.log(xp.linalg.det(s)) + rest @ xp.linalg.solve(s, rest))
    return (x + gain @ rest, p - gain @ h @ p), share


def log_likelihood(model: Any, xp: Any, observed: Any) -> Any:
    """By Python's own loop."""
    n = model[0].shape[0]
    state, total = (xp.zeros(n), xp.eye(n)), 0.0
    for y in observed:
        state, share = step(model, state, y, xp)
        total = total + share
    return total


def gradient_by_hand(model: Any, observed: Any) -> list[Any]:
    """The steps, of which all is kept that the way back needs; then backwards."""
    f, h, q, r = model
    n = f.shape[0]
    x, p, kept = np.zeros(n), np.eye(n), []
    for y in observed:
        before, x, old, p = x, f @ x, p, f @ p @ f.T + q
        m, rest = h @ p, y - h @ x
        inverse = np.linalg.inv(m @ h.T + r)
        w = inverse @ m
        kept.append((before, x, old, p, m, rest, inverse, w))
        x, p = x + rest @ w, p - w.T @ m
    by_f, by_h, by_q, by_r = (np.zeros_like(each) for each in model)
    by_x, by_p = np.zeros(n), np.zeros((n, n))
    for before, x, old, p, m, rest, inverse, w in reversed(kept):
        one = inverse @ rest
        pulled = inverse.T @ (np.outer(rest, by_x) - m @ by_p.T)
        by_rest = w @ by_x - one
        by_s = 0.5 * (np.outer(one, one) - inverse.T) - pulled @ w.T
        by_m = pulled - w @ by_p + by_s @ h
        by_h += by_s.T @ m + by_m @ p.T - np.outer(by_rest, x)
        by_r += by_s
        by_x, by_p = by_x - h.T @ by_rest, by_p + h.T @ by_m
        by_q += by_p
        by_f += by_p @ f @ old.T + by_p.T @ f @ old + np.outer(by_x, before)
        by_x, by_p = f.T @ by_x, f.T @ by_p @ f
    return [by_f, by_h, by_q, by_r]


def run() -> list[Table]:
    return [_table(n, m) for n, m in SIZES]


def _table(n: int, m: int) -> Table:
    random = np.random.default_rng(0)
    f = 0.95 * np.eye(n) + 0.05 * np.eye(n, k=1)
    model = [f, random.standard_normal((m, n)), 0.1 * np.eye(n), 0.5 * np.eye(m)]
    observed = random.standard_normal((STEPS, m))

    def loss(model: Any) -> Any:
        return log_likelihood(model, np, observed)

    jitted = ad.jit(ad.grad(loss))
    candidates: dict[str, Thunk] = {
        BY_HAND: lambda: gradient_by_hand(model, observed),
        "adjoint, ad.grad(f)(p)": lambda: ad.grad(loss)(model),
        "adjoint with ad.jit": lambda: jitted(model),
        **_jax(model, observed),
    }
    times = agreeing_medians(
        candidates,
        gradient_by_hand(model, observed),
        1e-9,
        seconds=8.0,
        others={VALUE: lambda: loss(model)},
    )
    # Products of two matrices of the state count, and of these with one of the observation.
    flops = 3 * STEPS * (4 * n**3 + 10 * n**2 * m + 6 * n * m**2 + 2 * m**3)
    others = [VALUE, "JAX with jit, scan"]
    return compared(times, BY_HAND, limit(flops=flops), others, f"n = {n}, m = {m}, {STEPS} steps")


def _jax(model: Any, observed: Any) -> dict[str, Thunk]:
    if not installed("jax"):
        return {}
    jax, xp = jax_modules()

    def loss(model: Any, observed: Any) -> Any:
        n = model[0].shape[0]
        start = xp.zeros(n), xp.eye(n)
        return xp.sum(jax.lax.scan(lambda s, y: step(model, s, y, xp), start, observed)[1])

    return {"JAX with jit, scan": jitted_by_jax(jax.grad(loss), [model, observed])}
