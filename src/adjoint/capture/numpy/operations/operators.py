"""The operators of traced arrays: `x + y`, `x @ y`, `x ** n`, comparisons and in-place forms.

These are the hottest lines of capture, and so do by hand what `apply` does with calls.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from adjoint.base.errors import ArgumentTypeError
from adjoint.capture.numpy.indexing.selected import Selected
from adjoint.capture.numpy.polynomials.series import lifted
from adjoint.capture.recording.effects.value_errors import suppose, suppose_answered
from adjoint.capture.recording.memory.views import copy_of
from adjoint.capture.recording.tracing.applying import apply, apply_one
from adjoint.capture.recording.tracing.hooks import hooks
from adjoint.capture.recording.tracing.trace import is_guarded, outermost
from adjoint.capture.recording.tracing.traced import Traced, from_slot, is_cell, kind_of
from adjoint.capture.recording.values.containers import Filled, is_container
from adjoint.capture.recording.values.quick import into, one, two
from adjoint.capture.recording.values.recipes import has_recipes
from adjoint.capture.recording.values.valued import beside, refuse, writing
from adjoint.primitives import UFUNCS
from adjoint.primitives.elementwise.arithmetic import INTEGER_POWER
from adjoint.primitives.elementwise.conversion import PYTHON_NUMBER
from adjoint.program import operation
from adjoint.spaces.polynomials.bases import KINDS


def _binary(
    ufunc: Any, python: Callable[[Any, Any], Any], mirror: str
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """An operator, and its reflected form. mirror: the method that the right operand has for it."""
    op = UFUNCS[ufunc].bare
    divisor = asked_not_zero if ufunc in _DIVISIONS else None
    compares = ufunc in _COMPARISONS  # which are exact, of fractions
    multiplies = ufunc is np.multiply

    def ours(self: Any, other: Any) -> Any:
        return as_python(apply(op, (self, other)), self, other)

    whole = partial(_asked_in_range, _GROWING[ufunc]) if ufunc in _GROWING else None

    def slowly(self: Traced, other: Any) -> Any:
        if not compares and isinstance(other, Fraction) and _is_double(self):
            return python(self, float(other))
        if multiplies and isinstance(other, _REPEATED) and _counts(self):
            return NotImplemented
        if other is None or isinstance(other, (str, bytes)):
            return python(self._value, other)  # which no number equals
        if _refuses(other) or _overrides(type(other), mirror):
            return python(self, lifted(other)) if _is_numpys(other) else NotImplemented
        if multiplies and hooks.is_sparse(other):
            return hooks.star(self, other)
        result = beside(python, ours, (self, other), {})
        if whole is not None and type(result) is Traced and kind_of(result) is int:
            whole(result, self, other)
        if divisor is not None and _is_python(other) and _is_python(self):
            divisor(other)
        return result

    def reflected(self: Traced, other: Any) -> Any:
        if not compares and isinstance(other, Fraction) and _is_double(self):
            return python(float(other), self)
        if multiplies and isinstance(other, _REPEATED) and _counts(self):
            return NotImplemented
        if _refuses(other):
            return python(lifted(other), self) if _is_numpys(other) else NotImplemented
        if multiplies and hooks.is_sparse(other):
            return hooks.star(other, self)
        return beside(python, ours, (other, self), {})

    forward, swapped = two(
        op, python, slowly, reflected, pythonic=True, divisor=divisor, whole=whole
    )

    def dividing(self: Traced, other: Any) -> Any:
        if self.type.weak and type(other) in (int, float):
            asked_not_zero(self)
        return swapped(self, other)

    return forward, swapped if divisor is None else dividing


def _counts(x: Traced) -> bool:
    """Whether it is a count beside a list or a text, which Python repeats so often.

    Python does so once a number takes no part: it asks for `__index__`, which is a question.
    """
    return x.type.ndim == 0 and x.type.dtype.kind in "biu" and not is_cell(x)


def _is_double(x: Traced) -> bool:
    """Whether it is a number beside which Python makes a float of a fraction."""
    return x.type.ndim == 0 and x.type.dtype.char in "dD"


def asked_not_zero(divisor: Any) -> None:
    """Python's own numbers refuse to be divided by zero: a question, for a program that is kept."""
    if not is_guarded():
        return
    if type(divisor) is Traced:
        if divisor._value is not None:
            suppose(np.not_equal(divisor, 0))
        return
    trace = outermost()
    assert trace is not None
    _, slot = trace.arrays.get(id(divisor), (None, None))
    if slot is not None:  # a number that the kept program is given anew
        suppose(np.not_equal(from_slot(trace, slot, divisor), 0))


def _asked_in_range(ufunc: Any, result: Traced, one: Any, other: Any) -> None:
    """Python's integers have no end, and those of a program have 64 bits: a question, if kept."""
    if result._value.bit_length() > _BITS:
        refusal = ArgumentTypeError(
            "An integer of Python's became larger than an int64, which is what programs compute "
            "with. Pass floating-point numbers, as in 2.0**n."
        )
        refuse(refusal)
        raise refusal
    if is_guarded():
        one, other = one * 1.0, other * 1.0
        suppose(np.abs(ufunc(one, other)) < 2.0**_BITS)


def _shifted(one: Any, other: Any) -> Any:
    """How a number is shifted, in floating point; infinite where it cannot be."""
    return np.where(other < 0, np.inf, np.abs(one) * np.exp2(np.abs(other)))


def _raised(one: Any, other: Any) -> Any:
    return np.where(other < 0, np.inf, np.power(np.abs(one), np.abs(other)))


_BITS = 62
_REPEATED = (list, tuple, str, bytes, bytearray)
_GROWING: dict[Any, Callable[[Any, Any], Any]] = {
    **{np.add: np.add, np.subtract: np.subtract, np.multiply: np.multiply},
    np.left_shift: _shifted,
}
_COMPARISONS = frozenset(
    {np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal}
)
_DIVISIONS = frozenset({np.true_divide, np.floor_divide, np.remainder})


def python_number(value: Any) -> Any:
    """A traced scalar as the number that Python would have in its place: weak under NEP 50."""
    if type(value) is Traced and value.type.dtype.kind in "fic" and not value.type.weak:
        return apply_one(PYTHON_NUMBER.bare, value)
    return value


def as_python(result: Any, *operands: Any) -> Any:
    """The result of an operator on Python's own numbers, which is one of them."""
    return python_number(result) if all(map(_is_python, operands)) else result


def _is_python(value: Any) -> bool:
    if type(value) is Traced:
        return value.type.weak
    return type(value) in (float, int, complex, bool)


def _refuses(other: Any) -> bool:
    """Whether the other operand handles operators with arrays itself (covectors, linear maps)."""
    if type(other) is Traced or isinstance(other, (np.ndarray, np.generic, float, int)):
        return False
    kind = type(other)
    if kind is Selected or kind is Filled:
        return True
    if is_container(other):
        return False  # see `containers.py`
    if hasattr(kind, "__array_ufunc__"):
        return kind.__array_ufunc__ is None
    if getattr(kind, "__array_priority__", 0) <= 0:
        return False
    return getattr(kind, "takes_traced", False) or not hooks.is_sparse(other)


def _overrides(kind: type, mirror: str) -> bool:
    """Whether a class of arrays has an operator of its own, which Python asks before the array.

    NumPy's own classes, as masked arrays, are refused as a whole.
    """
    if not issubclass(kind, np.ndarray) or kind.__module__.partition(".")[0] == "numpy":
        return False
    return getattr(kind, mirror, None) is not getattr(np.ndarray, mirror, None)


def _is_numpys(other: Any) -> bool:
    """Whether it is one of NumPy's polynomials, which take no traced numbers."""
    return type(other) in KINDS


def _in_place(name: str) -> Callable[..., Any]:
    theirs = getattr(operator, f"__i{name}__")

    def ours(self: Traced, other: Any) -> Any:
        result = getattr(Traced, f"__{name}__")(self, other)
        if result is NotImplemented:
            return result
        return hooks.overwrite(self, result, f"{name} in place")

    def slowly(self: Traced, other: Any) -> Any:
        if self.type.ndim == 0 and not is_cell(self):
            return NotImplemented
        return writing((self,), theirs, ours, (self, other), {})

    quick = (
        slowly if name not in _OPERATORS else into(UFUNCS[_OPERATORS[name]].bare, theirs, slowly)
    )

    def method(self: Traced, other: Any) -> Any:
        if kind_of(self) in _IMMUTABLE:
            return NotImplemented  # the name is bound anew
        return quick(self, other)

    return method


_IMMUTABLE = frozenset({np.float64, float, int})


def _unary(ufunc: Any, python: Callable[[Any], Any]) -> Callable[..., Any]:
    op = UFUNCS[ufunc].bare

    def ours(self: Traced) -> Any:
        return as_python(apply_one(op, self), self)

    return one(op, python, lambda self: beside(python, ours, (self,), {}))


_OPERATORS = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "truediv": np.true_divide,
    "floordiv": np.floor_divide,
    "mod": np.remainder,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "lshift": np.left_shift,
    "rshift": np.right_shift,
}
for _name, _ufunc in _OPERATORS.items():
    _forward, _reflected = _binary(_ufunc, getattr(operator, f"__{_name}__"), f"__r{_name}__")
    setattr(Traced, f"__{_name}__", _forward)
    setattr(Traced, f"__r{_name}__", _reflected)
    setattr(Traced, f"__i{_name}__", _in_place(_name))
for _name, _mirror, _ufunc in (
    ("lt", "gt", np.less),
    ("le", "ge", np.less_equal),
    ("gt", "lt", np.greater),
    ("ge", "le", np.greater_equal),
    ("eq", "eq", np.equal),
    ("ne", "ne", np.not_equal),
):
    _forward, _ = _binary(_ufunc, getattr(operator, f"__{_name}__"), f"__{_mirror}__")
    setattr(Traced, f"__{_name}__", _forward)
for _name, _one in {"neg": np.negative, "abs": np.absolute, "invert": np.invert}.items():
    setattr(Traced, f"__{_name}__", _unary(_one, getattr(operator, f"__{_name}__")))


_SQUARE = UFUNCS[np.square].bare


@has_recipes
def _our_power(base: Any, exponent: Any) -> Any:
    if type(exponent) is int and exponent == 2:
        squared = apply_one(_SQUARE, base)
        return as_python(squared, base) if base.type.weak else squared
    return as_python(hooks.power(base, exponent), base, exponent)


def _power_of(base: Any, exponent: Any) -> Any:
    result = beside(pow, _our_power, (base, exponent), {})
    if type(result) is Traced and kind_of(result) is int:
        _asked_in_range(_raised, result, base, exponent)
    elif type(result) is Traced and kind_of(result) in (float, complex):
        suppose_answered(result, base, exponent)
    return result


def _pow(self: Traced, other: Any, modulus: Any = None) -> Any:
    if type(other) is int:
        quick = _POWERS.get(other) or _whole_power(other)
        return quick(self)
    if isinstance(other, Fraction) and _is_double(self):
        whole = other.denominator == 1 and other >= 0
        return pow(self, other.numerator) if whole else pow(self, float(other))
    return NotImplemented if _refuses(other) else _power_of(self, other)


# How arrays are raised to whole powers.
_POWERS: dict[int, Callable[[Any], Any]] = {}
_POWERS_LIMIT = 256


def _whole_power(exponent: int) -> Callable[[Any], Any]:
    op = _SQUARE if exponent == 2 else operation(INTEGER_POWER, exponent=exponent)

    def slowly(base: Traced) -> Any:
        return _power_of(base, exponent)

    quick = one(op, lambda value: value**exponent, slowly)

    def power(base: Traced) -> Any:
        kind = kind_of(base)
        if kind is type(None):
            kept = True
        else:
            kept = is_guarded() if kind in (float, int) else base.type.dtype != _DOUBLE
        return slowly(base) if kept else quick(base)

    if len(_POWERS) >= _POWERS_LIMIT:
        _POWERS.clear()
    _POWERS[exponent] = power
    return power


_DOUBLE = np.dtype(float)


def _rpow(self: Traced, other: Any, modulus: Any = None) -> Any:
    return NotImplemented if _refuses(other) else _power_of(other, self)


def _product(
    ndims: tuple[int, int],
) -> tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]:
    """`x @ y` and `y @ x`, where y may be a plain array, for so many axes of both operands."""
    op = hooks.products.get(ndims)
    both = _matmul_slowly, _rmatmul_slowly
    product = both if op is None else two(op, operator.matmul, *both)
    if max(ndims) <= _FEW_AXES:
        _PRODUCTS[ndims] = product
    return product


_PRODUCTS: dict[tuple[int, int], Any] = {}
_FEW_AXES = 4


def _matmul(self: Traced, other: Any) -> Any:
    if type(other) is np.ndarray or type(other) is Traced:
        ndims = (self.type.ndim, other.ndim)
        return (_PRODUCTS.get(ndims) or _product(ndims))[0](self, other)
    return _matmul_slowly(self, other)


def _matmul_slowly(self: Traced, other: Any) -> Any:
    if _refuses(other):
        return NotImplemented
    if hooks.is_sparse(other):
        return hooks.matmul(self, other)
    return beside(operator.matmul, hooks.matmul, (self, other), {})


def _rmatmul(self: Traced, other: Any) -> Any:
    if type(other) is np.ndarray:
        ndims = (other.ndim, self.type.ndim)
        return (_PRODUCTS.get(ndims) or _product(ndims))[1](self, other)
    return _rmatmul_slowly(self, other)


def _rmatmul_slowly(self: Traced, other: Any) -> Any:
    if _refuses(other):
        return NotImplemented
    if hooks.is_sparse(other):
        return hooks.matmul(other, self)
    return beside(operator.matmul, hooks.matmul, (other, self), {})


def _divmod(self: Traced, other: Any) -> Any:
    if _refuses(other):
        return NotImplemented
    return beside(divmod, _our_divmod, (self, other), {})


def _our_divmod(one: Any, other: Any) -> Any:
    return (one // other, one % other)


for _name, _method in {
    "__pos__": lambda self: beside(operator.pos, copy_of, (self,), {}),
    "__pow__": _pow,
    "__rpow__": _rpow,
    "__ipow__": _in_place("pow"),
    "__matmul__": _matmul,
    "__rmatmul__": _rmatmul,
    "__imatmul__": _in_place("matmul"),
    "__divmod__": _divmod,
    "__rdivmod__": lambda self, other: beside(divmod, _our_divmod, (other, self), {}),
}.items():
    setattr(Traced, _name, _method)
