"""A loop of 10 000 steps in reverse: the whole tape, or states from which it is computed again."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import adjoint as ad
from benchmarks.machine import limit
from benchmarks.measure import Thunk
from benchmarks.peers import agreeing_medians, installed, jax_modules, jitted_by_jax
from benchmarks.table import Table, compared

STEPS, N = 10_000, 256
TAPE = "adjoint, the whole tape"
CHECKPOINTS: dict[str, str | None] = {
    TAPE: None,
    "adjoint, sqrt n checkpoints": "sqrt",
    "adjoint, log n checkpoints": "log",
}


def step(x: Any, y: Any, xp: Any = np) -> Any:
    """A step of a pendulum's chain: each number is pulled to the one before it."""
    return y + 1e-3 * x * xp.sin(xp.roll(y, 1) - y)


def loss(x: Any, checkpoint: str | None) -> Any:
    start = np.linspace(0.0, 3.0, N)
    end = ad.fori_loop(0, STEPS, lambda i, y: step(x, y), start, checkpoint=checkpoint)
    return np.sum(end**2)


def run() -> list[Table]:
    x = np.random.default_rng(0).uniform(0.5, 1.5, N)
    candidates: dict[str, Thunk] = {}
    memory: dict[str, int] = {}
    for name, checkpoint in CHECKPOINTS.items():
        gradient = ad.grad(partial(loss, checkpoint=checkpoint))
        candidates[name] = partial(ad.jit(gradient), x)
        report = ad.program(gradient, x).memory()
        memory[name] = report.workspace + report.stack + report.between
    candidates.update(_jax(x))
    expected = np.asarray(candidates[TAPE]())
    times = agreeing_medians(candidates, expected, 1e-10, seconds=12.0)
    title = f"{STEPS} steps of {N} numbers"
    table = compared(times, TAPE, limit(exponentials=2 * STEPS * N), ["JAX with jit, scan"], title)
    return [table, _memory(memory)]


def _memory(memory: dict[str, int]) -> Table:
    table = Table(["memory while it runs", "bytes", f"{TAPE} = 1"])
    for name, count in memory.items():
        table.rows.append([name, f"{count:,}", f"{count / memory[TAPE]:.2%}"])
    return table


def _jax(x: Any) -> dict[str, Thunk]:
    if not installed("jax"):
        return {}
    jax, xp = jax_modules()
    blocks = 100

    def once(x: Any) -> Any:
        def body(y: Any, _: Any) -> Any:
            return step(x, y, xp), None

        return body

    def plain(x: Any) -> Any:
        end, _ = jax.lax.scan(once(x), xp.linspace(0.0, 3.0, N), None, length=STEPS)
        return xp.sum(end**2)

    def checkpointed(x: Any) -> Any:
        def block(y: Any, _: Any) -> Any:
            return jax.lax.scan(once(x), y, None, length=STEPS // blocks)

        end, _ = jax.lax.scan(jax.checkpoint(block), xp.linspace(0.0, 3.0, N), None, length=blocks)
        return xp.sum(end**2)

    return {
        "JAX with jit, scan": jitted_by_jax(jax.grad(plain), [x]),
        "JAX with jit, scan in jax.checkpoint in scan": jitted_by_jax(jax.grad(checkpointed), [x]),
    }
