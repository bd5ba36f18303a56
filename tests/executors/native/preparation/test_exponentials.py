"""The exponential of a matrix and its derivatives as machine code."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import linalg

pytest.importorskip("llvmlite")

import adjoint as ad
from adjoint.base.arrays import type_of
from adjoint.executors import NumpyExecutor
from adjoint.executors.native.lowering.lower import lowerable
from adjoint.primitives.linear_algebra.matrix_functions import MATRIX_FUNCTION
from adjoint.program import Builder, Program, operation
from tests.executors.native.comparing import run_native

RNG = np.random.default_rng(0)


def program_of(operands: list[Any], function: str = "expm") -> Program:
    builder = Builder()
    inputs = [builder.input(type_of(operand)) for operand in operands]
    return builder.build(builder.emit(operation(MATRIX_FUNCTION, function=function), inputs))


def drawn(dtype: Any, size: float, *shape: int) -> Any:
    x = RNG.normal(size=shape) + (1j * RNG.normal(size=shape) if np.dtype(dtype).kind == "c" else 0)
    return (size * x).astype(dtype)


@pytest.mark.parametrize("dtype", ["d", "D", "f", "F"])
@pytest.mark.parametrize("directions", [0, 1, 2])
@pytest.mark.parametrize("size", [1e-9, 8.0])
def test_exponentials_are_those_of_scipy(dtype: str, directions: int, size: float) -> None:
    """Directions may be of any size: SciPy, which scales all of them alike, loses digits there."""
    for rows in (1, 3):
        operands = [drawn(dtype, size / rows, 2, rows, rows)]
        operands += [drawn(dtype, 10.0**n, rows, rows) for n in range(directions)]
        program = program_of(operands)
        (found,) = run_native(program, operands) or (None,)
        (expected,) = NumpyExecutor().compile(program).run(*operands)
        assert found.dtype == expected.dtype
        bound = (1e-12 if dtype in "dD" else 1e-4) * np.abs(expected).max(
            axis=(1, 2), keepdims=True
        )
        assert (np.abs(found - expected) <= bound).all()


def test_a_rotation_and_a_decay_are_right_to_the_last_digits() -> None:
    """The exponentials of [[0, -t], [t, 0]] and of -t, in which all terms of the series cancel."""
    for t in np.linspace(0.1, 50.0, 8):
        turning = np.array([[0.0, -t], [t, 0.0]])
        (found,) = run_native(program_of([turning]), [turning]) or (None,)
        exact = [[np.cos(t), -np.sin(t)], [np.sin(t), np.cos(t)]]
        np.testing.assert_allclose(found, exact, rtol=0, atol=1e-15 * (1 + t))
        decaying = np.array([[-t]])
        (found,) = run_native(program_of([decaying]), [decaying]) or (None,)
        np.testing.assert_allclose(found, np.exp(decaying), rtol=1e-15 * (1 + t))


def test_a_direction_of_zeros_gives_zeros() -> None:
    operands = [drawn("d", 1.0, 3, 3), np.zeros((3, 3))]
    (found,) = run_native(program_of(operands), operands) or (None,)
    np.testing.assert_array_equal(found, np.zeros((3, 3)))


@pytest.mark.parametrize("number", [1e3, np.inf, np.nan])
def test_what_needs_many_squarings_is_left_to_scipy(number: float) -> None:
    x = np.array([[0.0, number], [0.0, 0.0]])
    assert run_native(program_of([x]), [x]) is None
    if not np.isfinite(number):  # a direction may be of any size
        assert run_native(program_of([np.eye(2), x]), [np.eye(2), x]) is None
    with ad.config(native=True):
        jitted = ad.jit(linalg.expm)
        np.testing.assert_array_equal(jitted(np.zeros((2, 2))), np.eye(2))
        if np.isfinite(number):
            np.testing.assert_array_equal(jitted(x), linalg.expm(x))


def test_large_matrices_and_other_functions_are_left_to_scipy() -> None:
    for program in (program_of([np.eye(40)]), program_of([np.eye(2)], "logm")):
        assert not lowerable(program.equations[0], False)
    (small,) = program_of([np.eye(2)]).equations
    assert lowerable(small, False)
    assert not lowerable(small, True)  # to the last bit it is SciPy's to say


def test_a_loop_and_its_derivatives() -> None:
    x = drawn("d", 0.5, 3, 3)

    def total(x: Any) -> Any:
        def moved(_: Any, y: Any) -> Any:
            return linalg.expm(0.3 * x - 0.3 * x.T) @ y

        return np.sum(np.sin(ad.fori_loop(0, 5, moved, x)))

    for function in (total, ad.grad(total), ad.hessian(total)):
        held = ad.program(function, x)
        (found,) = run_native(held.simplified().program, held.values or ()) or (None,)
        with ad.config(native=False):
            np.testing.assert_allclose(found, function(x), rtol=1e-11, atol=1e-12)
