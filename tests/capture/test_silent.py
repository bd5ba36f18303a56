"""What the user computes silently is NumPy's all the same: nothing is moved, nothing wins."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

import adjoint as ad

INFINITE = np.array([1.0, np.inf, 2.0])


def spread(x: Any) -> Any:
    d = x - np.mean(x)
    with np.errstate(invalid="ignore"):
        return np.sqrt(np.sum(d * d) * 1.1)


def scaled(x: Any) -> Any:
    with np.errstate(all="ignore"):
        return np.sum(0.1 * (x * 3.0) * 7.0 - 0.3 * (x * 0.7))


def of_a_loop(x: Any) -> Any:
    with np.errstate(all="ignore"):
        for _ in range(40):
            x = 0.1 * (x * 3.0) * 1.7 + x * 0.3
    return np.sum(x)


def of_pythons_numbers(x: float) -> float:
    return 0.1 * (x * 3.0) * 1.7 + x * 0.3 * 0.7


@pytest.mark.parametrize("native", [True, False])
def test_a_value_that_is_nan_has_no_slope_of_zero(native: bool) -> None:
    with ad.config(native=native), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert np.isnan(ad.grad(spread)(INFINITE)).all()
        assert np.isnan(ad.jacobian(spread, mode="forward")(INFINITE)).all()


@pytest.mark.parametrize(
    "statistic", [stats.gstd, lambda x: stats.ttest_ind(x, x * x + 1).statistic], ids=["gstd", "t"]
)
def test_infinities_give_scipys_values(statistic: Callable[..., Any]) -> None:
    x = np.abs(np.random.default_rng(0).normal(size=8)) + 0.1
    x[2] = np.inf
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        slope, jitted = ad.value_and_grad(statistic), ad.jit(ad.value_and_grad(statistic))
        wanted = statistic(x)
        for _ in range(5):
            np.testing.assert_equal(slope(x)[0], wanted)
            np.testing.assert_equal(jitted(x)[0], wanted)


@pytest.mark.parametrize("function", [scaled, of_a_loop])
@pytest.mark.parametrize("seed", range(5))
def test_factors_of_silent_operations_stay(function: Callable[..., Any], seed: int) -> None:
    x = np.random.default_rng(seed).normal(size=7)
    wanted = function(x)
    with ad.config(native=False):
        assert ad.value_and_grad(function)(x)[0] == wanted
        assert ad.jit(ad.value_and_grad(function))(x)[0] == wanted


@pytest.mark.parametrize("x", [0.1, 0.7, 1.3e-7, 3.3])
def test_factors_of_pythons_numbers_stay(x: float) -> None:
    with ad.config(native=False):
        assert ad.value_and_grad(of_pythons_numbers)(x)[0] == of_pythons_numbers(x)
        assert ad.jit(ad.value_and_grad(of_pythons_numbers))(x)[0] == of_pythons_numbers(x)


def test_silent_operations_warn_of_nothing_in_replays_and_loops() -> None:
    def function(x: Any) -> Any:
        with np.errstate(all="ignore"):
            y = np.sqrt(x - 1.0) / (x - x)
            for _ in range(30):
                y = np.log(y) * 0.5 + x
        return np.sum(np.where(np.isfinite(y), y, x))

    x = np.array([0.5, 1.0, 2.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for transform in (ad.grad(function), ad.jit(ad.grad(function)), ad.jit(function)):
            for _ in range(4):
                transform(x)


def test_what_a_question_rests_on_is_silent_in_replays_as_well() -> None:
    """It is computed for the capture around, once more."""

    def function(x: Any) -> Any:
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.max(np.abs(x)) / np.abs(x[0])
        return np.sum(x) if ratio > 3 else np.sum(2 * x)

    slope = ad.value_and_grad(function)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(8):
            assert slope(np.zeros(4))[0] == 0.0
            np.testing.assert_array_equal(slope(np.array([0.0, 1.0]))[1], 1.0)


def test_flags_that_are_set_hold() -> None:
    def function(x: Any) -> Any:
        y = np.sin(x)
        y.setflags(write=False)
        try:
            y[0] = 5.0
        except ValueError:
            return np.sum(y * (1.0 if y.flags.writeable else 7.0))
        return np.sum(y)

    x = np.array([1.0, 2.0])
    assert ad.jit(function)(x) == function(x)
    np.testing.assert_allclose(ad.grad(function)(x), 7 * np.cos(x))


def test_a_warning_that_is_an_error_is_that_error() -> None:
    def function(x: Any) -> Any:
        return np.sum(stats.zscore(x))

    x = np.full((12, 3), 3.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for call in (function, ad.jit(function), ad.grad(function)):
            with pytest.raises(RuntimeWarning, match="Precision loss"):
                call(x)


@pytest.mark.parametrize("modes", [{"all": "warn"}, {"under": "warn"}, {"divide": "warn"}])
@pytest.mark.parametrize("around", ["warn", "ignore"])
@pytest.mark.filterwarnings("default")
def test_a_warning_that_is_asked_for_names_the_line(modes: dict[str, Any], around: Any) -> None:
    def function(x: Any) -> Any:
        with np.errstate(**modes):
            return np.log(x) + np.exp(-1e3 * x)

    x = np.array([0.0, 1.0])
    said = []
    for call in (function, ad.jit(function), ad.jacobian(function)):
        with np.errstate(all=around), warnings.catch_warnings(record=True) as record:
            warnings.simplefilter("always")
            call(x)
        said.append([(str(warning.message), warning.lineno) for warning in record])
    assert said[1] == said[2] == said[0]
