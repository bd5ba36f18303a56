"""Memory of forward and of reverse mode: while they run, and at most, against the length.

Draws what the lecture draws: the numbers held after each operation, by JVP and gradient programs of
a chain; and the peak of memory that tracemalloc measures against the length of the chain. Prints
these peaks in units of one array, for the table of docs/manual/order-of-products.md.

    python docs/pictures/memory.py
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

import adjoint as ad
from adjoint.executors import NumpyExecutor

mpl.use("Agg")
import matplotlib.pyplot as plt

SIZE = 20_000
LENGTHS = (5, 10, 20, 40, 80)
DRAWN = 20


def chain(length: int) -> Callable[[Any], Any]:
    """A composition of functions of SIZE numbers each, and their sum."""

    def function(x: Any) -> Any:
        for number in range(length):
            x = np.sin(x) * (1 + number / length)
        return np.sum(x)

    return function


def held(view: ad.ProgramView) -> list[int]:
    """How many numbers a program holds after each equation, its arguments not counted."""
    equations, outputs = view.program.equations, view.program.outputs
    last: dict[Any, int] = {}
    for number, equation in enumerate(equations):
        last.update((atom, number) for atom in (*equation.inputs, *equation.outputs))
    last.update((atom, len(equations)) for atom in outputs)
    size, found, ending = 0, [], {}
    for number, equation in enumerate(equations):
        for variable in equation.outputs:
            size += variable.type.size
            ending[last[variable]] = ending.get(last[variable], 0) + variable.type.size
        size -= ending.pop(number, 0)
        found.append(size)
    return found


def peak(view: ad.ProgramView) -> float:
    """The most memory that a run on NumPy takes, in arrays of the size of the first input."""
    run = NumpyExecutor().compile(view.program).run
    rng = np.random.default_rng(0)
    values = [rng.normal(size=each.shape)[()] for each in view.program.input_types]
    tracemalloc.start()
    run(*values)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most / values[0].nbytes


def main() -> None:
    """Measure, print, draw."""
    forward, reverse = [], []
    for number, length in enumerate(LENGTHS):
        # Memory of a run is kept for the next one of the same size, so each has a size of its own.
        forward.append(peak(ad.program(chain(length), np.ones(SIZE + 2 * number)).jvp()))
        reverse.append(peak(ad.program(chain(length), np.ones(SIZE + 2 * number + 1)).vjp()))
    print(f"| operations in the chain | {' | '.join(str(2 * n) for n in LENGTHS)} |")
    print(f"|:--|{'--:|' * len(LENGTHS)}")
    print(f"| forward mode | {' | '.join(f'{each:.1f}' for each in forward)} |")
    print(f"| reverse mode | {' | '.join(f'{each:.1f}' for each in reverse)} |")
    plt.rcParams["svg.hashsalt"] = "adjoint"
    figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained")
    view = ad.program(chain(DRAWN), np.ones(SIZE))
    for name, program in (("forward", view.jvp()), ("reverse", view.vjp())):
        left.plot(np.array(held(program)) / SIZE, label=name)
    left.set(xlabel="operations done", ylabel="arrays held", title="while it runs")
    right.plot(2 * np.array(LENGTHS), forward, "o-", label="forward")
    right.plot(2 * np.array(LENGTHS), reverse, "s-", label="reverse")
    right.set(xlabel="operations in the chain", ylabel="arrays held", title="at most, measured")
    for panel in (left, right):
        panel.grid(alpha=0.3)
        panel.legend()
    figure.savefig(Path(__file__).with_suffix(".svg"), metadata={"Date": None})


if __name__ == "__main__":
    main()
