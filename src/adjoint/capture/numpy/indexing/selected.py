"""Entries under a mask that differs from example to example of a batch: `y[y > 0] *= 2`.

How many there are differs too, so that inside `vmap` they are no array. But what is computed entry
by entry from them, summed, or written back under the same mask needs no more than the whole array
and the mask, which is what `Selected` is. Entries that are not selected are one, and what becomes
of them is left out by a choice in the end: they have no part in values or derivatives.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NoReturn

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from adjoint.base.errors import ValueNeededError
from adjoint.capture.recording.tracing.applying import has_value
from adjoint.capture.recording.tracing.hooks import hooks
from adjoint.capture.recording.tracing.traced import Traced, is_known
from adjoint.capture.recording.values.valued import refuse

_TEXT = (
    "x[mask] was asked for {what} inside vmap, where the mask, and so how many entries it selects, "
    "differs from example to example. What can be done with it there: functions entry by entry "
    "(with numbers, and entries under the same mask), sums and other reductions, and writing it "
    "back under the same mask. Choose with np.where(mask, x, ...) for anything else."
)


def is_of_batch(x: Any, mask: Any) -> bool:
    """Whether x[mask] stands for other entries in every example of a batch."""
    if type(mask) is not Traced or mask.dtype.kind != "b" or is_known(mask) or not mask.ndim:
        return False
    return mask.shape == x.shape and not has_value(mask)


class Selected(NDArrayOperatorsMixin):
    """The entries of an array where a mask of its shape holds.

    whole: the array. mask: booleans.
    """

    __slots__ = ("mask", "whole")

    def __init__(self, whole: Any, mask: Any) -> None:
        self.whole = whole
        self.mask = mask

    @classmethod
    def of(cls, x: Any, mask: Any) -> Selected:
        """x[mask]; one elsewhere, of which few functions warn."""
        return cls(np.where(mask, x, np.ones((), x.dtype)), mask)

    # --- what is computed entry by entry ------------------------------------------------------

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method == "reduce" and ufunc in _REDUCED and inputs[0] is self:
            return _reduced(_REDUCED[ufunc], self, *inputs[1:], **kwargs)
        out = kwargs.pop("out", None)
        if method != "__call__" or kwargs or (out is not None and type(out[0]) is not Selected):
            _refuse(f"{ufunc.__name__} with arguments that are not supported")
        operands = [self._beside(operand, ufunc.__name__) for operand in inputs]
        if ufunc.signature is not None:
            return self._product(ufunc, inputs)
        results = ufunc(*operands)
        if out is not None:
            out[0].whole = results
            return out[0]
        if isinstance(results, tuple):
            return tuple(Selected(result, self.mask) for result in results)
        return Selected(results, self.mask)

    def _product(self, function: Any, operands: Any) -> Any:
        """The inner product of two rows of entries."""
        if function not in _PRODUCTS or any(type(operand) is not Selected for operand in operands):
            _refuse(function.__name__)
        one, two = operands
        return np.sum((np.conjugate(one) if function is np.vecdot else one) * two)

    def _beside(self, operand: Any, name: str) -> Any:
        """An operand as it is combined with the whole array."""
        if type(operand) is Selected:
            if is_same(operand.mask, self.mask):
                return operand.whole
            _refuse(f"{name} with entries under another mask")
        if np.ndim(operand):
            _refuse(f"{name} with an array")
        return operand

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function in _REDUCTIONS and args and args[0] is self:
            return _reduced(function, *args, **kwargs)
        if function is np.dot and not kwargs:
            self._beside(args[0], "dot")
            return self._product(function, args)
        if function is np.size and len(args) == 1:
            return self.size
        if function in _ENTRYWISE:
            operands = [self._beside(operand, function.__name__) for operand in args]
            return Selected(function(*operands, **kwargs), self.mask)
        return _refuse(f"numpy.{function.__name__}")

    def __getitem__(self, index: Any) -> Selected:
        if type(index) is Selected and is_same(index.mask, self.mask):
            return Selected(self.whole, np.logical_and(self.mask, index.whole))
        return _refuse("an entry or a part")

    def __setitem__(self, index: Any, value: Any) -> None:
        if isinstance(index, slice) and index == slice(None):
            every = np.where(self.mask, self._beside(value, "an assignment"), self.whole)
            self.whole = every.astype(self.dtype)
        else:
            _refuse("an entry or a part")

    def copy(self, order: Any = "C") -> Selected:
        """The same entries."""
        return Selected(self.whole, self.mask)

    def astype(self, dtype: Any) -> Selected:
        """The entries in another dtype."""
        return Selected(self.whole.astype(dtype), self.mask)

    @property
    def dtype(self) -> Any:
        """The dtype of the entries."""
        return self.whole.dtype

    @property
    def ndim(self) -> int:
        """They are in one row."""
        return 1

    real = property(lambda self: Selected(self.whole.real, self.mask))
    imag = property(lambda self: Selected(self.whole.imag, self.mask))
    T = property(lambda self: self)

    @property
    def size(self) -> Any:
        """How many there are: a number that is traced."""
        return np.count_nonzero(self.mask)

    @property
    def shape(self) -> tuple[Any]:
        """The same in a tuple."""
        return (self.size,)

    def dot(self, other: Any) -> Any:
        """The inner product with other entries under the mask."""
        return np.dot(self, other)

    # --- what there is no answer for ----------------------------------------------------------

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        return _refuse("its values")

    def __len__(self) -> int:
        return _refuse("its length")

    def __iter__(self) -> Any:
        return _refuse("its entries, one by one")

    def __bool__(self) -> bool:
        return _refuse("its truth")

    def __getattr__(self, name: str) -> Any:
        if name in _METHODS:
            return lambda *args, **kwargs: _reduced(_METHODS[name], self, *args, **kwargs)
        if name.startswith("__") or not hasattr(np.ndarray, name):
            raise AttributeError(name)
        return _refuse(f".{name}")


def written(x: Any, value: Selected, mask: Any) -> Any:
    """x with the selected entries in their places."""
    if not is_same(value.mask, mask):
        _refuse("a place under another mask")
    return hooks.function(np.where, (mask, value.whole.astype(x.dtype), x), {})


def is_same(one: Any, other: Any) -> bool:
    """Whether two masks are one: the same value, or computed alike from the same values."""
    if one is other:
        return True
    if type(one) is not Traced or type(other) is not Traced or one._trace is not other._trace:
        return False
    if one._trace is None:
        return False
    return _made_alike(one._trace, one._slot, other._slot)


def _made_alike(trace: Any, one: int, other: int, depth: int = 8) -> bool:
    if one == other:
        return True
    trace.find_owners()
    first, second = (trace.owners[slot] for slot in (one, other))
    if not depth or first < 0 or second < 0:
        return False
    (head, *operands), (same, *others) = trace.records[first], trace.records[second]
    if (head is not same and head != same) or len(operands) != len(others):
        return False
    pairs = zip(operands, others, strict=True)
    return all(_made_alike(trace, left, right, depth - 1) for left, right in pairs)


def _refuse(what: str) -> NoReturn:
    error = ValueNeededError(_TEXT.format(what=what))
    refuse(error)  # whatever the user's code makes of it
    raise error


# --- reductions -----------------------------------------------------------------------------------


def _reduced(
    function: Any, selected: Selected, axis: Any = None, dtype: Any = None, out: Any = None,
    **kwargs: Any,
) -> Any:  # fmt: skip
    """A reduction of all entries; NaN where it is one of none, which NumPy refuses."""
    if axis not in (None, 0, -1, (0,), (-1,)) or out is not None:
        _refuse(f"{function.__name__} along an axis, or with out=")
    named = {name: value for name, value in kwargs.items() if value is not np._NoValue}
    if set(named) - {"initial", "ddof", "correction", "keepdims"} or named.get("keepdims"):
        _refuse(f"{function.__name__} with {', '.join(named)}")
    if dtype is not None:
        named["dtype"] = dtype
    whole, mask = selected.whole, selected.mask
    if function is np.count_nonzero:
        return np.sum(np.logical_and(whole != 0, mask))
    if function not in _WITHOUT_FIRST or "initial" in named:
        return function(whole, where=mask, **named)
    if whole.dtype.kind not in "f":
        _refuse(f"{function.__name__} of entries that are not real floating-point numbers")
    largest = function(whole, where=mask, initial=_WITHOUT_FIRST[function])
    return np.where(np.any(mask), largest, whole.dtype.type(np.nan))


_WITHOUT_FIRST: Final[dict[Any, float]] = {
    np.max: -np.inf, np.min: np.inf, np.amax: -np.inf, np.amin: np.inf,
}  # fmt: skip
_REDUCTIONS: Final = frozenset(
    {
        *(np.sum, np.prod, np.mean, np.std, np.var, np.any, np.all, np.count_nonzero),
        *_WITHOUT_FIRST,
    }
)
_METHODS: Final[dict[str, Callable[..., Any]]] = {
    function.__name__: function
    for function in (np.sum, np.prod, np.mean, np.std, np.var, np.any, np.all, np.max, np.min)
}
_PRODUCTS: Final = frozenset({np.matmul, np.vecdot, np.dot})
_REDUCED: Final = {np.add: np.sum, np.multiply: np.prod, np.maximum: np.max, np.minimum: np.min}
_ENTRYWISE: Final = frozenset(
    {np.copy, np.real, np.imag, np.round, np.clip, np.nan_to_num, np.sinc, np.angle, np.where}
)
