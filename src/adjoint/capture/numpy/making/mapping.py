"""NumPy's functions that take functions: along an axis, by pieces, for every entry.

The given function runs under capture, with traced arrays or numbers, as often as NumPy runs it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.base.arrays import ArrayType
from adjoint.base.errors import AdjointError, UnsupportedFunctionError
from adjoint.capture.numpy.making.values import astype
from adjoint.capture.numpy.shaping.shape import broadcast_to, expand_dims, moveaxis, reshaped, stack
from adjoint.capture.numpy.table import any_traced, as_array, implements, normal_axis, unwrap_all
from adjoint.capture.recording.tracing.applying import concrete, silence
from adjoint.capture.recording.tracing.hooks import handed
from adjoint.capture.recording.tracing.trace import current
from adjoint.capture.recording.tracing.traced import Traced, from_array, is_known, unwrap
from adjoint.capture.recording.values.valued import recording_for, refusing, users_code
from adjoint.primitives import UFUNCS
from adjoint.primitives.elementwise.arithmetic import INTEGER_POWER
from adjoint.primitives.elementwise.conversion import CAST, IMAG, PYTHON_NUMBER, REAL, STOP_GRADIENT
from adjoint.primitives.elementwise.selection import SELECT
from adjoint.program import Operation

_ENTRY_BY_ENTRY = {SELECT, CAST, REAL, IMAG, INTEGER_POWER, PYTHON_NUMBER, STOP_GRADIENT}


@implements(np.apply_along_axis)
def apply_along_axis(func1d: Any, axis: Any, arr: Any, *args: Any, **kwargs: Any) -> Any:
    """A function of vectors on every vector along an axis."""
    arr = as_array(arr)
    axis = normal_axis(axis, arr.ndim)
    rows = moveaxis(arr, axis, -1)
    outer = rows.shape[:-1]
    parts = [rows[(*place, ...)] for place in np.ndindex(*outer)]
    with users_code():
        results = [func1d(part, *args, **kwargs) for part in parts]
    if not results:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    whole = _gathered(results, None, outer)
    rank = whole.ndim - len(outer)
    new = list(range(len(outer), len(outer) + rank))
    return moveaxis(whole, new, range(axis, axis + rank)) if new else whole


@implements(np.apply_over_axes)
def apply_over_axes(func: Any, a: Any, axes: Any) -> Any:
    """A function of an array and an axis, over several axes in turn; their number is kept."""
    value = as_array(a)
    rank = value.ndim
    for axis in np.atleast_1d(axes).tolist():
        place = axis + rank if axis < 0 else axis
        with users_code():
            result = func(value, place)
        if result.ndim != value.ndim:
            result = expand_dims(result, place)
            if result.ndim != value.ndim:
                raise ValueError("function is not returning an array of the correct shape")
        value = result
    return value


# --- by pieces ------------------------------------------------------------------------------------


@implements(np.piecewise)
def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Any:
    """For each entry, what the function of the last condition that holds makes of it.

    A function that works entry by entry is applied to all entries, and those are taken where its
    condition holds. Any other one is given the entries where it holds, as in NumPy, and values
    decide which ones they are.
    """
    x = as_array(x)
    single = np.isscalar(condlist) or (
        x.ndim != 0 and not (isinstance(condlist[0], list) or np.ndim(condlist[0]))
    )
    conditions = [as_array(condition) for condition in ([condlist] if single else condlist)]
    conditions = [
        condition if condition.dtype.kind == "b" else condition != 0 for condition in conditions
    ]
    for mask in conditions:
        np.empty(x.shape, bool)[np.zeros(mask.shape, bool)]  # NumPy's error where they do not fit
    if len(conditions) == len(funclist) - 1:
        some: Any = conditions[0]
        for mask in conditions[1:]:
            some = some | mask
        conditions.append(~some)
    if len(conditions) != len(funclist):
        n = len(conditions)
        raise ValueError(f"with {n} condition(s), either {n} or {n + 1} functions are expected")
    result: Any = from_array(np.zeros(x.shape, x.dtype))
    for condition, function in zip(conditions, funclist, strict=True):
        rows = 0 < condition.ndim < x.ndim
        if rows and callable(function):
            raise UnsupportedFunctionError(
                "numpy.piecewise with a condition for whole rows hands rows to its functions, "
                "which traced arrays do not do. Give each entry its condition: "
                "np.broadcast_to(condition[:, None], x.shape)."
            )
        if rows:
            condition = np.reshape(condition, (*condition.shape, *(1,) * (x.ndim - condition.ndim)))
            condition = np.broadcast_to(condition, x.shape)
        if callable(function):
            result = _piece(x, condition, functools.partial(_applied, function, args, kw), result)
        else:
            piece = astype(as_array(function), x.dtype)
            result = (
                np.where(condition, piece, result)
                if not piece.ndim
                else _written(result, concrete(condition), piece)
            )
    return result


def _applied(function: Any, args: Any, keywords: Any, values: Any) -> Any:
    return function(values, *args, **keywords)


def _piece(x: Any, condition: Any, function: Callable[[Any], Any], rest: Any) -> Any:
    trace = current()
    if trace is not None and not (is_known(x) and is_known(condition)):
        first = len(trace.records)
        try:
            values = as_array(function(x))
        except (AdjointError, ValueError):
            values = None
        silence(trace, first)  # entries that nobody asked for
        heads = [record[0] for record in trace.records[first:]]
        if values is not None and values.shape in ((), x.shape) and all(map(_is_plain, heads)):
            return np.where(condition, astype(values, x.dtype), rest)
    if not x.ndim:
        if not concrete(condition):
            return rest
        whole = reshaped(x, (1,))
        with users_code():
            value = function(whole)
        return reshaped(astype(as_array(value), x.dtype), ())
    mask = np.asarray(concrete(condition))
    chosen = x[mask]
    if not chosen.size:
        return rest
    with users_code():
        values = function(chosen)
    return _written(rest, mask, values)


def _is_plain(head: Any) -> bool:
    """Whether what was recorded is an operation entry by entry, or a number."""
    if not isinstance(head, Operation):
        return isinstance(head, ArrayType) and not head.ndim
    return head.primitive.ufunc in UFUNCS or head.primitive in _ENTRY_BY_ENTRY


def _written(rest: Any, mask: Any, values: Any) -> Any:
    result = rest.copy() if not is_known(rest) else from_array(np.array(unwrap(rest)))
    result[mask] = astype(as_array(values), result.dtype)
    return result


# --- for every entry ------------------------------------------------------------------------------


class Vectorize(np.vectorize):
    """np.vectorize under capture: the function is called with the traced entries, one by one."""

    @classmethod
    def like(cls, original: np.vectorize, pyfunc: Any) -> Vectorize:
        """What stands for one that was made before: its function is a clone."""
        return cls(
            pyfunc,
            otypes=original.otypes,
            excluded=original.excluded,
            cache=original.cache,
            signature=original.signature,
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function for every entry of the arguments, broadcast against each other."""
        function: Any = self.pyfunc
        if current() is None or function is np._NoValue:
            return super().__call__(*args, **kwargs)
        function = handed(function)
        with refusing(AdjointError), recording_for(args, kwargs):
            return self._recorded(function, args, kwargs)

    def _recorded(self, function: Any, args: Any, kwargs: Any) -> Any:
        names = [name for name in kwargs if name not in self.excluded]
        places = [n for n in range(len(args)) if n not in self.excluded]

        def one(*varying: Any) -> Any:
            given, named = list(args), dict(kwargs)
            for place, value in zip(places, varying, strict=False):
                given[place] = value
            named.update(zip(names, varying[len(places) :], strict=True))
            with users_code():
                return function(*given, **named)

        varying = [_as_given(args[n]) for n in places] + [_as_given(kwargs[n]) for n in names]
        if not varying:
            return one()
        if self.signature is not None:
            return self._over_parts(one, varying)
        shape = np.broadcast_shapes(*(operand.shape for operand in varying))
        return self._collected(one, varying, shape, [() for _ in varying])

    def _over_parts(self, function: Any, arrays: list[Any]) -> Any:
        """The function with a signature: parts of the arguments have axes of their own."""
        inputs, _ = getattr(self, "_in_and_out_core_dims")  # noqa: B009  # not in NumPy's stubs
        if len(arrays) != len(inputs):
            raise TypeError(
                f"wrong number of positional arguments: expected {len(inputs)}, got {len(arrays)}"
            )
        sizes: dict[str, int] = {}
        outer = []
        for array, names in zip(arrays, inputs, strict=True):
            rank = array.ndim - len(names)
            if rank < 0:
                raise ValueError(
                    f"{array.ndim}-dimensional argument does not have enough dimensions for all "
                    f"core dimensions {names!r}"
                )
            outer.append(array.shape[:rank])
            for name, length in zip(names, array.shape[rank:], strict=True):
                if sizes.setdefault(name, length) != length:
                    raise ValueError(
                        f"inconsistent size for core dimension {name!r}: {sizes[name]} vs {length}"
                    )
        parts = [tuple(sizes[name] for name in names) for names in inputs]
        return self._collected(function, arrays, np.broadcast_shapes(*outer), parts)

    def _collected(self, function: Any, arrays: Any, shape: Any, parts: Any) -> Any:
        wide = [
            broadcast_to(array, (*shape, *part)) for array, part in zip(arrays, parts, strict=True)
        ]
        # NumPy calls with its own scalars first, to learn the dtypes, and then with Python's.
        own = [
            array.astype(object) if type(array) is np.ndarray and not self.signature else array
            for array in wide
        ]
        calls: list[Any] = []
        for place in np.ndindex(*shape):
            source = own if calls or self.otypes is not None else wide
            calls.append(function(*(operand[place] for operand in source)))
        if not calls:
            return self._of_nothing(shape)
        several = isinstance(calls[0], tuple)
        columns = list(zip(*calls, strict=True)) if several else [calls]
        dtypes = self.otypes or [None] * len(columns)
        outputs = tuple(
            _gathered(values, dtype, shape) for values, dtype in zip(columns, dtypes, strict=True)
        )
        return outputs if several else outputs[0]

    def _of_nothing(self, shape: Any) -> Any:
        if self.otypes is None:
            raise ValueError("cannot call `vectorize` on size 0 inputs unless `otypes` is set")
        outputs = tuple(np.zeros(shape, dtype) for dtype in self.otypes)
        return outputs if len(outputs) > 1 else outputs[0]


def _as_given(value: Any) -> Any:
    """An argument as an array, of any dtype where it is not traced."""
    return as_array(value) if any_traced((value,)) else np.asarray(unwrap_all(value))


def _gathered(values: Any, dtype: Any, shape: Any) -> Any:
    if not any(type(value) is Traced or any_traced((value,)) for value in values):
        plain = [np.asarray(value) for value in values]
        kind = plain[0].dtype.char if plain[0].dtype.kind in "SU" else plain[0].dtype
        whole = np.stack(plain).astype(kind if dtype is None else dtype)
        whole = whole.reshape(*shape, *plain[0].shape)
        return from_array(whole) if whole.dtype.kind in "biufc" else whole
    arrays = [as_array(value) for value in values]
    dtype = arrays[0].dtype if dtype is None else np.dtype(dtype)
    stacked = stack([astype(array, dtype) for array in arrays])
    return reshaped(stacked, (*shape, *arrays[0].shape))


class PythonUfunc(Vectorize):
    """np.frompyfunc under capture; its results have the dtype of the values, not of objects."""

    def __getattr__(self, name: str) -> Any:
        raise UnsupportedFunctionError(
            f"{name} of a ufunc made by numpy.frompyfunc is not supported on traced arrays."
        )


def from_python_function(func: Any, /, nin: int, nout: int, **_: Any) -> Any:
    """np.frompyfunc under capture."""
    return PythonUfunc(func)


class Enumerated:
    """np.ndenumerate under capture: places and traced entries."""

    def __init__(self, arr: Any) -> None:
        self._arr = as_array(arr)
        self._places = np.ndindex(*self._arr.shape)

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> tuple[tuple[int, ...], Any]:
        place = next(self._places)
        return place, self._arr[place]
