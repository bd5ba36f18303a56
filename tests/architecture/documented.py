"""What the public names of a module must say of themselves."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator
from enum import Enum
from types import ModuleType
from typing import Any

# Of the package, those which tell whether an argument is what it should be.
CHECKERS = {"check_argnums", "check_callable", "check_flag", "check_function", "generator_of"}
CHECKERS |= {"check_order", "check_whole"}


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

    Functions, and the public methods of public classes, say what they return, unless it is None,
    and what they raise, where they raise it themselves. A method that overrides another of the
    package need not say again what that says. Errors need no example: each has a test, and is made
    by the library. Constants and modules need a docstring only where they can have one of their
    own.
    """
    found = []
    for name in public_names(module):
        if not hasattr(module, name):
            found.append(f"{module.__name__}.{name}: is in __all__ and does not exist")
            continue
        value = getattr(module, name)
        faults = {name: _fault(value)}
        if inspect.isroutine(value):
            faults[name] = faults[name] or _silence(value)
        elif inspect.isclass(value):
            methods = _methods(value)
            faults |= {f"{name}.{own}": _silence(method) for own, method in methods}
        found += [f"{module.__name__}.{own}: {fault}" for own, fault in faults.items() if fault]
    return found


def _methods(kind: type) -> Iterator[tuple[str, Any]]:
    """The public methods that a class defines, and does not override."""
    for name, member in vars(kind).items():
        function = member.__func__ if isinstance(member, (staticmethod, classmethod)) else member
        inherited = any(name in vars(base) for base in kind.__mro__[1:])
        if inspect.isfunction(function) and not name.startswith("_") and not inherited:
            yield name, function


def _silence(function: Any) -> str | None:
    """What a function or method does not say of its parameters, results and errors."""
    text = inspect.cleandoc(function.__doc__ or "")
    own = [name for name in _parameters(function) if name not in ("self", "cls")]
    missing = [name for name in own if name not in _described(text)]
    if missing:
        return f"does not say in its docstring what {', '.join(missing)} is"
    returns = inspect.signature(function).return_annotation not in (None, "None")
    if returns and not re.search("^Returns:$", text, re.MULTILINE):
        return "does not say in its docstring what it returns"
    silent = [name for name in _raised(function) if name not in _section("Raises", text)]
    if silent:
        return f"does not say in its docstring when it raises {', '.join(silent)}"
    return None


def _raised(function: Any) -> list[str]:
    """The errors of the package that a function raises itself, or by one of the shared checkers."""
    try:
        source = inspect.getsource(inspect.unwrap(function))
    except (OSError, TypeError):  # made while the program runs
        return []
    names: set[str] = set()
    for node in ast.walk(ast.parse(textwrap.dedent(source))):
        match node:
            case ast.Raise(exc=ast.Call(func=ast.Name(id=name))) if name.endswith("Error"):
                names.add(name)
            case ast.Call(func=ast.Name(id=name)) if name in CHECKERS:
                names.add("ArgumentTypeError")
    return sorted(names)


def _section(title: str, text: str) -> str:
    """A section of a docstring."""
    return "".join(re.findall(rf"^{title}:\n((?:    .*\n?|\n)+)", text, re.MULTILINE))


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
