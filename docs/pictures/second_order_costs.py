"""What a Hessian-vector product and a Hessian cost, by each composition of modes.

Prints ratios to the time of the function itself, for the table of docs/manual/second-order.md, and
draws them. All are compiled with ad.jit, on one core.

    python docs/pictures/second_order_costs.py
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from timing import seconds

import adjoint as ad

mpl.use("Agg")
import matplotlib.pyplot as plt

PRODUCT_SIZES = (1, 2, 4, 8, 16, 32, 64, 128)
HESSIAN_SIZES = (1, 2, 4, 8, 16, 32, 64)
FOUR = [each for each in ad.Composition if each is not ad.Composition.AUTO]
MOST_COLUMNS = 64  # beyond which forward on forward is left out


def network(size: int) -> Callable[[Any], Any]:
    """A function of `size` numbers through three square matrices."""
    matrices = np.random.default_rng(0).normal(size=(3, size, size)) / np.sqrt(size)

    def function(x: Any) -> Any:
        for matrix in matrices:
            x = np.tanh(matrix @ x)
        return np.sum(x**2)

    return function


def product_ratios(size: int) -> dict[ad.Composition, float]:
    """The time of a Hessian-vector product over that of the function, by composition."""
    function = network(size)
    x, u = np.random.default_rng(1).normal(size=(2, size))
    itself = seconds(ad.jit(function), x)
    found = {}
    for each in FOUR:
        if each is ad.Composition.FORWARD_ON_FORWARD and size > MOST_COLUMNS:
            continue

        def product(x: Any, u: Any, each: ad.Composition = each) -> Any:
            return ad.hvp(function, x, u, composition=each)

        found[each] = seconds(ad.jit(product), x, u) / itself
    return found


def hessian_ratios(size: int) -> dict[ad.Composition, float]:
    """The time of a Hessian over that of the function, by composition."""
    function = network(size)
    x = np.random.default_rng(1).normal(size=size)
    itself = seconds(ad.jit(function), x)
    return {
        each: seconds(ad.jit(ad.hessian(function, composition=each)), x) / itself for each in FOUR
    }


def print_table(title: str, rows: dict[int, dict[ad.Composition, float]]) -> None:
    """A table in Markdown."""
    print(f"| {title} | {' | '.join(map(str, rows))} |")
    print(f"|:--|{'--:|' * len(rows)}")
    for each in FOUR:
        cells = [f"{row[each]:.1f}" if each in row else "" for row in rows.values()]
        print(f"| {each.value} | {' | '.join(cells)} |")
    print()


def draw(tables: list[tuple[str, dict[int, dict[ad.Composition, float]]]]) -> None:
    """One panel for each table."""
    plt.rcParams["svg.hashsalt"] = "adjoint"
    figure, panels = plt.subplots(1, 2, figsize=(8, 3.4), layout="constrained")
    for panel, (title, rows) in zip(panels, tables, strict=True):
        for each, mark in zip(FOUR, "ovs^", strict=True):
            sizes = [size for size, row in rows.items() if each in row]
            panel.loglog(sizes, [rows[n][each] for n in sizes], marker=mark, label=each.value)
        panel.set(title=title, xlabel="n", ylabel="time / time of f")
        panel.grid(alpha=0.3)
    panels[0].legend(fontsize="small")
    path = Path(__file__).with_suffix(".svg")
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    """Measure, print, draw."""
    with ad.config(threads=1):
        products = {size: product_ratios(size) for size in PRODUCT_SIZES}
        hessians = {size: hessian_ratios(size) for size in HESSIAN_SIZES}
    print_table("product, n =", products)
    print_table("Hessian, n =", hessians)
    draw([("Hessian-vector product", products), ("Hessian", hessians)])


if __name__ == "__main__":
    main()
