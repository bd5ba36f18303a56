"""Stand-ins for classes that are called and asked about: `float(t)`, `type(t) is float`.

A traced array is none of NumPy's classes; it answers as the one that NumPy would have there.
"""

from __future__ import annotations

import builtins
import types
from typing import Any, Final

import numpy as np

from adjoint.capture.clones.entering.users import is_users_kind
from adjoint.capture.clones.stand_ins.shadow_ufuncs import ShadowUfunc
from adjoint.capture.numpy.making import values as numpy_values
from adjoint.capture.numpy.operations.operators import python_number
from adjoint.capture.numpy.table import any_traced, refused, unwrap_all
from adjoint.capture.recording.effects.texts import Text
from adjoint.capture.recording.exits.escape import read_back
from adjoint.capture.recording.tracing.applying import concrete
from adjoint.capture.recording.tracing.hooks import hooks
from adjoint.capture.recording.tracing.trace import note_effect
from adjoint.capture.recording.tracing.traced import Traced, is_cell, value_of
from adjoint.capture.recording.values.containers import Filled
from adjoint.capture.recording.values.valued import beside
from adjoint.capture.scipy.table import class_in_scipy

# Looked up on the stand-in itself, and not on what it stands for.
_OWN: Final = frozenset(
    {
        *("__class__", "__delattr__", "__dict__", "__dir__", "__getattribute__", "__init__"),
        *("__init_subclass__", "__setattr__", "__slots__", "__subclasshook__", "__weakref__"),
    }
)
_stand_ins: dict[type, Any] = {}


class NumberClass(type):
    """The type of stand-ins for classes that are called: float and its like.

    Calls keep traced values, everything else is the original's.
    """

    original: type

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        """What a call of the class gives."""
        if len(args) == 1:
            args = (as_number(args[0], *_PROTOCOLS.get(cls.original, ())),)
        if args:
            read_back(args[0])
        if any_traced(args):
            return beside(cls.original, cls.converted, args, kwargs)
        return cls.original(*map(unwrap_all, args), **kwargs)

    def converted(cls, *args: Any) -> Any:
        """What a call with traced arguments records."""
        dtype = np.dtype(cls.original)
        if len(args) == 2 and cls.original is complex:
            return args[0] + 1j * args[1]
        (value,) = args
        if issubclass(cls.original, np.generic):
            return numpy_values.asarray(value, dtype)
        if value.size != 1:
            raise TypeError("only 0-dimensional arrays can be converted to Python scalars")
        value = value.reshape(()) if value.ndim else value
        return python_number(value if value.dtype == dtype else numpy_values.astype(value, dtype))

    def __instancecheck__(cls, instance: Any) -> bool:
        return is_instance(instance, cls.original)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(original_type(subclass), cls.original)

    def __eq__(cls, other: object) -> Any:
        # A dtype on the other side knows whether it is this one's.
        return True if original_type(other) is cls.original else NotImplemented

    def __hash__(cls) -> int:
        return hash(cls.original)

    def __getattr__(cls, name: str) -> Any:
        return getattr(cls.original, name)

    def __repr__(cls) -> str:
        return repr(cls.original)


_FLOAT: Final = ("__float__",)
_PROTOCOLS: Final = {float: _FLOAT, np.float64: _FLOAT, complex: ("__complex__", "__float__")}


def as_number(value: Any, *protocols: str) -> Any:
    """The number that an object of the user's gives by a method of its own; or the value.

    protocols: names of methods, of which the first that there is counts.
    """
    if type(value) is Traced or not is_users_kind(type(value)):
        return value
    for name in protocols:
        method = getattr(type(value), name, None)
        if method is None:
            continue
        if type(method) is not types.FunctionType:
            break
        number, wanted = hooks.rebind(method)(value), _NUMBERS[name]
        if issubclass(kind := class_of(number), wanted):
            return number
        whose = f"{type(value).__name__}." if wanted is float else ""  # as Python says it
        raise TypeError(f"{whose}{name} returned non-{wanted.__name__} (type {kind.__name__})")
    return value


_NUMBERS: Final = {"__float__": float, "__complex__": complex}


def original_type(kind: Any) -> Any:
    """The type that a stand-in stands for."""
    if type(kind) is types.FunctionType:  # which stands for a class of SciPy's, maybe
        original = kind.__dict__.get("__wrapped__")
        return original if _is_scipys(original) else kind
    return kind.original if issubclass(type(kind), NumberClass) else kind


def _is_scipys(kind: Any) -> bool:
    return isinstance(kind, type) and kind.__module__.startswith("scipy.")


def _members(original: type) -> dict[str, Any]:
    members = {name: getattr(original, name) for name in dir(original) if name not in _OWN}
    members["original"] = original
    if issubclass(original, (float, int)):
        members["__match_args__"] = ("real",)  # `case float(v)` is the number itself
    return members


def stand_in(original: Any) -> Any:
    """The stand-in of a class of numbers, which can be used as a dtype too."""
    # NumPy takes a class with a `dtype` for that dtype.
    members = {**_members(original), "dtype": np.dtype(original)}
    counterpart = _stand_ins[original] = NumberClass(original.__name__, (), members)
    return counterpart


class _Refused(NumberClass):
    """The type of stand-ins for NumPy's classes that are not made of traced values."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if any_traced(args) or any_traced(kwargs.values()):
            raise refused(cls.original)
        return cls.original(*map(unwrap_all, args), **kwargs)


def refused_class(original: Any) -> Any:
    """The stand-in of a class that takes no traced values."""
    members = {"original": original}
    if issubclass(original, np.generic):
        members["dtype"] = np.dtype(original)
    refusing_class = _stand_ins[original] = _Refused(original.__name__, (), members)
    return refusing_class


STANDING: Final = frozenset({Traced, Filled})
"""The classes of what stands for something else."""


def class_of(value: Any) -> type:
    """The class of a value; of a traced one, that which NumPy would have in its place."""
    if type(value) is Filled:
        return type(value.like)
    if type(value) is not Traced:
        return str if type(value) is Text else type(value)
    known = value_of(value)
    if known is not None:
        return type(known)
    if value.type.weak:
        return _PYTHON[value.type.dtype.kind]
    return value.dtype.type if value.ndim == 0 and not is_cell(value) else np.ndarray


_PYTHON: Final[dict[str, type]] = {"f": float, "c": complex, "i": int, "b": bool}


def type_of_value(*args: Any, **kwargs: Any) -> Any:
    """`type(x)` in a clone."""
    if len(args) == 1:
        return class_of(*args)
    name, bases, members = args
    return type(name, tuple(map(original_type, bases)), members, **kwargs)


def is_exact(kind: type) -> bool:
    """Whether it is a class of Python's exact numbers, which have no derivative."""
    return (kind.__module__, kind.__name__) in _EXACT


_EXACT: Final = frozenset({("fractions", "Fraction"), ("decimal", "Decimal")})


def called_class(kind: type) -> Any:
    """What makes a value of a class in a clone: its stand-in, if there is one."""
    if is_exact(kind) and kind not in _stand_ins:
        refused_class(kind)
    return type_of_value if kind is type else _stand_ins.get(kind, kind)


class Same:
    """`asker @ (a, b)` is `a is b`, where a stand-in is what it stands for.

    `x is True` is asked of the value beside a traced one: Python's comparisons give Python's True,
    NumPy's another, and a program is right where the answer is the same.
    """

    __slots__ = ("inverted",)

    def __init__(self, inverted: bool) -> None:
        self.inverted = inverted

    def __matmul__(self, pair: tuple[Any, Any]) -> bool:
        one, other = pair
        if one is not other and isinstance(one, type) and isinstance(other, type):
            one, other = original_type(one), original_type(other)
        if one is not other and (type(one) is Traced or type(other) is Traced):
            first, second = _given(one), _given(other)
            if type(first) is type(second) is np.ndarray and _differ(one, other):
                note_effect("it asks whether two arguments are the same array")
                one, other = first, second
            elif _is_one_of_few(one, other):
                one, other = _object_of(one), _object_of(other)
        return (one is other) is not self.inverted


def _is_one_of_few(one: Any, other: Any) -> bool:
    """Whether two may be one object for their value: of truth values there are no others."""
    kind = class_of(one)
    return kind in _FEW and kind is class_of(other)


_FEW: Final = frozenset({bool, np.bool_, int})


def _object_of(value: Any) -> Any:
    """The object that Python would have in the place of a value, which is asked for."""
    if type(value) is not Traced:
        return value
    kind = class_of(value)
    return concrete(value) if kind is int else kind(concrete(value, "bool"))


def _given(value: Any) -> Any:
    """What the caller has passed for a traced argument, which may be passed twice."""
    given = value
    while type(given) is Traced and given._trace is not None:
        if given._slot >= given._trace.input_count:
            return value
        given = given._trace.values.get(given._slot)
    return given


def _differ(one: Any, other: Any) -> bool:
    """Whether two are not views, or other names, of one argument."""
    if type(one) is not Traced or type(other) is not Traced:
        return True
    return (one._trace, one._slot) != (other._trace, other._slot)


class _Pattern:
    """`PATTERN @ (value, kind)` is the class that a value is matched with in `case kind(...)`.

    The interpreter asks the class whether the value is an instance, so that for a traced one a
    stand-in is asked.
    """

    __slots__ = ()

    def __matmul__(self, pair: tuple[Any, Any]) -> Any:
        value, kind = pair
        if type(value) is not Traced or not isinstance(kind, type) or type(kind) is NumberClass:
            return kind
        return NumberClass(kind.__name__, (), _members(kind))


PATTERN: Final = _Pattern()


def build_class(body: Any, name: str, *bases: Any, **keywords: Any) -> Any:
    """`class name(*bases)` in a clone."""
    return builtins.__build_class__(body, name, *map(original_type, bases), **keywords)


def is_instance(value: Any, kinds: Any) -> bool:
    """`isinstance` in a clone."""
    if isinstance(kinds, tuple):
        return any(is_instance(value, kind) for kind in kinds)
    if isinstance(kinds, types.UnionType):
        return any(is_instance(value, kind) for kind in kinds.__args__)
    kind = original_type(kinds)
    if type(value) is Traced and isinstance(kind, type):
        if getattr(kind, "_is_protocol", False):  # of attributes, which an instance has
            return isinstance(_instance_of(class_of(value)), kind)
        return issubclass(class_of(value), kind)
    if type(value) is Filled:
        return isinstance(value.like, kind)
    if type(value) is ShadowUfunc:
        value = value.__wrapped__
    made_as = class_in_scipy(value) if _is_scipys(kind) else None
    return isinstance(value, kind) if made_as is None else issubclass(made_as, kind)


def _instance_of(kind: type) -> Any:
    """An array of no axes, or a number, of a class."""
    return np.zeros(()) if kind is np.ndarray else kind(0)


def is_subclass(one: Any, kinds: Any) -> bool:
    """`issubclass` in a clone."""
    if isinstance(kinds, tuple):
        return any(is_subclass(one, kind) for kind in kinds)
    if isinstance(kinds, types.UnionType):
        return any(is_subclass(one, kind) for kind in kinds.__args__)
    return issubclass(original_type(one), original_type(kinds))


BUILTINS: dict[str, Any] = {
    "float": stand_in(builtins.float),
    "complex": stand_in(builtins.complex),
    "isinstance": is_instance,
    "issubclass": is_subclass,
    "memoryview": refused_class(builtins.memoryview),
}
"""What clones call under the names of builtins; where it is a class, they see it too."""
