"""Zeros that are written once: which fills an increment completes, and that it does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.optimise import completed_fills, plan, simplify
from adjoint.primitives.structure.slicing import take
from adjoint.program import Program
from adjoint.transforms import vjp
from tests.building import f8, program_of
from tests.building import names as primitive_names

N = 5000


def completed(program: Program) -> int:
    """How many fills are completed by an increment."""
    return len(completed_fills(program, plan(program)))


def gradient_of(function: Any, *shape: int) -> Program:
    """The simplified pullback of a function of expressions."""
    return simplify(vjp(program_of(function, f8(*shape)), [True]))


@pytest.mark.parametrize(
    ("index", "shape", "expected"),
    [
        (((0, N - 1, 1),), (N,), 1),
        (((1, N, 1),), (N,), 1),
        ((N // 2,), (N,), 1),
        (((2, 90, 1), (0, 100, 1)), (100, 100), 1),
        ((7, (0, 100, 1)), (100, 100), 1),
        (((0, N, 2),), (N,), 0),
        (((N - 1, -1, -1),), (N,), 0),
        (((0, 100, 1), (0, 50, 1)), (100, 100), 0),
        (((0, 5, 1),), (8,), 0),
    ],
)
def test_bands_of_the_first_axis_are_completed(index: Any, shape: Any, expected: int) -> None:
    program = gradient_of(lambda x: np.sin(take(x, index)), *shape)
    assert "fill" in primitive_names(program)
    assert completed(program) == expected


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.sum(x[1:] * x[:-1]),
        lambda x: np.sum(x[3:-7] ** 3),
        lambda x: x[17] ** 2 + x[0],
        lambda x: np.sum(x[10:20]) * x[-1],
        lambda x: np.sum(np.sin(x.reshape(100, 50)[5:9, :]) * 2.0),
        lambda x: np.sum(x.reshape(100, 50)[:, 3:4] ** 2),
        lambda x: np.sum(x[::2] * x[1::2]),
    ],
)
def test_gradients_of_slices_of_large_arrays(function: Any) -> None:
    """Small arrays take another way through the executor: both must agree with differences."""
    generator = np.random.default_rng(0)
    for _ in range(3):  # memory that is used again holds the numbers of the last run
        x = generator.standard_normal(N)
        u = generator.standard_normal(N)
        step = 1e-6
        slope = (function(x + step * u) - function(x - step * u)) / (2 * step)
        assert ad.grad(function)(x) @ u == pytest.approx(slope, rel=1e-6, abs=1e-6)


def test_zeros_that_are_used_twice_are_written() -> None:
    """Both outputs begin as the same zeros."""

    def f(x: Any, y: Any) -> Any:
        return np.sum(x[1:] * 2.0) + np.sum(y[1:] * 3.0)

    x = np.ones(N)
    first, second = ad.grad(f, argnums=(0, 1))(x, x)
    np.testing.assert_array_equal(first, [0.0] + [2.0] * (N - 1))
    np.testing.assert_array_equal(second, [0.0] + [3.0] * (N - 1))
