"""One instance of an elementwise primitive: NumPy's promotion, then the rule of its kind."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

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
from adjoint.executors.native.elements.conversions import convert, truth
from adjoint.executors.native.elements.formulas import written
from adjoint.executors.native.elements.functions import call, power_log
from adjoint.executors.native.elements.integers import WRAPPING, fault_of_overflow
from adjoint.executors.native.elements.rules import COMPANIONS, RULES, Rule
from adjoint.executors.native.elements.writer import BOOLEAN, ElementWriter, Fault
from adjoint.executors.native.machine.module import Block, Value
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
from adjoint.primitives.typing_rules import resolve
from adjoint.program import Equation

_PYTHON: Final = {"f": float, "i": int, "c": complex, "b": bool}
_BYTES: Final = {"b": (1,), "i": (1, 2, 4, 8), "u": (1, 2, 4, 8), "f": (4, 8), "c": (8, 16)}
_WITHOUT_LOOP: Final = (SELECT, CAST, PYTHON_NUMBER, REAL, IMAG, STOP_GRADIENT)
_Signature = tuple[tuple[np.dtype[Any], bool], ...]


def supports(equation: Equation, precise: bool) -> bool:
    """Whether an elementwise equation can be written for the dtypes of its operands.

    precise: only if every bit of the result is that of exact rounding.
    """
    primitive, params = equation.primitive, equation.params
    types = tuple(atom.type for atom in equation.inputs)
    dtypes = [t.dtype for t in (*types, *(variable.type for variable in equation.outputs))]
    if not all(map(held_in_registers, dtypes)):
        return False
    if primitive in _WITHOUT_LOOP:
        return True
    loop = _loop(primitive, _signature(types))
    if loop is None or not all(map(held_in_registers, loop)):
        return False
    if primitive is INTEGER_POWER:
        return _supports_power(loop[0].kind, params["exponent"], precise)
    if primitive is POWER_LOG:
        return loop[0].kind == "f" and not precise
    rule = _rule(primitive.name, loop)
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
) -> Value:
    """Write one instance of a primitive; returns its result.

    operands: of the dtypes of the program, all with the same lanes. faults: conditions under which
    NumPy must run instead are added to it. contract: whether sums may be fused with products.
    alone: whether the program has single numbers here, not the numbers of arrays.
    """
    writer = ElementWriter(block, faults, contract)
    weak = [t.weak for t in operand_types]
    if primitive in _WITHOUT_LOOP:
        return _emit_without_loop(writer, primitive, operands, weak, result_dtype)
    loop = _loop(primitive, _signature(operand_types))
    assert loop is not None  # else it is not supported
    converted = [
        # As an operand a complex number is true if either part is; a cast takes the real one.
        truth(writer, operand)
        if dtype == BOOLEAN
        else convert(block, faults, operand, dtype, python)
        for operand, dtype, python in zip(operands, loop, weak, strict=False)
    ]
    if primitive is INTEGER_POWER:
        result = _integer_power(writer, converted[0], params["exponent"])
    elif primitive is POWER_LOG:
        result = power_log(writer, converted[0], converted[2], **params)
    else:
        rule = _rule(primitive.name, loop)
        assert rule is not None
        result = rule.emit(writer, *converted)
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
    elif primitive.ufunc is None:
        return None
    else:
        ufunc = resolve(primitive.ufunc)
    dtypes: tuple[np.dtype[Any], ...] = ufunc.resolve_dtypes((*given, *[None] * ufunc.nout))
    return dtypes


def _rule(name: str, loop: tuple[np.dtype[Any], ...]) -> Rule | None:
    kinds = "".join(dtype.kind for dtype in loop[:-1])
    rule = RULES.get((name, kinds[0] if len(set(kinds)) == 1 else kinds))
    if rule is None and set(kinds) == {"f"}:
        formula = written(name)
        return None if formula is None else formula.rule
    return rule


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
}


def cost(name: str) -> float:
    """About how many additions one instance takes as long as."""
    formula = written(name)
    if formula is not None:
        return sum(_COSTS.get(function, 1.0) for function in formula.names)
    return _COSTS.get(name, 1.0)
