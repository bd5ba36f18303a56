"""Elementary functions of real numbers, and those special ones that are short formulas of them."""

from __future__ import annotations

import math
from typing import Final

from adjoint.executors.native.elements.formulas import FormulaNumber
from adjoint.executors.native.elements.rules import companions, rule
from adjoint.executors.native.elements.writer import DOUBLE, SINGLE, ElementWriter
from adjoint.executors.native.functions import elementary, power
from adjoint.executors.native.machine.llvm import machine
from adjoint.executors.native.machine.module import FUNCTION_ATTRIBUTES, Block, Value, scalar_type
from adjoint.primitives.elementwise.accuracy.slopes import SECH_SQUARED


def call(writer: ElementWriter, name: str, *operands: Value) -> Value:
    """An elementary function of real numbers, by its NumPy name."""
    result, fault = elementary.call(writer.block, name, list(operands))
    if fault is not None:
        writer.faults.append((fault, result.lanes))
    return result


def call_library(writer: ElementWriter, name: str, *operands: Value) -> Value:
    """A function of the C library, number by number."""
    kind = scalar_type(operands[0].dtype)
    symbol = name + ("f" if operands[0].dtype == SINGLE else "")
    listing = ", ".join([kind] * len(operands))
    declaration = f"declare {kind} @{symbol}({listing}) {FUNCTION_ATTRIBUTES}"
    writer.block.module.declare(symbol, declaration)

    def one(*numbers: str) -> str:
        arguments = ", ".join(f"{kind} {number}" for number in numbers)
        return writer.block.op(f"call {kind} @{symbol}({arguments})")

    return writer.by_lane(one, *operands)


def _enter(name: str, exact: bool = False) -> None:
    @rule(name, "f", exact)
    def emit(writer: ElementWriter, *operands: Value) -> Value:
        return call(writer, name, *operands)


_ELEMENTARY: Final = (
    ("exp", "exp2", "expm1", "log", "log2", "log10", "log1p"),
    ("sin", "cos", "tan", "arcsin", "arccos", "arctan", "arctan2"),
    ("sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh"),
    ("cbrt",),
)
for _name in (name for family in _ELEMENTARY for name in family):
    _enter(_name)


@companions("sin", "cos")
def _sine_and_cosine(writer: ElementWriter, x: Value) -> dict[str, Value] | None:
    both = elementary.sine_and_cosine(writer.block, x)
    return None if both is None else dict(zip(("sin", "cos"), both, strict=True))


@rule("sech_squared", "f", exact=False)
def _sech_squared(writer: ElementWriter, x: Value) -> Value:
    slope = elementary.written(writer.block, "sech_squared", x)
    return SECH_SQUARED.rule(FormulaNumber(writer, x, [])).value if slope is None else slope


@rule("power", "f", exact=False)
def _power(writer: ElementWriter, x: Value, y: Value) -> Value:
    # Of this power NumPy warns, and the C library does not.
    infinite = writer.equal_number(y, -math.inf)
    writer.fault(writer.both(infinite, writer.equal_number(x, 0)))
    lanes = max(x.lanes, y.lanes)
    if not power.is_written(machine(), x.dtype, lanes):
        return call(writer, "power", x, y)
    one, other = (writer.block.splat(value, lanes) for value in (x, y))
    return power.call(writer.block, one, other, machine(), _library_power)


def _library_power(block: Block, x: Value, y: Value) -> Value:
    result, fault = elementary.call(block, "power", [x, y])
    assert fault is None
    return result


def power_log(writer: ElementWriter, x: Value, power: Value, degree: int, flat: bool) -> Value:
    """The power of x times log(x)^degree, and 0 where the power is."""
    nothing = writer.equal_number(power, 0)
    if flat:
        start = writer.both(writer.equal_number(x, 0), writer.equal_number(power, 1))
        nothing = writer.either(nothing, start)
    if not degree:
        return power
    logarithm = call(writer, "log", writer.select(nothing, writer.constant(1, x), x))
    product = power
    for _ in range(degree):
        product = writer.multiply(product, logarithm)
    return writer.select(nothing, writer.constant(0, x), product)


@rule("hypot", "f", exact=False)
def hypotenuse(writer: ElementWriter, x: Value, y: Value) -> Value:
    """The root of x^2 + y^2, which overflows only where it must."""
    if x.dtype == DOUBLE:
        return call(writer, "hypot", x, y)
    # The squares of single numbers neither overflow nor vanish as doubles.
    first, second = (writer.change("fpext", part, DOUBLE) for part in (x, y))
    squares = writer.add(writer.multiply(first, first), writer.multiply(second, second))
    root = writer.change("fptrunc", writer.intrinsic("sqrt", squares), SINGLE)
    infinity = writer.constant(math.inf, x)
    infinite = [writer.equal_number(writer.absolute(part), math.inf) for part in (x, y)]
    return writer.select(writer.either(*infinite), infinity, root)  # also beside NaN


@rule("sqrt", "f")
def _sqrt(writer: ElementWriter, x: Value) -> Value:
    return writer.mindful("sqrt", x)


# --- the logarithm of a sum of exponentials ------------------------------------------------------


def _log_of_sum(writer: ElementWriter, x: Value, y: Value, power: str, scale: float) -> Value:
    larger = writer.select(writer.compare("uge", x, y), x, y)
    writer.fault(writer.compare("uno", x, y))  # NumPy warns of NaN here
    # Equal infinities would differ by NaN, of which it does not warn.
    same = writer.compare("oeq", x, y)
    zero = writer.constant(0, x)
    first, second = writer.select(same, zero, x), writer.select(same, zero, y)
    gap = writer.negative(writer.absolute(writer.mindful("fsub", first, second)))
    rest = call(writer, "log1p", call(writer, power, gap))
    if scale != 1:
        rest = writer.multiply(rest, writer.constant(scale, rest))
    return writer.add(larger, rest)


@rule("logaddexp", "f", exact=False)
def _logaddexp(writer: ElementWriter, x: Value, y: Value) -> Value:
    return _log_of_sum(writer, x, y, "exp", 1)


@rule("logaddexp2", "f", exact=False)
def _logaddexp2(writer: ElementWriter, x: Value, y: Value) -> Value:
    return _log_of_sum(writer, x, y, "exp2", 1 / math.log(2))


# --- functions of scipy.special, which warns of nothing -------------------------------------------


def _exp_of_minus_size(writer: ElementWriter, x: Value) -> Value:
    """exp(-|x|), which never overflows."""
    return call(writer, "exp", writer.negative(writer.absolute(x)))


@rule("expit", "f", exact=False)
def _expit(writer: ElementWriter, x: Value) -> Value:
    one, small = writer.constant(1, x), _exp_of_minus_size(writer, x)
    above = writer.select(writer.sign_bit(x), small, one)
    return writer.divide(above, writer.add(one, small))


@rule("log_expit", "f", exact=False)
def _log_expit(writer: ElementWriter, x: Value) -> Value:
    rest = call(writer, "log1p", _exp_of_minus_size(writer, x))
    below = writer.subtract(x, rest)
    return writer.select(writer.sign_bit(x), below, writer.negative(rest))


@rule("logit", "f", exact=False)
def _logit(writer: ElementWriter, x: Value) -> Value:
    one, half = writer.constant(1, x), writer.constant(0.5, x)
    rest = writer.subtract(one, x)
    far = call(writer, "log", writer.divide(x, rest))
    # Near 1/2 the logarithm is of a number near 1, whose difference from it has all its digits.
    middle = writer.both(
        writer.compare("oge", x, writer.constant(0.3, x)),
        writer.compare("ole", x, writer.constant(0.65, x)),
    )
    inner = writer.select(middle, x, half)
    twice = writer.subtract(writer.add(inner, inner), one)
    near = call(writer, "log1p", writer.divide(twice, writer.subtract(one, inner)))
    return writer.select(middle, near, far)


@rule("exprel", "f", exact=False)
def _exprel(writer: ElementWriter, x: Value) -> Value:
    one = writer.constant(1, x)
    epsilon = 2.0**-52 if x.dtype == DOUBLE else 2.0**-23
    tiny = writer.compare("olt", writer.absolute(x), writer.constant(epsilon, x))
    quotient = writer.divide(call(writer, "expm1", x), writer.select(tiny, one, x))
    return writer.select(tiny, one, quotient)


def _times_logarithm(name: str, harmless: float) -> None:
    @rule(f"x{'logy' if name == 'log' else 'log1py'}", "f", exact=False)
    def emit(writer: ElementWriter, x: Value, y: Value) -> Value:
        # Zero times anything but NaN is zero.
        flat = writer.both(writer.equal_number(x, 0), writer.compare("ord", y, y))
        safe = writer.select(flat, writer.constant(harmless, y), y)
        product = writer.multiply(x, call(writer, name, safe))
        return writer.select(flat, writer.constant(0, x), product)


_times_logarithm("log", 1)
_times_logarithm("log1p", 0)


@rule("entr", "f", exact=False)
def _entr(writer: ElementWriter, x: Value) -> Value:
    zero = writer.constant(0, x)
    positive = writer.compare("ogt", x, zero)
    safe = writer.select(positive, x, writer.constant(1, x))
    inside = writer.multiply(writer.negative(x), call(writer, "log", safe))
    at_zero = writer.select(writer.equal_number(x, 0), zero, writer.constant(-math.inf, x))
    outside = writer.select(writer.is_nan(x), x, at_zero)
    return writer.select(positive, inside, outside)


def _positive_pair(writer: ElementWriter, x: Value, y: Value) -> tuple[Value, Value, Value, Value]:
    """Where both are positive; there x, y and x / y, and 1 elsewhere."""
    zero, one = writer.constant(0, x), writer.constant(1, x)
    inside = writer.both(writer.compare("ogt", x, zero), writer.compare("ogt", y, zero))
    x, y = writer.select(inside, x, one), writer.select(inside, y, one)
    return inside, x, y, writer.divide(x, y)


def _outside_pair(writer: ElementWriter, x: Value, y: Value, at_zero: Value) -> Value:
    """What holds unless both are positive: at x = 0 <= y a value, else infinity, or NaN."""
    zero = writer.constant(0, x)
    edge = writer.both(writer.equal_number(x, 0), writer.compare("oge", y, zero))
    outside = writer.select(edge, at_zero, writer.constant(math.inf, x))
    return writer.select(writer.compare("uno", x, y), writer.constant(math.nan, x), outside)


def _through_double(writer: ElementWriter, x: Value) -> Value:
    return x if x.dtype == DOUBLE else writer.change("fpext", x, DOUBLE)


@rule("rel_entr", "f", exact=False)
def _rel_entr(writer: ElementWriter, first: Value, second: Value) -> Value:
    x, y = _through_double(writer, first), _through_double(writer, second)
    inside, p, q, ratio = _positive_pair(writer, x, y)
    # SciPy takes another way where the quotient leaves the range of doubles.
    size = writer.constant(2.0**1020, x)
    small = writer.constant(2.0**-1020, x)
    writer.fault(
        writer.either(writer.compare("ogt", ratio, size), writer.compare("olt", ratio, small))
    )
    one = writer.constant(1, x)
    near = writer.both(
        writer.compare("ogt", ratio, writer.constant(0.5, x)),
        writer.compare("olt", ratio, writer.constant(2, x)),
    )
    far = call(writer, "log", writer.select(near, one, ratio))
    gap = writer.divide(writer.subtract(p, q), q)
    close = call(writer, "log1p", writer.select(near, gap, writer.constant(0, x)))
    entropy = writer.multiply(p, writer.select(near, close, far))
    outside = _outside_pair(writer, x, y, writer.constant(0, x))
    entropy = writer.select(inside, entropy, outside)
    return entropy if first.dtype == DOUBLE else writer.change("fptrunc", entropy, SINGLE)


@rule("kl_div", "f", exact=False)
def _kl_div(writer: ElementWriter, first: Value, second: Value) -> Value:
    x, y = _through_double(writer, first), _through_double(writer, second)
    inside, p, q, ratio = _positive_pair(writer, x, y)
    product = writer.multiply(p, call(writer, "log", ratio))
    divergence = writer.add(writer.subtract(product, p), q)
    divergence = writer.select(inside, divergence, _outside_pair(writer, x, y, y))
    return divergence if first.dtype == DOUBLE else writer.change("fptrunc", divergence, SINGLE)


@rule("huber", "f", exact=False)
def _huber(writer: ElementWriter, delta: Value, r: Value) -> Value:
    size, half = writer.absolute(r), writer.constant(0.5, r)
    square = writer.multiply(writer.multiply(half, r), r)
    line = writer.multiply(delta, writer.subtract(size, writer.multiply(half, delta)))
    loss = writer.select(writer.compare("ole", size, delta), square, line)
    negative = writer.compare("olt", delta, writer.constant(0, delta))
    return writer.select(negative, writer.constant(math.inf, r), loss)


def _enter_error_function(name: str) -> None:
    @rule(name, "f", exact=False)
    def emit(writer: ElementWriter, x: Value) -> Value:
        return call_library(writer, name, x)


_enter_error_function("erf")
_enter_error_function("erfc")


@rule("ndtr", "f", exact=False)
def _ndtr(writer: ElementWriter, x: Value) -> Value:
    # As doubles: far out, the rounding of the argument is multiplied by its square.
    wide = _through_double(writer, x)
    turned = writer.multiply(wide, writer.constant(-math.sqrt(0.5), wide))
    probability = writer.multiply(writer.constant(0.5, wide), call_library(writer, "erfc", turned))
    return probability if x.dtype == DOUBLE else writer.change("fptrunc", probability, SINGLE)
