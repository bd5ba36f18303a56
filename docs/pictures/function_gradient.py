"""The gradient of one functional in three inner products, on a coarse and on a fine mesh."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import adjoint as ad
from adjoint.spaces import Functions


def target(x: Any) -> Any:
    """A step, which no continuous function is."""
    return np.where(x < 0.4, 1.0, -0.5)


def start(x: Any) -> Any:
    """Where the gradient is taken."""
    return 0.4 * np.sin(2 * np.pi * x)


def meshes() -> list[Any]:
    """Sixteen cells of different widths, and each of them cut into eight."""
    widths = np.random.default_rng(5).uniform(0.3, 2.0, 16)
    coarse = np.concatenate([[0.0], np.cumsum(widths) / np.sum(widths)])
    return [coarse, np.interp(np.arange(129) / 8, np.arange(17), coarse)]


def gradients(points: Any) -> list[Any]:
    """Of f(u) = 1/2 the integral of (u - target)^2: in l2, L2 and H1."""
    flat = Functions.grid(points, lumped=True)
    smooth = Functions.grid(points, lumped=True, scale=0.1)
    u, g = flat.interpolate(start), flat.interpolate(target)

    def f(u: Any) -> Any:
        return flat.integrate((u - g) ** 2) / 2

    return [ad.grad(f)(u), *(ad.grad(f, space=space)(u) for space in (flat, smooth))]


def main() -> None:
    """Write the picture beside this script."""
    plt.rcParams["svg.hashsalt"] = "adjoint"
    figure, panels = plt.subplots(1, 3, figsize=(10, 3.1), layout="constrained")
    titles = (
        "partial derivatives ($\\ell^2$)",
        "gradient in $L^2$",
        "gradient in $H^1$, $s = 0.1$",
    )
    styles = ({"marker": "o", "ls": "none", "color": "tab:orange"}, {"color": "tab:blue"})
    names = ("16 cells", "128 cells")
    for points, style, name in zip(meshes()[::-1], styles[::-1], names[::-1], strict=True):
        for panel, values in zip(panels, gradients(points), strict=True):
            panel.plot(points, values, label=name, markersize=4, **style)
    for panel, title in zip(panels, titles, strict=True):
        panel.set_title(title)
        panel.set_xlabel("$x$")
        panel.axhline(0, color="gray", linewidth=0.5)
    panels[0].legend()
    figure.savefig(Path(__file__).with_suffix(".svg"), metadata={"Date": None})


if __name__ == "__main__":
    main()
