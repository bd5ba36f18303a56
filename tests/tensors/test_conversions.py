"""Vectors, covectors, maps and bilinear maps as tensors, and back; bras and kets."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import ArgumentError, ArgumentTypeError, MembershipError
from adjoint.maps import BilinearMap
from adjoint.spaces import Euclidean, Symmetric, Weighted
from adjoint.tensors import (
    InBasis,
    Tensor,
    bra,
    from_bilinear_map,
    from_covector,
    from_map,
    from_vector,
    identity,
    inner_product,
    ket,
    to_bilinear_map,
    to_covector,
    to_map,
    to_vector,
)
from tests.spaces.strategies import positive_matrix

X, Y = Weighted(Euclidean(3), positive_matrix(3, 0)), Symmetric(2)


def test_round_trips():
    x = X.random(0)
    np.testing.assert_allclose(to_vector(from_vector(x, X)), x)
    S = Y.random(1)
    np.testing.assert_allclose(to_vector(from_vector(S, Y)), S)
    covector = X.covector(X.random(2))
    assert to_covector(from_covector(covector)).space == X
    np.testing.assert_allclose(to_covector(from_covector(covector)).components, covector.components)
    D = ad.derivative(lambda u: np.diag(u[1:] ** 2), x, domain=X, codomain=Y)
    back = to_map(from_map(D))
    np.testing.assert_allclose(back(x), D(x))
    np.testing.assert_allclose(back.H(S), D.H(S))


def test_round_trips_in_another_basis():
    C = np.triu(np.ones((3, 3)))
    x = X.random(0)
    np.testing.assert_allclose(to_vector(from_vector(x, X).change_of_basis(C)), x)
    changed = to_covector(from_covector(X.riesz(x)).change_of_basis(C))
    np.testing.assert_allclose(changed(x), X.inner(x, x))
    assert changed.space == InBasis(X, C)
    np.testing.assert_allclose(to_map(identity(X).change_of_basis(C))(x), x)


def test_bilinear_maps():
    """(E.1.78) with an output index, and the inner product without."""
    x = np.array([0.3, 0.4, 0.5])
    plain = Euclidean(3)

    def f(x):
        return np.array([x[0] * x[1] * x[2], np.sin(x[0]) * x[1]])

    array = ad.jacobian(ad.jacobian(f))(x)
    second = BilinearMap(
        plain, plain, Euclidean(2), lambda u, v: np.einsum("kij,i,j->k", array, u, v)
    )
    T = from_bilinear_map(second)
    assert T.type == (2, 1)
    np.testing.assert_allclose(T.components, array)
    back = to_bilinear_map(T)
    u, v = plain.random(0), plain.random(1)
    np.testing.assert_allclose(back(u, v), second(u, v))
    assert ad.maps.adjoint_error(back(u)) < 1e-14
    W = to_bilinear_map(inner_product(X))
    np.testing.assert_allclose(W(u, v), X.inner(u, v))
    assert ad.maps.adjoint_error(W(u)) < 1e-14
    assert from_bilinear_map(W).type == (2, 0)
    np.testing.assert_allclose(from_bilinear_map(W).components, X.gram())


def test_bras_and_kets():
    """<x|y>, |x><y| and <x|A|y> in a weighted space: quantum mechanics' notation."""
    x, y, z = (X.random(seed) for seed in range(3))
    np.testing.assert_allclose(bra(x, X) @ ket(y, X), X.inner(x, y))
    dyad = ket(x, X) @ bra(y, X)
    assert dyad.type == (1, 1)
    np.testing.assert_allclose(to_map(dyad)(z), X.inner(y, z) * x)
    A = from_map(ad.maps.from_matrix(np.arange(9.0).reshape(3, 3), X, X))
    np.testing.assert_allclose(bra(x, X) @ A @ ket(y, X), X.inner(x, to_map(A)(y)))
    np.testing.assert_allclose(bra(x, X).components, ket(x, X).lowered().components)
    np.testing.assert_allclose(dyad.trace(), X.inner(y, x))


def test_the_identity_is_a_sum_of_dyads():
    """The resolution of the identity, sum_i |e_i><e_i| over an orthonormal basis."""
    root = np.linalg.inv(np.linalg.cholesky(positive_matrix(3, 0))).T
    frame = [root[:, index] for index in range(3)]
    dyads = [(ket(e, X) @ bra(e, X)).components for e in frame]
    np.testing.assert_allclose(sum(dyads), np.eye(3), atol=1e-13)


def test_faults():
    with pytest.raises(MembershipError):
        from_vector(np.ones(2), X)
    with pytest.raises(MembershipError):
        bra(np.ones(2), X)
    with pytest.raises(ArgumentTypeError, match="takes a covector"):
        from_covector(np.ones(3))
    with pytest.raises(ArgumentTypeError, match="takes a linear map"):
        from_map(np.eye(3))
    with pytest.raises(ArgumentTypeError, match="takes a bilinear map"):
        from_bilinear_map(np.eye(3))
    W = inner_product(X)
    for function in (to_vector, to_covector, to_map):
        with pytest.raises(ArgumentError, match=r"Got a Tensor of type \(2, 0\)"):
            function(W)
    with pytest.raises(ArgumentError, match=r"type \(2, 1\) or \(2, 0\)"):
        to_bilinear_map(np.eye(3))
    with pytest.raises(ArgumentError, match="without batch axes"):
        to_vector(Tensor(np.ones((4, 3)), (X,), batch=1))
