"""Functions that NumPy does not have, written in its own, for derivatives right to the last digits.

1 - tanh(x)^2 has no digits left where tanh(x) rounds to 1, and x / hypot(x, y) has a slope that is
a difference of equal numbers. What has all digits instead (sech(x)^2 from the exponential itself,
y^2 / r^3) is a primitive of its own, with partial derivatives of its own. Its value is a short
formula of real numbers, in NumPy's functions, operators and those below. On arrays that is its
meaning; on the registers of machine code it writes the instructions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from adjoint.primitives.declaration import UFUNCS, EmptySlot, Primitive, Rule
from adjoint.primitives.elementwise.declaring import elementwise
from adjoint.primitives.expression import Expression, bind
from adjoint.primitives.samples import Sample

_BLOCK: Final = 4096  # entries at a time, so that what a formula computes on the way stays in cache
_IN_PLACE: Final = 16384  # the same of a formula that needs no memory for each of its steps
_PYTHON: Final = (bool, int, float)


class Formula:
    """A function of real numbers that is called as a ufunc is, and has the dtypes of one.

    rule: takes the operands, in one dtype. like: the ufunc, or what knows dtypes as one. wide:
        whether numbers in single precision are computed in double, as SciPy does. in_place: the
        rule again, on one array, memory for the result, which may be that array, and memory to
        spare. quiet: the formula of arrays and numbers, where warnings are off already: to turn
        them off takes as long as some hundred numbers.
    """

    __slots__ = ("__name__", "_known", "in_place", "like", "nin", "nout", "quiet", "rule", "wide")

    def __init__(
        self,
        name: str,
        rule: Callable[..., Any],
        like: Any,
        wide: bool,
        in_place: Callable[[Any, Any, Any], None] | None,
    ) -> None:
        self.__name__ = name
        self.rule = rule
        self.like = like
        self.wide = wide
        self.in_place = in_place
        self.nin, self.nout = like.nin, 1
        self.quiet = self._evaluate  # one object, which generated code has one name for
        self._known: dict[tuple[Any, ...], tuple[np.dtype[Any], np.dtype[Any]]] = {}

    def resolve_dtypes(self, dtypes: tuple[Any, ...]) -> tuple[np.dtype[Any], ...]:
        """The dtypes of NumPy's loop, as those of a ufunc."""
        resolved: tuple[np.dtype[Any], ...] = self.like.resolve_dtypes(dtypes)
        return resolved

    def __call__(self, *operands: Any, out: Any = None) -> Any:
        """The formula, of expressions or of arrays and numbers."""
        if any(isinstance(x, Expression) for x in operands):
            return bind(UFUNCS[self], *operands)
        with np.errstate(all="ignore"):
            return self._evaluate(*operands, out=out)

    def _evaluate(self, *operands: Any, out: Any = None) -> Any:
        given = tuple(type(x) if type(x) in _PYTHON else x.dtype for x in operands)
        result, wide = self._known.get(given) or self._dtypes(given)
        if self.in_place is not None and _fits(operands[0], wide, out):
            return _in_memory(self.in_place, operands[0], out)
        values = _in_blocks(self.rule, [np.asarray(x, wide) for x in operands], out)
        if out is None:
            return values.astype(result, copy=False)[()]
        if values is not out:
            out[...] = values
        return out

    def _dtypes(self, given: tuple[Any, ...]) -> tuple[np.dtype[Any], np.dtype[Any]]:
        """The dtype of the result, and the one to compute in."""
        *_, result = self.resolve_dtypes((*given, None))
        wide = np.result_type(result, np.float64 if self.wide else np.float32)
        self._known[given] = result, wide
        return result, wide


def _in_blocks(rule: Callable[..., Any], operands: list[Any], out: Any) -> Any:
    """The formula of arrays, some entries at a time; into `out`, where that may be."""
    whole = [x for x in operands if x.size != 1]
    first = whole[0] if whole else operands[0]
    alike = all(x.shape == first.shape and x.flags.c_contiguous for x in whole)
    if not alike or first.size <= _BLOCK or any(x.ndim > first.ndim for x in operands):
        return np.asarray(rule(*operands))
    values = out if out is not None and _fits(first, out.dtype, out) else np.empty_like(first)
    lines = [x.reshape(-1) for x in operands]
    target = values.reshape(-1)
    for start in range(0, first.size, _BLOCK):
        parts = [x if x.size == 1 else x[start : start + _BLOCK] for x in lines]
        target[start : start + _BLOCK] = rule(*parts)
    return values


def _fits(x: Any, dtype: np.dtype[Any], out: Any) -> bool:
    """Whether a formula may run through an array in place, from its first number to its last."""
    if type(x) is not np.ndarray or x.dtype != dtype or not x.flags.c_contiguous or not x.ndim:
        return False
    return out is None or (out.dtype == dtype and out.shape == x.shape and out.flags.c_contiguous)


def _in_memory(in_place: Callable[[Any, Any, Any], None], x: Any, out: Any) -> Any:
    values = np.empty_like(x) if out is None else out
    if x.size <= _IN_PLACE:
        in_place(x, values, np.empty_like(x))
        return values
    line, target = x.reshape(-1), values.reshape(-1)
    spare = np.empty(_IN_PLACE, x.dtype)
    for start in range(0, line.size, _IN_PLACE):
        part = line[start : start + _IN_PLACE]
        in_place(part, target[start : start + _IN_PLACE], spare[: part.size])
    return values


def formula(
    name: str,
    rule: Callable[..., Any],
    *partials: Callable[..., Any] | EmptySlot | None,
    samples: tuple[Sample, ...] | EmptySlot,
    like: Any = np.tanh,
    wide: bool = False,
    taylor: Rule | None = None,
    in_place: Callable[[Any, Any, Any], None] | None = None,
) -> Formula:
    """Declare a function of real numbers by a formula, and its partial derivatives.

    rule: the formula. partials: as of any elementwise primitive, in terms of primitives.
    like: a ufunc that has its dtypes. wide: whether single precision is too little. in_place: the
    formula again, for arrays, where it is wanted fast.
    """
    function = Formula(name, rule, like, wide, in_place)
    elementwise(function, *partials, samples=samples, taylor=taylor)
    return function


def is_formula(primitive: Primitive) -> bool:
    """Whether a primitive is a formula."""
    return isinstance(primitive.ufunc, Formula)


# --- what formulas are written with, beside ufuncs ------------------------------------------------


def choose(mask: Any, x: Any, y: Any) -> Any:
    """x where the mask holds, y elsewhere."""
    chosen = getattr(mask, "choose", None)
    if isinstance(mask, (np.ndarray, np.generic)) or chosen is None:
        return np.where(mask, x, y)
    return chosen(x, y)


def squared(x: Any) -> tuple[Any, Any]:
    """x^2 rounded, and what was lost by that; for numbers whose square is far from overflow.

    By T. J. Dekker, A floating-point technique for extending the available precision, 1971.
    """
    exactly = getattr(x, "squared", None)
    if exactly is not None:  # machine code
        return exactly()  # type: ignore[no-any-return]
    square = x * x
    if x.dtype == np.float32:
        wide = x.astype(np.float64)
        return square, (wide * wide - square).astype(np.float32)
    large = x * (2.0**27 + 1)
    high = large - (large - x)
    low = x - high
    return square, ((high * high - square) + 2 * high * low) + low * low


def subtracted(x: Any, y: Any) -> tuple[Any, Any]:
    """x - y rounded, and what was lost by that (D. E. Knuth, TAOCP 2, 4.2.2, theorem B)."""
    gap = x - y
    part = gap - x
    return gap, (x - (gap - part)) - (y + part)


def polynomial(x: Any, coefficients: tuple[float, ...]) -> Any:
    """c_0 + c_1 x + c_2 x^2 + ... by Horner's rule."""
    total: Any = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        total = coefficient + x * total
    return total
