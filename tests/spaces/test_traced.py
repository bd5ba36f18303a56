"""The computing paths run on traced arrays: they look at shapes and dtypes and never at entries."""

from __future__ import annotations

import numpy as np
import pytest

from adjoint.spaces import (
    Diagonal,
    Euclidean,
    Functions,
    Hermitian,
    LowerTriangular,
    Product,
    Skew,
    SkewHermitian,
    Span,
    Symmetric,
    TraceFree,
    UpperTriangular,
    Weighted,
)
from tests.spaces.duck import Duck
from tests.spaces.strategies import positive_matrix

SPACES = [
    Euclidean(()),
    Euclidean((2, 3)),
    Euclidean((2, 3), complex),
    Symmetric(3),
    Skew(3, complex),
    Weighted(Euclidean((2, 2)), 2.0),
    Weighted(Euclidean((2, 2), complex), np.array([[1.0, 2.0], [3.0, 4.0]])),
    Weighted(Euclidean((2, 2)), positive_matrix(4, 0)),
    Weighted(Euclidean(2, complex), positive_matrix(2, 0, complex)),
    Weighted(Euclidean(2, complex), positive_matrix(4, 0)),
    Weighted(Symmetric(3), positive_matrix(6, 0)),
    Product({"a": Euclidean(2), "b": Weighted(Euclidean(()), 3.0)}),
    Weighted(Product([Euclidean(2), Euclidean(())]), positive_matrix(3, 0)),
    Diagonal(3),
    LowerTriangular(3, complex),
    UpperTriangular(3, strict=True),
    Hermitian(3),
    Weighted(SkewHermitian(3), positive_matrix(9, 0)),
    TraceFree(3, complex),
    Weighted(TraceFree(2), 2.0),
    Span([np.arange(3.0), np.ones(3)], Euclidean(3)),
    Weighted(Span([np.arange(3.0), np.ones(3)], Euclidean(3)), positive_matrix(2, 0)),
    Functions.grid(np.array([0.0, 1.0, 3.0, 4.0]), lumped=True),
    Functions.gauss_legendre(0, 1, 3),
    # Sparse and iterative solvers are given concrete arrays by `opaque.APPLY`: see test_functions.
]


def traced(space, x):
    if isinstance(x, dict):
        return {key: traced(space, value) for key, value in x.items()}
    if isinstance(x, list):
        return [traced(space, value) for value in x]
    return Duck(x)


def revealed(x):
    if isinstance(x, dict):
        return [revealed(x[key]) for key in sorted(x)]
    return [revealed(value) for value in x] if isinstance(x, list) else x.hidden


def flat(x):
    if isinstance(x, dict):
        return np.concatenate([flat(x[key]) for key in sorted(x)])
    return np.concatenate([flat(v) for v in x]) if isinstance(x, list) else np.ravel(x)


@pytest.mark.parametrize("space", SPACES, ids=repr)
def test_traced_elements(space):
    x, y = space.random(0), space.random(1)
    traced_x, traced_y = traced(space, x), traced(space, y)
    assert space.contains(traced_x)
    np.testing.assert_allclose(
        space.inner(traced_x, traced_y).hidden, space.inner(x, y), rtol=1e-13
    )
    np.testing.assert_allclose(space.norm(traced_x).hidden, space.norm(x), rtol=1e-13)
    covector = space.riesz(traced_x)
    np.testing.assert_allclose(
        flat(revealed(covector.components)), flat(space.riesz(x).components), rtol=1e-13
    )
    np.testing.assert_allclose(covector(traced_y).hidden, space.inner(x, y), rtol=1e-12)
    back = flat(revealed(space.represent(covector)))
    np.testing.assert_allclose(back, flat(x), rtol=1e-11, atol=1e-13)
    doubled = (2.0 * covector + covector)(y)
    np.testing.assert_allclose(doubled.hidden, 3 * space.inner(x, y), rtol=1e-12)


def test_traced_shape_and_dtype_are_checked():
    assert not Euclidean(2).contains(Duck(np.ones(3)))
    assert not Euclidean(2).contains(Duck(np.ones(2, int)))
    assert not Euclidean(2).contains(Duck(np.ones(2, complex)))


def test_traced_factors():
    covector = Euclidean(2).covector(np.ones(2))
    assert list((covector * Duck(np.float64(2.0))).components.hidden) == [2, 2]
