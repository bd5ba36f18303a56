"""What it costs to record one operation, from functions of 1000 and 2000 operations."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

import adjoint as ad
from adjoint.calculus.inspection import capture_whole
from benchmarks.measure import Thunk, medians
from benchmarks.peers import installed
from benchmarks.table import Table, duration, ratio

SHORT, LONG = 1000, 2000
OWN = "adjoint, capture"


def chain(x: Any, xp: Any, count: int) -> Any:
    """That many operations: products, sums and sines in turn."""
    y = x
    for _ in range(count // 4):
        y = xp.sin(y * x) + x - y
    return y


def run() -> list[Table]:
    x = np.array([0.3, 0.7])
    makers: dict[str, Callable[[int], Thunk]] = {
        OWN: lambda n: lambda: capture_whole(lambda t: chain(t, np, n), (x,), {}),
        "adjoint, ad.program": lambda n: lambda: ad.program(lambda t: chain(t, np, n), x),
        "NumPy computing it on 2 numbers": lambda n: lambda: chain(x, np, n),
        **_peers(x),
    }
    candidates = {
        f"{name}/{count}": make(count) for name, make in makers.items() for count in (SHORT, LONG)
    }
    times = medians(candidates, seconds=6.0)
    each = {
        name: (times[f"{name}/{LONG}"] - times[f"{name}/{SHORT}"]) / (LONG - SHORT)
        for name in makers
    }
    table = Table(["", "an operation", f"all {SHORT}", "adjoint = 1"])
    for name, seconds in each.items():
        whole = times[f"{name}/{SHORT}"]
        table.rows.append([name, duration(seconds), duration(whole), ratio(seconds / each[OWN])])
    return [table]


def _peers(x: Any) -> dict[str, Callable[[int], Thunk]]:
    found: dict[str, Callable[[int], Thunk]] = {}
    if installed("autograd"):
        xp, core = import_module("autograd.numpy"), import_module("autograd.core")
        found["autograd, computing as it records"] = lambda n: (
            lambda: core.make_vjp(lambda t: chain(t, xp, n), x)
        )
    if installed("jax"):
        jax, jnp = import_module("jax"), import_module("jax.numpy")
        # A new function each time: JAX keeps what it has traced.
        found["JAX, make_jaxpr"] = lambda n: lambda: jax.make_jaxpr(lambda t: chain(t, jnp, n))(x)
    if installed("casadi"):
        ca = import_module("casadi")
        found["CasADi, MX expression"] = lambda n: lambda: chain(ca.MX.sym("x", 2), ca, n)
    return found
