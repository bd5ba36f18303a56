"""Stand-ins for numpy, math and a few builtins, which a captured function's names are bound to.

A stand-in does what the original does; in a capture, arrays that it makes are known arrays, into
which traced values can be written, and traced arguments are understood where the original would ask
for plain numbers.
"""

from __future__ import annotations

import cmath
import functools
import math
import operator
import struct
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.base.errors import AdjointError, ValueNeededError
from adjoint.capture.clones.stand_ins.attempts import attempted
from adjoint.capture.clones.stand_ins.classes import Same, is_exact, refused_class, stand_in
from adjoint.capture.clones.stand_ins.drawing import drawing, is_random_module
from adjoint.capture.clones.stand_ins.shadow_math import LIBRARY
from adjoint.capture.clones.stand_ins.shadow_ufuncs import ShadowUfunc
from adjoint.capture.facts.purity import member_effect
from adjoint.capture.numpy.coverage import REFUSED
from adjoint.capture.numpy.indexing.index_tricks import Joined
from adjoint.capture.numpy.making import making as numpy_making
from adjoint.capture.numpy.making import mapping as numpy_mapping
from adjoint.capture.numpy.making import values as numpy_values
from adjoint.capture.numpy.operations.ufuncs import COMPOSED
from adjoint.capture.numpy.polynomials.series import SERIES
from adjoint.capture.numpy.table import any_traced, call, call_traced, unwrap_all
from adjoint.capture.recording.effects.floating_point import as_set, note_warnings
from adjoint.capture.recording.exits.escape import unpacking
from adjoint.capture.recording.memory.views import copy_of
from adjoint.capture.recording.tracing.applying import silence
from adjoint.capture.recording.tracing.hooks import handed, hooks
from adjoint.capture.recording.tracing.trace import captures, current, note_effect
from adjoint.capture.recording.tracing.traced import Traced, from_array
from adjoint.capture.recording.values.recipes import has_recipes
from adjoint.capture.recording.values.valued import beside, recording_for, refuse, refusing
from adjoint.capture.scipy.table import is_scipy_module, scipy_object, scipy_stand_in
from adjoint.primitives import UFUNCS

# --- numpy ----------------------------------------------------------------------------------------


def known_arrays(result: Any, args: Any) -> Any:
    """What NumPy made in a capture, as known arrays; but no views of arrays made elsewhere.

    Those stay NumPy's, so that writing a traced value into one is an error: the array that it
    looks into would not change.
    """
    if current() is None:
        return result
    if type(result) is np.ndarray and result.dtype.kind in "biufc":
        if result.base is None and not any(result is argument for argument in args):
            return from_array(result)
        for argument in args:
            if isinstance(argument, np.ndarray) and np.may_share_memory(result, argument):
                return result
        return from_array(result)
    if type(result) in (list, tuple):
        return type(result)([known_arrays(part, args) for part in result])
    return result


def _order(order: Any) -> dict[str, Any]:
    return {} if order is None else {"order": order}


def _shadow_function(original: Callable[..., Any]) -> Callable[..., Any]:
    calls = original is np.fromfunction

    def shadow(*args: Any, **kwargs: Any) -> Any:
        if calls:
            args = tuple(map(handed, args))
        for argument in args:
            if type(argument) is Traced:
                if argument._trace is not None and argument._state is None:
                    return call_traced(original, args, kwargs)
                return call(original, args, kwargs)
        if (kwargs and any_traced(kwargs.values())) or any_traced(args):
            return call(original, args, kwargs)
        result = original(*map(unwrap_all, args), **kwargs)
        return known_arrays(result, args)

    shadow.__name__ = getattr(original, "__name__", "function")
    shadow.__wrapped__ = original  # type: ignore[attr-defined]
    return shadow


def _zeroed(original: Callable[..., Any]) -> Callable[..., Any]:
    """`np.empty`, the same at each call: what is equal in all rounds makes the rounds alike."""
    shadow = _shadow_function(original)

    @functools.wraps(original)
    def zeroed(*args: Any, **kwargs: Any) -> Any:
        result = shadow(*args, **kwargs)
        if type(result) is Traced and result._trace is None and current() is not None:
            result._value.fill(0)
        return result

    return zeroed


def _failing(shadow: Callable[..., Any]) -> Callable[..., Any]:
    """A function that may raise LinAlgError: at once, where that would be caught."""

    @functools.wraps(shadow)
    def ours(*args: Any, **kwargs: Any) -> Any:
        return attempted(shadow, args, kwargs)

    return ours


def _maker(original: Callable[..., Any], ours: Callable[..., Any]) -> Callable[..., Any]:
    """np.array and its like.

    Ours where traced values are among the arguments, NumPy's otherwise.
    """
    has_recipes(ours)

    def shadow(*args: Any, **kwargs: Any) -> Any:
        shared = (
            args and type(args[0]) is Traced and not numpy_values.copies(kwargs.get("copy", True))
        )
        if any_traced(args) or any_traced(kwargs.values()):
            return beside(original, ours, args, kwargs)
        if shared:
            return ours(*args, **kwargs)
        plain = {name: unwrap_all(value) for name, value in kwargs.items()}
        return known_arrays(original(*map(unwrap_all, args), **plain), args)

    shadow.__name__ = original.__name__
    shadow.__wrapped__ = original  # type: ignore[attr-defined]
    return shadow


def _alias(original: Callable[..., Any]) -> Callable[..., Any]:
    """np.asarray of an array is that array.

    A known array must stay the same object, so that writes are seen.
    """
    contiguous = original is np.ascontiguousarray

    def ours(a: Any, dtype: Any, order: Any = None, **kwargs: Any) -> Any:
        if contiguous:
            return numpy_values.contiguous(a, dtype, **kwargs)
        result = numpy_values.asarray(a, dtype, order, **kwargs)
        if type(result) is not Traced or result is not a:
            return result
        if numpy_values.copies(kwargs.pop("copy", None)):
            return copy_of(a)
        return numpy_values.laid_out(a) if order in ("C", "F") else a

    def shadow(a: Any, dtype: Any = None, order: Any = None, **kwargs: Any) -> Any:
        if any_traced((a,)):
            kwargs.update(_order(order))
            return beside(original, ours, (a, dtype), kwargs)
        if type(a) is Traced:
            return ours(a, dtype, order, **kwargs)
        return known_arrays(original(unwrap_all(a), dtype, **_order(order), **kwargs), (a,))

    shadow.__name__ = original.__name__
    shadow.__wrapped__ = original  # type: ignore[attr-defined]
    return shadow


def _within(original: Callable[..., Any], ours: Callable[..., Any]) -> Callable[..., Any]:
    """What is always ours in a capture: the functions that it takes may give traced values."""

    def shadow(*args: Any, **kwargs: Any) -> Any:
        if current() is None:
            return original(*args, **kwargs)
        args = tuple(map(handed, args))
        with refusing(AdjointError), recording_for(args, kwargs):
            return known_arrays(ours(*args, **kwargs), args)

    shadow.__name__ = original.__name__
    shadow.__wrapped__ = original  # type: ignore[attr-defined]
    return shadow


_MAKERS: dict[Any, Callable[..., Any]] = {
    np.array: _maker(np.array, numpy_values.array),
    np.full: _maker(np.full, numpy_values.full),
    np.asarray: _alias(np.asarray),
    np.asanyarray: _alias(np.asanyarray),
    np.ascontiguousarray: _alias(np.ascontiguousarray),
    np.arange: _within(np.arange, numpy_making.arange),
    np.fromiter: _within(np.fromiter, numpy_making.fromiter),
    np.apply_along_axis: _within(np.apply_along_axis, numpy_mapping.apply_along_axis),
    np.apply_over_axes: _within(np.apply_over_axes, numpy_mapping.apply_over_axes),
    np.piecewise: _within(np.piecewise, numpy_mapping.piecewise),
    np.frompyfunc: _within(np.frompyfunc, numpy_mapping.from_python_function),
    np.ndenumerate: _within(np.ndenumerate, numpy_mapping.Enumerated),
}


class ShadowErrstate(np.errstate):
    """np.errstate.

    What is recorded in it will warn of nothing when it runs: either some warning is to be ignored,
    or NumPy has said at the capture what there was to say, and the program is not kept.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._given = kwargs
        self._modes = [mode for name, mode in kwargs.items() if name != "call"]
        if any(mode != "ignore" for mode in self._modes):
            note_effect("it asks for warnings or errors of floating-point arithmetic")
        self._trace: Any = None
        self._said: Any = None
        self._first = 0

    def __call__(self, function: Any) -> Any:
        """The function in this context, as a decorator."""

        @functools.wraps(function)
        def within(*args: Any, **kwargs: Any) -> Any:
            with type(self)(**self._given):
                return function(*args, **kwargs)

        return within

    def __enter__(self) -> None:
        trace = current()
        if trace is not None and trace.witness and not {"ignore", "warn"} >= {*self._modes}:
            refusal = ValueNeededError(
                "np.errstate was asked to raise an error, or to call a function, in a function "
                "that runs for a whole batch (inside vmap), where each example may fail or not. "
                "Leave it away, and look at np.isfinite of the results."
            )
            refuse(refusal)
            raise refusal
        super().__enter__()
        note_warnings()
        self._trace = trace
        self._first = 0 if self._trace is None else len(self._trace.records)
        self._said = None
        if self._trace is not None and self._given:
            self._said = captures()[0].said
            self._said.apart += 1

    def __exit__(self, *error: Any) -> None:
        if self._said is not None:
            silence(self._trace, self._first)
            self._said.apart -= 1
        super().__exit__(*error)


class ShadowModule(types.ModuleType):
    """Stands in for numpy or one of its parts; attributes are wrapped when first asked for."""

    def __init__(self, original: types.ModuleType) -> None:
        super().__init__(original.__name__)
        self.__dict__["__wrapped__"] = original

    def __dir__(self) -> list[str]:
        return dir(self.__wrapped__)

    def __getattr__(self, name: str) -> Any:
        original = self.__wrapped__
        value = getattr(original, name)
        drawn = drawing(value)
        if drawn is not None:
            return drawn
        shown = hooks.rebind(value)
        effect = None if is_random_module(value) else member_effect(original.__name__, name)
        if effect is not None:
            note_effect(effect)
        elif vars(original).get(name, _ABSENT) is value:
            self.__dict__[name] = shown
            _kept.append((self.__dict__, vars(original), name, value))
        return shown


_ABSENT = object()
# What stand-ins for modules keep: under which name, and what it was made of.
_kept: list[tuple[dict[str, Any], dict[str, Any], str, Any]] = []


def forget_changed() -> None:
    """Let go of what was made of members of modules that are others by now."""
    if _all_kept.count != len(_kept):
        _all_kept.gather()
    if not _all_kept.hold():
        for own, names, name, value in list(_kept):
            if names.get(name, _ABSENT) is not value:
                own.pop(name, None)
        _kept[:] = [kept for kept in _kept if kept[2] in kept[0]]
        _all_kept.count = -1


class _AllKept:
    """All that is kept, by module, to be compared at once: every capture asks."""

    def __init__(self) -> None:
        self.count = 0
        self.modules: list[tuple[dict[str, Any], Callable[[Any], Any], list[Any]]] = []

    def gather(self) -> None:
        """Look through all that is kept."""
        modules: dict[int, tuple[dict[str, Any], list[str], list[Any]]] = {}
        for _, names, name, value in _kept:
            _, every, values = modules.setdefault(id(names), (names, ["__name__"], [None]))
            every.append(name)
            values.append(value)
        self.count = len(_kept)
        self.modules = [
            (names, operator.itemgetter(*every), [names["__name__"], *values[1:]])
            for names, every, values in modules.values()
        ]

    def hold(self) -> bool:
        """Whether the members of all modules are what they were."""
        try:
            return all(
                [all(map(operator.is_, get(names), values)) for names, get, values in self.modules]
            )
        except KeyError:
            return False


_all_kept = _AllKept()


_shadows: dict[Any, Any] = {}
_shadows[np.errstate] = ShadowErrstate
_shadows[np.geterr] = as_set
_shadows[np.vectorize] = numpy_mapping.Vectorize
_shadows[np.r_], _shadows[np.c_] = Joined(np.r_), Joined(np.c_)
_shadows[np.empty], _shadows[np.empty_like] = _zeroed(np.empty), _zeroed(np.empty_like)
_shadows[np.lib.stride_tricks.as_strided] = _shadow_function(np.lib.stride_tricks.as_strided)
_shadows[np.ma.getdata] = lambda a, subok=True: a if type(a) is Traced else np.ma.getdata(a, subok)
_shadows.update(SERIES)
_shadows.update({function: unpacking(function) for function in (np.frombuffer, struct.unpack)})
_PARTS = (
    "numpy",
    "numpy._core.numeric",  # as the code behind np.r_ calls it
    "numpy.linalg",
    "numpy.fft",
    "numpy.lib",
    "numpy.lib.stride_tricks",
    "numpy.polynomial",
    "numpy.polynomial.polynomial",
    "numpy.polynomial.legendre",
    "numpy.polynomial.chebyshev",
)


def shadow_of(value: Any) -> Any:
    """The stand-in of a module or function of NumPy's or math's, or None."""
    if type(value) is Traced:
        return None
    if type(value) is ShadowModule:
        return value
    if type(type(value).__hash__) is not types.WrapperDescriptorType:
        return None  # unhashable, or by code of the user's, which is not asked
    try:
        known = _shadows.get(value)
    except (TypeError, ValueError):  # unhashable, as some of memory is: no function or module
        return None
    if known is not None:
        return known
    if isinstance(value, types.ModuleType):
        entered = value.__name__ in _PARTS or is_scipy_module(value) or is_random_module(value)
        shadow: Any = ShadowModule(value) if entered else None
    elif value in _MAKERS:
        shadow = _MAKERS[value]
    elif isinstance(value, type) and is_exact(value):
        shadow = refused_class(value)
    elif isinstance(value, np.ufunc):
        shadow = ShadowUfunc(value) if value in UFUNCS or value in COMPOSED else None
    elif _is_numpys_function(value):
        shadow = _shadow_function(value)
        if getattr(value, "__module__", "") == "numpy.linalg":
            shadow = _failing(shadow)
    else:
        shadow = scipy_stand_in(value)
        if shadow is None:
            return scipy_object(value)  # not kept: it would keep the object alive
        _shadows[shadow] = shadow
    if shadow is not None:
        _shadows[value] = shadow
    return shadow


def _is_numpys_function(value: Any) -> bool:
    if isinstance(value, type) or not callable(value):
        return False
    module = getattr(value, "__module__", None)
    if module not in _PARTS:
        return False
    home: Any = np
    for part in module.split(".")[1:]:
        home = getattr(home, part)
    return getattr(home, getattr(value, "__name__", ""), None) is value


_shadows.update(LIBRARY)
_shadows[math], _shadows[cmath] = ShadowModule(math), ShadowModule(cmath)
_shadows[operator.is_] = lambda one, other: Same(False) @ (one, other)
_shadows[operator.is_not] = lambda one, other: Same(True) @ (one, other)

# --- classes --------------------------------------------------------------------------------------

for _code in "efdFDbhilqBHILQ?":
    _kind = np.dtype(_code).type
    _shadows[_kind] = stand_in(_kind)
for _name in REFUSED:
    _refused: Any = getattr(np, _name, None)
    if isinstance(_refused, type) and _refused not in (np.character, np.flexible):
        _shadows[_refused] = refused_class(_refused)
