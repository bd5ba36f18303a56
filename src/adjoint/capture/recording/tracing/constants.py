"""What may become a constant of a program, and whether two are the same."""

from __future__ import annotations

from math import inf
from typing import Any, Final, NamedTuple

import numpy as np

from adjoint.base.arrays import class_name, conversion_of
from adjoint.base.errors import DTypeError
from adjoint.program import Literal

_SMALL: Final = 1 << 15  # bytes up to which arrays are compared by way of a copy
SAME_AS: Final = "same as"  # the head of a record whose slot is another name of an earlier one


class LiftedConstant(NamedTuple):
    """A constant of a trace: its slot, and its place among the records and the constants."""

    slot: int
    record: int
    constant: int


class RecordedLiteral:
    """A literal of a program that is recorded in a trace; equal to others of the same number."""

    __slots__ = ("literal",)

    def __init__(self, literal: Literal) -> None:
        self.literal = literal

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RecordedLiteral) and self.literal.key == other.literal.key

    def __hash__(self) -> int:
        return hash(self.literal.key)


def check_numeric(value: Any) -> None:
    """Refuse an array, or a number of NumPy's, that is no number."""
    if value.dtype.kind not in "biufc":
        single = value.dtype.kind == "O" and value.ndim == 0
        what = f"A {class_name(type(value[()]))}" if single else f"An array of dtype {value.dtype}"
        raise DTypeError(
            f"{what} was combined with a traced array; only booleans, integers, floats and complex "
            f"numbers can be. Write {'float(q)' if single else 'a.astype(float)'} for what holds "
            "other numbers."
        )


def has_rules(value: Any) -> bool:
    """Whether a value is of a subclass of arrays with a meaning of its own."""
    kind = type(value)
    if kind is np.ndarray or not isinstance(value, np.ndarray):
        return False
    return isinstance(value, (np.matrix, np.ma.MaskedArray)) or (
        kind.__array_ufunc__ is not np.ndarray.__array_ufunc__
        or kind.__array_function__ is not np.ndarray.__array_function__
    )


def check_plain(value: Any) -> None:
    """Refuse subclasses of arrays with a meaning of their own: it would be lost."""
    if has_rules(value):
        raise rules_of(value)


def rules_of(value: Any) -> DTypeError:
    """The refusal of a value of a subclass of arrays."""
    return DTypeError(
        f"{class_name(type(value))} has rules of its own, which traced arrays do not follow. Use "
        f"its numbers, {conversion_of(value)}."
    )


def same_memory(one: Any, other: np.ndarray[Any, Any]) -> bool:
    """Whether two arrays hold the same bits."""
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    if one.nbytes <= _SMALL or not (one.flags.c_contiguous and other.flags.c_contiguous):
        return bool(one.tobytes() == other.tobytes())
    words = [array.reshape(-1).view(np.uint8) for array in (one, other)]
    even = len(words[0]) & ~7
    first, second = (octets[:even].view(np.uint64) for octets in words)
    return np.array_equal(first, second) and np.array_equal(words[0][even:], words[1][even:])


def same_constant(one: Any, other: Any) -> bool:
    """Whether two arrays or two of Python's numbers are the same, with type, NaN and signs of 0."""
    if type(one) is not type(other):
        return False
    if type(one) is np.ndarray:
        return same_memory(one, other)
    return one is other or (one == other != 0 and type(one) is float) or repr(one) == repr(other)


def as_float(value: int) -> float:
    """A large integer as what Python and NumPy make of it beside a float."""
    try:
        return float(value)
    except OverflowError:  # only comparisons take it, as larger than any number
        return inf if value > 0 else -inf
