"""Long programs in segments, and tables beside the code."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from adjoint.base.arrays import array_type
from adjoint.executors.interface import Executable, Needs
from adjoint.executors.native.executor import NativeExecutor
from adjoint.executors.native.lowering import tables
from adjoint.executors.native.preparation.segments import (
    OF_LARGE_ARRAYS,
    OF_SMALL_ARRAYS,
    OF_VERY_LONG,
    cut,
)
from adjoint.loops.bodies import interpreted
from adjoint.primitives import UFUNCS
from adjoint.primitives.calls.custom import CONSTANT, Constant
from adjoint.primitives.expression import Expression, bind
from adjoint.primitives.structure.gathering import GATHER
from adjoint.program import Builder, Program, operation

RNG = np.random.default_rng(5)
FUNCTIONS = [np.sin, np.cos, np.tanh, np.negative, np.square, np.arctan]


def results(executable: Executable, *arguments: Any) -> tuple[Any, ...]:
    outputs = executable.run(*arguments)
    assert outputs is not None
    return outputs


def without_a_period(count: int, size: int) -> Program:
    """A program of so many equations in which nothing is repeated."""
    builder = Builder()
    x = builder.input(array_type((size,), np.dtype(float)))
    for number in RNG.integers(len(FUNCTIONS), size=count):
        (x,) = builder.emit(operation(UFUNCS[FUNCTIONS[number]]), (x,))
    return builder.build([x])


@pytest.mark.parametrize("count", [299, 300, 1000, 3000])
def test_segments_are_of_bounded_length(count: int) -> None:
    """LLVM took 9 s for a function of 800 equations, and 0.5 s for ten of a tenth."""
    pieces = cut(without_a_period(count, 3))
    if count < OF_SMALL_ARRAYS.cut:
        assert pieces is None
    else:
        assert pieces is not None
        assert max(map(len, pieces.templates)) <= OF_SMALL_ARRAYS.longest


def test_segments_of_large_arrays_are_longer() -> None:
    assert cut(without_a_period(OF_LARGE_ARRAYS.cut - 1, 10_000)) is None
    pieces = cut(without_a_period(2 * OF_LARGE_ARRAYS.cut, 10_000))
    assert pieces is not None
    assert OF_SMALL_ARRAYS.longest < max(map(len, pieces.templates)) <= OF_LARGE_ARRAYS.longest


def test_segments_of_very_long_programs_are_longer() -> None:
    program = without_a_period(OF_VERY_LONG.cut, 2)
    pieces = cut(program)
    assert pieces is not None
    assert OF_SMALL_ARRAYS.longest < max(map(len, pieces.templates)) <= OF_VERY_LONG.longest
    x = np.array([0.5, -2.0])
    native = results(NativeExecutor().compile(program, Needs()), x)
    np.testing.assert_allclose(native, interpreted(program)(x), rtol=1e-12)


def test_what_is_repeated_is_one_template() -> None:
    builder = Builder()
    x = builder.input(array_type((3,), np.dtype(float)))
    for _ in range(200):
        for function in FUNCTIONS[:4]:
            (x,) = builder.emit(operation(UFUNCS[function]), (x,))
    pieces = cut(builder.build([x]))
    assert pieces is not None
    assert len(pieces.segments) > 8
    assert len(pieces.templates) <= 3


def test_a_program_in_segments_computes_the_same() -> None:
    program, x = without_a_period(700, 5), RNG.normal(size=5)
    function = NativeExecutor().compile(program, Needs(precise=True))
    np.testing.assert_allclose(results(function, x)[0], interpreted(program)(x)[0], rtol=1e-13)


def numbers_of_many_kinds(count: int, generator: np.random.Generator) -> Program:
    """Numbers that are read again long after, of several sizes, and some arrays among them.

    In the middle is a stretch that is repeated: it has a segment that stands in several places.
    """
    builder = Builder()
    x = builder.input(array_type((), np.dtype(float)))
    z = builder.input(array_type((), np.dtype(complex)))
    s = builder.input(array_type((), np.dtype(np.float32)))
    a = builder.input(array_type((3,), np.dtype(float)))
    add, tanh, less, where = (UFUNCS[f] for f in (np.add, np.tanh, np.less, np.logical_xor))
    kinds = [[x], [z], [s], [a], list(builder.emit(operation(less), (x, x)))]
    for number in range(count):
        pool = kinds[int(generator.integers(len(kinds)))]
        one, other = (pool[int(generator.integers(len(pool)))] for _ in range(2))
        boolean = one.type.dtype.kind == "b"
        (both,) = builder.emit(operation(where if boolean else add), (one, other))
        result = both if boolean else builder.emit(operation(tanh), (both,))[0]
        pool.append(result)
        if number == count // 2:
            for _ in range(400):
                (x,) = builder.emit(operation(tanh), builder.emit(operation(add), (x, kinds[0][0])))
            kinds[0].append(x)
        if number % 7 == 0:
            kinds[4] += builder.emit(operation(less), (kinds[0][-1], kinds[0][0]))
    outputs = [
        atom for pool in kinds for atom in (pool[0], pool[-1], pool[-1], pool[len(pool) // 2])
    ]
    return builder.build(outputs)


@pytest.mark.parametrize("seed", range(6))
def test_numbers_go_from_segment_to_segment(seed: int) -> None:
    generator = np.random.default_rng(seed)
    program = numbers_of_many_kinds(600, generator)
    pieces = cut(program)
    assert pieces is not None
    assert 4 < len(pieces.single()) < len(pieces.segments)
    x, y = generator.normal(size=2)
    given = (x, np.complex128(complex(x, y)), np.float32(y), generator.normal(size=3))
    function = NativeExecutor().compile(program, Needs(precise=True))
    for got, wanted in zip(results(function, *given), interpreted(program)(*given), strict=True):
        tolerance = 1e-5 if np.asarray(got).dtype == np.float32 else 1e-12
        np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance)


# --- tables ---------------------------------------------------------------------------------------


def with_table(table: Any, size: int) -> Program:
    """x at the places in a table, and the table."""
    builder = Builder()
    x = Expression(builder, builder.input(array_type((size,), np.dtype(float))))
    places = bind(CONSTANT, builder=builder, array=Constant(table))
    return builder.build([bind(GATHER, x, places).atom, places.atom])


@pytest.mark.parametrize("count", [1, 7, 500])
def test_tables_stand_beside_the_code(count: int) -> None:
    """A program that holds them is one piece of machine code: a call took 22 us, now 2.4."""
    table, x = RNG.integers(9, size=count), RNG.normal(size=9)
    executable = NativeExecutor().compile(with_table(table, 9))
    assert executable.guarded
    values, places = results(executable, x)
    np.testing.assert_array_equal(values, x[table], strict=True)
    np.testing.assert_array_equal(places, table, strict=True)
    places[:] = 0  # a copy: the code's own stays
    np.testing.assert_array_equal(results(executable, x)[1], table)


def test_tables_of_other_numbers_and_shapes() -> None:
    for table in (
        np.array([[True, False], [False, False]]),
        RNG.normal(size=(2, 3)),
        np.asfortranarray(RNG.normal(size=(3, 2))),
        np.array([1 - 2j, np.nan, np.inf]),
        np.array([-0.0, 5e-324], np.float32),
    ):
        builder = Builder()
        x = builder.input(array_type((2,), np.dtype(float)))
        (places,) = builder.emit(operation(CONSTANT, array=Constant(table)), ())
        (y,) = builder.emit(operation(UFUNCS[np.sin]), (x,))
        (z,) = builder.emit(operation(UFUNCS[np.cos]), (y,))
        executable = NativeExecutor().compile(builder.build([places, z]))
        assert executable.guarded
        np.testing.assert_array_equal(results(executable, np.ones(2))[0], table, strict=True)


def test_large_tables_are_left_to_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "MOST_BYTES", 8)
    executable = NativeExecutor().compile(with_table(np.arange(3), 9))
    assert not executable.guarded
    np.testing.assert_array_equal(results(executable, np.arange(9.0))[0], np.arange(3.0))
