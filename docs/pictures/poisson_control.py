"""Iterations of steepest descent against the refinement of the mesh, and the controls it finds."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import adjoint as ad

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))
import poisson_control as example

# The state of both descents that is shown beside the end: here the one in L2 has converged.
EARLY = 6


def draw_iterations(panel: Any) -> None:
    """The three problems of the example, under both inner products."""
    for (name, rows), colour in zip(example.study().items(), ("C0", "C1", "C2"), strict=True):
        refinements = [row[0] for row in rows]
        plain, weighted = ([row[place].iterations for row in rows] for place in (1, 2))
        panel.loglog(refinements, plain, "o-", color=colour, label=name)
        panel.loglog(refinements, weighted, "s--", color=colour)
    panel.set_xticks(example.REFINEMENTS, [str(each) for each in example.REFINEMENTS])
    panel.minorticks_off()
    panel.set_xlabel("largest element : smallest element")
    panel.set_ylabel("iterations")
    panel.set_ylim(top=5e4)
    panel.set_title("solid: plain product, dashed: $L^2$")
    panel.legend(fontsize="small")


def draw_controls(panel: Any) -> None:
    """The control of the rod on the finest mesh, after few iterations and at the end."""
    space, boundary = example.rod(example.REFINEMENTS[-1])
    objective = example.control(space, boundary)
    start, plain = np.zeros(space.dimension), ad.spaces.Euclidean(space.dimension)
    early = ad.optimize.descend(objective, start, plain, max_iterations=EARLY)
    final = ad.optimize.descend(objective, start, space)
    panel.plot(space.points, final.x, "k-", label=f"$L^2$, {final.iterations} iterations")
    panel.plot(space.points, early.x, ".", color="C1", label=f"plain, {EARLY} iterations")
    panel.set_xlabel("$x$")
    panel.set_title("control of the rod, finest mesh")
    panel.legend(fontsize="small")


def main() -> None:
    """Write the picture beside this script."""
    plt.rcParams["svg.hashsalt"] = "adjoint"
    figure, panels = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
    draw_iterations(panels[0])
    draw_controls(panels[1])
    figure.savefig(Path(__file__).with_suffix(".svg"), metadata={"Date": None})


if __name__ == "__main__":
    main()
