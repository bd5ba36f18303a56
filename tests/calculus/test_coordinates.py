"""Curvilinear coordinates against the formulas of textbooks (section 1.4.3, E.1.80)."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import ArgumentError, ArgumentTypeError
from adjoint.spaces import Euclidean
from adjoint.tensors import InBasis, Tensor, from_vector


def polar_chart(q):
    return q[0] * np.array([np.cos(q[1]), np.sin(q[1])])


def spherical_chart(q):
    r, theta, phi = q
    sine = np.sin(theta)
    return r * np.array([sine * np.cos(phi), sine * np.sin(phi), np.cos(theta)])


def f(x):
    """A function of Cartesian coordinates, of two or three of them."""
    return np.sin(x[0]) * x[1] ** 2 + np.exp(x[-1]) * x[0]


def flow(x):
    """A field in Cartesian components."""
    return np.stack([np.sin(x[1]) * x[0], x[0] ** 2 + x[-1], x[0] * x[-1] ** 2][: len(x)])


POLAR, SPHERICAL = ad.Coordinates(polar_chart), ad.Coordinates(spherical_chart)
CASES = [(polar_chart, np.array([1.3, 0.4])), (spherical_chart, np.array([1.3, 0.4, 2.1]))]
cases = pytest.mark.parametrize(("chart", "q"), CASES, ids=["polar", "spherical"])


def test_polar_coordinates():
    """Metric, scales, Christoffel symbols, gradient, divergence and Laplacian in the plane."""
    q = np.array([1.3, 0.4])
    r, angle = q
    np.testing.assert_allclose(POLAR.metric(q), np.diag([1, r**2]), atol=1e-15)
    np.testing.assert_allclose(POLAR.scales(q), [1, r])
    symbols = np.zeros((2, 2, 2))
    symbols[0, 1, 1], symbols[1, 0, 1], symbols[1, 1, 0] = -r, 1 / r, 1 / r
    np.testing.assert_allclose(POLAR.christoffel(q), symbols, atol=1e-14)

    def g(q):
        return q[0] ** 3 * np.cos(2 * q[1])

    slopes = np.array([3 * r**2 * np.cos(2 * angle), -2 * r**3 * np.sin(2 * angle)])
    np.testing.assert_allclose(POLAR.gradient(g)(q), slopes / [1, r**2])
    # In unit vectors it is (∂_r, ∂_angle / r).
    np.testing.assert_allclose(POLAR.gradient(g)(q) * POLAR.scales(q), slopes / [1, r])
    np.testing.assert_allclose(POLAR.laplacian(g)(q), (9 - 4) * r * np.cos(2 * angle))

    def field(q):
        return np.stack([q[0] ** 2 * np.sin(q[1]), q[0] * np.cos(q[1])])

    # (1/r) ∂_r (r F_r) + (1/r) ∂_angle (r F^angle)
    expected = 3 * r * np.sin(angle) - r * np.sin(angle)
    np.testing.assert_allclose(POLAR.divergence(field)(q), expected)


def test_spherical_coordinates():
    q = np.array([1.3, 0.4, 2.1])
    r, theta, phi = q
    sine, cosine = np.sin(theta), np.cos(theta)
    np.testing.assert_allclose(SPHERICAL.scales(q), [1, r, r * sine])
    symbols = np.zeros((3, 3, 3))
    symbols[0, 1, 1], symbols[0, 2, 2] = -r, -r * sine**2
    symbols[1, 0, 1] = symbols[1, 1, 0] = symbols[2, 0, 2] = symbols[2, 2, 0] = 1 / r
    symbols[1, 2, 2] = -sine * cosine
    symbols[2, 1, 2] = symbols[2, 2, 1] = cosine / sine
    np.testing.assert_allclose(SPHERICAL.christoffel(q), symbols, atol=1e-13)

    def g(q):  # a spherical harmonic of degree 1 times r^3
        return q[0] ** 3 * np.sin(q[1]) * np.cos(q[2])

    slopes = [
        3 * r**2 * sine * np.cos(phi),
        r**3 * cosine * np.cos(phi),
        -(r**3) * sine * np.sin(phi),
    ]
    unit = np.array(slopes) / [1, r, r * sine]
    np.testing.assert_allclose(SPHERICAL.gradient(g)(q) * SPHERICAL.scales(q), unit)
    np.testing.assert_allclose(SPHERICAL.laplacian(g)(q), (3 * 4 - 2) * r * sine * np.cos(phi))


@cases
def test_they_agree_with_cartesian_coordinates(chart, q):
    coordinates = ad.Coordinates(chart)
    x, columns = chart(q), coordinates.basis(q)
    here = InBasis(Euclidean(len(q)), columns)
    np.testing.assert_allclose(here.gram(), coordinates.metric(q), atol=1e-13)

    def in_coordinates(q):
        return f(chart(q))

    gradient = coordinates.gradient(in_coordinates)(q)
    np.testing.assert_allclose(gradient, here.coordinates(ad.grad(f)(x)), rtol=1e-10)
    laplacian = coordinates.laplacian(in_coordinates)(q)
    np.testing.assert_allclose(laplacian, np.trace(ad.hessian(f)(x)), rtol=1e-10)

    def field(q):
        return np.linalg.solve(coordinates.basis(q), flow(chart(q)))

    divergence = coordinates.divergence(field)(q)
    np.testing.assert_allclose(divergence, np.trace(ad.jacobian(flow)(x)), rtol=1e-10)


@cases
def test_first_derivatives_are_tensors_and_plain_second_ones_are_not(chart, q):
    """The differential goes with C; the second derivative only with the Christoffel term."""
    coordinates = ad.Coordinates(chart)
    x, columns = chart(q), coordinates.basis(q)
    space = Euclidean(len(q))

    def in_coordinates(q):
        return f(chart(q))

    first = Tensor(ad.grad(f)(x), inputs=(space,)).change_of_basis(columns)
    np.testing.assert_allclose(first.components, ad.grad(in_coordinates)(q), rtol=1e-10)
    second = Tensor(ad.hessian(f)(x), inputs=(space, space)).change_of_basis(columns)
    plain = ad.hessian(in_coordinates)(q)
    assert np.max(np.abs(plain - second.components)) > 0.1
    np.testing.assert_allclose(
        coordinates.hessian(in_coordinates)(q), second.components, rtol=1e-9, atol=1e-12
    )
    bend = np.tensordot(ad.grad(f)(x), ad.jacobian(ad.jacobian(chart))(q), axes=1)
    np.testing.assert_allclose(plain, second.components + bend, rtol=1e-9, atol=1e-12)


def test_the_velocity_of_a_curve_is_a_vector():
    """u' = C^-1 u: polar velocities of a Cartesian motion (E.1.80)."""
    q, u = np.array([1.3, 0.4]), np.array([0.5, -0.2])
    changed = from_vector(u).change_of_basis(POLAR.basis(q))
    r, angle = q
    radial = np.array([np.cos(angle), np.sin(angle)]) @ u
    around = np.array([-np.sin(angle), np.cos(angle)]) @ u / r
    np.testing.assert_allclose(changed.components, [radial, around])


@pytest.mark.parametrize("degree", [1, 2])
def test_the_laplace_beltrami_operator_of_the_sphere(degree):
    """Spherical harmonics are eigenfunctions, of eigenvalue -l(l+1)."""
    sphere = ad.Coordinates(lambda q: spherical_chart([1.0, q[0], q[1]]))
    q = np.array([0.7, 2.1])
    harmonics = {
        1: lambda q: np.sin(q[0]) * np.cos(q[1]),
        2: lambda q: np.sin(q[0]) * np.cos(q[0]) * np.sin(q[1]),
    }
    found = sphere.laplacian(harmonics[degree])(q)
    np.testing.assert_allclose(found, -degree * (degree + 1) * harmonics[degree](q), rtol=1e-10)


def test_they_are_differentiated_and_vectorised():
    q = np.array([1.3, 0.4])

    def laplacian(q):
        return POLAR.laplacian(lambda q: q[0] ** 3 * np.cos(2 * q[1]))(q)

    np.testing.assert_allclose(
        ad.grad(laplacian)(q), [5 * np.cos(0.8), -10 * 1.3 * np.sin(0.8)], rtol=1e-9
    )
    assert ad.vmap(POLAR.metric)(np.stack([q, q])).shape == (2, 2, 2)


def test_faults():
    with pytest.raises(ArgumentTypeError):
        ad.Coordinates(3.0)
    with pytest.raises(ArgumentTypeError):
        POLAR.gradient(3.0)
    with pytest.raises(ArgumentTypeError):
        POLAR.laplacian(3.0)
    with pytest.raises(ArgumentTypeError):
        POLAR.divergence(3.0)
    with pytest.raises(ArgumentError, match="dependent there"):
        POLAR.laplacian(lambda q: q[0])(np.array([0.0, 1.0]))
    with pytest.raises(ArgumentError, match=r"an array of shape \(m,\)"):
        POLAR.basis(1.0)
    with pytest.raises(ArgumentError, match=r"an array of shape \(m,\)"):
        POLAR.gradient(lambda q: q**2)(1.0)
    with pytest.raises(ArgumentError, match="with n at least 3"):
        ad.Coordinates(lambda q: q[:2]).basis(np.ones(3))
    with pytest.raises(ArgumentError, match="The chart must give an array"):
        ad.Coordinates(lambda q: q[0]).basis(np.ones(3))
    assert repr(POLAR) == "Coordinates(polar_chart)"


TORUS = ad.Coordinates(
    lambda q: np.array(
        [
            (2 + 0.7 * np.cos(q[0])) * np.cos(q[1]),
            (2 + 0.7 * np.cos(q[0])) * np.sin(q[1]),
            0.7 * np.sin(q[0]),
        ]
    )
)


def test_the_laplace_beltrami_operator_of_the_torus():
    """f_uu / a^2 - sin u f_u / (a (R + a cos u)) + f_vv / (R + a cos u)^2."""
    for u, v in np.random.default_rng(0).uniform(-3, 3, (5, 2)):
        q, radius = np.array([u, v]), 2 + 0.7 * np.cos(u)
        f, slope = np.sin(2 * u) * np.cos(3 * v), 2 * np.cos(2 * u) * np.cos(3 * v)
        expected = -4 * f / 0.7**2 - np.sin(u) * slope / (0.7 * radius) - 9 * f / radius**2
        wave = lambda q: np.sin(2 * q[0]) * np.cos(3 * q[1])  # noqa: E731
        np.testing.assert_allclose(TORUS.laplacian(wave)(q), expected, rtol=1e-10)
        np.testing.assert_allclose(TORUS.divergence(TORUS.gradient(wave))(q), expected, rtol=1e-10)


def test_near_singular_points_they_are_right_or_raise():
    """Δ(r^2 cos φ) = 3 cos φ in the plane; the pole of the sphere is at a rounded π."""
    for r in (1e-3, 1e-9, 1e-17):
        found = POLAR.laplacian(lambda q: q[0] ** 2 * np.cos(q[1]))(np.array([r, 0.5]))
        np.testing.assert_allclose(found, 3 * np.cos(0.5), rtol=1e-12)
    for r in (0.0, 1e-300, 1e-160):
        for operator in (POLAR.gradient, POLAR.laplacian, POLAR.hessian):
            with pytest.raises(ArgumentError, match="dependent there"):
                operator(lambda q: q[0] ** 2 * np.cos(q[1]))(np.array([r, 0.5]))
    sphere = ad.Coordinates(
        lambda q: np.array([np.sin(q[0]) * np.cos(q[1]), np.sin(q[0]) * np.sin(q[1]), np.cos(q[0])])
    )
    with pytest.raises(ArgumentError, match="dependent there"):
        sphere.laplacian(lambda q: np.sin(2 * q[0]) * np.cos(q[1]))(np.array([np.pi, 0.3]))


def test_functions_with_values_of_another_shape_are_refused():
    q = np.array([2.0, 0.5])
    for operator in (POLAR.gradient, POLAR.hessian, POLAR.laplacian):
        with pytest.raises(ArgumentError, match="whose value is a number"):
            operator(lambda q: q)(q)
    for field in (lambda q: q[0], lambda q: np.array([q[0], q[1], q[0]])):
        with pytest.raises(ArgumentError, match=r"an array of shape \(2,\)"):
            POLAR.divergence(field)(q)
