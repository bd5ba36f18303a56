"""Elementary functions in machine code: accurate, with special values and flags as NumPy's."""

import ctypes
import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import mpmath
import numpy as np
import pytest

from adjoint.base.errors import NativeUnavailableError
from adjoint.executors.native.machine import Code, Machine, machine
from adjoint.executors.native.module import Block, Module, Value, scalar_type, vector_type
from adjoint.executors.native.vector_functions import FUNCTIONS, call, vector_functions

pytest.importorskip("llvmlite")

Array = np.ndarray[Any, np.dtype[Any]]

TWO_OPERANDS = {"arctan2", "hypot", "power"}
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

# Invalid, divide by zero, overflow: as C counts them here.
_ON_X86 = platform.machine().lower() in ("x86_64", "amd64", "i386", "i686")
INVALID, DIVIDE, OVERFLOW = (1, 4, 8) if _ON_X86 else (1, 2, 4)
WATCHED = INVALID | DIVIDE | OVERFLOW

HOSTS: dict[str, Callable[[], Machine]] = {
    "host": machine,
    "avx2": lambda: Machine("x86-64", "+avx,+avx2,+fma"),
    "sse2": lambda: Machine("x86-64", ""),
    "plain": lambda: Machine("x86-64", "", None),
}
DTYPES = [np.dtype("f8"), np.dtype("f4")]


@pytest.fixture(scope="module", params=HOSTS)
def host(request: pytest.FixtureRequest) -> Machine:
    if request.param != "host" and not machine().is_x86:
        pytest.skip("a processor of another kind")
    if request.param == "avx2" and not machine().has("avx2"):
        pytest.skip("this processor lacks AVX2")
    return _host(request.param)


@cache
def _host(name: str) -> Machine:
    return HOSTS[name]()


@dataclass(frozen=True)
class Evaluated:
    """The results of a function and the flags that each vector of them raised."""

    results: Array
    flags: Array


@dataclass(frozen=True)
class Native:
    """A loop over whole vectors, with the flags cleared before each call and read after it."""

    code: Code
    lanes: int

    def __call__(self, *operands: Array) -> Evaluated:
        width = max(self.lanes, 1)
        first, second = operands[0], operands[-1]
        assert first.size % width == 0
        results, flags = np.empty_like(first), np.empty(first.size // width, np.int32)
        pointers = [array.ctypes.data for array in (first, second, results, flags)]
        types = [*[ctypes.c_void_p] * 4, ctypes.c_int64]
        ctypes.CFUNCTYPE(None, *types)(self.code.address("run"))(*pointers, flags.size)
        return Evaluated(results, flags & WATCHED)

    def each(self, *operands: Array) -> Evaluated:
        """One vector for each number, all its lanes the same."""
        width = max(self.lanes, 1)
        found = self(*(np.repeat(operand, width) for operand in operands))
        return Evaluated(found.results[::width], found.flags)


def native(host: Machine, name: str, dtype: np.dtype[Any], lanes: int) -> Native:
    module = Module()
    block = Block(module)
    scalar = scalar_type(dtype)
    wide = vector_type(scalar, lanes)
    for function in ("feclearexcept", "fetestexcept"):
        module.declare(function, f"declare i32 @{function}(i32)")
    block.do("br label %loop")
    block.place("loop")
    block.do("%i = phi i64 [0, %entry], [%next, %loop]")
    at = block.op(f"mul i64 %i, {max(lanes, 1)}")
    block.do(f"call i32 @feclearexcept(i32 {WATCHED})")
    operands = []  # volatile, so that nothing is computed before the flags are cleared
    for pointer in ("%x", "%z")[: 2 if name in TWO_OPERANDS else 1]:
        place = block.op(f"getelementptr {scalar}, ptr {pointer}, i64 {at}")
        loaded = block.op(f"load volatile {wide}, ptr {place}, align {dtype.itemsize}")
        operands.append(Value((loaded,), dtype, lanes))
    result, fault = call(block, name, operands, host)
    assert fault is None
    place = block.op(f"getelementptr {scalar}, ptr %y, i64 {at}")
    block.do(f"store {wide} {result.text}, ptr {place}, align {dtype.itemsize}")
    flags = block.op(f"call i32 @fetestexcept(i32 {WATCHED})")
    place = block.op("getelementptr i32, ptr %flags, i64 %i")
    block.do(f"store i32 {flags}, ptr {place}")
    block.do("%next = add i64 %i, 1")
    block.do("%more = icmp slt i64 %next, %n")
    block.do("br i1 %more, label %loop, label %done")
    block.place("done")
    block.do("ret void")
    header = "define void @run(ptr %x, ptr %z, ptr %y, ptr %flags, i64 %n) nounwind"
    module.functions.append(block.function(header))
    return Native(host.compile(module.text(), verify=True), lanes)


def by_numpy(name: str, *operands: Array) -> Evaluated:
    """NumPy's results, and the flags for which it warns, number by number."""
    raised = [0]

    def note(kind: str, flag: int) -> None:
        raised[0] |= (DIVIDE if flag & 1 else 0) | (OVERFLOW if flag & 2 else 0)
        raised[0] |= INVALID if flag & 8 else 0

    results = np.empty_like(operands[0])
    flags = np.zeros(results.size, np.int32)
    with np.errstate(all="call", under="ignore", call=note):
        for i in range(results.size):
            raised[0] = 0
            parts = [operand[i : i + 1] for operand in operands]
            getattr(np, name)(*parts, out=results[i : i + 1])
            flags[i] = raised[0]
    return Evaluated(results, flags)


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
    found = vector_functions(_host("sse2"), "sin", dtype)
    assert [(variant.symbol, variant.lanes) for variant in found] == [("_ZGVbN2v_sin", 2)]
    assert vector_functions(_host("plain"), "sin", dtype) == []
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
