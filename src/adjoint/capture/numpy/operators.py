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
from adjoint.capture.recording.traced import Traced, apply, apply_one
from adjoint.capture.recording.views import copy_of
from adjoint.primitives import UFUNCS
from adjoint.primitives.conversion import PYTHON_NUMBER
from adjoint.spaces.polynomials.bases import KINDS

_new = Traced.__new__


def _binary(
    ufunc: Any, python: Callable[[Any, Any], Any]
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    op = UFUNCS[ufunc].bare
    inferred = op._inferred

    def forward(self: Traced, other: Any) -> Any:
        trace = self._trace
        if self._state is not None or trace is None or not trace.open or trace.lines is not None:
            return slowly(self, other)
        kind = type(other)
        if kind is Traced:
            if other._trace is not trace or other._state is not None:
                return slowly(self, other)
            place = other._slot
        elif kind is float or kind is int or kind is np.ndarray:
            place = trace.lift(other)
        else:
            return slowly(self, other)
        types = trace.types  # as in `apply`
        pair = (types[self._slot], types[place])
        found = inferred.get(pair) or op.infer(pair)
        traced = _new(Traced)
        traced._trace, traced._slot, traced._state = trace, len(types), None
        types.append(found[0])
        trace.records.append((op, self._slot, place))
        return python_number(traced) if pair[0].weak and pair[1].weak else traced

    def slowly(self: Traced, other: Any) -> Any:
        if _refuses(other):
            return python(self, lifted(other)) if _is_numpys(other) else NotImplemented
        if ufunc is np.multiply and protocols.IS_SPARSE(other):
            return protocols.STAR(self, other)
        return as_python(apply(op, (self, other)), self, other)

    def reflected(self: Traced, other: Any) -> Any:
        if _refuses(other):
            return python(lifted(other), self) if _is_numpys(other) else NotImplemented
        if ufunc is np.multiply and protocols.IS_SPARSE(other):
            return protocols.STAR(other, self)
        return as_python(apply(op, (other, self)), other, self)

    return forward, reflected


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
    if type(other) is Traced or isinstance(other, (np.ndarray, float, int)):
        return False
    return getattr(type(other), "__array_ufunc__", False) is None


def _is_numpys(other: Any) -> bool:
    """Whether it is one of NumPy's polynomials, which take no traced numbers."""
    return isinstance(other, KINDS) and not isinstance(other, Series)


def _in_place(name: str) -> Callable[..., Any]:
    def method(self: Traced, other: Any) -> Any:
        state = self._state
        if self.type.ndim == 0 and not (state is not None and state.cell):
            return NotImplemented  # NumPy's scalars are immutable: the name is bound anew
        result = getattr(Traced, f"__{name}__")(self, other)
        if result is NotImplemented:
            return result
        return protocols.OVERWRITE(self, result, f"{name} in place")

    return method


def _unary(ufunc: Any) -> Callable[..., Any]:
    op = UFUNCS[ufunc].bare
    return lambda self: as_python(apply_one(op, self), self)


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
    _forward, _reflected = _binary(_ufunc, getattr(operator, f"__{_name}__"))
    setattr(Traced, f"__{_name}__", _forward)
    setattr(Traced, f"__r{_name}__", _reflected)
    setattr(Traced, f"__i{_name}__", _in_place(_name))
for _name, _ufunc in {
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "eq": np.equal,
    "ne": np.not_equal,
}.items():
    _forward, _ = _binary(_ufunc, getattr(operator, f"__{_name}__"))
    setattr(Traced, f"__{_name}__", _forward)
for _name, _one in {"neg": np.negative, "abs": np.absolute, "invert": np.invert}.items():
    setattr(Traced, f"__{_name}__", _unary(_one))


def _pow(self: Traced, other: Any) -> Any:
    if type(other) is int and other == 2:
        squared = apply_one(_SQUARE, self)
        return as_python(squared, self) if self.type.weak else squared
    return as_python(protocols.POWER(self, other), self, other)


_SQUARE = UFUNCS[np.square].bare


def _matmul(self: Traced, other: Any) -> Any:
    trace, kind = self._trace, type(other)
    if self._state is None and trace is not None and trace.open and trace.lines is None:
        if kind is np.ndarray:
            place = trace.lift(other)
        elif kind is Traced and other._trace is trace and other._state is None:
            place = other._slot
        else:
            return _matmul_slowly(self, other)
        # Vectors and matrices, recorded as in `apply`; the type rule checks the shapes.
        types = trace.types
        pair = (types[self._slot], types[place])
        op = protocols.PRODUCTS.get((pair[0].ndim, pair[1].ndim))
        if op is not None:
            found = op._inferred.get(pair) or op.infer(pair)
            traced = _new(Traced)
            traced._trace, traced._slot, traced._state = trace, len(types), None
            types.append(found[0])
            trace.records.append((op, self._slot, place))
            return traced
    return _matmul_slowly(self, other)


def _matmul_slowly(self: Traced, other: Any) -> Any:
    return NotImplemented if _refuses(other) else protocols.MATMUL(self, other)


def _rmatmul(self: Traced, other: Any) -> Any:
    return NotImplemented if _refuses(other) else protocols.MATMUL(other, self)


for _name, _method in {
    "__pos__": copy_of,
    "__pow__": _pow,
    "__rpow__": lambda self, other: as_python(protocols.POWER(other, self), other, self),
    "__ipow__": _in_place("pow"),
    "__matmul__": _matmul,
    "__rmatmul__": _rmatmul,
    "__imatmul__": _in_place("matmul"),
    "__divmod__": lambda self, other: (self // other, self % other),
    "__rdivmod__": lambda self, other: (other // self, other % self),
}.items():
    setattr(Traced, _name, _method)
