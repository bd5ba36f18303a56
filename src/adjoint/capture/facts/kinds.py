"""How values of each kind are compared: what of them is a fact."""

from __future__ import annotations

import abc
import collections
import datetime
import decimal
import enum
import fractions
import functools
import logging
import marshal
import operator
import re
import types
import weakref
from typing import Any, Final, NamedTuple

import numpy as np

from adjoint.base.errors import AdjointError
from adjoint.base.signatures.derived import Derived
from adjoint.capture.clones.entering.users import is_users_kind
from adjoint.capture.clones.wrapping.compiled import source_of
from adjoint.capture.facts.caches import cached
from adjoint.capture.facts.functions import MADE_IN_PYTHON, own_attributes
from adjoint.capture.facts.purity import is_pure_module
from adjoint.capture.facts.settled import is_settled_object, may_change, settled_object
from adjoint.capture.facts.surveying import Look, Surveying
from adjoint.capture.facts.writing import Absent
from adjoint.capture.recording.effects.script import GENERATORS
from adjoint.capture.recording.tracing.traced import Traced

_BYTES: Final = 1 << 24  # of arrays that are compared at every call
_ATOMS: Final = frozenset({type(None), bool, int, float, complex, str})
_MOST_ATOMS: Final = 100_000
_BUFFERED: Final = "biufc"
_BARE: Final = frozenset({"abc", "typing", "enum", "builtins", "typing_extensions"})
_OF_MEMBERS: Final = frozenset({"_name_", "__objclass__", "_sort_order_"})
_ROOMS: Final = ("spaces", "maps", "tensors", "manifolds")
# Which attributes of objects of this package are facts, where not all are or none.
PARTS: dict[type, tuple[str, ...]] = {}
# Of others, which must be the same objects, which attributes must be so too, and are facts.
IDENTICAL: dict[type, tuple[str, ...]] = {}


def _own_object(survey: Surveying, value: Any, expression: str, where: str) -> None:
    """An object of this package's, which is not kept alive."""
    try:
        reference = survey.writer.constant(weakref.ref(value))
    except TypeError:
        survey.exactly(value, expression, where)
        return
    survey.writer.demand(f"{expression} is not {reference}()", where, "identity")
    for name in IDENTICAL.get(type(value), ()):
        survey.exactly(getattr(value, name), f"{expression}.{name}", where, name.strip("_"))
        survey.visit(getattr(value, name), f"{expression}.{name}", where)


def other(survey: Surveying, value: Any, expression: str, where: str, traced: bool) -> None:
    """A value of a kind that is not in the table."""
    kind = type(value)
    room = _room(kind)
    if kind in PARTS:
        for name in PARTS[kind]:
            survey.visit(getattr(value, name), f"{expression}.{name}", where)
    elif source_of(value) is not None:
        survey.exactly(value, expression, where)
        survey.visit(value.py_func, f"{expression}.py_func", where)
    elif isinstance(value, enum.Enum):
        _member(survey, value, expression, where)
    elif room == "capture" and survey.within:
        survey.hinder(f"the state of a {kind.__qualname__} is not compared", where)
    elif room is not None and room not in _ROOMS:
        _own_object(survey, value, expression, where)
    elif isinstance(value, (np.generic, np.dtype)):
        _immutable(survey, value, expression, where, traced)
    elif isinstance(value, np.ndarray):
        survey.hinder(f"a {kind.__name__} has rules of its own", where)
    elif is_settled_object(value):
        settled_object(survey, value, expression, where)
    elif is_users_kind(kind) or _is_plain_object(kind):
        _instance(survey, value, expression, where, traced)
    else:
        survey.hinder(f"the state of a {kind.__module__}.{kind.__qualname__} is unknown", where)


def _room(kind: type) -> str | None:
    """The room of this package that a class is of."""
    first, _, rest = kind.__module__.partition(".")
    if first != "adjoint" or issubclass(kind, AdjointError):
        return None
    return rest.partition(".")[0]


def _is_plain_object(kind: type) -> bool:
    """Whether objects of a pure package have all their state in attributes."""
    if not is_pure_module(kind.__module__) or hasattr(kind, "__next__"):
        return False
    in_python = all(base.__flags__ & MADE_IN_PYTHON for base in kind.__mro__ if base is not object)
    return in_python and (bool(kind.__dictoffset__) or hasattr(kind, "__slots__"))


def _member(survey: Surveying, value: enum.Enum, expression: str, where: str) -> None:
    """A member of an enumeration, and what it holds."""
    name = survey.once(value, expression, where)
    if name is None:
        return
    survey.exactly(value, name, where, "member")
    survey.class_facts(type(value))
    inside = survey.writer.let(f"{name}.__dict__")
    for attribute, content in value.__dict__.items():
        if attribute not in _OF_MEMBERS:
            survey.visit(content, f"{inside}[{attribute!r}]", f"{where}.{attribute.strip('_')}")


# --- values that do not change --------------------------------------------------------------------


def _single(survey: Surveying, value: Any, expression: str, where: str, _: bool) -> None:
    survey.writer.demand(f"{expression} is not {value!r}", where, f"value {value!r}")


def _immutable(survey: Surveying, value: Any, expression: str, where: str, _: bool) -> None:
    writer = survey.writer
    name, constant = writer.let(expression), writer.constant(value)
    unlike = f"{name} is not {constant} and not same({name}, {constant})"
    writer.demand(unlike, where, f"value {_short(value)}")


def _identical(survey: Surveying, value: Any, expression: str, where: str, _: bool) -> None:
    survey.exactly(value, expression, where)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


# --- arrays ---------------------------------------------------------------------------------------


def _array(survey: Surveying, value: Any, expression: str, where: str, _: bool) -> None:
    name = survey.once(value, expression, where, changing=False)
    if name is None:
        return
    survey.bytes += value.nbytes
    if value.dtype.hasobject:
        survey.hinder("an array of objects", where)
        return
    if survey.bytes > _BYTES:
        survey.hinder(f"arrays of more than {_BYTES >> 20} MiB are not compared", where)
        return
    writer, flags = survey.writer, value.flags
    dtype = writer.constant(value.dtype)
    unlike = (
        f"type({name}) is not ndarray or ({name}.dtype is not {dtype} and {name}.dtype != {dtype}) "
        f"or {name}.shape != {value.shape}"
    )
    buffered = value.dtype.kind in _BUFFERED
    if not (flags.c_contiguous and buffered):  # as the comparison of buffers asks for
        unlike += f" or {name}.strides != {value.strides}"
    writer.demand(unlike, where, f"an array {value.dtype}{list(value.shape)}")
    survey.arrays.append((name, value))
    if flags.c_contiguous and buffered:  # the bytes are compared where they are
        kept = writer.constant(bytearray(value.tobytes()))
        writer.demand(f"{kept} != {name}", where, "its contents")
    elif flags.f_contiguous and buffered:
        kept = writer.constant(bytearray(value.T.tobytes()))
        writer.demand(f"{kept} != {name}.T", where, "its contents")
    else:
        kept = writer.constant(value.tobytes())
        writer.demand(f"{name}.tobytes() != {kept}", where, "its contents")


def memory_facts(survey: Surveying, attributes: set[str]) -> None:
    """What of the memory of arrays is a fact, where code may ask for it."""
    if not survey.arrays:
        return
    if not _PLACES_IN_MEMORY.isdisjoint(attributes):
        survey.hinder("it asks where arrays lie in memory")
    for name, value in survey.arrays:
        if "flags" in attributes:
            survey.writer.demand(f"{name}.flags.num != {value.flags.num}", name, "its flags")
        if "base" in attributes:
            unlike = f"({name}.base is None) is not {value.base is None}"
            survey.writer.demand(unlike, name, "whether it is a view")


_PLACES_IN_MEMORY: Final = frozenset(
    {"shares_memory", "may_share_memory", "ctypes", "__array_interface__", "byte_bounds"}
)


# --- containers -----------------------------------------------------------------------------------


def _row(survey: Surveying, value: Any, expression: str, where: str, traced: bool) -> None:
    """A list, a tuple, a set or the like: its entries in their order."""
    changing = None if isinstance(value, tuple) else False
    name = survey.once(value, expression, where, changing)
    if name is None:
        return
    writer, kind = survey.writer, type(value)
    unlike = f"type({name}) is not {writer.constant(kind)} or len({name}) != {len(value)}"
    writer.demand(unlike, where, f"{kind.__name__} of {len(value)}")
    if isinstance(value, collections.deque):
        writer.demand(f"{name}.maxlen != {value.maxlen}", where, "greatest length")
    _entries(survey, value, name, where, traced)


def _entries(survey: Surveying, value: Any, name: str, where: str, traced: bool) -> None:
    writer, entries = survey.writer, [*value]
    if not entries:
        return
    plain = not traced and all(type(entry) in _ATOMS for entry in entries)
    if plain and len(entries) > 1:
        _atoms(survey, entries, f"[*{name}]", where)
        return
    if not isinstance(value, (list, tuple)):
        name = writer.let(f"[*{name}]")
    for number, entry in enumerate(entries):
        survey.visit(entry, f"{name}[{number}]", f"{where}[{number}]", traced)


def _atoms(survey: Surveying, entries: list[Any], expression: str, where: str) -> None:
    """Many numbers and strings at once: as the interpreter would write them to a file."""
    if len(entries) > _MOST_ATOMS:
        survey.hinder(f"more than {_MOST_ATOMS} entries are not compared", where)
        return
    writer = survey.writer
    writer.values["dumps"] = marshal.dumps
    kept = writer.constant(marshal.dumps(entries, 2))
    writer.demand(f"dumps({expression}, 2) != {kept}", where, "its entries")


def _mapping(survey: Surveying, value: Any, expression: str, where: str, traced: bool) -> None:
    name = survey.once(value, expression, where, changing=False)
    if name is None:
        return
    kind = survey.writer.constant(type(value))
    survey.writer.demand(f"type({name}) is not {kind}", where, type(value).__name__)
    if isinstance(value, collections.defaultdict):
        survey.visit(value.default_factory, f"{name}.default_factory", where)
    _items(survey, value, name, where, traced)


def _items(survey: Surveying, value: Any, name: str, where: str, traced: bool) -> None:
    writer, keys = survey.writer, [*value]
    if not keys:
        writer.demand(f"{name}", where, "no entries")
        return
    if all(type(key) is str for key in keys):
        writer.demand(f"[*{name}] != {writer.constant(keys)}", where, "keys, in their order")
        places = [repr(key) for key in keys]
    else:
        listed = writer.let(f"[*{name}]")
        writer.demand(f"len({listed}) != {len(keys)}", where, f"{len(keys)} entries")
        for number, key in enumerate(keys):
            survey.visit(key, f"{listed}[{number}]", f"a key of {where}")
        places = [f"{listed}[{number}]" for number in range(len(keys))]
    values = [value[key] for key in keys]
    if not traced and len(values) > 1 and all(type(content) in _ATOMS for content in values):
        _atoms(survey, values, f"[*{name}.values()]", where)
        return
    for key, place, content in zip(keys, places, values, strict=True):
        survey.visit(content, f"{name}[{place}]", f"{where}[{key!r}]", traced)


# --- objects --------------------------------------------------------------------------------------


def _instance(survey: Surveying, value: Any, expression: str, where: str, traced: bool) -> None:
    """An object of a class written in Python: its class, and what it holds."""
    kind = type(value)
    name = survey.once(value, expression, where, changing=True)
    if name is None:
        return
    if survey.within and hasattr(kind, "__del__"):
        survey.hinder(f"a {kind.__qualname__} does something when it is given up", where)
    writer = survey.writer
    writer.demand(f"type({name}) is not {writer.constant(kind)}", where, f"a {kind.__name__}")
    survey.class_facts(kind)
    if not _contents(survey, value, name, where, traced):
        survey.hinder(f"the state of a {kind.__module__}.{kind.__qualname__} is unknown", where)
        return
    inside = getattr(value, "__dict__", None)
    if type(inside) is dict:
        _inside(survey, value, inside, writer.let(f"{name}.__dict__"), where, traced)
    for slot in _slots(kind):
        content = getattr(value, slot, Absent)
        if content is not Absent:
            survey.visit(content, f"{name}.{slot}", f"{where}.{slot}", traced)
        else:
            writer.demand(f"hasattr({name}, {slot!r})", where, f"no {slot}")


def _contents(survey: Surveying, value: Any, name: str, where: str, traced: bool) -> bool:
    """What an object holds besides attributes, as its class inherits from a builtin one."""
    bases = [
        base
        for base in type(value).__mro__
        if base is not object and not base.__flags__ & MADE_IN_PYTHON
    ]
    if not bases:
        return True
    if isinstance(value, types.SimpleNamespace):
        return True
    if isinstance(value, dict):
        _items(survey, value, name, where, traced)
    elif isinstance(value, (list, tuple, set, frozenset, collections.deque)):
        survey.writer.demand(f"len({name}) != {len(value)}", where, f"{len(value)} entries")
        _entries(survey, value, name, where, traced)
    elif isinstance(value, (int, float, complex, str)):
        plain: Any = next(kind for kind in (int, float, complex, str) if isinstance(value, kind))
        survey.writer.values[plain.__name__] = plain
        survey.visit(plain(value), f"{plain.__name__}({name})", where)
    else:
        return issubclass(bases[0], (BaseException, types.GenericAlias)) and not value.args
    return True


def _inside(
    survey: Surveying, value: Any, inside: dict[str, Any], name: str, where: str, traced: bool
) -> None:
    """The attributes of an object: which there are, and what those are that may be asked for."""
    kind, writer = type(value), survey.writer
    kept = {
        attribute
        for attribute in inside
        if type(_of_class(kind, attribute)) is functools.cached_property
    }
    ours = _room(kind) is not None
    if not (ours and kept):
        keys = writer.constant(frozenset(inside))
        writer.demand(f"{name}.keys() != {keys}", where, "which attributes there are")
    if kind is types.SimpleNamespace and not traced:  # which shows and compares all that it has
        for attribute in inside:
            survey.place(
                inside[attribute],
                f"{name}[{attribute!r}]",
                f"{where}.{attribute}",
                inside,
                attribute,
            )
        return
    if is_users_kind(kind) and not traced and not _inherits_code(kind):
        survey.hold(value, inside, name, where)
        return
    for attribute in inside:
        if not (ours and attribute in kept):
            survey.visit(
                inside[attribute], f"{name}[{attribute!r}]", f"{where}.{attribute}", traced
            )


def registered(survey: Surveying, value: type, where: str) -> None:
    """That no more classes count as derived from an abstract one."""
    if isinstance(value, abc.ABCMeta):
        survey.writer.values["get_cache_token"] = abc.get_cache_token
        unlike = f"get_cache_token() != {abc.get_cache_token()}"
        survey.writer.demand(unlike, where, "which classes are registered")


def _inherits_code(kind: type) -> bool:
    """Whether methods that are not the user's may ask an object for any attribute."""
    return any(
        type(member) is types.FunctionType
        for base in kind.__mro__
        if not may_change(base) and base.__module__ not in _BARE
        for member in base.__dict__.values()
    )


def _of_class(kind: type, name: str) -> Any:
    return next((base.__dict__[name] for base in kind.__mro__ if name in base.__dict__), None)


def _slots(kind: type) -> list[str]:
    return [
        name
        for base in kind.__mro__
        for name, member in base.__dict__.items()
        if type(member) is types.MemberDescriptorType and name != "__dict__"  # looked at by itself
    ]


# --- what is called -------------------------------------------------------------------------------


def _parts(*names: str) -> Look:
    """An object that is what these attributes are."""

    def look(survey: Surveying, value: Any, expression: str, where: str, _: bool) -> None:
        name = survey.once(value, expression, where)
        if name is not None:
            kind = survey.writer.constant(type(value))
            survey.writer.demand(f"type({name}) is not {kind}", where, type(value).__name__)
            if survey.within:
                own_attributes(survey, value, name, where)
            for attribute in names:
                survey.visit(getattr(value, attribute), f"{name}.{attribute}", where)

    return look


def _builtin(survey: Surveying, value: Any, expression: str, where: str, _: bool) -> None:
    owner = value.__self__
    if owner is None or isinstance(owner, (type, types.ModuleType)) or _is_machine_code(value):
        survey.exactly(value, expression, where)
        return
    name = survey.writer.let(expression)
    unlike = f"{name}.__name__ != {value.__name__!r}"
    survey.writer.demand(unlike, where, f"method {value.__name__}")
    survey.visit(owner, f"{name}.__self__", where)


def _is_machine_code(value: Any) -> bool:
    return (getattr(value, "__module__", None) or "").startswith("adjoint.")


def _getter(survey: Surveying, value: Any, expression: str, where: str, _: bool) -> None:
    survey.whole = True  # it may ask for any attribute
    survey.exactly(value, expression, where)


def _not_comparable(survey: Surveying, value: Any, expression: str, where: str, _: bool) -> None:
    survey.hinder(f"a {type(value).__name__} cannot be compared", where)


def _traced(survey: Surveying, value: Any, expression: str, where: str, _: bool) -> None:
    if not survey.within:
        survey.hinder("a traced value that an earlier capture has left", where)
        return
    name = survey.once(value, expression, where)
    if name is not None:
        survey.exactly(type(value), f"type({name})", where, "traced")
        survey.traced.append(name)


def _untouched(survey: Surveying, value: Any, expression: str, where: str, _: bool) -> None:
    """An object that has effects where its methods are called, which is noted there."""
    reference = survey.writer.constant(weakref.ref(value))
    survey.writer.demand(f"{expression} is not {reference}()", where, "identity")


def _generator(survey: Surveying, value: Any, expression: str, where: str, _: bool) -> None:
    """A generator of random numbers: whatever its state, from which a replay goes on."""
    survey.exactly(value, expression, where)
    survey.generators.append(value)


class _OneField(NamedTuple):
    first: int


KINDS_OF_VALUE: Final[dict[type, Look]] = {
    **dict.fromkeys((type(None), bool, type(Ellipsis), type(NotImplemented)), _single),
    **dict.fromkeys((int, float, complex, str, bytes, slice, range), _immutable),
    **dict.fromkeys((fractions.Fraction, decimal.Decimal, datetime.date), _immutable),
    datetime.timedelta: _immutable,
    **dict.fromkeys((np.float64, np.float32, np.int64, np.bool_, np.complex128), _immutable),
    np.ndarray: _array,
    **dict.fromkeys((list, tuple, set, frozenset, collections.deque), _row),
    **dict.fromkeys((dict, collections.OrderedDict, collections.defaultdict), _mapping),
    collections.Counter: _mapping,
    **dict.fromkeys((np.ufunc, type(np.sum), re.Pattern, types.CodeType), _identical),
    **dict.fromkeys((type(list.append), type(int.__add__)), _identical),
    **dict.fromkeys((types.BuiltinFunctionType, types.MethodWrapperType), _builtin),
    types.MethodType: _parts("__func__", "__self__"),
    functools.partial: _parts("func", "args", "keywords"),
    Derived: _parts("func"),
    type(functools.lru_cache(lambda: None)): cached,
    property: _parts("fget", "fset", "fdel"),
    **dict.fromkeys((classmethod, staticmethod), _parts("__func__")),
    functools.cached_property: _parts("func"),
    functools.partialmethod: _parts("func", "args", "keywords"),
    operator.itemgetter: _identical,
    operator.attrgetter: _getter,
    operator.methodcaller: _not_comparable,
    types.GeneratorType: _not_comparable,
    types.SimpleNamespace: _instance,
    type(_OneField.first): _identical,
    **dict.fromkeys(GENERATORS, _generator),
    type(np.random.default_rng): _identical,
    logging.Logger: _untouched,
    Traced: _traced,
}
