"""The operators of traced arrays: `x + y`, `x @ y`, `x ** n`, comparisons and in-place forms.

These are the hottest lines of capture, and so do by hand what `apply` does with calls.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.capture.numpy.polynomials.series import Series, lifted
from adjoint.capture.recording import protocols
from adjoint.capture.recording.applying import apply, apply_one
from adjoint.capture.recording.trace import is_guarded
from adjoint.capture.recording.traced import Traced, is_cell, synchronise
from adjoint.capture.recording.valued import beside, writing
from adjoint.capture.recording.views import copy_of
from adjoint.primitives import UFUNCS
from adjoint.primitives.conversion import PYTHON_NUMBER
from adjoint.spaces.polynomials.bases import KINDS

_new = Traced.__new__


def _binary(
    ufunc: Any, python: Callable[[Any, Any], Any], mirror: str
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """An operator, and its reflected form. mirror: the method that the right operand has for it."""
    op = UFUNCS[ufunc].bare
    inferred = op._inferred
    divides = ufunc in _DIVISIONS

    def forward(self: Traced, other: Any) -> Any:
        if self._state is not None:
            synchronise(self)
        trace = self._trace
        value = self._value
        if trace is None or not trace.open or trace.lines is not None:
            return slowly(self, other)
        kind = type(other)
        if kind is Traced:
            if other._state is not None:
                synchronise(other)
            if other._trace is not trace:
                return slowly(self, other)
            place = other._slot
            known = other._value
        elif kind is float or kind is int or kind is np.ndarray:
            place = -1
            known = other
        else:
            return slowly(self, other)
        if value is not None:
            # NumPy's errors come before anything is recorded.
            value = None if known is None or trace.inside else python(value, known)
        if place < 0:
            place = trace.lift(other)
        types = trace.types  # as in `apply`
        pair = (types[self._slot], types[place])
        found = inferred.get(pair) or op.infer(pair)
        traced = _new(Traced)
        traced._trace, traced._slot, traced._state = trace, len(types), None
        traced._value = value
        types.append(found[0])
        trace.records.append((op, self._slot, place))
        if pair[0].weak and pair[1].weak:
            return _weak_result(traced, other, divides)
        return traced

    slowly, reflected = _rarely(ufunc, python, mirror)
    return forward, reflected


def _rarely(
    ufunc: Any, python: Callable[[Any, Any], Any], mirror: str
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """An operator in the cases that `forward` leaves, and with the traced array on the right."""
    op = UFUNCS[ufunc].bare

    def ours(self: Any, other: Any) -> Any:
        return as_python(apply(op, (self, other)), self, other)

    def slowly(self: Traced, other: Any) -> Any:
        if other is None or isinstance(other, (str, bytes)):
            return python(self._value, other)  # which no number equals
        if _refuses(other) or _overrides(type(other), mirror):
            return python(self, lifted(other)) if _is_numpys(other) else NotImplemented
        if ufunc is np.multiply and protocols.IS_SPARSE(other):
            return protocols.STAR(self, other)
        return beside(python, ours, (self, other), {})

    def reflected(self: Traced, other: Any) -> Any:
        if _refuses(other):
            return python(lifted(other), self) if _is_numpys(other) else NotImplemented
        if ufunc is np.multiply and protocols.IS_SPARSE(other):
            return protocols.STAR(other, self)
        if ufunc in _DIVISIONS and self.type.weak and type(other) in (int, float):
            asked_not_zero(self)
        return beside(python, ours, (other, self), {})

    return slowly, reflected


def _weak_result(traced: Traced, divisor: Any, divides: bool) -> Any:
    """The result of an operator on two of Python's own numbers."""
    if divides and type(divisor) is Traced:
        asked_not_zero(divisor)
    number = python_number(traced)
    number._value = traced._value
    return number


def asked_not_zero(divisor: Traced) -> None:
    """Python's own numbers refuse to be divided by zero: a question, for a program that is kept."""
    if divisor._value is not None and is_guarded():
        bool(np.not_equal(divisor, 0))


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
    if hasattr(kind, "__array_ufunc__"):
        return kind.__array_ufunc__ is None
    return getattr(kind, "__array_priority__", 0) > 0 and not protocols.IS_SPARSE(other)


def _overrides(kind: type, mirror: str) -> bool:
    """Whether a class of arrays has an operator of its own, which Python asks before the array.

    NumPy's own classes, as masked arrays, are refused as a whole.
    """
    if not issubclass(kind, np.ndarray) or kind.__module__.partition(".")[0] == "numpy":
        return False
    return getattr(kind, mirror, None) is not getattr(np.ndarray, mirror, None)


def _is_numpys(other: Any) -> bool:
    """Whether it is one of NumPy's polynomials, which take no traced numbers."""
    return isinstance(other, KINDS) and not isinstance(other, Series)


def _in_place(name: str) -> Callable[..., Any]:
    theirs = getattr(operator, f"__i{name}__")

    def ours(self: Traced, other: Any) -> Any:
        result = getattr(Traced, f"__{name}__")(self, other)
        if result is NotImplemented:
            return result
        return protocols.OVERWRITE(self, result, f"{name} in place")

    def method(self: Traced, other: Any) -> Any:
        if self.type.ndim == 0 and not is_cell(self):
            return NotImplemented  # NumPy's scalars are immutable: the name is bound anew
        return writing((self,), theirs, ours, (self, other), {})

    return method


def _unary(ufunc: Any, python: Callable[[Any], Any]) -> Callable[..., Any]:
    op = UFUNCS[ufunc].bare

    def ours(self: Traced) -> Any:
        return as_python(apply_one(op, self), self)

    return lambda self: beside(python, ours, (self,), {})


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


def _our_power(base: Any, exponent: Any) -> Any:
    if type(exponent) is int and exponent == 2:
        squared = apply_one(_SQUARE, base)
        return as_python(squared, base) if base.type.weak else squared
    return as_python(protocols.POWER(base, exponent), base, exponent)


def _power_of(base: Any, exponent: Any) -> Any:
    result = beside(pow, _our_power, (base, exponent), {})
    if type(result) is Traced and type(result._value) is float and is_guarded():
        bool(np.isfinite(result))  # where it is not, Python raises an error, or goes on in complex
    return result


def _pow(self: Traced, other: Any, modulus: Any = None) -> Any:
    return NotImplemented if _refuses(other) else _power_of(self, other)


def _rpow(self: Traced, other: Any, modulus: Any = None) -> Any:
    return NotImplemented if _refuses(other) else _power_of(other, self)


def _matmul(self: Traced, other: Any) -> Any:
    if self._state is not None:
        synchronise(self)
    trace, kind = self._trace, type(other)
    if trace is not None and trace.open and trace.lines is None:
        if kind is np.ndarray:
            known, place = other, -1
        elif kind is Traced and other._trace is trace and other._state is None:
            known, place = other._value, other._slot
        else:
            return _matmul_slowly(self, other)
        # Vectors and matrices, recorded as in `apply`; the type rule checks the shapes.
        types = trace.types
        op = protocols.PRODUCTS.get((types[self._slot].ndim, np.ndim(other)))
        if op is not None:
            value = self._value
            if value is not None:
                value = None if known is None or trace.inside else value @ known
            place = trace.lift(other) if place < 0 else place
            pair = (types[self._slot], types[place])
            found = op._inferred.get(pair) or op.infer(pair)
            traced = _new(Traced)
            traced._trace, traced._slot, traced._state = trace, len(types), None
            traced._value = value
            types.append(found[0])
            trace.records.append((op, self._slot, place))
            return traced
    return _matmul_slowly(self, other)


def _matmul_slowly(self: Traced, other: Any) -> Any:
    if _refuses(other):
        return NotImplemented
    if protocols.IS_SPARSE(other):
        return protocols.MATMUL(self, other)
    return beside(operator.matmul, protocols.MATMUL, (self, other), {})


def _rmatmul(self: Traced, other: Any) -> Any:
    if type(other) is np.ndarray and self._value is not None:
        if self._state is not None:
            synchronise(self)
        trace = self._trace
        if trace is not None and trace.open and trace.lines is None and self._value is not None:
            op = protocols.PRODUCTS.get((other.ndim, trace.types[self._slot].ndim))
            if op is not None:
                value = None if trace.inside else other @ self._value
                result = apply(op, (other, self))
                result._value = value
                return result
    if _refuses(other):
        return NotImplemented
    if protocols.IS_SPARSE(other):
        return protocols.MATMUL(other, self)
    return beside(operator.matmul, protocols.MATMUL, (other, self), {})


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
    "__divmod__": lambda self, other: beside(divmod, _our_divmod, (self, other), {}),
    "__rdivmod__": lambda self, other: beside(divmod, _our_divmod, (other, self), {}),
}.items():
    setattr(Traced, _name, _method)
