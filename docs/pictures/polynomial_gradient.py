"""The gradient of p -> p(x0) in L2, for growing degrees, and the partial derivatives beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from numpy.polynomial import Chebyshev, Legendre, Polynomial

import adjoint as ad
from adjoint.spaces import Polynomials

POINT = 0.3


def evaluation(p: Any) -> Any:
    """The functional of which gradients are taken."""
    return p(POINT)


def main() -> None:
    """Write the picture beside this script."""
    plt.rcParams["svg.hashsalt"] = "adjoint"
    figure, panels = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    points = np.linspace(-1, 1, 400)
    for degree in (2, 4, 8, 16):
        space = Polynomials(degree)
        panels[0].plot(points, ad.grad(evaluation, space=space)(space.zero())(points), label=degree)
    panels[0].set_title("gradient in $L^2$: the same in every basis")
    panels[0].legend(title="degree")
    for kind in (Polynomial, Legendre, Chebyshev):
        partial = ad.grad(evaluation)(kind(np.zeros(9)))
        panels[1].plot(points, partial(points), label=kind.__name__)
    panels[1].set_title("partial derivatives as coefficients, degree 8")
    panels[1].legend(title="basis")
    for panel in panels:
        panel.axvline(POINT, color="gray", linewidth=0.5)
        panel.axhline(0, color="gray", linewidth=0.5)
        panel.set_xlabel("$x$")
    figure.savefig(Path(__file__).with_suffix(".svg"), metadata={"Date": None})


if __name__ == "__main__":
    main()
