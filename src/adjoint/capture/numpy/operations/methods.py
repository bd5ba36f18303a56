"""The methods and computed attributes of traced arrays.

NumPy's functions under NumPy's method names.
"""

from __future__ import annotations

import builtins
import math
import operator
import sys
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np

from adjoint.base.arrays import class_name
from adjoint.base.errors import BoundsError, UnsupportedFunctionError
from adjoint.capture.numpy.indexing import writing as numpy_writing
from adjoint.capture.numpy.indexing.indexing import reshape_plain
from adjoint.capture.numpy.linalg import products as numpy_products
from adjoint.capture.numpy.making import values as numpy_values
from adjoint.capture.numpy.operations.operators import python_number
from adjoint.capture.numpy.reducing import reduce as numpy_reduce
from adjoint.capture.numpy.reducing import sorting as numpy_sorting
from adjoint.capture.numpy.shaping import arranging as numpy_arranging
from adjoint.capture.numpy.shaping import arrays as numpy_arrays
from adjoint.capture.numpy.shaping import shape as numpy_shape
from adjoint.capture.numpy.table import place_of_out
from adjoint.capture.recording.memory.layout import is_computed
from adjoint.capture.recording.memory.views import depends_on_layout, overwrite, permute, reshape
from adjoint.capture.recording.tracing.applying import concrete
from adjoint.capture.recording.tracing.hooks import hooks
from adjoint.capture.recording.tracing.trace import inside
from adjoint.capture.recording.tracing.traced import (
    Traced,
    is_known,
    postponed_of,
    synchronise,
    unwrap,
    value_of,
)
from adjoint.capture.recording.values.asking import REDUCING
from adjoint.capture.recording.values.recipes import has_recipes
from adjoint.capture.recording.values.valued import (
    any_slot,
    beside,
    recording_for,
    refuse,
    refusing,
    writing,
)


def _reshape(self: Traced, *shape: Any, order: str = "C", copy: Any = None) -> Any:
    wanted = shape[0] if len(shape) == 1 else shape
    return numpy_shape.reshaped(self, wanted, order, copy=copy)


def _transpose(self: Traced, *axes: Any) -> Any:
    order = axes[0] if len(axes) == 1 and (axes[0] is None or np.iterable(axes[0])) else axes
    return numpy_shape.transposed(self, order or None)


def _flatten(self: Traced, order: str = "C") -> Any:
    return numpy_values.copy(numpy_shape.ravelled(self, order))


def _item(self: Traced, *place: Any) -> Any:
    """One entry, still traced: a number that keeps its derivative."""
    if not place:
        if self.size != 1:
            raise ValueError("can only convert an array of size 1 to a Python scalar")
        return python_number(reshape_plain(self, ()))
    indices = place[0] if isinstance(place[0], tuple) else place
    if len(indices) not in (1, self.ndim) or (
        isinstance(place[0], tuple) and len(indices) != self.ndim
    ):
        raise ValueError("incorrect number of indices for array")
    if len(place) == 1 and not isinstance(place[0], tuple):
        return python_number(numpy_shape.ravelled(self)[place[0]])
    return python_number(self[place[0] if len(place) == 1 else place])


def _conjugate(self: Traced) -> Any:
    if self.dtype.kind != "c":
        return self
    return python_number(np.conjugate(self)) if self.type.weak else np.conjugate(self)


def _tolist(self: Traced) -> Any:
    return [_tolist(part) if np.ndim(part) else part for part in self] if self.ndim else self


def _is_integer(self: Traced) -> bool:
    if self.ndim or self.dtype.kind not in "iuf":
        raise AttributeError("'numpy.ndarray' object has no attribute 'is_integer'")
    return bool(self == np.floor(self))


def _fill(self: Traced, value: Any) -> None:
    if np.ndim(value):
        raise ValueError("setting an array element with a sequence.")
    self[...] = value


def _sort(self: Traced, axis: int = -1, **kwargs: Any) -> None:
    overwrite(self, numpy_values.sort(self, axis, **kwargs), "sort")


def _partition(self: Traced, kth: Any, axis: int = -1, **kwargs: Any) -> None:
    overwrite(self, numpy_sorting.partition(self, kth, axis, **kwargs), "partition")


def _clip(self: Traced, min: Any = None, max: Any = None, out: Any = None, **kwargs: Any) -> Any:
    return numpy_values.clipped(self, min, max, out, **kwargs)


def _round(self: Traced, decimals: int = 0, out: Any = None) -> Any:
    return numpy_values.round_(self, decimals, out)


def _view(self: Traced, dtype: Any = None, type: Any = None) -> Any:
    kind = dtype if type is None else type
    if isinstance(kind, builtins.type) and issubclass(kind, np.ndarray):
        if kind is not np.ndarray:
            raise UnsupportedFunctionError(
                f"x.view({class_name(kind)}) of a traced array would follow the rules of that "
                "class, which traced arrays do not. Use the array itself."
            )
        dtype = None if kind is dtype else dtype
    if np.dtype(dtype or self.dtype) != self.dtype:
        raise UnsupportedFunctionError(
            "x.view() of a traced array shows it with its own dtype alone; write x.astype(dtype)."
        )
    return self[...]


def _resize(self: Traced, *shape: Any, refcheck: bool = True) -> None:
    wanted = shape[0] if len(shape) == 1 and np.iterable(shape[0]) else shape
    if math.prod(wanted) != self.size:
        raise UnsupportedFunctionError(
            "x.resize(shape) of a traced array keeps its size; write x = np.resize(x, shape), or "
            "np.pad."
        )
    self.shape = wanted


def _bytes(self: Traced, order: Any = "C") -> bytes:
    """Bytes, of which the trace knows what they were made of: see `escape.unpacking`."""
    with refusing():
        content: bytes = concrete(self).tobytes(order)
    if self._trace is not None:
        self._trace.arrays[id(content)] = (content, self._slot)
    return content


def _ratio(self: Traced) -> Any:
    """Two whole numbers, which are all of the number, and have no derivative."""
    return hooks.escape(self, "as_integer_ratio").as_integer_ratio()


def _set_flags(write: Any = None, align: Any = None, uic: Any = None) -> None:
    """Flags say what may be done with memory, of which a traced array has none."""


def _set_item(self: Traced, *args: Any) -> None:
    raise BoundsError("itemset was removed from NumPy; write x[i] = value.")


METHODS: dict[str, Callable[..., Any]] = {}
# Methods that write into their array.
WRITING = frozenset({"fill", "itemset", "partition", "put", "resize", "sort"})
# Of Python's and NumPy's numbers and arrays: what they give is no number with a derivative.
_QUESTIONS = frozenset({"bit_count", "bit_length", "hex"})
_LAYOUT = frozenset({"flags", "strides"})


class _Flags:
    """`x.flags`, each of which is a question of its own.

    What has been computed is writeable in every call; all else depends on the arguments.
    """

    __slots__ = ("_array",)

    def __init__(self, array: Traced) -> None:
        object.__setattr__(self, "_array", array)

    def __getattr__(self, name: str) -> Any:
        if name != "writeable" or not is_computed(self._array):
            depends_on_layout(self._array)
        return getattr(self._array._value.flags, name)

    def __setattr__(self, name: str, value: Any) -> None:
        self.set(**{name: value})

    def set(self, write: Any = None, align: Any = None, uic: Any = None, **named: Any) -> None:
        """As `setflags` does. Those of an argument are set for its owner, in each call."""
        if not is_computed(self._array):
            depends_on_layout(self._array)
        array = self._array._value
        array.setflags(write=write, align=align, uic=uic)
        for name, value in named.items():
            setattr(array.flags, name, value)

    def __getitem__(self, name: str) -> Any:
        depends_on_layout(self._array)
        return self._array._value.flags[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self.set(**{name.lower(): value})

    def __repr__(self) -> str:
        depends_on_layout(self._array)
        return repr(self._array._value.flags)


def attribute(self: Traced, name: str) -> Any:
    """What `x.name` is, where it is not an attribute that the class itself has."""
    foreign = hooks.methods.get(name)
    if foreign is not None:
        return foreign(self)
    if inside() and name in METHODS:  # ours calls it, of numbers of Python's too
        return partial(METHODS[name], self)
    value = None if postponed_of(self) is not None else value_of(self)
    if value is None:
        value = np.empty((0,) * self.ndim, self.dtype) if self.ndim else self.dtype.type(0)
    if name.startswith("__") or not hasattr(value, name):
        if name in METHODS and _called_by_us():
            return partial(METHODS[name], self)
        kind = type(value)
        home = "numpy." if kind.__module__ == "numpy" else ""  # as NumPy's own error says
        raise AttributeError(f"'{home}{kind.__name__}' object has no attribute {name!r}")
    if name in METHODS:
        return _Bound(self, name)
    if name == "base":
        return None if self._state is None else self._state.base
    if name == "flags" and self._value is not None:
        return _Flags(self)
    if name in _LAYOUT and self._value is not None:
        depends_on_layout(self)
        return getattr(self._value, name)
    if name in _QUESTIONS:
        return getattr(concrete(self), name)
    if name == "tobytes":
        return partial(_bytes, self)
    if name == "as_integer_ratio":
        return partial(_ratio, self)
    if name == "setflags":
        if is_known(self):
            return unwrap(self).setflags
        return _set_flags if self._value is None else _Flags(self).set
    refusal = UnsupportedFunctionError(
        f"The array method .{name} is not supported on a traced array yet."
    )
    refuse(refusal)
    raise refusal


def _called_by_us() -> bool:
    """Whether it is code of this package that looks an attribute up, and not a clone for a user."""
    frame: Any = sys._getframe(3)
    name = frame.f_globals.get("__name__") or ""
    return name.startswith("adjoint.") and not name.startswith("adjoint.capture.clones.")


class _Bound:
    """`x.name`, to be called."""

    __slots__ = ("__name__", "__self__")

    def __init__(self, owner: Traced, name: str) -> None:
        self.__self__ = owner
        self.__name__ = name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The method, called."""
        owner, name = self.__self__, self.__name__
        ours = METHODS[name]
        if name == "reshape" and not kwargs:
            reshaped = _reshaped_at_once(owner, args)
            if reshaped is not None:
                return reshaped
        if name == "view":  # classes have stand-ins
            args = tuple([getattr(kind, "original", kind) for kind in args])
        args = (owner, *args)
        place = place_of_out(getattr(np, name, None))
        out = args[place] if place is not None and place < len(args) else kwargs.get("out")
        targets = [target for target in (out,) if type(target) is Traced]
        if name in WRITING:
            targets = [owner]
        if type(out) is np.ndarray:
            with refusing(), recording_for(args, kwargs):
                return ours(*args, **kwargs)  # refused, before NumPy has written
        if targets:
            return writing(targets, _called(name), ours, args, kwargs)
        if not any_slot(args) and not any_slot(kwargs):
            return ours(*args, **kwargs)
        return beside(_called(name), ours, args, kwargs)


def _is_plain(x: Traced) -> bool:
    """Whether an array has axes and a value, and belongs to an open trace, that is the user's."""
    if x._state is not None:
        synchronise(x)
    trace = x._trace
    usual = trace is not None and trace.open and trace.lines is None and not trace.inside
    return usual and type(x._value) is np.ndarray and x._value.ndim > 0


def _reshaped_at_once(x: Traced, shape: Any) -> Any:
    """The usual case of `x.reshape`: whole numbers, for an array that has a value."""
    wanted = shape[0] if len(shape) == 1 and type(shape[0]) is tuple else shape
    if not wanted or any([type(length) is not int for length in wanted]) or not _is_plain(x):
        return None
    try:
        value = x._value.reshape(wanted)
    except ValueError:
        return None  # the general way says so
    reshaped = reshape(x, value.shape)
    reshaped._value = value
    return reshaped


def _transposed_at_once(x: Traced) -> Any:
    """The usual case of `x.T`: a matrix that has a value."""
    if not _is_plain(x) or x._value.ndim != 2:
        return None
    transposed = permute(x, (1, 0))
    transposed._value = x._value.T
    return transposed


@lru_cache(maxsize=256)
def _called(name: str) -> Callable[..., Any]:
    """NumPy's own method of a name."""

    def theirs(value: Any, *args: Any, **kwargs: Any) -> Any:
        # Not `getattr(value, name)`, which refers to the array: `resize` counts who does.
        return operator.methodcaller(name, *args, **kwargs)(value)

    return theirs


REDUCING.update(map(_called, ("max", "mean", "min", "prod", "sum")))


METHODS.update(
    {
        "all": numpy_reduce.all_,
        "any": numpy_reduce.any_,
        "argmax": numpy_reduce.argmax,
        "is_integer": _is_integer,
        "argmin": numpy_reduce.argmin,
        "argpartition": numpy_sorting.argpartition,
        "argsort": numpy_sorting.argsort,
        "astype": numpy_values.astype,
        "choose": numpy_arrays.choose,
        "clip": _clip,
        "conj": _conjugate,
        "conjugate": _conjugate,
        "copy": numpy_values.copy,
        "compress": lambda a, c, *args, **kw: numpy_writing.compress(c, a, *args, **kw),
        "cumprod": numpy_writing.cumprod,
        "cumsum": numpy_reduce.cumsum,
        "diagonal": numpy_shape.diagonal,
        "dot": numpy_products.dot,
        "fill": _fill,
        "flatten": _flatten,
        "item": _item,
        "itemset": _set_item,
        "max": numpy_reduce.maximum_over,
        "mean": numpy_reduce.mean,
        "min": numpy_reduce.minimum_over,
        "nonzero": lambda a: np.nonzero(concrete(a)),
        "prod": numpy_reduce.prod,
        "partition": _partition,
        "ptp": numpy_reduce.ptp,
        "put": numpy_writing.put,
        "ravel": numpy_shape.ravelled,
        "resize": _resize,
        "view": _view,
        "repeat": numpy_arranging.repeat,
        "reshape": _reshape,
        "round": _round,
        "searchsorted": numpy_sorting.searchsorted,
        "sort": _sort,
        "squeeze": numpy_shape.squeeze,
        "std": numpy_reduce.std,
        "sum": numpy_reduce.sum_,
        "swapaxes": numpy_shape.swapaxes,
        "take": numpy_arranging.take,
        "tolist": _tolist,
        "trace": numpy_products.trace,
        "transpose": _transpose,
        "var": numpy_reduce.var,
    }
)


for _method in METHODS.values():
    has_recipes(_method)


def _computed(name: str, ours: Callable[[Traced], Any]) -> property:
    """x.T, x.real and the like; x.real, x.imag and x.flat can be assigned to."""
    theirs = operator.attrgetter(name)

    def read(self: Traced) -> Any:
        transposed = _transposed_at_once(self) if name == "T" else None
        if transposed is not None:
            return transposed
        return ours(self) if is_known(self) else beside(theirs, ours, (self,), {})

    def write(self: Traced, value: Any) -> None:
        if name not in ("real", "imag", "flat"):
            raise AttributeError(f"attribute {name!r} of 'numpy.ndarray' objects is not writable")
        read(self)[...] = value

    return property(read, write)


for _name, _ours in {
    "T": numpy_shape.transposed,
    "mT": numpy_shape.matrix_transpose,
    "real": numpy_shape.real,
    "imag": numpy_shape.imag,
    "flat": numpy_shape.flat,
}.items():
    setattr(Traced, _name, _computed(_name, _ours))
