"""Forward and reverse mode over the function's own time, on large arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import adjoint as ad
from benchmarks.machine import bandwidth, peak_flops
from benchmarks.measure import Thunk, medians
from benchmarks.peers import gradients
from benchmarks.rosenbrock import rosenbrock
from benchmarks.table import Table, duration, ratio

SIZES = (100_000, 1_000_000)
PEERS = {"autograd": "autograd", "JAX with jit": "JAX, jit", "PyTorch eager": "PyTorch"}


def elementwise(x: Any, xp: Any) -> Any:
    """A chain of elementwise operations."""
    return xp.sum(xp.tanh(xp.sin(x) * x) + xp.exp(-x * x))


def logsumexp(x: Any, xp: Any) -> Any:
    """Log sum exp, shifted by the maximum."""
    top = xp.max(x)
    return top + xp.log(xp.sum(xp.exp(x - top)))


def products(x: Any, xp: Any) -> Any:
    """A chain of matrix products."""
    return xp.sum((x @ x @ x) ** 2)


def reductions(x: Any, xp: Any) -> Any:
    """Means and sums over rows and over all."""
    centred = x - xp.mean(x, 0)
    return xp.sum(xp.mean(centred**2, 0)) + xp.mean(x) ** 2


CASES: dict[str, tuple[Callable[[Any, Any], Any], int]] = {
    "elementwise chain": (elementwise, 1),
    "logsumexp": (logsumexp, 1),
    "matrix products": (products, 2),
    "reductions": (reductions, 2),
    "Rosenbrock": (rosenbrock, 1),
}


def run() -> list[Table]:
    table = Table(["", "n", "function", "forward", "reverse", *PEERS.values(), "limit"])
    for name, (function, ndim) in CASES.items():
        for size in SIZES:
            table.rows.append(_row(name, function, _argument(size, ndim)))
    table.notes.append(
        "Forward is `ad.jvp` (value and tangent), reverse `ad.value_and_grad`, both un-jitted; the "
        "peers in reverse mode. All are multiples of the function's own time in NumPy. The "
        "limit is the larger of reading the argument and writing the gradient at the bandwidth "
        "measured at that size, and of the products' arithmetic at the measured peak."
    )
    return [table]


def _argument(size: int, ndim: int) -> Any:
    side = round(size**0.5)
    shape = (size,) if ndim == 1 else (side, side)
    return np.random.default_rng(0).standard_normal(shape) / (1 if ndim == 1 else side**0.5)


def _row(name: str, function: Callable[[Any, Any], Any], x: Any) -> list[str]:
    def f(t: Any) -> Any:
        return function(t, np)

    u = np.ones_like(x)
    candidates: dict[str, Thunk] = {
        "function": lambda: f(x),
        "forward": lambda: ad.jvp(f, (x,), (u,)),
        "reverse": lambda: ad.value_and_grad(f)(x),
        **{key: thunk for key, thunk in gradients(function, x).items() if key in PEERS},
    }
    times = medians(candidates, seconds=3.0, rounds=50)
    unit = times["function"]
    peers = [ratio(times[key] / unit) if key in times else "-" for key in PEERS]
    own = [ratio(times[key] / unit) for key in ("forward", "reverse")]
    return [name, str(x.size), duration(unit), *own, *peers, ratio(_limit(name, x) / unit)]


def _limit(name: str, x: Any) -> float:
    moving: float = 2 * x.nbytes / bandwidth(x.nbytes)
    if name != "matrix products":
        return moving
    # Two products, each with the two of its pullback.
    return max(moving, 2 * 3 * 2 * len(x) ** 3 / peak_flops("f8"))
