"""Steepest descent in a space, in a metric, and on manifolds: E.1.40 to E.1.43."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import (
    ArgumentError,
    ArgumentTypeError,
    DroppedDerivativeError,
    MembershipError,
    NotDifferentiableError,
)
from adjoint.calculus.optimize import LineSearch, Reason, Sharpness, descend
from adjoint.manifolds import PositiveDefinite, ProductManifold, Sphere, Stiefel
from adjoint.spaces import Euclidean, Metric, Polynomials, Product, Symmetric, Weighted
from tests.spaces.strategies import positive_matrix

RNG = np.random.default_rng(11)
W = positive_matrix(4, 0)
WEIGHTED = Weighted(Euclidean(4), W)
TARGET = RNG.normal(size=4)


def bowl(x):
    return (x - TARGET) @ W @ (x - TARGET)


def rosenbrock(x):
    return (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2


# --- the step -------------------------------------------------------------------------------------


def test_a_step_of_fixed_sharpness_minimises_the_surrogate():
    """E.1.40 to E.1.42: x₀ - ∇f(x₀)/(2η) is the argmin of f(x₀) + ∇f(x₀)ᵀ(x - x₀) + η‖x - x₀‖²."""
    eta, x = 3.0, np.zeros(4)
    result = descend(bowl, x, step=Sharpness(eta), max_iterations=1)
    np.testing.assert_allclose(result.x, x - ad.grad(bowl)(x) / (2 * eta), rtol=1e-14)

    def surrogate(y):
        return ad.differential(bowl, x)(y - x) + eta * (y - x) @ (y - x)

    np.testing.assert_allclose(ad.grad(surrogate)(result.x), 0, atol=1e-13)


def test_a_step_in_a_weighted_space_is_preconditioned():
    """E.1.43: x₀ - W⁻¹∇f(x₀)/(2η)."""
    eta, x = 3.0, np.zeros(4)
    result = descend(bowl, x, WEIGHTED, step=Sharpness(eta), max_iterations=1)
    expected = x - np.linalg.solve(W, ad.grad(bowl)(x)) / (2 * eta)
    np.testing.assert_allclose(result.x, expected, rtol=1e-12)
    assert result.reason is Reason.ITERATIONS
    assert result.iterations == 1


def test_sharpness_converges_where_it_is_sharp_enough_and_is_left_where_not():
    largest = np.max(np.linalg.eigvalsh(W))  # f'' is 2 W, so that η must exceed half of that
    assert descend(bowl, np.zeros(4), step=Sharpness(largest)).converged
    far = descend(bowl, np.zeros(4), step=Sharpness(largest / 20), max_iterations=5000)
    assert far.reason in (Reason.NOT_FINITE, Reason.NO_PROGRESS)
    assert np.isfinite(far.value)


def test_in_the_inner_product_of_the_hessian_one_step_suffices():
    """E.1.39: ∇(xᵀAx) = W⁻¹(A + Aᵀ)x points to the minimum if W is the symmetric part of A."""
    result = descend(bowl, np.ones(4), WEIGHTED)
    assert (result.iterations, result.converged) == (1, True)
    np.testing.assert_allclose(result.x, TARGET, rtol=1e-10)
    assert descend(bowl, np.ones(4)).iterations > 3


def test_kantorovich_bounds_the_plain_descent():
    """Values fall by ((κ - 1)/(κ + 1))² at least with every exact step."""
    result = descend(bowl, np.ones(4), tolerance=1e-8, step=LineSearch(curvature=1e-3))
    kappa = np.linalg.cond(W)
    values = np.array([step.value for step in result.history[:-1]])
    assert np.all(values[1:] <= values[:-1] * ((kappa - 1) / (kappa + 1)) ** 2 * (1 + 1e-2))


@pytest.mark.parametrize("scale", [1e-8, 1e-3, 1.0, 1e5, 1e12])
def test_the_search_is_exact_on_quadratics_at_every_scale(scale):
    """Two slopes show where a quadratic is least along a line."""
    space = Weighted(Euclidean(4), W)
    result = descend(lambda x: scale * bowl(x), np.ones(4), space)
    assert result.iterations == 1
    assert result.evaluations <= 8


# --- spaces ---------------------------------------------------------------------------------------


@dataclass
class Model:
    weight: Any
    bias: Any


@pytest.mark.parametrize(
    "start",
    [
        3.0,
        np.float64(3.0),
        np.array([3.0, -1.0]),
        np.array([3.0, -1.0], np.float32),
        np.array([1 + 2j, 3 - 1j]),
        {"a": np.ones((2, 2)), "b": [4.0, np.ones(3)]},
        (np.ones(2), 5.0),
        Model(np.ones(3), 2.0),
    ],
    ids=["float", "scalar", "array", "float32", "complex", "dict", "tuple", "dataclass"],
)
def test_points_of_every_structure(start):
    from adjoint.base import pytrees

    def distance(x):
        return sum(np.sum(np.abs(leaf - 1.5) ** 2) for leaf in pytrees.leaves(x))

    result = descend(distance, start)
    assert result.converged
    assert type(result.x) is type(start) or isinstance(result.x, np.floating)
    for leaf, before in zip(pytrees.leaves(result.x), pytrees.leaves(start), strict=True):
        np.testing.assert_allclose(leaf, 1.5 * np.ones_like(before), rtol=1e-5)
        assert np.asarray(leaf).dtype == np.asarray(before).dtype


def test_subspaces_and_products():
    target = np.array([[2.0, 1.0], [0.0, 3.0]])
    symmetric = descend(lambda x: np.sum((x - target) ** 2), np.eye(2), Symmetric(2))
    np.testing.assert_allclose(symmetric.x, (target + target.T) / 2, atol=1e-8)
    space = Product({"a": Weighted(Euclidean(2), [1.0, 1e6]), "b": Euclidean(())})
    pair = descend(
        lambda p: (p["a"][0] - 1) ** 2 + 1e6 * (p["a"][1] - 2) ** 2 + (p["b"] - 3) ** 2,
        {"a": np.zeros(2), "b": 0.0},
        space,
    )
    assert pair.iterations == 1
    np.testing.assert_allclose(pair.x["a"], [1, 2])


def test_best_approximation_by_a_polynomial():
    """In L2 on [-1, 1] the way to the projection is one step, whatever the basis (E.1.27)."""
    points, weights = np.polynomial.legendre.leggauss(12)
    for basis in (np.polynomial.Legendre, np.polynomial.Chebyshev):
        space = Polynomials(3, basis=basis)
        result = descend(
            lambda p: np.sum(weights * (p(points) - np.exp(points)) ** 2), space.zero(), space
        )
        assert result.iterations == 1
        expected = np.polynomial.Legendre.fit(points, np.exp(points), 3, w=np.sqrt(weights))
        np.testing.assert_allclose(result.x(points), expected(points), atol=1e-10)


def test_further_arguments():
    result = descend(lambda x, a, b: np.sum((x - a * b) ** 2), np.zeros(2), args=(2.0, np.ones(2)))
    np.testing.assert_allclose(result.x, 2.0, rtol=1e-6)


def test_a_metric_is_taken_anew_at_every_point():
    """Gauss-Newton for Rosenbrock's function, against hundreds of plain steps."""
    residuals = lambda x: np.stack([1 - x[0], 10 * (x[1] - x[0] ** 2)])  # noqa: E731
    start = np.array([-1.2, 1.0])
    natural = descend(rosenbrock, start, ad.pullback_metric(residuals))
    assert natural.converged
    assert natural.iterations < 30
    np.testing.assert_allclose(natural.x, 1.0, atol=1e-4)
    assert descend(rosenbrock, start, max_iterations=300).reason is Reason.ITERATIONS
    seen = []

    def at(x):
        seen.append(x)
        return Euclidean(2)

    result = descend(rosenbrock, start, Metric(at), max_iterations=3)
    np.testing.assert_array_equal(seen[-1], result.x)


# --- manifolds ------------------------------------------------------------------------------------


def test_the_smallest_eigenvalue_by_the_sphere():
    a = positive_matrix(6, 3)
    result = descend(lambda x: x @ a @ x, Sphere(6).random(0), Sphere(6), tolerance=1e-9)
    assert result.converged
    assert Sphere(6).contains(result.x)
    assert result.value == pytest.approx(np.linalg.eigvalsh(a)[0])


def test_the_maximum_likelihood_covariance():
    """tr(X⁻¹S) + log det X is least at X = S; affine invariance makes S as easy as the identity."""
    cone = PositiveDefinite(3)
    counts = []
    for sample in (cone.random(0), np.diag([1e-4, 1.0, 1e4]) @ np.eye(3)):

        def loss(x, sample=sample):
            return np.trace(np.linalg.inv(x) @ sample) + np.log(np.linalg.det(x))

        factor = np.linalg.cholesky(sample)
        start = factor @ np.diag([2.0, 1.0, 0.3]) @ factor.T
        result = descend(loss, (start + start.T) / 2, cone)
        assert result.converged
        np.testing.assert_allclose(
            np.linalg.solve(factor, np.linalg.solve(factor, result.x).T), np.eye(3), atol=1e-5
        )
        counts.append(result.iterations)
    assert counts[0] == counts[1]


def test_brockett_s_function_on_the_stiefel_manifold():
    """tr(XᵀAXN) is least where the columns are the eigenvectors, in order."""
    a, n = np.diag([1.0, 2.0, 4.0, 7.0]), np.array([3.0, 1.0])
    stiefel = Stiefel(4, 2)
    result = descend(lambda x: np.sum(x * (a @ x) * n), stiefel.random(2), stiefel)
    assert result.converged
    np.testing.assert_allclose(np.abs(result.x), np.eye(4)[:, :2], atol=1e-4)


def test_mean_and_covariance_at_once():
    """The Gaussian of greatest likelihood, on R² x the positive definite matrices."""
    draws = RNG.multivariate_normal([1.0, -2.0], [[2.0, 0.5], [0.5, 1.0]], size=50)
    gaussians = ProductManifold({"mean": Euclidean(2), "covariance": PositiveDefinite(2)})

    def loss(p):
        apart = draws - p["mean"]
        weighted = np.linalg.solve(p["covariance"], apart.T)
        return np.mean(np.sum(apart.T * weighted, axis=0)) + np.log(np.linalg.det(p["covariance"]))

    result = descend(loss, {"mean": np.zeros(2), "covariance": np.eye(2)}, gaussians)
    assert result.converged
    np.testing.assert_allclose(result.x["mean"], np.mean(draws, axis=0), atol=1e-4)
    np.testing.assert_allclose(result.x["covariance"], np.cov(draws.T, bias=True), atol=1e-4)


# --- searches -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "start", "minimum"),
    [
        (lambda x: -np.log(1 - x[0] ** 2), 0.9, 0.0),
        (lambda x: x[0] - np.log(x[0]), 1e-3, 1.0),
        (lambda x: np.exp(x[0]) + np.exp(-3 * x[0]), 200.0, np.log(3) / 4),
        (lambda x: np.sqrt(x[0]) - x[0] / 4 + (x[0] - 2) ** 2, 5.0, None),
        (lambda x: x[0] ** 4, 10.0, 0.0),
        (lambda x: np.cosh(x[0] - 1), -300.0, 1.0),
        (lambda x: np.log(np.cosh(x[0])), 30.0, 0.0),
    ],
    ids=["barrier", "logarithm", "exponentials", "root", "quartic", "cosh", "flat"],
)
def test_functions_that_overflow_or_end(function, start, minimum):
    """Trials may lead where the function is NaN or infinite; the search comes back."""
    result = descend(function, np.array([start]), tolerance=0.0, absolute_tolerance=1e-6)
    assert result.converged
    if minimum is not None:
        assert result.x[0] == pytest.approx(minimum, abs=2e-2)
    assert abs(ad.grad(function)(result.x)[0]) <= 1e-6


def test_functions_that_raise_at_a_trial():
    def barrier(x):
        if x[0] >= 2:
            raise ZeroDivisionError
        if x[0] <= -2:
            raise np.linalg.LinAlgError
        return (x[0] - 1.9) ** 2

    assert descend(barrier, np.array([-1.9])).x[0] == pytest.approx(1.9, abs=1e-4)


def test_other_errors_of_the_function_are_passed_on():
    def broken(x):
        if x[0] != 5.0:
            raise KeyError("planted")
        return x @ x

    with pytest.raises(KeyError, match="planted"):
        descend(broken, np.array([5.0]))


def test_values_that_differ_by_rounding_only_do_not_stop_the_slopes():
    """A large constant hides the last falls of the value; slopes still show the way."""
    result = descend(lambda x: 1e6 + np.sum(np.cosh(x)), np.array([1.0, 2.0]), tolerance=1e-7)
    assert result.converged
    np.testing.assert_allclose(result.x, 0, atol=1e-6)


def test_zero_tolerance_ends_for_want_of_progress():
    result = descend(lambda x: np.sum(np.cosh(x) * np.array([1.0, 3.0])), np.ones(2), tolerance=0)
    assert result.reason in (Reason.NO_PROGRESS, Reason.GRADIENT)
    assert result.gradient_norm < 1e-7


def test_unbounded_functions_end():
    result = descend(lambda x: np.sum(x), np.zeros(2), max_iterations=20)
    assert not result.converged


# --- directions -----------------------------------------------------------------------------------


def conjugate(here, previous):
    """The rule of Polak and Ribière, in the inner product of the space."""
    space = here.space
    downhill = space._scale(-1.0, here.gradient)
    if previous is None:
        return downhill
    change = space._add(here.gradient, space._restrict(space._scale(-1.0, previous.gradient)))
    factor = float(space._inner(change, here.gradient)) / previous.gradient_norm**2
    return space._add(downhill, space._scale(max(factor, 0.0), space._restrict(here.direction)))


def test_a_rule_for_directions_of_one_s_own():
    """Conjugate gradients: n steps for a quadratic in n unknowns."""
    exact = LineSearch(curvature=1e-3)
    result = descend(bowl, np.ones(4), direction=conjugate, step=exact, tolerance=1e-9)
    assert result.converged
    assert result.iterations <= 5
    assert descend(bowl, np.ones(4), step=exact, tolerance=1e-9).iterations > 10


def test_a_rule_for_directions_on_a_manifold():
    a, start = np.diag(np.arange(1.0, 21.0)), Sphere(20).random(0)
    counts = [
        descend(lambda x: x @ a @ x, start, Sphere(20), direction=rule).iterations
        for rule in (ad.optimize.steepest_descent, conjugate)
    ]
    assert counts[1] < 0.8 * counts[0]


@pytest.mark.parametrize("factor", [1.0, 0.0, np.nan])
def test_a_direction_that_leads_nowhere_is_reported(factor):
    result = descend(bowl, np.ones(4), direction=lambda here, _: factor * here.gradient)
    assert result.reason is Reason.NO_DESCENT
    assert result.iterations == 0


# --- the result -----------------------------------------------------------------------------------


def test_the_result():
    result = descend(bowl, np.ones(4), tolerance=1e-8)
    assert result.value == pytest.approx(bowl(result.x), abs=1e-15)
    np.testing.assert_allclose(result.gradient, ad.grad(bowl)(result.x), atol=1e-12)
    assert result.gradient_norm == pytest.approx(np.linalg.norm(result.gradient))
    assert len(result.history) == result.iterations + 1
    first, last = result.history[0], result.history[-1]
    assert first.value == pytest.approx(bowl(np.ones(4)))
    assert (first.length, first.evaluations) == (0.0, 1)
    assert (last.value, last.gradient_norm) == (result.value, result.gradient_norm)
    assert last.evaluations == result.evaluations
    assert last.gradient_norm <= 1e-8 * first.gradient_norm
    values = [step.value for step in result.history]
    assert values == sorted(values, reverse=True)
    assert repr(result).startswith(f"<Descent: converged after {result.iterations} iterations (")


def test_a_start_at_the_minimum():
    result = descend(bowl, TARGET)
    assert (result.iterations, result.evaluations, result.converged) == (0, 1, True)


def test_absolute_tolerance_and_norms_of_the_space():
    scaled = Weighted(Euclidean(4), 1e-8)  # gradients have norms 1e4 times the plain ones
    loose = descend(bowl, np.ones(4), absolute_tolerance=1e2)
    assert loose.iterations == 0
    assert descend(bowl, np.ones(4), scaled, absolute_tolerance=1e2).iterations > 0


def test_callbacks():
    seen = []

    def watch(here):
        seen.append(here)
        return here.number == 2

    result = descend(bowl, np.ones(4), WEIGHTED, callback=watch, step=Sharpness(5.0))
    assert result.reason is Reason.CALLBACK
    assert [here.number for here in seen] == [0, 1, 2]
    assert seen[0].direction is None
    np.testing.assert_allclose(seen[1].direction, -seen[0].gradient)
    assert seen[1].length == pytest.approx(0.1)
    assert seen[1].space == WEIGHTED
    np.testing.assert_array_equal(seen[-1].x, result.x)


def test_the_start_is_left_as_it_is():
    start = np.ones(4)
    descend(bowl, start)
    np.testing.assert_array_equal(start, 1.0)


# --- what is refused ------------------------------------------------------------------------------


def test_integers_are_refused():
    for start in (3, np.array([1, 2]), {"a": np.array([1, 2])}):
        with pytest.raises(NotDifferentiableError, match="integers"):
            descend(lambda x: 1.0, start)


@pytest.mark.parametrize("start", [0.0, np.nan, 1e200])
def test_starts_that_are_not_finite_are_refused(start):
    with (
        np.errstate(all="ignore"),
        pytest.raises(ArgumentError, match="start with a finite value and gradient"),
    ):
        descend(lambda x: np.sum(np.log(x) + x**2), np.array([start]))


def test_wrong_arguments():
    with pytest.raises(MembershipError, match="x0"):
        descend(bowl, np.ones(4), Sphere(4))
    with pytest.raises(MembershipError, match="x0"):
        descend(bowl, np.ones(4), Euclidean(3))
    with pytest.raises(ArgumentTypeError, match="space"):
        descend(bowl, np.ones(4), W)
    with pytest.raises(ArgumentTypeError, match="takes a function"):
        descend(3.0, np.ones(4))
    with pytest.raises(NotDifferentiableError, match="not a real scalar"):
        descend(lambda x: x, np.ones(4))
    with pytest.raises(ArgumentTypeError, match="Sharpness"):
        descend(bowl, np.ones(4), step=0.1)
    with pytest.raises(ArgumentTypeError, match="steepest_descent"):
        descend(bowl, np.ones(4), direction=-1)
    for limits in ({"tolerance": -1}, {"absolute_tolerance": np.nan}, {"max_iterations": -1}):
        with pytest.raises(ArgumentError, match="must not be negative"):
            descend(bowl, np.ones(4), **limits)


def test_args_are_a_tuple():
    with pytest.raises(ArgumentTypeError, match=r"args=\(a,\)"):
        descend(lambda x, a: np.sum((x - a) ** 2), np.ones(1), args=np.ones((1, 1)))


def test_directions_are_tangents():
    for wrong in (lambda here, _: -here.gradient[:1], lambda here, _: -1.0):
        with pytest.raises(MembershipError, match="The direction must be an element"):
            descend(lambda x: x @ x, np.ones(2), direction=wrong)


def test_a_callback_may_return_true_of_numpy():
    result = descend(lambda x: np.sum(x**4), np.ones(2), callback=lambda here: here.x[0] < 0.9)
    assert result.reason is Reason.CALLBACK


@pytest.mark.parametrize("of", ["args", "x0", "closure", "space"])
def test_inside_of_a_derivative_the_error_names_what_has_one(of):
    def minimum(a):
        def distance(x, b):
            return np.sum((x - (a if of == "closure" else b)) ** 2)

        x0, b = (a if of == "x0" else np.zeros(2)), (a if of == "args" else np.ones(2))
        space = Metric(lambda x: Weighted(Euclidean(2), a)) if of == "space" else None
        return descend(distance, x0, space, args=(b,)).x[0]

    np.testing.assert_allclose(ad.jit(minimum)(np.array([2.0, 3.0])), minimum(np.array([2.0, 3.0])))

    for transform in (ad.grad, lambda f: lambda a: ad.jvp(f, (a,), (a,))):
        with pytest.raises(DroppedDerivativeError, match=r"descend .* ad\.implicit\.argmin"):
            transform(minimum)(np.array([2.0, 3.0]))
