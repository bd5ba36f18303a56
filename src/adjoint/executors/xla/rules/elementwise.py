"""Elementwise functions: NumPy says in which dtype, JAX computes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from adjoint.base.arrays import ArrayType
from adjoint.executors.xla.rules.table import RULES, rule
from adjoint.primitives.declaration import PRIMITIVES
from adjoint.primitives.elementwise.accuracy.formulas import Formula
from adjoint.primitives.typing_rules import resolve
from adjoint.program import Equation

_PYTHON: Final = {"f": float, "c": complex, "i": int}
Function = Callable[..., Any]  # (work, *operands of the loop's dtypes) -> result


def loop_of(ufunc: Any, types: Sequence[ArrayType]) -> tuple[np.dtype[Any], ...]:
    """The dtypes of the operands and results of NumPy's loop for operands of these types."""
    return _loop(ufunc, tuple((type_.dtype, type_.weak) for type_ in types))


@lru_cache(maxsize=4096)
def _loop(ufunc: Any, signature: tuple[tuple[np.dtype[Any], bool], ...]) -> tuple[Any, ...]:
    given: list[Any] = [_PYTHON[dtype.kind] if weak else dtype for dtype, weak in signature]
    if all(weak for _, weak in signature):
        given = [dtype for dtype, _ in signature]
    return tuple(ufunc.resolve_dtypes((*given, *[None] * ufunc.nout)))


def as_ufunc(function: Function, ufunc: Any = None) -> Callable[..., Any]:
    """A rule that casts operands as NumPy's loop does, and then applies a function."""

    def apply(work: Any, equation: Equation, *operands: Any) -> Any:
        types = [atom.type for atom in equation.inputs]
        loop = loop_of(ufunc or resolve(equation.primitive.ufunc), types)
        cast = []
        for x, dtype, type_ in zip(operands, loop, types, strict=False):
            if type_.weak and type_.dtype.kind == "i" and dtype.kind in "iu":
                limits = np.iinfo(dtype)  # beyond which NumPy raises an error
                work.fault(
                    (x < limits.min) | (x > limits.max) if dtype.itemsize < 8 else x < limits.min
                )
            cast.append(work.cast(x, dtype))
        return function(work, *cast)

    return apply


# --- what JAX has under the same name -------------------------------------------------------------

_SAME: Final = (
    *("add", "subtract", "multiply", "divide", "negative", "reciprocal", "square", "conjugate"),
    *("absolute", "fabs", "sign", "floor", "ceil", "trunc", "rint", "maximum", "minimum", "fmax"),
    *("fmin", "copysign", "nextafter", "ldexp", "signbit", "bitwise_count"),
    *("less", "less_equal", "greater", "greater_equal", "equal", "not_equal"),
    *("logical_and", "logical_or", "logical_xor", "logical_not", "isnan", "isinf", "isfinite"),
    *("bitwise_and", "bitwise_or", "bitwise_xor", "invert", "left_shift", "right_shift"),
    *("exp", "expm1", "log", "log10", "log1p", "cbrt"),
    *("sin", "cos", "tan", "arctan", "sinh", "cosh", "tanh", "arctanh", "arctan2", "hypot"),
    *("logaddexp", "logaddexp2"),
    *("deg2rad", "rad2deg", "radians", "degrees"),
)


def _same(name: str) -> Function:
    return lambda work, *operands: getattr(work.np, name)(*operands)


for _name in _SAME:
    rule(_name)(as_ufunc(_same(_name)))


@rule("remainder", "floor_divide", "fmod")
def _divided(work: Any, equation: Equation, *operands: Any) -> Any:
    name = equation.primitive.name

    def divide(work: Any, x: Any, y: Any) -> Any:
        work.fault(y == 0)  # NumPy warns
        return getattr(work.np, name)(x, y)

    return as_ufunc(divide)(work, equation, *operands)


@rule("gcd", "lcm")
def _of_integers(work: Any, equation: Equation, *operands: Any) -> Any:
    return as_ufunc(_same(equation.primitive.name))(work, equation, *operands)


# Complex functions whose cut JAX crosses at other zeros than NumPy: they go through the host.
_CUT: Final = ("arcsin", "arccos", "arcsinh", "arccosh")


def _on_one_side(name: str) -> Callable[..., Any]:
    of_reals = as_ufunc(_same(name))

    def lower(work: Any, equation: Equation, x: Any) -> Any:
        return None if x.dtype.kind == "c" else of_reals(work, equation, x)

    return lower


for _name in _CUT:
    rule(_name)(_on_one_side(_name))


def _power(work: Any, x: Any, y: Any) -> Any:
    if y.dtype.kind == "i":
        work.fault(y < 0)  # NumPy refuses negative powers of integers
    return work.np.power(x, y)


def _log2(work: Any, x: Any) -> Any:
    # Exact for powers of two, as NumPy's is: what is left is between the roots of 1/2 and 2.
    if x.dtype.kind == "c":
        return work.np.log2(x)
    part, exponent = work.np.frexp(x)
    low = part < np.sqrt(0.5)
    part = work.np.where(low, 2 * part, part)
    whole = work.np.log2(part) + (exponent - low).astype(x.dtype)
    return work.np.where(work.np.isfinite(x) & (x > 0), whole, work.np.log2(x))


def _sqrt(work: Any, x: Any) -> Any:
    root = work.np.sqrt(x)
    if x.dtype.kind != "c":
        return root
    # The sign of a zero says on which side of the cut a number lies.
    imaginary = work.np.copysign(work.np.imag(root), work.np.imag(x))
    return work.lax.complex(work.np.real(root), imaginary)


rule("log2")(as_ufunc(_log2))
rule("exp2")(as_ufunc(lambda work, x: work.np.power(work.np.asarray(2, x.dtype), x)))
rule("sqrt")(as_ufunc(_sqrt))
rule("heaviside")(
    as_ufunc(lambda work, x, y: work.np.where(work.np.isnan(x), x, work.np.heaviside(x, y)))
)


@rule("power", "root_of_powers")
def _power_rule(work: Any, equation: Equation, x: Any, y: Any) -> Any:
    if equation.outputs[0].type.dtype.kind == "c":
        return None
    return as_ufunc(_power)(work, equation, x, y)


rule("root_of_squares")(as_ufunc(_same("sqrt")))
rule("count")(as_ufunc(lambda work, x: x))


@rule("integer_power")
def _integer_power(work: Any, equation: Equation, x: Any) -> Any:
    exponent = equation.params["exponent"]
    x = work.cast(x, equation.outputs[0].type.dtype)
    if x.dtype.kind in "iu":
        return work.np.power(x, work.np.asarray(exponent, x.dtype)) if exponent >= 0 else None
    if -2 <= exponent <= 3:
        return work.lax.integer_pow(x, exponent)
    return work.np.power(x, work.np.asarray(exponent, x.dtype))


@rule("power_log")
def _power_log(work: Any, equation: Equation, x: Any, y: Any, power: Any) -> Any:
    degree, xp = equation.params["degree"], work.np
    if not degree:
        return power
    x = work.cast(x, power.dtype)
    value = power * xp.log(x) ** degree
    nothing = power == 0
    if equation.params["flat"]:
        nothing = nothing | ((x == 0) & (power == 1))
    return xp.where(nothing, xp.zeros((), value.dtype), value)


@rule("exponent")
def _exponent(work: Any, equation: Equation, x: Any) -> Any:
    return work.np.frexp(x)[1]


# --- what is elementwise, and no ufunc of NumPy's -------------------------------------------------


@rule("scale")
def _scale(work: Any, equation: Equation, *operands: Any) -> Any:
    return as_ufunc(_same("multiply"), np.multiply)(work, equation, *operands)


@rule("select")
def _select(work: Any, equation: Equation, mask: Any, x: Any, y: Any) -> Any:
    dtype = equation.outputs[0].type.dtype
    return work.np.where(work.cast(mask, np.dtype(bool)), work.cast(x, dtype), work.cast(y, dtype))


@rule("cast")
def _cast(work: Any, equation: Equation, x: Any) -> Any:
    dtype = np.dtype(equation.params["dtype"])
    if x.dtype.kind in "fc" and dtype.kind in "iu":
        limits, real = np.iinfo(dtype), work.np.real(x).astype(np.float64)
        inside = (real > float(limits.min) - 1) & (real < float(limits.max) + 1)
        work.fault(~inside)  # NumPy warns, and the processor decides
    return work.cast(x, dtype)


@rule("python_number", "stop_gradient", "hard", "tame", "same_as")
def _as_it_is(work: Any, equation: Equation, x: Any, *others: Any) -> Any:
    return x


@rule("real", "imag")
def _part(work: Any, equation: Equation, x: Any) -> Any:
    return getattr(work.np, equation.primitive.name)(x)


@rule("round")
def _round(work: Any, equation: Equation, x: Any) -> Any:
    decimals = equation.params.get("decimals", 0)
    return None if decimals else work.np.round(x)


# --- formulas -------------------------------------------------------------------------------------


class FormulaArray(NDArrayOperatorsMixin):
    """An array of JAX's under NumPy's operators and functions, as a formula applies them."""

    __slots__ = ("array", "work")

    def __init__(self, work: Any, array: Any) -> None:
        self.work = work
        self.array = array

    @property
    def dtype(self) -> np.dtype[Any]:
        """Its dtype."""
        dtype: np.dtype[Any] = self.array.dtype
        return dtype

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        name = ufunc.__name__
        if method != "__call__" or kwargs:
            raise UnwrittenError(name)
        return FormulaArray(self.work, _applied(self.work, name, [self._of(x) for x in inputs]))

    def _of(self, x: Any) -> Any:
        if isinstance(x, FormulaArray):
            return x.array
        dtype = self.array.dtype if self.array.dtype.kind != "b" else None
        return self.work.np.asarray(x, dtype)

    def astype(self, dtype: Any) -> FormulaArray:
        """In another dtype."""
        return FormulaArray(self.work, self.work.cast(self.array, np.dtype(dtype)))

    def choose(self, x: Any, y: Any) -> FormulaArray:
        """x where this mask holds, y elsewhere."""
        own = [part for part in (x, y) if isinstance(part, FormulaArray)]
        dtype = own[0].array.dtype if own else None
        arrays = [
            part.array if isinstance(part, FormulaArray) else self.work.np.asarray(part, dtype)
            for part in (x, y)
        ]
        return FormulaArray(self.work, self.work.np.where(self.array, *arrays))


# Functions with rules of their own, of real numbers.
_IN_FORMULAS: Final = frozenset({"power", "sqrt", "exp2", "log2", *_CUT})


class UnwrittenError(Exception):
    """A formula applies a function that JAX does not have."""


def _applied(work: Any, name: str, arrays: Sequence[Any]) -> Any:
    if name in _SAME or name in _IN_FORMULAS:
        return getattr(work.np, name)(*arrays)
    special = SPECIAL.get(name)
    if special is None:
        raise UnwrittenError(name)
    return special(work, *arrays)


# Functions of SciPy by the names of their ufuncs, which `special.py` fills.
SPECIAL: Final[dict[str, Function]] = {}


def _formula(work: Any, equation: Equation, *operands: Any) -> Any:
    formula = equation.primitive.ufunc
    *_, result = loop_of(formula, [atom.type for atom in equation.inputs])
    wide = np.result_type(result, np.float64 if formula.wide else np.float32)
    arrays = [FormulaArray(work, work.cast(x, wide)) for x in operands]
    try:
        value = formula.rule(*arrays)
    except UnwrittenError:
        return None
    return value.array if isinstance(value, FormulaArray) else work.np.asarray(value, wide)


for _primitive in list(PRIMITIVES.values()):
    if isinstance(_primitive.ufunc, Formula) and _primitive.name not in RULES:
        rule(_primitive.name)(_formula)
