"""The gradient of Rosenbrock's function in 10 variables: nothing but overhead."""

from __future__ import annotations

from typing import Any

import numpy as np

import adjoint as ad
from benchmarks.machine import limit
from benchmarks.measure import Thunk
from benchmarks.peers import agreeing_medians, casadi_gradient, gradients
from benchmarks.table import Table, compared

BY_HAND = "NumPy by hand"
N = 10


def rosenbrock(x: Any, xp: Any = np) -> Any:
    """The valley as SciPy defines it."""
    return xp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def by_hand(x: Any) -> Any:
    """Its gradient: each term speaks of two neighbours."""
    miss = x[1:] - x[:-1] ** 2
    gradient = np.zeros_like(x)
    gradient[:-1] = -400 * x[:-1] * miss - 2 * (1 - x[:-1])
    gradient[1:] += 200 * miss
    return gradient


def run() -> list[Table]:
    x = np.linspace(-1.5, 1.5, N)
    jitted = ad.jit(ad.grad(rosenbrock))
    candidates: dict[str, Thunk] = {
        BY_HAND: lambda: by_hand(x),
        "adjoint, ad.grad(f)(x)": lambda: ad.grad(rosenbrock)(x),
        "adjoint with ad.jit": lambda: jitted(x),
        **gradients(rosenbrock, x),
        **casadi_gradient(_casadi_rosenbrock, [x]),
    }
    alone: dict[str, Thunk] = {"the function alone": lambda: rosenbrock(x)}
    times = agreeing_medians(candidates, by_hand(x), 1e-12, seconds=5.0, others=alone)
    return [compared(times, BY_HAND, limit(flops=15 * N, moved=2 * x.nbytes))]


def _casadi_rosenbrock(ca: Any) -> tuple[list[Any], Any]:
    x = ca.SX.sym("x", N)
    return [x], ca.sumsqr(10 * (x[1:] - x[:-1] ** 2)) + ca.sumsqr(1 - x[:-1])
