"""Identity, zero, diagonal, finite-rank maps and embeddings."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adjoint.base.errors import (
    ArgumentError,
    ArgumentTypeError,
    MembershipError,
    MissingInverseError,
    SpaceMismatchError,
)
from adjoint.maps import adjoint_error, diagonal, embedding, from_matrix, identity, rank_one, zero
from adjoint.spaces import Covector, Euclidean, Product, Skew, Symmetric, Weighted
from tests.spaces.duck import Duck
from tests.spaces.strategies import plain_spaces, positive_matrix, spaces


@given(spaces(), spaces())
@settings(max_examples=50, deadline=None)
def test_identity_and_zero(domain, codomain):
    np.testing.assert_allclose(
        identity(domain).matrix(), np.eye(domain.dimension), rtol=1e-14, atol=1e-14
    )
    assert identity(domain).inverse.domain == domain
    nothing = zero(domain, codomain)
    assert not nothing.matrix().any()
    assert not nothing.T.matrix().any()
    assert not nothing.H.matrix().any()
    assert nothing.H.codomain == domain


@given(plain_spaces(), st.integers(0, 99))
@settings(max_examples=60, deadline=None)
def test_diagonal(space, seed):
    generator = np.random.default_rng(seed)
    weights = generator.uniform(
        1, 2, space.shape if isinstance(space, Euclidean) else space.dimension
    )
    if isinstance(space, Euclidean) and space._complex:
        weights = weights + 1j * generator.standard_normal(weights.shape)
    for found in (diagonal(weights, space), diagonal(weights, Weighted(space, 3.0)).H):
        assert adjoint_error(found, seed) < 1e-14
        x = space.random(seed)
        coordinates = space.coordinates(x)
        largest = np.max(np.abs(coordinates), initial=0)  # what each is a sum of is of that size
        np.testing.assert_allclose(
            space.coordinates(found.inverse(found(x))), coordinates, rtol=0, atol=3e-14 * largest
        )
    np.testing.assert_allclose(
        diagonal(2.0, space).matrix(), 2 * np.eye(space.dimension), rtol=1e-14, atol=1e-14
    )


def test_diagonal_on_weighted_spaces_and_products():
    weighted = Weighted(Euclidean(2), positive_matrix(2, 0))
    found = diagonal(np.array([1.0, 3.0]), weighted)
    assert np.array_equal(found.matrix(), np.diag([1.0, 3.0]))
    assert adjoint_error(found) < 1e-15
    space = Product({"a": Euclidean(2), "b": Symmetric(2)})
    found = diagonal({"a": np.array([1.0, 2.0]), "b": np.array([3.0, 4.0, 5.0])}, space)
    assert np.array_equal(found.matrix(), np.diag([1.0, 2.0, 3.0, 4.0, 5.0]))
    np.testing.assert_allclose(found.inverse.matrix(), np.diag([1, 1 / 2, 1 / 3, 1 / 4, 1 / 5]))
    assert adjoint_error(found) < 1e-15


def test_diagonal_copies_and_takes_traced_weights():
    weights = np.array([1.0, 2.0])
    found = diagonal(weights, Euclidean(2))
    weights[0] = 100.0
    assert list(found(np.ones(2))) == [1, 2]
    traced = diagonal(Duck(np.array([1.0, 2.0])), Euclidean(2))
    assert list(traced.inverse(np.ones(2)).hidden) == [1, 0.5]


@pytest.mark.parametrize(
    ("weights", "space"),
    [
        (np.array([1.0, 0.0]), Euclidean(2)),
        (0.0, Euclidean(2)),
        (np.array([1.0, 0.0, 1.0]), Symmetric(2)),
        ([np.array([1.0, 0.0])], Product([Euclidean(2)])),
    ],
)
def test_zero_weights_have_no_inverse(weights, space):
    with pytest.raises(MissingInverseError, match="It has none: a weight is zero"):
        diagonal(weights, space).inverse


def test_diagonal_errors():
    with pytest.raises(MembershipError, match=r"weights \(of shape \(2,\), or a scalar\) must be"):
        diagonal(np.ones(3), Euclidean(2))
    with pytest.raises(MembershipError, match="The space is real"):
        diagonal(np.complex128(1j), Euclidean(2))
    with pytest.raises(ArgumentError, match=r"real numbers of shape \(3,\), or one"):
        diagonal(np.ones((2, 2)), Symmetric(2))
    with pytest.raises(ArgumentError, match="must be a tree of its structure"):
        diagonal(2.0, Product([Euclidean(2)]))


def test_rank_one():
    """E.1.32: f[x] = l[x] y; its pullback is w -> w(y) l."""
    domain, codomain = Weighted(Euclidean(3), positive_matrix(3, 0)), Weighted(Euclidean(2), 4.0)
    covector, y = domain.covector(np.array([1.0, 2.0, 3.0])), np.array([1.0, 10.0])
    found = rank_one(covector, y, codomain)
    assert np.array_equal(found.matrix(), np.outer(y, covector.components))
    assert adjoint_error(found) < 1e-14
    pulled = found.T(codomain.covector(np.array([1.0, 1.0])))
    assert np.array_equal(pulled.components, 11 * covector.components)
    assert rank_one(covector, y).codomain == Euclidean(2)


@given(st.integers(1, 4), st.integers(1, 4), st.integers(0, 99))
@settings(max_examples=30, deadline=None)
def test_every_map_is_a_sum_of_rank_one_maps(n, m, seed):
    """E.1.33: f[x] = sum_i <v_i, x> y_i, here with v_i = D.H e_i and an orthonormal basis e_i."""
    domain = Weighted(Euclidean(n), positive_matrix(n, seed))
    linear_map = from_matrix(
        np.random.default_rng(seed).standard_normal((m, n)), domain, Euclidean(m)
    )
    basis = Euclidean(m).basis()
    total = zero(domain, Euclidean(m))
    for y in basis:
        total = total + rank_one(domain.riesz(linear_map.H(y)), y, Euclidean(m))
    np.testing.assert_allclose(total.matrix(), linear_map.matrix(), rtol=1e-10, atol=1e-12)


def test_rank_one_errors():
    with pytest.raises(SpaceMismatchError, match=r"takes a covector and a vector. Got an array"):
        rank_one(np.ones(2), np.ones(2))
    with pytest.raises(MembershipError, match="y must be an element of"):
        rank_one(Euclidean(2).covector(np.ones(2)), np.ones(2), Euclidean(3))


@pytest.mark.parametrize("dtype", [float, complex])
@pytest.mark.parametrize(("family", "sign"), [(Symmetric, 1), (Skew, -1)])
def test_embedding_and_projection(family, sign, dtype):
    space, ambient = family(3, dtype), Euclidean((3, 3), dtype)
    include = embedding(space)
    assert include.codomain == ambient
    assert adjoint_error(include) < 1e-15
    x = ambient.random(0)
    projection = include.H(x)
    np.testing.assert_array_equal(projection, (x + sign * x.T) / 2)
    np.testing.assert_allclose((include.H @ include).matrix(), np.eye(space.dimension), atol=1e-15)
    assert float(ambient.inner(x - projection, projection)) == pytest.approx(0, abs=1e-14)
    assert isinstance(include.T(ambient.covector(x)), Covector)
    with pytest.raises(MissingInverseError):
        include.inverse


def test_projection_under_a_weight_is_orthogonal_to_the_subspace():
    space = Weighted(Symmetric(3), positive_matrix(6, 0))
    assert adjoint_error(embedding(space)) < 1e-14


def test_embedding_of_a_weighted_array_space_changes_the_inner_product():
    weight = positive_matrix(2, 0)
    include = embedding(Weighted(Euclidean(2), weight))
    np.testing.assert_allclose(include.H.matrix(), np.linalg.inv(weight), rtol=1e-13)
    np.testing.assert_allclose((include.H @ include.H.inverse).matrix(), np.eye(2), atol=1e-15)
    np.testing.assert_allclose(include.inverse.H.matrix(), weight, rtol=1e-13)


def test_embedding_errors():
    with pytest.raises(ArgumentTypeError, match=r"embedding takes a space of arrays. Got"):
        embedding(Euclidean(2).dual)
    with pytest.raises(ArgumentTypeError, match=r"embedding takes a space of arrays. Got"):
        embedding(3)


def test_rank_one_does_not_follow_later_writes():
    y = np.array([1.0, 2.0])
    one = rank_one(Euclidean(2).covector(np.ones(2)), y)
    y[:] = 0
    assert np.array_equal(one(np.array([1.0, 0.0])), [1.0, 2.0])
