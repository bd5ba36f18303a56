"""Spaces in other bases (E.1.80)."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import ArgumentError, ArgumentTypeError, SpaceMismatchError
from adjoint.maps import adjoint_error, from_matrix, space_error
from adjoint.spaces import Euclidean, Product, Symmetric, Weighted
from adjoint.tensors import InBasis, Tensor
from tests.spaces.strategies import positive_matrix

C = np.array([[2.0, 1.0, 0.0], [0.0, 1.0, 1.0], [0.0, 0.0, 1.0]])


@pytest.mark.parametrize(
    "space",
    [
        Euclidean(3),
        Weighted(Euclidean(3), positive_matrix(3, 0)),
        Symmetric(2),
        Product({"a": Euclidean(2), "b": Euclidean(())}),
        InBasis(Euclidean(3), C.T),
    ],
    ids=repr,
)
def test_a_space_in_a_basis_is_a_space(space):
    changed = InBasis(space, C)
    assert space_error(changed) < 1e-13
    x, y = space.random(0), space.random(1)
    np.testing.assert_allclose(changed.inner(x, y), space.inner(x, y), rtol=1e-13)
    np.testing.assert_allclose(changed.gram(), C.T @ space.gram() @ C, rtol=1e-13, atol=1e-14)
    for index, vector in enumerate(changed.basis()):
        np.testing.assert_allclose(space.coordinates(vector), C[:, index], atol=1e-15)
    covector = changed.covector(space.random(2) if space._full else space.zero())
    values = [covector(vector) for vector in changed.basis()]
    np.testing.assert_allclose(changed.dual.coordinates(covector), values, rtol=1e-13)
    assert changed.ambient == space.ambient


def test_matrices_of_maps_between_spaces_in_bases():
    """C^-1 A C, without tensors (E.1.80)."""
    A = np.random.default_rng(0).standard_normal((3, 3))
    X = InBasis(Euclidean(3), C)
    D = ad.maps.LinearMap(X, X, lambda u: A @ u, lambda c: A.T @ c)
    np.testing.assert_allclose(D.matrix(), np.linalg.inv(C) @ A @ C, rtol=1e-13)
    np.testing.assert_allclose(D.matrix(by=ad.maps.MatrixBy.ROWS), D.matrix(), rtol=1e-13)
    np.testing.assert_allclose(from_matrix(D.matrix(), X, X)(np.ones(3)), A @ np.ones(3))
    assert adjoint_error(D) < 1e-14
    # The gradient is the same vector in every basis.
    gradient = ad.grad(lambda x: np.sum(np.sin(x)), space=X)(np.ones(3))
    np.testing.assert_allclose(gradient, np.cos(np.ones(3)))


def test_a_basis_of_a_basis_is_one_basis():
    D = C.T
    assert InBasis(InBasis(Euclidean(3), C), D) == InBasis(Euclidean(3), C @ D)
    assert InBasis(Euclidean(3), C) != InBasis(Euclidean(3), D)
    assert hash(InBasis(Euclidean(3), C)) == hash(InBasis(Euclidean(3), C.copy()))
    assert "InBasis(Euclidean((3,)), [[2.0, 1.0, 0.0]" in repr(InBasis(Euclidean(3), C))


def test_faults():
    X = Euclidean(3)
    with pytest.raises(ArgumentError, match="has rank 2 of 3"):
        InBasis(X, np.diag([1.0, 1.0, 0.0]))
    with pytest.raises(ArgumentError, match="has rank"):
        InBasis(X, np.full((3, 3), np.nan))
    with pytest.raises(ArgumentError, match=r"has shape \(3, 3\)"):
        InBasis(X, np.eye(2))
    with pytest.raises(ArgumentTypeError, match="real numbers"):
        InBasis(X, np.eye(3) + 0j)
    with pytest.raises(ArgumentTypeError, match="a space and a matrix"):
        InBasis(np.eye(3), np.eye(3))
    T = Tensor(np.ones((2, 3)), (Euclidean(2),), (X,))
    with pytest.raises(ArgumentError, match="regular"):
        T.change_of_basis({X: np.zeros((3, 3))})
    with pytest.raises(SpaceMismatchError, match="tensor over 2 spaces"):
        T.change_of_basis(C)
    with pytest.raises(SpaceMismatchError, match="has no index"):
        T.change_of_basis({Euclidean(4): np.eye(4)})


def test_tensors_in_different_bases_are_not_mixed():
    X = Euclidean(3)
    A, u = Tensor(C, (X,), (X,)), Tensor(np.ones(3), (X,))
    with pytest.raises(SpaceMismatchError):
        A.change_of_basis(C) @ u
    np.testing.assert_allclose(
        (A.change_of_basis(C) @ u.change_of_basis(C)).in_own_bases().components, C @ np.ones(3)
    )
    assert u.in_own_bases().outputs == (X,)


def test_covectors_in_any_basis_are_evaluated_on():
    space = InBasis(Euclidean(2), np.array([[2.0, 1.0], [0.0, 1.0]]))
    tensor = Tensor(np.array([1.0, 2.0]), outputs=(space,))
    changed = tensor.change_of_basis(np.array([[1.0, 0.0], [3.0, 1.0]]))
    for home in (space, space.base, changed.outputs[0]):
        covector = home.riesz(np.array([1.0, -2.0]))
        value = covector(tensor())
        np.testing.assert_allclose(tensor.evaluate([covector]), value)
        np.testing.assert_allclose(changed.evaluate([covector]), value)


def test_bases_may_differ_in_their_units():
    units = np.diag([1e-12, 1e12])
    A = Tensor(np.array([[1.0, 2.0], [3.0, 4.0]]), (Euclidean(2),), (Euclidean(2),))
    changed = A.change_of_basis(units)
    np.testing.assert_allclose(changed.components, [[1.0, 2e24], [3e-24, 4.0]])
    np.testing.assert_allclose(changed.in_own_bases().components, A.components)
    with pytest.raises(ArgumentError, match="regular"):
        A.change_of_basis(np.diag([1e-12, 0.0]))
