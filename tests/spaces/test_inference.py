"""The space of a value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from adjoint.base.errors import ArgumentTypeError, NotDifferentiableError
from adjoint.spaces import Euclidean, Product, Weighted, infer
from tests.spaces.duck import Duck


@dataclass
class Model:
    slope: Any
    offset: Any


def test_leaves():
    assert infer(1.5) == Euclidean(())
    assert infer(1.5j) == Euclidean((), complex)
    assert infer(np.float32(1)) == Euclidean((), np.float32)
    assert infer(np.ones((2, 3), np.complex64)) == Euclidean((2, 3), np.complex64)
    assert infer(Duck(np.ones(3))) == Euclidean(3)


def test_trees():
    tree = {"layers": [np.ones(2), (1.0, np.ones(1))]}
    assert infer(tree) == Product({"layers": [Euclidean(2), (Euclidean(()), Euclidean(1))]})
    assert infer(Model(1.0, np.ones(2))) == Product(Model(Euclidean(()), Euclidean(2)))
    assert infer(tree).contains(tree)


def test_covectors_live_in_duals():
    space = Weighted(Euclidean(2), 2.0)
    covector = space.covector(np.ones(2))
    assert infer(covector) == space.dual
    assert infer([covector, 1.0]) == Product([space.dual, Euclidean(())])


@pytest.mark.parametrize("value", [3, True, np.ones(2, int), np.int64(1), np.ones(2, bool)])
def test_integers_have_no_space(value):
    with pytest.raises(NotDifferentiableError, match=r"space of value was asked for.*integers and"):
        infer(value)
    with pytest.raises(NotDifferentiableError, match=r"space of value\['n'\]\[0\] was asked for"):
        infer({"n": [value], "x": 1.0})


@pytest.mark.parametrize("value", ["text", object(), np.array(["text"])])
def test_other_things_have_no_space(value):
    with pytest.raises(ArgumentTypeError, match=r"value\['a'\].*neither a number nor an array"):
        infer({"a": value})
    with pytest.raises(ArgumentTypeError, match="neither a number nor an array"):
        infer(value)
