"""What the kinds of values ask of a survey."""

from __future__ import annotations

import sys
import types
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

from adjoint.capture.clones.entering.users import is_users_module
from adjoint.capture.facts.writing import Absent, FactWriter


class Running(NamedTuple):
    """The code of a function that is being run, as the user wrote it, and its globals."""

    code: types.CodeType
    names: dict[str, Any]


class Surveying(ABC):
    """What the kinds ask of a survey; see `survey.py` and `kinds.py`."""

    writer: FactWriter
    seen: dict[int, tuple[Any, str]]
    changing: list[tuple[str, bool]]
    arrays: list[tuple[str, Any]]
    generators: list[Any]
    bytes: int
    whole: bool
    within: bool
    traced: list[str]

    @abstractmethod
    def visit(self, value: Any, expression: str, where: str, traced: bool = False) -> None:
        """Note what a value is."""

    @abstractmethod
    def place(
        self, value: Any, expression: str, where: str, container: Any, key: str | None
    ) -> None:
        """Note what a value is that may be data, in a place where something else can be put."""

    @abstractmethod
    def hinder(self, text: str, where: str = "") -> None:
        """Note why the function cannot be replayed."""

    @abstractmethod
    def hold(self, value: Any, inside: Any, name: str, where: str) -> None:
        """An object whose attributes are looked at as far as code may ask for them."""

    @abstractmethod
    def class_facts(self, value: type) -> None:
        """What the user's classes among a class and those above it define."""

    def once(
        self, value: Any, expression: str, where: str, changing: bool | None = None
    ) -> str | None:
        """A name for an object; None where it was met before, and must be the same one.

        changing: for what can change, whether it may be told from its equals without `is`.
        """
        known = self.seen.get(id(value))
        if known is not None:
            self.writer.demand(f"{expression} is not {known[1]}", where, "the same object")
            return None
        name = self.writer.let(expression)
        self.seen[id(value)] = (value, name)
        if changing is not None:
            self.changing.append((name, changing))
        return name

    def exactly(self, value: Any, expression: str, where: str, what: str = "identity") -> None:
        """It must be this very object."""
        self.writer.demand(f"{expression} is not {self.writer.constant(value)}", where, what)

    def cell(self, cell: Any, expression: str, where: str, traced: bool = False) -> None:
        """What a cell of a closure holds."""
        if self.within:  # it may be written into as an object is
            self.changing.append((expression, False))
        try:
            content = cell.cell_contents
        except ValueError:  # not bound yet
            self.writer.demand(f"not unbound({expression})", where, "not bound yet")
            self.writer.values["unbound"] = _is_unbound
            return
        if traced:
            self.visit(content, f"{expression}.cell_contents", where, traced)
        else:
            self.place(content, f"{expression}.cell_contents", where, cell, None)


Look = Callable[[Surveying, Any, str, str, bool], None]


def _is_unbound(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018  # whether it raises
    except ValueError:
        return True
    return False


def content_of(cell: Any) -> Any:
    """What a cell holds, or Absent."""
    try:
        return cell.cell_contents
    except ValueError:
        return Absent


def is_users_module_dict(inside: dict[str, Any]) -> bool:
    """Whether these are the names of a module of the user's."""
    module = sys.modules.get(inside.get("__name__", ""))
    return module is not None and vars(module) is inside and is_users_module(module)
