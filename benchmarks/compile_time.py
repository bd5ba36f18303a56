"""What it takes to compile a loop of Python that is unrolled: the gradient of so many steps."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import adjoint as ad
from adjoint.executors import Needs
from adjoint.executors.native.lowering.lower import native
from benchmarks.peers import installed, jax_modules
from benchmarks.table import Table, duration, ratio

STEPS = (100, 300, 1000)
REPETITIONS = 3


def steps(count: int, xp: Any = np) -> Callable[[Any], Any]:
    """The sum of squares after some identical steps, six operations each; new at every call."""

    def function(x: Any) -> Any:
        for _ in range(count):
            x = x + xp.sin(x) * 0.05 - x * x * 0.01
        return xp.sum(x * x)

    return function


def run() -> list[Table]:
    with ad.config(cache=False):
        return _tables()


def _tables() -> list[Table]:
    x = np.linspace(0.1, 0.9, 3)
    ad.jit(ad.grad(np.sum))(x)  # LLVM is loaded at the first use
    columns = ["steps", "equations", "machine code", "the whole first call"]
    with_jax = installed("jax")
    table = Table([*columns, "JAX, jit", "machine code / JAX"] if with_jax else columns)
    for count in STEPS:
        program = ad.program(ad.grad(steps(count)), x).simplified().program
        own = _median(partial(native, program, Needs(threads=1)))
        first = _median(partial(_first_call, count, x))
        row = [str(count), str(len(program)), duration(own), duration(first)]
        if with_jax:
            peer = _median(partial(_jax, count, x))
            row += [duration(peer), ratio(own / peer)]
        table.rows.append(row)
    table.notes.append(
        "Machine code is the compilation of the finished program; the first call also captures, "
        "derives and simplifies, as JAX's does."
    )
    return [table]


def _first_call(count: int, x: Any) -> None:
    ad.cache_clear()
    ad.jit(ad.grad(steps(count)))(x)


def _jax(count: int, x: Any) -> None:
    jax, xp = jax_modules()
    jax.jit(jax.grad(steps(count, xp))).lower(x).compile()


def _median(thunk: Callable[[], object]) -> float:
    seconds = []
    for _ in range(REPETITIONS):
        start = time.perf_counter()
        thunk()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)
