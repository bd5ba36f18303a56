"""Coordinates in which ⟨x, y⟩ is z·w."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sparse

from adjoint.base.errors import ArgumentError, MembershipError, NotPositiveDefiniteError
from adjoint.maps import LinearMap
from adjoint.spaces import Euclidean, OrthonormalCoordinates, Product, Symmetric, Weighted
from adjoint.spaces.inner_products.operator_weighted import OperatorWeighted
from tests.spaces.strategies import positive_matrix


def sparse_weight(n, seed):
    random = sparse.random(n, n, 0.15, random_state=seed)
    return (random @ random.T + 0.1 * sparse.eye(n)).tocsc()


def map_weight():
    base, matrix = Euclidean(3), positive_matrix(3, 3)
    inverse = np.linalg.inv(matrix)
    return LinearMap(
        base, base, lambda u: matrix @ u, lambda c: matrix @ c, inverse=lambda v: inverse @ v
    )


SPACES = [
    Euclidean(()),
    Euclidean((2, 3)),
    Euclidean(2, complex),
    Symmetric(3),
    Weighted(Euclidean((2, 2)), 2.0),
    Weighted(Euclidean((2, 2)), np.array([[1.0, 2.0], [3.0, 4.0]])),
    Weighted(Euclidean(2, complex), np.array([1.0, 2.0])),
    Weighted(Euclidean(4), positive_matrix(4, 0)),
    Weighted(Euclidean(2, complex), positive_matrix(2, 0, complex)),
    Weighted(Euclidean(40), sparse_weight(40, 1)),
    Weighted(Euclidean((5, 8)), sparse_weight(40, 2)),
    Weighted(Euclidean(10, complex), sparse_weight(20, 3)),
    Weighted(Euclidean(10, complex), sparse_weight(10, 3)),
    Weighted(Symmetric(3), positive_matrix(6, 0)),
    Weighted(Symmetric(3), np.arange(1.0, 7.0)),
    Weighted(Euclidean(3), map_weight()),
    Product({"a": Euclidean(2), "b": Weighted(Euclidean(6), sparse_weight(6, 4))}),
    Product([Weighted(Euclidean(()), 3.0), Weighted(Euclidean(2), 4.0)]),
    Product([]),
]


@pytest.mark.parametrize("space", SPACES, ids=repr)
def test_inner_products_are_plain_and_elements_come_back(space):
    """E.1.25 to E.1.28, in coordinates."""
    frame = OrthonormalCoordinates(space)
    x, y = space.random(0), space.random(1)
    z, w = frame.of(x), frame.of(y)
    assert z.shape == (space.dimension,)
    assert z @ w == pytest.approx(float(space.inner(x, y)), rel=1e-11)
    back = space.coordinates(frame.element(z))
    np.testing.assert_allclose(back, space.coordinates(x), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("space", SPACES, ids=repr)
def test_covectors_have_the_coordinates_of_their_representatives(space):
    """E.1.30, E.1.37: what a plain gradient of z ↦ f(x(z)) is."""
    frame = OrthonormalCoordinates(space)
    covector, u = space.riesz(space.random(2)), space.random(3)
    z = frame.of_covector(space._components_of(covector))
    assert z @ frame.of(u) == pytest.approx(float(covector(u)), rel=1e-10)
    np.testing.assert_allclose(z, frame.of(space.represent(covector)), rtol=1e-9, atol=1e-12)


def test_diagonal_scales():
    frame = OrthonormalCoordinates(Product([Euclidean(2), Weighted(Euclidean(1), 4.0)]))
    np.testing.assert_array_equal(frame.scales, [1, 1, 2])
    assert OrthonormalCoordinates(Weighted(Euclidean(2), positive_matrix(2, 0))).scales is None


def test_rows_act_on_coordinates():
    space = Weighted(Euclidean(4), positive_matrix(4, 1))
    frame, matrix = OrthonormalCoordinates(space), np.arange(8.0).reshape(2, 4)
    x = space.random(0)
    np.testing.assert_allclose(frame.rows(matrix) @ frame.of(x), matrix @ x, rtol=1e-11)
    assert frame.rows(np.zeros((0, 4))).shape == (0, 4)


def test_a_large_sparse_inner_product_stays_sparse():
    n = 6000
    mass = sparse.diags_array(
        [np.full(n - 1, 1 / 6), np.full(n, 2 / 3), np.full(n - 1, 1 / 6)], offsets=[-1, 0, 1]
    )
    frame = OrthonormalCoordinates(Weighted(Euclidean(n), mass.tocsc()))
    x = np.sin(np.arange(float(n)))
    assert np.sum(frame.of(x) ** 2) == pytest.approx(x @ (mass @ x), rel=1e-12)


def test_a_large_inner_product_without_factor_is_an_error():
    space = OperatorWeighted(Euclidean(6000), lambda x: 2 * x, lambda c: c / 2, "twice")
    with pytest.raises(ArgumentError, match="dense with 6000 rows"):
        OrthonormalCoordinates(space)


def test_an_indefinite_inner_product_is_an_error():
    signs = np.array([1.0, -1.0])
    space = OperatorWeighted(Euclidean(2), lambda x: signs * x, lambda c: signs * c, "Minkowski")
    with pytest.raises(NotPositiveDefiniteError, match="eigenvalue -1"):
        OrthonormalCoordinates(space)


def test_wrong_arguments():
    frame = OrthonormalCoordinates(Weighted(Euclidean(2), np.array([1.0, 2.0])))
    with pytest.raises(MembershipError):
        frame.of(np.ones(3))
    with pytest.raises(ValueError):
        frame.element(np.ones(3))
    assert repr(frame) == "OrthonormalCoordinates(Weighted(Euclidean((2,)), diagonal (2,)))"
