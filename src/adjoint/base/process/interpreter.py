"""Which Pythons the package runs on.

Code of the user's is captured by way of CPython's bytecode, and whether an array is still referred
to by way of its counts of references.
"""

from __future__ import annotations

import sys
import sysconfig
import warnings
from typing import Final

from adjoint.base.errors import UnknownPythonWarning

_FIRST: Final = (3, 11)
_LAST: Final = (3, 15)


def knows_bytecode() -> bool:
    """Whether this version's instructions are known, so that clones can ask through them."""
    return _FIRST <= sys.version_info[:2] <= _LAST


def check_interpreter() -> None:
    """Refuse a Python on which results could be wrong; warn of one on which less is reached.

    Raises:
        ImportError: it is not CPython, or it is a free-threaded build of it.
    """
    name = sys.implementation.name
    if name != "cpython":
        raise ImportError(f"adjoint runs on CPython, whose bytecode it reads; this is {name}.")
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        raise ImportError(
            "adjoint does not run on a free-threaded build of CPython: it counts references to "
            "tell which arrays a function has kept, and there they are counted otherwise. "
            "Use the usual build of the same version."
        )
    if not knows_bytecode():
        version = ".".join(map(str, sys.version_info[:2]))
        warnings.warn(
            f"adjoint does not know the bytecode of Python {version} (it knows "
            f"{'.'.join(map(str, _FIRST))} to {'.'.join(map(str, _LAST))}). Functions are reached "
            "by their names alone: in methods, and in functions held by objects and containers, "
            "NumPy code that needs rewriting raises an error.",
            UnknownPythonWarning,
            stacklevel=2,
        )


check_interpreter()  # as the first thing that is done when the package is imported
