"""Products of manifolds and spaces."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import ArgumentTypeError, MembershipError
from adjoint.manifolds import PositiveDefinite, ProductManifold, Sphere
from adjoint.spaces import Euclidean, Metric, Weighted

LINE = Weighted(Euclidean(2), np.array([1.0, 4.0]))
PAIR = ProductManifold({"a": Sphere(3), "b": [PositiveDefinite(2), LINE]})


def f(p):
    return p["a"][0] * np.trace(p["b"][0]) + np.sum(p["b"][1] ** 2)


def test_dimension_and_names():
    assert PAIR.dimension == 2 + 3 + 2
    text = repr(ProductManifold((Sphere(2), Euclidean(1))))
    assert text == "ProductManifold((Sphere(2), Euclidean((1,))))"
    assert ProductManifold([Sphere(2)]) == ProductManifold([Sphere(2)]) != PAIR
    assert hash(ProductManifold([Sphere(2)])) == hash(ProductManifold([Sphere(2)]))


def test_tangents_are_products_of_tangents():
    """E.1.28."""
    x = PAIR.random(0)
    space = PAIR.tangent_space(x)
    assert ad.testing.check_space(space).passed
    u, v = space.random(1), space.random(2)
    expected = (
        u["a"] @ v["a"]
        + PositiveDefinite(2).tangent_space(x["b"][0]).inner(u["b"][0], v["b"][0])
        + LINE.inner(u["b"][1], v["b"][1])
    )
    assert space.inner(u, v) == pytest.approx(expected)


def test_gradients_are_those_of_the_parts():
    x = PAIR.random(0)
    gradient = ad.grad(f, space=PAIR)(x)
    plain = ad.grad(f)(x)
    sphere, cone = x["a"], x["b"][0]
    np.testing.assert_allclose(gradient["a"], plain["a"] - sphere * (sphere @ plain["a"]))
    np.testing.assert_allclose(gradient["b"][0], cone @ plain["b"][0] @ cone, rtol=1e-10)
    np.testing.assert_allclose(gradient["b"][1], plain["b"][1] / [1.0, 4.0])


@pytest.mark.parametrize("way", ["retract", "exponential"])
def test_each_part_moves_by_itself(way):
    x = PAIR.random(0)
    u = PAIR.tangent_space(x).random(1)
    moved = getattr(PAIR, way)(x, u)
    assert PAIR.contains(moved)
    np.testing.assert_array_equal(moved["a"], getattr(Sphere(3), way)(x["a"], u["a"]))
    np.testing.assert_array_equal(moved["b"][1], x["b"][1] + u["b"][1])


def test_points_that_are_none():
    x = PAIR.random(0)
    with pytest.raises(MembershipError, match=r"Got an array .* at x\['b'\]\[0\]. It is not pos"):
        PAIR.check({"a": x["a"], "b": [-np.eye(2), x["b"][1]]})
    with pytest.raises(MembershipError, match=r"at x\['b'\]\[1\]. Its shape must be"):
        PAIR.check({"a": x["a"], "b": [np.eye(2), np.ones(3)]})
    for wrong in (x["a"], {"a": x["a"]}, {"a": x["a"], "b": (np.eye(2), np.ones(2))}):
        with pytest.raises(MembershipError, match="structure must be"):
            PAIR.check(wrong)


def test_trees_of_other_things():
    with pytest.raises(ArgumentTypeError, match="needs no product"):
        ProductManifold(Sphere(2))
    with pytest.raises(ArgumentTypeError, match=r"at tree\[1\]"):
        ProductManifold([Sphere(2), Metric(lambda x: Euclidean(2))])
