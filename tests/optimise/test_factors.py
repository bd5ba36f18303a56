"""Constant factors of derivatives: where they go, and that they change no value but by rounding."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from adjoint.optimise import simplify
from adjoint.optimise.factors import move_factors
from adjoint.primitives.structure import sum_axes
from adjoint.program import Program
from adjoint.transforms import jvp, vjp
from tests.building import f8, names, program_of, run


def derived(function: Any, *types: Any) -> Program:
    """The simplified program of the tangent alone."""
    program = program_of(function, *types)
    whole = jvp(program, [True] * len(types))
    count = len(program.outputs)
    return simplify(Program(whole.inputs, whole.equations, whole.outputs[count:]))


def test_two_factors_are_one() -> None:
    found = names(derived(lambda x: np.square(np.negative(np.square(x))), f8(4)))
    assert found.count("multiply") <= 2, found


def test_a_factor_leaves_a_sum() -> None:
    """d sum(x^2)[u] = 2 <x, u>: one contraction, and a product of numbers."""
    program = derived(lambda x: sum_axes(np.square(x), (0,)), f8(4))
    assert names(program) == ["contract", "multiply"]
    x, u = np.arange(4.0), np.array([1.0, -1.0, 2.0, 0.5])
    assert run(program, x, u) == pytest.approx(2 * x @ u, rel=1e-15)


def test_a_common_sign_is_taken_out_of_a_sum() -> None:
    program = derived(lambda x, y: np.negative(x) - y, f8(3), f8(3))
    assert names(program) == ["add", "negative"]
    program = derived(lambda x, y: np.negative(x) + y, f8(3), f8(3))
    assert names(program) == ["subtract"]


def test_a_factor_goes_into_the_smaller_operand() -> None:
    """In reverse, the 2 of a square multiplies the one number that comes through the sum."""
    program = program_of(lambda x: sum_axes(np.square(x), (0,)), f8(4))
    reverse = simplify(vjp(program, [True]))
    types = {str(e.outputs[0].type) for e in reverse.equations if e.primitive.name == "multiply"}
    assert types == {"f8[]"}


def test_what_the_user_wrote_is_left_alone() -> None:
    program = program_of(lambda x: sum_axes(2.0 * np.negative(x) * x, (0,)), f8(4))
    assert move_factors(program) is program
    assert names(simplify(program)) == ["negative", "multiply", "multiply", "sum"]


def test_factors_of_zero_and_infinity_stay_where_they_are() -> None:
    program = derived(lambda x: x * 0.0 + x * np.inf, f8(2))
    with np.errstate(all="ignore"):
        assert np.isnan(run(program, np.ones(2), np.zeros(2))).all()
