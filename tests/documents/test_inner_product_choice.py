"""The note "On the choice of inner product for reverse-mode autodiff", claim by claim.

Its equations (1) to (3), in inner products drawn at random, in ones that depend on the point, and
in those of tangent spaces.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adjoint as ad
from adjoint.manifolds import PositiveDefinite, Sphere
from adjoint.spaces import Euclidean, Metric, Weighted
from tests.spaces.strategies import positive_matrix

A = np.random.default_rng(0).normal(size=(2, 3))
seeds = st.integers(0, 10_000)


def f(x):
    return np.tanh(A @ x) * x[0]


def g(x):
    return np.sum(np.sin(A @ x))


def drawn(seed):
    """A point, a tangent, a cotangent, and a space for each side."""
    rng = np.random.default_rng(seed)
    domain = Weighted(Euclidean(3), positive_matrix(3, seed))
    codomain = Weighted(Euclidean(2), positive_matrix(2, seed + 1))
    return rng.normal(size=3), rng.normal(size=3), rng.normal(size=2), domain, codomain


@settings(deadline=None, max_examples=25)
@given(seeds)
def test_equation_1_defines_the_adjoint(seed):
    """(1): ⟨Df[x]*(ȳ), ẋ⟩_X = ⟨ȳ, Df[x](ẋ)⟩_Y."""
    x, x_dot, y_bar, domain, codomain = drawn(seed)
    derivative = ad.derivative(f, x, domain=domain, codomain=codomain)
    left = domain.inner(derivative.H(y_bar), x_dot)
    assert left == pytest.approx(codomain.inner(y_bar, derivative(x_dot)), rel=1e-10, abs=1e-12)


def test_equation_1_in_metrics_and_on_manifolds():
    """(1), where the inner products are those at x and at f(x)."""
    x, x_dot, y_bar, _, _ = drawn(0)
    ambient = Metric(lambda y: Weighted(Euclidean(y.shape), 1 + y**2))
    derivative = ad.derivative(f, x, domain=ambient, codomain=ambient)
    left = ambient.at(x).inner(derivative.H(y_bar), x_dot)
    assert left == pytest.approx(ambient.at(f(x)).inner(y_bar, derivative(x_dot)))

    point = Sphere(3).random(0)
    curved = ad.derivative(
        lambda x: np.eye(3) + np.outer(x, x), point, domain=Sphere(3), codomain=PositiveDefinite(3)
    )
    u, v = curved.domain.random(1), curved.codomain.random(2)
    assert curved.domain.inner(curved.H(v), u) == pytest.approx(curved.codomain.inner(v, curved(u)))


@settings(deadline=None, max_examples=25)
@given(seeds)
def test_equation_2_the_components_of_the_gradient(seed):
    """(2): (∇f)_i = Df[x](e_i) = ⟨Df[x]*(1), e_i⟩, whatever the inner product."""
    x, _, _, domain, _ = drawn(seed)
    adjoint_of_one = ad.derivative(g, x, domain=domain).H(np.float64(1.0))
    components = [ad.jvp(g, (x,), (e,))[1] for e in np.eye(3)]
    recovered = [domain.inner(adjoint_of_one, e) for e in domain.basis()]
    np.testing.assert_allclose(recovered, components, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(ad.differential(g, x).components, components, atol=1e-14)


@settings(deadline=None, max_examples=25)
@given(seeds)
def test_equation_3_one_reverse_pass_gives_every_direction(seed):
    """(3): ⟨Df[x]*(1), ẋ⟩ = Df[x](ẋ); the inner product cancels."""
    x, x_dot, _, domain, _ = drawn(seed)
    expected = ad.jvp(g, (x,), (x_dot,))[1]
    for space in (domain, Euclidean(3), Metric(lambda x: domain)):
        home = space.at(x) if isinstance(space, Metric) else space
        recovered = home.inner(ad.grad(g, space=space)(x), x_dot)
        assert recovered == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_functions_with_many_values():
    """One reverse pass for each ē_i recovers Df[x](ẋ) entry by entry, an N-vector of M-vectors."""
    x, _, _, domain, _ = drawn(3)
    derivative = ad.derivative(f, x, domain=domain)
    passes = [derivative.H(e) for e in np.eye(2)]
    columns = [[domain.inner(x_bar, e) for x_bar in passes] for e in np.eye(3)]
    np.testing.assert_allclose(np.transpose(columns), ad.jacobian(f)(x), atol=1e-12)


def test_with_the_standard_inner_product_both_look_the_same():
    """The remark that opens the note: Df[x]*(1) is the array of partial derivatives there only."""
    x, _, _, domain, _ = drawn(4)
    partials = [ad.jvp(g, (x,), (e,))[1] for e in np.eye(3)]
    np.testing.assert_allclose(ad.derivative(g, x).H(np.float64(1.0)), partials)
    assert not np.allclose(ad.derivative(g, x, domain=domain).H(np.float64(1.0)), partials)
