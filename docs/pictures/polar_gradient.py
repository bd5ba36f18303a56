"""A gradient in polar coordinates, and the vector that plain partial derivatives would make."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import adjoint as ad


def chart(q: Any) -> Any:
    """Polar coordinates (r, angle) to Cartesian ones."""
    return q[0] * np.array([np.cos(q[1]), np.sin(q[1])])


def f(x: Any) -> Any:
    """A plane wave: its level lines are straight."""
    return np.sin(x[0] + 0.4 * x[1])


def main() -> None:
    """Write the picture beside this script."""
    plt.rcParams["svg.hashsalt"] = "adjoint"
    figure, panels = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained", sharey=True)
    polar = ad.Coordinates(chart)
    grid = np.linspace(-2.6, 2.6, 200)
    values = f(np.meshgrid(grid, grid))
    titles = (
        "components $\\partial f$: not a vector",
        "$(C^T C)^{-1}\\,\\partial f$: the gradient",
    )
    for panel, title in zip(panels, titles, strict=True):
        panel.contour(grid, grid, values, 12, colors="lightgray", linewidths=0.8)
        panel.set_title(title)
        panel.set_aspect("equal")
    for r in (1.0, 1.9):
        for angle in np.arange(12) * np.pi / 6:
            q = np.array([r, angle])
            x, columns = chart(q), polar.basis(q)
            slopes = ad.grad(lambda q: f(chart(q)))(q)
            raised = polar.gradient(lambda q: f(chart(q)))(q)
            for panel, components in zip(panels, (slopes, raised), strict=True):
                panel.quiver(
                    *x, *(columns @ components), angles="xy", scale_units="xy", scale=3, width=0.005
                )
    figure.savefig(Path(__file__).with_suffix(".svg"), metadata={"Date": None})


if __name__ == "__main__":
    main()
