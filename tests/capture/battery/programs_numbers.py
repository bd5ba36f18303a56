"""Numbers of Python: what they do, raise and look like."""

from __future__ import annotations

import cmath
import decimal
import fractions
import math
import operator

import numpy as np

from tests.capture.battery.registry import program


@program(-0.7, smooth=0)
def negative_to_a_fraction_is_complex(x):
    return (x**0.5).imag


@program(np.float64(-0.7), smooth=0)
def negative_scalar_to_a_fraction_is_nan(x):
    return np.nan_to_num(x**0.5) + x


@program(-0.7)
def negative_to_a_whole_number(x):
    return x**3 + x**-2 + (-x) ** 0.5


@program(-0.7)
def pow_of_math_raises(x):
    try:
        return math.pow(x, 0.5)
    except ValueError:
        return x * 3


@program(0.0, smooth=0)
def zero_to_a_negative_power_raises(x):
    try:
        return x**-1
    except ZeroDivisionError:
        return x + 3.0


@program(1e200)
def overflow_of_a_product_is_infinity(x):
    return 2.0 if math.isinf(x * x) else x


@program(1e200, smooth=0)
def overflow_of_a_power_raises(x):
    try:
        return x**2
    except OverflowError:
        return x * 1e-200


@program(800.0)
def overflow_of_exp_raises(x):
    try:
        return math.exp(x)
    except OverflowError:
        return x / 100


@program(800.0)
def overflow_of_cosh_raises(x):
    return math.cosh(x)


@program(-0.7)
def root_of_a_negative_number_raises(x):
    try:
        return math.sqrt(x)
    except ValueError as error:
        return x * len(type(error).__name__)


@program(0.0, smooth=0)
def logarithm_of_zero_raises(x):
    try:
        return math.log(x)
    except ValueError:
        return x + 7.0


@program(1.5)
def arc_sine_outside_raises(x):
    try:
        return math.asin(x)
    except ValueError:
        return x * x


@program(0.0)
def floor_division_by_zero_raises(x):
    return 1.0 // x


@program(0.0, smooth=0)
def remainder_by_zero_raises(x):
    try:
        return 5.0 % x
    except ZeroDivisionError:
        return x + 2.0


@program(0.0, smooth=0)
def fmod_by_zero_raises(x):
    try:
        return math.fmod(1.0, x)
    except ValueError:
        return x + 2.0


@program(7.3)
def divmod_of_floats(x):
    quotient, rest = divmod(x, 2.0)
    return quotient * rest


@program(-7.3)
def divmod_of_negative_floats(x):
    quotient, rest = divmod(x, 2.0)
    return quotient * rest + math.fmod(x, 2.0)


@program(2.675, smooth=0)
def rounding_to_places(x):
    return round(x, 2) * 10 + round(x) + round(x, -1)


@program(2.5)
def rounding_to_even(x):
    return x * 0.0 + round(2.5) + round(3.5) + len(str(round(x + 0.1)))


@program(2.7)
def round_gives_a_whole_number(x):
    return x * (2 if isinstance(round(x), int) else 3)


@program(np.float64(2.7))
def round_of_a_scalar_gives_a_whole_number(x):
    return x * (2 if type(round(x)) is int else 3)


@program(np.float64(2.7))
def round_of_a_scalar_to_places(x):
    return x * (2 if type(round(x, 1)) is np.float64 else 3)


@program(2.7)
def truncation_floor_and_ceiling(x):
    return x * (int(x) + 10 * math.floor(x) + 100 * math.ceil(-x) + 1000 * math.trunc(-x))


@program(2.0, smooth=0)
def is_integer(x):
    return x * (2 if x.is_integer() else 3)


@program(0.75, smooth=0)
def as_integer_ratio(x):
    top, bottom = x.as_integer_ratio()
    return x * top / bottom


@program(0.75, smooth=0)
def hexadecimal(x):
    return x * len(x.hex()) + float.fromhex("0x1.8p-1")


@program(0.75, smooth=0)
def fraction_of_a_float(x):
    return x * fractions.Fraction(x).denominator


@program(0.75, smooth=0)
def decimal_of_a_float(x):
    return x * float(decimal.Decimal(x) + 1)


@program(0.75)
def conjugate_real_and_imag(x):
    return x.conjugate() * x.real + x.imag


@program(0.7)
def complex_of_a_float(x):
    z = complex(x, 2 * x)
    return abs(z) * z.real


@program(0.7)
def cmath_functions(x):
    return cmath.exp(1j * x).imag + abs(cmath.sqrt(-x)) + cmath.phase(complex(1, x))


@program(0.7)
def polar_form(x):
    radius, angle = cmath.polar(complex(x, 1.0))
    return radius * angle


@program(0.7 + 0.2j)
def complex_power(x):
    return (x**2.5 * np.conj(x)).real


@program(0.7)
def sums_of_math(x):
    return math.fsum([x, 0.1, x**2]) + math.prod([x, 2.0, x]) + math.hypot(x, 1.0, 2.0)


@program(0.7)
def distance_of_points(x):
    return math.dist((x, 1.0), (0.0, x**2))


@program(0.7)
def isclose_of_math(x):
    return x * (2 if math.isclose(x, 0.7, rel_tol=0.1) else 3)


@program(0.7)
def frexp_and_ldexp(x):
    mantissa, exponent = math.frexp(x * 10)
    return mantissa * 2.0 + math.ldexp(x, exponent)


@program(2.7)
def modf_of_math(x):
    part, whole = math.modf(x)
    return part * whole


@program(0.7)
def copysign_of_math(x):
    return math.copysign(x, -1.0) * math.copysign(2.0, x)


@program(0.7)
def angles_of_math(x):
    return math.degrees(x) * 0.01 + math.radians(100 * x) + math.atan2(x, 0.3)


@program(0.7)
def gamma_and_erf_of_math(x):
    return math.gamma(x + 1) + math.lgamma(x + 3) + math.erf(x) * math.erfc(x)


@program(0.7)
def expm1_and_log1p_of_math(x):
    return math.expm1(x) + math.log1p(x) + math.log2(x) + math.log10(x) + math.log(x, 3)


@program(0.7)
def cube_root_and_exp2_of_math(x):
    return math.cbrt(x) + math.exp2(x)


@program(0.7)
def remainder_of_math(x):
    return math.remainder(x * 10, 3.0)


@program(0.7)
def float_of_text_is_constant(x):
    return float("2.5") * x + float("inf" if x > 9 else "1")


@program(0.7)
def integer_arithmetic_beside(x):
    n = 10**20
    return x * (n // 10**19) + (n % 7) * x**2


@program(0.7)
def very_large_whole_numbers(x):
    return x * (2**70) / 2**69


@program(0.7, smooth=0)
def too_large_a_whole_number_raises(x):
    try:
        return x * 10**400
    except OverflowError:
        return x * 3


@program(0.7)
def booleans_are_numbers(x):
    return x * (True + True) + (x > 0.5) * x + sum([x > 0, x > 1, x < 2]) * x


@program(0.6)
def comparison_chains(x):
    return x * 2 if 0 < x <= 0.7 < 1 else x * 3


@program(0.7)
def boolean_operators_give_operands(x):
    return (x and 2 * x) + (0.0 or x**2) + (not x) * 5


@program(0.0, smooth=0)
def falsy_zero(x):
    return (x or 5.0) * 2


@program(0.8)
def conditional_expression(x):
    return x**2 if x >= 0.7 else x**3


@program(0.7)
def smallest_and_largest(x):
    return min(x, 0.9, x**2) + max([x, 0.1]) + min((), default=x)


@program(np.array([0.7, -1.3, 2.1]))
def largest_by_key(x):
    return max(x, key=abs) * 2 + min(x, key=lambda v: (v - 1) ** 2)


@program(0.7)
def sum_with_a_start(x):
    return sum([x, x**2], start=x**3) + sum((), x)


@program(0.7)
def unary_operators(x):
    return +x + -x * 2 + abs(-x) ** 2


@program(0.7)
def invert_of_a_float_raises(x):
    try:
        return ~x
    except TypeError:
        return x * 3


@program(0.7)
def shifting_a_float_raises(x):
    return x << 2


@program(0.7)
def float_as_an_index_raises(x):
    return [1.0, 2.0][x]


@program(0.7)
def range_of_a_float_raises(x):
    try:
        return sum(range(x))
    except TypeError:
        return x * 4


@program(3.0, smooth=0)
def index_of_operator_raises(x):
    try:
        return operator.index(x) * x
    except TypeError:
        return x * 4


@program(0.7)
def adding_a_word_raises(x):
    try:
        return x + "a"
    except TypeError:
        return x * 4


@program(0.7)
def calling_a_float_raises(x):
    try:
        return x(2)
    except TypeError:
        return x * 4


@program(0.7)
def attribute_of_a_float_raises(x):
    try:
        return x.shape
    except AttributeError:
        return x * 4


@program(0.7)
def setting_an_attribute_raises(x):
    try:
        x.tag = 1
    except AttributeError:
        return x * 4
    return x


@program(0.7)
def membership_in_a_float_raises(x):
    try:
        return 1 in x
    except TypeError:
        return x * 4


@program(0.7)
def augmented_assignments(x):
    y = x
    y += 1
    y *= x
    y -= 0.5
    y /= 2
    y **= 2
    return y + x


@program(7.3)
def augmented_floor_division(x):
    y = x
    y //= 2
    z = x
    z %= 2
    return y * z


@program(0.7)
def nan_is_not_itself(x):
    y = x * float("nan")
    return x * (2 if y != y else 3)


@program(0.7)
def numbers_of_three_kinds(x):
    return x * 2 + np.float64(3) * x + np.int64(4) * x + fractions.Fraction(1, 2) * x


@program(np.float64(0.7))
def fraction_times_a_scalar(x):
    return fractions.Fraction(1, 2) * x + x * fractions.Fraction(1, 3)


@program(0.7)
def decimal_times_a_float_raises(x):
    try:
        return decimal.Decimal(2) * x
    except TypeError:
        return x * 5


@program(0.7)
def float_info(x):
    import sys

    step = sys.float_info.epsilon ** (1 / 3)
    return (math.sin(x + step) - math.sin(x - step)) / (2 * step) if step < 1e-9 else x**2


@program(0.7)
def matmul_of_floats_raises(x):
    try:
        return x @ x
    except TypeError:
        return x * 5


@program(np.float64(0.7))
def scalar_methods(x):
    return x.sum() + x.mean() + x.max() + x.clip(0, 0.5) + x.round(1) * 0 + x.cumsum()[0]


@program(np.float64(0.7))
def scalar_reshaped(x):
    return (x.reshape(1, 1) * np.ones((2, 2))).sum() + x.flatten()[0] + x.T


@program(0.7)
def newton_by_hand_on_floats(x):
    y = 1.0
    for _ in range(20):
        y = y - (y * y - x) / (2 * y)
    return y
