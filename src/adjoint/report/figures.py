"""The picture of a trained wine network: its loss over the steps, and what it says of each wine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D

from adjoint.report.network import Array, Training, Weights, accuracy, classes, outputs

_INK = "#2b2b33"
_FAINT = "#8a8a94"
_COLOURS = {-1: "#2f6f9f", 0: "#c98a1b", 1: "#8c2f4f"}  # told apart by colour-blind readers too
_MARKERS = {-1: "o", 0: "s", 1: "^"}
_STYLE: Any = {
    "contour.negative_linestyle": "solid",
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "axes.edgecolor": _FAINT,
    "axes.labelcolor": _INK,
    "axes.titlecolor": _INK,
    "axes.titlesize": 11.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlepad": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": _FAINT,
    "ytick.color": _FAINT,
    "xtick.labelcolor": _INK,
    "ytick.labelcolor": _INK,
    "legend.frameon": False,
    "legend.fontsize": 9,
}


def wine_figure(training: Training, X: Array, y: Array) -> Figure:
    """The loss on the left; the classification, in the plane of two components, on the right."""
    layout = ConstrainedLayoutEngine(w_pad=0.12, h_pad=0.1)
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(11.5, 4.9), dpi=160, layout=layout, facecolor="white")
        left, right = figure.subplots(1, 2, width_ratios=[1, 1.15])
        _draw_loss(left, training.losses)
        _draw_classes(right, training.weights, X, y)
    return figure


def save_figure(figure: Figure, path: Path) -> None:
    """Write a figure in the format that the name of the file asks for."""
    with mpl.rc_context(_STYLE):
        figure.savefig(path)


def _draw_loss(axes: Axes, losses: list[float]) -> None:
    steps = np.arange(1, len(losses) + 1)
    axes.plot(steps, losses, color=_COLOURS[1], linewidth=1.8, solid_capstyle="round")
    axes.scatter([steps[-1]], [losses[-1]], s=26, color=_COLOURS[1], zorder=3, clip_on=False)
    for number, offset, side in ((0, (9, -3), "left"), (-1, (-10, -8), "right")):
        axes.annotate(
            f"{losses[number]:.3g}",
            (float(steps[number]), losses[number]),
            offset,
            textcoords="offset points",
            ha=side,
            color=_INK,
            fontsize=9.5,
        )
    axes.loglog()
    axes.set_xlim(1, max(2, len(losses)))
    axes.grid(axis="y", color="#ececf0", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.set_title("Mean squared error")
    axes.set_xlabel("evaluations of the loss and its gradient")


def _draw_classes(axes: Axes, weights: Weights, X: Array, y: Array) -> None:
    """Samples in the plane of their two widest directions, over what the network says there."""
    plane = np.linalg.svd(X, full_matrices=False)[0][:, :2]  # (13, 2), the rows of X have mean 0
    points = plane.T @ X  # (2, n)
    said, true = classes(outputs(weights, X)), y[0]
    _draw_background(axes, weights, plane, points)
    for value, colour in _COLOURS.items():
        chosen = said == value
        axes.scatter(
            points[0, chosen],
            points[1, chosen],
            s=30,
            c=colour,
            marker=_MARKERS[value],
            linewidths=0.6,
            edgecolors="w",
        )
    wrong = said != true
    across, up = points[:, wrong]
    axes.scatter(across, up, s=150, facecolors="none", edgecolors=_INK, linewidths=1.4)
    right = accuracy(weights, X, y)
    axes.set_title(f"{right:.1%} of {true.size} wines told right")
    axes.set_xlabel("first principal component of the 13 measurements")
    axes.set_ylabel("second")
    axes.legend(handles=_legend(bool(wrong.any())), ncols=4, loc="lower center", handletextpad=0.2)


def _draw_background(axes: Axes, weights: Weights, plane: Array, points: Array) -> None:
    """The class that the network gives to each point of the plane itself, in a light tint."""
    low, high = points.min(axis=1) - 0.8, points.max(axis=1) + 0.8
    low[1] -= 0.14 * (high[1] - low[1])  # room for the legend
    first, second = (np.linspace(a, b, 240) for a, b in zip(low, high, strict=True))
    grid = np.stack(np.meshgrid(first, second)).reshape(2, -1)  # (2, 240 * 240)
    values = outputs(weights, plane @ grid).reshape(second.size, first.size)
    between = [-0.5, 0.5]
    shown = np.clip(values, -5, 5)
    axes.contourf(first, second, shown, [-9, *between, 9], colors=[*_COLOURS.values()], alpha=0.13)
    crossed = [level for level in between if shown.min() < level < shown.max()]
    if crossed:
        axes.contour(first, second, shown, crossed, colors="white", linewidths=1.6, zorder=1)
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    note = "tint: what the network says on this plane"
    axes.text(
        0.99, 0.98, note, transform=axes.transAxes, ha="right", va="top", color=_INK, size=8.5
    )


def _legend(with_errors: bool) -> list[Line2D]:
    handles = [
        Line2D([], [], color=_COLOURS[v], marker=_MARKERS[v], linestyle="", label=f"class {v + 2}")
        for v in _COLOURS
    ]
    if with_errors:
        ring = Line2D([], [], marker="o", linestyle="", label="told wrong", markersize=11)
        ring.set(markerfacecolor="none", markeredgecolor=_INK)
        handles.append(ring)
    return handles
