"""`scipy.stats`: distributions by SciPy's own formulas, in every mode."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import adjoint as ad
from tests.scipy import distributions
from tests.scipy.comparing import agrees

PAGE = Path(__file__).parents[2] / "docs" / "scipy.md"
METHODS = [
    *(("norm", "logpdf"), ("gamma", "logpdf"), ("t", "cdf"), ("beta", "ppf"), ("beta", "pdf")),
    *(("genextreme", "logsf"), ("truncnorm", "logcdf"), ("triang", "pdf"), ("skewnorm", "pdf")),
    *(("invgauss", "logpdf"), ("laplace", "ppf"), ("poisson", "logpmf"), ("nbinom", "cdf")),
]
RNG = np.random.default_rng(3)
POINTS = RNG.standard_normal((5, 3))
FACTOR = RNG.standard_normal((3, 3))


@pytest.mark.parametrize(("name", "method"), METHODS)
def test_methods(name: str, method: str) -> None:
    assert distributions.refused_arguments(name, method) == []
    assert distributions.agrees_with_itself(name, method, [])


@pytest.mark.slow
def test_the_table_of_the_page() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert distributions.table() in PAGE.read_text()


def test_the_table_has_every_distribution() -> None:
    text = PAGE.read_text()
    assert all(name in text for name in distributions.cases())


def test_outside_of_the_support_and_bad_shapes() -> None:
    x = np.array([-1.0, 0.3, np.nan, 2.0])
    shapes = np.array([[2.0], [-1.0]])

    def density(x: Any) -> Any:
        return stats.gamma.logpdf(x, shapes)

    def below_zero(x: Any) -> Any:
        return np.sum(np.where(np.isfinite(density(x)), density(x), 0.0))

    np.testing.assert_allclose(ad.jit(density)(x), density(x), rtol=1e-15)  # log of machine code
    assert np.array_equal(ad.grad(below_zero)(x)[[0, 2]], [0.0, 0.0])
    for method in ("cdf", "sf", "logcdf", "logsf", "ppf", "isf", "pdf"):
        evaluate = getattr(stats.beta, method)
        places = np.array([-1.0, 0.0, 0.25, 1.0, 2.0, np.nan])
        plain = evaluate(places, 2.0, 3.0, scale=[[1.0], [-2.0]])
        ours = ad.jit(lambda q, run=evaluate: run(q, 2.0, 3.0, scale=[[1.0], [-2.0]]))(places)
        np.testing.assert_allclose(ours, plain, rtol=1e-12)


@pytest.mark.parametrize("name", ["norm", "expon", "logistic", "uniform"])
def test_quantiles_at_both_ends_without_shapes(name: str) -> None:
    for method in ("ppf", "isf"):
        evaluate = getattr(getattr(stats, name), method)
        places = np.array([-1.0, 0.0, 0.25, 1.0, 2.0, np.nan])
        np.testing.assert_allclose(ad.jit(evaluate)(places), evaluate(places), rtol=1e-12)


def test_no_formula_warns_of_what_lies_outside() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        slopes = ad.grad(lambda x: np.sum(stats.gamma.pdf(x, 2.5)))(np.array([-1.0, 0.5]))
    assert slopes[0] == 0.0
    assert np.isfinite(slopes[1])


def test_a_batch_may_lie_on_both_sides() -> None:
    x = np.array([-1.0, 0.5, 2.0])
    batched = ad.vmap(ad.grad(lambda x: stats.expon.cdf(x)))(x)
    np.testing.assert_allclose(batched, [0.0, np.exp(-0.5), np.exp(-2.0)])


def test_frozen_distributions() -> None:
    kept = stats.norm(1.0, 2.0)
    assert np.isclose(ad.grad(kept.logpdf)(0.5), 0.125)
    assert np.isclose(ad.grad(lambda mean: stats.norm(mean, 2.0).logpdf(0.5))(1.0), -0.125)


def test_a_distribution_of_the_users() -> None:
    class Ramp(stats.rv_continuous):
        def _pdf(self, x: Any, c: Any) -> Any:
            return (1.0 + c * (2 * x - 1.0)) * np.exp(0.0 * x)

    ramp = Ramp(a=0.0, b=1.0, name="ramp", shapes="c")
    assert np.isclose(ad.grad(lambda c: ramp.pdf(0.75, c))(0.3), 0.5)


def test_the_limit_of_a_formula_has_no_slope_in_its_shape() -> None:
    def density(x: Any, c: Any) -> Any:
        return stats.genpareto.logpdf(x, c)

    assert np.isnan(ad.grad(density, argnums=1)(0.5, 0.0))
    assert np.isclose(ad.grad(density)(0.5, 0.0), -1.0)
    batched = ad.vmap(ad.grad(lambda c: density(0.5, c)))(np.array([0.0, 0.1]))
    assert np.isnan(batched[0])
    assert np.isclose(batched[1], ad.grad(lambda c: density(0.5, c))(0.1))


def _of_shapes(method: Any, shapes: tuple[float, ...], x: Any) -> Any:
    return method(x, *shapes)


def test_formulas_in_the_absolute_value_of_what_is_smooth() -> None:
    smooth: tuple[tuple[Any, float, float], ...] = (
        (stats.logistic.logpdf, 0.0, -1 / 2),
        (stats.logistic.pdf, 0.0, -1 / 8),
        (lambda x: stats.genlogistic.logpdf(x, 2.0), 1 / 2, -3 / 4),
        (lambda x: stats.genlogistic.pdf(x, 2.0), 1 / 8, -1 / 8),
        (stats.cauchy.logpdf, 0.0, -2.0),
        (stats.cauchy.pdf, 0.0, -2 / np.pi),
        (lambda x: stats.gennorm.logpdf(x, 2.0), 0.0, -2.0),
        (lambda x: stats.gennorm.logpdf(x, 3.0), 0.0, 0.0),
    )
    for density, slope, second in smooth:
        assert np.isclose(ad.grad(density)(0.0), slope)
        assert np.isclose(ad.hessian(density)(0.0), second)
        assert np.isclose(ad.vmap(ad.grad(density))(np.zeros(1))[0], slope)
    for kinked in (stats.gennorm, stats.dweibull):  # of both, 1 gives Laplace's
        assert np.isclose(ad.grad(kinked.cdf)(0.0, 1.0), 0.5)
        assert np.isclose(ad.grad(kinked.sf)(0.0, 1.0), -0.5)
    assert ad.grad(stats.gennorm.logpdf)(0.0, 1.0) == 0
    for distribution, shape in ((stats.gennorm, 1.5), (stats.dweibull, 1.5), (stats.cauchy, None)):
        shapes = () if shape is None else (shape,)
        x = np.array([-2.5, -0.3, 0.0, 0.3, 2.5])
        for name in ("pdf", "logpdf", "cdf", "sf", "logsf"):
            method = getattr(distribution, name)
            function = functools.partial(_of_shapes, method, shapes)
            value, _ = ad.jvp(function, (x,), (np.ones(5),))
            np.testing.assert_allclose(value, method(x, *shapes), rtol=1e-15)


def test_the_ends_of_the_range_of_a_shape() -> None:
    for x in (0.0, 0.5, 2.0):  # rice has slope x^2/2 - 1 in b^2/2; von Mises the slope cos x
        assert ad.grad(stats.rice.pdf, argnums=1)(x, 0.0) == 0
        second = ad.hessian(lambda b, x=x: stats.rice.logpdf(x or 1.0, b))(0.0)
        assert np.isclose(second, (x or 1.0) ** 2 / 2 - 1)
        for line in (stats.vonmises, stats.vonmises_line):
            slopes = ad.vmap(ad.grad(line.logpdf, argnums=1))(np.array([x]), np.zeros(1))
            assert np.isclose(slopes[0], np.cos(x))
            assert np.isclose(ad.grad(line.pdf, argnums=1)(x, 0.0), np.cos(x) / (2 * np.pi))
    for c in (0.0, 1.0):
        for method in (stats.triang.pdf, stats.triang.logcdf, stats.triang.sf):
            assert np.isnan(ad.grad(method, argnums=1)(0.5, c))
            assert np.isfinite(ad.grad(method)(0.5, c))


@pytest.mark.parametrize(
    ("function", "at"),
    [
        (lambda x: stats.levy_stable.pdf(x, 1.5, 0.2), 0.3),
        (lambda x: stats.studentized_range.cdf(x, 3.0, 10.0), 2.0),
        (lambda k: stats.poisson.logpmf(k, 2.0), 3.0),
        (lambda n: stats.binom.pmf(2, n, 0.3), 5.0),
        (lambda n: stats.irwinhall.pdf(2.5, n), 5.0),
        (lambda df: stats.ncx2.pdf(1.5, df, 1.0), 3.0),
    ],
)
def test_refusals(function: Callable[..., Any], at: float) -> None:
    with pytest.raises(ad.errors.AdjointError):
        ad.grad(function)(at)


def test_a_refusal_names_the_method() -> None:
    with pytest.raises(ad.errors.AdjointError, match=r"scipy\.stats\.levy_stable\.pdf"):
        ad.grad(lambda x: stats.levy_stable.pdf(x, 1.5, 0.2))(0.3)


# --- multivariate distributions, kernels ----------------------------------------------------------


def covariance(factor: Any) -> Any:
    return factor @ factor.T + np.eye(3)


MULTIVARIATE: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "normal": (
        lambda x, mean, factor: stats.multivariate_normal.logpdf(x, mean, covariance(factor)),
        (POINTS, POINTS[0], FACTOR),
    ),
    "normal, of equal eigenvalues": (
        lambda x, factor: stats.multivariate_normal.pdf(x, None, covariance(factor)),
        (POINTS, np.zeros((3, 3))),
    ),
    "normal, of one variable": (
        lambda x, variance: stats.multivariate_normal.pdf(x, 0.5, variance),
        (0.3, 2.0),
    ),
    "normal, frozen": (lambda mean: stats.multivariate_normal(mean).logpdf(POINTS), (POINTS[1],)),
    "t": (
        lambda x, factor: stats.multivariate_t.logpdf(x, POINTS[0], covariance(factor), 4.0),
        (POINTS, FACTOR),
    ),
    "Wishart": (
        lambda one, other: stats.wishart.logpdf(covariance(one), 5.0, covariance(other)),
        (FACTOR, FACTOR.T.copy()),
    ),
    "kernels": (
        lambda data, x: stats.gaussian_kde(data)(x),
        (POINTS.T.copy(), POINTS[:2].T.copy()),
    ),
    "logarithm of kernels": (
        lambda data, x: stats.gaussian_kde(data, "silverman").logpdf(x),
        (POINTS[:, 0].copy(), np.array([0.1, 0.3])),
    ),
}


@pytest.mark.parametrize("name", MULTIVARIATE)
def test_multivariate(name: str) -> None:
    function, args = MULTIVARIATE[name]
    agrees(function, *args)
    plain = function(*args)
    np.testing.assert_allclose(ad.jit(function)(*args), plain, rtol=1e-12)
    batched = ad.vmap(function)(*(np.stack([np.asarray(arg), np.asarray(arg)]) for arg in args))
    np.testing.assert_allclose(batched[1], plain, rtol=1e-12)


def test_kernels_that_were_made_outside() -> None:
    estimate = stats.gaussian_kde(POINTS.T)
    agrees(lambda x: estimate.pdf(x), POINTS[0] + 0.1)


def test_a_singular_covariance() -> None:
    flat = np.ones((2, 2))
    for function in (stats.multivariate_normal.logpdf, stats.multivariate_normal.pdf):
        with pytest.raises(np.linalg.LinAlgError):
            ad.grad(lambda cov, f=function: f(np.zeros(2), None, cov))(flat)
    with pytest.raises(ad.errors.UnsupportedFunctionError, match="singular"):
        ad.grad(
            lambda cov: stats.multivariate_normal.pdf(np.zeros(2), None, cov, allow_singular=True)
        )(flat)
