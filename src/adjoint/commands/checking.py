"""`adjoint check`: the derivatives of a function of the user's are tested."""

from __future__ import annotations

import typer

import adjoint as ad
from adjoint.commands.case import opened
from adjoint.commands.failure import tell
from adjoint.commands.options import (
    AtOption,
    DetailsOption,
    InputsOption,
    SeedOption,
    TargetArgument,
)

FAILED_CHECK = 1


def check(
    target: TargetArgument,
    at: AtOption = None,
    inputs: InputsOption = None,
    seed: SeedOption = 0,
    details: DetailsOption = False,
) -> None:
    """Test the derivatives of a function of your own.

    The exit code is 1 when a test fails, or when none could be made. What the function prints
    meanwhile is told once, below the report.

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
    with opened("check", target, inputs, at, seed, details) as case:
        with case.quiet():
            report = ad.testing.check(case.function, *case.arguments, seed=seed)
        tell(str(report))
        if not report.passed:
            raise typer.Exit(FAILED_CHECK)
