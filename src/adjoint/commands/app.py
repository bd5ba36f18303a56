"""The command `adjoint`: its subcommands, their options, and what they print."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import Annotated

import typer

from adjoint.commands.benching import bench
from adjoint.commands.checking import check
from adjoint.commands.explaining import explain
from adjoint.commands.showing import show
from adjoint.commands.wine import wine

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
      adjoint wine                    train a network, four ways to its gradient
      adjoint check model.py:loss     test the derivatives of your own function
      adjoint explain model.py:loss   what becomes of it: kept, compiled, or why not
      adjoint bench model.py:loss     time it, its gradient, central differences
      adjoint show model.py:loss      its program and that of its derivative

    \b
    Exit codes: 0 all well, 1 a check failed, 2 wrong use or an error in your code.
    """


app.command(short_help="Train a network, compare four ways to its gradient.")(wine)
app.command(short_help="Test the derivatives of your own function.")(check)
app.command(short_help="Say what becomes of your function: kept, compiled, or why not.")(explain)
app.command(short_help="Time your function, its derivative and central differences.")(bench)
app.command(short_help="Print the program of your function and of its derivative.")(show)
