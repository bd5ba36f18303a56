"""Running the user's function with its own names bound to ours, without patching anything.

A function is cloned with a mapping for its globals in which names bound to numpy, math and a few
builtins resolve to stand-ins, and the user's own functions to clones in turn. So what NumPy does
not dispatch keeps its meaning under capture: `np.zeros(n)` that is filled in a loop, `np.array([t,
1.0])`, `math.sin(t)`, `float(t)`, `isinstance(t, float)`. What is found through objects and
containers is asked for by the clone's code, see `interception.py`. So is what is called, so that
a function is itself wherever it is a value: a key, what is compared or kept, and the clone of it
is what is called.
"""

from __future__ import annotations

import builtins
import functools
import threading
import types
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np

from adjoint.base.settings import settings
from adjoint.base.signatures.derived import Derived, core
from adjoint.capture.bytecode.code import CALLED, CodeFacts, facts_of
from adjoint.capture.clones.adopting import give_back
from adjoint.capture.clones.entering.clone import (
    ABSENT,
    CACHED,
    FOREIGN,
    Clone,
    Stand,
    content_of,
    held_by,
    keywords_of,
    leads_nowhere,
)
from adjoint.capture.clones.entering.users import is_ours, is_users, is_users_kind, is_users_module
from adjoint.capture.clones.remembering.remembered import is_recursive, remembering
from adjoint.capture.clones.stand_ins.classes import BUILTINS, build_class
from adjoint.capture.clones.stand_ins.drawing import drawing, is_random_module
from adjoint.capture.clones.stand_ins.shadows import ShadowModule, shadow_of
from adjoint.capture.clones.wrapping.compiled import Sourced, source_of
from adjoint.capture.clones.wrapping.given_functions import (
    called,
    calls_functions,
    handing,
    is_partial,
)
from adjoint.capture.clones.wrapping.library import DISPATCHING, around_clones, dispatching
from adjoint.capture.clones.wrapping.memoised import Memoised, forget_values
from adjoint.capture.facts.purity import IMPURE_BUILTINS, builtin_effect, effect_of
from adjoint.capture.numpy.making.mapping import Vectorize
from adjoint.capture.numpy.polynomials.series import lifted
from adjoint.capture.recording.tracing.hooks import hooks
from adjoint.capture.recording.tracing.trace import note_effect
from adjoint.capture.recording.tracing.traced import Traced
from adjoint.capture.scipy.table import below_backends, rebind_scipys, replacement
from adjoint.spaces.polynomials.bases import KINDS

_PLAIN = frozenset(
    {np.ndarray, float, int, str, bool, tuple, list, dict, type(None), complex, Traced}
)
_AT_ONCE = (types.FunctionType, types.BuiltinFunctionType, types.ModuleType, np.ufunc, type(np.sum))
_CLONES_LIMIT = 1024


class Rebound(dict[str, Any]):
    """The globals of a module as a clone sees them.

    Empty but for its builtins and its name: every other look-up comes to `__missing__`. What is
    called is looked up under its name and `CALLED`. asks: whether the code asks what to call; where
    it does not, functions must be clones under their bare names.
    """

    __slots__ = ("__weakref__", "asks", "builtins", "choice", "original", "replaced")
    __hash__ = object.__hash__  # type: ignore[assignment]  # one for each module, by identity
    __eq__ = object.__eq__

    def __init__(self, original: dict[str, Any], asks: bool = True) -> None:
        super().__init__()
        self.asks = asks
        self.choice = settings().choice  # of the packages that are entered
        self.original = original
        self.builtins: dict[str, Any]
        self.replaced: dict[str, Stand] = {}
        plain = original.get("__builtins__", builtins)
        plain = self.builtins = plain if isinstance(plain, dict) else vars(plain)
        own = {"__import__": _import, "__build_class__": build_class}
        dict.__setitem__(self, "__builtins__", {**plain, **own})
        # Looked up without asking us, for the `__module__` of functions and by warnings.
        dict.__setitem__(self, "__name__", original.get("__name__", "builtins"))

    def __missing__(self, name: str) -> Any:
        if name[-1] == ")":
            return self._called(name[: -len(CALLED)])
        try:
            value = self.original[name]
        except KeyError:
            return self._builtin(name, called=not self.asks)
        if type(value) in _PLAIN:
            # An array may stand aside for a traced one.
            known = self.replaced.get(name)
            return known.shown if known is not None and known.value is value else value
        known = self._stand(name, value)
        return known.shown if self.asks else known.called

    def keys(self) -> Any:
        """All names, as `{**globals}` asks for them: annotations are evaluated so from 3.14 on."""
        return [*{**self.original, "__builtins__": None}]

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def _called(self, name: str) -> Any:
        try:
            value = self.original[name]
        except KeyError:
            try:
                return self._builtin(name, called=True)
            except KeyError:
                raise NameError(f"name '{name}' is not defined", name=name) from None
        if not isinstance(value, _AT_ONCE):  # as the name was when the code was written
            return value if type(value) in _PLAIN else hooks.called(value)
        known = self._stand(name, value)
        return remembering(known) if known.recursive else known.called

    def _stand(self, name: str, value: Any) -> Stand:
        if settings().choice is not self.choice:  # of a function that has outlived its capture
            return _globals_of(self.original, self.asks)._stand(name, value)
        known = self.replaced.get(name)
        if (
            known is None
            or known.value is not value
            or (known.clone is not None and not known.clone.fits(value))
        ):
            known = stand_for(value)
            if type(value) not in _WRAPPING:
                self.replaced[name] = known
        if known.effect is not None:
            note_effect(known.effect)
        return known

    def _builtin(self, name: str, called: bool) -> Any:
        value = self.builtins[name]
        if name in IMPURE_BUILTINS and name not in BUILTINS:
            note_effect(builtin_effect(name))
        if value is not _BUILTINS.get(name):  # replaced by somebody
            return rebind(value)
        if called:
            return BUILTINS.get(name, value)
        return value if is_itself(value) else BUILTINS.get(name, value)


_BUILTINS = dict(vars(builtins))


def stand_for(value: Any) -> Stand:
    """What a name that is bound to a value stands for in clones."""
    drawn = drawing(value)
    if drawn is not None:
        return Stand(value, drawn, drawn)
    called = rebind(value)
    shown = value if is_itself(value) else called
    if type(value) is types.FunctionType and is_users(value):
        return Stand(value, shown, called, None, known_clone(value), is_recursive(value))
    if isinstance(value, types.ModuleType):
        judges = (
            isinstance(value, ShadowModule) or is_random_module(value) or is_users_module(value)
        )
        return Stand(value, shown, called, None if judges else effect_of(value))
    if isinstance(value, type):
        return Stand(value, shown, called, None if is_users_kind(value) else effect_of(value))
    return Stand(value, shown, called, judged(value) if type(value) in FOREIGN else None)


def is_itself(value: Any) -> bool:
    """Whether something is the same object in a clone as outside, until it is called.

    All functions are, and what is like them; classes and modules have stand-ins of their own.
    """
    kind = type(value)
    if kind is types.MethodType or kind is types.BuiltinFunctionType:
        return drawing(value) is None
    return kind in FOREIGN or calls_functions(value) or source_of(value) is not None


def judged(value: Any) -> str | None:
    """Why calling something may be an effect; None for code of the user's, which is entered."""
    kind = type(value)
    if kind is types.FunctionType:
        if type(value.__globals__) is Rebound or is_ours(value) or is_users(value):
            return None
        return None if value.__code__ is DISPATCHING else effect_of(value)
    if kind is types.MethodType and isinstance(value.__func__, types.FunctionType):
        return judged(value.__func__)
    if isinstance(value, functools.partial):
        return judged(value.func)
    return judged(value.__wrapped__) if kind is CACHED else effect_of(value)


_OWN = frozenset({"__builtins__", "__name__"})
# Kept under each choice of the packages that are entered: in `rebound`, weakly, the globals of
# modules; in `clones` the clones by the identity of functions; in `codes` their code.
_storing: weakref.WeakSet[Rebound] = weakref.WeakSet()
# Clones of this capture alone: what they share with their functions may lead to these, as in a
# closure that calls itself. Kept, they would keep the functions alive, and all that they hold.
_passing: list[tuple[dict[int, Any], int]] = []
_making: Any = threading.local()  # the clones whose closures are being filled


def rebind(value: Any) -> Any:
    """What a name resolves to in a clone."""
    if type(value) is np.ufunc and (shadow := shadow_of(value)) is not None:
        return shadow
    if isinstance(value, types.FunctionType):
        if type(value.__globals__) is Rebound:
            return value  # made by a clone
        if str(value.__module__).startswith("scipy.") and is_users(below_backends(value)):
            return rebind_scipys(value, clone)
        if is_users(value):
            return clone(value).call
        if value.__code__ is DISPATCHING:
            return dispatching(value, rebind)
        if value.__closure__ and not is_ours(value) and effect_of(value) is None:
            around = around_clones(value, _is_no_clone, rebind)
            if around is not value:
                return around
    elif isinstance(value, types.ModuleType):
        if (shadow := shadow_of(value)) is not None:
            return shadow
        return UserModule(value) if is_users_module(value) else value
    elif (drawn := drawing(value)) is not None:
        return drawn
    elif type(value) is Derived:
        return value  # which captures its function itself
    elif is_partial(value):
        return rebind_partial(value)
    elif type(value) is np.vectorize:
        return Vectorize.like(value, rebind(value.pyfunc))
    elif type(value) in KINDS:  # a polynomial that takes traced points and numbers
        return lifted(value)
    elif type(value) is CACHED:
        inner = value.__wrapped__
        if type(inner) is types.FunctionType and type(inner.__globals__) is Rebound:
            return value  # made in the capture, as is what it keeps
        if type(inner) is types.FunctionType and is_users(inner):
            return Memoised(value, clone(inner).call)
        return value
    elif type(value) is types.MethodType:
        if not isinstance(value.__func__, types.FunctionType) or not is_users(value.__func__):
            return value
        return types.MethodType(clone(value.__func__).call, value.__self__)
    if calls_functions(value):
        return handing(value)
    if type(value) is types.BuiltinFunctionType:
        name = value.__name__
        if name in BUILTINS and value is _BUILTINS.get(name):
            return BUILTINS[name]
    shadow = shadow_of(value)
    if shadow is None and (source := source_of(value)) is not None:
        return Sourced(value, source)
    return value if shadow is None else shadow


def _is_no_clone(function: types.FunctionType) -> bool:
    return type(function.__globals__) is not Rebound and is_users(function)


def rebind_partial(value: functools.partial[Any]) -> Any:
    """What `functools.partial` calls for it, whatever a class that inherits from it does."""
    keywords = {name: _rebind_argument(argument) for name, argument in value.keywords.items()}
    arguments = map(_rebind_argument, value.args)
    return functools.partial(rebind(called(value.func)), *arguments, **keywords)


def _rebind_argument(value: Any) -> Any:
    """What a bound argument becomes: functions are clones, data stays."""
    plain = type(value) in _PLAIN or not callable(value)
    return value if plain else rebind(value)


# What holds functions that may change without it: made anew at each look-up.
_WRAPPING = frozenset({types.MethodType, functools.partial, CACHED, np.vectorize})
_FUNCTIONS = frozenset({types.FunctionType, types.MethodType, functools.partial, CACHED})


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


def _globals_of(original: dict[str, Any], asks: bool = True) -> Rebound:
    if type(original) is Rebound:  # of a clone, which a transform inside of the capture clones
        return original
    choice = settings().choice
    if choice.rebound is None:
        choice.rebound = weakref.WeakValueDictionary()
    key = (id(original), asks)
    rebound: Rebound | None = choice.rebound.get(key)
    if rebound is None or rebound.original is not original:
        rebound = choice.rebound[key] = Rebound(original, asks)
    return rebound


def known_clone(function: types.FunctionType) -> Clone | None:
    """The clone that was made before, if what it closes over is still bound to the same."""
    known: tuple[Any, Clone] | None = settings().choice.clones.get(id(function))
    if known is not None and known[0]() is function and known[1].fits(function):
        return known[1]
    return None


def clone(function: types.FunctionType) -> Clone:
    """The clone of a function.

    The same one as long as what it closes over is bound to the same functions and modules.
    """
    known = known_clone(function)
    if known is not None:
        return known
    waiting = _making.__dict__.get(id(function))
    if waiting is not None:  # functions that close over each other
        return Clone(waiting, code=function.__code__)
    replaced = _replaced(function)
    if replaced is not None:
        return replaced
    cloned = _make_clone(function, facts_of(function.__code__))
    kept, key = settings().choice.clones, id(function)
    if len(kept) >= _CLONES_LIMIT:
        kept.clear()
    if not all(map(leads_nowhere, held_by(cloned.call, function))):
        _passing.append((kept, key))

    def forget(reference: Any, clones: dict[int, Any] = kept) -> None:
        # A clone shares its function's closure, and must not keep the arrays in it alive.
        if clones.get(key, (None,))[0] is reference:
            clones.pop(key, None)

    kept[key] = (weakref.ref(function, forget), cloned)
    return cloned


def _replaced(function: types.FunctionType) -> Clone | None:
    """What runs in the place of a function of SciPy's that has a rule, though it is entered."""
    rule = replacement(function)
    if rule is None:
        return None

    def call(*args: Any, **kwargs: Any) -> Any:
        return rule(function, *args, **kwargs)

    keywords = keywords_of(function)
    return Clone(call, (), function.__code__, function.__defaults__, keywords)


def _code_of(function: types.FunctionType) -> types.CodeType:
    """The code of a clone: rewritten, unless the function was made by one."""
    code = function.__code__
    if type(function.__globals__) is Rebound:
        return code
    codes: dict[int, tuple[Any, types.CodeType]] = settings().choice.codes
    known = codes.get(id(code))
    if known is None:
        if len(codes) >= _CLONES_LIMIT:
            codes.clear()
        known = codes[id(code)] = (code, hooks.rewritten(code, function.__globals__))
    return known[1]


def _make_clone(function: types.FunctionType, facts: CodeFacts) -> Clone:
    # In what this package wraps around a function of the user's, that function alone is rebound.
    ours = is_ours(function)
    code = function.__code__ if ours else _code_of(function)
    asks = not ours and (code is not function.__code__ or type(function.__globals__) is Rebound)
    names: Any = function.__globals__ if ours else _globals_of(function.__globals__, asks)
    if facts.stores_globals and not ours:
        _storing.add(names)
    closure, replaced = [], []
    waiting: list[tuple[Any, Any]] = []
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        content = content_of(cell)
        own = cell
        if name in facts.stored_cells or type(content) in _PLAIN or content is ABSENT:
            pass
        elif type(content) in _FUNCTIONS and not asks:
            own = types.CellType()
            waiting.append((own, content))
        else:
            new = content if asks and is_itself(content) else rebind(content)
            own = cell if new is content else types.CellType(new)
        closure.append(own)
        if own is not cell:
            replaced.append((cell, content))
    copy = types.FunctionType(code, names, function.__name__, None, tuple(closure))
    copy.__qualname__ = function.__qualname__
    copy.__module__ = function.__module__
    copy.__doc__ = function.__doc__
    copy.__annotations__ = function.__annotations__
    if hasattr(function, "__type_params__"):  # since 3.12
        copy.__type_params__ = function.__type_params__  # type: ignore[attr-defined]
    copy.__dict__ = function.__dict__  # the same: what is kept on the function is kept
    _making.__dict__[id(function)] = copy
    try:
        for own, content in waiting:
            own.cell_contents = rebind(content)
        _add_defaults(copy, function, asks)
    finally:
        del _making.__dict__[id(function)]
    defaults, keywords = function.__defaults__, keywords_of(function)
    held = (*(content for _, content in replaced), *(defaults or ()), *(keywords or ()))
    inner = tuple(
        [(value, finished) for value in held if (finished := _finished(value)) is not None]
    )
    partials = tuple([(x, dict(x.keywords)) for x in held if type(x) is functools.partial])
    return Clone(copy, tuple(replaced), function.__code__, defaults, keywords, inner, partials)


def _finished(value: Any) -> Clone | None:
    """The clone of a function that is not itself being cloned."""
    if type(value) is not types.FunctionType or id(value) in _making.__dict__:
        return None
    return known_clone(value)


def _add_defaults(copy: types.FunctionType, function: types.FunctionType, asks: bool) -> None:
    """Give a clone its defaults."""

    def own(value: Any) -> Any:
        return value if asks and is_itself(value) else _rebind_argument(value)

    keywords = function.__kwdefaults__ or {}
    copy.__defaults__ = tuple(map(own, function.__defaults__ or ())) or None
    copy.__kwdefaults__ = {name: own(default) for name, default in keywords.items()} or None


def rebound(function: Any) -> Clone:
    """Any callable with its names rebound as far as they can be reached."""
    function = core(function)
    if type(function) is types.FunctionType:
        if (function.__module__ or "").startswith("adjoint.capture."):
            return Clone(function)  # a stand-in
        known = known_clone(function)
        if known is None and shadow_of(function) is None:
            known = clone(function)
        if known is not None:
            return known
    new = rebind(function)
    if new is function and not isinstance(function, type):
        # An object with __call__: its method, on the same object.
        method = getattr(type(function), "__call__", None)  # noqa: B004  # the method itself
        if isinstance(method, types.FunctionType) and is_users(method):
            cloned = clone(method)
            return Clone(types.MethodType(cloned.call, function))
    return Clone(new)


def _import(name: str, names: Any = None, *args: Any, **kwargs: Any) -> Any:
    """`import numpy` inside a cloned function.

    What is imported by name from it is rebound as well. names: the globals, which say the package.
    """
    names = names.original if type(names) is Rebound else names
    module = builtins.__import__(name, names, *args, **kwargs)
    stand = stand_for(module)
    if stand.effect is not None:
        note_effect(stand.effect)
    return stand.shown


def store_globals() -> None:
    """Carry what clones assigned with `global` over to the modules themselves."""
    forget_values()
    give_back()
    if _passing:
        for clones, key in tuple(_passing):  # another thread may add to them meanwhile
            clones.pop(key, None)
        _passing.clear()
    if not _storing:
        return
    for names in [names for names in _storing if len(names) > len(_OWN)]:
        for name in [key for key in dict.keys(names) if key not in _OWN]:
            names.original[name] = dict.pop(names, name)
