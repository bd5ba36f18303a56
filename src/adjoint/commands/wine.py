"""`adjoint wine`: a small network is trained, and four ways to its gradient are compared."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from adjoint.commands.failure import CommandError, told_in_one_line
from adjoint.datasets import load_wine
from adjoint.executors.xla.backend import device_of
from adjoint.report import (
    Training,
    accuracy,
    compare,
    comparison_table,
    default_learning_rate,
    draw_weights,
    loss_on,
    train,
)


class PipedConsole(Console):
    """A console that leaves it to the command what becomes of a closed pipe."""

    def on_broken_pipe(self) -> None:
        """Called where the reader has gone."""
        raise BrokenPipeError


def wine(
    hidden: Annotated[int, typer.Option(min=1, help="Units of the hidden layer.")] = 16,
    steps: Annotated[int, typer.Option(min=1, help="Steps of gradient descent.")] = 2000,
    learning_rate: Annotated[
        float | None,
        typer.Option(help="Length of a step.", show_default="1.25 / hidden, at most 0.1"),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the first weights.")] = 0,
    output: Annotated[
        Path, typer.Option(help="Where the picture goes; .png, .svg or .pdf.")
    ] = Path("wine.png"),
    device: Annotated[
        str | None,
        typer.Option(help="Where reverse mode runs too, by XLA: cpu, gpu, tpu, or gpu:1."),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print only the last line.")] = False,
) -> None:
    """Train the tanh network on the wine data, and compare four ways to its gradient.

    The gradient with respect to every weight by forward mode, by reverse mode, by hand and by
    central differences: how long each takes, how far it is from the exact one, how much memory it
    needs. Then the accuracy, and a picture of the loss and of the classification.

    \b
    Examples:
      adjoint wine
      adjoint wine --hidden 32 --steps 5000 --output wine.svg
      adjoint wine --hidden 2000 --device gpu
    """
    with told_in_one_line("wine"):
        _check_output(output)
        rate = default_learning_rate(hidden) if learning_rate is None else learning_rate
        if not (math.isfinite(rate) and rate > 0):
            raise CommandError(
                f"the learning rate {rate:g} is no length of a step; write a number above 0, such "
                f"as --learning-rate {default_learning_rate(hidden):g}."
            )
        if device is not None:
            device_of(device)  # which refuses what there is not, before anything is computed
        # Imported here: matplotlib is slow to load, and the other commands do without it.
        from adjoint.report.figures import save_figure, wine_figure

        console = PipedConsole(quiet=quiet)
        X, y = load_wine().network_data()
        weights = draw_weights(hidden, X.shape[0], seed)
        training = _train(weights, X, y, steps, rate, console)
        if not quiet:
            rows = compare(X, y, weights, device=device)
            console.print()
            console.print(comparison_table(rows, _title(weights, X), console.width))
            console.print()
        save_figure(wine_figure(training, X, y), output)
        right = accuracy(training.weights, X, y)
        typer.echo(
            f"loss {training.losses[0]:.4g} -> {training.losses[-1]:.4g} in {steps} steps, "
            f"accuracy {right:.1%} ({round(right * y.size)} of {y.size} wines), picture in {output}"
        )


def _title(weights: list[Any], X: Any) -> str:
    count = sum(w.size for w in weights)
    return (
        f"Four ways to the same gradient: of the loss over {X.shape[1]} wines, with respect to all "
        f"{count} weights, at those that training begins with"
    )


def _check_output(output: Path) -> None:
    if output.suffix.lower() not in {".pdf", ".png", ".svg"}:
        raise CommandError(f"the picture {output} must end in .png, .svg or .pdf.")
    if not output.parent.is_dir():
        raise CommandError(f"there is no folder {output.parent} to write the picture to.")


def _train(
    weights: list[Any], X: Any, y: Any, steps: int, rate: float, console: Console
) -> Training:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=30),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[loss]}"),
    )
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("training", total=steps, loss="")
        return train(
            loss_on(X, y),
            weights,
            steps,
            rate,
            after_step=lambda loss: progress.update(task, advance=1, loss=f"loss {loss:.4g}"),
        )
