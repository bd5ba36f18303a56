"""The three commands and their options."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

import adjoint as ad
from adjoint.commands.failure import CommandError, told_in_one_line
from adjoint.commands.target import find_inputs, loaded, split_target
from adjoint.datasets import load_wine
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

FAILED_CHECK = 1

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _print_version(asked: bool) -> None:
    if asked:
        try:
            typer.echo(f"adjoint {version('adjoint')}")
        except PackageNotFoundError:
            typer.echo("adjoint (not installed)")
        raise typer.Exit


@app.callback()
def adjoint(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and leave."
        ),
    ] = False,
) -> None:
    """Automatic differentiation for plain NumPy code, where a derivative is a linear map.

    \b
    Examples:
      adjoint wine                      train a small network, compare four ways to its gradient
      adjoint check model.py:loss       test the derivatives of your own function
      adjoint show model.py:loss        print its program and that of its derivative

    \b
    Exit codes: 0 all well, 1 a check failed, 2 wrong use or an error in your code.
    """


# --- wine -----------------------------------------------------------------------------------------


@app.command(short_help="Train a network, compare four ways to its gradient.")
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
    """
    with told_in_one_line("wine"):
        _check_output(output)
        # Imported here: matplotlib is slow to load, and the other commands do without it.
        from adjoint.report.figures import save_figure, wine_figure

        console = Console(quiet=quiet)
        X, y = load_wine().network_data()
        weights = draw_weights(hidden, X.shape[0], seed)
        rate = default_learning_rate(hidden) if learning_rate is None else learning_rate
        training = _train(weights, X, y, steps, rate, console)
        if not quiet:
            title = f"The gradient with respect to all {sum(w.size for w in weights)} weights"
            console.print()
            console.print(comparison_table(compare(X, y, weights), title))
            console.print()
        save_figure(wine_figure(training, X, y), output)
        right = accuracy(training.weights, X, y)
        typer.echo(
            f"loss {training.losses[0]:.4g} -> {training.losses[-1]:.4g} in {steps} steps, "
            f"accuracy {right:.1%} ({round(right * y.size)} of {y.size} wines), picture in {output}"
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
        TextColumn("loss {task.fields[loss]:.4g}"),
    )
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("training", total=steps, loss=float("nan"))
        return train(
            loss_on(X, y),
            weights,
            steps,
            rate,
            after_step=lambda loss: progress.update(task, advance=1, loss=loss),
        )


# --- check and show -------------------------------------------------------------------------------

TargetArgument = Annotated[
    str,
    typer.Argument(metavar="FILE.py:FUNCTION", help="The function, and the file it stands in."),
]
InputsOption = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Variable or function of the file that holds the inputs."),
]
AtOption = Annotated[
    str | None,
    typer.Option(
        "--at", metavar="POINT", help="The arguments themselves: '[1.0, 2.0]', '(1.0, [2.0, 3.0])'."
    ),
]
SeedOption = Annotated[int, typer.Option(min=0, help="Seed of whatever is drawn at random.")]
DetailsOption = Annotated[
    bool, typer.Option("--traceback", help="Show where in your code an error was raised.")
]


@app.command(short_help="Test the derivatives of your own function.")
def check(
    target: TargetArgument,
    at: AtOption = None,
    inputs: InputsOption = None,
    seed: SeedOption = 0,
    details: DetailsOption = False,
) -> None:
    """Test the derivatives of a function of your own.

    The exit code is 1 when a test fails, or when none could be made.

    \b
    The inputs are the first of these that is there:
      1. --at POINT: numbers, and lists of them, which are arrays;
      2. --inputs NAME: a variable of the file, or a function without arguments;
      3. FUNCTION_inputs, then inputs, in the file;
      4. the defaults of the parameters, where all have one;
      5. random values after the annotations of the parameters without default:
         float, complex, a space such as ad.spaces.Euclidean(3), or
         Annotated[np.ndarray, (3, 4)] and Annotated[np.ndarray, (3, 4), "float32"].
    A tuple holds the arguments; anything else is the only argument.

    \b
    Examples:
      adjoint check model.py:loss --at '[1.0, 2.0]'
      adjoint check model.py:loss --inputs small_case --seed 7
    """
    path, name = _split(target, "check")
    with told_in_one_line("check", path, details), loaded(path, name) as loaded_target:
        report = ad.testing.check(
            loaded_target.function, *find_inputs(loaded_target, inputs, seed, at), seed=seed
        )
        typer.echo(str(report))
        if not report.passed:
            raise typer.Exit(FAILED_CHECK)


@app.command(short_help="Print the program of your function and of its derivative.")
def show(
    target: TargetArgument,
    at: AtOption = None,
    inputs: InputsOption = None,
    jvp: Annotated[bool, typer.Option("--jvp", help="Print the program of its JVP.")] = False,
    vjp: Annotated[bool, typer.Option("--vjp", help="Print the program of its pullback.")] = False,
    source: Annotated[
        bool, typer.Option("--source", help="Print the NumPy code that it runs as.")
    ] = False,
    seed: SeedOption = 0,
    details: DetailsOption = False,
) -> None:
    """Print the program of a function of your own, and the programs of its derivatives.

    Without an option, its program and that of its pullback (reverse mode). Inputs are found as by
    `adjoint check`; their shapes and dtypes matter, and their values where the function asks.

    \b
    Examples:
      adjoint show model.py:loss
      adjoint show model.py:loss --jvp --source
    """
    path, name = _split(target, "show")
    with told_in_one_line("show", path, details), loaded(path, name) as loaded_target:
        arguments = find_inputs(loaded_target, inputs, seed, at)
        program = ad.program(loaded_target.function, *arguments)
        some = jvp or vjp or source
        parts: list[tuple[str, bool, Callable[[], object]]] = [
            ("program", not some, lambda: program),
            ("jvp", jvp, program.jvp),
            ("vjp", vjp or not some, program.vjp),
            ("source", source, program.source),
        ]
        texts = [(title, str(make())) for title, wanted, make in parts if wanted]
        for title, text in texts:
            heading = f"# {title} of {name}\n" if len(texts) > 1 else ""
            typer.echo(f"{heading}{text.rstrip()}\n")


def _split(target: str, command: str) -> tuple[Path, str]:
    """The file and the name of a target; a wrong one is told in one line."""
    with told_in_one_line(command):
        return split_target(target)
