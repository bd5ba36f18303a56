"""Every elementwise primitive that is compiled, on every dtype, against NumPy's own results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from adjoint.base.arrays import array_type, type_of
from adjoint.base.errors import AdjointError
from adjoint.executors.native import elements
from adjoint.executors.native.machine.llvm import Effort, Machine, machine
from adjoint.executors.native.machine.module import Value
from adjoint.primitives.declaration import PRIMITIVES
from adjoint.primitives.special.declaring import SPECIAL
from adjoint.primitives.typing_rules import resolve
from adjoint.program import Equation, Variable, operation
from tests.executors.native.elements.evaluating import (
    Case,
    combined,
    compiled,
    evaluated,
    module_of,
    run,
)

pytest.importorskip("llvmlite")

CODES = ("?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8", "c8", "c16")
DTYPES = [np.dtype(code) for code in CODES]
MIXED = [
    ("i8", "u8"), ("u8", "i8"), ("i4", "f4"), ("f4", "f8"), ("f8", "c16"), ("?", "f8"),
    ("i1", "u1"), ("c8", "f8"), ("u8", "f4"), ("i4", "u4"), ("?", "i8"),
]  # fmt: skip
WITHOUT_LOOP = ("select", "real", "imag", "stop_gradient", "python_number")
NAMES = sorted({name for name, _ in elements.RULES} | set(WITHOUT_LOOP))
LANES = (0, 4, 8)
EXPONENTS = (-64, -7, -3, -2, -1, 0, 1, 2, 3, 4, 5, 10, 31, 64, 65)
# SciPy warns of nothing: where its functions overflow or divide by zero, NumPy is asked again.
# NumPy converts what does not fit the integer, silently in part.
CAUTIOUS = {*SPECIAL, "cast"}
# The C library's function for the error is more accurate than SciPy's own.
RELATIVE = {"erfc": 1e-13, "ndtr": 1e-12}


def special_values(dtype: np.dtype[Any]) -> Any:
    """Zeros, infinities, NaN, subnormals and the largest and smallest numbers, and some others."""
    generator = np.random.default_rng(0)
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        known = [0, 1, 2, 3, 5, 7, 8, 31, 33, 63, 65, 100, limits.max, limits.max - 1, limits.min]
        if dtype.kind == "i":
            known += [-1, -2, -3, -7, -8, -100, limits.min + 1]
        return np.array(known, dtype)
    if dtype.kind == "c":
        parts = np.dtype(f"f{dtype.itemsize // 2}").type
        odd = [0.0, -0.0, 1.0, -1.5, np.inf, np.nan, np.finfo(parts).tiny]
        values = [complex(x, y) for x in odd for y in odd[:-1]]
        values += list(generator.normal(size=12) + 1j * generator.normal(size=12))
        return np.array(values, dtype)
    limits = np.finfo(dtype)
    known = [0.0, 1.0, 0.5, 1.5, 2.0, 2.5, 3.0, 0.1, 100.25, np.inf, limits.max, limits.tiny]
    known += [limits.smallest_subnormal, limits.eps, 1e6 + 0.5, 30.0]
    known += list(generator.normal(size=5)) + list(10 ** generator.normal(size=3))
    positive = np.array(known, dtype)
    return np.concatenate([positive, -positive, np.array([np.nan], dtype)])


def combinations(*dtypes: np.dtype[Any]) -> list[Any]:
    """Arrays of all combinations of special values, of a length that lanes divide."""
    columns = [special_values(dtype) for dtype in dtypes]
    if len(columns) == 3:
        columns = [columns[0], columns[1][:30], columns[2][:30]]
    grids = [grid.ravel() for grid in np.meshgrid(*columns, indexing="ij")]
    size = -(-grids[0].size // 16) * 16
    return [np.resize(grid, size) for grid in grids]


def signatures(name: str) -> list[tuple[np.dtype[Any], ...]]:
    """The dtypes of operands on which a primitive is tried."""
    if name == "select":
        return [(np.dtype(bool), d, d) for d in DTYPES] + [
            (np.dtype(bool), np.dtype(a), np.dtype(b)) for a, b in MIXED
        ]
    ufunc = PRIMITIVES[name].ufunc
    if (1 if ufunc is None and name != "scale" else _arity(ufunc)) == 1:
        return [(dtype,) for dtype in DTYPES]
    return [(dtype, dtype) for dtype in DTYPES] + [
        (np.dtype(first), np.dtype(second)) for first, second in MIXED
    ]


def _arity(ufunc: Any) -> int:
    return 2 if ufunc is None else int(resolve(ufunc).nin)


def equation_of(name: str, types: Any, **params: Any) -> Equation | None:
    """The equation on these types; None where NumPy or the native executor has none."""
    bound = operation(PRIMITIVES[name], **params)
    try:
        results = bound.infer(tuple(types))
    except (AdjointError, TypeError):
        return None
    equation = Equation(bound, tuple(map(Variable, types)), tuple(map(Variable, results)))
    return equation if elements.supports(equation, False) else None


def expected(case: Case, arrays: list[Any]) -> tuple[Any, Any]:
    """NumPy's results, and where it warns or refuses, entry by entry."""
    evaluate, params = case.equation.primitive.evaluate, case.equation.params
    if case.primitive == "scale":
        evaluate = np.multiply  # as all executors have it, unless a result is NaN
    flagged = np.zeros(arrays[0].size, bool)
    result = np.zeros(arrays[0].size, case.result)
    with np.errstate(divide="raise", over="raise", invalid="raise", under="ignore"):
        for place in range(arrays[0].size):
            try:
                one = evaluate(*(x[place : place + 1] for x in arrays), **params)
                result[place] = np.ravel(one)[0]
            except (FloatingPointError, ValueError, ZeroDivisionError, OverflowError):
                flagged[place] = True
    with np.errstate(all="ignore"):
        try:
            whole = np.asarray(evaluate(*arrays, **params))
        except ValueError:
            return result, flagged
    return np.where(flagged, result, whole), flagged


def scales(case: Case, arrays: list[Any], wanted: Any) -> Any:
    """The sizes on which results are compared: their own, or that of the terms that cancel."""
    if wanted.dtype.kind == "c":
        return np.maximum(np.abs(wanted.real), np.abs(wanted.imag))
    own = np.abs(wanted)
    if case.primitive in ("logaddexp", "logaddexp2", "kl_div"):
        with np.errstate(all="ignore"):
            largest = np.maximum(*(np.abs(x.astype(wanted.dtype)) for x in arrays))
        return np.maximum(np.where(np.isfinite(largest), largest, 1), np.maximum(own, 1))
    if case.primitive in ("expit", "erfc", "ndtr"):  # SciPy's are 0 before they must be
        tiny = np.finfo(wanted.dtype).tiny
        return np.maximum(own, tiny / np.finfo(wanted.dtype).eps)
    return own


def distances(found: Any, wanted: Any, size: Any) -> Any:
    """Units in the last place between results; infinite where anything but rounding differs."""
    if found.dtype.kind in "biu":
        return np.where(found == wanted, 0.0, np.inf)
    if found.dtype.kind == "c":
        return np.maximum(
            distances(found.real, wanted.real, size), distances(found.imag, wanted.imag, size)
        )
    with np.errstate(all="ignore"):
        unit = np.spacing(np.where(np.isfinite(size), size, 1).astype(wanted.dtype))
        steps = np.abs(found - wanted) / unit
    same = (found == wanted) & (np.signbit(found) == np.signbit(wanted))
    same |= np.isnan(found) & np.isnan(wanted)
    steps = np.where(np.isfinite(wanted) & np.isfinite(found), steps, np.inf)
    steps = np.where((found == wanted) & ~same, 0.5, steps)  # the sign of zero
    return np.where(same, 0.0, steps)


def by_rule(case: Case) -> bool:
    """Whether instructions were written, and not a call of NumPy's own function."""
    return elements.has_rule(case.equation, False)


def tolerance(case: Case) -> float:
    """How many units in the last place a result may differ from NumPy's."""
    if not by_rule(case) or elements.has_rule(case.equation, True):
        # Which of equal zeros fmax takes is not the same everywhere in an array of NumPy's.
        return 0.5 if case.primitive in ("fmax", "fmin", "maximum", "minimum") else 0
    if case.primitive in RELATIVE:
        return max(4.0, RELATIVE[case.primitive] / float(np.finfo(case.result).eps))
    return 4


def extreme(arrays: list[Any], wanted: Any) -> Any:
    """Where an operand or the result is NaN, infinite, or next to the ends of its range."""
    found = np.zeros(wanted.shape, bool)
    for array in (*arrays, wanted):
        if array.dtype.kind in "fc":
            part = np.finfo(array.dtype)
            with np.errstate(all="ignore"):
                size = np.maximum(np.abs(array.real), np.abs(array.imag))
                found |= ~(size < part.max * 1e-6) | ((size != 0) & (size < part.tiny * 1e6))
    return found


def cases_of(name: str) -> list[Case]:
    """All that is compiled of a primitive."""
    chosen: list[tuple[Any, dict[str, Any]]]
    if name == "integer_power":
        chosen = [((d,), {"exponent": n}) for d in DTYPES for n in EXPONENTS]
    elif name == "cast":
        chosen = [((d,), {"dtype": e}) for d in DTYPES for e in DTYPES]
    else:
        chosen = [(dtypes, {}) for dtypes in signatures(name)]
    shape = () if name == "python_number" else (3,)
    found = []
    for dtypes, params in chosen:
        equation = equation_of(name, [array_type(shape, d) for d in dtypes], **params)
        if equation is not None:
            found.append(Case(f"case{len(found)}", equation))
    return found


@pytest.mark.parametrize("name", [*NAMES, "cast", "integer_power"])
def test_numbers_are_those_of_numpy_and_so_are_the_warnings(name: str) -> None:
    cases = cases_of(name)
    assert cases
    codes = {lanes: compiled(module_of(cases, lanes)) for lanes in LANES}
    for case in cases:
        arrays = combinations(*(t.dtype for t in case.types))
        wanted, warned = expected(case, arrays)
        for lanes, code in codes.items():
            copies = max(lanes, 1)
            found, status = run(code, case, [np.repeat(x, copies) for x in arrays], lanes)
            mixed, _ = run(code, case, arrays, lanes)
            for result in (found[::copies], mixed):
                check_numbers(case, arrays, result, wanted, ~status & ~warned)
            check_status(case, arrays, wanted, warned, status)


def check_numbers(case: Case, arrays: list[Any], found: Any, wanted: Any, where: Any) -> None:
    """The results agree where neither NumPy nor the compiled function has complained."""
    steps = np.where(where, distances(found, wanted, scales(case, arrays, wanted)), 0)
    worst = int(steps.argmax())
    operands = [x[worst] for x in arrays]
    message = f"{case}: {steps[worst]} units at {operands}: {found[worst]!r}, {wanted[worst]!r}"
    assert steps[worst] <= tolerance(case), message


def check_status(case: Case, arrays: list[Any], wanted: Any, warned: Any, status: Any) -> None:
    """Where NumPy warns there is a flag or a fault, and elsewhere, nearly, there is none."""
    missed = warned & ~status
    if case.primitive == "power":  # NumPy warns of an overflow at max ** inf, which there is not
        missed &= np.isfinite(arrays[1])
    assert not missed.any(), [x[missed][:4] for x in arrays]
    needless = status & ~warned
    if case.primitive in CAUTIOUS:
        return
    complex_ = any(array.dtype.kind == "c" for array in arrays)
    exact = elements.has_rule(case.equation, True) and case.primitive != "floor_divide"
    if complex_ or not exact:
        # The library of vector functions raises flags for large numbers, and where 0 is reached.
        large = np.any([np.abs(x.astype("c16")) > 1e5 for x in arrays], axis=0)
        needless &= ~extreme(arrays, wanted) & ~large & (wanted != 0)
    assert not needless.any(), (case.types, [x[needless][:4] for x in arrays])


# --- Python's numbers, which are weak ------------------------------------------------------------

WEAK_CASES = [
    ("multiply", "f4", 0.1, False),
    ("add", "f4", 16777217, False),  # a float first, then a single one
    ("add", "u1", 3, False),
    ("add", "u1", 300, True),
    ("less", "u1", 300, True),
    ("add", "i1", -129, True),
    ("add", "i2", -129, False),
    ("subtract", "u8", -1, True),
    ("multiply", "c8", 0.25j, False),
    ("add", "i4", 0.5, False),
    ("multiply", "f4", 1e300, True),
]


@pytest.mark.parametrize(("name", "code", "number", "asks"), WEAK_CASES)
@pytest.mark.parametrize("lanes", [0, 8])
def test_python_numbers_take_the_dtype_of_the_other_operand(
    name: str, code: str, number: Any, asks: bool, lanes: int
) -> None:
    weak = type_of(number)
    equation = equation_of(name, [array_type((8,), np.dtype(code)), weak])
    assert equation is not None
    case = Case("case", equation)
    array = np.arange(16).astype(code)
    compiled_case = compiled(module_of([case], lanes))
    found, status = run(compiled_case, case, [array, np.full(16, number, weak.dtype)], lanes)
    assert status.all() == asks
    if not asks:
        np.testing.assert_array_equal(found, equation.primitive.evaluate(array, number))


@pytest.mark.parametrize("name", ["equal", "not_equal", "less", "greater_equal", "add"])
@pytest.mark.parametrize("numbers", [(3, 3), (2, 3), (2.5, 2), (2.5, 2.5), (-1, 1)])
def test_python_numbers_meet_as_they_are(name: str, numbers: tuple[Any, Any]) -> None:
    equation = equation_of(name, [type_of(number) for number in numbers])
    assert equation is not None
    case = Case("case", equation)
    arrays = [np.full(16, number, type_of(number).dtype) for number in numbers]
    found, status = run(compiled(module_of([case], 0)), case, arrays, 0)
    assert not status.any()
    np.testing.assert_array_equal(found, equation.primitive.evaluate(*numbers))


# --- reductions ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["sum", "max", "min", "all", "any"])
@pytest.mark.parametrize("lanes", [0, 4])
def test_combining_is_what_the_reduction_does(kind: str, lanes: int) -> None:
    function = getattr(np, kind)
    dtypes = [np.dtype(bool)] if kind in ("all", "any") else DTYPES
    for dtype in dtypes:
        if kind == "sum" and dtype.kind == "b":
            continue
        first, second = combinations(dtype, dtype)
        found = combined(kind, first, second, lanes)
        with np.errstate(all="ignore"):
            wanted = function(np.stack([first, second]), axis=0, **_same(kind, dtype))
        np.testing.assert_array_equal(found, wanted)
        start = elements.identity(kind, dtype)
        assert (start.dtype, start.lanes) == (dtype, 0)
        alone = combined(kind, None, first, lanes)
        np.testing.assert_array_equal(alone, first)


def _same(kind: str, dtype: np.dtype[Any]) -> dict[str, Any]:
    return {"dtype": dtype} if kind == "sum" else {}


# --- what LLVM must not undo ---------------------------------------------------------------------


@pytest.mark.parametrize("lanes", [0, 8])
@pytest.mark.parametrize("outer", ["divide", "sqrt"])
def test_an_operand_chosen_to_be_harmless_raises_no_flag(outer: str, lanes: int) -> None:
    def body(emit: Any, x: Value) -> Value:
        zero, one = emit.number(0.0), emit.number(1.0)
        safe = emit("select", emit("greater", x, zero), x, one)
        return emit(outer, x, safe) if outer == "divide" else emit(outer, safe)

    x = np.array([-1.0, 0.0, -0.0, 4.0] * 4)
    found, flags = evaluated(body, x, lanes)
    safe = np.where(x > 0, x, 1.0)
    np.testing.assert_array_equal(found, x / safe if outer == "divide" else np.sqrt(safe))
    assert not flags.any()


@pytest.mark.parametrize("lanes", [0, 8])
@pytest.mark.parametrize("number", [2, 3, 2.0, 0.25, -4, 0, 1e300, 5e-324])
def test_a_constant_divisor_divides_as_any_other(number: Any, lanes: int) -> None:
    def body(emit: Any, x: Value) -> Value:
        return emit("divide", x, emit.number(number))

    x = np.array([1.0, -0.0, 3.0, 1e-310, -7.5, np.inf, np.nan, 1e5])
    found, flags = evaluated(body, x, lanes)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(found, x / number)
    assert flags.any() == (number == 0 or number == 5e-324)


def test_products_are_fused_with_sums_only_when_asked() -> None:
    def body(emit: Any, x: Value) -> Value:
        return emit("subtract", emit("multiply", x, x), emit.number(1.0))

    x = np.full(8, 1 + 2.0**-30)
    plain, _ = evaluated(body, x, 8, contract=False)
    np.testing.assert_array_equal(plain, x * x - 1)
    if machine().has("fma"):
        fused, _ = evaluated(body, x, 8, contract=True)
        np.testing.assert_array_equal(fused, 2.0**-29 + 2.0**-60)


# --- what is compiled, and for which processors --------------------------------------------------


def supported(name: str, *dtypes: Any, precise: bool = False, **params: Any) -> bool:
    types = [array_type((3,), np.dtype(dtype)) for dtype in dtypes]
    bound = operation(PRIMITIVES[name], **params)
    results = bound.infer(tuple(types))
    equation = Equation(bound, tuple(map(Variable, types)), tuple(map(Variable, results)))
    return elements.supports(equation, precise)


def test_what_is_supported() -> None:
    assert supported("sqrt", "f8", precise=True)
    assert supported("exp", "f8")
    assert supported("exp", "f8", precise=True)
    assert supported("exp", "c16")
    assert not supported("exp", "i1")  # of half precision
    assert not supported("add", "f2", "f4")
    assert not supported("add", "g", "g")
    assert supported("gamma", "f8")
    assert not supported("_ncx2_sf", "f8", "f8", "f8")  # which asks Python in the midst of it
    assert not supported("cast", "f8", dtype=np.dtype("f2"))
    assert supported("integer_power", "f8", exponent=2, precise=True)
    assert supported("integer_power", "f8", exponent=3, precise=True)
    assert not supported("integer_power", "f8", exponent=-1, precise=True)
    assert supported("integer_power", "c16", exponent=100)


def test_costs_are_in_order() -> None:
    assert elements.cost("cast") < elements.cost("add") < elements.cost("divide")
    assert elements.cost("divide") < elements.cost("exp") < elements.cost("power")


@pytest.mark.parametrize("lanes", [0, 4])
@pytest.mark.parametrize("cpu", ["x86-64", "haswell"])
def test_plainer_processors_compute_the_same(cpu: str, lanes: int) -> None:
    host = machine()
    if not host.is_x86 or not host.has("avx2"):
        pytest.skip("needs a processor of that family")
    features = "+avx2,+fma,+bmi2,+f16c" if cpu == "haswell" else ""
    plainer = Machine(cpu, features, None)
    for name in ("maximum", "less", "divide", "rint", "sign", "sqrt", "isfinite", "floor_divide"):
        cases = [case for case in cases_of(name) if case.types[0].dtype.kind in "fi"]
        for code in (
            compiled(module_of(cases, lanes), plainer),
            compiled(module_of(cases, lanes), plainer, Effort.QUICK),
        ):
            for case in cases:
                arrays = combinations(*(t.dtype for t in case.types))
                wanted, warned = expected(case, arrays)
                found, status = run(code, case, arrays, lanes)
                complained = np.repeat(status, max(lanes, 1))
                check_numbers(case, arrays, found, wanted, ~complained & ~warned)
