"""What Taylor coefficients cost by order: in Taylor mode, by nested derivatives, and in JAX's jet.

Prints the tables of docs/manual/taylor.md, and draws the ratios to the time of the function itself.
All are compiled (ad.jit, jax.jit), on one core. JAX is left out where it cannot be imported.

    taskset -c 0 python docs/pictures/taylor_costs.py
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from timing import seconds

import adjoint as ad

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.ticker import LogLocator

try:
    import jax
    import jax.numpy as jnp
    from jax.experimental.jet import jet

    jax.config.update("jax_enable_x64", True)
except ImportError:
    jax = None

ORDERS = (1, 2, 3, 4, 5, 6, 8, 10)
NESTED_ORDERS = (1, 2, 3, 4, 5, 6)
COUNTED_ORDERS = (1, 2, 4, 8, 16)
SIZE = 2000
X = np.linspace(0.1, 1.0, SIZE)
U = np.linspace(1.0, -1.0, SIZE)


def function(x: Any, numpy: Any = np) -> Any:
    """A chain of elementary functions, at each entry of an array."""
    for _ in range(3):
        x = numpy.tanh(x * numpy.sin(x)) + numpy.exp(-x * x) / (1 + x * x)
    return x


def by_taylor(order: int) -> Any:
    """The coefficients in Taylor mode."""
    return ad.jit(lambda x, u: ad.taylor(function, x, u, order))


def by_nesting(order: int) -> Any:
    """The coefficients by forward mode over and over."""

    def coefficients(x: Any, u: Any) -> Any:
        nested, found, factorial = function, [function(x)], 1.0

        def rate(before: Any) -> Any:
            return lambda x: ad.jvp(before, (x,), (u,))[1]

        for k in range(1, order + 1):
            nested, factorial = rate(nested), factorial * k
            found.append(nested(x) / factorial)
        return tuple(found)

    return coefficients


def by_jet(order: int) -> Any:
    """The coefficients by JAX's Taylor mode, which carries derivatives: k! f_k."""

    def coefficients(x: Any, u: Any) -> Any:
        series = [u, *[jnp.zeros_like(u)] * (order - 1)]
        value, rates = jet(lambda x: function(x, jnp), (x,), (series,))
        return (value, *(rate / math.factorial(k) for k, rate in enumerate(rates, 1)))

    return jax.jit(coefficients)


def ratios() -> dict[str, dict[int, float]]:
    """The time by order over that of the function, by way; checked to be the same numbers."""
    plain = ad.jit(function)
    one = seconds(lambda: plain(X))
    found: dict[str, dict[int, float]] = {"Taylor mode": {}, "nested forward mode": {}}
    for order in ORDERS:
        taylor = by_taylor(order)
        found["Taylor mode"][order] = seconds(lambda run=taylor: run(X, U)) / one
        if order in NESTED_ORDERS:
            nested = ad.jit(by_nesting(order))
            found["nested forward mode"][order] = seconds(lambda run=nested: run(X, U)) / one
            assert np.allclose(taylor(X, U)[order], nested(X, U)[order], rtol=1e-8, atol=1e-8)
    if jax is not None:
        found["JAX's jet"] = _of_jax()
    return found


def _of_jax() -> dict[int, float]:
    """The same over JAX's own time of the function."""
    x, u = jnp.asarray(X), jnp.asarray(U)
    plain = jax.jit(lambda x: function(x, jnp))
    one = seconds(lambda: plain(x).block_until_ready())
    found = {}
    for order in ORDERS:
        run = by_jet(order)
        expected = ad.taylor(function, X, U, order)[order]
        assert np.allclose(run(x, u)[order], expected, rtol=1e-8, atol=1e-8)
        found[order] = seconds(lambda run=run: jax.block_until_ready(run(x, u))) / one
    return found


def equations(of: Any, order: int) -> int:
    """How many equations the program of the coefficients has, along a curve of this order."""
    x = np.array(0.5)
    return _count(lambda x, *curve: ad.taylor(of, x, curve, order), x, *[x] * order)


def _count(of: Any, *args: Any) -> int:
    return len(ad.program(of, *args).program.equations)


def print_row(name: str, row: dict[int, float], orders: Sequence[int], form: str) -> None:
    """A row of a table, with gaps where there is no figure."""
    shown = (f"{row[order]:{form}}" if order in row else "     -" for order in orders)
    print(f"{name:20s}", *shown)


def sizes() -> dict[str, dict[int, float]]:
    """The equations of the function that is timed, by way and order; prints more of them."""
    print("equations, along a curve of the order itself")
    print_row("order", {order: order for order in COUNTED_ORDERS}, COUNTED_ORDERS, "6d")
    for name in ("exp", "sin", "tanh", "log", "reciprocal"):
        row = {order: equations(getattr(np, name), order) for order in COUNTED_ORDERS}
        print_row(name, row, COUNTED_ORDERS, "6d")
    x = np.array(0.5)
    taylor = {k: _count(lambda x, u, k=k: ad.taylor(function, x, u, k), x, x) for k in ORDERS}
    nested = {k: _count(by_nesting(k), x, x) for k in NESTED_ORDERS}
    return {"Taylor mode": taylor, "nested forward mode": nested}


def draw(axes: Any, found: dict[str, dict[int, float]], label: str) -> None:
    """The figures of one kind by order, one line a way."""
    for (name, row), marker in zip(found.items(), "os^", strict=False):
        axes.plot(list(row), list(row.values()), marker=marker, label=name)
    axes.set(xlabel="order", ylabel=label, yscale="log", xticks=ORDERS)
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.minorticks_off()
    axes.grid(alpha=0.3)
    axes.legend()


def main() -> None:
    """Print the tables and draw the picture."""
    plt.rcParams["svg.hashsalt"] = "adjoint"
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    for axes, found, label, form in (
        (left, sizes(), "equations of the program", "6d"),
        (right, ratios(), "time over that of the function", "6.1f"),
    ):
        print(label)
        print_row("order", {order: order for order in ORDERS}, ORDERS, "6d")
        for name, row in found.items():
            print_row(name, row, ORDERS, form)
        draw(axes, found, label)
    figure.savefig(Path(__file__).with_suffix(".svg"), metadata={"Date": None})


if __name__ == "__main__":
    main()
