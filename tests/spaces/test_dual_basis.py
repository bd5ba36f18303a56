"""Dual and reciprocal bases of any basis of any space."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adjoint.base.errors import (
    ArgumentError,
    ArgumentTypeError,
    MembershipError,
    SpaceMismatchError,
)
from adjoint.spaces import Euclidean, Product, Symmetric, Weighted, dual_basis, reciprocal_basis
from tests.spaces.strategies import positive_matrix, spaces


def some_basis(space, seed):
    """Random vectors, whose coordinates are a well-conditioned matrix."""
    frame = positive_matrix(space.dimension, seed) if space.dimension else np.zeros((0, 0))
    return [space.from_coordinates(column.astype(space._real_dtype)) for column in frame.T]


@given(spaces(), st.integers(0, 99))
@settings(max_examples=50, deadline=None)
def test_dual_basis_reads_off_coordinates(space, seed):
    """Footnote before E.1.80: b^i(b_j) is 1 if i = j and 0 otherwise, so u = sum b^i(u) b_i."""
    basis = some_basis(space, seed)
    covectors = dual_basis(space, basis)
    table = [[space._pair(space._components_of(w), b) for b in basis] for w in covectors]
    np.testing.assert_allclose(np.reshape(table, (len(basis),) * 2), np.eye(len(basis)), atol=1e-10)
    u = space.random(seed)
    again = space._zero()
    for w, b in zip(covectors, basis, strict=True):
        again = space._add(again, space._scale(space._pair(space._components_of(w), u), b))
    np.testing.assert_allclose(space.coordinates(again), space.coordinates(u), atol=1e-9)


@given(spaces(), st.integers(0, 99))
@settings(max_examples=30, deadline=None)
def test_reciprocal_basis_is_the_dual_basis_by_riesz(space, seed):
    """E.1.30: <r_i, b_j> = b^i(b_j)."""
    basis = some_basis(space, seed)
    found = [[float(space.inner(r, b)) for b in basis] for r in reciprocal_basis(space, basis)]
    np.testing.assert_allclose(np.reshape(found, (len(basis),) * 2), np.eye(len(basis)), atol=1e-9)


def test_dual_basis_changes_by_the_inverse():
    """E.1.80: new basis e'_j = sum_i C_ij e_i; new dual basis e'^i = sum_j (C^-1)_ij e^j."""
    space, change = Euclidean(3), positive_matrix(3, 1) + np.triu(np.ones((3, 3)))
    rows = [w.components for w in dual_basis(space, list(change.T))]
    np.testing.assert_allclose(rows, np.linalg.inv(change), rtol=1e-12)


def test_an_orthonormal_basis_is_its_own_reciprocal():
    space = Weighted(Symmetric(2), 4.0)
    basis = [b / 2 for b in space.basis()]
    for b, r in zip(basis, reciprocal_basis(space, basis), strict=True):
        np.testing.assert_allclose(r, b, atol=1e-15)


def test_covectors_of_the_dual_basis_are_immutable():
    (w,) = dual_basis(Euclidean(1))
    with pytest.raises(ValueError, match="read-only"):
        w.components[0] = 2.0


def test_default_basis_of_a_product():
    space = Product({"a": Euclidean(1), "b": Euclidean(())})
    assert [w(space.from_coordinates([2.0, 3.0])) for w in dual_basis(space)] == [2.0, 3.0]


@pytest.mark.parametrize("count", [1, 3])
def test_a_basis_of_another_size_is_refused(count):
    with pytest.raises(ArgumentError, match="must be a basis of Euclidean"):
        dual_basis(Euclidean(2), [np.ones(2)] * count)


def test_dependent_vectors_are_refused():
    with pytest.raises(ArgumentError, match="1 of them independent"):
        dual_basis(Euclidean(2), [np.ones(2), 2 * np.ones(2)])


def test_what_is_no_vector_is_refused():
    space = Euclidean(1)
    with pytest.raises(MembershipError, match=r"basis\[0\]"):
        dual_basis(space, [np.ones(2)])
    with pytest.raises(SpaceMismatchError):
        reciprocal_basis(space, [space.covector(np.ones(1))])


def test_a_basis_of_very_unequal_lengths_is_one():
    basis = [np.array([1e-20, 0.0]), np.array([1e10, 1e10])]
    first, second = dual_basis(Euclidean(2), basis)
    np.testing.assert_allclose(first.components, [1e20, -1e20])
    np.testing.assert_allclose(second.components, [0.0, 1e-10])


def test_a_basis_may_be_any_iterable():
    found = dual_basis(Euclidean(2), (2 * row for row in np.eye(2)))
    np.testing.assert_array_equal([w.components for w in found], np.eye(2) / 2)


@pytest.mark.parametrize("entry", [np.nan, np.inf])
def test_no_basis_holds_nan(entry):
    with pytest.raises(ArgumentError, match="must be a basis"):
        dual_basis(Euclidean(2), [np.array([1.0, entry]), np.ones(2)])


def test_a_basis_is_one_of_a_space():
    with pytest.raises(ArgumentTypeError, match="one of a space"):
        dual_basis(np.eye(2))
