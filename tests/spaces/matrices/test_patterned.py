"""What all spaces of matrices share: membership, and how a new one is made."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import ArgumentError
from adjoint.maps import adjoint_error, embedding, space_error
from adjoint.spaces import (
    Diagonal,
    Euclidean,
    LowerTriangular,
    Patterned,
    Skew,
    Span,
    Symmetric,
    TraceFree,
)


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


def test_the_difference_of_two_elements_is_one():
    """Though its largest entry is no larger than the roundings that it is left with."""
    for seed in range(20):
        line = Span([np.arange(3.0)], Euclidean(3))
        for space in (TraceFree(3), TraceFree(3, complex), Symmetric(3), line):
            x = 10 * space.random(seed)
            space.check(x / 3 + x / 3 + x / 3 - x)
            space.check(x - (1 + 1e-12) * x)


def test_descent_to_zero_stays_in_the_space():
    for space in (TraceFree(4), Span.kernel(ad.derivative(np.sum, np.zeros(7)))):
        x = space.random(0)
        slope = ad.grad(lambda x: np.sum(x * x), space=space)
        for _ in range(200):
            x = x - 0.3 * slope(x)
        assert space.norm(x) < 1e-14


def test_small_elements_of_no_space():
    """What is no element is refused down to a few hundred roundings of 1."""
    assert not Symmetric(2).contains(np.array([[0.0, 1e-12], [0.0, 0.0]]))
    assert not TraceFree(2).contains(1e-12 * np.eye(2))


class Tridiagonal(Patterned):
    """Symmetric ones, or skew-symmetric ones."""

    _structure, _remedy = "tridiagonal", "np.triu(np.tril(x, 1), -1)"

    def __init__(self, n, mirror):
        super().__init__(n)
        self._mirror = mirror

    def _pattern(self):
        i = np.arange(self.n)
        off = i[:-1], i[1:]
        return off if self._mirror < 0 else tuple(map(np.append, (i, i), off))


@pytest.mark.parametrize("mirror", [1, -1])
def test_a_mirrored_pattern_that_leaves_entries_out(mirror):
    """What is far from the diagonal is dropped, too: gradients and elements are tridiagonal."""
    space = Tridiagonal(5, mirror)
    c = np.random.default_rng(0).standard_normal((5, 5))
    band = np.triu(np.tril(c, 1), -1)
    np.testing.assert_array_equal(space.restrict(c), (band + mirror * band.T) / 2)
    assert not space.contains(c + mirror * c.T)
    assert space.contains(band + mirror * band.T)
    assert adjoint_error(embedding(space)) < 1e-15
    gradient = ad.grad(lambda x: np.sum(c * x), space=space)(space.zero())
    np.testing.assert_array_equal(gradient, space.restrict(c))


def test_patterns_that_name_an_entry_twice_are_refused():
    class Twice(Patterned):
        _mirror = 1
        _structure, _remedy = "?", "?"

        def _pattern(self):
            return np.array([0, 1]), np.array([1, 0])

    class Again(Twice):
        _mirror = 0

        def _pattern(self):
            return np.array([0, 0]), np.array([0, 0])

    class Corner(Again):
        _mirror = -1

        def _pattern(self):
            return np.array([0]), np.array([0])

    for space in (Twice(2), Again(2), Corner(2)):
        with pytest.raises(ArgumentError, match="must be different ones"):
            space.random(0)


def test_spaces_of_square_matrices_take_one_number():
    for shape in ((2, 3), (2, 2), ()):
        with pytest.raises(ArgumentError, match="takes one number"):
            Symmetric(shape)
