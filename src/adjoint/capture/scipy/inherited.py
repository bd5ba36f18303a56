"""What objects of the user's classes inherit from classes of SciPy's, and NumPy's polynomials.

Such an object is itself in captured code, so that the methods that its class defines are entered.
The others are the library's, which ours stand for at traced points; where the library's method
would call one that the user's class defines, ours would pass that by, and is refused.
"""

from __future__ import annotations

import dis
import functools
import itertools
import types
from typing import Any, Final

import numpy as np

from adjoint.base.errors import UnsupportedFunctionError
from adjoint.capture.numpy.table import unwrap_all
from adjoint.capture.recording.values.valued import refuse
from adjoint.capture.scipy.table import is_traced

_ATTRIBUTES: Final = ("LOAD_ATTR", "LOAD_METHOD", "STORE_ATTR", "DELETE_ATTR")
_ANYTHING: Final = frozenset({"*"})


def inherited(owner: Any, name: str, theirs: Any, ours: Any) -> Any:
    """A method that an object inherits: the library's, and that of ours for traced arguments.

    theirs: the library's method, bound. ours: what stands for the object, as for one of the
    library's own class.
    """

    @functools.wraps(theirs, updated=())
    def method(*args: Any, **kwargs: Any) -> Any:
        if not is_traced(*args, *kwargs.values()):
            plain = {key: unwrap_all(argument) for key, argument in kwargs.items()}
            return theirs(*map(unwrap_all, args), **plain)
        kind = type(owner).__name__
        passed_by = overridden(type(owner), name)
        if passed_by is not None:
            raise _refusal(f"{kind}.{name}", f"may call {kind}.{passed_by}, which overrides one")
        result = (ours if name == "__call__" else getattr(ours, name))(*args, **kwargs)
        if not (is_traced(result) or isinstance(result, _NUMBERS)):
            raise _refusal(f"{kind}.{name}", f"makes an object, which is to be of {kind} too")
        return result

    return method


_NUMBERS: Final = (np.ndarray, np.generic, float, complex)


def _refusal(method: str, what: str) -> UnsupportedFunctionError:
    error = UnsupportedFunctionError(
        f"The method of a library's class that {method} comes to was given traced values, and "
        f"{what}. That has no derivative here. Write it in the class with NumPy's functions, or "
        "give its derivative with ad.primitive."
    )
    refuse(error)
    return error


def is_librarys(kind: type) -> bool:
    """Whether a class is one of SciPy's or NumPy's."""
    return kind.__module__.partition(".")[0] in ("scipy", "numpy")


def overridden(kind: type, name: str) -> str | None:
    """A method that the library's one of a name may call and a class overrides; None if none is.

    It can be told where the code of the library's uses the object for its attributes alone.
    """
    bases = [base for base in kind.__mro__ if is_librarys(base)]
    sources = {key: base for base in reversed(kind.__mro__[:-1]) for key in vars(base)}
    overrides = {
        key
        for key, base in sources.items()
        if key != name
        and not is_librarys(base)
        and (key == "__call__" or not key.startswith(("__", "_abc_")))
        and any(key in vars(other) for other in bases)
    }
    if not overrides:
        return None
    used = _used(bases, name)
    return min(overrides if used is _ANYTHING else overrides & used, default=None)


def _used(bases: list[type], name: str) -> frozenset[str]:
    """The names that the library's method may look up on its object, through methods of it too."""
    used: set[str] = set()
    waiting = [name]
    while waiting:
        looked_up = waiting.pop()
        for base in bases:
            function: Any = vars(base).get(looked_up)
            function = getattr(function, "fget", function)
            if not isinstance(function, types.FunctionType):  # compiled, or without the object
                continue
            if _hands_itself_on(function.__code__):
                return _ANYTHING
            looked_up_there = set(function.__code__.co_names) - used
            used |= looked_up_there
            waiting += looked_up_there
    return frozenset(used)


@functools.lru_cache(maxsize=1024)
def _hands_itself_on(code: types.CodeType) -> bool:
    """Whether a method uses its object for anything but attributes: it may call it."""
    if not code.co_varnames:
        return True
    owner = code.co_varnames[0]
    if owner in code.co_cellvars:
        return True
    for instruction, following in itertools.pairwise(dis.get_instructions(code)):
        if not instruction.opname.startswith("LOAD_FAST"):
            continue
        named = instruction.argval
        named = named if isinstance(named, tuple) else (named,)  # two at once, from 3.13 on
        if owner in named[:-1] or (named[-1] == owner and following.opname not in _ATTRIBUTES):
            return True
    return False
