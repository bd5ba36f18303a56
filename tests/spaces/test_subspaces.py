"""Symmetric and skew-symmetric matrices."""

from __future__ import annotations

import numpy as np
import pytest

from adjoint.base.errors import ArgumentTypeError, MembershipError
from adjoint.spaces import Euclidean, Skew, Symmetric


@pytest.mark.parametrize("dtype", [float, complex, np.float32])
@pytest.mark.parametrize(("family", "sign"), [(Symmetric, 1), (Skew, -1)])
@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_basis_spans_the_subspace(family, sign, n, dtype):
    space = family(n, dtype)
    count = n * (n + sign) // 2
    assert space.dimension == count * (2 if np.dtype(dtype).kind == "c" else 1)
    for element in (*space.basis(), space.random(0), space.zero()):
        assert np.array_equal(element, sign * element.T)
        assert element.dtype == dtype
        assert space.contains(element)


@pytest.mark.parametrize(("family", "sign"), [(Symmetric, 1), (Skew, -1)])
@pytest.mark.parametrize("dtype", [float, complex])
def test_restrict_is_the_transpose_of_the_embedding(family, sign, dtype):
    """The restricted covector agrees with the ambient one on the subspace."""
    space, ambient = family(4, dtype), Euclidean((4, 4), dtype)
    components = ambient.random(0)
    restricted = space.restrict(components)
    assert np.array_equal(restricted, sign * restricted.T)
    for x in space.basis():
        np.testing.assert_allclose(
            ambient.covector(components)(x), space.covector(components)(x), atol=1e-15
        )
    assert np.array_equal(space.covector(components).components, restricted)
    assert space.ambient == ambient


def test_membership_is_to_rounding():
    x = np.random.default_rng(0).standard_normal((3, 3))
    symmetric = x @ x.T + x + x.T
    symmetric[0, 1] *= 1 + 1e-15
    assert Symmetric(3).contains(symmetric)
    symmetric[0, 1] *= 1 + 1e-10
    assert not Symmetric(3).contains(symmetric)
    assert not Skew(3).contains(np.eye(3))
    assert Skew(3).contains(np.zeros((3, 3)))


def test_nan_and_infinity_are_entries_like_others():
    x = np.array([[np.nan, np.inf], [np.inf, 1.0]])
    assert Symmetric(2).contains(x)
    assert not Symmetric(2).contains(np.array([[0.0, np.inf], [1.0, 0.0]]))
    assert not Symmetric(2).contains(np.array([[np.inf, 1.0], [2.0, 0.0]]))


def test_errors_say_how_to_symmetrise():
    with pytest.raises(MembershipError, match=r"It is not symmetric: \(x \+ x\.T\) / 2 is"):
        Symmetric(2).check(np.array([[1.0, 2.0], [0.0, 1.0]]))
    with pytest.raises(MembershipError, match=r"It is not skew-symmetric: \(x - x\.T\) / 2 is"):
        Skew(2).check(np.eye(2))
    with pytest.raises(MembershipError, match=r"Its shape must be \(2, 2\)"):
        Symmetric(2).check(np.ones((3, 3)))
    with pytest.raises(ArgumentTypeError, match="shape must be an integer"):
        Symmetric("two")
    with pytest.raises(ArgumentTypeError, match="floating dtype"):
        Skew(2, int)


def test_repr():
    assert repr(Symmetric(3)) == "Symmetric(3)"
    assert repr(Skew(3, complex)) == "Skew(3, complex128)"
