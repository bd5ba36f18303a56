"""`adjoint bench`: a function of the user's timed beside its derivatives."""

from __future__ import annotations

from typing import Annotated

import typer

from adjoint.commands.case import argument_text, opened
from adjoint.commands.failure import writing
from adjoint.commands.options import (
    AtOption,
    DetailsOption,
    InputsOption,
    SeedOption,
    TargetArgument,
)
from adjoint.commands.wine import PipedConsole
from adjoint.report.benchmark import Benchmark, benchmark
from adjoint.report.tables import duration, fitted_table, ratio


def bench(
    target: TargetArgument,
    at: AtOption = None,
    inputs: InputsOption = None,
    seconds: Annotated[
        float, typer.Option(min=0.1, help="For how long the methods take turns, about.")
    ] = 2.0,
    seed: SeedOption = 0,
    details: DetailsOption = False,
) -> None:
    """Time a function of your own, its derivative and central differences.

    Of a function whose value is a number: the gradient, plain and jitted, a Hessian-vector product
    and central differences over all coordinates. Of any other: a JVP and a VJP. The methods take
    turns; told are the median of the rounds, how far the middle half of them is spread, and what
    the first call takes, in which all is prepared. Inputs are found as by `adjoint check`.

    \b
    Examples:
      adjoint bench model.py:loss
      adjoint bench model.py:loss --at '[1.0, 2.0]' --seconds 10
    """
    with opened("bench", target, inputs, at, seed, details) as case:
        with case.quiet():
            measured = benchmark(case.function, case.arguments, seconds)
        console = PipedConsole()
        given = ", ".join(map(argument_text, case.arguments))
        rows = [
            (
                timing.name,
                duration(timing.median),
                f"±{50 * (timing.high - timing.low) / timing.median:.0f} %",
                f"{ratio(timing.median / measured.timings[0].median)}×",
                duration(timing.first),
                "" if timing.error is None else f"{timing.error:.1e}",
            )
            for timing in measured.timings
        ]
        headings = ("", "median", "spread", "ratio", "first call", "error")
        title = f"{case.name}({given})"
        with writing("the report"):
            console.print(fitted_table(headings, rows, title, _caption(measured), console.width))


def _caption(measured: Benchmark) -> str:
    rounds = min(timing.rounds for timing in measured.timings)
    parts = [
        f"{rounds} rounds, in which the methods take turns",
        "ratio: of medians, to the value by NumPy",
        "spread: half the range of the middle half of the rounds",
        "first call: with capture, derivation and compiling",
        f"error: largest difference from {measured.reference}, relative to its largest entry",
    ]
    if not all(timing.whole for timing in measured.timings):
        parts.append(
            f"central differences: one of {measured.coordinates} coordinates was run, and its time "
            f"taken {measured.coordinates} times"
        )
    if not measured.replayed:
        parts.append("the function is captured at every call: adjoint explain says why")
    return "; ".join(parts)
