"""The unit sphere."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import ArgumentError, MembershipError
from adjoint.manifolds import Sphere


def test_gradient_of_the_rayleigh_quotient():
    """E.1.38 on the sphere: ∇(xᵀAx) = (A + Aᵀ)x less its part along x."""
    rng = np.random.default_rng(0)
    a = rng.normal(size=(4, 4))
    x = Sphere(4).random(1)
    plain = (a + a.T) @ x
    gradient = ad.grad(lambda x: x @ a @ x, space=Sphere(4))(x)
    np.testing.assert_allclose(gradient, plain - x * (x @ plain), atol=1e-14)


def test_gradient_vanishes_at_eigenvectors():
    a = np.diag([1.0, 2.0, 3.0])
    for x in np.eye(3):
        np.testing.assert_array_equal(ad.grad(lambda x: x @ a @ x, space=Sphere(3))(x), 0)


@pytest.mark.parametrize("x", [[1.0, 0, 0], [-1.0, 0, 0], [0, 1.0, 0], [1e-300, 0.6, 0.8]])
def test_the_basis_at_special_points(x):
    space = Sphere(3).tangent_space(np.array(x))
    basis = np.stack(list(space.basis()))
    np.testing.assert_allclose(basis @ basis.T, np.eye(2), atol=1e-15)
    np.testing.assert_allclose(basis @ np.array(x), 0, atol=1e-15)


def test_great_circles():
    x, u = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    sphere = Sphere(2)
    np.testing.assert_allclose(sphere.exponential(x, np.pi / 2 * u), u, atol=1e-15)
    np.testing.assert_allclose(sphere.exponential(x, 2 * np.pi * u), x, atol=1e-15)
    np.testing.assert_allclose(sphere.retract(x, u), (x + u) / np.sqrt(2))


def test_off_the_sphere():
    with pytest.raises(MembershipError, match=r"Its norm is 5: divide by it"):
        Sphere(2).tangent_space(np.array([3.0, 4.0]))


def test_spheres_of_nothing():
    for shape in (0, (), (2, 0)):
        with pytest.raises(ArgumentError, match="arrays with entries"):
            Sphere(shape)
