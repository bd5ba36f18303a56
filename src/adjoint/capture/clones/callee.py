"""What a clone calls for what its code calls: a clone, a stand-in, or the thing itself.

`CALLEE @ function` is how a clone's code asks (`interception.py`). Classes of the user's make their
instances with clones of their methods. What is not called, but found through an object, is itself.
"""

from __future__ import annotations

import functools
import types
from typing import Any, Final

import numpy as np

from adjoint.capture.clones.entering import foreign
from adjoint.capture.clones.entering.clone import CACHED, Clone
from adjoint.capture.clones.entering.users import is_users, is_users_kind
from adjoint.capture.clones.inheriting import inherited_call
from adjoint.capture.clones.rebinding import Rebound, clone, is_itself, judged, known_clone, rebind
from adjoint.capture.clones.stand_ins.classes import called_class
from adjoint.capture.clones.stand_ins.drawing import drawing
from adjoint.capture.clones.stand_ins.shadow_ufuncs import ShadowUfunc
from adjoint.capture.clones.stand_ins.shadows import ShadowModule
from adjoint.capture.clones.wrapping.compiled import source_of
from adjoint.capture.clones.wrapping.given_functions import as_calling, calls_functions
from adjoint.capture.facts.purity import effect_of, kind_effect
from adjoint.capture.recording.tracing.hooks import hooks
from adjoint.capture.recording.tracing.trace import note_effect, note_entered
from adjoint.capture.recording.tracing.traced import Traced
from adjoint.capture.scipy.table import scipy_object
from adjoint.spaces.polynomials.bases import KINDS

# Whose attributes are never the user's functions, so that they are looked up at once.
DIRECT: Final = frozenset(
    {
        *(Traced, ShadowUfunc, np.ndarray, np.float64),
        *(list, dict, str, tuple, set, float, int, complex, type(None)),
    }
)
# What is never called, or is called as it is.
INERT: Final = frozenset(
    {
        *DIRECT,
        *(ShadowModule, bool, np.float32, np.int64, np.bool_, np.complex128, range, bytes),
    }
)


def entered(cloned: Clone) -> Any:
    """A clone about to be called, which was found through an object: its code is noted."""
    note_entered(cloned.code)
    return cloned.call


def is_reached(function: Any) -> bool:
    """Whether a function is one of the user's that is no clone yet."""
    return (
        type(function) is types.FunctionType
        and type(function.__globals__) is not Rebound
        and is_users(function)
    )


def clone_of(function: types.FunctionType) -> Clone | None:
    """The clone of a function, if it is the user's and no clone yet."""
    cloned = known_clone(function)
    if cloned is None and is_reached(function):
        cloned = clone(function)
    return cloned


def seen(value: Any) -> Any:
    """What was found through an object, for whatever may be done with it: a function is itself."""
    return value if type(value) in INERT or is_itself(value) else reached(value)


def reached(value: Any) -> Any:
    """What was found through an object, to be called: a clone if it is a function of the user's."""
    kind = type(value)
    if kind in INERT:
        return value
    if foreign.is_of_values(value):
        return foreign.of_any_value(value)
    if kind in _METHODS and foreign.holds_numbers(value.__self__):
        return foreign.of_plain_array(value)
    if kind is types.FunctionType:
        return entered(clone(value)) if is_reached(value) else rebind(value)
    if kind is types.MethodType:
        if is_reached(value.__func__):
            return types.MethodType(entered(clone(value.__func__)), value.__self__)
        drawn = hooks.sparse_product(value) or drawing(value)
        return as_calling(value) if drawn is None else drawn
    if kind in REBOUND or kind.__module__.startswith("scipy."):  # an interpolant, say
        return rebind(value)
    return value


_METHODS: Final = frozenset({types.MethodType, types.BuiltinFunctionType})
REBOUND: Final = frozenset(
    {
        types.FunctionType,
        types.BuiltinFunctionType,
        types.ModuleType,
        functools.partial,
        np.ufunc,
        np.vectorize,
        CACHED,
        type(np.sum),
        *KINDS,
    }
)


# --- calls ----------------------------------------------------------------------------------------


class _Callee:
    """`CALLEE @ function` is what a clone calls for it."""

    __slots__ = ()

    def __matmul__(self, called: Any) -> Any:
        kind = type(called)
        if kind in INERT:
            return called
        drawn = None if kind is types.FunctionType else drawing(called)
        if drawn is not None:
            return drawn
        if kind is types.FunctionType or kind in REBOUND or kind is types.MethodType:
            effect = judged(called)
            if effect is not None:
                note_effect(effect)
            apart = effect is not None and kind is types.FunctionType
            if apart or (kind is types.BuiltinFunctionType and foreign.is_foreign(called)):
                return foreign.guarded(reached(called))
            return reached(called)
        if isinstance(called, type):
            return _constructor(called)
        if source_of(called) is not None:
            return rebind(called)
        if foreign.is_compiled(kind):
            note_effect(f"it calls {called!r}, which is compiled")
            return foreign.guarded(called)
        if is_users_kind(kind):  # or one of SciPy's, which may inherit what is entered
            if (stand_in := scipy_object(called)) is not None:
                return stand_in
            call: Any = getattr(kind, "__call__", None)  # noqa: B004  # the method itself
            own = is_reached(call)
            return types.MethodType(entered(clone(call)), called) if own else inherited_call(called)
        effect = kind_effect(kind)
        if effect is not None:
            note_effect(effect)
            return foreign.guarded(reached(called))
        return reached(called)


CALLEE: Final = _Callee()


def _constructor(kind: Any) -> Any:
    """What makes an instance of a class: as `type.__call__` does, with clones of its methods."""
    if not is_users_kind(kind):
        effect = effect_of(kind)
        if effect is not None:
            note_effect(effect)
        has_stand_in = calls_functions(kind) or kind.__module__.startswith("scipy.")
        return rebind(kind) if has_stand_in else called_class(kind)
    if type(kind).__call__ is not type.__call__:
        return kind
    new, start = kind.__new__, kind.__init__
    makes = is_reached(new) and not new.__module__.startswith("namedtuple_")
    if not makes and not is_reached(start):
        return kind

    def construct(*args: Any, **kwargs: Any) -> Any:
        instance = (entered(clone(new)) if makes else new)(kind, *args, **kwargs)
        if kind in type(instance).__mro__:
            begin = type(instance).__init__
            result = (entered(clone(begin)) if is_reached(begin) else begin)(
                instance, *args, **kwargs
            )
            if result is not None:
                returned = type(result).__name__
                raise TypeError(f"__init__() should return None, not '{returned}'")
        return instance

    return construct
