"""The table of NumPy functions that work on traced arrays, and what all of them share."""

from __future__ import annotations

import inspect
import operator
import warnings
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, Final

import numpy as np

from adjoint.base.errors import AdjointError, DTypeError, ShapeError, UnsupportedFunctionError
from adjoint.capture.numpy.coverage import refusal
from adjoint.capture.recording.memory.views import maybe_alias, overwrite, own_memory
from adjoint.capture.recording.tracing.applying import apply
from adjoint.capture.recording.tracing.hooks import hooks
from adjoint.capture.recording.tracing.traced import (
    Traced,
    from_array,
    is_cell,
    is_known,
    unwrap,
    wrap,
)
from adjoint.capture.recording.values.containers import Filled
from adjoint.capture.recording.values.recipes import has_recipes
from adjoint.capture.recording.values.valued import beside, recording_for, refuse, refusing, writing
from adjoint.primitives.elementwise.conversion import CAST
from adjoint.program import operation

FUNCTIONS: dict[Any, Callable[..., Any]] = {}
WRITERS = frozenset({"copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask"})


def implements(*functions: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare what a NumPy function does on traced arrays."""

    def declare(function: Callable[..., Any]) -> Callable[..., Any]:
        for numpy_function in functions:
            FUNCTIONS[numpy_function] = function
        return function

    return declare


def any_traced(values: Any) -> bool:
    """Whether an unknown traced value lies among arguments, or in lists and tuples among them."""
    for value in values:
        if type(value) is Traced:
            if not is_known(value):
                return True
        elif isinstance(value, (list, tuple)):
            if any_traced(value):
                return True
        elif type(value) is Filled or (type(value) is np.poly1d and any_traced((value.coeffs,))):
            return True
    return False


def unwrap_all(value: Any) -> Any:
    """Arguments with known arrays replaced by NumPy's; a list without any is itself."""
    if type(value) is Traced:
        return unwrap(value)
    if isinstance(value, list):
        parts = [unwrap_all(part) for part in value]
        return value if all(map(operator.is_, parts, value)) else parts
    if type(value) is tuple:
        return tuple(unwrap_all(part) for part in value)
    return value


def call(function: Any, args: Any, kwargs: Any) -> Any:
    """A NumPy function on arguments of which some are traced."""
    if not any_traced(args) and not any_traced(kwargs.values()):
        return _call_known(function, args, kwargs)
    return call_traced(function, args, kwargs)


def call_traced(function: Any, args: Any, kwargs: Any) -> Any:
    """A NumPy function on arguments of which some are traced, and not known."""
    ours = FUNCTIONS.get(function)
    if ours is None:
        raise refused(function)
    if function in USER_LEVEL:
        with refusing(AdjointError), recording_for(args, kwargs):
            return ours(*args, **kwargs)
    recorded, place, writes = _way_of(function)
    if writes or "out" in kwargs or (place is not None and place < len(args)):
        targets = _targets(place, writes, args, kwargs)
        if any(isinstance(target, np.ndarray) for target in targets):
            with refusing(), recording_for(args, kwargs):
                return recorded(*args, **kwargs)  # refused, before NumPy has written
        if targets:
            return writing(targets, function, recorded, args, kwargs)
    return beside(function, recorded, args, kwargs)


# Functions that call the user's code, which is not done twice: what it gives has values of its own.
USER_LEVEL: set[Any] = {
    *(np.apply_along_axis, np.apply_over_axes, np.piecewise, np.fromiter, np.fromfunction),
}


@lru_cache(maxsize=1024)
def _way_of(function: Any) -> tuple[Callable[..., Any], int | None, bool]:
    """How a function is recorded, where its `out` stands, and whether it writes into its first."""
    ours = FUNCTIONS[function]

    def recorded(*args: Any, **kwargs: Any) -> Any:
        try:
            return ours(*args, **kwargs)
        except TypeError as error:
            if "unexpected keyword argument" in str(error) and ours.__name__ in str(error):
                argument = str(error).rsplit(" ", 1)[-1]
                raise UnsupportedFunctionError(
                    f"{full_name(function)} on traced arrays does not support its argument "
                    f"{argument} yet."
                ) from None
            raise

    return has_recipes(recorded), place_of_out(function), function.__name__ in WRITERS


def _targets(place: int | None, writes: bool, args: Any, kwargs: Any) -> list[Any]:
    """The arrays that a function writes into."""
    given = [args[0]] if args and writes else []
    if place is not None and place < len(args):
        given.append(args[place])
    out = kwargs.get("out")
    given += out if isinstance(out, tuple) else [out]
    return [target for target in given if isinstance(target, (Traced, np.ndarray))]


@lru_cache(maxsize=1024)
def place_of_out(function: Any) -> int | None:
    """Where `out` stands among the positional arguments of a function."""
    try:
        names = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return None
    return names.index("out") if "out" in names else None


def refused(function: Any) -> UnsupportedFunctionError:
    """The error for a function that takes no traced arrays, with the reason where one is known."""
    reason = refusal(function)
    if reason is not None:
        text = f"{full_name(function)} is not for traced arrays: {reason}."
    else:
        text = (
            f"{full_name(function)} is not supported on traced arrays yet. Write it with functions "
            "that are, or give its derivative with ad.primitive."
        )
    error = UnsupportedFunctionError(text)
    refuse(error)
    return error


def _call_known(function: Any, args: Any, kwargs: Any) -> Any:
    """A NumPy function on arrays that are all known: NumPy's own, but for views of them."""
    if getattr(function, "__name__", "") in WRITERS and args:
        own_memory(args[0]) if type(args[0]) is Traced else None
    arrays = [array for array in _known_arrays((*args, *kwargs.values()))]
    plain = {name: unwrap_all(value) for name, value in kwargs.items()}
    result = function(*map(unwrap_all, args), **plain)
    for array in arrays:
        if result is array._value:  # what was written into, or given back
            return array
    results = result if isinstance(result, (list, tuple)) else (result,)
    for one in results:
        if type(one) is np.ndarray:
            for array in arrays:
                if np.may_share_memory(one, unwrap(array)):
                    return _views(function, args, kwargs, result, arrays)
    return wrap_list(result)


def _views(function: Any, args: Any, kwargs: Any, result: Any, arrays: list[Traced]) -> Any:
    """What shares memory with a known array: ours, which makes views; NumPy's where it has none."""
    ours = FUNCTIONS.get(function)
    if ours is not None:
        return ours(*args, **kwargs)
    if type(result) is not np.ndarray:
        return wrap_list(result)
    wrapped = from_array(result)
    for array in arrays:
        if np.may_share_memory(result, unwrap(array)):
            maybe_alias(array, wrapped)
    return wrapped


def _known_arrays(values: Any) -> Iterator[Traced]:
    for value in values:
        if type(value) is Traced:
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _known_arrays(value)


def wrap_list(value: Any) -> Any:
    """Results made known arrays, in lists too."""
    return [wrap(part) for part in value] if isinstance(value, list) else wrap(value)


def full_name(function: Any) -> str:
    """`numpy.linalg.eigh`, as a user would write it."""
    module = getattr(function, "__module__", None) or "numpy"
    return f"{module}.{getattr(function, '__name__', function)}"


def perform(primitive: Any, *operands: Any, **params: Any) -> Any:
    """Apply a primitive with parameters to traced and concrete operands."""
    return apply(operation(primitive, **params), operands)


def as_operand(value: Any) -> Any:
    """An argument as an array: lists become arrays, of traced values too."""
    if (
        type(value) is Traced
        or type(value) is np.ndarray
        or isinstance(value, (np.ndarray, np.generic, float, int, complex))
    ):
        return value
    array = hooks.function(np.asarray, (value,), {})
    if array.dtype.kind not in "biufc":
        kind = type(value)
        raise DTypeError(
            f"A {kind.__module__}.{kind.__name__} was combined with a traced array; only arrays "
            "and numbers can be. Make it an array first. For a sparse matrix m there is "
            "ad.linear(lambda x: m @ x, lambda w: m.T @ w), too."
        )
    return array


def as_array(value: Any) -> Any:
    """An argument as something with a shape.

    Python's numbers become arrays, as NumPy makes them.
    """
    value = as_operand(value)
    return np.asarray(value) if isinstance(value, (float, int, complex)) else value


def strong(value: Any) -> Any:
    """A number whose dtype counts in promotions.

    Where NumPy makes arrays of its arguments first.
    """
    value = as_operand(value)
    if type(value) is Traced:
        return perform(CAST, value, dtype=value.dtype) if value.type.weak else value
    return value if isinstance(value, (np.ndarray, np.generic)) else np.asarray(value)[()]


def promoting(value: Any) -> Any:
    """What a value counts as in promotions: its dtype, or a Python number, which is weak."""
    if type(value) is Traced and value.type.weak:
        return value.dtype.type(0).item()
    return value if isinstance(value, (int, float, complex)) else as_operand(value).dtype


def stored(name: str, result: Any, out: Any, *, alike: bool = False, wide: bool = False) -> Any:
    """A result put where `out=` says, as NumPy does; the result itself where there is no out.

    alike: whether NumPy asks that the output's dtype can be cast to the result's. wide: whether
    the result may be broadcast.
    """
    if out is None:
        return result
    if type(out) is not Traced:
        raise UnsupportedFunctionError(
            f"{name} would write traced values into an array that was made outside of the function "
            "(out=). Make it inside the function, or leave out= away."
        )
    if not out.ndim and not is_cell(out):
        raise TypeError(f"{name}: out must be an array, and is a number.")
    if alike and not np.can_cast(out.dtype, result.dtype, "safe"):
        raise DTypeError(
            f"{name}: Cannot cast array data from {out.dtype!r} to {result.dtype!r} according to "
            "the rule 'safe'"
        )
    if out.shape != np.shape(result) and not wide:
        raise ShapeError(f"{name}: output array has wrong shape {out.shape}, not {result.shape}.")
    return overwrite(out, result, f"out= of {name}")


def _takes_alike() -> bool:
    """Whether NumPy's `take` and `compress` want an output that can be cast to the result.

    They do until 2.5.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # NumPy warns that it casts the other way, too
            np.take(np.zeros(1), [0], out=np.zeros(1, complex))
    except TypeError:
        return True
    return False


TAKES_ALIKE: Final = _takes_alike()


def normal_axis(axis: Any, ndim: int) -> int:
    """An axis counted from the first; NumPy's AxisError when it is none."""
    return int(np.lib.array_utils.normalize_axis_index(operator.index(axis), ndim))


def normal_axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """Axes as a sorted tuple; all of them for None."""
    if axis is None:
        return tuple(range(ndim))
    if not isinstance(axis, (tuple, list)):
        return (normal_axis(axis, ndim),)
    axes = tuple(sorted(normal_axis(number, ndim) for number in axis))
    if len(set(axes)) != len(axes):
        raise ValueError("duplicate value in 'axis'")
    return axes
