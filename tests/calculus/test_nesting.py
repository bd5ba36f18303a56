"""Transformations inside transformations: perturbation confusion, closures, leaks, spaces."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import adjoint as ad
from adjoint.spaces import Euclidean, Product, Skew, Symmetric, Weighted

X = np.array([1.0, 2.0])
RNG = np.random.default_rng(12)


def close(found, expected, rtol=1e-11):
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=1e-12)


def forward(function):
    return lambda x: ad.jvp(function, (x,), (1.0,))[1]


def linear(function):
    return lambda x: ad.linearize(function, x)[1](np.float64(1.0))


def through_map(function):
    return lambda x: ad.derivative(function, x).H(np.float64(1.0))


def jitted(function):
    return ad.jit(ad.grad(function))


def batched(function):
    return lambda x: ad.vmap(ad.grad(function))(np.stack([x, x]))[0]


WAYS = [ad.grad, forward, linear, through_map, jitted, batched, ad.jacobian]
PAIRS = list(itertools.product(WAYS, repeat=2))
IDS = [f"{one.__name__}-{other.__name__}" for one, other in PAIRS]


# --- perturbation confusion -----------------------------------------------------------------------


@pytest.mark.parametrize(("outer", "inner"), PAIRS, ids=IDS)
def test_classics_of_perturbation_confusion(outer, inner):
    # d/dx [x d/dy (x + y)] = 1: a confusion of the two tangents gives 2.
    assert outer(lambda x: x * inner(lambda y: x + y)(1.0))(1.0) == 1
    # d/dx [x d/dy (x y)] = 2x
    assert outer(lambda x: x * inner(lambda y: x * y)(2.0))(3.0) == 6
    # d/dx [d/dy (x y²) at y = x] = d/dx 2x² = 4x
    assert outer(lambda x: inner(lambda y: x * y**2)(x))(3.0) == 12
    # d/dx [x d/dy (x y) at y = x²] = 2x
    assert outer(lambda x: x * inner(lambda y: x * y)(x**2))(3.0) == 6
    # the second derivative of x³
    assert outer(inner(lambda x: x**3))(2.0) == pytest.approx(12)


@pytest.mark.parametrize(("outer", "inner"), PAIRS, ids=IDS)
def test_inner_closures_over_outer_values_keep_the_outer_derivative(outer, inner):
    def function(x):
        scale = np.sin(x)
        return inner(lambda y: np.exp(scale * y))(x)  # s e^{sx}

    s, c = np.sin(0.7), np.cos(0.7)
    expected = np.exp(s * 0.7) * (c + s * (c * 0.7 + s))
    assert outer(function)(0.7) == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("ways", list(itertools.product([ad.grad, forward, batched], repeat=3)))
def test_three_levels(ways):
    first, second, third = ways
    derivative = first(lambda x: second(lambda y: third(lambda z: x**2 * y**3 * z**4)(y))(x))
    assert derivative(1.5) == pytest.approx(24 * 7 * 1.5**6)  # of 24 x⁷


@pytest.mark.parametrize("order", range(1, 6))
def test_repeated_gradients(order):
    derivative = np.sin
    for _ in range(order):
        derivative = ad.grad(derivative)
    assert derivative(0.7) == pytest.approx(np.sin(0.7 + order * np.pi / 2), rel=1e-13)


def test_a_function_that_returns_functions_is_refused():
    with pytest.raises(ad.errors.ArgumentTypeError, match="returned a function"):
        ad.grad(lambda u: lambda x: x + u)(0.0)


def test_outer_values_as_arguments_that_are_not_differentiated():
    def inner(y, scale):
        return scale * y * y

    assert ad.grad(lambda x: ad.grad(inner)(2.0, x))(3.0) == 4
    assert ad.grad(lambda x: ad.grad(inner)(2.0, scale=x))(3.0) == 4
    assert ad.grad(lambda x: ad.jvp(inner, (2.0, x), (1.0, None))[1])(3.0) == 4
    assert ad.grad(lambda x: ad.jit(inner)(2.0, scale=x))(3.0) == 4
    close(ad.grad(lambda x: np.sum(ad.vmap(inner, (0, None))(X, x)))(3.0), np.sum(X**2))


# --- compositions ---------------------------------------------------------------------------------


def test_jvp_inside_vmap_inside_grad():
    def function(x):
        def along(a):
            return ad.jvp(lambda z: np.sin(z) * x[0], (a,), (1.0,))[1]

        return np.sum(ad.vmap(along)(x))  # Σ cos(xᵢ) x₀

    expected = [np.sum(np.cos(X)) - np.sin(X[0]) * X[0], -np.sin(X[1]) * X[0]]
    close(ad.grad(function)(X), expected)


def test_hessian_of_a_function_that_calls_jacobian():
    def function(x):
        return np.sum(ad.jacobian(lambda y: np.array([y[0] ** 2 * y[1], y[1] ** 3]))(x) ** 2)

    a, b = X  # of 4a²b² + a⁴ + 9b⁴
    expected = [[8 * b**2 + 12 * a**2, 16 * a * b], [16 * a * b, 8 * a**2 + 108 * b**2]]
    close(ad.hessian(function)(X), expected)


def test_gradient_of_a_hessian_and_of_an_hvp():
    close(ad.grad(lambda x: np.sum(ad.hessian(lambda y: np.sum(y**4))(x)))(X), 24 * X)
    close(ad.grad(lambda u: np.sum(ad.hvp(lambda y: np.sum(y**3), X, u)))(X), 6 * X)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: ad.linearize(np.sin, x)[1](x),
        lambda x: ad.vjp(np.sin, x)[1](x)[0],
        lambda x: ad.derivative(np.sin, x)(x),
        lambda x: ad.derivative(np.sin, x).H(x),
        lambda x: ad.derivative(np.sin, x).matrix() @ x,
        lambda x: ad.derivative(np.sin, x).T(Euclidean(2).covector(x)).components,
        lambda x: ad.derivative(lambda y: y[:1] * x, x).matrix()[:, 0] * np.cos(x),
    ],
)
def test_maps_made_and_applied_inside_a_gradient(function):
    close(ad.jacobian(function)(X), np.diag(np.cos(X) - X * np.sin(X)))


def test_maps_made_outside_and_applied_inside():
    _, pullback = ad.vjp(np.sin, X)
    _, map_ = ad.linearize(np.sin, X)
    close(ad.grad(lambda c: np.sum(pullback(c)[0] ** 2))(X), 2 * np.cos(X) ** 2 * X)
    close(ad.jacobian(map_)(X), np.diag(np.cos(X)))


def test_newton_steps_inside_a_gradient():
    """The square root by Newton's method, with derivatives, has the derivative of the root."""

    def root(a):
        y = a
        for _ in range(8):
            value, slope = ad.value_and_grad(lambda y: y**2 - a)(y)
            y = y - value / slope
        return y

    assert ad.grad(root)(2.0) == pytest.approx(0.5 / np.sqrt(2.0), rel=1e-12)
    assert ad.grad(ad.grad(root))(2.0) == pytest.approx(-0.25 * 2.0**-1.5, rel=1e-11)


def test_values_asked_for_inside_an_inner_derivative():
    def function(x):
        def inner(y):
            return y**2 * x if y > x else y**3

        return ad.grad(inner)(2.0)

    assert ad.grad(function)(1.0) == 4  # of 2·2x
    assert ad.grad(function)(3.0) == 0  # of 3·2²


def test_covectors_as_results_of_transformed_functions():
    def form(x):
        return ad.differential(lambda y: np.sum(y**3), x)

    covector, moved = ad.jvp(form, (X,), (X,))
    close(covector.components, 3 * X**2)
    close(moved.components, 6 * X**2)  # how a covector changes is a covector
    close(ad.jit(form)(X).components, 3 * X**2)
    close(ad.grad(lambda x: form(x)(x))(X), 9 * X**2)
    for stacking in (ad.vmap, ad.jacobian):
        with pytest.raises(ad.errors.SpaceMismatchError, match=r"return covector\.components"):
            stacking(form)(np.eye(2) if stacking is ad.vmap else X)
        close(stacking(lambda x: form(x).components)(np.eye(2)).shape[:2], (2, 2))


# --- leaks ----------------------------------------------------------------------------------------


def test_values_that_leak_from_an_inner_capture_keep_the_outer_derivative():
    def function(x):
        kept = []

        def inner(y):
            kept.append(y * x)
            return y * x**2

        ad.grad(inner)(2.0)
        return kept[0] * x  # 2x²

    assert ad.grad(function)(3.0) == 12
    assert forward(function)(3.0) == 12
    assert ad.grad(ad.grad(function))(3.0) == 4


def test_a_leaked_value_of_an_argument_of_the_inner_function():
    def function(x):
        kept = []
        ad.grad(lambda y: kept.append(y**2) or y * x)(x)
        return kept[0]  # y is x here

    assert ad.grad(function)(3.0) == 6


def test_values_that_outlive_all_captures_are_numbers():
    kept = []
    ad.grad(lambda x: kept.append(2 * x) or x)(3.0)
    assert type(kept[0]) is float
    assert kept[0] == 6
    with pytest.warns(ad.errors.StaleValueWarning, match="an earlier call"):
        assert ad.grad(lambda y: y * kept[0])(1.0) == 6


def test_values_that_leak_from_vmap_have_no_single_value():
    def function(x):
        kept = []
        ad.vmap(lambda y: kept.append(y * x) or y)(np.ones(3))
        return kept[0]

    with pytest.raises(ad.errors.ValueNeededError):
        ad.grad(function)(3.0)


# --- gradients in spaces, inside others -----------------------------------------------------------


def positive(n):
    matrix = RNG.normal(size=(n, n))
    return matrix @ matrix.T + n * np.eye(n)


SPACES = [
    Weighted(Euclidean(2), np.array([1.0, 4.0])),
    Weighted(Euclidean(2), positive(2)),
    Weighted(Euclidean((2, 2)), positive(4)),
    Symmetric(2),
    Skew(3),
    Weighted(Symmetric(2), positive(3)),
    Weighted(Euclidean(2, complex), positive(2)),
    Product({"a": Weighted(Euclidean(2), positive(2)), "b": Euclidean(())}),
    Weighted(Product((Euclidean(2), Euclidean(()))), positive(3)),
]


def energy(x):
    parts = x.values() if isinstance(x, dict) else x if isinstance(x, tuple) else [x]
    return sum(np.sum(np.abs(part) ** 3) for part in parts)


def moved(space, x, u, h):
    return space._add(x, space._scale(h, u))


def gradient_norm(space):
    """x ↦ ‖∇f(x)‖² + ⟨∇f(x), x⟩, which holds an inner gradient and two inner products."""

    def function(x):
        gradient = ad.grad(energy, space=space)(x)
        return space._inner(gradient, gradient) + space._inner(gradient, x)

    def by_map(x):
        gradient = ad.derivative(energy, x, domain=space).H(np.float64(1.0))
        return space._inner(gradient, gradient) + space._inner(gradient, x)

    return function, by_map


@pytest.mark.parametrize("space", SPACES, ids=repr)
@pytest.mark.parametrize("way", [0, 1], ids=["grad", "adjoint"])
def test_gradients_in_spaces_inside_other_derivatives(space, way):
    function, x, u, h = gradient_norm(space)[way], space.random(0), space.random(1), 1e-5
    difference = function(moved(space, x, u, h)) - function(moved(space, x, u, -h))
    expected = pytest.approx(difference / (2 * h), rel=1e-7)  # of the order of h² relative
    assert ad.jvp(function, (x,), (u,))[1] == expected
    assert space.inner(ad.grad(function, space=space)(x), u) == expected
    assert ad.differential(function, x, space=space)(u) == expected
    assert space.inner(ad.jit(ad.grad(function, space=space))(x), u) == expected


@pytest.mark.parametrize("space", SPACES[:6], ids=repr)
def test_gradients_in_spaces_under_vmap(space):
    points = [space.random(seed) for seed in range(3)]
    gradients = ad.vmap(ad.grad(energy, space=space))(np.stack(points))
    for point, gradient in zip(points, gradients, strict=True):
        close(gradient, ad.grad(energy, space=space)(point))


def test_programs_with_riesz_maps_are_found_again():
    space = Weighted(Euclidean(2), positive(2))
    outer = ad.grad(lambda x: np.sum(ad.grad(energy, space=space)(x)))
    for _ in range(4):  # with what is kept for replay
        outer(X)
    before = ad.cache_info().misses
    for scale in (1.0, 2.0):
        outer(scale * X)
    assert ad.cache_info().misses == before


def test_what_an_inner_derivative_adds_is_quiet_at_a_known_point():
    """It is computed while the outer function is captured: 1 / sqrt(0), which np.where leaves out.

    Warnings are errors here.
    """

    def inner(y):
        return np.where(y > 0, np.sqrt(np.maximum(y, 0)), y**2)

    def directional(u):
        return np.sum(ad.jvp(inner, (np.array([-1.0, 4.0]),), (u,))[1])

    close(ad.grad(directional)(np.ones(2)), [-2.0, 0.25])
