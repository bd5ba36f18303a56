"""Every elementwise primitive that is compiled, on every dtype, against NumPy's own results."""

from __future__ import annotations

import warnings
from itertools import product
from typing import Any

import numpy as np
import pytest

from adjoint.base.arrays import array_type
from adjoint.base.errors import AdjointError
from adjoint.executors.native import elements
from adjoint.primitives.declaration import PRIMITIVES
from adjoint.primitives.special import SPECIAL
from adjoint.primitives.typing_rules import resolve
from adjoint.program import Equation, Variable, operation
from tests.executors.native.elements import Case, Writer, compiled, run

DTYPES = [np.dtype(code) for code in "? i1 u1 i2 u2 i4 u4 i8 u8 f4 f8 c8 c16".split()]
MIXED = [
    ("i8", "u8"), ("u8", "i8"), ("i4", "f4"), ("f4", "f8"), ("f8", "c16"), ("?", "f8"),
    ("i1", "u1"), ("c8", "f8"), ("u8", "f4"), ("i4", "u4"), ("?", "i8"),
]  # fmt: skip
PLAIN = ("scale", "select", "real", "imag", "stop_gradient")
NAMES = sorted({name for name, _ in elements.RULES} | set(PLAIN))
LANES = (0, 4, 8)
# Units in the last place by which results may differ from NumPy's; by 0 where nothing is said.
ULPS: dict[str, float] = {}


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
    size = -(-grids[0].size // 8) * 8
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
    flagged = np.zeros(arrays[0].size, bool)
    result = np.zeros(arrays[0].size, case.result)
    with np.errstate(divide="raise", over="raise", invalid="raise", under="ignore"):
        for place in range(arrays[0].size):
            try:
                result[place] = evaluate(*(x[place : place + 1] for x in arrays), **params)[0]
            except (FloatingPointError, ValueError, ZeroDivisionError, OverflowError):
                flagged[place] = True
    with np.errstate(all="ignore"):
        try:
            whole = np.asarray(evaluate(*arrays, **params))
        except ValueError:
            return result, flagged
    return np.where(flagged, result, whole), flagged


def differences(found: Any, wanted: Any) -> Any:
    """Units in the last place between results; infinite where NaN, a sign or an integer differs."""
    if found.dtype.kind in "biu":
        return np.where(found == wanted, 0.0, np.inf)
    if found.dtype.kind == "c":
        # Parts are compared on the scale of the whole number.
        size = np.maximum(np.abs(wanted.real), np.abs(wanted.imag))
        return np.maximum(
            _distance(found.real, wanted.real, size), _distance(found.imag, wanted.imag, size)
        )
    return _distance(found, wanted, np.abs(wanted))


def _distance(found: Any, wanted: Any, size: Any) -> Any:
    with np.errstate(all="ignore"):
        steps = np.abs(found - wanted) / np.spacing(np.where(np.isfinite(size), size, 1))
    same = (found == wanted) & (np.signbit(found) == np.signbit(wanted))
    same |= np.isnan(found) & np.isnan(wanted)
    steps = np.where(np.isnan(steps) | ~np.isfinite(wanted) | ~np.isfinite(found), np.inf, steps)
    steps = np.where((found == wanted) & ~same, 0.5, steps)  # the sign of a zero
    return np.where(same, 0.0, steps)


def report(cases, lanes):
    writer = Writer(lanes)
    for case in cases:
        writer.add(case)
    engine = compiled(writer.module)
    for case in cases:
        arrays = combinations(*(t.dtype for t in case.types))
        wanted, flagged = expected(case, arrays)
        spread = [np.repeat(x, max(lanes, 1)) for x in arrays]
        found, status = run(engine, case, spread, lanes)
        found = found[:: max(lanes, 1)]
        steps = differences(found, wanted)
        mixed, _ = run(engine, case, arrays, lanes)
        usable = ~status & ~flagged
        bad = usable & (steps > ULPS.get(case.equation.primitive.name, 0))
        missed = flagged & ~status
        spurious = status & ~flagged
        lane_diff = differences(mixed, found)[usable].max() if usable.any() else 0
        yield case, arrays, found, wanted, steps, usable, bad, missed, spurious, lane_diff
