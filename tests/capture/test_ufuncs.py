"""Every ufunc that is understood: values to the dtype for all kinds of numbers, and derivatives."""

from __future__ import annotations

import cmath
import math
from typing import Any

import numpy as np
import pytest
from scipy import special

import adjoint as ad
from adjoint.capture.numpy.operations.ufuncs import COMPOSED
from adjoint.primitives import UFUNCS
from adjoint.primitives.special.declaring import SPECIAL
from tests.capture.comparing import captured_value, is_inexact, leaves, same_derivative, same_values

SPECIALS = [  # those of one or two arguments with derivatives in all; others in tests/scipy
    u
    for name in sorted(SPECIAL)
    if isinstance(u := getattr(special, name, None), np.ufunc)
    and (u.nin <= 2, u.nout, SPECIAL[name].samples[0].constant) == (True, 1, ())
]
ALL = sorted({*UFUNCS, *COMPOSED}, key=lambda ufunc: ufunc.__name__)
NUMPYS = [ufunc for ufunc in ALL if getattr(np, ufunc.__name__, None) is ufunc]

RNG = np.random.default_rng(5)
LOW = np.array([0.15, 0.3, 0.55, 0.8])
OPERANDS: dict[str, list[Any]] = {
    "float": [LOW, LOW[::-1] + 0.05],
    "single": [LOW.astype(np.float32), LOW[::-1].astype(np.float32)],
    "above one": [LOW + 1.5, LOW + 1.1],
    "negative": [-LOW, LOW],
    "complex": [LOW + 0.2j, 0.33 - LOW * 1j],
    "integer": [np.array([1, 2, 3, 4]), np.array([3, 2, 1, 2])],
    "small integer": [np.array([1, 2, 3], np.int8), np.array([3, 2, 1], np.int8)],
    "boolean": [np.array([True, False]), np.array([True, True])],
    "scalar": [0.4, 0.3],
    "NumPy scalar": [np.float32(0.4), np.float64(0.3)],
    "mixed": [LOW, np.float32(0.5)],
    "weak": [LOW.astype(np.float32), 0.5],
    "shapes": [LOW[:, None], LOW],
    "integer and float": [np.array([1, 2]), np.array([0.5, 0.25])],
    "empty": [np.zeros((0, 2)), np.ones(2)],
}
MATRICES = {np.matmul, np.vecdot, np.matvec, np.vecmat}


def outcome(function: Any, *args: Any) -> Any:
    with np.errstate(all="ignore"):
        try:
            return function(*args)
        except (TypeError, ValueError) as error:
            return error


@pytest.mark.parametrize("kind", OPERANDS)
@pytest.mark.parametrize(
    "ufunc", [u for u in NUMPYS if u not in MATRICES], ids=lambda u: u.__name__
)
def test_numpys(ufunc: Any, kind: str) -> None:
    args = OPERANDS[kind][: ufunc.nin]
    expected = outcome(ufunc, *args)
    found = outcome(lambda: captured_value(lambda *a: ufunc(*a), *args))
    if isinstance(expected, Exception):
        assert isinstance(found, TypeError), found
        return
    if isinstance(found, ad.errors.AdjointError):
        assert kind == "complex", found
        return
    same_values(found, expected)
    inexact = all(map(is_inexact, leaves(expected))) and any(map(is_inexact, args))
    if (
        inexact
        and kind in ("float", "above one", "complex", "mixed", "scalar", "shapes")
        and smooth(ufunc)
    ):
        if not all(np.isfinite(each).all() for each in leaves(expected)):
            return
        double = tuple(np.asarray(arg, np.result_type(arg, np.float64))[()] for arg in args)
        same_derivative(lambda *a: ufunc(*a), double)


def smooth(ufunc: Any) -> bool:
    steps = (
        "floor_divide remainder fmod divmod modf rint floor ceil trunc sign heaviside signbit "
        "copysign"
    )
    return ufunc.__name__ not in steps.split()


@pytest.mark.parametrize("ufunc", SPECIALS, ids=lambda ufunc: ufunc.__name__)
@pytest.mark.parametrize("kind", ["float", "single", "scalar", "integer", "empty"])
def test_scipys(ufunc: Any, kind: str) -> None:
    args = OPERANDS[kind][: getattr(ufunc, "nin", 2)]
    with np.errstate(all="ignore"):
        expected = outcome(ufunc, *args)
        if isinstance(expected, Exception):
            return
        same_values(captured_value(lambda *a: ufunc(*a), *args), expected, 1e-10)
        if kind == "float" and np.isfinite(expected).all():
            same_derivative(lambda *a: ufunc(*a), tuple(args))


def test_products_that_are_ufuncs() -> None:
    a, b = RNG.normal(size=(2, 3, 4)), RNG.normal(size=(2, 4))
    for function in (
        lambda a, b: np.matvec(a, b),
        lambda a, b: np.vecmat(a[..., 0], a),
        lambda a, b: np.vecdot(a, b[:, None]),
        lambda a, b: np.matmul(a, b[..., None]),
    ):
        same_values(captured_value(function, a, b), function(a, b))
        same_derivative(function, (a, b))


OUTS = {
    "np.add(a, b, out=c)": lambda a, b, c: np.add(a, b, out=c),
    "np.multiply(a, b, c)": lambda a, b, c: np.multiply(a, b, c),
    "np.sin(a, out=c)": lambda a, b, c: np.sin(a, out=c),
    "np.add(a, b, out=a)": lambda a, b, c: np.add(a, b, out=a),
    "np.add(c, 1, out=c)": lambda a, b, c: np.add(c, 1, out=c),
    "np.add(a, b, out=(c,))": lambda a, b, c: np.add(a, b, out=(c,)),
    "np.add(a, b, out=c[::-1])": lambda a, b, c: np.add(a, b, out=c[::-1]),
    "np.add(a, b, dtype=float)": lambda a, b, c: np.add(a, b, dtype=float),
    "np.exp(a, dtype=np.float32)": lambda a, b, c: np.exp(a, dtype=np.float32),
}


@pytest.mark.parametrize("name", OUTS)
def test_out(name: str) -> None:
    call = OUTS[name]

    def function(x: Any) -> Any:
        a, b, c = x * 2, np.array([1.0, 2, 3]), np.zeros(3)
        result = call(a, b, c)
        return a, b, c, result

    x = np.array([0.1, 0.2, 0.3])
    same_values(captured_value(function, x), function(x), 1e-6)


# --- math -----------------------------------------------------------------------------------------

MATH = [name for name in dir(math) if callable(getattr(math, name)) and not name.startswith("_")]
INTEGERS = ["comb", "factorial", "gcd", "isqrt", "lcm", "perm"]
UNDERSTOOD = [
    "sin",
    "cos",
    "tan",
    "sinh",
    "cosh",
    "tanh",
    "exp",
    "expm1",
    "exp2",
    "log2",
    "log10",
    "log1p",
    "sqrt",
    "cbrt",
    "fabs",
    "asin",
    "acos",
    "atan",
    "asinh",
    "atanh",
    "log",
    "erf",
    "erfc",
    "gamma",
    "lgamma",
    "degrees",
    "radians",
    "isnan",
    "isinf",
    "isfinite",
    "floor",
    "ceil",
    "trunc",
]
TWO = ["copysign", "fmod", "atan2", "pow", "hypot", "log", "dist"]


@pytest.mark.parametrize("name", UNDERSTOOD)
def test_math(name: str) -> None:
    def function(x: Any) -> Any:
        return getattr(math, name)(x) * 1.0

    value = captured_value(function, 0.3)
    assert np.asarray(value) == pytest.approx(function(0.3), rel=1e-14)
    if name not in ("isnan", "isinf", "isfinite", "floor", "ceil", "trunc"):
        same_derivative(function, (0.3,))


@pytest.mark.parametrize("name", TWO)
def test_math_of_two(name: str) -> None:
    def function(x: Any, y: Any) -> Any:
        if name == "dist":
            return math.dist([x, y], [0.0, y * y])
        return getattr(math, name)(x, y)

    assert captured_value(function, 0.7, 0.4) == pytest.approx(function(0.7, 0.4))
    same_derivative(function, (0.7, 0.4))


def test_more_of_math() -> None:
    def function(x: Any) -> Any:
        total = (
            math.fsum([x, x * x, 1.0]) + math.hypot(x, 1.0, 2.0) + math.acosh(1 + x) + math.pi * x
        )
        total += math.prod([x, 2.0, x]) + math.sqrt(sum(t for t in [x, 1.0]))
        if math.isclose(x, 0.3):
            total += x
        return total + math.factorial(3) * x + math.floor(x * 10) + math.ldexp(1.0, 2) * x

    assert captured_value(function, 0.3) == pytest.approx(function(0.3))
    same_derivative(lambda x: function(x * 1.001), (0.4,))


@pytest.mark.parametrize(
    "name", ["nextafter", "frexp", "modf", "remainder", "ulp", "fma", "sumprod"]
)
def test_the_rest_of_math_is_right_or_refused(name: str) -> None:
    original = getattr(math, name, None)
    if original is None:
        pytest.skip("not in this Python")
    count = {"nextafter": 2, "remainder": 2, "fma": 3}.get(name, 1)

    def function(x: Any) -> Any:
        if name == "sumprod":
            return original([x], [2.0])
        result = getattr(math, name)(*[x] * count)
        return result[0] if isinstance(result, tuple) else result

    try:
        same_derivative(function, (0.7,))
    except ad.errors.AdjointError as error:
        assert "float" in str(error)  # noqa: PT017


def test_cmath_is_understood() -> None:
    assert ad.grad(lambda x: cmath.exp(1j * x).real)(0.3) == pytest.approx(-math.sin(0.3))
