"""What a result of NumPy's will be, asked of NumPy without computing it.

NumPy is given arrays with short axes in the place of long ones. Example: of 10 000 points and 100
centroids of 8 numbers, `points[:, None] - centroids` is (4, 1, 2) - (3, 2), of which NumPy makes
(4, 3, 2) numbers of float64. So the result will be (10000, 100, 8) numbers of float64; and the axis
that is outermost in memory in the small one is so in the large one.

Lengths are renamed, each to another one, and stay apart: what depends on which are equal (and which
are one) is as it was. That holds for what takes entries one by one, for sums over axes and for
products of matrices.
"""

from __future__ import annotations

import math
import operator
import sys
import warnings
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from adjoint.capture.recording.tracing.hooks import hooks
from adjoint.capture.recording.tracing.trace import captures
from adjoint.capture.recording.tracing.traced import Traced, is_known
from adjoint.capture.recording.values import postponed
from adjoint.capture.recording.values.postponed import (
    Postponed,
    kept,
    may_wait,
    operand_of,
    order_of,
)
from adjoint.primitives import find_special
from adjoint.primitives.special.declaring import errors_are_ignored

_BY_LENGTHS: Final = frozenset(
    {
        *(operator.add, operator.sub, operator.mul, operator.truediv, operator.pow, pow),
        *(operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne),
        *(operator.neg, operator.abs, np.where, operator.matmul, np.matmul, np.dot),
    }
)
# Functions over axes. Methods join them where they are declared.
REDUCING: Final[set[Any]] = {np.sum, np.mean, np.prod, np.max, np.min, np.amax, np.amin}
_OF_AXES: Final = frozenset({"axis", "keepdims"})
_AXES: Final = frozenset({int, tuple, type(None)})
_OPERANDS: Final = frozenset(
    {Traced, np.ndarray, float, int, bool, complex, np.float64, np.float32, np.bool_}
)
# The user's own, of `np.frompyfunc`, are not asked: they would notice.
_NUMPYS: Final = frozenset(
    {
        value
        for value in vars(np).values()
        if type(value) is np.ufunc
        and value.nout == 1
        and (value.signature is None or value is np.matmul)
    }
)
_SILENT: Final = frozenset({"ignore", "log"})
_KINDS: Final = "fcb"
_WHOLE: Final = "iu"
_NO_WHOLE: Final = np.dtype(bool)
_APART: Final = getattr(sys.flags, "context_aware_warnings", 0)  # filters that nobody can compare


def later(theirs: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Postponed | None:
    """What computes a function's result later; None where it is computed here and now."""
    if not may_wait(*args) or not _is_asked(theirs, args, kwargs) or not may_wait_to_warn():
        return None
    if all(map(is_known, args)) or any(capture.witness for capture in captures()):
        return None
    operands = list(map(operand_of, args))
    lengths = sorted({n for x in operands for n in getattr(x, "shape", ())} - {1})
    if 0 in lengths:
        return None
    short = {n: place + 2 for place, n in enumerate(lengths)} | {1: 1}
    try:
        with np.errstate(all="ignore"):
            told = theirs(*[_twin(x, short) for x in operands], **kwargs)
    except Exception:  # NumPy's own error, of the arrays themselves, is better
        return None
    if type(told) is not np.ndarray and not isinstance(told, np.generic):
        return None
    if told.dtype.kind in _WHOLE and any([_is_whole(x) for x in operands]):
        return None
    order = order_of(told.strides)
    if not np.transpose(told, order).flags.c_contiguous:
        return None
    shape = tuple([n if n == 1 else lengths[n - 2] for n in told.shape])
    result = _postponed(theirs, operands, args, kwargs, told.dtype, shape, order)
    if result is not None:
        result.cell = not shape and type(told) is np.ndarray
    return result


def _postponed(
    theirs: Any,
    operands: Sequence[Any],
    args: Sequence[Any],
    kwargs: dict[str, Any],
    dtype: Any,
    shape: tuple[int, ...],
    order: tuple[int, ...],
) -> Postponed | None:
    """What computes a result of that type, if it is worth it."""
    size = math.prod(shape)
    largest = max(size, *[getattr(x, "size", 1) for x in operands])
    if largest < postponed.LARGE and not any(type(x) is Postponed for x in operands):
        return None
    own = kept(operands, args, size)
    if own is None:
        return None
    result = Postponed(theirs, own, kwargs, dtype, shape, order)
    result.note_warnings()
    return result


def _is_asked(theirs: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> bool:
    """Whether a call is one of those whose result short axes tell."""
    if theirs in REDUCING:
        plain = len(args) == 1 or (len(args) == 2 and type(args[1]) in _AXES)
        return plain and type(args[0]) is Traced and _OF_AXES.issuperset(kwargs)
    if kwargs or not all([type(x) in _OPERANDS for x in args]):
        return False
    if type(theirs) is np.ufunc:
        return theirs in _NUMPYS or (theirs.nout == 1 and find_special(theirs) is not None)
    return theirs in _BY_LENGTHS and (theirs is not np.where or len(args) == 3)


def may_wait_to_warn() -> bool:
    """Whether NumPy warns of an infinity at most, and nobody listens to that here and now.

    SciPy, which raises errors and warns in its own way where it is asked to, must not have been.
    """
    modes = hooks.noted_modes()
    if modes is None or not _SILENT.issuperset(modes) or _APART or not errors_are_ignored():
        return False
    said = captures()[0].said
    return said.warns_as_before_or_not and said.are_heard_as_before and not _is_error_to_warn()


def _is_error_to_warn() -> bool:
    """Whether a warning of NumPy's may be an error."""
    for action, message, category, module, line in warnings.filters:
        if issubclass(RuntimeWarning, category):
            if action == "error":
                return True
            if message is None and module is None and not line:
                return False
    return False


def _twin(x: Any, short: dict[int, int]) -> Any:
    """An array like another one, as it lies in memory, with short axes; a number as it is."""
    if not getattr(x, "shape", ()):
        return x.dtype.type(1) if type(x) is Postponed else x
    if x.dtype.kind not in _KINDS:
        raise NotImplementedError  # whole numbers may be divided by zero, or be too large
    order, spread = (x.order, ()) if type(x) is Postponed else _layout(x)
    shape = [short[n] for n in x.shape]
    narrow = [1 if axis in spread else n for axis, n in enumerate(shape)]
    laid = np.ones([narrow[axis] for axis in order], x.dtype)
    return np.broadcast_to(np.transpose(laid, np.argsort(order)), shape)


def _is_whole(x: Any) -> bool:
    """Whether a number is whole, and not known: NumPy refuses `2 ** n` where n is negative."""
    return getattr(x, "dtype", _NO_WHOLE).kind in _WHOLE


def _layout(x: np.ndarray[Any, Any]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The axes of an array as they lie in memory, and those along which it is repeated."""
    pairs = zip(x.shape, x.strides, strict=True)
    strides = [abs(stride) if n > 1 else -1 for n, stride in pairs]
    steps = [stride for stride in strides if stride > 0]
    if len(set(steps)) < len(steps):
        raise NotImplementedError  # two axes lie upon each other
    return order_of(strides), tuple([axis for axis, stride in enumerate(strides) if not stride])
