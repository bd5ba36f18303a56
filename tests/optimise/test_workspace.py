"""Workspace: what lives in it, and that runs never see each other's numbers."""

from __future__ import annotations

import sys
import threading
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import adjoint as ad
from adjoint.executors import NumpyExecutor
from adjoint.executors.arena import Arena
from adjoint.executors.numpy.templates import takes_memory
from adjoint.optimise import plan, simplify, workspace
from adjoint.primitives.structure.contraction import contract
from adjoint.primitives.structure.moving import permute, sum_axes
from adjoint.program import Program
from adjoint.transforms import jvp, vjp
from tests.building import f8, program_of
from tests.transforms.test_random_programs import ACTIVE, INDEX, N, programs, quickly

LARGE = 5000  # doubles: above the size from which results are put in workspace


def slots(function: Any, *types: Any) -> int:
    """How many arrays of workspace a function needs."""
    program: Program = program_of(function, *types)
    return len(workspace(program, plan(program), takes_memory).slots)


def test_a_chain_needs_one_array() -> None:
    assert slots(lambda x: sum_axes(np.exp(np.sin(np.cos(x))), (0,)), f8(LARGE)) == 1


def test_what_is_needed_together_is_held_together() -> None:
    assert slots(lambda x: sum_axes(np.sin(x) * np.cos(x) * np.exp(x), (0,)), f8(LARGE)) == 2


def test_memory_that_has_ended_is_handed_out_again() -> None:
    def function(x: Any) -> Any:
        return sum_axes(np.sin(x), (0,)) + sum_axes(np.cos(x), (0,)) + sum_axes(np.exp(x), (0,))

    assert slots(function, f8(LARGE)) == 1


def test_small_results_and_outputs_are_not_in_it() -> None:
    assert slots(lambda x: sum_axes(np.sin(x), (0,)), f8(10)) == 0
    assert slots(np.sin, f8(LARGE)) == 0
    assert slots(lambda x: permute(np.sin(np.cos(x)), (1, 0)), f8(100, 100)) == 0


def test_matrix_products_are_in_it() -> None:
    def function(x: Any) -> Any:
        return sum_axes(contract(np.sin(x), x, "ab,bc->ac"), (0, 1))

    assert slots(function, f8(100, 100)) == 2


def test_runs_do_not_see_each_other() -> None:
    """Results of one run are untouched by the next, with other arguments and from other threads."""

    def f(x: Any) -> Any:
        return np.sum(np.tanh(np.sin(x) * x) + np.exp(-x * x) * x[::-1])

    points = [np.random.default_rng(seed).standard_normal(LARGE) for seed in range(6)]
    expected = [ad.grad(f)(x) for x in points]
    again = [ad.grad(f)(x) for x in points]
    for first, second in zip(expected, again, strict=True):
        np.testing.assert_array_equal(first, second)
    wrong: list[int] = []

    def work(number: int) -> None:
        for _ in range(20):
            # By now the program may be machine code, which rounds in its own way.
            if not np.allclose(ad.grad(f)(points[number]), expected[number], 1e-13, 1e-14):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_results_are_never_workspace() -> None:
    f = ad.value_and_grad(lambda x: np.sum(np.exp(np.sin(x)) * x))
    x = np.linspace(0, 1, LARGE)
    _, first = f(x)
    kept = first.copy()
    _, second = f(x + 1)
    assert not np.shares_memory(first, second)
    np.testing.assert_array_equal(first, kept)


def test_an_error_in_the_middle_leaves_nothing_behind() -> None:
    def f(x: Any, i: Any) -> Any:
        return np.sum(np.sin(np.cos(x))[i])

    x = np.ones(LARGE)
    g = ad.jit(f)
    good = g(x, np.array([1]))
    with pytest.raises(IndexError):
        g(x, np.array([LARGE + 1]))
    assert g(x, np.array([1])) == good


def test_the_arena_is_bounded() -> None:
    arena = Arena(limit=3 * 8 * LARGE)
    types = [f8(LARGE)] * 2
    first, second = arena.take(types), arena.take(types)
    arena.give(types, first)
    assert arena.kept == 2 * 8 * LARGE
    arena.give(types, second)
    assert arena.kept <= arena.limit
    huge = [f8(10 * LARGE)]
    arena.give(huge, arena.take(huge))
    assert arena.kept <= arena.limit


def test_the_arena_hands_out_what_it_took_back() -> None:
    arena = Arena()
    types = [f8(LARGE)]
    (array,) = arena.take(types)
    arena.give(types, [array])
    assert arena.take(types)[0] is array
    assert arena.take(types)[0] is not array
    assert arena.kept == 0


def test_results_are_lent_and_lent_again_only_when_nothing_refers_to_them() -> None:
    """Views, views of views and slices of a result hold its memory as the result itself does."""
    gradient = ad.grad(lambda x: np.sum(np.exp(np.sin(x))))
    x = np.linspace(0, 1, 3 * LARGE + 1)
    kept = [gradient(x + step) for step in range(7)]
    for number, one in enumerate(kept):
        assert not any(np.shares_memory(one, other) for other in kept[:number])
        np.testing.assert_array_equal(one, gradient(x + number))
    part = kept[0][10:20].reshape(2, 5)
    expected = part.copy()
    del kept, one
    for step in range(7):
        gradient(x - step)
    np.testing.assert_array_equal(part, expected)


def test_memory_of_results_that_are_gone_is_used_again() -> None:
    arena = Arena()
    types = [f8(LARGE)]
    (first,) = arena.lend(types)
    place = first.ctypes.data
    (second,) = arena.lend(types)
    assert second.ctypes.data != place
    del first
    (third,) = arena.lend(types)
    assert third.ctypes.data == place
    held = [arena.lend(types)[0] for _ in range(10)]
    assert len({array.ctypes.data for array in (second, third, *held)}) == 12
    assert arena.lent == 4 * 8 * LARGE


def test_what_is_lent_is_bounded() -> None:
    arena = Arena(limit=8 * LARGE * 2)
    for length in range(LARGE, LARGE + 20):
        arena.lend([f8(length)])
        assert arena.lent <= arena.limit
    arena.lend([f8(10 * LARGE)])
    assert arena.lent <= arena.limit


def test_results_are_writable_and_ordinary() -> None:
    x = np.linspace(0, 1, LARGE)
    gradient = ad.grad(lambda t: np.sum(t[1:] * t[:-1]))(x)
    assert type(gradient) is np.ndarray
    assert gradient.flags.writeable
    assert gradient.flags.c_contiguous
    gradient += 1
    np.testing.assert_allclose(gradient[1:-1] - 1, x[2:] + x[:-2])


@quickly
@given(program=programs(), seed=st.integers(0, 2**16), transform=st.sampled_from([jvp, vjp]))
def test_random_programs_give_the_same_in_workspace(
    program: Program, seed: int, transform: Any
) -> None:
    """With every result that can be in workspace put there, twice over, nothing changes."""
    generator = np.random.default_rng(seed)
    whole = simplify(transform(program, ACTIVE))
    values = [
        INDEX if variable.type.dtype.kind == "i" else generator.uniform(-1, 1, (N, N))
        for variable in whole.inputs
    ]
    executor = NumpyExecutor()
    with np.errstate(all="ignore"):
        expected = executor.compile(whole).run(*values)
        everywhere = sys.modules["adjoint.optimise.workspace"]
        with patch.object(everywhere, "SMALLEST", 1):
            compiled = executor.compile(whole)
        first = compiled.run(*values)
        kept = [np.copy(result) for result in first]
        second = compiled.run(*values)
    for one, copy, other, reference in zip(first, kept, second, expected, strict=True):
        np.testing.assert_array_equal(one, copy)  # the second run has not touched the first's
        np.testing.assert_array_equal(copy, reference)
        np.testing.assert_array_equal(other, reference)
