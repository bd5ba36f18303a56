"""What the public names of a module must say of themselves."""

from __future__ import annotations

import inspect
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
    """Public names without a docstring, and functions and classes without an example.

    Errors need no example: each has a test. Constants and modules need a docstring only where they
    can have one of their own.
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
    return None
