"""Sums of rank-one maps, and singular values under any inner products."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adjoint as ad
from adjoint.base.errors import (
    ArgumentError,
    ArgumentTypeError,
    MembershipError,
    SpaceMismatchError,
)
from adjoint.maps import (
    adjoint_error,
    finite_rank,
    from_matrix,
    linearity_error,
    rank_one_terms,
    singular_values,
)
from adjoint.spaces import Euclidean, Weighted
from tests.maps.test_duality import random_map, same
from tests.spaces.strategies import spaces
from tests.spaces.test_dual_basis import some_basis

EXAMPLES = settings(max_examples=40, deadline=None)
SEEDS = st.integers(0, 99)


@given(spaces(), spaces(), st.integers(0, 3), SEEDS)
@EXAMPLES
def test_finite_rank_is_a_sum_of_inner_products(domain, codomain, count, seed):
    """E.1.33: f[x] = sum_i <v_i, x> y_i."""
    vectors = [domain.random(seed + n) for n in range(count)]
    images = [codomain.random(seed + 10 + n) for n in range(count)]
    found = finite_rank(vectors, images, domain, codomain)
    x = domain.random(seed + 20)
    expected = np.zeros(codomain.dimension)
    for v, y in zip(vectors, images, strict=True):
        expected = expected + float(domain.inner(v, x)) * codomain.coordinates(y)
    np.testing.assert_allclose(codomain.coordinates(found(x)), expected, rtol=1e-8, atol=1e-9)
    assert linearity_error(found) < 1e-12
    assert adjoint_error(found) < 1e-9
    same(found.H, finite_rank(images, vectors, codomain, domain))


@given(spaces(), spaces(), SEEDS)
@EXAMPLES
def test_every_map_is_such_a_sum(domain, codomain, seed):
    """E.1.33: in any basis with its dual basis, D u = sum_i b^i(u) D b_i."""
    linear_map = random_map(domain, codomain, seed)
    terms = rank_one_terms(linear_map, some_basis(domain, seed))
    covectors, images = [w for w, _ in terms], [y for _, y in terms]
    if domain == domain.dual.dual and not isinstance(domain, ad.spaces.Dual):
        same(finite_rank(covectors, images, domain, codomain), linear_map)
    vectors = [domain.represent(w) for w in covectors]
    same(finite_rank(vectors, images, domain, codomain), linear_map)


@given(spaces(), spaces(), SEEDS)
@EXAMPLES
def test_singular_values_in_two_inner_products(domain, codomain, seed):
    """D v_i = s_i y_i, D.H y_i = s_i v_i, v_i and y_i orthonormal; and the sum gives D (E.1.33)."""
    linear_map = random_map(domain, codomain, seed)
    found = singular_values(linear_map)
    count = len(found.values)
    assert count == min(domain.dimension, codomain.dimension)
    assert np.all(np.diff(found.values) <= 0)
    for space, vectors in ((domain, found.vectors), (codomain, found.images)):
        table = [[float(space.inner(one, other)) for other in vectors] for one in vectors]
        np.testing.assert_allclose(np.reshape(table, (count, count)), np.eye(count), atol=1e-7)
    for s, v, y in zip(found.values, found.vectors, found.images, strict=True):
        np.testing.assert_allclose(
            codomain.coordinates(linear_map(v)), s * codomain.coordinates(y), atol=1e-7
        )
        np.testing.assert_allclose(
            domain.coordinates(linear_map.H(y)), s * domain.coordinates(v), atol=1e-7
        )
    same(found.map(), linear_map)


def test_the_norm_and_the_nearest_map_of_a_rank():
    """Eckart and Young, 1936, in the norms of weighted spaces."""
    domain, codomain = Weighted(Euclidean(4), np.arange(1.0, 5)), Weighted(Euclidean(3), 2.0)
    linear_map = random_map(domain, codomain, 5)
    found = singular_values(linear_map)
    generator = np.random.default_rng(0)
    stretch = [
        float(codomain.norm(linear_map(u)) / domain.norm(u))
        for u in (domain.random(generator) for _ in range(50))
    ]
    assert max(stretch) <= found.norm
    assert max(stretch) > 0.8 * found.norm
    for rank in range(4):
        rest = singular_values(linear_map - found.map(rank))
        assert rest.norm == pytest.approx(found.values[rank] if rank < 3 else 0, abs=1e-14)
    assert found.rank == 3
    assert singular_values(found.map(1)).rank == 1


def test_square_of_a_matrix_as_a_sum_of_rank_one_maps():
    """The question after E.1.33, for E.1.20: UX + XU = sum_ij <E_ij, U> (E_ij X + X E_ij)."""
    X = np.random.default_rng(2).standard_normal((3, 3))
    D = ad.derivative(lambda X: X @ X, X)
    units = list(Euclidean((3, 3)).basis())
    images = [E @ X + X @ E for E in units]
    same(finite_rank(units, images, D.domain, D.codomain), D)
    for (w, y), E, image in zip(rank_one_terms(D), units, images, strict=True):
        np.testing.assert_array_equal(w.components, E)
        np.testing.assert_allclose(y, image, rtol=1e-14)


def test_a_functional_on_matrices_is_one_term():
    """The same question for E.1.31: A -> Tr(B'A) = <B, A> 1, of rank one."""
    B = np.array([[1.0, 2.0], [3.0, 4.0]])
    found = finite_rank([B], [np.float64(1)], Euclidean((2, 2)), Euclidean(()))
    A = np.random.default_rng(0).standard_normal((2, 2))
    assert found(A) == pytest.approx(np.trace(B.T @ A))


def test_nothing_is_the_zero_map():
    space = Euclidean(2)
    assert not finite_rank([], [], space, space).matrix().any()
    assert singular_values(finite_rank([], [], space, space)).rank == 0
    nothing = singular_values(from_matrix(np.zeros((0, 2)), space, Euclidean(0)))
    assert (nothing.rank, nothing.norm) == (0, 0.0)


def test_errors():
    space = Euclidean(2)
    with pytest.raises(ArgumentError, match="as many vectors as images"):
        finite_rank([np.ones(2)], [], space, space)
    with pytest.raises(MembershipError, match=r"vectors\[0\]"):
        finite_rank([np.ones(3)], [np.ones(2)], space, space)
    with pytest.raises(SpaceMismatchError, match=r"vectors\[0\]"):
        finite_rank([Euclidean(3).covector(np.ones(3))], [np.ones(2)], space, space)
    with pytest.raises(MembershipError):
        finite_rank([np.ones(2)], [np.ones(3)], space, space)
    with pytest.raises(ArgumentError, match="between 0 and 2"):
        singular_values(from_matrix(np.eye(2), space, space)).map(3)


def test_a_map_stays_as_it_is_when_its_images_are_written_into():
    vector, image = np.ones(2), np.ones(3)
    f = finite_rank([vector], [image], Euclidean(2), Euclidean(3))
    vector[:], image[:] = 7, 7
    np.testing.assert_array_equal(f.matrix(), np.ones((3, 2)))


def test_vectors_may_be_any_iterable():
    f = finite_rank(iter(np.eye(2)), iter(np.eye(2)), Euclidean(2), Euclidean(2))
    np.testing.assert_array_equal(f.matrix(), np.eye(2))
    basis = [np.array([1.0, 1.0]), np.array([0.0, 2.0])]
    terms = rank_one_terms(f, iter(basis))
    np.testing.assert_array_equal([image for _, image in terms], basis)


def test_the_rank_goes_by_the_lower_precision():
    """Of a matrix of rank one, to single precision: its roundings have singular values too."""
    single = np.outer([1.1, 2.3, 3.7], [1.3, 1.1, 0.7]).astype(np.float32)
    domain = Weighted(Euclidean(3, np.float32), 2.0)
    found = singular_values(from_matrix(single, domain, Euclidean(3)))
    assert found.rank == 1
    assert len(found.values) == 3


def test_singular_values_of_what_has_none():
    plane = Euclidean(2)
    with pytest.raises(ArgumentTypeError, match="LinearMap was expected"):
        singular_values(np.eye(2))
    with pytest.raises(ArgumentTypeError, match="LinearMap was expected"):
        rank_one_terms(np.eye(2))
    with pytest.raises(ArgumentError, match="NaN"):
        singular_values(from_matrix(np.array([[1.0, np.nan], [0.0, 1.0]]), plane, plane))
    with pytest.raises(ArgumentError, match="between 0 and 2"):
        singular_values(from_matrix(np.eye(2), plane, plane)).map(1.5)


def test_maps_from_a_dual_space_are_sums_of_rank_one_too():
    """A covector on covectors is a vector: E.1.33 with X' in the place of X."""
    space = Weighted(Euclidean(3), np.array([1.0, 2.0, 4.0]))
    f = from_matrix(np.arange(6.0).reshape(2, 3), space.dual, Euclidean(2))
    terms = rank_one_terms(f)
    again = finite_rank([v for v, _ in terms], [y for _, y in terms], space.dual, Euclidean(2))
    np.testing.assert_allclose(again.matrix(), f.matrix())
    np.testing.assert_allclose(again.H.matrix(), f.H.matrix())
    v, w = np.array([1.0, 2.0, 3.0]), space.covector(np.array([4.0, 5.0, 6.0]))
    one = finite_rank([v], [1.0], space.dual, Euclidean(()))
    np.testing.assert_allclose(one(w), w(v))
    other = finite_rank([w], [1.0], space.dual, Euclidean(()))
    np.testing.assert_allclose(other(w), space.dual.inner(w, w))
