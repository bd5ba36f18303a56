"""Failures of a command told in one line on stderr, with exit code 2, instead of a traceback."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import typer

import adjoint
from adjoint.base.errors import AdjointError

WRONG_USE = 2
CLOSED_PIPE = 141  # what the shell reports of tools that SIGPIPE (13) ends: 128 + 13
_PACKAGE = str(Path(adjoint.__file__).parent)


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
        details: Print the traceback before it, of the user's frames.
    """
    try:
        yield
    except typer.Exit:
        raise
    except CommandError as error:
        _stop(command, str(error))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # the user's code may raise any
        if isinstance(error, BrokenPipeError) and not _own_frames(error, file):
            _leave_quietly()
        if details:
            _print_frames(error)
        blame = "" if isinstance(error, AdjointError) else "the code raised "
        told = f": {error}" if str(error) else ""
        message = f"{blame}{type(error).__name__}{told}{_place(error, file)}"
        notes = getattr(error, "__notes__", ())
        sentences = [f"{text.rstrip('.')}." for text in (message, *notes)] if notes else [message]
        _stop(command, " ".join(sentences))


@contextmanager
def writing(name: object) -> Iterator[None]:
    """What cannot be written within is told by its name: it is no error of the user's code."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise CommandError(f"cannot write {name}: {error.strerror or error}.") from error


def tell(report: str) -> None:
    """Print what the command was asked for."""
    with writing("the report"):
        typer.echo(report)


def _leave_quietly() -> None:
    """Leave as other tools do whose reader (`| head`) has gone.

    What is still to be written goes nowhere, or Python would complain at its end.
    """
    with suppress(OSError, ValueError):  # where there is no file behind it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    raise typer.Exit(CLOSED_PIPE)


def _print_frames(error: BaseException) -> None:
    """The traceback, without the frames of this package, from which users learn nothing."""
    frames = traceback.extract_tb(error.__traceback__)
    theirs = [frame for frame in frames if not frame.filename.startswith(_PACKAGE)]
    typer.echo("Traceback (most recent call last):", err=True)
    typer.echo("".join(traceback.format_list(theirs)), err=True, nl=False)


def _stop(command: str, message: str) -> None:
    typer.echo(f"adjoint {command}: {' '.join(message.split())}", err=True)
    raise typer.Exit(WRONG_USE)


def _own_frames(error: BaseException, file: Path | None) -> list[traceback.FrameSummary]:
    frames = traceback.extract_tb(error.__traceback__)
    return [frame for frame in frames if file is not None and Path(frame.filename) == file]


def _place(error: BaseException, file: Path | None) -> str:
    """Where in the user's file the exception came by last, unless the message says it."""
    if isinstance(error, SyntaxError):
        return ""  # its message names the line
    own = _own_frames(error, file)
    told = [str(error), *getattr(error, "__notes__", ())]
    if not own or file is None or any(_names_line(text, own[-1].lineno) for text in told):
        return ""
    return f" ({file.name}, line {own[-1].lineno})"


def _names_line(text: str, line: int | None) -> bool:
    return f"line {line}" in text or f".py:{line}" in text
