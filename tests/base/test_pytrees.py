"""Containers that are taken apart, and built again as they were."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import pytest

import adjoint as ad


@pytest.mark.parametrize("nested", [False, True])
def test_an_ordered_dict_that_was_reordered_is_taken_in_its_order(nested: bool) -> None:
    """optree alone would build it again in another order: the slope would be of another entry."""
    given: Any = OrderedDict(a=2.0, b=3.0)
    tree: Any = {"inner": [given]} if nested else given

    def function(tree: Any) -> Any:
        mapping = tree["inner"][0] if nested else tree
        return next(iter(mapping.values())) * 2.0

    jitted = ad.jit(function)
    for order, expected in (("ab", [2.0, 0.0]), ("ba", [0.0, 2.0]), ("ab", [2.0, 0.0])):
        given.move_to_end(order[0], last=False)
        assert list(given) == list(order)
        for _ in range(3):
            assert jitted(tree) == function(tree)
            slopes = ad.grad(function)(tree)
            mapping = slopes["inner"][0] if nested else slopes
            assert list(mapping) == list(order)
            assert [mapping["a"], mapping["b"]] == expected
            assert ad.vjp(function, tree)[0] == function(tree)
