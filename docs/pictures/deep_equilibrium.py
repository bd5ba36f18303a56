"""A deep-equilibrium layer: its two solvers, their iterations, and the gradient by unrolling.

Run it to write two files next to this one: `deep_equilibrium_passes.svg`, the program of the
forward and the reverse pass with what solves an equation in red (Figure E1.8), and
`deep_equilibrium.svg`, how both iterations converge and how unrolling approaches the gradient.
"""

import re
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import adjoint as ad

INK, FAINT, BLUE, RED = "#2b2b33", "#b9b9c0", "#1f5fa8", "#b3412e"
SIZE = 30


def data() -> tuple[np.ndarray, np.ndarray]:
    """The weights of a contraction, and the input after its own weights."""
    generator = np.random.default_rng(0)
    W = generator.standard_normal((SIZE, SIZE))
    return 0.9 * W / np.linalg.norm(W, 2), generator.standard_normal(SIZE)


def g(y: np.ndarray, shift: np.ndarray, W: np.ndarray) -> np.ndarray:
    """The layer."""
    return np.tanh(W @ y + shift)


def draw_passes() -> None:
    """Draw the program of value and VJP, with the two solvers in red."""
    W, x = data()
    program = ad.program(lambda x: ad.implicit.fixed_point(g, np.zeros(SIZE), x, W), x)
    text = ad.draw(program.vjp()).svg()
    solver = re.compile(r'(<g class="node \w+)(" data-name="\w+">\n<title>\w+ = (\w+)\[)')
    solves = ("implicit", "linear_solve")
    text = solver.sub(lambda m: f"{m[1]} solver{m[2]}" if m[3] in solves else m[0], text)
    text = text.replace("</style>", f"\n.solver .shape{{fill:#fbe3de;stroke:{RED}}}</style>")
    target = Path(__file__).with_name(f"{Path(__file__).stem}_passes.svg")
    target.write_text(text, encoding="utf-8")


def draw_iterations() -> None:
    """Draw the residuals of both iterations, and the distance of the unrolled gradient."""
    plt.rcParams.update({"svg.hashsalt": "adjoint", "svg.fonttype": "path", "font.size": 11})
    W, shift = data()
    y = ad.implicit.fixed_point(g, np.zeros(SIZE), shift, W)
    v = 2 * y
    _, pull = ad.vjp(lambda y: g(y, shift, W), y)
    forward, backward = [], []
    at, t = np.zeros(SIZE), v
    for _ in range(30):
        forward.append(np.linalg.norm(at - g(at, shift, W)))
        backward.append(np.linalg.norm(pull(t)[0] + v - t))
        at, t = g(at, shift, W), pull(t)[0] + v

    def unrolled(W: np.ndarray, steps: int) -> np.ndarray:
        at = np.zeros(SIZE)
        for _ in range(steps):
            at = g(at, shift, W)
        return np.sum(at**2)

    exact = ad.grad(lambda W: np.sum(ad.implicit.fixed_point(g, np.zeros(SIZE), shift, W) ** 2))(W)
    steps = np.arange(1, 25, 2)
    apart = [
        np.linalg.norm(ad.grad(lambda W, n=n: unrolled(W, n))(W) - exact) / np.linalg.norm(exact)
        for n in steps
    ]
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.4, 3.4), layout="constrained")
    left.semilogy(forward, color=BLUE, label="forward, |y - g(x, y)|  (E.1.71)")
    left.semilogy(backward, color=RED, label="backward, |A* t + v - t|  (E.1.75)")
    left.set_title("residuals of the two iterations", loc="left")
    left.legend(frameon=False, fontsize=9)
    left.set_xlabel("iterations")
    right.semilogy(steps, apart, "o-", ms=4, color=INK)
    right.set_title("unrolled gradient, relative error", loc="left")
    right.set_xlabel("steps unrolled")
    for axes in (left, right):
        axes.grid(color=FAINT, lw=0.4)
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(Path(__file__).with_suffix(".svg"), metadata={"Date": None})


def main() -> None:
    """Draw both pictures."""
    draw_passes()
    draw_iterations()


if __name__ == "__main__":
    main()
