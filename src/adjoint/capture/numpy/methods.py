"""The methods and computed attributes of traced arrays.

NumPy's functions under NumPy's method names.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.base.errors import BoundsError, UnsupportedFunctionError
from adjoint.capture.numpy.indexing import writing as numpy_writing
from adjoint.capture.numpy.indexing.indexing import reshape_plain
from adjoint.capture.numpy.linalg import products as numpy_products
from adjoint.capture.numpy.making import values as numpy_values
from adjoint.capture.numpy.operators import python_number
from adjoint.capture.numpy.reducing import reduce as numpy_reduce
from adjoint.capture.numpy.reducing import sorting as numpy_sorting
from adjoint.capture.numpy.shaping import arranging as numpy_arranging
from adjoint.capture.numpy.shaping import shape as numpy_shape
from adjoint.capture.recording import protocols
from adjoint.capture.recording.traced import Traced, concrete
from adjoint.capture.recording.views import overwrite


def _method(function: Callable[..., Any]) -> Callable[[Traced], Any]:
    return lambda self: lambda *args, **kwargs: function(self, *args, **kwargs)


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
    return [_tolist(each) if np.ndim(each) else each for each in self] if self.ndim else self


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
    if type not in (None, np.ndarray) or np.dtype(dtype or self.dtype) != self.dtype:
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


def _set_item(self: Traced, *args: Any) -> None:
    raise BoundsError("itemset was removed from NumPy; write x[i] = value.")


protocols.METHODS.update(
    {
        "T": numpy_shape.transposed,
        "mT": numpy_shape.matrix_transpose,
        "real": numpy_shape.real,
        "imag": numpy_shape.imag,
        "flat": numpy_shape.flat,
        "base": lambda self: None,
        "all": _method(numpy_reduce.all_),
        "any": _method(numpy_reduce.any_),
        "argmax": _method(numpy_reduce.argmax),
        "is_integer": _method(_is_integer),
        "argmin": _method(numpy_reduce.argmin),
        "argpartition": _method(numpy_sorting.argpartition),
        "argsort": _method(numpy_sorting.argsort),
        "astype": _method(numpy_values.astype),
        "clip": _method(_clip),
        "conj": _method(_conjugate),
        "conjugate": _method(_conjugate),
        "copy": _method(numpy_values.copy),
        "compress": _method(lambda a, c, *args, **kw: numpy_writing.compress(c, a, *args, **kw)),
        "cumprod": _method(numpy_writing.cumprod),
        "cumsum": _method(numpy_reduce.cumsum),
        "diagonal": _method(numpy_shape.diagonal),
        "dot": _method(numpy_products.dot),
        "fill": _method(_fill),
        "flatten": _method(_flatten),
        "item": _method(_item),
        "itemset": _method(_set_item),
        "max": _method(numpy_reduce.maximum_over),
        "mean": _method(numpy_reduce.mean),
        "min": _method(numpy_reduce.minimum_over),
        "nonzero": _method(lambda a: np.nonzero(concrete(a))),
        "prod": _method(numpy_reduce.prod),
        "partition": _method(_partition),
        "ptp": _method(numpy_reduce.ptp),
        "put": _method(numpy_writing.put),
        "ravel": _method(numpy_shape.ravelled),
        "resize": _method(_resize),
        "view": _method(_view),
        "repeat": _method(numpy_arranging.repeat),
        "reshape": _method(_reshape),
        "round": _method(_round),
        "searchsorted": _method(numpy_sorting.searchsorted),
        "sort": _method(_sort),
        "squeeze": _method(numpy_shape.squeeze),
        "std": _method(numpy_reduce.std),
        "sum": _method(numpy_reduce.sum_),
        "swapaxes": _method(numpy_shape.swapaxes),
        "take": _method(numpy_arranging.take),
        "tolist": _method(_tolist),
        "trace": _method(numpy_products.trace),
        "transpose": _method(_transpose),
        "var": _method(numpy_reduce.var),
    }
)


def _part(name: str) -> property:
    """x.real, x.imag and x.flat, which can be assigned to."""

    def write(self: Traced, value: Any) -> None:
        protocols.METHODS[name](self)[...] = value

    return property(lambda self: protocols.METHODS[name](self), write)


for _name in ("real", "imag", "flat"):
    setattr(Traced, _name, _part(_name))
