"""The transposition diagram: a linear map, its transpose, its adjoint and the two Riesz maps.

Run it to write `transposition.svg` next to this file.
"""

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.patches import FancyArrowPatch

INPUT, OUTPUT, INK = ("#b9e0b3", "#2e7d32"), ("#b5d2f2", "#1f5fa8"), "#2b2b33"
CORNERS = {  # place, letter, colours, square or round, what its elements are
    "E": ((0.0, 1.0), "$E$", INPUT, "square", "vectors $u$"),
    "F": ((2.0, 1.0), "$F$", OUTPUT, "round", "vectors $v$"),
    "E'": ((0.0, 0.0), "$E'$", INPUT, "square", "covectors"),
    "F'": ((2.0, 0.0), "$F'$", OUTPUT, "round", "covectors $w$"),
}
ARROWS = (  # from, to, label, its shift, bend, dashed
    ("E", "F", r"$D = \partial f(x)$", (0.0, 0.13), -0.12, False),
    ("F", "E", r"$D^* = R_E^{-1} D' R_F$", (0.0, -0.14), -0.12, True),
    ("F'", "E'", "$D'$", (0.0, -0.09), 0.0, True),
    ("E", "E'", "$R_E$", (-0.16, 0.0), 0.0, False),
    ("F", "F'", "$R_F$", (0.16, 0.0), 0.0, False),
)


def main() -> None:
    """Draw it."""
    plt.rcParams.update({"svg.hashsalt": "adjoint", "svg.fonttype": "path", "font.size": 13})
    figure, axes = plt.subplots(figsize=(6.6, 3.7), layout="constrained")
    for (x, y), letter, (face, edge), form, words in CORNERS.values():
        size = 30 if form == "square" else 32
        axes.plot(
            x, y, "s" if form == "square" else "o", ms=size, mfc=face, mec=edge, mew=1.5, zorder=3
        )
        axes.text(x, y, letter, ha="center", va="center", color=INK, zorder=4)
        side = -0.28 if x == 0 else 0.28
        align = "right" if x == 0 else "left"
        axes.text(x + side, y, words, ha=align, va="center", color=edge, fontsize=11)
    for start, end, label, shift, bend, dashed in ARROWS:
        one, other = CORNERS[start][0], CORNERS[end][0]
        arrow = FancyArrowPatch(
            one,
            other,
            arrowstyle="-|>",
            mutation_scale=16,
            connectionstyle=f"arc3,rad={bend}",
            shrinkA=21,
            shrinkB=21,
            color=OUTPUT[1] if dashed else INK,
            linestyle=(0, (4, 2)) if dashed else "solid",
            linewidth=1.5,
        )
        axes.add_patch(arrow)
        middle = ((one[0] + other[0]) / 2 + shift[0], (one[1] + other[1]) / 2 + shift[1])
        axes.text(*middle, label, ha="center", va="center", color=INK)
    axes.set_xlim(-1.05, 3.05)
    axes.set_ylim(-0.28, 1.28)
    axes.axis("off")
    figure.savefig(Path(__file__).with_suffix(".svg"), metadata={"Date": None})


if __name__ == "__main__":
    main()
