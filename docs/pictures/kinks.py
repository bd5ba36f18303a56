"""The derivatives of |x| near 0: the one-sided ones, and what each setting and program takes.

Run it to write `kinks.svg` next to this file.
"""

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import adjoint as ad

WEIGHTS = (0.0, 0.25, 0.5, 0.75, 1.0)
INK, FAINT, BLUE, GREEN, RED = "#2b2b33", "#b9b9c0", "#1f5fa8", "#2e7d32", "#b3412e"


def taken(weight: float) -> float:
    """The derivative of |x| at 0 under a setting."""
    with ad.config(kink=weight):
        return float(ad.grad(np.abs)(0.0))


def main() -> None:
    """Draw the function with its slopes at 0, and its derivative with the values taken at 0."""
    plt.rcParams.update({"svg.hashsalt": "adjoint", "svg.fonttype": "path", "font.size": 11})
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.4, 3.4), layout="constrained")
    x = np.linspace(-1, 1, 201)
    colours = plt.get_cmap("viridis")(np.linspace(0.1, 0.85, len(WEIGHTS)))
    for weight, colour in zip(WEIGHTS, colours, strict=True):
        slope = taken(weight)
        left.plot(x, slope * x, color=colour, lw=1.2)
        right.plot(0, slope, "o", ms=7, color=colour, label=f"kink = {weight:g}")
    left.plot(x, np.abs(x), color=INK, lw=2.2)
    left.set_title("|x| and the slopes taken at 0", loc="left")
    for side in (x[x < 0], x[x > 0]):
        right.plot(side, [float(ad.grad(np.abs)(each)) for each in side], color=INK, lw=2.2)
    programs = {
        "-x if x < 0 else x": (lambda x: -x if x < 0 else x, GREEN, "^"),
        "x if x > 0 else -x": (lambda x: x if x > 0 else -x, RED, "v"),
    }
    for label, (function, colour, marker) in programs.items():
        slope = float(ad.grad(function)(0.0))
        right.plot(0, slope, marker, ms=15, mec=colour, mfc="none", mew=1.8, label=label, ls="none")
    right.set_title("its derivative", loc="left")
    right.legend(frameon=False, fontsize=9, loc="center left", bbox_to_anchor=(1.0, 0.5))
    for axes in (left, right):
        axes.axhline(0, color=FAINT, lw=0.8, zorder=0)
        axes.axvline(0, color=FAINT, lw=0.8, zorder=0)
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_xlabel("x")
    figure.savefig(Path(__file__).with_suffix(".svg"), metadata={"Date": None})


if __name__ == "__main__":
    main()
