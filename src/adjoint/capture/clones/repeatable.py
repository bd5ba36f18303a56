"""Functions that do nothing but compute, as their bytecode proves.

Each instruction, of the function and of all that it can call, is one that this file knows: it uses
local names, numbers, tuples, ranges, arithmetic and indexing, NumPy's ufuncs and functions of
`math`. Nothing is stored but in local names, nothing is caught, nothing is asked for its identity.
What is not known, as an instruction of a later version of Python, proves nothing.
"""

from __future__ import annotations

import builtins
import dis
import inspect
import math
import sys
import types
from typing import Any, Final, NamedTuple

import numpy as np

from adjoint.capture.clones.standing import ABSENT
from adjoint.capture.clones.users import is_users

_METHOD_FLAG: Final = sys.version_info >= (3, 12)  # of LOAD_ATTR
_KNOWN: Final = frozenset(
    {
        *("RESUME", "NOP", "CACHE", "PRECALL", "CALL", "PUSH_NULL", "POP_TOP", "COPY", "SWAP"),
        *("LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_FAST_BORROW", "LOAD_FAST_LOAD_FAST"),
        *("LOAD_FAST_BORROW_LOAD_FAST_BORROW", "STORE_FAST", "STORE_FAST_STORE_FAST"),
        *("STORE_FAST_LOAD_FAST", "LOAD_SMALL_INT", "RETURN_VALUE"),
        *("BINARY_OP", "BINARY_SUBSCR", "BINARY_SLICE", "BUILD_TUPLE", "BUILD_SLICE"),
        *("UNPACK_SEQUENCE", "COMPARE_OP", "TO_BOOL", "UNARY_NEGATIVE", "UNARY_POSITIVE"),
        *("UNARY_NOT", "GET_ITER", "FOR_ITER", "END_FOR", "POP_ITER", "EXTENDED_ARG", "NOT_TAKEN"),
        *("JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT"),
        *("JUMP_IF_TRUE_OR_POP", "JUMP_IF_FALSE_OR_POP"),
        *("POP_JUMP_IF_TRUE", "POP_JUMP_IF_FALSE"),
        *("POP_JUMP_FORWARD_IF_TRUE", "POP_JUMP_FORWARD_IF_FALSE"),
        *("POP_JUMP_BACKWARD_IF_TRUE", "POP_JUMP_BACKWARD_IF_FALSE"),
    }
)
_LOOKS_INTO: Final = frozenset({"LOAD_ATTR", "LOAD_METHOD"})
_TYPES: Final = frozenset({"shape", "ndim", "size"})  # what any array is asked for
_BUILTINS: Final = {
    name: getattr(builtins, name)
    for name in ("abs", "enumerate", "len", "max", "min", "range", "reversed", "sum", "tuple")
}
_NUMBERS: Final = frozenset({int, float, complex, bool, type(None)})
_MODULES: Final = (np, math)
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
    module: Any = None  # what the instruction before has looked up
    for instruction in dis.get_instructions(function.__code__):
        name = instruction.opname
        if name in ("CACHE", "EXTENDED_ARG"):
            continue
        if module is not None:
            if name not in _LOOKS_INTO or not _is_member(module, instruction.argval, watched):
                return None
            module = None
        elif name == "LOAD_GLOBAL":
            value = _looked_up(function, instruction.argval, watched)
            if value is np or value is math:
                module = value
            elif type(value) is types.FunctionType:
                called.append(value)
            elif not _is_pure(value):
                return None
        elif not _is_known(instruction):
            return None
    return called


def _is_known(instruction: dis.Instruction) -> bool:
    """Whether an instruction that looks up no global only computes."""
    name = instruction.opname
    if name == "LOAD_ATTR":
        method = _METHOD_FLAG and bool((instruction.arg or 0) & 1)
        return instruction.argval in _TYPES and not method
    if name in ("LOAD_CONST", "RETURN_CONST"):
        return _is_constant(instruction.argval)
    return name in _KNOWN


def _is_constant(value: Any) -> bool:
    """Whether a constant of code is a number, text, or a tuple or slice of such."""
    kind = type(value)
    if kind is tuple:
        return all(map(_is_constant, value))
    if kind is slice:
        return all(map(_is_constant, (value.start, value.stop, value.step)))
    return kind in _NUMBERS or kind is str


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


def _is_member(module: Any, name: str, watched: list[Watched]) -> bool:
    """Whether what is looked up in a module is pure; it is watched."""
    value = vars(module).get(name, ABSENT)
    watched.append(Watched(vars(module), name, value))
    return _is_pure(value)


def _is_pure(value: Any) -> bool:
    """Whether something is a number, or a function that does nothing but compute from numbers."""
    kind = type(value)
    if kind in _NUMBERS:
        return True
    if kind is types.BuiltinFunctionType and value.__self__ is math:
        return vars(math).get(value.__name__) is value
    if kind is np.ufunc:
        return vars(np).get(value.__name__) is value
    return kind in (type, types.BuiltinFunctionType) and any(
        [value is known for known in _BUILTINS.values()]
    )
