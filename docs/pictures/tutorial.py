"""A pendulum fitted to measured angles, and how its curve moves with each parameter.

Run it to write `tutorial.svg` next to this file.
"""

from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import adjoint as ad

TIMES = np.arange(0.0, 6.01, 0.1)
NAMES = ("length", "friction", "first angle")
START = (1.0, 0.1, 0.8)
INK, FAINT = "#2b2b33", "#b9b9c0"
COLOURS = ("#1f5fa8", "#b3412e", "#3a8a4d")


class Pendulum:
    """An angle and its speed, advanced in small steps."""

    def __init__(self, length: Any, friction: Any, angle: Any) -> None:
        self.length, self.friction = length, friction
        self.state = np.array([angle, 0.0])

    def advance(self, step: float) -> None:
        """One step in time, in place."""
        angle, speed = self.state
        pull = 9.81 / self.length * np.sin(angle)
        self.state[1] -= step * (pull + self.friction * speed)
        self.state[0] += step * self.state[1]


def swing(times: Any, length: Any, friction: Any, angle: Any) -> Any:
    """The angles at these times, which are multiples of a tenth of a second."""
    pendulum, angles, now = Pendulum(length, friction, angle), [], 0.0
    for moment in times:
        while now < moment - 1e-9:
            pendulum.advance(0.02)
            now += 0.02
        angles.append(pendulum.state[0])
    return np.array(angles)


def main() -> None:
    """Draw the data with the first guess and the fit, and the columns of the Jacobian."""
    noise = np.random.default_rng(0).normal(scale=0.05, size=len(TIMES))
    measured = swing(TIMES, 1.2, 0.3, 1.0) + noise
    best, _ = ad.optimize.curve_fit(swing, TIMES, measured, p0=START)
    jacobian = ad.jacobian(lambda p: swing(TIMES, *p))(best)
    plt.rcParams.update({"svg.hashsalt": "adjoint", "svg.fonttype": "path", "font.size": 11})
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.4, 3.4), layout="constrained")
    left.plot(TIMES, swing(TIMES, *START), color=FAINT, lw=1.4, label="first guess")
    left.plot(TIMES, swing(TIMES, *best), color=COLOURS[0], lw=1.8, label="fit")
    left.plot(TIMES, measured, "o", ms=3.5, color=INK, label="measured")
    left.set_title("The angle in radians", loc="left")
    left.set_ylim(top=1.9)
    left.legend(frameon=False, loc="upper right")
    for column, name, colour in zip(jacobian.T, NAMES, COLOURS, strict=True):
        right.plot(TIMES, column, color=colour, lw=1.8, label=name)
    right.set_title("Its derivative in each parameter", loc="left")
    right.legend(frameon=False, loc="upper left", fontsize=9)
    for axes in (left, right):
        axes.axhline(0, color=FAINT, lw=0.8, zorder=0)
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_xlabel("time in seconds")
    figure.savefig(Path(__file__).with_suffix(".svg"), metadata={"Date": None})


if __name__ == "__main__":
    main()
