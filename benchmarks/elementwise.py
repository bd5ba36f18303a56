"""Chains of ten elementwise operations on long arrays, and the gradients of their sums."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import adjoint as ad
from benchmarks.compiled import FAST, SCALAR, by_hand
from benchmarks.machine import limit
from benchmarks.measure import Thunk
from benchmarks.peers import (
    agreeing_medians,
    chosen,
    gradients,
    installed,
    jax_modules,
    jitted_by_jax,
    torch_module,
)
from benchmarks.table import Table, duration, ratio

SIZES = (1_000_000, 10_000_000)
LARGEST_FOR_PYTORCH = 1_000_000  # above, a repetition takes seconds, in page faults
COPY, FRESH = "copying x", "a fresh copy"
JITTED, PLAIN = "ad.jit", "un-jitted"
COLUMNS = {
    JITTED: JITTED,
    PLAIN: PLAIN,
    "NumPy by hand": "NumPy",
    SCALAR: "C++",
    FAST: FAST,
    "JAX with jit": "JAX, jit",
    "PyTorch eager": "PyTorch",
    FRESH: FRESH,
}


def products(x: Any, xp: Any = np) -> Any:
    """Sums and products only."""
    y = x * x + 1.5
    y = y * 0.5 + x
    y = y * x - 0.75
    return (y * 0.25 + x) * x + 1.0


def products_gradient(x: Any) -> Any:
    """That of its sum, by hand: a polynomial."""
    return ((0.5 * x + 0.75) * x + 2.375) * x - 0.1875


def arithmetic(x: Any, xp: Any = np) -> Any:
    """With a square root and a division."""
    y = x / xp.sqrt(x * x + 1.5)
    y = y * 0.5 + x
    return (y * y - x) * 0.25 + 1.0


def arithmetic_gradient(x: Any) -> Any:
    """That of its sum, by hand."""
    inverse = 1 / np.sqrt(x * x + 1.5)
    quotient = x * inverse
    slope = 0.5 * inverse * (1 - quotient * quotient) + 1
    return 0.25 * (2 * (quotient * 0.5 + x) * slope - 1)


def transcendental(x: Any, xp: Any = np) -> Any:
    """With a sine and an exponential."""
    y = xp.sin(x) * x + 1.5
    return (xp.exp(-0.5 * (y * y)) + y) * 0.25 - x


def transcendental_gradient(x: Any) -> Any:
    """That of its sum, by hand."""
    sine = np.sin(x)
    y = sine * x + 1.5
    slope = np.cos(x) * x + sine
    return 0.25 * slope * (1 - y * np.exp(-0.5 * (y * y))) - 1


@dataclass(frozen=True)
class Chain:
    """A function or the gradient of its sum, by hand, and how many sin, cos and exp it needs."""

    name: str
    function: Callable[..., Any]
    numpy: Callable[[Any], Any]
    is_gradient: bool
    exponentials: int


CHAINS = (
    Chain("products", products, products, False, 0),
    Chain("products", products, products_gradient, True, 0),
    Chain("arithmetic", arithmetic, arithmetic, False, 0),
    Chain("arithmetic", arithmetic, arithmetic_gradient, True, 0),
    Chain("transcendental", transcendental, transcendental, False, 2),
    Chain("transcendental", transcendental, transcendental_gradient, True, 3),
)


def run() -> list[Table]:
    table = Table(["", "n", "limit", *COLUMNS.values(), "the limit is"])
    for chain in CHAINS:
        for size in SIZES:
            table.rows.append(_row(chain, np.random.default_rng(0).standard_normal(size)))
    table.notes.append(
        "Multiples of the limit. `products` has sums and products only, `arithmetic` a square root "
        "and a division, for whose own unit no limit is told, `transcendental` a sine and an "
        "exponential. Memory is x read once and the "
        "result written once at the speed of copying x to memory that is there already, timed in "
        "turn with the others (a million doubles stay in the last cache). All but C++ "
        "return fresh arrays, whose pages the system provides at their first use; the last "
        "column of multiples is a mere copy that does so."
    )
    return [table]


def _row(chain: Chain, x: Any) -> list[str]:
    own = ad.grad(lambda t: np.sum(chain.function(t))) if chain.is_gradient else chain.function
    jitted = ad.jit(own)
    target = np.ones_like(x)
    symbol = f"{chain.name}_gradient" if chain.is_gradient else chain.name
    candidates: dict[str, Thunk] = {
        JITTED: lambda: jitted(x),
        "NumPy by hand": lambda: chain.numpy(x),
        **by_hand("elementwise", [x, x.size], [x.shape], fast=True, function=symbol),
        **_peers(chain, x),
    }
    if chain.is_gradient:
        candidates[PLAIN] = lambda: own(x)
    copies: dict[str, Thunk] = {COPY: lambda: np.copyto(target, x), FRESH: lambda: x.copy()}
    times = agreeing_medians(candidates, chain.numpy(x), 1e-12, seconds=3.0, others=copies)
    name, seconds = "memory at its bandwidth", times[COPY]
    if chain.exponentials:
        computing = limit(exponentials=chain.exponentials * x.size)
        name, seconds = max(computing, (name, seconds), key=lambda bound: bound[1])
    label = f"{chain.name}, gradient" if chain.is_gradient else chain.name
    multiples = [ratio(times[key] / seconds) if key in times else "-" for key in COLUMNS]
    return [label, str(x.size), duration(seconds), *multiples, name]


def _peers(chain: Chain, x: Any) -> dict[str, Thunk]:
    function = chain.function
    if chain.is_gradient:
        peers = ("jax", "torch") if x.size <= LARGEST_FOR_PYTORCH else ("jax",)
        return chosen(gradients(lambda t, xp: xp.sum(function(t, xp)), x, (), peers))
    found: dict[str, Thunk] = {}
    if installed("jax"):
        xp = jax_modules()[1]
        found["JAX with jit"] = jitted_by_jax(lambda t: function(t, xp), [x])
    if installed("torch") and x.size <= LARGEST_FOR_PYTORCH:
        torch = torch_module()
        tensor = torch.from_numpy(x)
        found["PyTorch eager"] = lambda: function(tensor, torch)
    return found
