"""`adjoint explain`: what becomes of a function of the user's, fact by fact."""

from __future__ import annotations

import shutil
import textwrap

from adjoint.commands.case import argument_text, opened
from adjoint.commands.failure import tell
from adjoint.commands.options import (
    AtOption,
    DetailsOption,
    InputsOption,
    SeedOption,
    TargetArgument,
)
from adjoint.report.account import Section, account


def explain(
    target: TargetArgument,
    at: AtOption = None,
    inputs: InputsOption = None,
    seed: SeedOption = 0,
    details: DetailsOption = False,
) -> None:
    """Say what becomes of a function of your own: captured, kept, compiled, or why not.

    Whether it can be captured; at which values its way branches; whether its program is kept
    between calls, or why it is captured at each; which of its loops are loops of the program; how
    much its derivatives take; what becomes machine code and what stays with NumPy, and how long
    compiling takes; and NaNs and kinks at the point. The function is called several times.

    Inputs are found as by `adjoint check`.

    \b
    Examples:
      adjoint explain model.py:loss
      adjoint explain model.py:loss --at '[1.0, 2.0]'
    """
    with opened("explain", target, inputs, at, seed, details) as case:
        with case.quiet():
            sections = account(case.function, case.arguments)
        given = ", ".join(map(argument_text, case.arguments))
        width = max(40, min(shutil.get_terminal_size().columns, 100))
        tell(f"{case.name}({given})\n{_text(sections, width)}")


def _text(sections: list[Section], width: int) -> str:
    """Sentences wrapped at the width; lines of code as they are."""
    lines: list[str] = []
    for section in sections:
        lines += ["", section.title]
        for statement in section.statements:
            lines += textwrap.wrap(
                statement.text, width, initial_indent="  ", subsequent_indent="  "
            )
            lines += [f"    {line}" for line in statement.lines]
    return "\n".join(lines)
