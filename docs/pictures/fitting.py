"""A curve fitted to data of NIST (Misra1a), how sure it is, and what is left over.

Run it to write `fitting.svg` next to this file.
"""

from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import adjoint as ad

X = np.array([77.6, 114.9, 141.1, 190.8, 239.9, 289.0, 332.8])
X = np.append(X, [378.4, 434.8, 477.3, 536.8, 593.1, 689.1, 760.0])
Y = np.array([10.07, 14.73, 17.94, 23.93, 29.61, 35.18, 40.02])
Y = np.append(Y, [44.82, 50.76, 55.05, 61.01, 66.4, 75.47, 81.78])
INK, FAINT, BLUE, RED = "#2b2b33", "#b9b9c0", "#1f5fa8", "#b3412e"


def model(x: Any, height: Any, rate: Any) -> Any:
    """What is moved under a load x."""
    return height * (1 - np.exp(-rate * x))


def main() -> None:
    """Draw the data with the fit, and the residuals with the standard error of the curve."""
    parameters, covariance = ad.optimize.curve_fit(model, X, Y, p0=[500, 1e-4])
    x = np.linspace(0, 800, 161)
    slopes = ad.jacobian(lambda p: model(x, p[0], p[1]))(parameters)
    error = np.sqrt(np.einsum("ij,jk,ik->i", slopes, covariance, slopes))
    plt.rcParams.update({"svg.hashsalt": "adjoint", "svg.fonttype": "path", "font.size": 11})
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.4, 3.4), layout="constrained")
    left.plot(x, model(x, *parameters), color=BLUE, lw=1.8, label="fit")
    left.plot(X, Y, "o", ms=5, color=INK, label="measured")
    left.set_title("The data and the fit", loc="left")
    left.legend(frameon=False)
    right.fill_between(x, -2 * error, 2 * error, color=BLUE, alpha=0.2, lw=0)
    right.plot(X, Y - model(X, *parameters), "o", ms=5, color=RED)
    right.set_title("Residuals, and two standard errors", loc="left")
    for axes in (left, right):
        axes.axhline(0, color=FAINT, lw=0.8, zorder=0)
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_xlabel("x")
    figure.savefig(Path(__file__).with_suffix(".svg"), metadata={"Date": None})


if __name__ == "__main__":
    main()
