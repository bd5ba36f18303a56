"""The gradient of log(sum(exp(x))), shifted by the maximum."""

from __future__ import annotations

from typing import Any

import numpy as np

import adjoint as ad
from benchmarks.compiled import FAST, SCALAR, by_hand
from benchmarks.machine import limit
from benchmarks.measure import Thunk
from benchmarks.peers import agreeing_medians, chosen, gradients
from benchmarks.table import Table, compared

SIZES = (2_500, 40_000, 640_000)
BY_HAND = "NumPy by hand"


def logsumexp(x: Any, xp: Any = np) -> Any:
    """As everyone writes it."""
    top = xp.max(x)
    return top + xp.log(xp.sum(xp.exp(x - top)))


def softmax(x: Any) -> Any:
    """Its gradient, with one array of temporary memory."""
    gradient = x - np.max(x)
    np.exp(gradient, out=gradient)
    gradient /= np.sum(gradient)
    return gradient


def run() -> list[Table]:
    return [_table(size) for size in SIZES]


def _table(size: int) -> Table:
    x = np.random.default_rng(0).standard_normal(size)
    jitted = ad.jit(ad.grad(logsumexp))
    candidates: dict[str, Thunk] = {
        BY_HAND: lambda: softmax(x),
        **by_hand("logsumexp", [x, size], [x.shape], fast=True),
        "adjoint, ad.grad(f)(x)": lambda: ad.grad(logsumexp)(x),
        "adjoint with ad.jit": lambda: jitted(x),
        **chosen(gradients(logsumexp, x)),
    }
    times = agreeing_medians(candidates, softmax(x), 1e-12, seconds=5.0)
    bound = limit(flops=4 * size, moved=2 * x.nbytes, exponentials=size)
    others = [SCALAR, FAST, "JAX with jit"]
    return compared(times, BY_HAND, bound, others, title=f"n = {size}")
