"""Pulled-back metrics: natural gradients and Gauss-Newton steps (after E.1.43)."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import (
    ArgumentError,
    ArgumentTypeError,
    DroppedDerivativeError,
    NotConvergedError,
    NotPositiveDefiniteError,
)
from adjoint.manifolds import Sphere
from adjoint.spaces import ConjugateGradient, Euclidean, Metric, Symmetric, Weighted
from tests.spaces.strategies import positive_matrix

RNG = np.random.default_rng(7)
both_ways = pytest.mark.parametrize("matrix_free", [False, True], ids=["factor", "gradients"])

# The Fisher metric of the Gaussians N(y₀, y₁²) in mean and standard deviation.
GAUSSIANS = Metric(lambda y: Weighted(Euclidean(2), np.array([1.0, 2.0]) / y[1] ** 2))
# That of the distributions on n outcomes, in their probabilities.
OUTCOMES = Metric(lambda p: Weighted(Euclidean(p.shape), 1 / p))


def softmax(x):
    weights = np.exp(x - np.max(x))
    return weights / np.sum(weights)


# --- what it is -----------------------------------------------------------------------------------


@both_ways
def test_the_inner_product_is_that_of_the_images(matrix_free):
    """⟨u, v⟩_x = ⟨∂m(x)[u], ∂m(x)[v]⟩."""
    a, weight = RNG.normal(size=(4, 3)), positive_matrix(4, 0)

    def model(x):
        return np.tanh(a @ x)

    metric = ad.pullback_metric(model, Weighted(Euclidean(4), weight), matrix_free=matrix_free)
    x, u, v = RNG.normal(size=(3, 3))
    jacobian = ad.jacobian(model)(x)
    space = metric.at(x)
    assert space.inner(u, v) == pytest.approx(u @ jacobian.T @ weight @ jacobian @ v)
    np.testing.assert_allclose(space.gram(), jacobian.T @ weight @ jacobian, rtol=1e-10)
    np.testing.assert_allclose(space._represent(space._riesz(u)), u, rtol=1e-7)


@both_ways
def test_damping_adds_the_inner_product_of_the_domain(matrix_free):
    domain = Weighted(Symmetric(2), np.array([1.0, 2.0, 3.0]))
    metric = ad.pullback_metric(np.trace, domain=domain, damping=0.5, matrix_free=matrix_free)
    x, u, v = domain.random(0), domain.random(1), domain.random(2)
    expected = np.trace(u) * np.trace(v) + 0.5 * domain.inner(u, v)
    space = metric.at(x)
    assert space.inner(u, v) == pytest.approx(expected)
    covector = domain._component_space.random(3)
    covector = domain._restrict(covector)
    found = space._represent(covector)
    assert space.inner(found, u) == pytest.approx(float(np.sum(covector * u)))


@both_ways
def test_trees(matrix_free):
    def model(p):
        return p["a"] * p["b"]

    metric = ad.pullback_metric(model, damping=0.1, matrix_free=matrix_free)
    point = {"a": np.array([1.0, 2.0]), "b": 3.0}
    gradient = ad.grad(lambda p: np.sum(p["a"]) * p["b"], space=metric)(point)
    jacobian = np.array([[3.0, 0, 1], [0, 3.0, 2]])
    expected = np.linalg.solve(jacobian.T @ jacobian + 0.1 * np.eye(3), [3.0, 3.0, 3.0])
    np.testing.assert_allclose([*gradient["a"], gradient["b"]], expected, rtol=1e-8)


def test_a_gauss_newton_step_solves_linear_least_squares():
    """The metric of m(x) = Ax - b makes the gradient of |m|²/2 the way to the minimum (E.1.43)."""
    a, b, x = RNG.normal(size=(6, 3)), RNG.normal(size=6), RNG.normal(size=3)
    metric = ad.pullback_metric(lambda x: a @ x - b)
    gradient = ad.grad(lambda x: np.sum((a @ x - b) ** 2) / 2, space=metric)(x)
    np.testing.assert_allclose(x - gradient, np.linalg.lstsq(a, b)[0], rtol=1e-10)


def test_the_metric_of_an_embedding_is_that_of_the_surface():
    """Polar coordinates of the sphere: dθ² + sin²θ dφ², whether pulled back from R³ or from it."""

    def embed(x):
        return np.stack([np.sin(x[0]) * np.cos(x[1]), np.sin(x[0]) * np.sin(x[1]), np.cos(x[0])])

    x = np.array([0.7, 2.0])
    for codomain in (None, Sphere(3)):
        gram = ad.pullback_metric(embed, codomain).at(x).gram()
        np.testing.assert_allclose(gram, np.diag([1, np.sin(0.7) ** 2]), atol=1e-14)


# --- natural gradients ----------------------------------------------------------------------------


def test_natural_gradient_of_a_gaussian_likelihood():
    """In mean and log deviation the Fisher information is diag(1/σ², 2)."""
    data = RNG.normal(2.0, 3.0, size=20)

    def loss(x):
        return np.mean((data - x[0]) ** 2) / (2 * np.exp(2 * x[1])) + x[1]

    x = np.array([0.5, 0.3])
    natural = ad.pullback_metric(lambda x: np.stack([x[0], np.exp(x[1])]), GAUSSIANS)
    plain = ad.grad(loss)(x)
    expected = plain * np.array([np.exp(0.6), 0.5])
    np.testing.assert_allclose(ad.grad(loss, space=natural)(x), expected, rtol=1e-12)


def test_the_fisher_information_is_the_mean_square_of_the_score():
    """By Gauss-Hermite quadrature, exact for these polynomials: E[s sᵀ], s = ∂ log p."""
    points, weights = np.polynomial.hermite_e.hermegauss(10)
    weights = weights / np.sum(weights)
    x = np.array([0.5, 0.3])

    def log_density(x, t):
        return -((t - x[0]) ** 2) / (2 * np.exp(2 * x[1])) - x[1]

    draws = x[0] + np.exp(x[1]) * points
    scores = np.stack([ad.grad(log_density)(x, t) for t in draws])
    information = scores.T @ (weights[:, None] * scores)
    natural = ad.pullback_metric(lambda x: np.stack([x[0], np.exp(x[1])]), GAUSSIANS)
    np.testing.assert_allclose(natural.at(x).gram(), information, atol=1e-12)


def test_natural_gradient_of_a_categorical_likelihood():
    """Logits: F = diag(p) - ppᵀ, of which F⁺ times the gradient p - q of the cross-entropy is p/p -
    q/p up to a constant."""
    logits, frequencies = RNG.normal(size=4), softmax(RNG.normal(size=4))

    def loss(x):
        return -np.sum(frequencies * np.log(softmax(x)))

    p = softmax(logits)
    gram = ad.pullback_metric(softmax, OUTCOMES, damping=1e-9).at(logits).gram()
    np.testing.assert_allclose(gram, np.diag(p) - np.outer(p, p) + 1e-9 * np.eye(4), atol=1e-14)
    natural = ad.pullback_metric(softmax, OUTCOMES, damping=1e-9)
    gradient = ad.grad(loss, space=natural)(logits)
    expected = 1 - frequencies / p
    centred = expected - np.mean(expected)
    np.testing.assert_allclose(gradient, centred, rtol=1e-6)


@pytest.mark.parametrize("step", [1e-3, 1e-4])
def test_a_natural_step_does_not_depend_on_the_parameters(step):
    """To first order, the step in (mean, deviation) is one, whatever stands for the deviation."""
    data = RNG.normal(2.0, 3.0, size=20)

    def loss(y):
        return np.mean((data - y[0]) ** 2) / (2 * y[1] ** 2) + np.log(y[1])

    families = {
        "deviation": (lambda x: x, np.array([0.5, 1.5])),
        "log": (lambda x: np.stack([x[0], np.exp(x[1])]), np.array([0.5, np.log(1.5)])),
        "precision": (lambda x: np.stack([x[0], x[1] ** -0.5]), np.array([0.5, 1.5**-2])),
        "mixed": (lambda x: np.stack([x[0] * x[1], x[1]]), np.array([0.5 / 1.5, 1.5])),
    }
    natural, plain = {}, {}
    for name, (model, x) in families.items():
        metric = ad.pullback_metric(model, GAUSSIANS)
        composed = lambda x, model=model: loss(model(x))  # noqa: E731
        natural[name] = (model(x - step * ad.grad(composed, space=metric)(x)) - model(x)) / step
        plain[name] = (model(x - step * ad.grad(composed)(x)) - model(x)) / step
    for name in ("log", "precision", "mixed"):
        difference = np.linalg.norm(natural[name] - natural["deviation"])
        assert difference < 20 * step * np.linalg.norm(natural["deviation"])
        assert np.linalg.norm(plain[name] - plain["deviation"]) > 0.05


def test_matrix_free_and_factored_agree():
    a = RNG.normal(size=(30, 8))
    f = lambda x: np.sum(np.cos(a @ x))  # noqa: E731
    x = RNG.normal(size=8)
    one, two = (
        ad.grad(f, space=ad.pullback_metric(lambda x: np.sin(a @ x), matrix_free=free))(x)
        for free in (False, True)
    )
    np.testing.assert_allclose(one, two, rtol=1e-6)


# --- what is refused ------------------------------------------------------------------------------


def test_a_singular_metric_is_an_error():
    for model in (lambda x: x[:1], lambda x: np.stack([x[0] + x[1], 2 * (x[0] + x[1])])):
        metric = ad.pullback_metric(model)
        with pytest.raises(NotPositiveDefiniteError, match="damping"):
            metric.at(np.ones(2))
        damped = ad.pullback_metric(model, damping=1e-3)
        assert np.all(np.isfinite(ad.grad(np.sum, space=damped)(np.ones(2))))


def test_conjugate_gradients_that_do_not_converge_are_an_error():
    metric = ad.pullback_metric(lambda x: x[:1] + x[1:], matrix_free=True)
    with pytest.raises(NotConvergedError, match="damping"):
        ad.grad(lambda x: x[0] - x[1], space=metric)(np.ones(2))


def test_wrong_arguments():
    with pytest.raises(ArgumentError, match="not negative"):
        ad.pullback_metric(softmax, damping=-1.0)
    with pytest.raises(ArgumentTypeError, match="takes a number as its damping"):
        ad.pullback_metric(softmax, damping=np.ones(2))
    with pytest.raises(ArgumentTypeError, match="takes a function"):
        ad.pullback_metric(3.0)
    with pytest.raises(ArgumentTypeError, match="codomain"):
        ad.pullback_metric(softmax, np.eye(2))
    with pytest.raises(ArgumentTypeError, match="domain"):
        ad.pullback_metric(softmax, domain=np.eye(2))
    assert repr(ad.pullback_metric(softmax)) == "Metric(pulled back by softmax)"


@pytest.mark.parametrize(
    "space",
    [
        lambda a: ad.pullback_metric(lambda y: a * y).at(np.ones(2)),
        lambda a: Weighted(Euclidean(2), ConjugateGradient(Euclidean(2), lambda u: a * a * u)),
    ],
    ids=["pulled back", "conjugate gradients"],
)
def test_an_inner_product_that_reads_a_traced_number_is_refused(space):
    """It is recorded whole, as a linear map of one vector: the derivative would be lost."""

    def function(a):
        return space(a).inner(a * np.ones(2), np.ones(2))

    assert np.isclose(function(2.0), 16.0)
    with pytest.raises(DroppedDerivativeError, match="The inner product of a space"):
        ad.grad(function)(2.0)
