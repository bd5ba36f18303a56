"""What loops and branches mean, what their types are, and where they are linear.

Their derivatives are under the generic checker, as those of every primitive.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from adjoint.base.arrays import array_type
from adjoint.base.errors import DTypeError, NotLinearError, ShapeError
from adjoint.loops.declared import CHECKPOINT, SCAN, SWITCH, WHILE
from adjoint.loops.tapes import LENGTHS, bound, longer, tape_length
from adjoint.program import Program, operation
from tests.building import f8, program_of

INDEX = array_type((), np.dtype(np.int64))
BOOL = array_type((), np.dtype(bool))


def step() -> Program:
    """(a; x; row) -> (a x + row, x row)."""
    return program_of(lambda a, x, row: (a * x + row, x * row), f8(), f8(2), f8())


def scan(body: Program, length: int | None, reverse: bool = False) -> dict[str, Any]:
    return {"body": body, "constants": 1, "carried": 1, "length": length, "reverse": reverse}


def _scanned(x: Any, rows: Any, reverse: bool) -> tuple[Any, Any]:
    made = np.zeros((len(rows), 2))
    for k in reversed(range(len(rows))) if reverse else range(len(rows)):
        x, made[k] = 2.0 * x + rows[k], x * rows[k]
    return x, made


@pytest.mark.parametrize("reverse", [False, True])
def test_a_scan_is_its_loop(reverse: bool) -> None:
    x, rows = np.array([1.0, -2.0]), np.array([0.5, 1.0, -1.5])
    params = scan(step(), 3, reverse)
    found = SCAN.evaluate(np.int64(3), np.float64(2.0), x, rows, **params)
    for one, other in zip(found, _scanned(x, rows, reverse), strict=True):
        assert np.array_equal(one, other)


def test_rows_beyond_the_count_are_zero_and_a_negative_count_is_none() -> None:
    x, rows = np.array([1.0, -2.0]), np.ones(4)
    last, made = SCAN.evaluate(np.int64(2), np.float64(2.0), x, rows, **scan(step(), 4))
    assert made.shape == (4, 2)
    assert np.array_equal(made, [x, 2 * x + 1, np.zeros(2), np.zeros(2)])
    assert np.array_equal(last, 4 * x + 3)
    last, made = SCAN.evaluate(np.int64(-1), np.float64(2.0), x, rows, **scan(step(), 4))
    assert np.array_equal(last, x)
    assert not made.any()
    assert not np.shares_memory(last, x)


def test_in_extended_precision_it_is_interpreted() -> None:
    x, rows = np.array([1.0, -2.0], np.longdouble), np.ones(2, np.longdouble)
    (last, _) = SCAN.evaluate(np.int64(2), np.longdouble(2.0), x, rows, **scan(step(), 2))
    assert last.dtype == np.longdouble
    assert np.array_equal(last, 4 * x + 3)


def test_a_tape_that_is_too_short_is_longer_here() -> None:
    test = program_of(lambda x: (np.less(x, 100.0),), f8())
    body = program_of(lambda x: (x * 2.0, x), f8())
    params = {"test": test, "body": body, "constants": 0, "carried": 1, "length": 3}
    rounds, _, made = WHILE.evaluate(np.float64(1.0), **params)
    assert (rounds, len(made)) == (7, 7)


def test_a_while_loop_counts_and_stacks() -> None:
    test = program_of(lambda a, x: (np.less(x, a),), f8(), f8())
    body = program_of(lambda a, x: (x * 2.0, x), f8(), f8())
    params = {"test": test, "body": body, "constants": 1, "carried": 1, "length": 5}
    rounds, last, made = WHILE.evaluate(np.float64(5.0), np.float64(1.0), **params)
    assert (rounds, last) == (3, 8.0)
    assert rounds.dtype == np.int64
    assert np.array_equal(made[:3], [1.0, 2.0, 4.0])
    assert WHILE.infer(f8(), f8(), **params) == (INDEX, f8(), f8(5))


@pytest.mark.parametrize(("index", "expected"), [(-2, 0.0), (0, 0.0), (1, 3.0), (7, 3.0)])
def test_a_switch_takes_the_nearest_branch(index: int, expected: float) -> None:
    branches = (program_of(lambda x: (x * 0.0,), f8()), program_of(lambda x: (x,), f8()))
    assert SWITCH.evaluate(np.int64(index), np.float64(3.0), branches=branches) == (expected,)


def test_types_are_checked() -> None:
    body = step()
    with pytest.raises(ShapeError, match="an array of 3 rows was expected, got f8"):
        SCAN.infer(INDEX, f8(), f8(2), f8(4), **scan(body, 3))
    with pytest.raises(DTypeError, match=r"operands of types .*f8\[3\].*, expected .*f8\[2\]"):
        SCAN.infer(INDEX, f8(), f8(3), f8(3), **scan(body, 3))
    with pytest.raises(DTypeError, match="the count must be one integer"):
        SCAN.infer(f8(), f8(), f8(2), f8(3), **scan(body, 3))
    growing = program_of(lambda a, x: (a + x,), f8(2), f8())
    params = {"body": growing, "constants": 1, "carried": 1, "length": None, "reverse": False}
    with pytest.raises(DTypeError, match="carried values"):
        SCAN.infer(INDEX, f8(2), f8(), **params)
    stacking = program_of(lambda a, x: (x, a), f8(), f8())
    with pytest.raises(ShapeError, match="there must be a length"):
        SCAN.infer(INDEX, f8(), f8(), **scan(stacking, None))
    test = program_of(lambda x: (x,), f8())
    body = program_of(lambda x: (x,), f8())
    with pytest.raises(DTypeError, match="its test"):
        WHILE.infer(f8(), test=test, body=body, constants=0, carried=1, length=None)
    other = program_of(lambda x: (x + x, x), f8())
    with pytest.raises(DTypeError, match="switch, results"):
        SWITCH.infer(INDEX, f8(), branches=(body, other))
    with pytest.raises(DTypeError, match="the index must be one integer"):
        SWITCH.infer(f8(), f8(), branches=(body,))
    with pytest.raises(DTypeError, match="checkpoint: operands"):
        CHECKPOINT.infer(f8(2), body=body, schedule=None)


def test_a_scan_is_linear_where_its_body_is() -> None:
    params = scan(step(), 3)
    count, constant, carried, rows = ((n == k for n in range(4)) for k in range(4))
    assert not SCAN.is_linear(tuple(count), params)
    assert SCAN.is_linear(tuple(rows), params) is False  # x * row, where x depends on rows
    assert not SCAN.is_linear(tuple(constant), params)
    linear = program_of(lambda a, x, row: (a * x + row, x - row), f8(), f8(2), f8())
    assert SCAN.is_linear((False, False, True, True), scan(linear, 3))
    assert SCAN.is_linear(tuple(carried), scan(linear, 3))
    assert not SCAN.is_linear((False, True, True, False), scan(linear, 3))


def test_a_while_loop_is_linear_where_its_rounds_are_not_asked_of_what_is_linear() -> None:
    test = program_of(lambda k, x: (np.less(k, 3),), INDEX, f8())
    body = program_of(lambda k, x: (k + 1, x * 2.0), INDEX, f8())
    params = {"test": test, "body": body, "constants": 0, "carried": 2, "length": None}
    assert WHILE.is_linear((False, True), params)
    asking = program_of(lambda k, x: (np.less(x, 3.0),), INDEX, f8())
    assert not WHILE.is_linear((False, True), {**params, "test": asking})
    with pytest.raises(NotLinearError, match="not counted"):
        WHILE.rule("transpose")((None,), (None,), **params)


def test_branches_are_linear_where_all_are() -> None:
    double = program_of(lambda x, y: (x * 2.0,), f8(), f8())
    product = program_of(lambda x, y: (x * y,), f8(), f8())
    square = program_of(lambda x, y: (x * x,), f8(), f8())
    assert SWITCH.is_linear((False, True, False), {"branches": (double, product)})
    assert not SWITCH.is_linear((False, True, False), {"branches": (double, square)})
    assert not SWITCH.is_linear((True, False, False), {"branches": (double, product)})
    assert CHECKPOINT.is_linear((True, False), {"body": product, "schedule": None})
    assert not CHECKPOINT.is_linear((True, True), {"body": product, "schedule": None})


def test_operations_are_compared_by_the_structure_of_their_bodies() -> None:
    assert operation(SCAN, **scan(step(), 3)) is operation(SCAN, **scan(step(), 3))
    assert operation(SCAN, **scan(step(), 3)) is not operation(SCAN, **scan(step(), 4))


def test_the_lengths_of_tapes() -> None:
    assert tape_length([f8(1_000_000)]) == LENGTHS[1]
    assert tape_length([f8()]) > tape_length([f8(100)]) > LENGTHS[1]
    assert all(longer(length) > 8 * length for length in LENGTHS[:-5])
    for rounds in (0, 1, 2, 3, 5, 100, 1000, 10_000):
        assert rounds <= bound(rounds) <= max(1.5 * rounds, 1)
