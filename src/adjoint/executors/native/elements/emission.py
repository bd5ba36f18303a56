"""One instance of an elementwise primitive: NumPy's promotion, then the rule of its kind."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final, TypeGuard

import numpy as np

from adjoint.base.arrays import ArrayType
from adjoint.executors.native.elements.arithmetic import (
    LARGEST_EXPONENT,
    power_of_float,
    power_of_integer,
)
from adjoint.executors.native.elements.complex_numbers import (
    LARGEST_EXPONENT as LARGEST_COMPLEX_EXPONENT,
)
from adjoint.executors.native.elements.complex_numbers import (
    imaginary_of,
    power_of_complex,
    real_of,
)
from adjoint.executors.native.elements.conversions import convert
from adjoint.executors.native.elements.formulas import written
from adjoint.executors.native.elements.functions import call, power_log
from adjoint.executors.native.elements.inner_loops import emit_loop, has_loop
from adjoint.executors.native.elements.integers import WRAPPING, fault_of_overflow
from adjoint.executors.native.elements.rules import COMPANIONS, RULES, Rule
from adjoint.executors.native.elements.writer import ElementWriter, Fault
from adjoint.executors.native.machine.module import Block, Value
from adjoint.executors.native.machine.ufuncs import is_special, ufunc_of
from adjoint.primitives.declaration import Primitive
from adjoint.primitives.elementwise.arithmetic import INTEGER_POWER, POWER_LOG
from adjoint.primitives.elementwise.conversion import (
    CAST,
    IMAG,
    PYTHON_NUMBER,
    REAL,
    STOP_GRADIENT,
)
from adjoint.primitives.elementwise.declaring import SCALE
from adjoint.primitives.elementwise.selection import SELECT
from adjoint.program import Equation

_PYTHON: Final = {"f": float, "i": int, "c": complex, "b": bool}
_BYTES: Final = {"b": (1,), "i": (1, 2, 4, 8), "u": (1, 2, 4, 8), "f": (4, 8), "c": (8, 16)}
_WITHOUT_LOOP: Final = (SELECT, CAST, PYTHON_NUMBER, REAL, IMAG, STOP_GRADIENT)
_Signature = tuple[tuple[np.dtype[Any], bool], ...]


def supports(equation: Equation, precise: bool) -> bool:
    """Whether an elementwise equation can be written for the dtypes of its operands.

    precise: only if every bit of the result is NumPy's.
    """
    if has_rule(equation, precise):
        return True
    loop = _loop_of(equation)
    if loop is None or not has_loop(_called(equation.primitive), loop):
        return False
    return equation.primitive is not INTEGER_POWER or _is_called(loop, equation.params["exponent"])


def _called(primitive: Primitive) -> str:
    """The name of the ufunc whose loop computes it."""
    return "power" if primitive is INTEGER_POWER else str(primitive.name)


def _is_called(loop: Sequence[np.dtype[Any]], exponent: int) -> bool:
    """Whether an integer power is NumPy's power of two numbers, which has ways for some alone."""
    return loop[0].kind in "fc" and loop[0] == loop[1] and not -2 < exponent < 3


def has_rule(equation: Equation, precise: bool) -> bool:
    """Whether there are instructions for it, and not a call of NumPy's or SciPy's own function.

    precise: only if every bit of the result is that of exact rounding.
    """
    primitive, params = equation.primitive, equation.params
    if primitive in _WITHOUT_LOOP:
        return _in_registers(equation)
    loop = _loop_of(equation)
    if loop is None:
        return False
    if primitive is INTEGER_POWER:
        return _supports_power(loop[0].kind, params["exponent"], precise)
    if primitive is POWER_LOG:
        return loop[0].kind == "f" and not precise
    return _suits(_rule(primitive.name, loop), precise)


def _loop_of(equation: Equation) -> tuple[np.dtype[Any], ...] | None:
    """The dtypes of the loop of an equation, if all are known to machine code."""
    if not _in_registers(equation):
        return None
    loop = _loop(equation.primitive, _signature([atom.type for atom in equation.inputs]))
    return loop if loop is not None and all(map(held_in_registers, loop)) else None


def _in_registers(equation: Equation) -> bool:
    atoms = (*equation.inputs, *equation.outputs)
    return all(held_in_registers(atom.type.dtype) for atom in atoms)


def _suits(rule: Rule | None, precise: bool) -> TypeGuard[Rule]:
    return rule is not None and (rule.exact or not precise)


def held_in_registers(dtype: np.dtype[Any]) -> bool:
    """Whether numbers of this dtype can be values: half and long double cannot."""
    return dtype.itemsize in _BYTES.get(dtype.kind, ()) and dtype.isnative


def _supports_power(kind: str, exponent: int, precise: bool) -> bool:
    if kind in "iu":
        return exponent >= 0
    if kind == "c":
        return not precise and abs(exponent) <= LARGEST_COMPLEX_EXPONENT
    return kind == "f" and (exponent in (0, 1, 2) or not precise)


def emit(
    block: Block,
    faults: list[Fault],
    primitive: Primitive,
    params: dict[str, Any],
    operands: Sequence[Value],
    operand_types: Sequence[ArrayType],
    result_dtype: np.dtype[Any],
    contract: bool = True,
    alone: bool = False,
    precise: bool = False,
    part: int = 0,
) -> Value:
    """Write one instance of a primitive; returns its result.

    operands: of the dtypes of the program, all with the same lanes. faults: conditions under which
    NumPy must run instead are added to it. contract: whether sums may be fused with products.
    alone: whether the program has single numbers here, not the numbers of arrays. precise: whether
    every bit must be NumPy's. part: which of several results.
    """
    writer = ElementWriter(block, faults, contract)
    kinds = _plain_kinds(primitive, result_dtype, *operand_types)
    plain = None if kinds is None else RULES.get((primitive.name, kinds))
    if _suits(plain, precise):
        return plain.emit(writer, *operands)
    weak = [t.weak for t in operand_types]
    if primitive in _WITHOUT_LOOP:
        return _emit_without_loop(writer, primitive, operands, weak, result_dtype)
    loop = _loop(primitive, _signature(operand_types))
    assert loop is not None  # else it is not supported
    converted = [
        convert(block, faults, operand, dtype, python)
        for operand, dtype, python in zip(operands, loop, weak, strict=False)
    ]
    if primitive is INTEGER_POWER and _supports_power(loop[0].kind, params["exponent"], precise):
        result = _integer_power(writer, converted[0], params["exponent"])
    elif primitive is INTEGER_POWER:
        exponent = writer.constant(params["exponent"], converted[0])
        result = emit_loop(writer, "power", loop, [converted[0], exponent])
    elif primitive is POWER_LOG:
        result = power_log(writer, converted[0], converted[2], **params)
    else:
        rule = _rule(primitive.name, loop)
        if _suits(rule, precise):
            result = rule.emit(writer, *converted)
        else:
            result = emit_loop(writer, primitive.name, loop, converted, part)
    if alone and loop[0].kind in "iu" and primitive in WRAPPING:
        fault_of_overflow(writer, WRAPPING[primitive], converted)
    return convert(block, faults, result, result_dtype)


def emit_both(block: Block, primitive: Primitive, operand: Value) -> dict[str, Value] | None:
    """Write the results of a primitive and of its companion for a real number, by their names.

    None where one evaluation of both is not to be had for less than two.
    """
    write = COMPANIONS.get(primitive.name)
    if write is None or operand.dtype.kind != "f":
        return None
    return write(ElementWriter(block, []), operand)


def _emit_without_loop(
    writer: ElementWriter,
    primitive: Primitive,
    operands: Sequence[Value],
    weak: Sequence[bool],
    dtype: np.dtype[Any],
) -> Value:
    if primitive is SELECT:
        x, y = (
            convert(writer.block, writer.faults, operand, dtype, python)
            for operand, python in zip(operands[1:], weak[1:], strict=True)
        )
        return writer.select(operands[0], x, y)
    operand = operands[0]
    if primitive is REAL:
        operand = real_of(writer, operand)
    if primitive is IMAG:
        operand = imaginary_of(writer, operand)
    return convert(writer.block, writer.faults, operand, dtype)


def _integer_power(writer: ElementWriter, x: Value, exponent: int) -> Value:
    if x.dtype.kind in "iu":
        return power_of_integer(writer, x, exponent)
    if x.dtype.kind == "c":
        return power_of_complex(writer, x, exponent)
    if abs(exponent) <= LARGEST_EXPONENT:
        return power_of_float(writer, x, exponent)
    return call(writer, "power", x, writer.constant(exponent, x))


# --- which loop, which rule -----------------------------------------------------------------------


def _signature(types: Sequence[ArrayType]) -> _Signature:
    return tuple((t.dtype, t.weak) for t in types)


@lru_cache(maxsize=4096)
def _loop(primitive: Primitive, signature: _Signature) -> tuple[np.dtype[Any], ...] | None:
    """The dtypes of the operands and the result of NumPy's loop."""
    if primitive is POWER_LOG:  # of numbers of the type of the power
        return (signature[2][0],) * 4
    given: list[Any] = [_PYTHON[dtype.kind] if weak else dtype for dtype, weak in signature]
    if all(weak for _, weak in signature):  # NumPy compares two of Python's integers as objects
        given = [dtype for dtype, _ in signature]
    if primitive is INTEGER_POWER:
        ufunc: Any = np.power
        given.append(int)
    elif primitive is SCALE:
        ufunc = np.multiply
    else:
        ufunc = ufunc_of(primitive.name)
        if ufunc is None:
            return None
    dtypes: tuple[np.dtype[Any], ...] = ufunc.resolve_dtypes((*given, *[None] * ufunc.nout))
    return dtypes


def _rule(name: str, loop: tuple[np.dtype[Any], ...]) -> Rule | None:
    kinds = _kinds(loop)
    rule = RULES.get((name, kinds))
    if rule is None and kinds == "f":
        formula = written(name)
        return None if formula is None else formula.rule
    return rule


@lru_cache(maxsize=4096)
def _plain_kinds(primitive: Primitive, dtype: np.dtype[Any], *types: ArrayType) -> str | None:
    """The kinds of the operands, where a rule for them is all that there is to it.

    That is of floats which NumPy's loop takes, and gives, as they are.
    """
    if primitive in (*_WITHOUT_LOOP, INTEGER_POWER, POWER_LOG):
        return None
    loop = _loop(primitive, _signature(types))
    if loop != (*[type_.dtype for type_ in types], dtype) or loop[0].kind != "f":
        return None
    return _kinds(loop)


@lru_cache(maxsize=256)
def _kinds(loop: tuple[np.dtype[Any], ...]) -> str:
    """The kinds of the operands of a loop: one letter where all are alike."""
    kinds = "".join(dtype.kind for dtype in loop[:-1])
    return kinds[0] if len(set(kinds)) == 1 else kinds


# --- what it costs --------------------------------------------------------------------------------

_COSTS: Final[dict[str, float]] = {
    **dict.fromkeys(("cast", "real", "imag", "conjugate", "stop_gradient", "python_number"), 0.5),
    **dict.fromkeys(("divide", "reciprocal", "sqrt"), 4.0),
    **dict.fromkeys(("maximum", "minimum", "fmax", "fmin", "sign", "heaviside", "huber"), 3.0),
    **dict.fromkeys(("exp", "exp2", "log", "log2", "log10", "sin", "cos", "hypot"), 20.0),
    **dict.fromkeys(("expm1", "log1p", "cbrt", "tan", "arcsin", "arccos", "arctan"), 25.0),
    **dict.fromkeys(("sinh", "cosh", "tanh", "expit", "entr", "exprel", "xlogy", "xlog1py"), 25.0),
    "power_log": 25.0,
    **dict.fromkeys(("arcsinh", "arccosh", "arctanh", "arctan2", "log_expit"), 30.0),
    **dict.fromkeys(("erf", "erfc", "ndtr", "logaddexp", "logaddexp2", "logit", "kl_div"), 45.0),
    **dict.fromkeys(("power", "rel_entr"), 60.0),
    **dict.fromkeys(("fmod", "remainder", "floor_divide"), 30.0),
    **dict.fromkeys(("gcd", "lcm"), 100.0),
    "integer_power": 4.0,
    "contract": 2.0,  # a product and a sum
    **dict.fromkeys(("nextafter", "ldexp", "bitwise_count", "count", "round"), 10.0),
}
_COST_OF_SPECIAL: Final = 150.0


@lru_cache(maxsize=4096)
def cost(name: str) -> float:
    """About how many additions one instance takes as long as."""
    formula = written(name)
    if formula is not None:
        return sum(map(_cost, formula.names))
    return _cost(name)


def _cost(name: str) -> float:
    return _COSTS.get(name, _COST_OF_SPECIAL if is_special(name) else 1.0)
