"""What functions hold besides their code: cells, and other functions that they stand for."""

from __future__ import annotations

import sys
import types
from typing import Any, Final

from adjoint.capture.bytecode.code import facts_of
from adjoint.capture.clones.entering.users import is_ours, is_users_class, is_users_module
from adjoint.capture.facts.purity import is_pure_module
from adjoint.capture.facts.surveying import Surveying, content_of
from adjoint.capture.recording.tracing.traced import Traced
from adjoint.capture.scipy.table import below_backends, is_ruled

MADE_IN_PYTHON: Final = 1 << 9  # Py_TPFLAGS_HEAPTYPE


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


def has_rule(
    survey: Surveying, value: Any, name: str, where: str, codes: dict[int, types.CodeType]
) -> bool:
    """Whether a function is one of SciPy's with a rule: what it is made of does not matter then."""
    if not str(value.__module__).startswith("scipy.") or not is_ruled(value):
        return False
    for part in (value, below_backends(value)):
        codes[id(part.__code__)] = part.__code__
    code = survey.writer.constant(value.__code__)
    survey.writer.demand(f"{name} is not {survey.writer.constant(value)}", where, "function")
    survey.writer.demand(f"{name}.__code__ is not {code}", where, "code")
    return True


def dispatching(survey: Surveying, value: Any, name: str, where: str) -> None:
    """A function of `functools.singledispatch`: those that it stands for."""
    registry = survey.writer.let(f"{name}.registry")
    kinds = survey.writer.constant(list(value.registry))
    survey.writer.demand(f"[*{registry}] != {kinds}", where, "classes")
    for kind, function in value.registry.items():
        survey.visit(function, f"{registry}[{survey.writer.constant(kind)}]", where)


def own_attributes(survey: Surveying, value: Any, name: str, where: str) -> None:
    """That the attributes of a function, an object that wraps one or a class are the same objects.

    A loop could write into them. They are no fact of a replay, which sees them by what is asked.
    """
    survey.changing.append((name, True))
    inside = getattr(value, "__dict__", None)
    if inside is not None and any(type(held) is Traced for held in inside.values()):
        survey.hinder("attributes that hold traced values", where)
    elif inside is not None:
        survey.writer.values["same_attributes"] = same_attributes
        kept = survey.writer.constant([*inside.items()])
        survey.writer.demand(f"not same_attributes({name}, {kept})", where, "its attributes")


def attributes_of_class(survey: Surveying, value: type) -> None:
    """The same of a class of none of the user's modules, as `type(name, bases, {})` makes it."""
    if not is_users_class(value) and value.__flags__ & MADE_IN_PYTHON:
        own_attributes(survey, value, survey.writer.constant(value), value.__name__)


def same_attributes(value: Any, kept: list[tuple[str, Any]]) -> bool:
    """Whether an object has these attributes and no others."""
    inside = value.__dict__
    return len(inside) == len(kept) and all(inside.get(key, kept) is held for key, held in kept)


def imported(survey: Surveying, name: str) -> None:
    """A module that a function imports when it runs."""
    module: Any = sys.modules.get(name)
    if module is None:
        survey.hinder(f"it imports {name}, which nobody has imported yet")
    elif (
        not isinstance(module, types.ModuleType)  # what somebody has put in its place
        or is_users_module(module)
        or is_pure_module(name)
    ):
        modules = survey.writer.constant(sys.modules)
        survey.visit(module, f"{modules}[{name!r}]", name)
