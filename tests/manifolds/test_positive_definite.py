"""Symmetric positive definite matrices under the affine-invariant metric."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import MembershipError
from adjoint.manifolds import PositiveDefinite
from adjoint.spaces import Symmetric

CONE = PositiveDefinite(3)
X = CONE.random(0)
U, V = Symmetric(3).random(1), Symmetric(3).random(2)


def test_the_metric():
    """⟨U, V⟩_X = tr(X⁻¹ U X⁻¹ V)."""
    inverse = np.linalg.inv(X)
    expected = np.trace(inverse @ U @ inverse @ V)
    assert CONE.tangent_space(X).inner(U, V) == pytest.approx(expected)


def test_the_metric_is_affine_invariant():
    c = np.random.default_rng(3).normal(size=(3, 3))
    moved = CONE.tangent_space((c @ X @ c.T + c @ X.T @ c.T) / 2)
    inner = moved._inner(c @ U @ c.T, c @ V @ c.T)
    assert inner == pytest.approx(CONE.tangent_space(X).inner(U, V))


def test_gradients_known_in_closed_form():
    """-log det X has the gradient -X (the plain one is -X⁻¹), tr X the gradient X²."""
    log_det = ad.grad(lambda x: -np.log(np.linalg.det(x)), space=CONE)(X)
    np.testing.assert_allclose(log_det, -X, rtol=1e-12)
    np.testing.assert_allclose(ad.grad(np.trace, space=CONE)(X), X @ X, rtol=1e-12)


def test_the_metric_is_twice_the_fisher_metric_of_the_covariance():
    """After E.1.43: by Monte Carlo over x ~ N(0, X), E[(∂ log p[U])²] = ⟨U, U⟩_X / 2."""
    draws = np.random.default_rng(0).multivariate_normal(np.zeros(3), X, size=200_000)
    inverse = np.linalg.inv(X)
    middle = inverse @ U @ inverse
    scores = (np.einsum("ni,ij,nj->n", draws, middle, draws) - np.trace(inverse @ U)) / 2
    expected = CONE.tangent_space(X).inner(U, U) / 2
    assert np.mean(scores**2) == pytest.approx(expected, rel=0.02)


def test_the_exponential_of_commuting_matrices_and_its_inverse():
    values, rates = np.array([1.0, 2.0, 3.0]), np.array([1.0, -2.0, 0.5])
    reached = CONE.exponential(np.diag(values), np.diag(rates))
    np.testing.assert_allclose(reached, np.diag(values * np.exp(rates / values)), atol=1e-14)
    # Geodesics map to geodesics under X -> X⁻¹, whose derivative is U -> -X⁻¹ U X⁻¹.
    inverse = np.linalg.inv(X)
    inverse = (inverse + inverse.T) / 2
    velocity = -inverse @ U @ inverse
    other = CONE.exponential(inverse, (velocity + velocity.T) / 2)
    np.testing.assert_allclose(other, np.linalg.inv(CONE.exponential(X, U)), rtol=1e-9)


def test_the_retraction_is_of_second_order():
    errors = []
    for h in (1e-1, 1e-2):
        errors.append(np.linalg.norm(CONE.retract(X, h * U) - CONE.exponential(X, h * U)))
    assert errors[0] / errors[1] == pytest.approx(1000, rel=0.3)


@pytest.mark.parametrize(
    ("x", "advice"),
    [
        (np.diag([1.0, -1.0, 1.0]), "not positive definite"),
        (np.zeros((3, 3)), "not positive definite"),
        (np.triu(np.ones((3, 3))), "not symmetric"),
        (np.full((3, 3), np.nan), "not positive definite"),
    ],
)
def test_what_is_no_point(x, advice):
    with pytest.raises(MembershipError, match=advice):
        CONE.tangent_space(x)
