"""Functions that do nothing but compute, as their bytecode proves.

Each instruction, of the function and of all that it can call, is one that only computes
(`computing.py`): with local names, numbers, tuples, ranges, arithmetic and indexing, and with
functions that are looked up to be called at once: NumPy's ufuncs, those of `math`, and others that
are proven likewise. Nothing is stored but in local names, nothing is caught, nothing is asked for
its identity. All names that are looked up are watched from then on, where clones look them up.
"""

from __future__ import annotations

import builtins
import inspect
import math
import types
from typing import Any, Final, NamedTuple

import numpy as np

from adjoint.capture.clones.entering.clone import ABSENT
from adjoint.capture.clones.entering.users import is_users
from adjoint.capture.clones.remembering.computing import DATA, FUNCTION, only_computes
from adjoint.capture.clones.stand_ins.shadows import shadow_of
from adjoint.capture.recording.tracing.hooks import hooks

_BUILTINS: Final = {
    name: getattr(builtins, name)
    for name in ("abs", "enumerate", "len", "max", "min", "range", "reversed", "sum", "tuple")
}
_NUMBERS: Final = frozenset({int, float, complex, bool, type(None)})
_UFUNCS: Final = frozenset([value for value in vars(np).values() if type(value) is np.ufunc])
_OTHERWISE: Final = (
    inspect.CO_VARARGS
    | inspect.CO_VARKEYWORDS
    | inspect.CO_GENERATOR
    | inspect.CO_COROUTINE
    | inspect.CO_ASYNC_GENERATOR
)
_MOST: Final = 64  # functions that one may call


class Watched(NamedTuple):
    """A name that is looked up: in which mapping, and what it is bound to."""

    names: Any
    name: str
    value: Any


class Proof:
    """What a function was found to be, which it is as long as this holds."""

    __slots__ = ("functions", "watched")

    def __init__(self) -> None:
        self.functions: dict[types.FunctionType, types.CodeType] = {}
        self.watched: list[Watched] = []

    def holds(self) -> bool:
        """Whether the functions, and all names that they look up, are what they were."""
        for function, code in self.functions.items():
            if function.__code__ is not code or not _is_called_plainly(function):
                return False
        return all([names.get(name, ABSENT) is value for names, name, value in self.watched])


def proof_of(function: Any) -> Proof | None:
    """The proof that a function, and all that it can call, only computes; None without one."""
    proof = Proof()
    waiting = [function]
    while waiting:
        called = waiting.pop()
        if called in proof.functions:
            continue
        if len(proof.functions) >= _MOST or not _is_plain_function(called):
            return None
        proof.functions[called] = called.__code__
        called_there = _read(called, proof.watched)
        if called_there is None:
            return None
        waiting += called_there
    return proof


def _is_plain_function(function: Any) -> bool:
    if type(function) is not types.FunctionType or type(function.__globals__) is not dict:
        return False
    code = function.__code__
    if code.co_flags & _OTHERWISE or code.co_cellvars or code.co_freevars:
        return False
    if code.co_kwonlyargcount or code.co_exceptiontable:
        return False
    return _is_called_plainly(function) and is_users(function)


def _is_called_plainly(function: types.FunctionType) -> bool:
    """Whether a function has no defaults, which somebody may write into."""
    return function.__defaults__ is None and function.__kwdefaults__ is None


def _read(function: types.FunctionType, watched: list[Watched]) -> list[Any] | None:
    """The functions that one looks up, if it does nothing else but compute."""
    called: list[Any] = []

    def look_up(name: str) -> Any:
        value = _looked_up(function, name, watched)
        if value is np or value is math:
            return value
        if type(value) is not types.FunctionType:
            return _kind_of(value)
        called.append(value)
        return FUNCTION

    def member(module: Any, name: str) -> Any:
        return _member(module, name, watched)

    return called if only_computes(function.__code__, look_up, member) else None


def _looked_up(function: types.FunctionType, name: str, watched: list[Watched]) -> Any:
    """What a global is bound to, which is watched from now on."""
    names = function.__globals__
    value = names.get(name, ABSENT)
    watched.append(Watched(names, name, value))
    if value is ABSENT:
        plain: Any = names.get("__builtins__", builtins)
        plain = plain if isinstance(plain, dict) else vars(plain)
        value = plain.get(name, ABSENT)
        watched.append(Watched(plain, name, value))
    return value


def _member(module: Any, name: str, watched: list[Watched]) -> str | None:
    """What is looked up in a module, in which it is watched, and in what clones see in its place.

    Those assign to the module's stand-in, which must have what it would have of itself.
    """
    value = vars(module).get(name, ABSENT)
    kind = _kind_of(value)
    if kind is None:
        return None
    stand_in = shadow_of(module)
    shown = getattr(stand_in, name, ABSENT)  # which is kept there
    if shown is not hooks.rebind(value):
        return None
    watched += (Watched(vars(module), name, value), Watched(vars(stand_in), name, shown))
    return kind


def _kind_of(value: Any) -> str | None:
    """Data for a number; a function if it does nothing but compute from data; None for others."""
    kind = type(value)
    if kind in _NUMBERS:
        return DATA
    if kind is types.BuiltinFunctionType and value.__self__ is math:
        return FUNCTION if vars(math).get(value.__name__) is value else None
    if kind is np.ufunc:
        return FUNCTION if value in _UFUNCS else None
    known = kind in (type, types.BuiltinFunctionType) and any(
        [value is known for known in _BUILTINS.values()]
    )
    return FUNCTION if known else None
