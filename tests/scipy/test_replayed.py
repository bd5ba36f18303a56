"""What is called again and again through SciPy's own Python code is captured a few times only.

And what the user can change of it, attributes and callbacks, is noticed.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import signal, special, stats
from scipy.spatial import KDTree

import adjoint as ad
from tests.calculus.replaying import in_sequence
from tests.counting import counting

X = np.array([0.3, 0.5, 0.8])


@pytest.mark.parametrize(
    "density",
    [
        lambda x: stats.norm.logpdf(x, 0.1, np.exp(x[0])),
        lambda x: stats.t.logpdf(x, 2.4),
        lambda x: stats.gamma.logpdf(x, 1 + x),
        lambda x: stats.beta.cdf(x, 2.0, 3.0),
        lambda x: stats.poisson.logpmf([1, 0, 4], x),
        lambda x: stats.multivariate_normal.logpdf(x, np.zeros(3), np.eye(3) * (1 + x[0])),
    ],
    ids=["norm", "t", "gamma", "beta", "poisson", "multivariate_normal"],
)
def test_distributions_are_replayed(density: Callable[..., Any]) -> None:
    function, calls = counting(lambda x: np.sum(density(x)))
    gradient = ad.grad(function)
    for scale in np.linspace(0.9, 1.1, 12):
        gradient(scale * X)
    assert len(calls) < 6
    assert "is replayed" in str(ad.explain(lambda x: np.sum(density(x)), X))


@pytest.mark.parametrize(
    "statistic",
    [
        lambda x: np.sum(stats.zscore(x) ** 3),
        lambda x: stats.pearsonr(x, np.sin(7 * np.arange(12.0)))[0],
        lambda x: stats.linregress(x, np.sin(7 * np.arange(12.0))).slope,
        lambda x: stats.trim_mean(x, 0.1),
        lambda x: np.sum(signal.savgol_filter(x, 7, 3) ** 2),
    ],
    ids=["zscore", "pearsonr", "linregress", "trim_mean", "savgol_filter"],
)
def test_statistics_are_replayed(statistic: Callable[..., Any]) -> None:
    function, calls = counting(statistic)
    gradient = ad.grad(function)
    x = np.cos(np.arange(12.0) ** 2)
    for scale in np.linspace(0.9, 1.1, 12):
        slope = gradient(scale * x)
    assert len(calls) < 8
    ahead, behind = (statistic(1.1 * x + step * np.eye(12)[3]) for step in (1e-6, -1e-6))
    assert np.isclose(slope[3], (ahead - behind) / 2e-6, rtol=1e-6, atol=1e-8)


def test_whether_an_argument_is_writeable_is_no_fact() -> None:
    """What has been computed is, in each call; an array that comes as an argument may not be."""

    def function(x: Any) -> Any:
        y = x * x
        return np.sum(y if y.flags.writeable and y[1:].flags.writeable else x)

    assert "is replayed" in str(ad.explain(function, X))
    assert "order in memory" in str(ad.explain(lambda x: np.sum(x * x.flags.writeable), X))


def test_another_parameter_of_a_frozen_distribution_is_noticed() -> None:
    frozen: Any = stats.norm(0.1, 2.0)

    def change() -> None:
        frozen.args = (frozen.args[0] + 0.5, frozen.args[1])

    in_sequence(lambda x: np.sum(frozen.logpdf(x)), change)


def test_other_data_of_an_estimated_density_are_noticed() -> None:
    density = stats.gaussian_kde(np.array([0.0, 1.0, 2.0, 4.0]))

    def change() -> None:
        density.dataset[0, 0] += 0.5

    in_sequence(lambda x: np.sum(density(x)), change, lambda: density.set_bandwidth(0.7))


def test_a_distribution_of_ones_own_is_replayed_and_what_changes_of_it_is_noticed() -> None:
    class Rising(stats.rv_continuous):
        power = 2.0

        def _logpdf(self, x: Any, *args: Any) -> Any:
            return self.power * np.log(x)

    rising = Rising(a=0.0, b=9.0, name="rising")

    def change() -> None:
        Rising.power += 1.0

    def function(x: Any) -> Any:
        return np.sum(rising.logpdf(x * x + 0.1))

    in_sequence(function, change, lambda: setattr(rising, "power", 5.0))
    assert "is replayed" in str(ad.explain(function, X))


def test_another_method_of_ones_own_distribution_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Flat(stats.rv_continuous):
        def _logpdf(self, x: Any, *args: Any) -> Any:
            return 2.0 * x

    flat = Flat(a=0.0, b=9.0, name="flat")
    in_sequence(
        lambda x: np.sum(flat.logpdf(x * x + 0.1)),
        lambda: monkeypatch.setattr(Flat, "_logpdf", lambda self, x: 3.0 * x),
    )


def test_what_is_drawn_is_drawn_anew() -> None:
    gradient = ad.grad(lambda x: np.sum(x * stats.norm.rvs(size=3)))
    assert not np.array_equal(gradient(X), gradient(X))


def test_what_an_object_of_a_compiled_class_holds_is_no_fact() -> None:
    tree = KDTree(np.arange(6.0).reshape(3, 2))
    if not tree.data.flags.writeable:
        pytest.skip("what a tree of this SciPy holds cannot be written into")

    def change() -> None:
        tree.data[1, 1] += 1.0

    in_sequence(lambda x: np.sum(x**2) * float(tree.data[1, 1]), change)


def test_other_coefficients_of_a_linear_system_are_noticed() -> None:
    made: Any = signal.lti
    system = made([1.0], [1.0, 2.0])

    def change() -> None:
        system.num = [system.num[0] + 1.0]

    in_sequence(lambda x: np.sum(x**2) * system.num[0] + system.den[1], change)


def test_attributes_that_only_code_of_scipys_asks_for_are_noticed() -> None:
    class Shifted:
        def __init__(self) -> None:
            self.shift = 1.0

        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            return np.array(self.shift, dtype)

    shifted = Shifted()

    def change() -> None:
        shifted.shift += 0.5

    in_sequence(lambda x: np.sum(stats.norm.logpdf(x, loc=np.asarray(shifted))), change)


@pytest.mark.parametrize("size", [None, 4], ids=["unbounded", "bounded"])
def test_what_a_cache_holds_is_a_fact_whatever_its_size(size: int | None) -> None:
    @functools.lru_cache(size)
    def table(length: int) -> list[float]:
        return [float(length), 2.0]

    def function(x: Any) -> Any:
        return np.sum(x * table(3)[0])

    in_sequence(function, lambda: table(3).__setitem__(0, table(3)[0] + 1.0))
    assert "is replayed" in str(ad.explain(function, X))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: stats.skew(x),
        lambda x: stats.kurtosis(x),
        lambda x: stats.gmean(x + 1),
        lambda x: stats.sem(x),
        lambda x: stats.moment(x, 3),
        lambda x: np.sum(signal.detrend(x) ** 2),
        lambda x: np.sum(signal.filtfilt([0.2, 0.3], [1, -0.5], x) ** 2),
    ],
    ids=["skew", "kurtosis", "gmean", "sem", "moment", "detrend", "filtfilt"],
)
def test_statistics_and_filters_are_replayed(function: Callable[..., Any]) -> None:
    x = np.linspace(0.1, 2.0, 20) ** 2
    assert "is replayed" in str(ad.explain(function, x))
    assert "is replayed" in str(ad.explain(ad.grad(function), x))


def test_what_statistics_are_told_is_noticed() -> None:
    told: dict[str, Any] = {"bias": True, "axis": 0, "data": np.array([1.0, 2.0, 4.0])}

    def change() -> None:
        told["bias"] = not told["bias"]

    def others() -> None:
        told["data"] = told["data"] + np.array([0.0, 1.0, 0.0])

    def function(x: Any) -> Any:
        return stats.skew(x * told["data"], axis=told["axis"], bias=told["bias"])

    in_sequence(function, change, others, change)


def test_a_function_that_is_made_a_statistic_is_compared() -> None:
    """SciPy asks for the parameters of a function that its decorator was given, the user's too."""
    from scipy.stats._axis_nan_policy import _axis_nan_policy_factory

    scale = {"by": 2.0}

    @_axis_nan_policy_factory(lambda result: result, n_outputs=1, result_to_tuple=lambda r, _: (r,))
    def spread(x: Any, axis: Any = 0) -> Any:
        return scale["by"] * np.sum(x**2, axis=axis)

    in_sequence(lambda x: spread(x) + 0.0, lambda: scale.update(by=5.0))


def test_distributions_that_are_made_inside_are_replayed() -> None:
    told: dict[str, Any] = {"loc": 0.1, "kind": stats.norm, "shape": 2.0}

    def densities(x: Any) -> Any:
        frozen = told["kind"](told["loc"], np.exp(x[1]))
        return np.sum(frozen.logpdf(x)) + np.sum(stats.gamma(told["shape"]).logpdf(x * x + 0.1))

    assert "is replayed" in str(ad.explain(densities, X))
    in_sequence(
        densities,
        lambda: told.update(loc=told["loc"] + 1.0),
        lambda: told.update(kind=stats.cauchy),
        lambda: told.update(shape=told["shape"] + 1.0),
    )


def test_a_distribution_of_ones_own_that_is_made_inside_is_compared() -> None:
    class Rising(stats.rv_continuous):
        power = 2.0

        def _pdf(self, x: Any, a: Any) -> Any:  # whose parameters SciPy asks for
            return a * x

        def _logpdf(self, x: Any, a: Any = 1.0) -> Any:
            return a * self.power * np.log(x)

    def change() -> None:
        Rising.power += 1.0

    def replace() -> None:
        Rising._pdf = lambda self, x: x
        Rising._logpdf = lambda self, x: 3.0 * x

    shapes = [2.0]

    def function(x: Any) -> Any:
        made: Any = Rising(a=0.0, b=99.0, name="rising")
        return np.sum(made(*shapes).logpdf(x * x + 0.1))

    in_sequence(function, change)
    in_sequence(function, change, lambda: (replace(), shapes.clear()))


def test_what_a_distribution_of_scipys_is_made_to_hold_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    in_sequence(
        lambda x: np.sum(stats.norm(0.1, 2.0).logpdf(x)),
        lambda: monkeypatch.setattr(stats.norm, "_parse_args", lambda *_, **__: ((), 3.0, 1.0)),
    )


def test_what_is_drawn_of_a_distribution_that_is_made_inside_is_drawn_anew() -> None:
    gradient = ad.grad(lambda x: np.sum(x * stats.norm(0.0, 1.0).rvs(size=3)))
    assert not np.array_equal(gradient(X), gradient(X))


def test_what_only_scipys_modules_may_ask_is_asked_by_others_at_every_call() -> None:
    def loaded(x: Any) -> Any:
        return np.sum(x) * (2.0 if sys.modules.get("no_such_module") else 1.0)

    def counted(x: Any) -> Any:
        return np.sum(x) * len(inspect.signature(loaded).parameters)

    for function in (loaded, counted):
        assert "is captured at every call" in str(ad.explain(function, X))


def test_what_scipy_does_about_errors_within_is_done_at_each_call() -> None:
    def function(x: Any) -> Any:
        try:
            with special.errstate(all="raise"):
                return special.gamma(x)
        except special.SpecialFunctionError:
            return -x

    jitted = ad.jit(function)
    for x in (1.5, 0.0, 2.5, -1.0):
        np.testing.assert_allclose(jitted(np.array([x, 2.0])), function(np.array([x, 2.0])))
