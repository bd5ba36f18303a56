"""Machine code as a builtin function of Python.

The function's `__self__` is a tuple: the inputs that are bound, and a keeper of the compiled code
and of the definition that Python reads the address from. So both live exactly as long as the
function can be called; Python lets go of `__self__` last, and whoever calls holds the function.

Where a function is in a ring with other objects, the collector of garbage empties these in any
order, and before that lets them say farewell (`__del__`), when they may still call the function. It
must not come to the keeper: an array of objects, into which it does not look, holds that.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

import numpy as np

from adjoint.base.errors import ArgumentTypeError

_FASTCALL: Final = 0x80  # METH_FASTCALL: arguments as a C array, none by keyword
_HOME: Final = "adjoint.executors.native"
_DOCUMENTATION: Final = """{name}(*arguments)
--

Machine code made by adjoint. Returns its results, or None where the arguments are not what it was
made for, or where a floating-point error occurred: the program must then be run otherwise."""


class CompiledCode(Protocol):
    """Compiled code, which lives as long as this object."""

    def address(self, name: str, /) -> int:
        """Where the function of this name begins."""


class _Definition(ctypes.Structure):
    """PyMethodDef."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("documentation", ctypes.c_char_p),
    )


class _Keeper:
    """What a function needs as long as it lives."""

    __slots__ = ("__weakref__", "code", "definition")

    def __init__(self, code: CompiledCode, name: str) -> None:
        self.code = code
        text = _DOCUMENTATION.format(name=name)
        address = code.address("entry")
        self.definition = _Definition(name.encode(), address, _FASTCALL, text.encode())


# A prototype of our own: those of `ctypes.pythonapi` are shared with everybody.
_new_function = ctypes.PYFUNCTYPE(
    ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.py_object
)(("PyCFunction_NewEx", ctypes.pythonapi))


def make_callable(
    code: CompiledCode, name: str, constants: Sequence[Any] = ()
) -> Callable[..., Any]:
    """The function `@entry` of the code; constants are its last inputs, which it then has."""
    return _function((*constants, _hidden(_Keeper(code, name))))


def bind(function: Callable[..., Any], constants: Sequence[Any]) -> Callable[..., Any]:
    """The same code with these as the last of the inputs that the function still takes.

    They are checked at each call, like arguments: an array stays the caller's own.
    """
    return _function((*constants, *_own(function)))


def _hidden(keeper: _Keeper) -> np.ndarray:
    """What holds a keeper, and frees it, without the collector of garbage."""
    array = np.empty((), object)
    array[()] = keeper
    return array


def _function(own: tuple[Any, ...]) -> Callable[..., Any]:
    definition = own[-1][()].definition
    function: Callable[..., Any] = _new_function(ctypes.addressof(definition), own, _HOME)
    return function


def _own(function: Callable[..., Any]) -> tuple[Any, ...]:
    own = getattr(function, "__self__", None)
    if type(own) is tuple and own:
        last = own[-1]
        if isinstance(last, np.ndarray) and not last.ndim and isinstance(last.item(), _Keeper):
            return own
    raise ArgumentTypeError(f"{function!r} was not made by make_callable")
