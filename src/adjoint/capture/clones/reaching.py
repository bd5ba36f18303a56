"""What a clone finds through objects: attributes, and clones of the methods among them.

Each is looked up as Python does, through the object's own class, and what is found there of the
user's functions runs as a clone. `asker @ object` is how a clone's code asks (`interception.py`).
"""

from __future__ import annotations

import functools
import logging
import sys
import types
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from adjoint.capture.clones.adopting import adopt_attribute, adopt_name
from adjoint.capture.clones.callee import (
    CALLEE,
    DIRECT,
    clone_of,
    entered,
    is_reached,
    reached,
    seen,
)
from adjoint.capture.clones.entering import foreign
from adjoint.capture.clones.entering.clone import CACHED, FOREIGN
from adjoint.capture.clones.entering.users import is_users_kind, is_users_module
from adjoint.capture.clones.inheriting import inherited_method, inside
from adjoint.capture.clones.rebinding import Rebound, UserModule, clone, is_itself, rebind
from adjoint.capture.clones.stand_ins.classes import BUILTINS, STANDING, class_of
from adjoint.capture.clones.stand_ins.drawing import drawing
from adjoint.capture.clones.stand_ins.shadows import ShadowModule
from adjoint.capture.clones.stand_ins.showing import format_method, logging_method
from adjoint.capture.clones.wrapping.given_functions import handing_method
from adjoint.capture.facts.purity import attribute_effect, builtin_effect
from adjoint.capture.recording.effects.script import GENERATORS
from adjoint.capture.recording.tracing.trace import note_effect
from adjoint.capture.recording.tracing.traced import Traced, kind_of, value_of

_ABSENT: Final = object()
# Methods of these that write files, make text or call functions.
_ASKED: Final = frozenset({"tofile", "dump", "format", "sort"})
_NUMBERS: Final = frozenset({float, int, complex, bool})


class Attribute:
    """`Attribute("name") @ object` is `object.name`, seen."""

    __slots__ = ("name",)
    give = staticmethod(seen)

    def __init__(self, name: str) -> None:
        self.name = name

    @classmethod
    @functools.lru_cache(maxsize=4096)
    def of(cls, name: str) -> Attribute:
        """One for a name, the same while it is kept."""
        return cls(name)

    def __matmul__(self, owner: Any) -> Any:
        kind = type(owner)
        if kind is Traced and kind_of(owner) in _NUMBERS:
            getattr(owner._value, self.name)  # which has no `shape`, say: an error of Python's
        if kind in DIRECT:
            return getattr(owner, self.name)
        if is_users_kind(kind):
            return _look_up(owner, self.name, self.give)
        if kind is super:
            return _look_up_above(owner, self.name, self.give)
        if kind is logging.Logger and (method := logging_method(owner, self.name)) is not None:
            return method
        if kind in GENERATORS:
            drawn = drawing(getattr(owner, self.name))
            if drawn is not None:
                return drawn
        if kind is ShadowModule:
            return _names_of(owner) if self.name == "__dict__" else self._member(owner)
        if kind is np.ufunc:
            owner = rebind(owner)
        _judge(owner, kind, self.name)
        if kind is CACHED and self.name == "cache_clear":
            return rebind(owner).cache_clear  # of what this capture keeps, too
        return self.give(getattr(owner, self.name))

    def _member(self, module: ShadowModule) -> Any:
        """What is in a module of a library: a function is that, and what is called is ours."""
        known = getattr(module, self.name)
        original = getattr(module.__wrapped__, self.name)
        return original if self.give is seen and is_itself(original) else known


def _judge(owner: Any, kind: type, name: str) -> None:
    """Note what is asked of an object that is not the user's, unless that is known to be pure."""
    if kind is UserModule or (kind is types.ModuleType and is_users_module(owner)):
        return
    if isinstance(owner, type):
        effect = None if is_users_kind(owner) else attribute_effect(owner, owner, name)
    elif kind in FOREIGN:
        effect = None
    else:
        effect = attribute_effect(owner, kind, name)
    if effect is not None:
        note_effect(effect)


class Above(Attribute):
    """`Above("name") @ (super, kind, object)` is `super(kind, object).name`, reached."""

    __slots__ = ()

    def __matmul__(self, parts: tuple[Any, Any, Any]) -> Any:
        super_class, kind, owner = parts
        above = super_class(kind, owner)
        if type(above) is super:
            return _look_up_above(above, self.name, reached)
        return reached(getattr(above, self.name))


class WrittenAttribute(Attribute):
    """`WrittenAttribute("name") @ object` is `object.name`, which is about to be written into."""

    __slots__ = ()

    def __matmul__(self, owner: Any) -> Any:
        if type(owner) not in DIRECT:
            adopt_attribute(owner, self.name)
        return super().__matmul__(owner)


class WrittenName(Attribute):
    """`WrittenName("name") @ None` says that a module's array is about to be written into."""

    __slots__ = ()

    def __matmul__(self, _: Any) -> None:
        names = sys._getframe(1).f_globals
        if type(names) is Rebound:
            adopt_name(names.original, names.replaced, self.name)


class BodyName(Attribute):
    """`BodyName("name") @ None` is a name in the body of a class.

    The interpreter looks there without asking the mapping of globals.
    """

    __slots__ = ()

    def __matmul__(self, _: Any) -> Any:
        frame = sys._getframe(1)
        for names in (frame.f_locals, frame.f_globals):
            try:
                return names[self.name]
            except KeyError:
                pass
        raise NameError(f"name '{self.name}' is not defined", name=self.name)


class StoredName(Attribute):
    """`StoredName("name") @ value` is `name = value` for a global."""

    __slots__ = ()

    def __matmul__(self, value: Any) -> None:
        sys._getframe(1).f_globals.original[self.name] = value  # type: ignore[attr-defined]


class DeletedName(Attribute):
    """`DeletedName("name") @ None` is `del name` for a global."""

    __slots__ = ()

    def __matmul__(self, _: Any) -> None:
        names: Any = sys._getframe(1).f_globals
        if self.name not in names.original:
            raise NameError(f"name '{self.name}' is not defined")
        del names.original[self.name]


class ClassOf(Attribute):
    """`ClassOf("__class__") @ object` is `object.__class__`."""

    __slots__ = ()

    def __matmul__(self, owner: Any) -> Any:
        return class_of(owner) if type(owner) in STANDING else owner.__class__


class CalledAttribute(Attribute):
    """`CalledAttribute("name") @ object` is what a clone calls for `object.name`."""

    __slots__ = ()
    give = staticmethod(reached)

    def __matmul__(self, owner: Any) -> Any:
        kind = type(owner)
        if kind is ShadowModule or (kind in DIRECT and self.name not in _ASKED):
            member = getattr(owner, self.name)
            called = kind is np.ndarray and callable(member)
            return foreign.of_plain_array(member) if called else member
        if kind is str and self.name == "format":
            return format_method(owner)
        if kind is list and self.name == "sort":
            return handing_method(owner.sort)
        method = super().__matmul__(owner)
        return method if type(method) is types.MethodType else CALLEE @ method


def _look_up(owner: Any, name: str, give: Callable[[Any], Any]) -> Any:
    """`owner.name` as `object.__getattribute__` finds it, as it is to be given."""
    kind = type(owner)
    member: Any = _ABSENT
    for base in kind.__mro__:
        if name in base.__dict__:
            member = base.__dict__[name]
            break
    what = type(member)
    plain: Any = object.__getattribute__
    if kind.__getattribute__ is not plain:  # a class with a metaclass is one too
        return give(getattr(owner, name))
    if member is not _ABSENT and (method := inherited_method(owner, name, base)) is not None:
        return method
    if what in _DESCRIPTORS and not (give is seen and what is types.FunctionType):
        return _described(owner, name, member, what, give)
    if member is _ABSENT and name not in inside(owner):
        fallback: Any = getattr(kind, "__getattr__", None)
        if is_reached(fallback):
            return give(entered(clone(fallback))(owner, name))
    return give(getattr(owner, name))


_DESCRIPTORS: Final = frozenset(
    {
        *(types.FunctionType, property, functools.cached_property, CACHED),
        functools.singledispatchmethod,
    }
)


def _described(owner: Any, name: str, member: Any, what: type, give: Callable[[Any], Any]) -> Any:
    """What a method or a property in a class is for an object."""
    if what is property:
        if not is_reached(member.fget):
            return give(getattr(owner, name))
        try:
            return give(entered(clone(member.fget))(owner))
        except AttributeError:
            fallback = getattr(type(owner), "__getattr__", None)
            if not is_reached(fallback):
                raise
            return give(entered(clone(fallback))(owner, name))  # type: ignore[arg-type]
    if name not in inside(owner):
        if what is types.FunctionType:
            cloned = clone_of(member)
            return types.MethodType(reached(member) if cloned is None else entered(cloned), owner)
        if what is functools.cached_property and is_reached(member.func):
            value = owner.__dict__[name] = entered(clone(member.func))(owner)
            return give(value)
        if what is CACHED and is_reached(member.__wrapped__):
            return functools.partial(reached(member), owner)
        if what is functools.singledispatchmethod:
            return functools.wraps(member.func)(functools.partial(_dispatched, member, owner))
    return give(getattr(owner, name))


def _dispatched(generic: Any, owner: Any, *args: Any, **kwargs: Any) -> Any:
    """Call a method of `functools.singledispatchmethod`, by the class of its argument."""
    if not args:
        return generic.__get__(owner)(**kwargs)  # which raises
    method = generic.dispatcher.dispatch(class_of(args[0]))
    return (CALLEE @ method.__get__(owner, type(owner)))(*args, **kwargs)


def _look_up_above(owner: Any, name: str, give: Callable[[Any], Any]) -> Any:
    """`super().name`: what the classes above define."""
    classes = getattr(owner.__self_class__, "__mro__", (owner.__thisclass__,))
    for base in classes[classes.index(owner.__thisclass__) + 1 :]:
        member: Any = base.__dict__.get(name, _ABSENT)
        if member is not _ABSENT:
            getter: Any = member.fget if type(member) is property else None
            if is_reached(getter):
                return give(entered(clone(getter))(owner.__self__))
            if (method := inherited_method(owner.__self__, name, base, owner)) is not None:
                return method
            break
    return give(getattr(owner, name))


def attribute(owner: Any, name: str, *default: Any) -> Any:
    """`getattr` in a clone."""
    try:
        return Attribute.of(name) @ owner
    except AttributeError:
        if default:
            return default[0]
        raise


def has_attribute(owner: Any, name: str) -> bool:
    """`hasattr` in a clone: a traced value has what NumPy's or Python's has."""
    if type(owner) is Traced:
        value = value_of(owner)
        return hasattr(owner if value is None else value, name)
    if type(owner) is np.ufunc:
        return hasattr(owner, name)
    try:
        Attribute.of(name) @ owner
    except AttributeError:
        return False
    return True


def _globals() -> Any:
    """`globals` in a clone: the names of the module itself."""
    names = sys._getframe(1).f_globals
    note_effect(builtin_effect("globals"))
    return names.original if type(names) is Rebound else names


def _names_of(module: Any) -> Any:
    """`vars(module)` in a clone: what the module itself has, where functions are themselves."""
    if type(module) is ShadowModule:
        return vars(module.__wrapped__)
    return vars(module._original) if type(module) is UserModule else vars(module)


def _vars(*of: Any) -> Any:
    """`vars` in a clone."""
    return _names_of(*of) if of else sys._getframe(1).f_locals


BUILTINS.update(getattr=attribute, hasattr=has_attribute, globals=_globals, vars=_vars)
