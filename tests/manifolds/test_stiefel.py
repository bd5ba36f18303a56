"""Matrices with orthonormal columns."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import ArgumentError, MembershipError
from adjoint.manifolds import Sphere, Stiefel


def test_tangents_have_skew_products():
    x = Stiefel(5, 3).random(0)
    for u in Stiefel(5, 3).tangent_space(x).basis():
        np.testing.assert_allclose(x.T @ u + u.T @ x, 0, atol=1e-14)


def test_the_gradient_is_the_projection_of_the_plain_one():
    manifold = Stiefel(5, 2)
    x, g = manifold.random(0), np.random.default_rng(1).normal(size=(5, 2))
    gradient = ad.grad(lambda x: np.sum(g * x), space=manifold)(x)
    symmetric = (x.T @ g + g.T @ x) / 2
    np.testing.assert_allclose(gradient, g - x @ symmetric, atol=1e-14)


def test_one_column_is_the_sphere():
    stiefel, sphere = Stiefel(4, 1), Sphere(4)
    x = sphere.random(0)
    u = sphere.tangent_space(x).random(1)
    column = u[:, None]
    for way in ("retract", "exponential"):
        found = getattr(stiefel, way)(x[:, None], column)
        np.testing.assert_allclose(found[:, 0], getattr(sphere, way)(x, u), atol=1e-14)


def test_the_exponential_of_orthogonal_matrices():
    """For p = n it is X exp(XᵀU)."""
    from scipy.linalg import expm

    manifold = Stiefel(3, 3)
    x = manifold.random(0)
    u = manifold.tangent_space(x).random(1)
    np.testing.assert_allclose(manifold.exponential(x, u), x @ expm(x.T @ u), atol=1e-13)


def test_off_the_manifold():
    with pytest.raises(MembershipError, match="columns are not orthonormal"):
        Stiefel(3, 2).tangent_space(np.ones((3, 2)))


@pytest.mark.parametrize(("n", "p"), [(2, 3), (2, 0), (0, 0)])
def test_sizes(n, p):
    with pytest.raises(ArgumentError, match="1 <= p <= n"):
        Stiefel(n, p)
