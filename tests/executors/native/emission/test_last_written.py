"""Loops that read what the round before has written: from registers, whatever else is written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import adjoint as ad
from adjoint.executors import Needs, NumpyExecutor
from adjoint.executors.native.lowering.lower import native
from adjoint.primitives.expression import bind
from adjoint.primitives.structure.gathering import GATHER, GATHER_ADD, GATHER_SET
from adjoint.program import Program
from tests.executors.native.comparing import compare, run_native
from tests.executors.native.loop_programs import (
    INDEX,
    NUMBER,
    array,
    program,
    repeat,
    scan,
    time_warping,
    within,
)

KEPT = "elsewhere"  # the label in the code where a number is read from memory after all
SIZE = 200  # of a table that is worth while not to copy


def agree(made: Program, *arguments: Any) -> None:
    """Whether machine code gives what NumPy does, to the bit."""
    compare(made, list(arguments), exact=True)


def keeps(made: Program) -> bool:
    """Whether its code keeps what was written last."""
    code = native(made, Needs())
    assert code is not None
    return KEPT in code.lowered.text


def filled(write: Callable[..., Any], dtype: Any = float) -> Program:
    """A loop that counts an index up by a constant, and writes into a table in each round."""
    table, number = array(SIZE, dtype=dtype), array(dtype=dtype)
    body = program(lambda b, a, x, k: (write(a, b, x, k), k + 1), INDEX, number, table, INDEX)
    return scan(body, 2, 2)


def started(dtype: Any = float) -> tuple[Any, ...]:
    return (np.arange(1, SIZE + 1) % 7 * 0.25).astype(dtype), np.int64(1)


def recurrence(a: Any, b: Any, x: Any, k: Any) -> Any:
    return bind(GATHER_SET, x, bind(GATHER, x, k - b) * a, k)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.int32])
@pytest.mark.parametrize("back", [1, 2, -1, 0, SIZE, SIZE - 1])
def test_recurrences(back: int, dtype: Any) -> None:
    made = filled(recurrence, dtype)
    assert keeps(made)
    for count in (0, 1, 2, SIZE - 1 - max(-back, 0)):
        agree(made, np.int64(count), np.int64(back), dtype(1.5), *started(dtype))


def written_twice(a: Any, b: Any, x: Any, k: Any) -> Any:
    """What was written is written over before the next round reads it."""
    x = bind(GATHER_SET, x, bind(GATHER, x, k - b) * a, k)
    return bind(GATHER_SET, x, a, k - b + 1)


def added_twice(a: Any, b: Any, x: Any, k: Any) -> Any:
    read = bind(GATHER, x, k)
    x = bind(GATHER_ADD, bind(GATHER_SET, x, 0.0, k), read * a, k - b)
    return bind(GATHER_ADD, x, read, k - 1)


def read_between(a: Any, b: Any, x: Any, k: Any) -> Any:
    x = bind(GATHER_SET, x, bind(GATHER, x, k - b) * a, k)
    return bind(GATHER_SET, x, bind(GATHER, x, k - 1) + bind(GATHER, x, k), k + 1)


def histogram(a: Any, b: Any, x: Any, k: Any) -> Any:
    return bind(GATHER_SET, x, bind(GATHER, x, k - b) + a, k - b)


@pytest.mark.parametrize("write", [written_twice, added_twice, read_between, histogram])
@pytest.mark.parametrize("back", [1, 2, 0, -1])
def test_several_writes_in_a_round(write: Callable[..., Any], back: int) -> None:
    agree(filled(write), np.int64(SIZE - 3), np.int64(back), np.float64(0.75), *started())


def test_what_lies_anywhere_is_not_compared() -> None:
    assert not keeps(filled(histogram))


def test_a_loop_with_a_test() -> None:
    table = array(SIZE)
    test = program(lambda b, a, x, k: k < SIZE, INDEX, NUMBER, table, INDEX)
    body = program(lambda b, a, x, k: (recurrence(a, b, x, k), k + 1), INDEX, NUMBER, table, INDEX)
    made = repeat(test, body, 2)
    assert keeps(made)
    agree(made, np.int64(1), np.float64(1.5), *started())


def test_loops_around_write_too() -> None:
    """The inner loop begins anew in each round of the outer one, which has written meanwhile."""
    inner = filled(recurrence)

    def around(b: Any, a: Any, x: Any, k: Any) -> Any:
        x = bind(GATHER_SET, x, a + k, k)
        x = within(x.builder, inner, np.int64(3), b, a, x, k + 1)[0]
        return bind(GATHER_SET, x, bind(GATHER, x, k + 3) * 2.0, k + 2), k + 1

    made = scan(program(around, INDEX, NUMBER, array(SIZE), INDEX), 2)
    for back in (1, 2, 0):
        agree(made, np.int64(40), np.int64(back), np.float64(0.75), *started())


@pytest.mark.parametrize("special", [np.inf, np.nan])
def test_tables(special: float) -> None:
    made = time_warping(12, 9)
    assert keeps(made)
    table = np.full((13, 10), np.inf)
    table[0, 0] = 0.0
    table[3, 0] = table[0, 4] = special
    one, other = np.linspace(-1, 1, 12), np.cos(np.arange(9.0))
    arguments = [np.int64(12), one, other, table, np.int64(1)]
    found = run_native(made, arguments)
    assert found is not None
    expected = NumpyExecutor().compile(made).run(*arguments)
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-14)


@pytest.mark.parametrize("name", ["minimum", "maximum"])
def test_extremes_of_single_numbers(name: str) -> None:
    """NaN wins, of equal zeros the second does, and nothing is left to NumPy for it."""
    special = np.array([np.nan, -np.nan, 0.0, -0.0, 1.0, -1.0, np.inf, -np.inf])
    function = getattr(np, name)

    def extremes(x: Any, y: Any) -> Any:
        return ad.scan(lambda last, pair: (function(*pair), function(last, pair[0])), 0.5, (x, y))

    x, y = (np.ascontiguousarray(part.ravel()) for part in np.meshgrid(special, special))
    with ad.config(native=True):
        _, rows = ad.jit(extremes)(x, y)
    lasts = np.concatenate([[0.5], function(x, y)[:-1]])
    np.testing.assert_array_equal(rows, function(lasts, x))


def test_slopes_of_recurrences() -> None:
    def filtered(a: Any, b: Any) -> Any:
        def entry(k: Any, y: Any) -> Any:
            y = y.copy()
            y[k] = a[k] * y[k - 1] + b[k]
            return y

        return np.sum(ad.fori_loop(1, SIZE, entry, np.zeros(SIZE)) ** 2)

    a, b = np.linspace(0.1, 0.9, SIZE), np.cos(np.arange(SIZE))
    with ad.config(native=False):
        expected = ad.grad(filtered, argnums=(0, 1))(a, b)
    with ad.config(native=True):
        found = ad.jit(ad.grad(filtered, argnums=(0, 1)))(a, b)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-13)
