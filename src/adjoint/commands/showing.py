"""`adjoint show`: the program of a function of the user's, and those of its derivatives."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

import adjoint as ad
from adjoint.base.process.files import save
from adjoint.commands.case import Case, argument_text, opened
from adjoint.commands.failure import CommandError, tell, told_in_one_line, writing
from adjoint.commands.options import (
    AtOption,
    DetailsOption,
    InputsOption,
    SeedOption,
    TargetArgument,
)
from adjoint.report.page import function_page


def show(
    target: TargetArgument,
    at: AtOption = None,
    inputs: InputsOption = None,
    jvp: Annotated[bool, typer.Option("--jvp", help="Print the program of its JVP.")] = False,
    vjp: Annotated[bool, typer.Option("--vjp", help="Print the program of its pullback.")] = False,
    source: Annotated[
        bool, typer.Option("--source", help="Print the NumPy code that it runs as.")
    ] = False,
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="PAGE.html", help="Write a page about it, to be looked at."),
    ] = None,
    seed: SeedOption = 0,
    details: DetailsOption = False,
) -> None:
    """Print the program of a function of your own, and the programs of its derivatives.

    Without an option, its program and that of its pullback (reverse mode). Inputs are found as by
    `adjoint check`; their shapes and dtypes matter, and their values where the function asks.

    With --html, a page is written instead, in one file that needs no network: the programs with
    your lines and the values at the point, drawings to pan and to zoom, machine code, memory, and
    kinks.

    \b
    Examples:
      adjoint show model.py:loss
      adjoint show model.py:loss --jvp --source
      adjoint show model.py:loss --html loss.html
    """
    with told_in_one_line("show"):
        _check_page(html, jvp or vjp or source)
    with opened("show", target, inputs, at, seed, details) as case:
        some = jvp or vjp or source
        if html is not None:
            _write_page(case, html)
            return
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
            tell(f"{heading}{text.rstrip()}\n")


def _check_page(html: Path | None, with_others: bool) -> None:
    if html is None:
        return
    if with_others:
        raise CommandError("--html shows all programs; leave --jvp, --vjp and --source away.")
    if html.suffix.lower() not in {".html", ".htm"}:
        raise CommandError(f"the page {html} must end in .html.")
    if not html.parent.is_dir():
        raise CommandError(f"there is no folder {html.parent} to write the page to.")


def _write_page(case: Case, html: Path) -> None:
    given = ", ".join(map(argument_text, case.arguments))
    line = getattr(getattr(case.function, "__code__", None), "co_firstlineno", None)
    place = case.path.name if line is None else f"{case.path.name}, line {line}"
    with case.quiet():
        page = function_page(case.function, case.arguments, case.name, given, place)
    with writing(html):
        save(html, page)
    tell(f"{html}: {len(page.encode()) // 1024} KiB; open it in a browser")
