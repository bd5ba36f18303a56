"""What all spaces of matrices share: membership, and how a new one is made."""

from __future__ import annotations

import numpy as np

from adjoint.maps import adjoint_error, embedding, space_error
from adjoint.spaces import Diagonal, LowerTriangular, Patterned, Skew, Symmetric, TraceFree


def test_membership_is_to_rounding():
    x = np.random.default_rng(0).standard_normal((3, 3))
    symmetric = x @ x.T + x + x.T
    symmetric[0, 1] *= 1 + 1e-15
    assert Symmetric(3).contains(symmetric)
    symmetric[0, 1] *= 1 + 1e-10
    assert not Symmetric(3).contains(symmetric)
    assert not Skew(3).contains(np.eye(3))
    assert Skew(3).contains(np.zeros((3, 3)))
    free = x - np.trace(x) / 3 * np.eye(3)
    assert TraceFree(3).contains(free)
    assert not TraceFree(3).contains(free + 1e-10 * np.eye(3))
    assert not TraceFree(3).contains(x)
    assert not Diagonal(3).contains(np.eye(3) + 1e-10 * np.eye(3, k=1))


def test_nan_and_infinity_are_entries_like_others():
    x = np.array([[np.nan, np.inf], [np.inf, 1.0]])
    assert Symmetric(2).contains(x)
    assert not Symmetric(2).contains(np.array([[0.0, np.inf], [1.0, 0.0]]))
    assert not Symmetric(2).contains(np.array([[np.inf, 1.0], [2.0, 0.0]]))
    assert LowerTriangular(2).contains(np.array([[np.inf, 0.0], [np.nan, 1.0]]))
    assert not LowerTriangular(2).contains(np.array([[np.inf, np.inf], [np.nan, 1.0]]))
    largest = np.finfo(float).max
    assert Symmetric(2).contains(np.full((2, 2), np.inf))
    assert Skew(2).contains(np.array([[0.0, largest], [-largest, 0.0]]))


def test_a_new_structure_is_a_few_lines():
    class AntiDiagonal(Patterned):
        _mirror = 0
        _structure, _remedy = "anti-diagonal", "x * np.eye(len(x))[::-1]"

        def _pattern(self):
            return np.arange(self.n), np.arange(self.n)[::-1]

    space = AntiDiagonal(3)
    assert space_error(space) < 1e-15
    np.testing.assert_array_equal(space.restrict(np.ones((3, 3))), np.eye(3)[::-1])
    assert adjoint_error(embedding(space)) < 1e-15
