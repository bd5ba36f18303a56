"""Where the user's code stands, as seen from ours."""

from __future__ import annotations

import sys
from typing import Any, Final

PACKAGE: Final = __file__.rpartition("capture")[0]


def user_place() -> tuple[int, int]:
    """The instruction of the user's code that is being run: its code object, and where in it."""
    frame: Any = sys._getframe(2)
    while frame is not None:
        code = frame.f_code
        if id(code) not in _ours:
            if not code.co_filename.startswith(PACKAGE):
                return id(code), frame.f_lasti
            _ours[id(code)] = code
        frame = frame.f_back
    return 0, 0


_ours: dict[int, Any] = {}  # the code of this package that was met, by identity


def user_line() -> str:
    """Where the user's code stands: the innermost frame outside this package and NumPy."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        name = frame.f_globals.get("__name__", "")  # of clones there is none
        file = frame.f_code.co_filename
        if not (name.startswith(("adjoint.", "numpy.")) or file.startswith(PACKAGE)):
            return f"{file}:{frame.f_lineno}"
        frame = frame.f_back
    return ""
