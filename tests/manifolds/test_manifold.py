"""What all manifolds have in common: tangent spaces, gradients, and ways to move."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import ArgumentTypeError, MembershipError
from adjoint.manifolds import Manifold, PositiveDefinite, Sphere, Stiefel
from adjoint.spaces import TangentBundle

MANIFOLDS = [
    Sphere(4),
    Sphere((2, 3)),
    Sphere(1),
    Sphere(3, np.float32),
    PositiveDefinite(3),
    PositiveDefinite(1),
    Stiefel(5, 2),
    Stiefel(3, 3),
    Stiefel(4, 1),
]
each = pytest.mark.parametrize("manifold", MANIFOLDS, ids=repr)
# Where there is a direction to go, and enough digits for differences.
each_to_move_on = pytest.mark.parametrize(
    "manifold",
    [each for each in MANIFOLDS if each.dimension and each.ambient.dtype == np.float64],
    ids=repr,
)


def f(x):
    weights = np.sin(np.arange(1.0, 1 + x.size)).reshape(x.shape).astype(x.dtype)
    return np.sum(weights * x) + np.sum(weights * x**3)


@each
def test_tangent_spaces_are_spaces(manifold):
    """Every identity that a space promises holds: bases, Riesz maps, coordinates, restriction."""
    for seed in range(3):
        space = manifold.tangent_space(manifold.random(seed))
        assert space.dimension == manifold.dimension
        assert len(space.basis()) == manifold.dimension
        report = ad.testing.check_space(space)
        assert report.passed, str(report)


@each
def test_a_tangent_space_stays_that_of_its_point(manifold):
    """Whatever is written later into the array that it was asked at."""
    x = manifold.random(0)
    kept = manifold.tangent_space(x.copy())
    space = manifold.tangent_space(x)
    u = space.random(1)
    x *= -2
    assert space == kept
    assert hash(space) == hash(kept)
    assert space.inner(u, u) == kept.inner(u, u)
    assert space.contains(u)


@each
def test_random_points_are_points_and_come_again(manifold):
    x = manifold.random(3)
    assert manifold.contains(x)
    assert x.dtype == manifold.ambient.dtype
    np.testing.assert_array_equal(x, manifold.random(3))


@each
def test_gradient_is_tangent_and_paired_with_the_derivative(manifold):
    """E.1.37: ∂f(x)[u] = ⟨∇f(x), u⟩_x for every tangent u."""
    x = manifold.random(0)
    space, gradient = manifold.tangent_space(x), ad.grad(f, space=manifold)(x)
    assert space.contains(gradient)
    u = space.random(1)
    expected = ad.jvp(f, (x,), (u,))[1]
    tolerance = 1e-4 if x.dtype == np.float32 else 1e-10
    assert space.inner(gradient, u) == pytest.approx(expected, rel=tolerance, abs=tolerance)


@each_to_move_on
@pytest.mark.parametrize("way", ["retract", "exponential"])
def test_movements_stay_on_the_manifold_and_agree_with_addition_to_first_order(manifold, way):
    x = manifold.random(0)
    u = manifold.tangent_space(x).random(1)
    move = getattr(manifold, way)
    assert manifold.contains(move(x, u))
    assert manifold.contains(move(x, 10 * u))
    np.testing.assert_allclose(move(x, 0 * u), x, atol=1e-14)
    errors = [np.linalg.norm(move(x, h * u) - x - h * u) for h in (1e-2, 1e-3)]
    assert errors[0] / errors[1] == pytest.approx(100, rel=0.2)


@each_to_move_on
def test_geodesics_have_constant_speed(manifold):
    x = manifold.random(2)
    u = manifold.tangent_space(x).random(3)
    speeds = []
    for t in (0.0, 0.3, 0.9):
        y = manifold.exponential(x, t * u)
        ahead, behind = (manifold.exponential(x, (t + h) * u) for h in (1e-6, -1e-6))
        space = manifold.tangent_space(y)
        speeds.append(space._norm(space._restrict((ahead - behind) / 2e-6)))
    np.testing.assert_allclose(speeds, speeds[0], rtol=1e-7)


@each
def test_tangents_at_one_point_are_one_space(manifold):
    x = manifold.random(0)
    assert manifold.tangent_space(x) == manifold.at(x.copy())
    assert hash(manifold.tangent_space(x)) == hash(manifold.at(x.copy()))
    if manifold.dimension:
        assert manifold.tangent_space(x) != manifold.tangent_space(manifold.random(1))


def test_equality_and_names():
    assert [repr(manifold) for manifold in MANIFOLDS[:2]] == ["Sphere(4)", "Sphere((2, 3))"]
    assert Sphere(3) == Sphere((3,)) != Sphere(4)
    assert Stiefel(3, 3) != Stiefel(3, 2)
    assert hash(PositiveDefinite(3)) == hash(PositiveDefinite(3))
    assert PositiveDefinite(1) != Sphere(1)
    assert isinstance(Sphere(2), Manifold)
    assert isinstance(Sphere(2), TangentBundle)


def test_gradients_can_be_traced():
    """jit, vmap and jvp look at no entry of the point."""
    sphere, points = Sphere(3), np.stack([Sphere(3).random(seed) for seed in range(4)])
    gradient = ad.grad(f, space=sphere)
    expected = np.stack([gradient(x) for x in points])
    np.testing.assert_allclose(ad.vmap(gradient)(points), expected, atol=1e-14)
    np.testing.assert_allclose(ad.jit(gradient)(points[0]), expected[0], atol=1e-14)
    u = sphere.tangent_space(points[0]).random(0)
    slope = ad.jvp(gradient, (points[0],), (u,))[1]
    h = 1e-6
    difference = (gradient(sphere.retract(points[0], h * u)) - expected[0]) / h
    np.testing.assert_allclose(slope, difference, atol=1e-4)


def test_derivative_of_a_map_between_manifolds():
    """E.1.34 on curved spaces: x ↦ Qx maps tangents at x to tangents at Qx; it is an isometry."""
    sphere, rotation = Sphere(3), Stiefel(3, 3).random(1)
    x = sphere.random(0)
    derivative = ad.derivative(lambda x: rotation @ x, x, domain=sphere, codomain=sphere)
    u = derivative.domain.random(2)
    assert derivative.codomain.contains(derivative(u))
    np.testing.assert_allclose(derivative.H(derivative(u)), u, atol=1e-14)
    matrix = derivative.matrix()
    np.testing.assert_allclose(matrix.T @ matrix, np.eye(2), atol=1e-14)


# --- what is refused ------------------------------------------------------------------------------


@each
def test_points_off_the_manifold_are_refused(manifold):
    x = manifold.random(0)
    for wrong in (2.5 * x + 1, -x if isinstance(manifold, PositiveDefinite) else 3 * x):
        if manifold.contains(wrong):
            continue
        with pytest.raises(MembershipError, match="must be a point of"):
            ad.grad(f, space=manifold)(wrong)
    with pytest.raises(MembershipError, match="shape"):
        manifold.check(np.ones((7, 7), x.dtype))
    assert not manifold.contains(np.full_like(x, np.nan))


def test_arrays_that_are_not_tangent_are_refused():
    x = np.array([1.0, 0.0])
    for move in (Sphere(2).retract, Sphere(2).exponential):
        with pytest.raises(MembershipError, match="not tangent at the point"):
            move(x, np.array([1.0, 1.0]))
    with pytest.raises(MembershipError, match="not symmetric"):
        PositiveDefinite(2).retract(np.eye(2), np.array([[1.0, 2.0], [0.0, 1.0]]))


def test_a_gradient_that_is_mostly_normal_is_still_tangent():
    """The projection is made twice: near a critical point rounding leaves a normal part."""
    sphere, x = Sphere(50), Sphere(50).random(0)
    u = sphere.tangent_space(x).random(1)
    gradient = ad.grad(lambda y: np.sum((1e8 * x + u) * y), space=sphere)(x)
    assert sphere.tangent_space(x).contains(gradient)
    np.testing.assert_allclose(gradient, u, atol=1e-6)


def test_manifolds_of_complex_arrays_are_refused():
    for make in (lambda: Sphere(2, complex), lambda: PositiveDefinite(2, complex)):
        with pytest.raises(ArgumentTypeError, match="real arrays"):
            make()
    with pytest.raises(ArgumentTypeError, match="real arrays"):
        Stiefel(3, 2, complex)
