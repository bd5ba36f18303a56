"""How far a search goes: on functions of one variable, given by value and slope."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adjoint.base.errors import ArgumentError
from adjoint.calculus.optimize import LineSearch, Reason, Sharpness
from adjoint.calculus.optimize.ray import Ray, Trial
from adjoint.spaces import Euclidean


def ray(value, slope, start=0.0):
    space = Euclidean(())
    begin = Trial(0.0, np.float64(start), float(value(start)), float(slope(start)), slope(start))
    return Ray(
        lambda x: (float(value(x)), np.float64(slope(x))), space, begin, np.float64(1.0), space
    )


@settings(deadline=None)
@given(
    minimum=st.floats(1e-6, 1e6),
    curvature=st.floats(1e-6, 1e6),
    guess=st.floats(1e-6, 1e6),
)
def test_quadratics_are_minimised(minimum, curvature, guess):
    line = ray(lambda t: curvature * (t - minimum) ** 2 / 2, lambda t: curvature * (t - minimum))
    found = LineSearch(curvature=1e-3).find(line, guess)
    assert found.length == pytest.approx(minimum, rel=2e-3)


@settings(deadline=None)
@given(power=st.integers(1, 6), shift=st.floats(0.1, 10), guess=st.floats(1e-3, 1e3))
def test_wolfe_conditions_hold(power, shift, guess):
    """Nocedal, Wright 2006, (3.7): enough decrease, and a slope that is small enough."""
    search = LineSearch()
    line = ray(
        lambda t: (t - shift) ** (2 * power) + 0.1 * t,
        lambda t: 2 * power * (t - shift) ** (2 * power - 1) + 0.1,
    )
    if line.start.slope >= 0:
        return
    found = search.find(line, guess)
    assert found.value <= line.start.value + 1e-4 * found.length * line.start.slope + line.noise
    assert abs(found.slope) <= 0.1 * abs(line.start.slope)


def test_several_minima():
    line = ray(lambda t: np.sin(t) + 0.05 * t, lambda t: np.cos(t) + 0.05, start=2.0)
    found = LineSearch().find(line, 40.0)
    assert found.value < line.start.value
    assert abs(found.slope) <= 0.1 * abs(line.start.slope)


def test_what_cannot_be_evaluated_is_too_far():
    line = ray(
        lambda t: -np.sqrt(t) if t < 1e-3 else np.nan, lambda t: -0.5 / np.sqrt(t), start=1e-6
    )
    found = LineSearch().find(line, 1e3)
    assert isinstance(found, Trial)
    assert found.length < 1e-3


def test_no_lower_value_is_no_progress():
    line = ray(lambda t: abs(t), lambda t: -1.0 if t == 0 else 1.0)
    assert LineSearch().find(line, 1.0) is Reason.NO_PROGRESS
    nowhere = ray(lambda t: 0.0 if t == 0 else np.inf, lambda t: -1.0)
    assert LineSearch().find(nowhere, 1.0) is Reason.NO_PROGRESS


def test_too_few_trials_give_the_best():
    line = ray(lambda t: (t - 1e6) ** 2, lambda t: 2 * (t - 1e6))
    found = LineSearch(trials=1).find(line, 1.0)
    assert found.length == 1.0


def test_sharpness():
    line = ray(lambda t: (t - 3) ** 2, lambda t: 2 * (t - 3))
    assert Sharpness(0.25).find(line, 77.0).length == 2.0
    wild = ray(lambda t: -t if t < 1 else np.inf, lambda t: -1.0)
    assert Sharpness(0.25).find(wild, 1.0) is Reason.NOT_FINITE


@pytest.mark.parametrize(
    "wrong", [{"first": 0}, {"decrease": 0.6}, {"curvature": 1e-5}, {"curvature": 1}, {"trials": 0}]
)
def test_settings_out_of_range(wrong):
    with pytest.raises(ArgumentError, match="line search needs"):
        LineSearch(**wrong)


@pytest.mark.parametrize("eta", [0.0, -1.0, np.nan])
def test_sharpness_out_of_range(eta):
    with pytest.raises(ArgumentError, match="must be positive"):
        Sharpness(eta)


def test_a_lower_value_is_not_enough_where_it_is_more_than_rounding():
    def moved(t):
        return 1e-3 + 1e6 * t

    line = ray(  # from 1000 at 0 down to 2 near 1e-6, and up to 999.99 at 1
        lambda t: 1 / moved(t) + np.sqrt(moved(t)),
        lambda t: 1e6 * (-1 / moved(t) ** 2 + 0.5 / np.sqrt(moved(t))),
    )
    search = LineSearch()
    assert line.at(1.0).value < line.start.value
    found = search.find(line, 1.0)
    assert found.value <= line.start.value + search.decrease * found.length * line.start.slope
