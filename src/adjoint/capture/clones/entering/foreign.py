"""Functions that are not entered, and traced arrays."""

from __future__ import annotations

import functools
import sys
import types
from typing import Any, Final

import numpy as np

from adjoint.base.errors import AdjointError, UnsupportedFunctionError
from adjoint.capture.clones.entering.users import LEFT, is_users_file
from adjoint.capture.numpy.operations.methods import METHODS, WRITING
from adjoint.capture.numpy.table import any_traced, full_name
from adjoint.capture.recording.tracing.hooks import handed
from adjoint.capture.recording.tracing.traced import Traced, from_array, value_of
from adjoint.capture.recording.values.containers import Filled, call_method, is_container
from adjoint.capture.recording.values.valued import any_slot, refuse


def guarded(function: Any) -> Any:
    """A function that is not entered: where it fails with traced values, that is a refusal.

    With NumPy's values in their place it might not have failed, so the user's code must not go on
    as if it had.
    """
    if getattr(function, "__module__", None) in _LOOKING:
        return function

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*map(handed, args), **{name: handed(x) for name, x in kwargs.items()})
        except AdjointError:
            raise
        except Exception as error:  # any, since it may come of a traced value
            last: Any = error.__traceback__
            while last.tb_next is not None:
                last = last.tb_next
            users = last.tb_next is not None and is_users_file(last.tb_frame.f_code.co_filename)
            if users or not (any_slot(args) or any_slot(kwargs)):
                raise
            refusal = _untaken(_name(function), error)
            refuse(refusal)
            raise refusal from error

    return call


def _untaken(name: str, error: Exception) -> UnsupportedFunctionError:
    return UnsupportedFunctionError(
        f"{name} is not entered, and was given traced values, which it does not take: it raised "
        f"{type(error).__name__}: {str(error).rstrip('. ')}. Give its derivative with "
        "ad.primitive, write that part in NumPy, or pass ad.stop_gradient(x) if the derivative is "
        "not wanted."
    )


def refusal_of(error: Exception) -> UnsupportedFunctionError | None:
    """A refusal in the place of an error that a library raises for traced values; else None.

    Of a library that is not entered: NumPy's own errors are as they would be without us.
    """
    step, frames = error.__traceback__, []
    while step is not None:
        frames.append(step.tb_frame)
        step = step.tb_next
    outermost = None
    for frame in reversed(frames):
        home = frame.f_globals.get("__name__") or ""
        if is_users_file(frame.f_code.co_filename) or home.partition(".")[0] not in _REFUSING:
            break
        if _TRACED & {*map(type, frame.f_locals.values())}:
            outermost = f"{home}.{frame.f_code.co_qualname}"
    return None if outermost is None else _untaken(outermost, error)


_REFUSING: Final = LEFT - {"numpy", "scipy"}
_TRACED: Final = frozenset({Traced, Filled})


def is_compiled(kind: type) -> bool:
    """Whether it is a class of functions that Cython has compiled."""
    return kind.__name__ in _CYTHON and kind.__module__.startswith("_cython_")


def is_foreign(function: Any) -> bool:
    """Whether a builtin function takes numbers as they lie in memory: a package's, or struct's."""
    owner = function.__self__
    home = owner if isinstance(owner, type) else type(owner)
    module = getattr(function, "__module__", None) or home.__module__
    if module in _OF_MEMORY:
        return True
    first = module.partition(".")[0]
    return first not in sys.stdlib_module_names and first not in _UNDERSTOOD


def _name(function: Any) -> str:
    """A function as a user would write it; what has no name goes by its class."""
    if hasattr(function, "__name__"):
        home = getattr(function, "__module__", None) or type(function).__module__
        return f"{home.lstrip('_')}.{function.__name__}"
    return f"A {full_name(type(function))}"


_CYTHON: Final = frozenset({"cython_function_or_method", "fused_cython_function"})
_OF_MEMORY: Final = frozenset({"_struct", "struct", "marshal"})
_UNDERSTOOD: Final = frozenset({"numpy", "scipy", "adjoint", "optree"})
# Modules that look at the functions that they are given, and at the frames around them.
_LOOKING: Final = frozenset({"inspect", "dis"})


def is_of_values(method: Any) -> bool:
    """Whether it is a method of arrays or of numbers that is not bound, as `float.__add__` is."""
    return type(method) in _UNBOUND and issubclass(method.__objclass__, _OF_VALUES)


_UNBOUND: Final = frozenset({types.MethodDescriptorType, types.WrapperDescriptorType})
_OF_VALUES: Final = (np.ndarray, np.generic, float, complex)


def of_any_value(method: Any) -> Any:
    """`np.ndarray.fill`, say, for traced arrays and numbers too."""

    def unbound(value: Any, *args: Any, **kwargs: Any) -> Any:
        if type(value) is Traced:
            known = value_of(value)
            if known is None or isinstance(known, method.__objclass__):
                return getattr(value, method.__name__)(*args, **kwargs)
            return method(known, *args, **kwargs)  # which raises
        result = method(value, *args, **kwargs)
        if result is NotImplemented and type(args[0]) is Traced:
            return getattr(args[0], _reflected(method.__name__))(value)
        return result

    return unbound


def holds_numbers(owner: Any) -> bool:
    """Whether the owner of a method is an array, or a container of another library."""
    return type(owner) is np.ndarray or is_container(owner)


def of_plain_array(method: Any) -> Any:
    """`X.dot`, say, of an array that is not traced, for traced arguments too.

    Of a container of another library too, as of a pandas Series. What writes into the array stays
    NumPy's own, which refuses traced values.
    """
    array, name = method.__self__, method.__name__
    if type(array) is not np.ndarray:
        return _of_container(method)
    if name not in METHODS or name in WRITING:
        return method

    def call(*args: Any, **kwargs: Any) -> Any:
        given = (*args, *kwargs.values())
        if any([type(value) is Traced for value in given]) or any_traced(given):
            return getattr(from_array(array), name)(*args, **kwargs)
        return method(*args, **kwargs)

    return call


def _of_container(method: Any) -> Any:
    container, name = method.__self__, method.__name__

    def call(*args: Any, **kwargs: Any) -> Any:
        if any_traced(args) or any_traced(kwargs.values()):
            return call_method(container, name, args, kwargs)
        return method(*args, **kwargs)

    return call


def _reflected(name: str) -> str:
    """The operator from the other side: `__radd__` of `__add__`."""
    if name in _COMPARED:
        return _COMPARED[name]
    return f"__{name[3:]}" if name[2] == "r" and name != "__round__" else f"__r{name[2:]}"


_COMPARED: Final = {
    **{"__lt__": "__gt__", "__le__": "__ge__", "__gt__": "__lt__", "__ge__": "__le__"},
    **{"__eq__": "__eq__", "__ne__": "__ne__"},
}
