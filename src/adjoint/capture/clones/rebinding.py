"""Running the user's function with its own names bound to ours, without patching anything.

A function is cloned with a mapping for its globals in which names bound to numpy, math and a few
builtins resolve to stand-ins, and the user's own functions to clones in turn. So what NumPy does
not dispatch keeps its meaning under capture: `np.zeros(n)` that is filled in a loop, `np.array([t,
1.0])`, `math.sin(t)`, `float(t)`, `isinstance(t, float)`. What is found through objects and
containers is asked for by the clone's code, see `interception.py`. Other packages' functions are
not reached: there NumPy's own dispatch does what it can, and errors say the rest.
"""

from __future__ import annotations

import builtins
import functools
import sys
import sysconfig
import threading
import types
import weakref
from typing import Any, NamedTuple

import numpy as np

from adjoint.capture.bytecode.code import CodeFacts, facts_of
from adjoint.capture.clones.adopting import give_back
from adjoint.capture.clones.classes import BUILTINS, build_class, class_of
from adjoint.capture.clones.memoised import Memoised, forget_values
from adjoint.capture.clones.shadows import shadow_of
from adjoint.capture.numpy.making.mapping import Vectorize
from adjoint.capture.numpy.polynomials.series import lifted
from adjoint.capture.recording import protocols
from adjoint.capture.recording.trace import current
from adjoint.spaces.polynomials.bases import KINDS

_PLAIN = frozenset({np.ndarray, float, int, str, bool, tuple, list, dict, type(None), complex})
_CLONES_LIMIT = 1024
_LIBRARIES = (
    *{sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")},
    __file__.rpartition("capture")[0],  # stand-ins bear the names of what they stand for
)


class Clone(NamedTuple):
    """A function under new names.

    What to call, what its code does, and the cells whose contents were replaced.
    """

    call: Any
    writes: bool
    cells: tuple[tuple[Any, Any], ...]


class Rebound(dict[str, Any]):
    """The globals of a module as a clone sees them.

    Empty but for its builtins and its name: every other look-up comes to `__missing__`.
    """

    __slots__ = ("__weakref__", "original", "replaced")
    __hash__ = object.__hash__  # type: ignore[assignment]  # one for each module, by identity
    __eq__ = object.__eq__

    def __init__(self, original: dict[str, Any]) -> None:
        super().__init__()
        self.original = original
        self.replaced: dict[str, tuple[Any, Any, bool]] = {}
        plain = original.get("__builtins__", builtins)
        plain = plain if isinstance(plain, dict) else vars(plain)
        own = {"__import__": _import, "__build_class__": build_class}
        dict.__setitem__(self, "__builtins__", {**plain, **own})
        # Looked up without asking us, for the `__module__` of functions and by warnings.
        dict.__setitem__(self, "__name__", original.get("__name__", "builtins"))

    def __missing__(self, name: str) -> Any:
        known = self.replaced.get(name)
        if known is not None and not known[2] and self.original.get(name, _ABSENT) is known[0]:
            return known[1]
        try:
            value = self.original[name]
        except KeyError:
            value = BUILTINS.get(name, _ABSENT)
            if value is _ABSENT:
                value = dict.__getitem__(self, "__builtins__")[name]
            return value
        if type(value) in _PLAIN:
            return value
        if known is None or known[0] is not value:
            known = self.replaced[name] = (value, *rebind(value))
        if known[2]:
            trace = current()
            if trace is not None:
                trace.expect_writes()
        return known[1]


_ABSENT = object()
_OWN = frozenset({"__builtins__", "__name__"})
_rebound: weakref.WeakValueDictionary[int, Rebound] = weakref.WeakValueDictionary()
_storing: weakref.WeakSet[Rebound] = weakref.WeakSet()
_clones: dict[int, tuple[Any, Clone]] = {}
_codes: dict[int, tuple[types.CodeType, types.CodeType]] = {}
_making: Any = threading.local()  # the clones whose closures are being filled


def rebind(value: Any) -> tuple[Any, bool]:
    """What a name resolves to in a clone, and whether calling it may write into arrays."""
    if isinstance(value, types.FunctionType):
        if type(value.__globals__) is Rebound:
            return value, False  # made by a clone, whose facts are its facts too
        if is_users(value):
            made = clone(value)
            return made.call, made.writes
        if value.__code__ is _DISPATCHING:
            return _dispatching(value), True
    elif isinstance(value, types.ModuleType):
        shadow = shadow_of(value)
        if shadow is not None:
            return shadow, False
        file = getattr(value, "__file__", None)
        if file is not None and is_users_file(file) and not value.__name__.startswith("adjoint"):
            return UserModule(value), True
        return value, False
    elif isinstance(value, functools.partial):
        return _rebind_partial(value)
    elif type(value) is np.vectorize:
        inner, writes = rebind(value.pyfunc)
        return Vectorize.like(value, inner), writes
    elif isinstance(value, KINDS):  # a polynomial that takes traced points and numbers
        return lifted(value), False
    elif type(value) is _CACHED:
        inner = value.__wrapped__
        if type(inner) is types.FunctionType and type(inner.__globals__) is Rebound:
            return value, True  # made in the capture, as is what it keeps
        if type(inner) is types.FunctionType and is_users(inner):
            made = clone(inner)
            return Memoised(value, made.call), made.writes
        return value, False
    elif type(value) is types.MethodType:
        if not isinstance(value.__func__, types.FunctionType) or not is_users(value.__func__):
            return value, True
        made = clone(value.__func__)
        return types.MethodType(made.call, value.__self__), made.writes
    shadow = shadow_of(value)
    # The methods of a user's object are not reached, and may write into arrays.
    return (value, _is_users_object(value)) if shadow is None else (shadow, False)


_DISPATCHING = functools.singledispatch(lambda _: None).__code__  # type: ignore[attr-defined]


def _dispatching(generic: Any) -> Any:
    """A function of `functools.singledispatch`, which asks for the class of its argument."""

    @functools.wraps(generic)
    def dispatch(*args: Any, **kwargs: Any) -> Any:
        if not args:
            return generic(**kwargs)  # which raises
        return rebind(generic.dispatch(class_of(args[0])))[0](*args, **kwargs)

    return dispatch


def _rebind_partial(value: functools.partial[Any]) -> tuple[Any, bool]:
    inner, writes = rebind(value.func)
    args = [_rebind_argument(each) for each in value.args]
    keywords = {name: _rebind_argument(each) for name, each in value.keywords.items()}
    writes = writes or any(each[1] for each in (*args, *keywords.values()))
    plain = {name: each[0] for name, each in keywords.items()}
    return functools.partial(inner, *(each[0] for each in args), **plain), writes


def _rebind_argument(value: Any) -> tuple[Any, bool]:
    """What a default or bound argument becomes: functions are clones, data stays."""
    if type(value) in _PLAIN:
        return value, False
    new, writes = rebind(value)
    return (new, writes) if callable(value) else (value, False)


def _is_users_object(value: Any) -> bool:
    kind = value if isinstance(value, type) else type(value)
    if kind in _PLAIN or kind.__module__ == "builtins":
        return False
    module = sys.modules.get(kind.__module__)
    if module is None or kind.__module__.partition(".")[0] == "adjoint":
        return False
    file = getattr(module, "__file__", None)
    return file is not None and is_users_file(file) if module.__name__ != "__main__" else True


_CACHED = type(functools.lru_cache(lambda: None))
_FUNCTIONS = frozenset({types.FunctionType, types.MethodType, functools.partial, _CACHED})


class UserModule(types.ModuleType):
    """Stands in for a module of the user's: its functions are clones."""

    def __init__(self, original: types.ModuleType) -> None:
        super().__init__(original.__name__)
        self.__dict__["_names"] = _globals_of(vars(original))
        self.__dict__["_original"] = original

    def __getattr__(self, name: str) -> Any:
        if name in vars(self._original):
            return self._names[name]
        return getattr(self._original, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._original, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._original, name)


def is_users(function: types.FunctionType) -> bool:
    """Whether a function is the user's own, and not of Python's or an installed package."""
    if is_ours(function) or (function.__module__ or "").partition(".")[0] == "adjoint":
        return False
    return is_users_file(function.__code__.co_filename)


def is_ours(function: types.FunctionType) -> bool:
    """Whether a function is one of this package's, also where it wraps one of the user's."""
    return function.__code__.co_filename.startswith(_PACKAGE)


@functools.lru_cache(maxsize=4096)
def is_users_file(path: str) -> bool:
    """Whether a file is neither of Python's library nor of an installed package."""
    return not path.startswith(_LIBRARIES)


_PACKAGE = __file__.rpartition("capture")[0]
protocols.IS_USERS_FILE = is_users_file


def _globals_of(original: dict[str, Any]) -> Rebound:
    rebound = _rebound.get(id(original))
    if rebound is None or rebound.original is not original:
        rebound = _rebound[id(original)] = Rebound(original)
    return rebound


def known_clone(function: types.FunctionType) -> Clone | None:
    """The clone that was made before, if what it closes over is still bound to the same."""
    known = _clones.get(id(function))
    if known is not None and known[0]() is function:
        made = known[1]
        if not made.cells or all([cell.cell_contents is content for cell, content in made.cells]):
            return made
    return None


def clone(function: types.FunctionType) -> Clone:
    """The clone of a function.

    The same one as long as what it closes over is bound to the same functions and modules.
    """
    known = known_clone(function)
    if known is not None:
        return known
    facts = facts_of(function.__code__)
    waiting = _making.__dict__.get(id(function))
    if waiting is not None:  # functions that close over each other
        return Clone(waiting, facts.writes, ())
    made = _make_clone(function, facts)
    if len(_clones) >= _CLONES_LIMIT:
        _clones.clear()
    key = id(function)
    if any(content is function for _, content in made.cells):
        return made  # recursive: kept, it would keep the function alive, and all that it holds

    def forget(reference: Any, clones: dict[int, Any] = _clones) -> None:
        # A clone shares its function's closure, and must not keep the arrays in it alive.
        if clones.get(key, (None,))[0] is reference:
            clones.pop(key, None)

    _clones[key] = (weakref.ref(function, forget), made)
    return made


def _code_of(function: types.FunctionType) -> types.CodeType:
    """The code of a clone: rewritten, unless the function was made by one."""
    code = function.__code__
    if type(function.__globals__) is Rebound:
        return code
    known = _codes.get(id(code))
    if known is None:
        if len(_codes) >= _CLONES_LIMIT:
            _codes.clear()
        known = _codes[id(code)] = (code, protocols.REWRITTEN(code, function.__globals__))
    return known[1]


def _make_clone(function: types.FunctionType, facts: CodeFacts) -> Clone:
    # In what this package wraps around a function of the user's, that function alone is rebound.
    ours = is_ours(function)
    names: Any = function.__globals__ if ours else _globals_of(function.__globals__)
    if facts.stores_globals and not ours:
        _storing.add(names)
    closure, replaced, writes = [], [], facts.writes
    waiting: list[tuple[Any, Any]] = []
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        content = _content(cell)
        own = cell
        if name in facts.stored_cells or type(content) in _PLAIN or content is _ABSENT:
            pass
        elif type(content) in _FUNCTIONS:
            own = types.CellType()
            waiting.append((own, content))
        else:
            new, inner = rebind(content)
            writes = writes or inner
            own = cell if new is content else types.CellType(new)
        closure.append(own)
        if own is not cell:
            replaced.append((cell, content))
    code = function.__code__ if ours else _code_of(function)
    copy = types.FunctionType(code, names, function.__name__, None, tuple(closure))
    copy.__qualname__ = function.__qualname__
    copy.__module__ = function.__module__
    copy.__doc__ = function.__doc__
    copy.__annotations__ = function.__annotations__
    if hasattr(function, "__type_params__"):  # since 3.12
        copy.__type_params__ = function.__type_params__  # type: ignore[attr-defined]
    copy.__dict__.update(function.__dict__)
    _making.__dict__[id(function)] = copy
    try:
        for own, content in waiting:
            own.cell_contents, inner = rebind(content)
            writes = writes or inner
        writes = _add_defaults(copy, function) or writes
    finally:
        del _making.__dict__[id(function)]
    return Clone(copy, writes, tuple(replaced))


def _add_defaults(copy: types.FunctionType, function: types.FunctionType) -> bool:
    """Give a clone its defaults; whether calling one of them may write into arrays."""
    defaults = [_rebind_argument(each) for each in function.__defaults__ or ()]
    keywords = {
        name: _rebind_argument(each) for name, each in (function.__kwdefaults__ or {}).items()
    }
    copy.__defaults__ = tuple(each[0] for each in defaults) or None
    copy.__kwdefaults__ = {name: each[0] for name, each in keywords.items()} or None
    return any(each[1] for each in (*defaults, *keywords.values()))


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not bound yet
        return _ABSENT


def rebound(function: Any) -> Clone:
    """Any callable with its names rebound as far as they can be reached."""
    if type(function) is types.FunctionType:
        known = known_clone(function)
        if known is None and shadow_of(function) is None:
            known = clone(function)
        if known is not None:
            return known
    new, writes = rebind(function)
    if new is function and not isinstance(function, type):
        # An object with __call__: its method, on the same object.
        method = getattr(type(function), "__call__", None)  # noqa: B004  # the method itself
        if isinstance(method, types.FunctionType) and is_users(method):
            made = clone(method)
            return Clone(types.MethodType(made.call, function), made.writes, ())
    return Clone(new, writes, ())


def _import(name: str, *args: Any, **kwargs: Any) -> Any:
    """`import numpy` inside a cloned function.

    What is imported by name from it is rebound as well.
    """
    module = builtins.__import__(name, *args, **kwargs)
    return rebind(module)[0]


def store_globals() -> None:
    """Carry what clones assigned with `global` over to the modules themselves."""
    forget_values()
    give_back()
    if not _storing:
        return
    for names in list(_storing):
        if len(names) > len(_OWN):
            for name in [key for key in dict.keys(names) if key not in _OWN]:
                names.original[name] = dict.pop(names, name)
