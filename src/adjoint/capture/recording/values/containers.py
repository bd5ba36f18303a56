"""Containers of other libraries beside traced arrays: a pandas Series, a torch tensor, a JAX array.

With an array in the place of x, `series * x` is a Series, and no Series holds traced numbers. So it
becomes a `Filled`: the traced array of its numbers, and beside it the Series that the library makes
of the values. What is done with it is done with both, and counts only where both mean the same.
That is not known of a library, but asked: the same is done to containers of random numbers by the
library, and to arrays of these numbers by NumPy. Where other numbers come of it (`series.std()`
divides by n - 1, `series[2]` goes by label, two Series are aligned), or where one of the two cannot
do it, it is refused by a sentence that names the class, and how to make an array of it.
"""

from __future__ import annotations

import dis
import operator
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NoReturn

import numpy as np

from adjoint.base.arrays import class_name, conversion_of, is_deferred, numbers_of
from adjoint.base.errors import UnsupportedFunctionError
from adjoint.capture.recording.tracing.hooks import hooks
from adjoint.capture.recording.tracing.places import user_frame
from adjoint.capture.recording.tracing.trace import captures, inside
from adjoint.capture.recording.tracing.traced import Traced, from_array, is_cell, value_of

Function = Callable[..., Any]


class MeetsContainer(Exception):
    """An argument is a container of another library."""


def is_container(value: Any) -> bool:
    """Whether a value is an array, a column or a table of a library that is not entered."""
    kind = type(value)
    if not hasattr(kind, "__array__") or isinstance(value, (np.ndarray, np.generic)):
        return False
    if kind is Traced or kind.__module__.partition(".")[0] in _RULED:
        return False
    return not hooks.is_users_kind(kind)


_RULED: Final = frozenset({"adjoint", "numpy", "scipy"})


class Filled:
    """What a container of another library would be with traced numbers in it.

    numbers: the traced array. like: the container that the library makes of the values.
    """

    __slots__ = ("like", "numbers")
    __array_priority__ = 1001.0
    __pandas_priority__ = 5000  # by which pandas leaves operators to the other operand

    like: Any
    numbers: Any

    def __init__(self, numbers: Any, like: Any) -> None:
        self.numbers = numbers
        self.like = like

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        function = ufunc if method == "__call__" else getattr(ufunc, method)
        return combined(function, function, inputs, kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return combined(function, function, args, kwargs)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(hooks.escape(self.numbers, "np.asarray"), dtype)

    def __getattr__(self, name: str) -> Any:
        return _attribute(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in Filled.__slots__:
            _refuse(self.like, f"setting .{name}")
        object.__setattr__(self, name, value)

    def __setitem__(self, index: Any, value: Any) -> None:
        _refuse(self.like, _WRITTEN)

    def __contains__(self, value: Any) -> bool:
        return _refuse(self.like, "in")  # which is of labels, or of numbers

    def __len__(self) -> int:
        return len(self.like)

    def __iter__(self) -> Iterator[Any]:
        return iter(combined(list, list, (self,), {}))

    def __bool__(self) -> bool:
        return bool(self.numbers)

    def __float__(self) -> float:
        return float(self.numbers)

    def __copy__(self) -> Filled:
        return Filled(self.numbers.copy(), self.like)

    def __deepcopy__(self, memo: Any) -> Filled:
        return self.__copy__()

    def __reduce__(self) -> Any:
        return hooks.escape(self.numbers, "pickle").__reduce__()

    def __repr__(self) -> str:
        return f"<{class_name(type(self.like))} of {self.numbers!r}>"

    __hash__ = None  # type: ignore[assignment]  # as that of arrays and containers


def _forward(function: Function) -> Function:
    return lambda self, *others: combined(function, function, (self, *others), {})


def _reflected(function: Function) -> Function:
    return lambda self, other: combined(function, function, (other, self), {})


_ARITHMETIC: Final = (
    *("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul"),
    *("and", "or", "xor", "lshift", "rshift"),
)
for _name in (*_ARITHMETIC, "lt", "le", "gt", "ge", "eq", "ne", "neg", "pos", "abs", "invert"):
    setattr(Filled, f"__{_name}__", _forward(getattr(operator, f"__{_name}__")))
for _name in _ARITHMETIC:
    setattr(Filled, f"__r{_name}__", _reflected(getattr(operator, f"__{_name}__")))
for _name, _method in {
    "__getitem__": _forward(operator.getitem),
    "__divmod__": _forward(divmod),
    "__rdivmod__": _reflected(divmod),
    "__round__": _forward(round),
}.items():
    setattr(Filled, _name, _method)


# --- both at once ---------------------------------------------------------------------------------


def combined(theirs: Function, ours: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """A function of containers and traced arrays: ours, where the library means the same.

    theirs: what the library and NumPy call. ours: the same for traced arrays.
    """
    container = first_container((*args, *kwargs.values()))
    if is_deferred(container):
        _refuse(container, "this")
    _check_in_place(theirs, args)
    numbers, named = plain_numbers(args), plain_numbers(kwargs)
    if inside() or kwargs.get("out") is not None:
        return ours(*numbers, **named)  # NumPy writes numbers, whatever holds them
    for seed in _SEEDS:
        _check_meaning(container, theirs, args, kwargs, seed)
    expected = theirs(*_AsTheyAre().of(args), **_AsTheyAre().of(kwargs))
    return _beside(container, expected, ours(*numbers, **named))


def _beside(container: Any, expected: Any, result: Any) -> Any:
    """Our result, as what the library has in its place."""
    if isinstance(expected, (tuple, list)):
        if not isinstance(result, (tuple, list)) or len(result) != len(expected):
            _refuse(container, "this operation")
        pairs = zip(expected, result, strict=True)
        return type(result)([_beside(container, one, ours) for one, ours in pairs])
    return Filled(result, expected) if is_container(expected) else result


def first_container(values: Any) -> Any:
    """The first container among arguments; None if there is none."""
    for value in values:
        if type(value) is Filled:
            return value.like
        if is_container(value):
            return value
        if isinstance(value, (list, tuple)):
            container = first_container(value)
            if container is not None:
                return container
    return None


def plain_numbers(value: Any) -> Any:
    """Arguments with arrays in the place of containers, and traced ones in that of filled ones."""
    if type(value) is Filled:
        return value.numbers
    if type(value) in (list, tuple):
        return type(value)(map(plain_numbers, value))
    if type(value) is dict:
        return {name: plain_numbers(part) for name, part in value.items()}
    return _array_of(value) if is_container(value) else value


def _array_of(container: Any) -> Any:
    """The numbers of a container, as NumPy's array; refused if it has none."""
    numbers = numbers_of(container)
    if numbers is None:
        _refuse(container, "this")
    return numbers


# --- what a library means -------------------------------------------------------------------------


class _AsTheyAre:
    """Arguments as the library takes them: its containers, and arrays of values."""

    def of(self, value: Any) -> Any:
        """An argument, or several."""
        kind = type(value)
        if kind is Filled:
            return self.of_filled(value)
        if kind is Traced:
            return self.of_traced(value)
        if kind in (list, tuple):
            return kind(map(self.of, value))
        if kind is dict:
            return {name: self.of(part) for name, part in value.items()}
        return value

    def of_filled(self, filled: Filled) -> Any:
        return filled.like

    def of_traced(self, traced: Traced) -> Any:
        value = value_of(traced)
        return _Randomised(_SEEDS[0]).of_traced(traced) if value is None else value


class _Randomised(_AsTheyAre):
    """Arguments with random numbers: as the library takes them, or all as arrays of NumPy's.

    seed: of the numbers. arrays: whether containers are arrays of their numbers.
    """

    def __init__(self, seed: int, arrays: bool = False) -> None:
        self.draws = np.random.default_rng(seed)
        self.positive = seed > _SEEDS[0]
        self.arrays = arrays

    def of(self, value: Any) -> Any:
        """An argument, or several."""
        if self.arrays and is_container(value):
            return _array_of(value)
        return super().of(value)

    def of_filled(self, filled: Filled) -> Any:
        like = filled.like
        numbers = _array_of(like)
        if numbers.dtype.kind == "b":
            other = like ^ (self._draw(numbers.shape, np.dtype(float)) > 0)
        elif numbers.dtype.kind in "fc":
            other = like * 0 + self._draw(numbers.shape, numbers.dtype)
        else:
            other = like
        if type(other) is not type(like) or np.asarray(other).dtype != numbers.dtype:
            raise TypeError("a container cannot be filled with other numbers")
        return _array_of(other) if self.arrays else other

    def of_traced(self, traced: Traced) -> Any:
        type_ = traced.type
        if type_.dtype.kind not in "fc":
            value = value_of(traced)
            return np.ones(type_.shape, type_.dtype) if value is None else value
        drawn = self._draw(type_.shape, type_.dtype)
        if type_.weak:
            return drawn.item()
        return drawn if type_.shape or is_cell(traced) else drawn[()]

    def _draw(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        numbers = self.draws.standard_normal(shape) * 2.0
        if dtype.kind == "c":
            numbers = numbers + 1j * self.draws.standard_normal(shape)
        if self.positive:
            numbers = np.abs(numbers) + 0.25
        return np.asarray(numbers).astype(dtype)


# Of numbers of both signs, and of positive ones, of which logarithms can be taken.
_SEEDS: Final = (1, 2)


def _check_meaning(
    container: Any, function: Function, args: Sequence[Any], kwargs: dict[str, Any], seed: int
) -> None:
    """Refuse a function that is another for the library than it is for NumPy."""
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            drawn, arrays = _Randomised(seed), _Randomised(seed, arrays=True)
            numpys = function(*arrays.of(args), **arrays.of(kwargs))  # which writes into nothing
            theirs = function(*drawn.of(args), **drawn.of(kwargs))
            agree = _same(theirs, numpys)
    except Exception:
        # If it is the library's, so that it comes of the values too, it goes on.
        function(*_AsTheyAre().of(args), **_AsTheyAre().of(kwargs))
        agree = False
    if not agree:
        _refuse(container, _named(function))


def _same(theirs: Any, numpys: Any) -> bool:
    """Whether two results are the same numbers."""
    if isinstance(theirs, (tuple, list)):
        rows = isinstance(numpys, (tuple, list)) and len(theirs) == len(numpys)
        return rows and all(map(_same, theirs, numpys))
    one, other = np.asarray(theirs), np.asarray(numpys)
    if one.shape != other.shape or one.dtype != other.dtype or one.dtype.kind not in "biufc":
        return False
    digits = np.finfo(one.dtype).eps * _ROUNDING if one.dtype.kind in "fc" else 0.0
    return np.allclose(one, other, rtol=digits, atol=digits, equal_nan=True)


_ROUNDING: Final = 256.0  # units in the last place by which orders of summation may differ


def _named(function: Function) -> str:
    name = getattr(function, "__name__", "this operation")
    return _SYMBOLS.get(name.strip("_"), name)


_SYMBOLS: Final = {
    **{"add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%"},
    **{"matmul": "@", "pow": "**", "getitem": "indexing", "list": "iteration"},
}


# --- attributes and methods -----------------------------------------------------------------------


def _attribute(filled: Filled, name: str) -> Any:
    """`series.T`, `series.shape`, `series.to_numpy` and so on."""
    if name.startswith("_"):
        raise AttributeError(name)
    theirs = getattr(filled.like, name)  # the library's error goes on
    if callable(theirs):
        return _FilledMethod(filled, name)
    if name in _NUMBERS:
        return _given_back(filled, operator.attrgetter(name))
    if not isinstance(theirs, (np.ndarray, np.generic, float)) and not is_container(theirs):
        return theirs  # a name or a shape
    if not hasattr(np.ndarray, name):
        other = getattr(_Randomised(_SEEDS[0]).of(filled), name)
        if not np.array_equal(np.asarray(theirs), np.asarray(other)):
            _refuse(filled.like, f".{name}")
        return theirs  # labels
    getter = operator.attrgetter(name)
    return combined(getter, getter, (filled,), {})


# What gives the numbers of a container, by the names that libraries have for that.
_NUMBERS: Final = frozenset({"values", "to_numpy", "numpy", "value", "to_value", "magnitude"})
_KEEPING: Final = frozenset({"detach", "cpu"})  # what gives back the container itself


class _FilledMethod:
    """A method of a container that is filled, to be called."""

    __slots__ = ("filled", "name")

    def __init__(self, filled: Filled, name: str) -> None:
        self.filled = filled
        self.name = name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        name, filled = self.name, self.filled
        if name in _NUMBERS and not args and not kwargs:
            return _given_back(filled, operator.methodcaller(name))
        if name in _KEEPING and not args and not kwargs:
            return filled
        return call_method(filled, name, args, kwargs)

    def __getitem__(self, index: Any) -> Any:
        return _refuse(self.filled.like, f".{self.name}")

    def __getattr__(self, name: str) -> Any:
        return _refuse(self.filled.like, f".{self.name}")


def call_method(container: Any, name: str, args: Any, kwargs: dict[str, Any]) -> Any:
    """A method of a container, which may be filled, with traced arguments perhaps."""
    if not hasattr(np.ndarray, name) or name in _WRITING:
        _refuse(container, f".{name}()")

    def theirs(value: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(value, name)(*args, **kwargs)

    def ours(value: Any, *args: Any, **kwargs: Any) -> Any:
        array = from_array(value) if type(value) is np.ndarray else value
        return getattr(array, name)(*args, **kwargs)

    theirs.__name__ = f".{name}()"
    return combined(theirs, ours, (container, *args), kwargs)


_WRITING: Final = frozenset(
    {"fill", "put", "sort", "partition", "resize", "setflags", "setfield", "byteswap"}
)


def _given_back(filled: Filled, function: Function) -> Any:
    """The numbers, where a function of the library gives them as an array of NumPy's."""
    theirs, numbers = function(filled.like), _array_of(filled.like)
    if type(theirs) is not np.ndarray or not np.array_equal(theirs, numbers, equal_nan=True):
        _refuse(filled.like, "this conversion")
    return filled.numbers


# --- refusals -------------------------------------------------------------------------------------


def _refusal(container: Any, what: str) -> UnsupportedFunctionError:
    container = container.like if type(container) is Filled else container
    if is_deferred(container):
        reason = "computes its numbers later, and traced arrays are combined with numbers"
    elif numbers_of(container) is None:
        reason = "gives no numbers that a traced array could be combined with as it is"
    elif what == _WRITTEN:
        reason = "holds no traced numbers, and so none can be written into it"
    else:
        reason = (
            f"has rules of its own, which traced arrays do not follow: for it, {what} may be "
            "something else than it is for arrays"
        )
    name, way = class_name(type(container)), conversion_of(container)
    return UnsupportedFunctionError(f"{name} {reason}. Use its numbers, {way}.")


_WRITTEN: Final = "writing into it"


def _refuse(container: Any, what: str) -> NoReturn:
    refusal = _refusal(container, what)
    for trace in captures():
        if trace.refusal is None:
            trace.refusal = refusal
    raise refusal


def check_written(theirs: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
    """Refuse what is no array when a container is written into one: `y += series` is a Series."""
    written = theirs(*map(_apart, _AsTheyAre().of(args)), **_AsTheyAre().of(kwargs))
    if is_container(written):
        _refuse(written, "writing it into an array in place")


def _apart(value: Any) -> Any:
    return value.copy() if isinstance(value, np.ndarray) else value


def refuse_writing(container: Any) -> NoReturn:
    """Refuse `c *= x` for a container that is written into: others may refer to it."""
    _refuse(container, _WRITTEN)


def _check_in_place(function: Function, args: Sequence[Any]) -> None:
    """Refuse an operator that may have been asked for in place, by `c *= x` or `operator.imul`.

    Where a container leaves that to the other operand, Python goes on with the plain operator.
    """
    if not args or not is_container(args[0]):
        return
    if not hasattr(type(args[0]), f"__i{getattr(function, '__name__', '').strip('_')}__"):
        return
    frame = user_frame()
    if frame is None:
        return
    code, place = frame.f_code.co_code, frame.f_lasti
    if code[place] != _BINARY_OP or code[place + 1] >= _FIRST_IN_PLACE:
        refuse_writing(args[0])


_BINARY_OP: Final = dis.opmap["BINARY_OP"]
_FIRST_IN_PLACE: Final = 13  # among the arguments of the instruction
