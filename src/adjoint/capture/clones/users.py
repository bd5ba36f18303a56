"""What is the user's own code: functions, modules, classes and files.

All that is neither of Python's library, nor of an installed package, nor of this one.
"""

from __future__ import annotations

import functools
import sys
import sysconfig
import types
import weakref
from typing import Any, Final

import numpy as np

_PACKAGE: Final = __file__.rpartition("capture")[0]
_LIBRARIES: Final = (
    *{sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")},
    _PACKAGE,  # stand-ins bear the names of what they stand for
)
_LIMIT: Final = 4096
_MADE_IN_PYTHON: Final = 1 << 9  # Py_TPFLAGS_HEAPTYPE
_foreign: set[type] = {float, int, bool, str, bytes, list, dict, tuple, type(None), np.ndarray}
_users: dict[int, weakref.ref[type]] = {}  # by identity: no class is kept alive


def is_users(function: types.FunctionType) -> bool:
    """Whether a function is the user's own, and not of Python's or an installed package."""
    if is_ours(function) or (function.__module__ or "").partition(".")[0] == "adjoint":
        return False
    return is_users_file(function.__code__.co_filename)


def is_users_module(module: types.ModuleType) -> bool:
    """Whether a module is of the user's own code."""
    file = file_of(module)
    return file is not None and is_users_file(file) and not module.__name__.startswith("adjoint")


def file_of(module: Any) -> str | None:
    """The file of a module, which may be any object that is imported: no code of it is asked."""
    names = getattr(module, "__dict__", {})
    file = names.get("__file__")
    return file if isinstance(file, str) else None


def is_ours(function: types.FunctionType) -> bool:
    """Whether a function is one of this package's, also where it wraps one of the user's."""
    return function.__code__.co_filename.startswith(_PACKAGE)


@functools.lru_cache(maxsize=4096)
def is_users_file(path: str) -> bool:
    """Whether a file is neither of Python's library nor of an installed package."""
    return not path.startswith(_LIBRARIES)


def is_users_kind(kind: type) -> bool:
    """Whether a class, or one that it inherits from, is written by the user."""
    if kind in _foreign:
        return False
    place = id(kind)
    if place in _users:
        return True
    if any(map(is_users_class, kind.__mro__)):
        _users[place] = weakref.ref(kind, lambda _: _users.pop(place, None))
        return True
    if len(_foreign) < _LIMIT:
        _foreign.add(kind)
    return False


def is_users_class(kind: type) -> bool:
    """Whether a class itself is written by the user, whatever it inherits from."""
    name = getattr(kind, "__module__", None)
    name = name if type(name) is str else ""  # a class of classes in compiled code may have none
    if name == "builtins":  # that of classes too that are made without a `__name__` around them
        return bool(kind.__flags__ & _MADE_IN_PYTHON)
    if name.partition(".")[0] in ("adjoint", "numpy"):
        return False
    if name == "__main__":
        return True
    file = file_of(sys.modules.get(name))
    # Without a file: an interactive session, or code that was compiled from a string.
    if file is None:
        return name not in sys.builtin_module_names
    return is_users_file(file)
