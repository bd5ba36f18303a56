"""A space whose inner product is given by functions."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import MembershipError
from adjoint.spaces import Euclidean, Symmetric, Weighted
from adjoint.spaces.inner_products.operator_weighted import OperatorWeighted
from tests.spaces.strategies import positive_matrix

W = positive_matrix(3, 0)
SPACE = OperatorWeighted(
    Euclidean(3), lambda x: W @ x, lambda c: np.linalg.solve(W, c), "the matrix W"
)


def test_it_is_the_weighted_space():
    """E.1.25, E.1.30."""
    same = Weighted(Euclidean(3), W)
    x, y = SPACE.random(0), SPACE.random(1)
    assert SPACE.inner(x, y) == pytest.approx(same.inner(x, y))
    np.testing.assert_allclose(SPACE.gram(), W)
    np.testing.assert_allclose(SPACE.represent(SPACE.covector(x)), same.represent(same.covector(x)))
    assert ad.testing.check_space(SPACE).passed


def test_equality_is_that_of_the_base_and_the_key():
    other = OperatorWeighted(Euclidean(3), lambda x: x, lambda c: c, "the matrix W")
    assert other == SPACE
    assert hash(other) == hash(SPACE)
    assert OperatorWeighted(Euclidean(3), lambda x: x, lambda c: c, "another") != SPACE


def test_membership_is_that_of_the_base():
    space = OperatorWeighted(Symmetric(2), lambda x: 2 * x, lambda c: c / 2, "twice")
    assert space.contains(np.eye(2))
    with pytest.raises(MembershipError, match=r"OperatorWeighted\(Symmetric\(2\)\)"):
        space.check(np.array([[1.0, 2.0], [3.0, 4.0]]))
