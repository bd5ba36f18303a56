"""Operators of the user's classes: `a + b`, `a[k]`, `for x in a`, with clones of their methods.

Each asker does what Python does for the operator, in the same order of calls; see
`interception.py`.
"""

from __future__ import annotations

import dis
import functools
import operator
import sys
import types
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from adjoint.base.errors import UnsupportedFunctionError, ValueNeededError
from adjoint.capture.clones.callee import entered, is_reached
from adjoint.capture.clones.entering.users import is_users_class, is_users_kind
from adjoint.capture.clones.rebinding import clone
from adjoint.capture.clones.stand_ins.classes import BUILTINS, Same, class_of
from adjoint.capture.numpy.indexing.index_tricks import GRIDS, with_counts
from adjoint.capture.numpy.operations.operators import as_python
from adjoint.capture.numpy.table import perform
from adjoint.capture.recording.effects.script import script_under_way
from adjoint.capture.recording.tracing.applying import has_value
from adjoint.capture.recording.tracing.hooks import handed, hooks
from adjoint.capture.recording.tracing.trace import is_guarded
from adjoint.capture.recording.tracing.traced import Traced, from_array, is_known
from adjoint.capture.recording.values.containers import (
    Filled,
    combined,
    is_container,
    refuse_writing,
)
from adjoint.capture.recording.values.valued import beside, refuse
from adjoint.primitives.elementwise.selection import SELECT


def special(owner: Any, name: str) -> Any:
    """A special method of an object, bound: a clone if it is the user's; None if there is none.

    As Python, look it up in the classes alone, and not in their metaclass.
    """
    kind = type(owner)
    for base in kind.__mro__:
        if name in base.__dict__:
            member: Any = base.__dict__[name]
            if is_reached(member):
                return types.MethodType(entered(clone(member)), owner)
            bind: Any = getattr(type(member), "__get__", None)
            return member if bind is None else bind(member, owner, kind)
    return None


class _Binary:
    """`asker @ (a, b)` is `a + b` or the like, with the order of calls that Python has."""

    __slots__ = ("names", "plain", "symbol")

    def __init__(self, name: str, symbol: str, in_place: bool) -> None:
        bare = name.strip("_")
        self.symbol = symbol + "=" * in_place
        self.plain: Callable[[Any, Any], Any] = getattr(operator, f"__{'i' * in_place}{bare}__")
        self.names = (f"__i{bare}__" if in_place else "", f"__{bare}__", f"__r{bare}__")

    def __matmul__(self, operands: tuple[Any, Any]) -> Any:
        one, other = operands
        first, second = type(one), type(other)
        if not is_users_kind(first) and not is_users_kind(second):
            if first is str and self.symbol == "%":
                return one % other  # written out, as `float` looks for it: see `escape.py`
            if second in _TRACED and is_container(one):
                return self._left_to_traced(one, other)
            if second in _TRACED and hooks.is_sparse(one):  # it would make an array of the other
                one = hooks.sparse_operand(one)
            elif first in _TRACED and hooks.is_sparse(other):  # NumPy's `+=` makes a new array too
                making: Callable[[Any, Any], Any] = getattr(operator, self.names[1])
                return making(one, hooks.sparse_operand(other))
            return self.plain(one, other)
        in_place, forward, reflected = self.names
        joins = _is_sequence(first)  # which comes last, as Python has it
        calls = [] if joins else [(one, forward, other)]
        if first is not second:
            leaves = _is_scalar(one) and getattr(second, "__array_ufunc__", None) is None
            first_asked = leaves or _goes_first(first, second, reflected)
            calls.insert(0 if first_asked else len(calls), (other, reflected, one))
        if in_place and not joins:
            calls.insert(0, (one, in_place, other))
        for owner, name, argument in calls:
            method = special(owner, name)
            if method is not None:
                result = method(argument)
                if result is not NotImplemented:
                    return result
        if joins:
            join = getattr(one, in_place, None) or getattr(one, forward)
            return join(other)
        if forward == "__mul__" and _is_sequence(second) and hasattr(first, "__index__"):
            return other * operator.index(one)
        symbol = "** or pow()" if self.symbol == "**" else self.symbol
        raise TypeError(
            f"unsupported operand type(s) for {symbol}: "
            f"'{_type_name(one)}' and '{_type_name(other)}'"
        )

    def _left_to_traced(self, container: Any, other: Any) -> Any:
        """Where a container of another library stands on the left: some do not ask the right."""
        in_place, forward, _ = self.names
        if in_place and hasattr(type(container), in_place):
            refuse_writing(container)
        function = getattr(operator, forward)
        return combined(function, function, (container, other), {})


def _goes_first(first: type, second: type, reflected: str) -> bool:
    """Whether the right operand is asked first: its class refines the method of the left one's."""
    if second in first.__mro__ or first not in second.__mro__:
        return False
    own = getattr(second, reflected, None)
    return own is not None and own is not getattr(first, reflected, None)


def _is_sequence(kind: type) -> bool:
    """Whether it joins and repeats as lists do: that has no reflected form."""
    return hasattr(kind, "__add__") and not hasattr(kind, "__radd__") and _is_builtin(kind.__add__)


def _is_builtin(method: Any) -> bool:
    return type(method) is types.WrapperDescriptorType


def _type_name(value: Any) -> str:
    if type(value) is not Traced:
        return type(value).__name__
    if value.type.weak:
        return type(value.dtype.type(0).item()).__name__
    return "numpy.ndarray" if value.ndim else f"numpy.{value.dtype}"


def _is_scalar(value: Any) -> bool:
    """Whether it is a scalar of NumPy's, which leaves operators to an object's reflected ones."""
    return isinstance(value, np.generic) or (type(value) is Traced and value.ndim == 0)


class _Comparison:
    """`asker @ (a, b)` is `a < b` or the like, with the order of calls that Python has."""

    __slots__ = ("forward", "plain", "reflected", "symbol")

    def __init__(self, symbol: str, name: str, mirror: str) -> None:
        self.symbol = symbol
        self.plain: Callable[[Any, Any], Any] = getattr(operator, name)
        self.forward, self.reflected = f"__{name}__", f"__{mirror}__"

    def __matmul__(self, operands: tuple[Any, Any]) -> Any:
        one, other = operands
        first, second = type(one), type(other)
        if not is_users_kind(first) and not is_users_kind(second):
            if second in _TRACED and is_container(one):
                return combined(self.plain, self.plain, (one, other), {})
            return self.plain(one, other)
        calls = [(one, self.forward, other)]
        refines = first is not second and first in second.__mro__
        calls.insert(0 if refines else 1, (other, self.reflected, one))
        for owner, name, argument in calls:
            method = special(owner, name)
            result = NotImplemented if method is None else method(argument)
            if result is not NotImplemented:
                return result
        if self.symbol in ("==", "!="):
            return (one is other) is (self.symbol == "==")
        raise TypeError(
            f"'{self.symbol}' not supported between instances of "
            f"'{_type_name(one)}' and '{_type_name(other)}'"
        )


class _Negative:
    """`asker @ a` is `-a`."""

    __slots__ = ()

    def __matmul__(self, operand: Any) -> Any:
        if is_users_kind(type(operand)):
            method = special(operand, "__neg__")
            if method is not None:
                return method()
        return -operand


class _Iterator:
    """`asker @ a` is what a loop over `a` asks for the next value."""

    __slots__ = ()

    def __matmul__(self, operand: Any) -> Any:
        iterator = _iter(operand)
        return _UsersIterator(iterator) if is_users_kind(type(iterator)) else iterator


def _iter(operand: Any, *sentinel: Any) -> Any:
    """`iter` in a clone."""
    method = special(operand, "__iter__") if is_users_kind(type(operand)) else None
    if method is None or sentinel:
        return iter(handed(operand) if sentinel else operand, *sentinel)
    iterator = method()
    kind = type(iterator)
    if not hasattr(kind, "__next__"):  # on which the interpreter would crash
        raise TypeError(f"iter() returned non-iterator of type '{kind.__name__}'")
    return iterator


class _UsersIterator:
    """An iterator of the user's in a loop, whose `__next__` runs as a clone."""

    __slots__ = ("iterator",)

    def __init__(self, iterator: Any) -> None:
        self.iterator = iterator

    def __iter__(self) -> _UsersIterator:
        return self

    def __next__(self) -> Any:
        return _next(self.iterator)


def _next(iterator: Any, *default: Any) -> Any:
    """`next` in a clone."""
    if type(iterator) is Traced:
        raise _no_iterator(iterator)
    method = special(iterator, "__next__") if is_users_kind(type(iterator)) else None
    if method is None:
        return next(iterator, *default)
    if not default:
        return method()
    try:
        return method()
    except StopIteration:
        return default[0]


def _no_iterator(value: Traced) -> Exception:
    """The error for the next of a traced value: one of Python's, but for `x.flat`."""
    if value._state is None or not value._state.flat:
        kind = class_of(value)
        whole = kind.__name__ if kind.__module__ == "builtins" else f"numpy.{kind.__name__}"
        return TypeError(f"'{whole}' object is not an iterator")
    refusal = UnsupportedFunctionError(
        "next() was called on x.flat of a traced array, which keeps no place. "
        "Write places = iter(x.flat), and next(places)."
    )
    refuse(refusal)
    return refusal


class _Item:
    """`asker @ (a, key)` is `a[key]`."""

    __slots__ = ()

    def __matmul__(self, operands: tuple[Any, Any]) -> Any:
        owner, key = operands
        if type(owner) is Traced:
            return hooks.get(owner, key)
        if is_users_kind(type(owner)):
            method = special(owner, "__getitem__")
            if method is not None:
                return method(key)
        if type(owner) is np.ndarray and type(key) in _KEYS and is_guarded():
            entries = _at_traced_places(owner, key)
            if entries is not None:
                return entries
        if type(owner) in GRIDS:
            key = with_counts(key)
        try:
            return owner[key]
        except ValueNeededError:
            # An array of the user's, at a place that is known in a round of a loop alone.
            if type(owner) is not np.ndarray:
                raise
            return from_array(owner)[key]


_TRACED: Final = frozenset({Traced, Filled})
_KEYS: Final = frozenset({Traced, tuple})


def _at_traced_places(array: Any, key: Any) -> Any:
    """Entries of a plain array at whole numbers that are traced, as a minibatch is taken.

    So they depend on these numbers, and not the program on what they are. None where the result
    would look into the array, or its shape is not known.
    """
    traced = [
        index
        for index in (key if type(key) is tuple else (key,))
        if type(index) is Traced and not is_known(index)
    ]
    if not traced or array.dtype.kind not in "biufc":
        return None
    if any(index.dtype.kind not in "iu" for index in traced):
        return None
    if any(index.ndim for index in traced):
        return from_array(array)[key]
    script = script_under_way()
    if script is None or not script.rehearses:
        return None
    entries = from_array(array)[key]
    if type(entries) is Traced and type(entries._value) is np.ndarray:
        entries._value = entries._value.view()
        entries._value.flags.writeable = False  # the array is not to be written into
    return entries


_BINARY: Final = {  # in the order of the argument of BINARY_OP
    **{"add": "+", "and": "&", "floordiv": "//", "lshift": "<<", "matmul": "@", "mul": "*"},
    **{"mod": "%", "or": "|", "pow": "**", "rshift": ">>", "sub": "-", "truediv": "/", "xor": "^"},
}
PRODUCTS: Final = frozenset({4, *range(13, 26)})
"""The arguments of BINARY_OP for `@`, and for what is in place."""
_BINARIES: Final = [
    *(_Binary(name, symbol, False) for name, symbol in _BINARY.items()),
    *(_Binary(name, symbol, True) for name, symbol in _BINARY.items()),
]
_COMPARED: Final = {
    **{"<": ("lt", "gt"), "<=": ("le", "ge"), ">": ("gt", "lt"), ">=": ("ge", "le")},
    **{"==": ("eq", "eq"), "!=": ("ne", "ne")},
}
# In the order of the argument of COMPARE_OP, above its lowest bits, which are of the interpreter.
_COMPARISONS: Final = [_Comparison(symbol, *_COMPARED[symbol]) for symbol in dis.cmp_op[:6]]
_LOW_BITS: Final = {11: 0, 12: 4}.get(sys.version_info[1], 5)
_NEGATIVE: Final = _Negative()
_ITERATOR: Final = _Iterator()
_ITEM: Final = _Item()
# By instruction: the family that it belongs to, how many operands it has, and who is asked.
OPERATORS: Final[dict[str, tuple[str, int, Callable[[int], Any]]]] = {
    "BINARY_OP": ("arithmetic", 2, _BINARIES.__getitem__),
    "COMPARE_OP": ("comparison", 2, lambda argument: _COMPARISONS[argument >> _LOW_BITS]),
    "UNARY_NEGATIVE": ("arithmetic", 1, lambda _: _NEGATIVE),
    "BINARY_SUBSCR": ("items", 2, lambda _: _ITEM),
    "GET_ITER": ("iteration", 1, lambda _: _ITERATOR),
    "IS_OP": ("identity", 2, (Same(False), Same(True)).__getitem__),
}


def _over(function: Callable[..., Any]) -> Callable[..., Any]:
    """A builtin that iterates over its first argument, which may be an object of the user's."""

    @functools.wraps(function)
    def stand_in(*args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and is_users_kind(type(args[0])):  # more of `max` are what is compared
            args = (_ITERATOR @ args[0],)
        return function(*args, **{name: handed(argument) for name, argument in kwargs.items()})

    return stand_in


def _extreme(original: Any, better: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """`min` or `max`, which chooses between floating-point numbers without asking for their order.

    So a program holds for all of them: `min(a, b)` is `b if b < a else a`, of NaN too. Where they
    are of different kinds, that of the result depends on which is chosen, and is asked for; where
    nobody can answer, as in a batch, doubles of Python's are NumPy's.
    """
    general = _over(original)

    def recorded(*values: Any) -> Any:
        chosen, *others = values
        for other in others:
            chosen = perform(SELECT, better(other, chosen), other, chosen)
        return as_python(chosen, *values)

    @functools.wraps(original)
    def stand_in(*args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and type(args[0]) in _LISTED:
            args = (list(args[0]),)
        values = args[0] if len(args) == 1 and type(args[0]) is list else args
        if not kwargs and len(values) > 1 and Traced in map(type, values):
            kinds = set(map(class_of, values))
            alike = len(kinds) == 1 and all(issubclass(kind, _FLOATING) for kind in kinds)
            if alike or (kinds == _DOUBLE and not all(map(has_value, values))):
                return beside(original, recorded, values, {})
        return general(*args, **kwargs)

    return stand_in


_FLOATING: Final = (float, np.floating)
_DOUBLE: Final = {float, np.float64}
_LISTED: Final = frozenset({tuple, types.GeneratorType, map})
_plain_sum: Final = sum  # somebody may put another one in its place, and call this one


def _sum(iterable: Any, /, start: Any = 0) -> Any:
    values = list(_ITERATOR @ iterable)
    if not any(is_users_kind(type(value)) for value in (start, *values)):
        return _plain_sum(values, start)
    return functools.reduce(lambda one, other: _BINARIES[0] @ (one, other), values, start)


BUILTINS.update(
    {
        "sum": functools.wraps(sum)(_sum),
        "iter": functools.wraps(iter)(_iter),
        "next": functools.wraps(next)(_next),
        "min": _extreme(min, np.less),
        "max": _extreme(max, np.greater),
        **{builtin.__name__: _over(builtin) for builtin in (sorted, any, all)},
    }
)
_FAMILIES: Final = {
    **{f"__{prefix}{name}__": "arithmetic" for name in _BINARY for prefix in ("", "r", "i")},
    **{f"__{name}__": "comparison" for name, _ in _COMPARED.values()},
    **{"__neg__": "arithmetic", "__getitem__": "items", "__iter__": "iteration"},
}


# Libraries whose containers do not ask the right operand of some operators.
_KEEPING: Final = {
    "pandas": {"products"},
    "polars": {"products", "arithmetic", "comparison"},
    "xarray": {"products", "arithmetic", "comparison"},
}


def _is_of_sparse(value: Any) -> bool:
    """Whether code that knows it may multiply one of SciPy's sparse matrices, which keep `*` too.

    A name alone tells: SciPy has that module in memory for many other reasons.
    """
    if type(value) is types.ModuleType:
        name = value.__name__
        return name.startswith("scipy.sparse") or (name == "scipy" and "sparse" in vars(value))
    home = getattr(type(value), "__module__", None) or ""
    return isinstance(home, str) and home.startswith("scipy.sparse")


def families_of(names: dict[str, Any]) -> frozenset[str]:
    """Which operators are asked for: items, and what the user's classes among names overload."""
    families = {"items", "identity"}
    for library, kept in _KEEPING.items():
        if library in sys.modules:
            families |= kept
    for value in list(names.values()):
        if isinstance(value, type) and is_users_kind(value):
            for kind in value.__mro__:
                if is_users_class(kind):
                    families.update(_FAMILIES[name] for name in vars(kind) if name in _FAMILIES)
        elif _is_of_sparse(value):
            families.add("arithmetic")
    return frozenset(families)
