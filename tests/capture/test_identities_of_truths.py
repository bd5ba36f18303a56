"""`is True`, `case True` and small whole numbers: which object Python has for a traced value."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np
import pytest

import adjoint as ad


def literal_pattern(x: Any) -> Any:
    match x > 0.5:
        case True:
            return 2 * x
        case _:
            return 5 * x


def nested_pattern(x: Any) -> Any:
    match (x > 0.5, {"small": x < 0.1}):
        case (True, {"small": False}):
            return 2 * x
        case (False, {"small": True}):
            return 3 * x
        case _:
            return 5 * x


OF_COMPARISONS: dict[str, Any] = {
    "is True": lambda x: x * (2 if (x > 0.5) is True else 5),
    "is not True": lambda x: x * (2 if (x > 0.5) is not True else 5),
    "True is": lambda x: x * (2 if True is (x > 0.5) else 5),
    "is False": lambda x: x * (2 if (x > 0.5) is False else 5),
    "is np.True_": lambda x: x * (2 if (x > 0.5) is np.True_ else 5),
    "is np.False_": lambda x: x * (2 if (x > 0.5) is np.False_ else 5),
    "a function of math's": lambda x: x * (2 if math.isfinite(x) is True else 5),
    "a function of NumPy's": lambda x: x * (2 if np.isfinite(x) is True else 5),
    "two comparisons": lambda x: x * (2 if (x > 0.5) is (x > 0.2) else 5),
    "operator.is_": lambda x: x * (2 if operator.is_(x > 0.5, True) else 5),
    "operator.is_not": lambda x: x * (2 if operator.is_not(x > 0.5, True) else 5),
    "is None": lambda x: x * (2 if (x > 0.5) is None else 5),
    "case True": literal_pattern,
    "nested patterns": nested_pattern,
}
OF_FLAGS: dict[str, Any] = {
    "is True": lambda x, flag: x * (2 if flag is True else 5),
    "is not True": lambda x, flag: x * (2 if flag is not True else 5),
    "is False": lambda x, flag: x * (2 if flag is False else 5),
    "is np.True_": lambda x, flag: x * (2 if flag is np.True_ else 5),
    "is not np.False_": lambda x, flag: x * (2 if flag is not np.False_ else 5),
    "not flag": lambda x, flag: x * (2 if (not flag) is True else 5),
    "is 1": lambda x, flag: x * (2 if flag is int("1") else 5),
    "a sum of numbers": lambda x, flag: x * (2 if (flag + 1) is int("2") else 5),
}


@pytest.mark.parametrize("kind", [float, np.float64, np.array])
@pytest.mark.parametrize("name", OF_COMPARISONS)
def test_comparisons(name: str, kind: Any) -> None:
    function = OF_COMPARISONS[name]
    compiled = ad.jit(function)
    for point in (1.0, 0.05, 0.3, 1.5, 0.05):
        x = kind(point)
        slope = function(x) / point
        assert ad.grad(function)(x) == pytest.approx(slope)
        assert ad.value_and_grad(function)(x)[0] == pytest.approx(function(x))
        assert compiled(x) == pytest.approx(function(x))


@pytest.mark.parametrize("name", OF_FLAGS)
def test_flags(name: str) -> None:
    function = OF_FLAGS[name]
    compiled = ad.jit(function)
    for flag in (True, False, np.True_, np.False_, 1, 0, True, np.array(True), 2, 1, False):
        assert compiled(1.0, flag) == function(1.0, flag), flag
        assert ad.grad(function)(1.0, flag) == function(1.0, flag), flag


def test_flags_by_name_and_in_a_tree() -> None:
    def by_name(x: Any, *, flag: Any = False) -> Any:
        match flag:
            case True:
                return 2 * x
            case False:
                return 3 * x
        return 5 * x

    def in_a_tree(parameters: Any) -> Any:
        return parameters["x"] * (2 if parameters["flag"] is True else 5)

    named, tree = ad.jit(by_name), ad.jit(in_a_tree)
    for flag in (True, False, True, np.True_, False):
        assert named(1.0, flag=flag) == by_name(1.0, flag=flag)
        parameters = {"x": 1.0, "flag": flag}
        assert tree(parameters) == in_a_tree(parameters)


def test_in_a_batch_nobody_can_say() -> None:
    batched = ad.vmap(lambda x: x * (2 if (x > 0.5) is np.True_ else 5))
    with pytest.raises(ad.errors.ValueNeededError):
        batched(np.array([1.0, 0.1]))


def test_one_object_is_itself() -> None:
    def function(x: Any) -> Any:
        larger = x > 0.5
        return x * (2 if larger is larger else 5)

    assert ad.grad(function)(1.0) == 2.0
