"""Containers that are taken apart, and built again as they were."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.base import pytrees
from adjoint.base.errors import ArgumentTypeError


def first(mapping: Any) -> Any:
    return next(iter(mapping.values())) * 2.0


@pytest.mark.parametrize("nested", [False, True])
def test_an_ordered_dict_that_was_reordered_is_refused(nested: bool) -> None:
    """optree would build it again in another order: the derivative would be of another entry."""
    given = OrderedDict(a=2.0, b=3.0)
    tree: Any = {"inner": [given]} if nested else given

    def function(tree: Any) -> Any:
        return first(tree["inner"][0] if nested else tree)

    jitted = ad.jit(function)
    for _ in range(4):
        assert jitted(tree) == function(tree) == 4.0
        slopes = ad.grad(function)(tree)
        assert pytrees.leaves(slopes) == [2.0, 0.0]
    given.move_to_end("a")
    for call in (jitted, ad.grad(function), lambda t: ad.vjp(function, t)):
        with pytest.raises(ArgumentTypeError, match="reordered"):
            call(tree)
    fresh: Any = OrderedDict(given.items())
    tree = {"inner": [fresh]} if nested else fresh
    assert jitted(tree) == function(tree) == 6.0
    np.testing.assert_array_equal(pytrees.leaves(ad.grad(function)(tree)), [2.0, 0.0])
