"""The plan: whose memory a result takes over, when memory dies, what is copied on the way out."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.optimise import plan
from adjoint.primitives.expression import bind
from adjoint.primitives.structure.gathering import GATHER, GATHER_ADD, GATHER_SET
from adjoint.primitives.structure.moving import broadcast_to, permute, reshape, sum_axes
from adjoint.primitives.structure.slicing import increment, take, update
from adjoint.transforms import jvp
from tests.building import f8, names, program_at, program_of, run

WHOLE = (0, 3, 1)


def taken(function: Any, *types: Any) -> dict[int, str]:
    """For each equation that writes over memory: the primitive that made that memory."""
    program = program_of(function, *types)
    found = plan(program)
    makers = {v: e.primitive.name for e in found.equations for v in e.outputs}
    return {number: makers[variable] for number, variable in found.takes.items()}


def test_a_result_takes_over_what_dies() -> None:
    assert taken(lambda x: np.exp(np.sin(x)), f8(3)) == {1: "sin"}
    assert taken(lambda x, y: np.sin(x) * np.cos(y), f8(3), f8(3)) == {2: "sin"}


def test_inputs_are_never_written_to() -> None:
    assert taken(np.sin, f8(3)) == {}
    assert taken(lambda x: update(x, 0.0, (1,)), f8(3)) == {}
    x = np.arange(3.0)
    run(program_of(lambda x: increment(np.negative(x), x, (WHOLE,)), f8(3)), x)
    np.testing.assert_array_equal(x, np.arange(3.0))


def test_what_is_needed_later_is_not_taken() -> None:
    assert taken(lambda x: (lambda s: np.exp(s) * s)(np.sin(x)), f8(3)) == {2: "sin"}
    assert taken(lambda x: (lambda s: (s, np.exp(s)))(np.sin(x)), f8(3)) == {}


def test_another_type_is_not_taken() -> None:
    assert taken(lambda x: np.greater(np.sin(x), 0.0), f8(3)) == {}
    assert taken(lambda x, y: np.sin(x) + y, f8(3), f8(2, 3)) == {}


def test_scalars_are_not_taken() -> None:
    """They may be NumPy scalars, which cannot be written to."""
    assert taken(lambda x: np.exp(np.sin(x)), f8()) == {}
    program = program_of(lambda x: increment(np.sin(x), 1.0, ()), f8())
    assert plan(program).takes == {}
    assert run(program, np.float64(0)) == 1


def test_memory_that_a_view_still_needs_is_not_taken() -> None:
    def seen(x: Any) -> Any:
        s = np.sin(x)
        view = permute(s, (1, 0))
        return np.exp(s), np.cos(view)

    program = program_of(seen, f8(2, 2))
    assert plan(program).takes == {}
    x = np.arange(4.0).reshape(2, 2)
    first, second = run(program, x)
    np.testing.assert_array_equal(first, np.exp(np.sin(x)))
    np.testing.assert_array_equal(second, np.cos(np.sin(x).T))


def test_an_array_read_through_a_view_and_updated() -> None:
    """x[1:] += x[:-1] through a view of what is written: what is read is what was there before."""

    def function(x: Any) -> Any:
        s = x * 1.5
        return increment(s, take(s, ((0, 4, 1),)), ((1, 5, 1),))

    program = program_of(function, f8(5))
    x = np.arange(5.0)
    expected = 1.5 * x
    expected[1:] += 1.5 * x[:-1]
    np.testing.assert_array_equal(run(program, x), expected)
    found = plan(program)
    assert found.takes.keys() == {2}  # in place, since the slice is read out first
    assert found.detached == set(program.equations[1].outputs)

    def gathered(x: Any, i: Any) -> Any:
        s = x * 1.5
        view = reshape(s, (5,))
        return bind(GATHER_ADD, s, view, i), bind(GATHER, s, i)

    index = np.array([4, 3, 2, 1, 0])
    added, read = run(program_at(gathered, x, index), x, index)
    np.testing.assert_array_equal(added, 1.5 * (x + x[::-1]))
    np.testing.assert_array_equal(read, 1.5 * x[::-1])


def test_indices_are_not_overwritten_by_what_they_index() -> None:
    def function(n: Any) -> Any:
        i = n + 1
        return bind(GATHER_SET, i, i * 10, reshape(i, (3,)))

    n = np.array([1, -1, 0])
    program = program_at(function, n)
    expected = n + 1
    expected[n + 1] = (n + 1) * 10
    np.testing.assert_array_equal(run(program, n), expected)


def test_writes_in_a_row_share_one_array() -> None:
    def function(x: Any) -> Any:
        y = np.sin(x)
        for i in range(3):
            y = update(y, 1.0 * i, (i,))
        return y

    assert taken(function, f8(3)) == {1: "sin", 2: "update", 3: "update"}
    x = np.ones(3)
    np.testing.assert_array_equal(run(program_of(function, f8(3)), x), [0, 1, 2])


def test_outputs_that_share_memory_are_copied() -> None:
    def function(x: Any) -> Any:
        s = np.sin(x)
        return s, s, reshape(s, (6,)), x, take(x, (0, WHOLE)), broadcast_to(s, (2, 2, 3)), np.cos(x)

    found = plan(program_of(function, f8(2, 3)))
    assert found.copied == {1, 2, 3, 4, 5}


def test_a_broadcast_is_copied_since_its_entries_share_memory() -> None:
    program = program_of(lambda x: reshape(broadcast_to(np.sin(x), (2, 3)), (2, 1, 3)), f8(3))
    assert plan(program).copied == {0}
    result = run(program, np.ones(3))
    result[0] = 5
    assert not (result[1] == 5).any()


def test_derived_equations_come_last() -> None:
    program = jvp(program_of(lambda x: np.exp(np.sin(x)), f8(3)), (True,))
    assert names(program).index("exp") > names(program).index("cos")
    ordered = [e.derived for e in plan(program).equations]
    assert ordered == sorted(ordered)


def test_memory_dies_under_all_its_names() -> None:
    """The array, its views, and what took it over: else one name would keep it alive."""

    def function(x: Any) -> Any:
        a = np.sin(x)
        b = np.exp(a)  # takes over a
        c = reshape(b, (6,))  # a view
        return sum_axes(c, (0,))

    program = program_of(function, f8(2, 3))
    found = plan(program)
    assert found.takes.keys() == {1}
    (last,) = found.dies
    assert last == 3
    assert set(found.dies[last]) == {v for e in program.equations[:3] for v in e.outputs}


def test_slices_of_what_is_not_written_stay_views() -> None:
    def function(x: Any) -> Any:
        s = np.sin(x)
        row = take(s, (1, WHOLE))
        return sum_axes(row, (0,)), update(np.cos(x), row, (0, WHOLE)), update(x, row, (0, WHOLE))

    assert plan(program_of(function, f8(2, 3))).detached == set()


def test_a_single_entry_is_no_view() -> None:
    def function(x: Any) -> Any:
        s = np.sin(x)
        return update(s, 0.0, (0,)), take(s, (0,))

    found = plan(program_of(function, f8(3)))
    assert found.detached == set()
    assert (
        found.takes == {}
    )  # what is returned was read from s after it was written: s itself is kept

    def earlier(x: Any) -> Any:
        s = np.sin(x)
        entry = take(s, (0,))
        return update(s, 0.0, (0,)), np.exp(entry)

    assert plan(program_of(earlier, f8(3))).takes.keys() == {2}
    results = run(program_of(earlier, f8(3)), np.ones(3))
    np.testing.assert_array_equal(results[0], [0, np.sin(1), np.sin(1)])
    assert results[1] == np.exp(np.sin(1.0))


def test_the_order_as_written_keeps_derivatives_beside_what_they_belong_to() -> None:
    """What the user wrote comes first, unless the other order is asked for."""
    program = jvp(program_of(lambda x: np.exp(np.sin(x)), f8(3)), [True])
    marks = [equation.derived for equation in plan(program).equations]
    assert marks == sorted(marks)
    assert plan(program, as_written=True).equations == program.equations
    assert [e.derived for e in program.equations] != marks
