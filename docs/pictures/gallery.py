"""A picture for each example that has none of its own, drawn from the example's own functions.

Run it to write `gallery_alignment.svg`, `gallery_epidemic.svg` and so on next to this file, or name
the examples that are wanted: `python docs/pictures/gallery.py orbit ridge`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import adjoint as ad

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))

INK, FAINT, BLUE, RED, GREEN = "#2b2b33", "#b9b9c0", "#1f5fa8", "#b3412e", "#3a8a4d"


def draw_alignment(example: Any, left: Any, right: Any) -> None:
    """The gradient of the cost, which is the expected path, and the average of the recordings."""
    left.imshow(example.expected_path(), cmap="Blues", origin="lower", aspect="auto")
    left.set_title("Which moments belong together", loc="left")
    left.set_xlabel("moment of the slow recording")
    left.set_ylabel("moment of the fast one")
    *_, (_, average) = example.averages()
    curves = (example.SHORT, FAINT, "fast"), (example.LONG, INK, "slow"), (average, RED, "average")
    for values, colour, label in curves:
        right.plot(np.linspace(0, 1, len(values)), values, color=colour, lw=1.8, label=label)
    right.set_title("Two recordings and their average", loc="left")
    right.set_xlabel("time")
    right.legend(frameon=False)


def draw_conductivity(example: Any, left: Any, right: Any) -> None:
    """A cut through the block: the conductivities that were, and those that were found."""
    truth, found, _ = example.reconstruction(12)
    size = round(len(truth) ** (1 / 3))
    for panel, values, title in ((left, truth, "that was"), (right, found, "that was found")):
        cut = values.reshape((size,) * 3)[:, size // 2, :]
        image = panel.imshow(cut.T, origin="lower", extent=(0, 1, 0, 1), cmap="cividis")
        image.set_clim(truth.min(), truth.max())
        panel.set_title(f"Log conductivity {title}", loc="left")
        panel.set_xlabel("$x$")
        panel.set_ylabel("$z$")


def draw_constrained(example: Any, left: Any, right: Any) -> None:
    """The chain before and after, and how fast the slope falls with each kind of Hessian."""
    left.plot(*example.nodes(example.start()).T, "o-", ms=3, color=FAINT, label="start")
    for (name, hessians), colour in zip(example.HESSIANS.items(), (BLUE, RED), strict=True):
        slopes: list[float] = []
        result = example.solve(*hessians, lambda _, state, to=slopes: to.append(state.optimality))
        rounds = range(1, len(slopes))  # the first call comes before the first step
        label = f"{name}, {result.niter} iterations"
        right.semilogy(rounds, slopes[1:], color=colour, label=label)
        if name == "exact":
            left.plot(*example.nodes(result.x).T, "o-", ms=3, color=INK, label="at rest")
    left.set_title("A chain of 24 links", loc="left")
    left.set_aspect("equal")
    left.legend(frameon=False)
    right.set_title("Slope of the Lagrangian, by its Hessian", loc="left")
    right.set_xlabel("iterations")
    right.legend(frameon=False)


def draw_deep_equilibrium(example: Any, left: Any, right: Any) -> None:
    """Some of the digits, and how unrolling approaches the gradient of the fixed point."""
    x, label, _, _ = example.digits()
    rows = [np.hstack([image.reshape(8, 8) for image in x[k : k + 8]]) for k in range(0, 32, 8)]
    left.imshow(np.vstack(rows), cmap="gray_r")
    left.set_title("Digits to be told apart", loc="left")
    left.set_axis_off()
    p, x, label = example.start(), x[: example.BATCH], label[: example.BATCH]
    exact = ad.grad(example.loss)(p, x, label)
    steps = [1, 2, 5, 10, 20, 40, 80]
    unrolled = [ad.grad(example.loss)(p, x, label, example.unrolled(count)) for count in steps]
    right.loglog(steps, [example.distance(each, exact) for each in unrolled], "o-", color=BLUE)
    right.set_title("Unrolled gradient, relative error", loc="left")
    right.set_xlabel("steps unrolled")


def draw_epidemic(example: Any, left: Any, right: Any) -> None:
    """The counts with the first guess and the fit, and how the curve moves with each parameter."""
    days = np.arange(1, example.DAYS + 1)

    def infected(logarithms: Any) -> Any:
        return example.Epidemic(*np.exp(logarithms)).run()

    result, _ = example.fit()
    left.plot(days, infected(example.START), color=FAINT, label="first guess")
    left.plot(days, infected(result.x), color=BLUE, lw=1.8, label="fit")
    left.plot(days, example.DATA, "o", ms=3, color=INK, label="counted")
    left.set_title("Share of infected", loc="left")
    left.legend(frameon=False)
    columns = ad.jacobian(infected)(result.x).T
    for column, name, colour in zip(columns, example.NAMES, (BLUE, RED, GREEN), strict=True):
        right.plot(days, column, color=colour, lw=1.8, label=name)
    right.axhline(0, color=FAINT, lw=0.8, zorder=0)
    right.set_title("Its derivative in each logarithm", loc="left")
    right.legend(frameon=False)
    for axes in (left, right):
        axes.set_xlabel("day")


def draw_local_energy(example: Any, left: Any, right: Any) -> None:
    """The local energies of the first wave function and of the last; the mean on the way."""
    steps = [energies for _, energies in example.descent()]
    for energies, colour, label in ((steps[0], FAINT, "start"), (steps[-1], BLUE, "end")):
        bins = np.linspace(-4.5, -1.5, 61)
        left.hist(energies, bins, histtype="stepfilled", alpha=0.6, color=colour, label=label)
    left.set_title("Local energies of 1000 walkers", loc="left")
    left.set_xlabel("energy in Hartree")
    left.legend(frameon=False)
    means = np.array([np.mean(energies) for energies in steps])
    errors = np.array([np.std(energies) / np.sqrt(len(energies)) for energies in steps])
    right.fill_between(range(len(steps)), means - errors, means + errors, color=BLUE, alpha=0.25)
    right.plot(means, color=BLUE, lw=1.2, label="mean, and its error")
    right.axhline(example.EXACT, color=INK, lw=0.8, label="exact")
    right.set_title("The energy", loc="left")
    right.set_xlabel("steps")
    right.legend(frameon=False)


def draw_gaussian_process(example: Any, left: Any, right: Any) -> None:
    """The points with the smoothed curve, and the evidence with its largest place."""
    times, truth, values = example.data()
    result = example.fitted(times, values)
    states, _ = example.smoothed(*result.x, times, values)
    left.plot(times, values, ".", ms=3, color=FAINT, label="measured")
    left.plot(times, truth, color=INK, lw=1, label="true")
    left.plot(times, states[::2], color=RED, lw=1.8, label="smoothed")
    left.set_title("A curve with noise", loc="left")
    left.set_xlabel("time")
    left.legend(frameon=False)
    motions, noises = np.linspace(-2.5, 1.5, 25), np.linspace(-3.2, -1.6, 25)
    heights = [[example.evidence((m, n), times, values) for m in motions] for n in noises]
    levels = -result.fun - np.array([40, 20, 10, 5, 2, 0.5])
    right.contour(motions, noises, heights, levels=levels, cmap="Blues")
    right.plot(*result.x, "o", color=RED)
    right.set_title("Evidence of the parameters", loc="left")
    right.set_xlabel("log motion")
    right.set_ylabel("log noise")


def draw_orbit(example: Any, left: Any, right: Any) -> None:
    """The orbits of Newton's iterates, and by how much each misses the start."""
    speeds, misses = zip(*example.newton(), strict=True)
    for number, colour in ((0, FAINT), (1, BLUE), (len(speeds) - 1, RED)):
        path = example.trajectory(speeds[number], 400)
        left.plot(*path.T, color=colour, lw=1.8, label=f"{number} of Newton's steps")
    left.plot(0, 0, "o", color=INK)
    left.set_title("Orbits after one period", loc="left")
    left.set_aspect("equal")
    left.set_ylim(bottom=-2.2)
    left.legend(frameon=False, loc="lower left", fontsize=9)
    right.semilogy(np.abs(misses[:-1]), "o-", color=RED)  # the last is what rounding leaves
    right.set_title("How far the end is from the start", loc="left")
    right.set_xlabel("Newton's steps")
    right.set_xticks(range(len(misses) - 1))


def draw_particle(example: Any, left: Any, right: Any) -> None:
    """The flight before and after Newton's method, and how the place of the hit depends on w."""
    across, up = np.meshgrid(np.linspace(-0.5, 12, 61), np.linspace(-0.5, 12, 61))
    places = np.stack([across.ravel(), up.ravel()], axis=1)
    best = example.newton(ad.grad, ad.grad)
    heights = ad.vmap(lambda x: example.potential(x, best))(places).reshape(across.shape)
    left.contour(across, up, heights, np.geomspace(0.15, 1.2, 8), colors=FAINT, linewidths=0.7)
    for w, colour, label in ((0.0, INK, "w = 0"), (best, RED, f"w = {best:.3f}")):
        states = [example.START]
        while example.above(states[-1]):
            states.append(example.fall(states[-1], w))
        left.plot(*np.array([x for x, _ in states]).T, color=colour, lw=1.8, label=label)
    left.axhline(0, color=FAINT, lw=0.8)
    left.set_title("The flight in the potential", loc="left")
    left.legend(frameon=False, loc="center left")
    controls = np.linspace(0, 0.4, 41)
    right.plot(controls, [example.crossing(w, ad.grad) for w in controls], color=BLUE, lw=1.8)
    right.plot(best, 0, "o", color=RED)
    right.axhline(0, color=FAINT, lw=0.8)
    right.set_title("Where it hits y = 0", loc="left")
    right.set_xlabel("control w")


def draw_ridge(example: Any, left: Any, right: Any) -> None:
    """The error over one weight, with what its gradient finds, and ten weights."""
    X, y, fold = example.folds()
    logarithms = np.linspace(np.log(1e-2), np.log(1e4), 200)
    errors = [example.unseen_error(np.array([t]), X, y, fold) for t in logarithms]
    one, ten = (example.descend(np.full(n, np.log(10.0)), X, y, fold) for n in (1, X.shape[1]))
    left.semilogx(np.exp(logarithms), errors, color=BLUE, lw=1.8, label="one weight, on a grid")
    left.plot(np.exp(one.x), one.fun, "o", color=RED, label=f"found by {one.nfev} gradients")
    left.axhline(ten.fun, color=GREEN, ls="--", label="ten weights")
    left.set_title("Error on unseen data", loc="left")
    left.set_xlabel("weight of the penalty")
    left.legend(frameon=False, fontsize=9)
    names = example.load_diabetes().feature_names
    right.barh(names, np.exp(ten.x), left=1e-3, color=GREEN, height=0.6)
    right.set_xscale("log")
    right.set_xlim(1e-3, 1e4)  # a feature whose weight is beyond that plays no part
    right.set_title("The ten weights", loc="left")


def draw_rosenbrock(example: Any, left: Any, right: Any) -> None:
    """The valley in two dimensions: steps of Newton's method and of steepest descent."""
    across, up = np.meshgrid(np.linspace(-1.8, 1.8, 41), np.linspace(-1, 2.5, 41))
    points = np.stack([across.ravel(), up.ravel()], axis=1)
    heights = ad.vmap(example.rosenbrock)(points).reshape(across.shape)
    gradient, hessian = ad.grad(example.rosenbrock), ad.hessian(example.rosenbrock)
    newton, descent = [np.array([-1.5, 1.0])], [np.array([-1.5, 1.0])]
    for _ in range(5):
        newton.append(newton[-1] - np.linalg.solve(hessian(newton[-1]), gradient(newton[-1])))
    for _ in range(300):
        descent.append(descent[-1] - 1e-3 * gradient(descent[-1]))
    left.contour(across, up, heights, np.geomspace(2, 2000, 8), colors=FAINT, linewidths=0.7)
    for path, colour, label in (
        (descent, BLUE, "300 steps along the gradient"),
        (newton, RED, "5 of Newton's"),
    ):
        left.plot(*np.array(path).T, lw=1.3, color=colour, label=label)
        right.semilogy([example.rosenbrock(x) for x in path[:21]], "o-", ms=3, color=colour)
    left.set_title("The valley", loc="left")
    left.set_ylim(-1, 2.5)
    left.legend(frameon=True, fontsize=9, loc="upper center")
    right.set_title("The height", loc="left")
    right.set_ylim(1e-20, 1e4)
    right.set_xlabel("steps")


def draw_reaction(example: Any, left: Any, right: Any) -> None:
    """Both substances at one point in time, and which rate depends on which concentration."""
    times = np.linspace(example.START, example.END, 200)
    states = example.solved(12, times).y.reshape(2, 12, 12, -1)
    for values, colour, label in ((states[0], BLUE, "u"), (states[1], RED, "v")):
        left.plot(times, values[4, 7], color=colour, lw=1.8, label=label)
    left.axvline(example.HEATED, color=FAINT, lw=1)
    left.set_title("Two substances at a point that is fed", loc="left")
    left.legend(frameon=False, fontsize=9)
    rows, columns = example.pattern(6).nonzero()
    right.plot(columns, rows, "s", color=GREEN, ms=2.4)
    right.invert_yaxis()
    right.set_aspect("equal")
    right.set_title("What each rate depends on", loc="left")


def draw_shock_tube(example: Any, left: Any, right: Any) -> None:
    """The gas after the shock, and what the Jacobian of the flux takes in each order."""
    x, cells = example.tube()
    density, momentum, energy = cells.T
    velocity = momentum / density
    pressure = (example.GAMMA - 1) * (energy - momentum * velocity / 2)
    curves = (density, INK, "density"), (velocity, BLUE, "velocity"), (pressure, RED, "pressure")
    for values, colour, label in curves:
        left.plot(x, values, color=colour, lw=1.8, label=label)
    left.set_title("The gas after a while", loc="left")
    left.legend(frameon=False, fontsize=9)
    counts = example.operations()
    names = ("forward", "reverse", "elimination")
    colours = (FAINT, FAINT, GREEN)
    bars = right.barh(names, [counts[name] for name in names], color=colours)
    right.bar_label(bars, padding=3)
    right.invert_yaxis()
    right.set_title("Operations for the Jacobian of the flux", loc="left")


def draw_string_energy(example: Any, left: Any, right: Any) -> None:
    """The gradients in two products, on two grids; one step in the energy's own product."""
    for n, style in ((9, "o"), (99, "-")):
        x, f, (plain, grid, natural) = example.gradients(n)
        left.plot(x, grid, style, color=BLUE, ms=4, label=f"the grid's product, {n} points")
        left.plot(x, plain, style, color=RED, ms=4, label=f"the plain product, {n} points")
    left.set_title("The gradient", loc="left")
    left.set_ylim(top=14)
    left.legend(frameon=False, fontsize=8, ncols=2, loc="upper center")
    right.plot(x, f, color=FAINT, lw=1.8, label="start")
    right.plot(x, f - natural, color=GREEN, lw=1.8, label="one step in the energy's product")
    right.plot(x[::6], (x * (1 - x) / 2)[::6], "o", ms=3, color=INK, label="minimum")
    right.set_title("The string", loc="left")
    right.set_ylim(top=1.5)
    right.legend(frameon=False, fontsize=9)


DRAWN: dict[str, Callable[[Any, Any, Any], None]] = {
    "alignment": draw_alignment,
    "conductivity": draw_conductivity,
    "constrained": draw_constrained,
    "deep_equilibrium": draw_deep_equilibrium,
    "epidemic": draw_epidemic,
    "local_energy": draw_local_energy,
    "gaussian_process": draw_gaussian_process,
    "orbit": draw_orbit,
    "particle": draw_particle,
    "ridge": draw_ridge,
    "rosenbrock": draw_rosenbrock,
    "reaction": draw_reaction,
    "shock_tube": draw_shock_tube,
    "string_energy": draw_string_energy,
}


def draw(name: str) -> None:
    """Two panels of curves for an example."""
    plt.rcParams.update({"svg.hashsalt": "adjoint", "svg.fonttype": "path", "font.size": 11})
    figure, panels = plt.subplots(1, 2, figsize=(8.4, 3.2), layout="constrained")
    DRAWN[name](import_module(name), *panels)
    for axes in panels:
        axes.spines[["top", "right"]].set_visible(False)
    target = Path(__file__).with_name(f"gallery_{name}.svg")
    figure.savefig(target, metadata={"Date": None})
    plt.close(figure)


def draw_program() -> None:
    """The program that the profiler of `own_executor` walks through, of the loss alone."""
    example = import_module("own_executor")
    text = ad.draw(ad.program(example.loss, *example.inputs_of_loss())).svg()
    Path(__file__).with_name("gallery_own_executor.svg").write_text(text, encoding="utf-8")


def main() -> None:
    """Draw those that are named, or all."""
    names = sys.argv[1:] or [*DRAWN, "own_executor"]
    for name in names:
        draw_program() if name == "own_executor" else draw(name)


if __name__ == "__main__":
    main()
