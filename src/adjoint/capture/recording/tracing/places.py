"""Where the user's code stands, as seen from ours."""

from __future__ import annotations

import dis
import sys
from collections.abc import Iterator
from types import CodeType
from typing import Any, Final

from adjoint.capture.bytecode.code import CONSTANTS

PACKAGE: Final = __file__.rpartition("capture")[0]


def user_frame() -> Any:
    """The frame of the user's code that is being run; None if there is none."""
    frame: Any = sys._getframe(2)
    while frame is not None:
        code = frame.f_code
        if id(code) not in _ours:
            if not code.co_filename.startswith(PACKAGE):
                return frame
            _ours[id(code)] = code
        frame = frame.f_back
    return None


_ours: dict[int, Any] = {}  # the code of this package that was met, by identity


def literal_places(code: CodeType) -> frozenset[int]:
    """Where code has binary operations of which one operand is a number that stands in it."""
    known = _literals.get(id(code))
    if known is None or known[0] is not code:
        if len(_literals) >= _MOST:
            _literals.clear()
        known = _literals[id(code)] = (code, frozenset(_find_literals(code.co_code)))
    return known[1]


_literals: dict[int, tuple[CodeType, frozenset[int]]] = {}
_MOST: Final = 4096
_LITERALS: Final = frozenset(dis.opmap[name] for name in CONSTANTS if name in dis.opmap)
_LOCALS: Final = ("LOAD_FAST", "LOAD_FAST_BORROW", "LOAD_DEREF")
_NAMED: Final = _LITERALS | {dis.opmap[name] for name in _LOCALS if name in dis.opmap}
_BINARY: Final = frozenset({dis.opmap["BINARY_OP"], dis.opmap["COMPARE_OP"]})
_NOTHING: Final = frozenset({dis.opmap.get("CACHE", 0), dis.EXTENDED_ARG})


def _find_literals(code: bytes) -> Iterator[int]:
    jumped_to = frozenset(dis.findlabels(code))  # type: ignore[arg-type]
    before = last = -1
    for place in range(0, len(code), 2):
        if place in jumped_to:
            before = last = -1
        operation = code[place]
        if operation in _NOTHING:
            continue
        if operation in _BINARY and (
            last in _LITERALS or (last in _NAMED and before in _LITERALS)  # `x * 2`, and `2 * x`
        ):
            yield place
        before, last = last, operation


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


def user_place() -> tuple[Any, tuple[int, int]]:
    """The user's frame, if there is one, and the instruction that it is at."""
    frame = user_frame()
    return frame, (id(frame.f_code), frame.f_lasti) if frame is not None else (0, 0)
