"""What the public names of a module must say of themselves."""

from __future__ import annotations

import inspect
import re
from enum import Enum
from types import ModuleType
from typing import Any


def public_names(module: ModuleType) -> list[str]:
    """`__all__`, or where there is none, the names without underscore defined in the module."""
    names = getattr(module, "__all__", None)
    if names is not None:
        return sorted(names)
    return sorted(
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__
    )


def documentation_violations(module: ModuleType) -> list[str]:
    """Public names without a docstring; functions and classes without an example or `Args:`.

    Errors need neither: each has a test, and is made by the library. Constants and modules need a
    docstring only where they can have one of their own.
    """
    found = []
    for name in public_names(module):
        if not hasattr(module, name):
            found.append(f"{module.__name__}.{name}: is in __all__ and does not exist")
            continue
        fault = _fault(getattr(module, name))
        if fault:
            found.append(f"{module.__name__}.{name}: {fault}")
    return found


def _fault(value: Any) -> str | None:
    is_code = inspect.isroutine(value) or inspect.isclass(value)
    if not (is_code or inspect.ismodule(value)):
        return None
    own = vars(value).get("__doc__") if inspect.isclass(value) else value.__doc__
    if not str(own or "").strip():
        return "has no docstring"
    is_error = inspect.isclass(value) and issubclass(value, BaseException)
    if is_code and not is_error and ">>>" not in str(own):
        return "has no example (>>>) in its docstring"
    if is_code and not is_error:
        missing = [name for name in _parameters(value) if name not in _described(str(own))]
        if missing:
            return f"does not say in its docstring what {', '.join(missing)} is"
    return None


def _parameters(value: Any) -> list[str]:
    """What a user gives, or reads in a record. No call makes a member of an enumeration."""
    if inspect.isclass(value) and issubclass(value, Enum):
        return []
    return [name for name in inspect.signature(value).parameters if not name.startswith("_")]


def _described(docstring: str) -> set[str]:
    """The names that stand before a colon under `Args:` or, in a record, `Attributes:`."""
    names: set[str] = set()
    sections = r"^(?:Args|Attributes):\n((?:    .*\n?|\n)+)"
    for section in re.findall(sections, inspect.cleandoc(docstring), re.MULTILINE):
        for entry in re.findall(r"^    ([\w*, ]+):", section, re.MULTILINE):
            names.update(name.strip(" *") for name in entry.split(","))
    return names
