"""Bilinear maps, as second derivatives are."""

from __future__ import annotations

import numpy as np
import pytest

from adjoint.base.errors import (
    ArgumentTypeError,
    MembershipError,
    MissingTransposeError,
    SpaceMismatchError,
)
from adjoint.maps import BilinearMap, LinearMap, adjoint_error
from adjoint.spaces import Euclidean, Symmetric, Weighted
from tests.spaces.duck import Duck

TENSOR = np.random.default_rng(0).standard_normal((2, 3, 4))
LEFT, RIGHT, CODOMAIN = Euclidean(3), Euclidean(4), Euclidean(2)
BILINEAR = BilinearMap(
    LEFT,
    RIGHT,
    CODOMAIN,
    lambda u, v: np.einsum("kij,i,j->k", TENSOR, u, v),
    lambda u, c: np.einsum("kij,i,k->j", TENSOR, u, c),
    name="B",
)
U, V = np.array([1.0, 2.0, 3.0]), np.array([1.0, -1.0, 0.5, 2.0])


def test_materialisation_is_the_three_dimensional_array():
    """E.1.78: B(u, u')_k = sum_ij T_kij u_i u'_j."""
    np.testing.assert_allclose(BILINEAR.array(), TENSOR, rtol=1e-14)
    found = np.einsum("kij,i,j->k", BILINEAR.array(), U, V)
    np.testing.assert_allclose(BILINEAR(U, V), found, rtol=1e-13)


def test_materialisation_in_other_spaces():
    """B(S, u) = u' S u' on symmetric matrices: coordinates are those of the orthonormal basis."""
    space = Weighted(Symmetric(2), 3.0)
    found = BilinearMap(space, Euclidean(2), Euclidean(2), lambda s, u: s @ u)
    array = found.array()
    assert array.shape == (2, 3, 2)
    s = space.random(0)
    np.testing.assert_allclose(
        np.einsum("kij,i,j->k", array, space.coordinates(s), U[:2]), s @ U[:2], rtol=1e-13
    )


def test_partial_application_is_a_linear_map():
    partial = BILINEAR(U)
    assert isinstance(partial, LinearMap)
    np.testing.assert_allclose(partial(V), BILINEAR(U, V))
    np.testing.assert_allclose(partial.matrix(), np.einsum("kij,i->kj", TENSOR, U), rtol=1e-13)
    assert adjoint_error(partial) < 1e-14
    assert repr(partial) == "LinearMap(B(u): Euclidean((4,)) -> Euclidean((2,)))"


def test_swapped():
    np.testing.assert_allclose(BILINEAR.swapped()(V, U), BILINEAR(U, V))
    np.testing.assert_allclose(BILINEAR.swapped().array(), np.swapaxes(TENSOR, 1, 2), rtol=1e-14)
    with pytest.raises(MissingTransposeError):
        BILINEAR.swapped()(V).T


def test_traced_arguments():
    product = BilinearMap(LEFT, LEFT, LEFT, lambda u, v: u * v)
    assert list(product(Duck(U), U).hidden) == [1, 4, 9]
    assert list(product(Duck(U))(U).hidden) == [1, 4, 9]


def test_errors():
    with pytest.raises(MembershipError, match="u must be an element of"):
        BILINEAR(V, V)
    with pytest.raises(MembershipError, match="u' must be an element of"):
        BILINEAR(U, U)
    with pytest.raises(SpaceMismatchError, match=r"u must be .*A covector is not a vector"):
        BILINEAR(LEFT.covector(U))
    with pytest.raises(ArgumentTypeError, match=r"one argument or two. Got 3"):
        BILINEAR(U, V, V)
    with pytest.raises(ArgumentTypeError, match="a space as its domain_right"):
        BilinearMap(LEFT, 3, CODOMAIN, max)
    with pytest.raises(MembershipError, match=r"The result of BilinearMap.*given as `apply`"):
        BilinearMap(LEFT, LEFT, CODOMAIN, lambda u, v: u * v)(U, U)


def test_repr():
    assert repr(BILINEAR) == "BilinearMap(B: Euclidean((3,)) x Euclidean((4,)) -> Euclidean((2,)))"


# --- real and symmetric maps ----------------------------------------------------------------------

WEIGHT = np.array([[2.0, 0.5], [0.5, 1.0]])
CURVED = np.array([[1.0, 3.0], [3.0, -2.0]])
PLANE = Weighted(Euclidean(2), WEIGHT)
FORM = BilinearMap(
    PLANE,
    PLANE,
    Euclidean(()),
    lambda u, v: u @ CURVED @ v,
    lambda u, w: w * (CURVED @ u),
    name="form",
    symmetric=True,
)


def test_operator_represents_the_form():
    """E.1.79: <u', O u> = B(u, u'), so O = W^-1 H, which is self-adjoint."""
    operator = FORM.operator()
    u, v = np.array([1.0, 2.0]), np.array([-1.0, 0.5])
    np.testing.assert_allclose(operator(u), np.linalg.solve(WEIGHT, CURVED @ u), rtol=1e-13)
    np.testing.assert_allclose(PLANE.inner(v, operator(u)), FORM(u, v), rtol=1e-13)
    np.testing.assert_allclose(operator.H(u), operator(u), rtol=1e-13)
    assert adjoint_error(operator) < 1e-14
    assert repr(operator).startswith("LinearMap(operator of form: ")


def test_operator_of_a_map_that_is_not_symmetric():
    """It needs no symmetry, but its transpose does."""
    skew = BilinearMap(
        PLANE,
        PLANE,
        Euclidean(()),
        lambda u, v: u[0] * v[1],
        lambda u, w: w * u[0] * np.array([0.0, 1.0]),
    )
    u = np.array([1.0, 2.0])
    np.testing.assert_allclose(PLANE.inner(u, skew.operator()(u)), 2.0, rtol=1e-13)
    with pytest.raises(MissingTransposeError):
        skew.operator().H


def test_symmetric_maps_are_their_own_swap():
    assert FORM.swapped() is FORM
    with pytest.raises(SpaceMismatchError, match="A symmetric bilinear map has one domain"):
        BilinearMap(LEFT, RIGHT, CODOMAIN, max, symmetric=True)


def test_operator_of_what_is_not_real():
    with pytest.raises(SpaceMismatchError, match="Its values are not real numbers"):
        BILINEAR.operator()
    with pytest.raises(MissingTransposeError, match="It was built without one"):
        BilinearMap(LEFT, LEFT, Euclidean(()), np.dot).operator()


def test_array_of_an_empty_map():
    nothing = BilinearMap(Euclidean(0), Euclidean(2), Euclidean(3), lambda u, v: np.zeros(3))
    assert nothing.array().shape == (3, 0, 2)
