"""Runge-Kutta steps: the gradient of a loop over vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

import adjoint as ad
from benchmarks.compiled import SCALAR, by_hand
from benchmarks.machine import limit
from benchmarks.measure import Thunk
from benchmarks.peers import agreeing_medians, installed, jax_modules, jitted_by_jax
from benchmarks.table import Table, compared

N = 1000
STEPS = (10, 100)
VALUE = "C++ by hand, the value alone"


def step(x: Any, y: Any, h: float, xp: Any = np) -> Any:
    """One step of y_0' = x_0, y_i' = x_i y_{i-1}."""

    def rate(state: Any) -> Any:
        return x * xp.concatenate([xp.ones(1), state[:-1]])

    first = rate(y)
    second = rate(y + h / 2 * first)
    third = rate(y + h / 2 * second)
    fourth = rate(y + h * third)
    return y + h / 6 * (first + 2 * second + 2 * third + fourth)


def solution(x: Any, steps: int) -> Any:
    """The numbers y at t = 2, by Python's own loop."""
    y = np.zeros(len(x))
    for _ in range(steps):
        y = step(x, y, 2.0 / steps)
    return y


def by_python(x: Any, steps: int) -> Any:
    """The sum of y at t = 2."""
    return np.sum(solution(x, steps))


def by_loop(x: Any, steps: int) -> Any:
    """The same by `ad.fori_loop`."""
    return np.sum(ad.fori_loop(0, steps, lambda i, y: step(x, y, 2.0 / steps), np.zeros(N)))


def gradient_by_hand(x: Any, steps: int) -> Any:
    """The steps, with the states of their stages kept; then backwards."""
    h = 2.0 / steps
    ahead = (h / 2, h / 2, h, 0.0)
    shares = (h / 6, h / 3, h / 3, h / 6)
    y = np.zeros(N)
    kept = []
    for _ in range(steps):
        start, at = y, y
        for share, further in zip(shares, ahead, strict=True):
            before = np.concatenate([[1.0], at[:-1]])
            kept.append(before)
            slope = x * before
            y = y + share * slope
            at = start + further * slope
    gradient = np.zeros(N)
    bar = np.ones(N)
    for _ in range(steps):
        moved = np.zeros(N)
        following = bar
        for share, further in zip(reversed(shares), reversed(ahead), strict=True):
            slope = share * bar + further * moved
            gradient += slope * kept.pop()
            moved = np.concatenate([(slope * x)[1:], [0.0]])
            following = following + moved
        bar = following
    return gradient


def run() -> list[Table]:
    x = np.random.default_rng(0).uniform(0.5, 1.5, N)
    return [_table(x, steps) for steps in STEPS]


def _table(x: Any, steps: int) -> Table:
    unrolled = ad.jit(ad.grad(lambda x: by_python(x, steps)))
    looped = ad.jit(ad.grad(lambda x: by_loop(x, steps)))
    candidates: dict[str, Thunk] = {
        "NumPy by hand": lambda: gradient_by_hand(x, steps),
        **by_hand("rk4", [x, N, steps], [(N,)], function="rk4_gradient"),
        "adjoint, ad.grad(f)(x)": lambda: ad.grad(by_python)(x, steps),
        "adjoint with ad.jit": lambda: unrolled(x),
        "adjoint with ad.jit, ad.fori_loop": lambda: looped(x),
        **_jax(x, steps),
    }
    primal = by_hand("rk4", [x, N, steps], [()])
    others = {VALUE: primal[SCALAR]} if primal else {}
    times = agreeing_medians(
        candidates, gradient_by_hand(x, steps), 1e-10, seconds=6.0, others=others
    )
    # The floor of the value: four rates a step, of a product each; twelve more flops a number.
    bound = limit(flops=3 * 16 * N * steps, moved=16 * N)
    unit = VALUE if VALUE in times else "NumPy by hand"
    return compared(times, unit, bound, ["JAX with jit, scan"], f"n = {N}, {steps} steps")


def _jax(x: Any, steps: int) -> dict[str, Thunk]:
    if not installed("jax"):
        return {}
    jax, xp = jax_modules()

    def loss(x: Any) -> Any:
        def body(y: Any, _: Any) -> Any:
            return step(x, y, 2.0 / steps, xp), None

        return xp.sum(jax.lax.scan(body, xp.zeros(N), None, length=steps)[0])

    def unrolled(x: Any) -> Any:
        y = xp.zeros(N)
        for _ in range(steps):
            y = step(x, y, 2.0 / steps, xp)
        return xp.sum(y)

    found = {"JAX with jit, scan": jitted_by_jax(jax.grad(loss), [x])}
    if steps <= 10:
        found["JAX with jit, unrolled"] = jitted_by_jax(jax.grad(unrolled), [x])
    return found
