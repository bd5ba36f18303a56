"""Elementary functions in machine code: accurate, with special values and flags as NumPy's."""

from collections.abc import Sequence
from typing import Any

import mpmath
import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import NativeUnavailableError
from adjoint.executors.native.functions.elementary import FUNCTIONS, call, vector_functions
from adjoint.executors.native.machine.llvm import Machine, machine
from adjoint.executors.native.machine.module import Block, Module, Value
from tests.executors.native.functions.evaluating import (
    DTYPES,
    HOSTS,
    TWO_OPERANDS,
    Array,
    by_numpy,
    host_of,
    native,
)

pytest.importorskip("llvmlite")

MPMATH = {
    "exp2": lambda x: mpmath.power(2, x),
    "log2": lambda x: mpmath.log(x, 2),
    "cbrt": lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)),
    "arcsin": mpmath.asin,
    "arccos": mpmath.acos,
    "arctan": mpmath.atan,
    "arctan2": mpmath.atan2,
    "arcsinh": mpmath.asinh,
    "arccosh": mpmath.acosh,
    "arctanh": mpmath.atanh,
}
DOMAINS = {
    "log": (1e-3, 1e3),
    "log2": (1e-3, 1e3),
    "log10": (1e-3, 1e3),
    "log1p": (-0.999, 1e3),
    "sqrt": (0.0, 1e3),
    "arcsin": (-1.0, 1.0),
    "arccos": (-1.0, 1.0),
    "arccosh": (1.0, 1e3),
    "arctanh": (-0.999, 0.999),
    "power": (0.01, 30.0),
}
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, np.inf, -np.inf, np.nan, 1e30, -1e30]
SPECIAL += [1e-30, -1e-30, 1e-40, -1e-40, 100.0, -100.0, 1000.0, -1000.0, 1e-310, 1e300, -1e300]


@pytest.fixture(scope="module", params=HOSTS)
def host(request: pytest.FixtureRequest) -> Machine:
    if request.param != "host" and not machine().is_x86:
        pytest.skip("a processor of another kind")
    if request.param == "avx2" and not machine().has("avx2"):
        pytest.skip("this processor lacks AVX2")
    return host_of(request.param)


def ordinary(name: str, dtype: np.dtype[Any], count: int) -> tuple[Array, ...]:
    """Arguments that nothing is wrong with, zeros and ones among them."""
    random = np.random.default_rng(len(name))
    low, high = DOMAINS.get(name, (-30.0, 30.0))
    first = random.uniform(low, high, count)
    for number in (0.0, 1.0):
        if low <= number <= high:
            first[random.random(count) < 0.1] = number
    if name == "arctanh":
        first[abs(first) == 1.0] = 0.25
    if name not in TWO_OPERANDS:
        return (first.astype(dtype),)
    second = random.uniform(-3.0, 3.0, count)
    second[random.random(count) < 0.1] = 0.0
    if name == "power":
        first[random.random(count) < 0.1] = 0.0
        second[first == 0.0] = abs(second[first == 0.0])
    return first.astype(dtype), second.astype(dtype)


def exactly(name: str, operands: Sequence[Array]) -> list[Any]:
    function = MPMATH.get(name) or getattr(mpmath, name)
    with mpmath.workprec(120):
        return [
            mpmath.re(function(*map(mpmath.mpf, map(float, numbers))))
            for numbers in zip(*operands, strict=True)
        ]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_results_are_within_four_units(host: Machine, name: str, dtype: np.dtype[Any]) -> None:
    operands = ordinary(name, dtype, 128)
    found = native(host, name, dtype, host.native_lanes(dtype))(*operands)
    assert not found.flags.any()
    for result, exact in zip(found.results, exactly(name, operands), strict=True):
        unit = float(np.spacing(np.abs(dtype.type(float(exact)))))
        assert abs(mpmath.mpf(float(result)) - exact) <= 4 * unit


@pytest.mark.parametrize("lanes", [0, 1, 2, 4, 8, 16, 32])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", ["sqrt", "tanh", "exp", "arccosh", "power", "hypot", "arctan2"])
def test_any_number_of_lanes(host: Machine, name: str, dtype: np.dtype[Any], lanes: int) -> None:
    operands = ordinary(name, dtype, 256)
    found = native(host, name, dtype, lanes)(*operands)
    expected = getattr(np, name)(*operands)
    np.testing.assert_allclose(found.results, expected, rtol=8 * float(np.finfo(dtype).eps))
    assert not found.flags.any()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_special_values_and_warnings(host: Machine, name: str, dtype: np.dtype[Any]) -> None:
    with np.errstate(all="ignore"):
        numbers = np.array(SPECIAL).astype(dtype)
    operands: tuple[Array, ...] = (numbers,)
    if name in TWO_OPERANDS:
        first, second = np.meshgrid(numbers, numbers)
        operands = (first.ravel(), second.ravel())
    found = native(host, name, dtype, host.native_lanes(dtype)).each(*operands)
    expected = by_numpy(name, *operands)
    np.testing.assert_allclose(found.results, expected.results, rtol=8 * np.finfo(dtype).eps)
    zeros = expected.results == 0
    assert (np.signbit(found.results) == np.signbit(expected.results))[zeros].all()
    # NumPy may warn for infinite exponents, with the vector functions that it has on some machines.
    finite = np.all([np.isfinite(operand) for operand in operands], axis=0)
    assert not np.any((found.flags == 0) & (expected.flags != 0) & finite)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(
    ("name", "numbers"),
    [
        ("exp", [-1e3, -1e5, -1e30, -np.inf, np.nan, 0.0]),
        ("power", [0.0]),
        ("tanh", [1e30, -1e30, 0.0]),
        ("arccosh", [1.0]),
        ("hypot", [0.0]),
        ("arctan2", [0.0, -0.0]),
        ("log", [np.inf, 1.0]),
        ("sin", [1e6, 0.0]),
        ("log1p", [0.0, -0.5]),
        *((name, [np.nan, 0.5]) for name in ("log1p", "arctan", "arcsinh", "arcsin", "sin", "log")),
        ("arccosh", [np.nan, 1.5]),
    ],
)
def test_no_flags_for_ordinary_arguments(
    host: Machine, name: str, numbers: list[float], dtype: np.dtype[Any]
) -> None:
    first = np.array(numbers, dtype)
    second = np.full_like(first, 1.000534680166199) if name == "power" else -first
    operands = (first, second) if name in TWO_OPERANDS else (first,)
    found = native(host, name, dtype, host.native_lanes(dtype)).each(*operands)
    assert not found.flags.any()
    expected = by_numpy(name, *operands).results
    np.testing.assert_allclose(found.results, expected, rtol=8 * np.finfo(dtype).eps)


def test_zero_to_any_power_raises_nothing(host: Machine) -> None:
    for dtype in DTYPES:
        exponents = np.random.default_rng(0).uniform(0, 30, 1 << 14).astype(dtype)
        compiled = native(host, "power", dtype, host.native_lanes(dtype))
        found = compiled(np.zeros_like(exponents), exponents)
        assert not found.flags.any()
        assert (found.results == 0).all()


def test_vector_functions_are_used_where_there_are_any() -> None:
    if not machine().is_x86 or machine().find("_ZGVbN2v_sin") is None:
        pytest.skip("no library of vector functions")
    dtype = np.dtype("f8")
    found = vector_functions(host_of("sse2"), "sin", dtype)
    assert [(variant.symbol, variant.lanes) for variant in found] == [("_ZGVbN2v_sin", 2)]
    assert vector_functions(host_of("plain"), "sin", dtype) == []
    if machine().has("avx512f"):
        widths = [variant.lanes for variant in vector_functions(machine(), "power", dtype)]
        assert widths == [8, 4, 2]


def test_a_call_stays_where_the_branches_led_to_it() -> None:
    text = """
declare double @log(double) nobuiltin nounwind willreturn memory(none)
define double @guarded(double %x) nounwind {
entry:
  %positive = fcmp une double %x, 0.0
  br i1 %positive, label %yes, label %no
yes:
  %y = call double @log(double %x)
  br label %no
no:
  %r = phi double [0.0, %entry], [%y, %yes]
  ret double %r
}
"""
    assert "br i1" in machine().optimised(text)


def test_what_is_no_elementary_function_is_refused() -> None:
    for name, dtype in (("floor", "f8"), ("sin", "c16"), ("sin", "i4"), ("sin", "f2")):
        with pytest.raises(NativeUnavailableError, match=name):
            call(Block(Module()), name, [Value(("%x",), np.dtype(dtype))])


def test_few_numbers_are_vectors_too() -> None:
    """A small program is written out, but for functions of numbers that fill vectors."""
    x = np.linspace(0.1, 1.0, 100)
    code = ad.program(ad.grad(lambda x: np.sum(np.log(x) * x)), x).native()
    assert code.ir().count("call double @log(") < 40
