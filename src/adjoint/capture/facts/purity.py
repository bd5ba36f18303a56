"""Which code is known to be pure: its results depend on its arguments alone, and it does no more.

A call of anything else makes a capture one that cannot be replayed. Code of the user's own is not
judged as a whole: it is entered, and what it calls is judged in turn.
"""

from __future__ import annotations

import functools
import operator
import types
from typing import Any, Final

import numpy as np

# Packages, and modules of Python's own, whose functions are pure but for those named below.
_PURE: Final = frozenset(
    {
        *("builtins", "math", "cmath", "numpy", "scipy", "operator", "_operator", "itertools"),
        *("functools", "_functools", "collections", "_collections", "_collections_abc", "copy"),
        *("numbers", "fractions", "statistics", "dataclasses", "enum", "abc", "_abc", "typing"),
        *("types", "string", "re", "adjoint", "bisect", "_bisect", "heapq", "_heapq", "array"),
        *("struct", "_struct", "contextlib", "__future__", "typing_extensions", "optree"),
    }
)
_IMPURE_MODULES: Final = (
    *("numpy.random", "numpy.lib._npyio_impl", "numpy.lib.npyio", "numpy.testing"),
    *("numpy.ctypeslib", "numpy.lib._datasource"),
    *("numpy.f2py", "numpy.ma", "scipy.io", "scipy.datasets", "scipy._lib"),
    *("scipy._external", "adjoint.testing"),
    # What SciPy does about errors within it is no part of a program.
    *("scipy.special.errstate", "scipy.special._ufuncs.errstate"),
)
# Of these, members that are pure: which namespace is an array's follows from its type.
_PURE_MEMBERS: Final = frozenset({"scipy._lib._array_api_override.array_namespace"})
_IMPURE_NAMES: Final = frozenset(
    {
        *("DataSource", "fromfile", "fromregex", "genfromtxt", "get_printoptions"),
        *("getbufsize", "geterr", "geterrcall", "info", "load", "loadtxt", "memmap", "random"),
        *("open_memmap", "printoptions", "save", "savetxt", "savez", "savez_compressed"),
        *("set_printoptions", "setbufsize", "seterr", "seterrcall", "show_config", "show_runtime"),
        *("test", "tofile", "dump", "rvs", "random_base2"),
    }
)
IMPURE_BUILTINS: Final = frozenset(
    {
        *("__import__", "breakpoint", "compile", "copyright", "credits", "eval", "exec", "exit"),
        *("globals", "help", "id", "input", "license", "locals", "open", "print", "quit"),
    }
)
_EFFECTS: Final = {
    "print": "prints",
    "input": "asks the user",
    "open": "opens a file",
    "id": "asks for the identity of an object",
}


def builtin_effect(name: str) -> str:
    """What a builtin that is not pure does, in words."""
    return f"it {_EFFECTS[name]}" if name in _EFFECTS else f"it calls {name}"


@functools.lru_cache(maxsize=4096)
def is_pure_module(name: str) -> bool:
    """Whether the functions of a module are pure, but for some names."""
    if name.partition(".")[0] not in _PURE:
        return False
    return not any(name == impure or name.startswith(f"{impure}.") for impure in _IMPURE_MODULES)


def member_effect(module: str, name: str) -> str | None:
    """Why a member of a module makes a capture one that cannot be replayed; None if it does not."""
    whole = f"{module}.{name}"
    if name in _IMPURE_NAMES or not (whole in _PURE_MEMBERS or is_pure_module(whole)):
        return f"it uses {module}.{name}, which is not known to be pure"
    return None


def effect_of(value: Any) -> str | None:
    """Why calling or looking into something may be an effect; None if it is known to be pure.

    Something that is not the user's own code.
    """
    kind = type(value)
    if kind is types.ModuleType or isinstance(value, types.ModuleType):
        name = value.__name__
        return None if is_pure_module(name) else f"it uses {name}, which is not known to be pure"
    if kind in _CALLABLE:
        return _effect_of_function(value)
    if isinstance(value, functools.partial):
        return effect_of(value.func)
    if isinstance(value, type):
        return _judged(value.__module__, value.__name__)
    return kind_effect(kind)


def kind_effect(kind: type) -> str | None:
    """Why objects of a class are not known to be pure."""
    if kind.__module__ == "builtins" or issubclass(kind, types.ModuleType):
        return None
    if is_pure_module(kind.__module__):
        return None
    return f"it uses a {kind.__module__}.{kind.__qualname__}, whose state cannot be compared"


_CALLABLE: Final = frozenset(
    {
        *(types.FunctionType, types.BuiltinFunctionType, types.MethodType, np.ufunc),
        *(type(np.sum), type("".join), type(list.append), type(int.__add__)),
        type(operator.itemgetter(0)),
    }
)


def _effect_of_function(value: Any) -> str | None:
    if type(value) is types.FunctionType:  # its module may be that of what it wraps
        return _judged(value.__globals__.get("__name__") or "", value.__name__)
    owner = getattr(value, "__self__", None)
    if owner is not None and not isinstance(owner, (types.ModuleType, type)):
        return kind_effect(type(owner)) or _judged("builtins", value.__name__)
    module = getattr(value, "__module__", None)
    if module is None:
        module = type(owner).__module__ if owner is not None else "builtins"
    return _judged(module, getattr(value, "__name__", ""))


def _judged(module: str, name: str) -> str | None:
    if module == "builtins":
        return builtin_effect(name) if name in IMPURE_BUILTINS else None
    if module == "_io":
        return builtin_effect("open")
    return member_effect(module, name) if name else effect_of_module(module)


def effect_of_module(name: str) -> str | None:
    """Why the functions of a module are not known to be pure."""
    return None if is_pure_module(name) else f"it calls code of {name}, not known to be pure"


def attribute_effect(owner: Any, kind: type, name: str) -> str | None:
    """Why asking an object that is not the user's for an attribute is not known to be pure."""
    if isinstance(owner, types.ModuleType):
        return effect_of(owner) or member_effect(owner.__name__, name)
    if name in _IMPURE_NAMES:
        return f"it calls .{name} of a {kind.__name__}, which is not known to be pure"
    return kind_effect(kind)
