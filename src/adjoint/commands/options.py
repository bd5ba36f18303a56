"""The arguments and options that commands on a function of the user's share."""

from __future__ import annotations

from typing import Annotated

import typer

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
