"""A function of the user's with its arguments, opened for a command: what every such command does.

Commands call the function many times. What it prints meanwhile is kept from the report, and told
once below it, on stderr, so that the report alone can be piped on.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import typer

from adjoint.commands.failure import CommandError, told_in_one_line
from adjoint.commands.target import Target, find_inputs, loaded, split_target

SHOWN = 5  # lines of what a function has printed
LONGEST = 100  # characters of each of these


@dataclass(frozen=True)
class Case:
    """A function, its arguments, and what it has printed so far."""

    target: Target
    path: Path
    arguments: tuple[Any, ...]
    _printed: io.StringIO = field(default_factory=io.StringIO)

    @property
    def name(self) -> str:
        """The name that the function was asked by."""
        return self.target.name

    @property
    def function(self) -> Any:
        """The function."""
        return self.target.function

    @contextmanager
    def quiet(self) -> Iterator[None]:
        """What is printed within is kept, to be told at the end."""
        with redirect_stdout(self._printed):
            yield

    def tell_printed(self) -> None:
        """Say on stderr what the function has printed, shortened."""
        lines = self._printed.getvalue().splitlines()
        if not lines:
            return
        shown = [line[:LONGEST] + "…" * (len(line) > LONGEST) for line in lines[:SHOWN]]
        head = f"{self.name} printed {len(lines)} line{'s' * (len(lines) != 1)} meanwhile"
        more = f"; the first {SHOWN}" if len(lines) > SHOWN else ""
        typer.echo("\n".join([f"{head}{more}:", *(f"  {line}" for line in shown)]), err=True)


@contextmanager
def opened(
    command: str, target: str, inputs: str | None, at: str | None, seed: int, details: bool
) -> Iterator[Case]:
    """The function and its arguments; faults within become one line on stderr and exit code 2."""
    with told_in_one_line(command):
        path, name = split_target(target)
    with told_in_one_line(command, path, details), loaded(path, name) as wanted:
        case = Case(wanted, path, find_inputs(wanted, inputs, seed, at))
        try:
            yield case
        except CommandError:
            raise
        except Exception as error:
            if not isinstance(error, BrokenPipeError):
                error.add_note(f"It was called with {_called_with(case)}.")
            raise
        finally:
            case.tell_printed()


def _called_with(case: Case) -> str:
    return ", ".join(map(argument_text, case.arguments)) or "no arguments"


def argument_text(argument: Any) -> str:
    """The type of an argument in a few letters: `float64[3, 3]`, `float`, `a list of 2`."""
    if isinstance(argument, np.ndarray | np.generic):
        return f"{argument.dtype}[{', '.join(map(str, argument.shape))}]"
    kind = type(argument).__name__
    if isinstance(argument, tuple | list | dict):
        return f"a {kind} of {len(argument)}"
    return f"{kind} {argument!r}" if isinstance(argument, int | float | complex) else kind
