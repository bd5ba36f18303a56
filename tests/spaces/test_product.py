"""Products over trees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

from adjoint.base.errors import ArgumentTypeError, MembershipError, SpaceMismatchError
from adjoint.maps import space_error
from adjoint.spaces import Euclidean, Product, Symmetric, Weighted


@dataclass
class Layer:
    weight: Any
    bias: Any


class Pair(NamedTuple):
    left: Any
    right: Any


def test_inner_product_adds():
    """E.1.28: <(x1, y1), (x2, y2)> = <x1, x2> + <y1, y2>."""
    left, right = Weighted(Euclidean(2), np.array([1.0, 10.0])), Euclidean((2, 2))
    space = Product((left, right))
    x, y = space.random(0), space.random(1)
    expected = left.inner(x[0], y[0]) + right.inner(x[1], y[1])
    assert float(space.inner(x, y)) == float(expected)


@pytest.mark.parametrize(
    "tree",
    [
        {"w": Euclidean((2, 3)), "b": Euclidean(3)},
        [Euclidean(2), (Euclidean(()), Symmetric(2))],
        Layer(Euclidean((2, 3)), Euclidean(3, complex)),
        Pair(Euclidean(2), {"inner": Weighted(Euclidean(2), 2.0)}),
        {"nested": Product([Euclidean(2), Euclidean(1)]), "b": Euclidean(2)},
        [Euclidean(2), Weighted(Euclidean(2), np.array([1.0, 4.0])).dual],
        [Euclidean(2, np.float32), Euclidean(1)],
        (),
    ],
    ids=repr,
)
def test_trees_of_every_kind(tree):
    space = Product(tree)
    has_float32 = any(leaf._real_dtype == np.float32 for leaf in space.spaces)
    assert space_error(space) < (1e-6 if has_float32 else 1e-13)
    x = space.random(0)
    assert type(x) is type(tree)
    assert space.contains(x)
    assert space.contains(space.represent(space.riesz(x)))
    assert space == Product(tree)
    assert len(space.basis()) == space.dimension
    assert space.coordinates(x).shape == (space.dimension,)
    assert repr(space) == f"Product({tree!r})"


def test_each_leaf_keeps_its_dtype():
    space = Product([Euclidean(2, np.float32), Euclidean(1), Euclidean(1, np.complex64)])
    assert [leaf.dtype for leaf in space.random(0)] == [np.float32, np.float64, np.complex64]
    assert space.dimension == 5


def test_empty_product_has_dimension_zero():
    assert Product(()).dimension == 0
    assert Product([]).inner([], []) == 0.0
    assert Product({}).gram().shape == (0, 0)


def test_dict_order_does_not_matter():
    space = Product({"a": Euclidean(1), "b": Euclidean(2)})
    assert space.contains({"b": np.ones(2), "a": np.ones(1)})
    assert space == Product({"b": Euclidean(2), "a": Euclidean(1)})


def test_structure_is_checked():
    space = Product({"w": Euclidean(2), "b": Euclidean(())})
    for wrong in ({"w": np.ones(2)}, [np.ones(2), 1.0], np.ones(2), 3.0, {"w": 1.0, "c": 2.0}):
        with pytest.raises(
            MembershipError, match=r"x must be .* Its structure must be \{'b': \*, 'w': \*\}"
        ):
            space.check(wrong)


def test_leaves_are_checked_and_named():
    space = Product({"w": [Euclidean(2)], "b": Euclidean(())})
    with pytest.raises(MembershipError, match=r"x\['w'\]\[0\] must be an element of Euclidean"):
        space.check({"w": [np.ones(3)], "b": 1.0})
    covector = Euclidean(2).covector(np.ones(2))
    with pytest.raises(SpaceMismatchError, match=r"x\['w'\]\[0\] must be .*A covector is not"):
        space.check({"w": [covector], "b": 1.0})
    outer = Product([space])
    with pytest.raises(MembershipError, match=r"x\[0\]\['w'\]\[0\] must be"):
        outer.check([{"w": [np.ones(3)], "b": 1.0}])
    with pytest.raises(MembershipError, match=r"components\['b'\] must be"):
        space.covector({"w": [np.ones(2)], "b": np.ones(2)})


def test_restrict_works_leaf_by_leaf():
    space = Product([Symmetric(2), Euclidean(1)])
    found = space.restrict([np.array([[0.0, 2.0], [0.0, 0.0]]), np.ones(1)])
    assert found[0].tolist() == [[0, 1], [1, 0]]
    assert space.ambient == Product([Euclidean((2, 2)), Euclidean(1)])


def test_only_trees_of_spaces():
    with pytest.raises(ArgumentTypeError, match="A single space needs no Product"):
        Product(Euclidean(2))
    with pytest.raises(ArgumentTypeError, match=r"Got an array of shape \(2,\).* at tree\['w'\]"):
        Product({"w": np.ones(2)})
