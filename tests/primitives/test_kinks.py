"""At a kink the derivative is the documented convex combination of the one-sided derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from adjoint.base.errors import ArgumentError
from adjoint.base.settings import config
from adjoint.primitives.elementwise.conversion import real
from adjoint.primitives.expression import bind
from adjoint.primitives.structure.reductions import MAX, MIN
from adjoint.transforms import jvp, vjp
from tests.building import program_at, run

KINKS = (0.0, 0.25, 0.5, 1.0)


def slopes(function: Callable[..., Any], *point: float) -> list[float]:
    """The partial derivatives at a point, forwards; checked against reverse mode."""
    values = [np.float64(x) for x in point]
    program = program_at(function, *values)
    active = (True,) * len(values)
    _, *backward = run(vjp(program, active), *values, np.float64(1), strong=True)
    forward = []
    for place in range(len(values)):
        direction = [np.float64(place == other) for other in range(len(values))]
        forward.append(run(jvp(program, active), *values, *direction, strong=True)[1])
    assert [float(x) for x in backward] == [float(x) for x in forward]
    return [float(x) for x in forward]


@pytest.mark.parametrize("kink", KINKS)
@pytest.mark.parametrize("function", [np.absolute, np.fabs])
def test_absolute(function: Any, kink: float) -> None:
    with config(kink=kink):
        assert slopes(function, 0.0) == [2 * kink - 1]
        assert slopes(function, -0.0) == [2 * kink - 1]
        assert slopes(function, 1.5) == [1]
        assert slopes(function, -1.5) == [-1]


@pytest.mark.parametrize("kink", KINKS)
@pytest.mark.parametrize("function", [np.maximum, np.fmax])
def test_maximum(function: Any, kink: float) -> None:
    with config(kink=kink):
        assert slopes(function, 2.0, 2.0) == [kink, 1 - kink]
        assert slopes(function, 2.0, 1.0) == [1, 0]
        assert slopes(function, 1.0, 2.0) == [0, 1]
        assert slopes(lambda x: function(x, 0.0), 0.0) == [kink]  # relu


@pytest.mark.parametrize("kink", KINKS)
@pytest.mark.parametrize("function", [np.minimum, np.fmin])
def test_minimum(function: Any, kink: float) -> None:
    with config(kink=kink):
        assert slopes(function, 2.0, 2.0) == [1 - kink, kink]
        assert slopes(function, 2.0, 1.0) == [0, 1]
        assert slopes(function, 1.0, 2.0) == [1, 0]


def test_clipping_has_the_slope_of_the_combination_at_each_end() -> None:
    def clip(x: Any) -> Any:
        return np.minimum(np.maximum(x, -1.0), 1.0)

    with config(kink=1.0):  # the right-hand derivative
        assert [slopes(clip, x)[0] for x in (-1.0, 0.0, 1.0)] == [1, 1, 0]
    with config(kink=0.0):  # the left-hand one
        assert [slopes(clip, x)[0] for x in (-1.0, 0.0, 1.0)] == [0, 1, 1]


@pytest.mark.parametrize(
    ("function", "at_nan_first", "at_nan_second"),
    [
        (np.maximum, [1, 0], [0, 1]),
        (np.minimum, [1, 0], [0, 1]),
        (np.fmax, [0, 1], [1, 0]),
        (np.fmin, [0, 1], [1, 0]),
    ],
)
def test_nan_is_chosen_where_numpy_returns_it(
    function: Any, at_nan_first: list[float], at_nan_second: list[float]
) -> None:
    assert slopes(function, np.nan, 1.0) == at_nan_first
    assert slopes(function, 1.0, np.nan) == at_nan_second
    assert slopes(function, np.nan, np.nan) == [1, 0]


@pytest.mark.parametrize("primitive", [MAX, MIN])
def test_ties_of_a_reduction_are_shared_equally(primitive: Any) -> None:
    sign = 1 if primitive is MAX else -1
    x = sign * np.array([[3.0, 1.0, 3.0], [5.0, 2.0, 0.0]])
    program = program_at(lambda a: bind(primitive, a, axes=(1,)), x)
    _, gradient = run(vjp(program, (True,)), x, np.array([1.0, 10.0]))
    np.testing.assert_array_equal(gradient, [[0.5, 0, 0.5], [10, 0, 0]])
    _, slope = run(jvp(program, (True,)), x, np.ones_like(x))
    np.testing.assert_array_equal(slope, [1, 1])


def test_origin_of_norms() -> None:
    assert slopes(np.hypot, 0.0, 0.0) == [0, 0]
    z = np.complex128(0)
    program = program_at(np.absolute, z)
    assert run(jvp(program, (True,)), z, np.complex128(1 + 1j)) == (0, 0)
    assert run(vjp(program, (True,)), z, np.float64(1)) == (0, 0)


@pytest.mark.parametrize("function", [np.sign, np.floor, np.ceil, np.trunc, np.rint])
@pytest.mark.parametrize("x", [-1.0, 0.0, 0.5, 2.0])
def test_steps_are_flat(function: Any, x: float) -> None:
    assert slopes(function, x) == [0]


def test_the_sign_of_a_complex_number_turns_with_it() -> None:
    """z / |z| moves with the part of the tangent across z."""
    z = np.array([3 + 4j, -2 + 0j])
    program = program_at(np.sign, z)
    _, along = run(jvp(program, (True,)), z, z)
    np.testing.assert_allclose(along, 0, atol=1e-16)
    _, across = run(jvp(program, (True,)), z, 1j * z)
    np.testing.assert_allclose(across, 1j * z / np.abs(z))


def test_remainders_use_the_quotient_that_numpy_used() -> None:
    """1 / 0.1 rounds to 10, but 1.0 % 0.1 is 0.09999999999999995: the quotient is 9."""
    assert slopes(np.remainder, 1.0, 0.1) == [1, -9]
    assert slopes(np.fmod, 1.0, 0.1) == [1, -9]
    assert slopes(np.remainder, -1.0, 0.3) == [1, 4]
    assert slopes(np.fmod, -1.0, 0.3) == [1, 3]


def test_a_kink_outside_the_unit_interval_is_refused() -> None:
    with pytest.raises(ArgumentError, match="convex combination"), config(kink=1.5):
        pass


def test_the_real_part_of_a_real_number_is_itself() -> None:
    x = np.arange(3.0)
    assert program_at(lambda a: np.sin(real(a)), x) == program_at(np.sin, x)
