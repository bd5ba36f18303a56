"""Loops and branches as machine code, against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import adjoint as ad
from adjoint.executors import Needs
from adjoint.executors.native.lowering.lower import native
from adjoint.primitives.expression import bind
from adjoint.primitives.structure.gathering import GATHER, GATHER_ADD, GATHER_SET
from adjoint.program import Program
from tests.executors.native.comparing import compare, is_lowerable, run_native
from tests.executors.native.loop_programs import (
    INDEX,
    NUMBER,
    alternating,
    array,
    checkpoint,
    mixed_scan,
    mixed_switch,
    mixed_while,
    numbers,
    program,
    random_loop,
    repeat,
    scan,
    switch,
    time_warping,
    within,
)


def agree(made: Program, arguments: list[Any]) -> None:
    """Whether machine code and NumPy agree."""
    compare(made, arguments, exact=False)


@pytest.mark.parametrize("reverse", [False, True], ids=["forwards", "backwards"])
@pytest.mark.parametrize("size", [1, 3, 100, 1003])
def test_scans(size: int, reverse: bool) -> None:
    made = mixed_scan(6, reverse, size)
    for count in (0, 1, 2, 5, 6, -3):
        agree(made, numbers(9, made.input_types, count))


@pytest.mark.parametrize("dtype", [np.float32, np.complex128, np.complex64])
def test_scans_of_other_numbers(dtype: Any) -> None:
    for size in (2, 300):
        vector, number = array(size, dtype=dtype), array(dtype=dtype)
        body = program(
            lambda a, x, s, r: (a * x * r, s * 0.5 + r, x + s), vector, vector, number, number
        )
        made = scan(body, 1, 2, 4)
        agree(made, numbers(1, made.input_types, 4))


@pytest.mark.parametrize("size", [1, 3, 1003])
def test_loops_with_a_test(size: int) -> None:
    made = mixed_while(None, size)
    for start in (0, 4, 5, 9):
        arguments = numbers(1, made.input_types)
        arguments[2] = np.int64(start)
        agree(made, arguments)


@pytest.mark.parametrize("size", [1, 3, 1003])
def test_loops_with_a_test_and_rows(size: int) -> None:
    made = mixed_while(8, size)
    arguments = numbers(1, made.input_types)
    arguments[2] = np.int64(2)
    found = run_native(made, arguments)
    assert found is not None
    rounds, x, k, rows, counts = found
    assert (rounds, k, counts[:3].tolist()) == (3, 5, [2, 3, 4])
    a, expected = arguments[0], arguments[1]
    for row in rows[:3]:
        np.testing.assert_allclose(row, expected + a, rtol=1e-13)
        expected = np.sin(a * expected)
    np.testing.assert_allclose(x, expected, rtol=1e-13)
    assert not rows[3:].any()
    assert not counts[3:].any()


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("size", [2, 1003])
def test_branches(count: int, size: int) -> None:
    made = mixed_switch(count, size)
    for index in (-(10**15), -1, 0, 1, 2, 3, 10**15):
        agree(made, numbers(1, made.input_types, index))


@pytest.mark.parametrize("dtype", ["i1", "u1", "i4", "u8"])
def test_counts_and_indices_of_every_integer_type(dtype: str) -> None:
    from adjoint.loops.declared import SCAN, SWITCH
    from tests.executors.native.loop_programs import alone

    kind = array(dtype=dtype)
    body = program(lambda x: x * 2.0, NUMBER)
    params = {"constants": 0, "carried": 1, "length": None, "reverse": False}
    counting = alone(SCAN, [kind, NUMBER], body=body, **params)
    number = np.dtype(dtype).type
    choosing = alone(SWITCH, [kind, NUMBER], branches=(body, program(lambda x: x + 1.0, NUMBER)))
    for value in (0, 1, 3, np.iinfo(dtype).min, np.iinfo(dtype).max):
        agree(choosing, [number(value), np.float64(1.5)])
        if value < 200:
            agree(counting, [number(value), np.float64(1.5)])


def test_recomputation() -> None:
    made = checkpoint(program(lambda x, y: (np.sin(x) * y, y * y, x), array(50), NUMBER))
    agree(made, numbers(1, made.input_types))


@pytest.mark.parametrize("size", [2, 1003])
def test_arrays_that_change_places(size: int) -> None:
    made = alternating(size)
    for count in range(5):
        agree(made, numbers(1, made.input_types, count))


def test_numbers_of_every_kind_are_carried() -> None:
    types = [array(dtype=code) for code in ("?", "i1", "u2", "i8", "f4", "c8", "c16")]
    body = program(
        lambda b, i, u, n, f, z, w: (~b, i + 1, u * 3, n - 7, f / 3, z * 1j, w + 1j), *types
    )
    kept = Program(body.inputs, body.equations, body.outputs)
    made = scan(kept)
    agree(made, numbers(1, made.input_types, 9))


def test_numbers_of_every_kind_are_scanned_and_stacked() -> None:
    types = [array(dtype=code) for code in ("?", "i1", "u2", "i8", "f4", "c8", "c16")]
    body = program(
        lambda b, i, u, n, f, z, w: (~b, i + 1, u * 3, n - 7, f / 3, z * 1j, w + 1j), *types
    )
    made = scan(body, 0, 0, 5, True)
    agree(made, numbers(1, made.input_types, 5))


def test_a_loop_in_a_loop_in_a_branch() -> None:
    vector = array(40)
    inner = scan(program(lambda a, x, s: (x * a + 0.1, s + 1.0), vector, vector, NUMBER), 1)

    def outer(x: Any, k: Any, s: Any) -> Any:
        x, s = within(x.builder, inner, k, x, x, s)
        return x, k + 1, s

    loop = scan(program(outer, vector, INDEX, NUMBER))
    other = program(lambda n, x, k, s: (x, k - 1, s), INDEX, vector, INDEX, NUMBER)
    made = switch(loop, other)
    for index in (0, 1):
        arguments = numbers(1, made.input_types, index)
        arguments[1] = np.int64(4)
        arguments[2] *= 0.5
        agree(made, arguments)


# --- in place -------------------------------------------------------------------------------------


def copies(made: Program, shape: tuple[int, ...]) -> int:
    """How many times arrays of a shape are copied, anywhere."""
    code = native(made, Needs())
    assert code is not None
    return code.lowered.text.count(f"i64 {8 * int(np.prod(shape))}, i1 false)")


def test_tables_are_written_in_place() -> None:
    made = time_warping(20, 30)
    table = np.full((21, 31), 1e3)
    table[0, 0] = 0.0
    one, other = np.random.default_rng(1).random(20), np.random.default_rng(2).random(30)
    agree(made, [np.int64(20), one, other, table, np.int64(1)])
    assert copies(made, (21, 31)) == 1  # the argument, into the result


@pytest.mark.parametrize("size", [64, 100])
def test_rows_are_written_in_place(size: int) -> None:
    def row(m: Any, i: Any, v: Any) -> Any:
        old = bind(GATHER, m, i)
        return bind(GATHER_SET, m, old * 1.5 + v, i), i + 1, v + old, old

    made = scan(program(row, array(20, size), INDEX, array(size)), 0, 3, 5)
    arguments = numbers(1, made.input_types, 5)
    agree(made, arguments)
    assert copies(made, (20, size)) == 1


@pytest.mark.parametrize("size", [64, 100])
def test_sums_are_gathered_in_place(size: int) -> None:
    made = scan(
        program(
            lambda m, i, v: (bind(GATHER_ADD, m, v, i), (i + 2) - 3 * (i > 0), v * 0.5),
            *(array(20, size), INDEX, array(size)),
        )
    )
    arguments = numbers(1, made.input_types, 7)
    agree(made, arguments)


@pytest.mark.parametrize("size", [64, 100])
def test_one_write_after_another_in_place(size: int) -> None:
    def twice(m: Any, i: Any, v: Any) -> Any:
        row = bind(GATHER, m, i)
        cleared = bind(GATHER_SET, m, 0.0, i)
        return bind(GATHER_ADD, cleared, row * v, i - 1), i + 1, v

    made = scan(program(twice, array(20, size), INDEX, array(size)))
    agree(made, numbers(1, made.input_types, 7))
    assert copies(made, (20, size)) == 1


def test_what_is_read_later_is_not_written_over() -> None:
    size = 200

    def later(x: Any, i: Any) -> Any:
        new = bind(GATHER_SET, x, 9.0, i)
        return new, i + 1, np.sin(x) + new

    def both(x: Any, i: Any) -> Any:
        one, other = bind(GATHER_SET, x, 9.0, i), bind(GATHER_SET, x, 8.0, i)
        return one, i + 1, other

    def shifted(x: Any, i: Any) -> Any:
        old = bind(GATHER, x, i - 1)
        return bind(GATHER_SET, x, bind(GATHER, x, i) + old, i), i + 1, old

    def swapped(x: Any, y: Any, i: Any) -> Any:
        return bind(GATHER_SET, y, 1.0, i), bind(GATHER_SET, x, 2.0, i), i + 1

    for function in (later, both, shifted):
        made = scan(program(function, array(size), INDEX), 0, 2, 6)
        agree(made, numbers(1, made.input_types, 6))
    made = scan(program(swapped, array(size), array(size), INDEX))
    agree(made, numbers(1, made.input_types, 5))


def test_repeated_indices_read_what_was_there_before() -> None:
    places = array(40, dtype=np.int64)

    def moved(x: Any, k: Any) -> Any:
        return bind(GATHER_SET, x, bind(GATHER, x, k) * 2.0 + 1.0, k), k

    made = scan(program(moved, array(50), places))
    agree(made, numbers(1, made.input_types, 4))


def test_a_constant_of_a_loop_is_not_written_over() -> None:
    inner = scan(
        program(lambda x, y, i: (bind(GATHER_SET, y, 1.0, i) + x, i + 1), *[array(200)] * 2, INDEX),
        1,
    )

    def outer(x: Any, i: Any) -> Any:
        found = within(x.builder, inner, np.int64(3), x, x, i)
        return found[0] + x, i

    made = scan(program(outer, array(200), INDEX))
    agree(made, numbers(1, made.input_types, 3))


def test_branches_write_in_place() -> None:
    size = 300
    written = program(
        lambda x, i: bind(GATHER_SET, x, 2.0 * bind(GATHER, x, i), i), array(size), INDEX
    )
    left = program(lambda x, i: x, array(size), INDEX)
    chosen = switch(left, written)

    def once(x: Any, i: Any) -> Any:
        (found,) = within(x.builder, chosen, i, x, i)
        return found, i + 1

    made = scan(program(once, array(size), INDEX))
    arguments = numbers(1, made.input_types, 50)
    arguments[2] = np.int64(-2)
    agree(made, arguments)
    assert copies(made, (300,)) == 1


def test_a_loop_takes_over_what_was_made_for_it() -> None:
    made = program(
        lambda x, i: within(
            x.builder,
            scan(program(lambda y, j: (bind(GATHER_SET, y, 1.0, j), j + 1), array(500), INDEX)),
            np.int64(4),
            np.sin(x),
            i,
        )[0],
        array(500),
        INDEX,
    )
    agree(made, numbers(1, made.input_types))
    assert copies(made, (500,)) == 0


Rows = Callable[[int, Any], None]


def column(i: int, x: Any) -> None:
    x[:, i] = x[:, i - 1] * 1.5


def part_of_a_row(i: int, x: Any) -> None:
    x[i, 2:50] = x[i - 1, 1:49] * 1.5


def known_parts(i: int, x: Any) -> None:
    x[0] = x[1] * 0.5
    x[2, 3] = x[0, 0]
    x[1, 3:9] += x[0, 0]


def row_and_entry(i: int, x: Any) -> None:
    x[i] += x[i - 1]
    x[i, 2] = 1.0


def stencil(i: int, x: Any) -> None:
    x[i, 1:-1] = x[i - 1, 2:] + x[i - 1, :-2] - x[i, 1:-1]
    x[2:9, i] = x[1:8, i - 1]


def views_of_views(i: int, x: Any) -> None:
    x.T[i, ::-2] = x[i - 1, ::-2]
    x[::2][i] = 3.0


def beside_itself(i: int, x: Any) -> None:
    x[i, 1:40] = x[i, 2:41]
    x[i - 1, 1:65] = x[i, 1:65] * x[i, 2:66]


WRITES = (column, part_of_a_row, known_parts, row_and_entry, stencil, views_of_views, beside_itself)


@pytest.mark.parametrize("write", WRITES, ids=[write.__name__ for write in WRITES])
@pytest.mark.parametrize("size", [70, 128])
def test_parts_are_written_in_place(size: int, write: Rows) -> None:
    def once(i: Any, x: Any) -> Any:
        x = x.copy()
        write(i, x)
        return x

    def looped(x: Any) -> Any:
        return ad.fori_loop(1, 30, once, x)

    x = np.random.default_rng(1).random((size, size))
    expected = x.copy()
    for i in range(1, 30):
        write(i, expected)
    assert copies(ad.program(looped, x).program, (size, size)) == 1
    with ad.config(native=True):
        found = ad.jit(looped)(x)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("write", WRITES, ids=[write.__name__ for write in WRITES])
def test_gradients_through_what_is_written_in_place(write: Rows) -> None:
    def once(i: Any, x: Any) -> Any:
        x = x.copy()
        write(i, x)
        return x

    def loss(x: Any) -> Any:
        return np.sum(ad.fori_loop(1, 6, once, x) ** 2)

    x = np.random.default_rng(1).random((70, 70))
    gradient = ad.program(ad.grad(loss), x).program
    assert copies(gradient, (70, 70)) <= 5  # none of them in a round
    with ad.config(native=True):
        found = ad.jit(ad.grad(loss))(x)
    with ad.config(native=False):
        expected = ad.grad(loss)(x)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


# --- all kinds of bodies --------------------------------------------------------------------------


@pytest.mark.parametrize("block", range(4))
def test_random_bodies(block: int) -> None:
    done = 0
    for seed in range(block * 8, block * 8 + 8):
        made, arguments = random_loop(seed)
        if not is_lowerable(made):
            continue
        with np.errstate(over="raise", invalid="raise", divide="raise"):
            try:
                compare(made, arguments, exact=True)
            except FloatingPointError:
                continue
        done += 1
    assert done > 4


def test_bodies_are_written_once() -> None:
    body = program(lambda x: np.sin(x) + 0.5, NUMBER)
    made = native(scan(body), Needs())
    assert made is not None
    assert made.lowered.text.count("@sin(") == 2  # declared, and called


def test_a_test_alone() -> None:
    made = repeat(
        program(lambda x, y: x * x > y, NUMBER, NUMBER),
        program(lambda x, y: ((x + y / x) * 0.5, y), NUMBER, NUMBER),
    )
    agree(made, [np.float64(4.0), np.float64(2.0)])
