"""Failures of a command told in one line on stderr, with exit code 2, instead of a traceback."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer

from adjoint.base.errors import AdjointError

WRONG_USE = 2


class CommandError(Exception):
    """What the user asked of the command cannot be done; the message says why and what to do."""


@contextmanager
def told_in_one_line(
    command: str, file: Path | None = None, details: bool = False
) -> Iterator[None]:
    """Turn an exception of the user's code, or of what was asked of it, into one line.

    Args:
        command: The name of the command, which starts the line.
        file: The user's file: the line names the place in it that the exception passed last.
        details: Let the exception through with its traceback.
    """
    try:
        yield
    except typer.Exit:
        raise
    except CommandError as error:
        _stop(command, str(error))
    except AdjointError as error:
        if details:
            raise
        _stop(command, f"{type(error).__name__}: {error}{_place(error, file)}")
    except (Exception, SystemExit) as error:
        if details:
            raise
        _stop(command, f"the code raised {type(error).__name__}: {error}{_place(error, file)}")


def _stop(command: str, message: str) -> None:
    typer.echo(f"adjoint {command}: {' '.join(message.split())}", err=True)
    raise typer.Exit(WRONG_USE)


def _place(error: BaseException, file: Path | None) -> str:
    """Where in the user's file the exception came by last, unless the message says it."""
    if isinstance(error, SyntaxError):
        return ""  # its message names the line
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if file is not None and Path(frame.filename) == file]
    if not own or file is None or f"line {own[-1].lineno}" in str(error):
        return ""
    return f" ({file.name}, line {own[-1].lineno})"
