"""Calls with the leaves of a tree: as `flatten` would have them, or None."""

from __future__ import annotations

from collections import OrderedDict, namedtuple
from typing import Any

import numpy as np
import optree
import pytest

from adjoint.base import pytrees
from adjoint.base.trees.unpacking import is_flat, unpacking

A, B, C = np.ones(2), np.zeros(3), 1.5
Pair = namedtuple("Pair", "a b")

CALLS: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    ((), {}),
    ((A,), {}),
    ((A, B, C), {}),
    (([A, B],), {}),
    (((A, [B, (C,)]), A), {}),
    (({"w": A, "b": [B]}, C), {"scale": C}),
    ((), {"y": A, "x": {"b": B, "a": C}}),
    ((Pair(A, B),), {}),
    ((OrderedDict(b=A, a=B),), {}),
    ((None, A), {}),
    (([], A, ()), {}),
    (({1: A},), {}),
]


def collect(*leaves: Any) -> list[Any]:
    return list(leaves)


@pytest.mark.parametrize("place", range(len(CALLS)))
def test_calls_with_the_leaves_or_not_at_all(place: int) -> None:
    expected, treedef = pytrees.flatten(CALLS[place])
    assert treedef is not None
    unpacked = unpacking(collect, treedef)
    for number, (args, kwargs) in enumerate(CALLS):
        found = unpacked(args, kwargs)
        if number == place:
            assert len(found) == len(expected)
            assert all(one is other for one, other in zip(found, expected, strict=True))
        elif found is not None:
            # A leaf may be anything: what is called finds out. Only where a leaf was expected.
            assert len(found) == len(expected)
            assert any(isinstance(one, (list, tuple, dict, type(None))) for one in found)


@pytest.mark.parametrize(
    ("call", "other"),
    [
        ((([A, B],), {}), (([A],), {})),
        ((([A, B],), {}), (((A, B),), {})),
        ((([A, B],), {}), ((A, B), {})),
        ((([A, B],), {}), (([A, B],), {"c": C})),
        (((A,), {"c": C}), ((A,), {})),
        (((A,), {"c": C}), ((A,), {"d": C})),
        ((({"a": A},), {}), (({"b": A},), {})),
        ((({"a": A},), {}), (({"a": A, "b": B},), {})),
        ((({"a": A},), {}), ((OrderedDict(a=A),), {})),
    ],
)
def test_another_structure_is_no_call(call: Any, other: Any) -> None:
    _, treedef = pytrees.flatten(call)
    assert treedef is not None
    assert unpacking(collect, treedef)(*other) is None


def test_flat_calls() -> None:
    found = []
    for call in CALLS:
        _, treedef = pytrees.flatten(call)
        assert treedef is not None
        found.append(is_flat(treedef))
    assert [n for n, flat in enumerate(found) if flat] == [0, 1, 2]


@pytest.mark.parametrize("tree", [[A], (A, B), [A, B, A]])
def test_rows_have_the_structure_that_optree_gives(tree: Any) -> None:
    leaves, treedef = optree.tree_flatten(tree, namespace=pytrees.NAMESPACE)
    assert pytrees.row(tree) == treedef
    found = pytrees.flatten(tree)
    assert found[1] == treedef
    assert hash(found[1]) == hash(treedef)
    assert all(one is other for one, other in zip(found[0], leaves, strict=True))


@pytest.mark.parametrize("tree", [A, [], (), [A, 1.0], [[A]], {"a": A}, Pair(A, B)])
def test_other_trees_are_no_rows(tree: Any) -> None:
    assert pytrees.row(tree) is None
