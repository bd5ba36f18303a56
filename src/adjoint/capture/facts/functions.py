"""What functions hold besides their code: cells, and other functions that they stand for."""

from __future__ import annotations

import types
from typing import Any

from adjoint.capture.bytecode.code import facts_of
from adjoint.capture.clones.users import is_ours
from adjoint.capture.facts.surveying import Surveying, content_of


def own_cells(survey: Surveying, value: Any, closure: str, where: str) -> None:
    """What one of this package's functions closes over: the user's functions and plain data.

    What it keeps for itself changes, and is no fact.
    """
    stored = facts_of(value.__code__).stored_cells
    names = value.__code__.co_freevars
    for number, (free, cell) in enumerate(zip(names, value.__closure__ or (), strict=True)):
        if free not in stored:
            content = content_of(cell)
            users = type(content) is types.FunctionType and not is_ours(content)
            place = content.__qualname__ if users else f"{where} ({free})"
            survey.cell(cell, f"{closure}[{number}]", place)


def wrapped(survey: Surveying, value: Any, name: str, where: str) -> None:
    """The user's functions within one of a library, as `contextmanager` makes them."""
    for number, cell in enumerate(value.__closure__ or ()):
        content = content_of(cell)
        if type(content) is types.FunctionType:
            survey.visit(content, f"{name}.__closure__[{number}].cell_contents", where)


def dispatching(survey: Surveying, value: Any, name: str, where: str) -> None:
    """A function of `functools.singledispatch`: those that it stands for."""
    registry = survey.writer.let(f"{name}.registry")
    kinds = survey.writer.constant(list(value.registry))
    survey.writer.demand(f"[*{registry}] != {kinds}", where, "classes")
    for kind, function in value.registry.items():
        survey.visit(function, f"{registry}[{survey.writer.constant(kind)}]", where)
