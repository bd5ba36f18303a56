"""What it costs to record one operation, from functions of 1000 and 2000 operations.

The second table is of single steps of a function that is being captured, each from what a function
takes with many of them and with fewer, or none.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

import adjoint as ad
from adjoint.calculus.inspecting.programs import capture_whole
from benchmarks.measure import Thunk, medians
from benchmarks.peers import installed
from benchmarks.table import Table, duration, ratio

SHORT, LONG = 1000, 2000
RECORDED = (10, 1000, 20_000)  # operations before a value is asked for
QUESTIONS = 2000
ARRAYS = 5
LENGTHS = (10, 100, 1000, 10_000)  # of arrays made of numbers
OWN = "adjoint, capture"


def chain(x: Any, xp: Any, count: int) -> Any:
    """That many operations: products, sums and sines in turn."""
    y = x
    for _ in range(count // 4):
        y = xp.sin(y * x) + x - y
    return y


def asking(x: Any, count: int, questions: int) -> Any:
    """So many operations, and then questions."""
    y = a = x[0]
    for _ in range(count // 2):
        y = y * a + a
    for _ in range(questions):
        if y > 1e9:
            y = -y
    return y


def filling(x: Any, count: int) -> Any:
    """An array in which each entry is read, multiplied and written to the next one."""
    y = np.zeros(count)
    y[0] = a = x[0]
    for i in range(1, count):
        y[i] = y[i - 1] * a
    return y


def repeating(x: Any, count: int, step: Callable[[Any, Any, Any], Any]) -> Any:
    """So often the same step, of a vector, a matrix and a mask."""
    A, mask = np.outer(x, x), x > 0.5
    for _ in range(count):
        step(x, A, mask)
    return x.sum()


# What is done with a vector, a matrix and a mask, each many times.
FUNCTIONS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "np.sin(x)": lambda x, A, mask: np.sin(x),
    "2.0 * x": lambda x, A, mask: 2.0 * x,
    "x[1:]": lambda x, A, mask: x[1:],
    "A.T": lambda x, A, mask: A.T,
    "A.reshape(-1)": lambda x, A, mask: A.reshape(-1),
    "A @ x": lambda x, A, mask: A @ x,
    "np.sum(x)": lambda x, A, mask: np.sum(x),
    "np.mean(A, axis=0)": lambda x, A, mask: np.mean(A, axis=0),
    "np.linalg.norm(x)": lambda x, A, mask: np.linalg.norm(x),
    "np.where(mask, x, 0.0)": lambda x, A, mask: np.where(mask, x, 0.0),
    "np.concatenate([x, x])": lambda x, A, mask: np.concatenate([x, x]),
    "np.var(A, axis=0)": lambda x, A, mask: np.var(A, axis=0),
}


def collecting(x: Any, count: int, times: int) -> Any:
    """So many arrays of so many numbers."""
    numbers = [x[k % 2] for k in range(count)]
    for _ in range(times):
        y = np.array(numbers)
    return y


def run() -> list[Table]:
    return [_operations(), _steps()]


def _operations() -> Table:
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
    return table


def _steps() -> Table:
    """For each step: a function that takes it often, one that does not, and how often."""
    steps: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any], int]] = {
        "an operation on 2 numbers": (
            lambda x: chain(x, np, LONG),
            lambda x: chain(x, np, SHORT),
            LONG - SHORT,
        ),
        "y[i] = y[i - 1] * a": (
            lambda x: filling(x, LONG),
            lambda x: filling(x, SHORT),
            LONG - SHORT,
        ),
    }
    for count in RECORDED:
        steps[f"if y > 1e9, after {count} operations"] = (
            partial(asking, count=count, questions=QUESTIONS),
            partial(asking, count=count, questions=0),
            QUESTIONS,
        )
    for text, step in FUNCTIONS.items():
        steps[text] = (
            partial(repeating, count=QUESTIONS, step=step),
            partial(repeating, count=0, step=step),
            QUESTIONS,
        )
    for length in LENGTHS:
        steps[f"np.array of {length} numbers, each"] = (
            partial(collecting, count=length, times=1 + ARRAYS),
            partial(collecting, count=length, times=1),
            ARRAYS * length,
        )
    table = Table(["", "captured", "NumPy alone", "on top of NumPy"])
    for name, (often, seldom, number) in steps.items():
        captured, alone = _difference(often, seldom, number)
        table.rows.append([name, *map(duration, (captured, alone, max(captured - alone, 0.0)))])
    for name, (captured, alone) in _fixed().items():
        table.rows.append([name, *map(duration, (captured, alone, max(captured - alone, 0.0)))])
    return table


def _fixed() -> dict[str, tuple[float, float]]:
    """The seconds of a whole call with next to nothing in it, and those of NumPy alone."""
    x = np.array([0.3, 0.7])

    def function(x: Any) -> Any:
        return x.sum()

    slope = ad.grad(function)
    with ad.config(replay=False):
        times = medians(
            {
                "a capture of x.sum()": lambda: capture_whole(function, (x,), {}),
                "a gradient of x.sum(), captured at each call": lambda: slope(x),
                "alone": lambda: function(x),
            },
            seconds=1.5,
        )
    alone = times.pop("alone")
    return {name: (captured, alone) for name, captured in times.items()}


def _difference(
    often: Callable[[Any], Any], seldom: Callable[[Any], Any], number: int
) -> tuple[float, float]:
    """The seconds of one step, captured and in NumPy alone."""
    x = np.array([0.3, 0.7])
    times = medians(
        {
            "often": lambda: capture_whole(often, (x,), {}),
            "seldom": lambda: capture_whole(seldom, (x,), {}),
            "often alone": lambda: often(x),
            "seldom alone": lambda: seldom(x),
        },
        seconds=1.5,
    )
    captured = times["often"] - times["seldom"]
    return captured / number, (times["often alone"] - times["seldom alone"]) / number


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
