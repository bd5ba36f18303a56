"""Arguments checked by their annotations: what a signature says is so, or an error says where.

`@checked` on a public function, or on a class for what makes its objects, is for what is called now
and then: a call costs some microseconds more.
"""

from __future__ import annotations

import collections.abc
import functools
import inspect
import types
from collections.abc import Callable
from enum import Enum
from typing import (
    Any,
    Literal,
    NamedTuple,
    TypeAlias,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np

from adjoint.base.arrays import class_name
from adjoint.base.errors import AdjointError, ArgumentTypeError
from adjoint.base.signatures.calling import misfit
from adjoint.base.signatures.derived import Parameters, Result

Class = TypeVar("Class", bound=type)
Test = Callable[[Any], bool]
Seed: TypeAlias = (
    int
    | np.integer[Any]
    | collections.abc.Sequence[int]
    | np.random.SeedSequence
    | np.random.BitGenerator
    | np.random.Generator
    | None
)


def checked(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """A function that raises ArgumentTypeError where an argument is not what its annotation says.

    Numbers, and what is True or False, are tested before. What is to be text, an object or a
    function is tested where the function has failed, and not with an error of its own. Arguments
    that are annotated as `Any` are left to the function.
    """
    signature = inspect.signature(function)
    name = function.__qualname__.removesuffix(".__init__").rpartition(".")[2]
    tests: list[dict[str, Condition]] = []

    def refuse(conditions: dict[str, Condition], given: dict[str, Any]) -> None:
        for argument, condition in conditions.items():
            if argument in given and not condition.test(given[argument]):
                raise ArgumentTypeError(
                    f"{name} takes {condition.words} as its {argument}. "
                    f"Got {_told(given[argument])}."
                )

    @functools.wraps(function)
    def tested(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        if not tests:
            every = _conditions(function)
            tests[:] = {key: one for key, one in every.items() if one.plain}, every
        try:
            given = signature.bind(*args, **kwargs).arguments
        except TypeError:
            raise misfit(function, args, kwargs) from None
        refuse(tests[0], given)
        try:
            return function(*args, **kwargs)
        except AdjointError:
            raise
        except (ArithmeticError, AttributeError, TypeError, ValueError):
            refuse(tests[1], given)
            raise

    return tested


def checked_class(kind: Class) -> Class:
    """A class whose objects are made of what the annotations say."""
    setattr(kind, "__init__", checked(vars(kind)["__init__"]))  # noqa: B010  # mypy: it is a method
    return kind


def check_flag(value: Any, argument: str) -> None:
    """ArgumentTypeError unless an argument is True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise ArgumentTypeError(f"{argument} must be True or False. Got {_told(value)}.")


def check_whole(value: Any, argument: str) -> None:
    """ArgumentTypeError unless an argument is a whole number of 64 bits."""
    if not _is_integer(value):
        raise ArgumentTypeError(
            f"{argument} must be a whole number, of 64 bits at most. Got {_told(value)}."
        )


def check_function(value: Any, argument: str) -> None:
    """ArgumentTypeError unless an argument can be called."""
    if not callable(value):
        raise ArgumentTypeError(f"{argument} must be a function. Got {_told(value)}.")


def generator_of(seed: Any) -> np.random.Generator:
    """NumPy's generator of a seed, which moves on if it is one; or ArgumentTypeError."""
    try:
        return np.random.default_rng(seed)
    except AdjointError:
        raise
    except (TypeError, ValueError):
        raise ArgumentTypeError(
            "seed must be what np.random.default_rng takes: a whole number that is not negative, "
            f"several, None, or one of NumPy's seed sequences or generators. Got {_told(seed)}."
        ) from None


class Condition(NamedTuple):
    """What an argument must be, as a test and in words. plain: whether no object is asked for."""

    test: Test
    words: str
    plain: bool


def _conditions(function: Callable[..., Any]) -> dict[str, Condition]:
    """For each parameter whose annotation can be tested: what it says."""
    conditions = {}
    hints = get_type_hints(function)
    for parameter in inspect.signature(function).parameters.values():
        parts = _parts(hints.get(parameter.name, Any))
        tests = [known for known in map(_test, parts) if known is not None]
        if len(tests) < len(parts) or parameter.kind is parameter.VAR_KEYWORD:
            continue
        test, words = _any_of([one for one, _ in tests]), " or ".join(text for _, text in tests)
        if parameter.kind is parameter.VAR_POSITIONAL:
            test, words = _every(test), f"{words} each"
        plain = all(part in _PLAIN and part is not str for part in parts)
        conditions[parameter.name] = Condition(test, words, plain)
    return conditions


def _parts(hint: Any) -> list[Any]:
    return list(get_args(hint)) if get_origin(hint) in (Union, types.UnionType) else [hint]


def _test(hint: Any) -> tuple[Test, str] | None:
    """The test of one class of annotations, in words what passes; None for what cannot be asked."""
    if hint in _PLAIN:
        return _PLAIN[hint]
    origin = get_origin(hint) or hint
    if origin is Literal:
        values = get_args(hint)
        return (lambda value: value in values), " or ".join(map(repr, values))
    if origin is collections.abc.Callable:
        return callable, "a function"
    if origin in (collections.abc.Sequence, collections.abc.Iterable):
        return _is_row, "a list or tuple"
    if hint is Any or not isinstance(origin, type) or getattr(origin, "_is_protocol", False):
        return None
    article = "an" if origin.__name__[0] in "AEIOUaeiou" else "a"
    member = f", a member of {origin.__name__}," if issubclass(origin, Enum) else ""
    return (lambda value: isinstance(value, origin)), f"{article} {origin.__name__}{member}"


def _any_of(tests: list[Test]) -> Test:
    return tests[0] if len(tests) == 1 else lambda value: any(test(value) for test in tests)


def _every(test: Test) -> Test:
    return lambda values: all(map(test, values))


def _is_integer(value: Any) -> bool:
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    return whole and -_WIDEST <= value < _WIDEST


def _is_number(value: Any) -> bool:
    """Whether a value is a real number: Python's, NumPy's, or traced."""
    if isinstance(value, (bool, np.bool_)):
        return False
    dtype = getattr(value, "dtype", None)
    if dtype is not None:
        return getattr(dtype, "kind", "") in ("i", "u", "f") and value.ndim == 0
    return isinstance(value, (int, float))


def _is_row(value: Any) -> bool:
    """Whether a value is several in an order; text is one."""
    if isinstance(value, np.ndarray):
        return value.ndim > 0
    return isinstance(value, collections.abc.Iterable) and not isinstance(value, (str, bytes, dict))


def _told(value: Any) -> str:
    """A value as an error shows it: its class, and what it is where that is short."""
    kind = type(value)
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape} and dtype {value.dtype}"
    if value is None or kind is bool:
        return repr(value)
    short = repr(value) if kind in (int, float, complex, str, tuple, list, dict) else ""
    article = "an" if class_name(kind)[0] in "aeiouAEIOU" else "a"
    return f"{article} {class_name(kind)}" + (f": {short}" if 0 < len(short) <= _SHORT else "")


_SHORT = 40
_WIDEST = 1 << 63
_PLAIN: dict[Any, tuple[Test, str]] = {
    int: (_is_integer, "a whole number (of 64 bits)"),
    float: (_is_number, "a number"),
    bool: (lambda value: isinstance(value, (bool, np.bool_)), "True or False"),
    str: (lambda value: isinstance(value, str), "text"),
    type(None): (lambda value: value is None, "None"),
}
