"""`adjoint show`: the program of a function of the user's, and those of its derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

import adjoint as ad
from adjoint.commands.case import opened
from adjoint.commands.options import (
    AtOption,
    DetailsOption,
    InputsOption,
    SeedOption,
    TargetArgument,
)


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
    with opened("show", target, inputs, at, seed, details) as case:
        some = jvp or vjp or source
        with case.quiet():
            program = ad.program(case.function, *case.arguments)
            parts: list[tuple[str, bool, Callable[[], object]]] = [
                ("program", not some, lambda: program),
                ("jvp", jvp, program.jvp),
                ("vjp", vjp or not some, program.vjp),
                ("source", source, program.source),
            ]
            texts = [(title, str(make())) for title, wanted, make in parts if wanted]
        for title, text in texts:
            heading = f"# {title} of {case.name}\n" if len(texts) > 1 else ""
            typer.echo(f"{heading}{text.rstrip()}\n")
