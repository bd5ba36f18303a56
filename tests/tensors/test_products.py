"""Tensor products of spaces, and multilinear maps as linear ones (E.1.81, E.1.82)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adjoint as ad
from adjoint.base.errors import ArgumentError, ArgumentTypeError, MembershipError
from adjoint.maps import from_matrix, space_error
from adjoint.spaces import Euclidean, Symmetric, Weighted
from adjoint.tensors import (
    InBasis,
    Tensor,
    TensorProduct,
    as_vector,
    from_covector,
    from_map,
    inner_product,
    joined,
    split,
)
from tests.spaces.strategies import positive_matrix

X = Weighted(Euclidean(3), positive_matrix(3, 0))
Y = Weighted(Euclidean(2), positive_matrix(2, 1))
SPACES = [
    TensorProduct(X, Y),
    TensorProduct(Euclidean(2), Euclidean(3), Symmetric(2)),
    TensorProduct(Y, X.dual),
    TensorProduct(InBasis(X, np.triu(np.ones((3, 3)))), Euclidean(2, complex)),
]


@pytest.mark.parametrize("space", SPACES, ids=repr)
def test_laws(space):
    assert space_error(space) < 1e-13
    assert space.dimension == int(np.prod(space.shape))


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**16))
def test_the_inner_product_of_products(seed):
    """<x (x) y, x' (x) y'> = <x, x'> <y, y'>."""
    for space in SPACES:
        one = [factor.random(seed) for factor in space.factors]
        other = [factor.random(seed + 1) for factor in space.factors]
        expected = np.prod(
            [f.inner(a, b) for f, a, b in zip(space.factors, one, other, strict=True)]
        )
        found = space.inner(space.product(*one), space.product(*other))
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)


def test_a_bilinear_functional_is_a_linear_one_on_products():
    """(E.1.81) I[x, y] = x' W y becomes (E.1.82) I[x (x) y] = <W, x (x) y> = Tr(W' xy')."""
    plain = Euclidean(3)
    W = np.random.default_rng(0).standard_normal((3, 3))
    bilinear = Tensor(W, inputs=(plain, plain))
    linear = joined(bilinear)
    space = TensorProduct(plain, plain)
    assert (linear.type, linear.inputs) == ((1, 0), (space,))
    x, y = plain.random(0), plain.random(1)
    product = space.product(x, y)
    np.testing.assert_allclose(product, np.outer(x, y))
    np.testing.assert_allclose(bilinear(x, y), x @ W @ y)
    np.testing.assert_allclose(linear(product), x @ W @ y)
    np.testing.assert_allclose(space.inner(W, product), np.trace(W.T @ product))
    np.testing.assert_allclose(linear(product), np.trace(W.T @ product))
    np.testing.assert_allclose(linear.raised()(), W)  # it is represented by W
    np.testing.assert_allclose(split(linear).components, W)


def test_joined_and_split_are_inverse():
    T = Tensor(np.random.default_rng(1).standard_normal((5, 2, 3, 3, 2)), (Y, X), (X, Y), batch=1)
    linear = joined(T)
    assert linear.type == (1, 1)
    back = split(linear)
    assert (back.outputs, back.inputs, back.batch) == (T.outputs, T.inputs, 1)
    np.testing.assert_array_equal(back.components, T.components)
    x, y = X.random(0), Y.random(1)
    values = joined(T)(linear.inputs[0].product(x, y)).components
    np.testing.assert_allclose(values.reshape(5, 2, 3), T(x, y).components)
    one = Tensor(np.ones((2, 3)), (Y,), (X,))
    assert joined(one).inputs == (X,)
    assert split(one).type == (1, 1)


def test_linear_maps_are_vectors_of_a_tensor_product():
    """Footnote 19: the space of linear maps is isomorphic to E (x) E'."""
    A = from_matrix(np.random.default_rng(2).standard_normal((2, 3)), X, Y)
    vector = as_vector(from_map(A))
    space = TensorProduct(Y, X.dual)
    assert vector.outputs == (space,)
    np.testing.assert_allclose(vector(), A.matrix())
    np.testing.assert_array_equal(split(vector).components, A.matrix())
    assert (split(vector).outputs, split(vector).inputs) == ((Y,), (X,))
    # Its inner product is that of Hilbert and Schmidt, Tr(A.H B).
    B = from_matrix(np.random.default_rng(3).standard_normal((2, 3)), X, Y)
    np.testing.assert_allclose(
        space.inner(A.matrix(), B.matrix()), np.trace((A.H @ B).matrix()), rtol=1e-12
    )
    # u (x) w is the map of rank one.
    y, w = Y.random(0), X.covector(X.random(1))
    np.testing.assert_allclose(space.product(y, w), ad.maps.rank_one(w, y, Y).matrix())
    back = split(Tensor(np.arange(6.0), inputs=(space,)))
    assert (back.outputs, back.inputs) == ((X,), (Y,))


def test_functionals_and_inner_products_on_matrices():
    """Cases (5) and (6) of section 1.4.3, of types (2, 0) and (4, 0)."""
    space = TensorProduct(Euclidean(2), Euclidean(3))
    W = np.random.default_rng(4).standard_normal((2, 3))
    functional = split(from_covector(space.covector(W)))
    assert functional.type == (2, 0)
    np.testing.assert_array_equal(functional.components, W)
    product = split(inner_product(space))
    assert product.type == (4, 0)
    A, B = space.random(0), space.random(1)
    np.testing.assert_allclose(np.einsum("abcd,ab,cd", product.components, A, B), np.trace(A.T @ B))


def test_change_of_basis_commutes_with_splitting():
    """C (x) D on X (x) Y is C on X and D on Y (E.1.80)."""
    T = Tensor(np.random.default_rng(5).standard_normal((3, 2)), inputs=(X, Y))
    C, D = np.triu(np.ones((3, 3))), np.array([[2.0, 1.0], [0.0, 1.0]])
    whole = joined(T).change_of_basis(np.kron(C, D)).components
    np.testing.assert_allclose(whole, np.ravel(T.change_of_basis({X: C, Y: D}).components))


def test_gradients_in_a_tensor_product():
    space = TensorProduct(X, Y)
    W = space.random(0)
    gradient = ad.grad(lambda Z: np.sum(W * Z), space=space)(space.zero())
    expected = np.linalg.solve(X.gram(), W) @ np.linalg.inv(Y.gram())
    np.testing.assert_allclose(gradient, expected)


def test_faults():
    with pytest.raises(ArgumentError, match="two spaces or more"):
        TensorProduct(X)
    with pytest.raises(ArgumentTypeError, match="takes spaces"):
        TensorProduct(X, 3)
    with pytest.raises(ArgumentError, match="has 2 factors"):
        TensorProduct(X, Y).product(X.random(0))
    with pytest.raises(MembershipError):
        TensorProduct(X, Y).product(X.random(0), X.random(0))
    with pytest.raises(ArgumentError, match="two indices or more"):
        as_vector(Tensor(np.ones(3), inputs=(X,)))
    assert not TensorProduct(X, Y).contains(np.ones((2, 3)))
