"""Jacobians in each order of products, predicted and measured; JVPs and VJPs against the function.

Prints the tables of docs/manual/order-of-products.md, in ratios, and draws how the time of each
order depends on the width of a bottleneck, and a plan. All are compiled with ad.jit, on one core.

    python docs/pictures/jacobian_orders.py
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from timing import seconds

import adjoint as ad

mpl.use("Agg")
import matplotlib.pyplot as plt

MODES = (ad.Mode.FORWARD, ad.Mode.REVERSE, ad.Mode.MIDDLE, ad.Mode.OPTIMAL)
CHAINS = (
    (200, 200, 200, 200),
    (4, 60, 200, 400),
    (400, 200, 60, 4),
    (400, 200, 60, 1),
    (300, 300, 3, 300, 300),
    (20, 300, 4, 300, 20),
)
AUTOENCODER = (200, 200, 3, 200, 200)
WIDTHS = (1, 3, 10, 30, 100, 300)


def network(sizes: tuple[int, ...]) -> Callable[[Any], Any]:
    """Matrices and hyperbolic tangents, with values of these sizes in between."""
    rng = np.random.default_rng(0)
    matrices = [rng.normal(size=(after, before)) / before for before, after in pairwise(sizes)]

    def function(x: Any) -> Any:
        for matrix in matrices:
            x = np.tanh(matrix @ x)
        return x

    return function


def elementwise(x: Any) -> Any:
    """A sum of smooth functions of each number."""
    return np.sum(np.sin(x) * np.exp(-(x**2)) + np.sqrt(1 + x**2))


def recurrence(x: Any) -> Any:
    """Small steps one after another."""
    y = x
    for _ in range(20):
        y = y + 0.05 * np.sin(y) * x
    return np.sum(y)


def products(x: Any) -> Any:
    """Products of matrices."""
    return np.sum((x @ x.T) @ x)


def differences(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The Jacobian by forward differences, one evaluation for each number."""

    def jacobian(x: Any) -> Any:
        value = function(x)
        columns = np.empty((value.size, x.size))
        for number in range(x.size):
            moved = x.copy()
            moved[number] += 1e-7
            columns[:, number] = (function(moved) - value) / 1e-7
        return columns

    return jacobian


def orders_table() -> None:
    """For each chain: predicted operations and measured times, relative to the optimal order."""
    names = [mode.value for mode in MODES]
    print(f"| $d$ | {' | '.join(names)} | differences | AUTO takes |")
    print(f"|:--|{'--:|' * len(names)}--:|:--|")
    for sizes in CHAINS:
        function, x = network(sizes), np.ones(sizes[0])
        plan = ad.plan(function, x)
        times = {mode: seconds(ad.jit(ad.jacobian(function, mode=mode)), x) for mode in MODES}
        numerical = seconds(differences(ad.jit(function)), x)
        best = ad.Mode.OPTIMAL
        cells = [
            f"{plan[mode].operations / plan[best].operations:.1f}, {times[mode] / times[best]:.1f}"
            for mode in MODES
        ]
        row = [", ".join(map(str, sizes)), *cells, f"{numerical / times[best]:.0f}"]
        print(f"| {' | '.join(row)} | {plan.chosen.value} |")
    print()


def derivatives_table() -> None:
    """For a few functions: operations and times of a JVP and a VJP, relative to the function."""
    rng = np.random.default_rng(1)
    cases = [
        ("elementwise, 10 000 numbers", elementwise, rng.normal(size=10_000)),
        ("recurrence, 20 steps of 1000", recurrence, rng.normal(size=1000)),
        ("products of 100 × 100 matrices", products, rng.normal(size=(100, 100))),
    ]
    print("| function | JVP | VJP |")
    print("|:--|--:|--:|")
    for name, function, x in cases:
        u = rng.normal(size=x.shape)
        itself = seconds(ad.jit(function), x)
        jvp = seconds(ad.jit(lambda x, u, f=function: ad.jvp(f, (x,), (u,))), x, u)
        vjp = seconds(ad.jit(ad.value_and_grad(function)), x)
        print(f"| {name} | {jvp / itself:.1f} | {vjp / itself:.1f} |")
    print()


def draw() -> None:
    """Times of each order against the width of the bottleneck."""
    found: dict[ad.Mode, list[float]] = {mode: [] for mode in MODES}
    for width in WIDTHS:
        function, x = network((300, 300, width, 300, 300)), np.ones(300)
        for mode in MODES:
            found[mode].append(seconds(ad.jit(ad.jacobian(function, mode=mode)), x))
    plt.rcParams["svg.hashsalt"] = "adjoint"
    figure, panel = plt.subplots(figsize=(5.5, 3.4), layout="constrained")
    least = min(found[ad.Mode.OPTIMAL])
    for (mode, times), mark in zip(found.items(), "ovs^", strict=True):
        panel.loglog(WIDTHS, np.array(times) / least, marker=mark, label=mode.value)
    panel.set(xlabel="numbers that cross in the middle", ylabel="time / least time")
    panel.set_title("Jacobian of $300 \\to 300 \\to k \\to 300 \\to 300$")
    panel.grid(alpha=0.3)
    panel.legend()
    figure.savefig(Path(__file__).with_suffix(".svg"), metadata={"Date": None})


def draw_plan() -> None:
    """The plan for the autoencoder of the page."""
    plan = ad.plan(network(AUTOENCODER), np.ones(AUTOENCODER[0]))
    print(plan)
    plan.save(Path(__file__).with_name("jacobian_plan.svg"))


def main() -> None:
    """Measure, print, draw."""
    with ad.config(threads=1):
        orders_table()
        derivatives_table()
        draw()
    draw_plan()


if __name__ == "__main__":
    main()
