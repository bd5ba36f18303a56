"""Calls of recursive functions that a capture need not run again, and those that it must."""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.capture.clones.remembering import remembered
from adjoint.capture.clones.remembering.repeatable import proof_of
from adjoint.capture.clones.stand_ins.shadows import shadow_of
from tests.capture.recursions import X, agrees, slope_by_differences

A = np.random.default_rng(0).standard_normal((6, 6))
FACTOR = 1.0
FIRST = SECOND = 1.5
COUNT = OTHER = 3
AFTER = remembered._AFTER


# --- what is remembered ---------------------------------------------------------------------------


def minor(a: Any, row: int, columns: tuple[int, ...]) -> Any:
    if len(columns) == 1:
        return a[row, columns[0]]
    total, sign = 0.0, 1.0
    for place, column in enumerate(columns):
        rest = columns[:place] + columns[place + 1 :]
        total = total + sign * a[row, column] * minor(a, row + 1, rest)
        sign = -sign
    return total


def determinant(a: Any) -> Any:
    return minor(a, 0, tuple(range(len(a))))


def paths(x: Any, i: int, j: int) -> Any:
    if i == 0 or j == 0:
        return np.sin(x[(i + j) % 3]) * x[0]
    total = math.pi * helped(x, i, j)
    total += FACTOR * paths(x, i - 1, j) + paths(x, i, j - 1)
    return total * 0.5


def helped(x: Any, i: int, j: int) -> Any:
    return x[i % x.shape[0]] * x[j % 3]


def test_minors(kept: Any) -> None:
    value, slope = ad.value_and_grad(determinant)(A)
    np.testing.assert_allclose(value, np.linalg.det(A), rtol=1e-10)
    np.testing.assert_allclose(slope, np.linalg.det(A) * np.linalg.inv(A).T, rtol=1e-8)
    assert kept() > 50


def test_calls_are_remembered_when_there_were_many(
    kept: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remembered, "_AFTER", AFTER)
    ad.grad(lambda x: paths(x, 3, 3))(X)
    assert not kept()
    a = np.random.default_rng(0).standard_normal((9, 9))
    np.testing.assert_allclose(ad.jit(determinant)(a), np.linalg.det(a), rtol=1e-9)
    assert kept() > 500


def test_paths_in_a_lattice(kept: Any) -> None:
    agrees(lambda x: paths(x, 5, 5))
    assert kept() > 50


def test_other_arguments_are_other_calls(kept: Any) -> None:
    agrees(lambda x: paths(x, 4, 4) + paths(2 * x, 4, 4) * paths(x, 4, 3))
    assert kept() > 20


def test_higher_derivatives_and_forward_mode(kept: Any) -> None:
    function = lambda x: paths(x, 3, 3)  # noqa: E731
    hessian = ad.hessian(function)(X)
    expected = [
        slope_by_differences(lambda x, k=k: ad.grad(function)(x)[k], X)  # type: ignore[misc]
        for k in range(3)
    ]
    np.testing.assert_allclose(hessian, expected, rtol=1e-5, atol=1e-6)
    nested = ad.grad(lambda x: np.sum(ad.grad(function)(x) ** 2))(X)
    np.testing.assert_allclose(nested, 2 * hessian @ ad.grad(function)(X), rtol=1e-9)
    assert kept() > 10


def test_results_are_new_objects(kept: Any) -> None:
    def function(x: Any) -> Any:
        first, second = paths(x, 4, 4), paths(x, 4, 4)
        same = 2.0 if first is second else 1.0
        first += 3.0 * x[0]
        return same * first * second

    agrees(function)
    assert kept() > 0


def test_a_function_that_is_bound_anew(kept: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    agrees(lambda x: paths(x, 4, 4))
    monkeypatch.setitem(globals(), "helped", lambda x, i, j: x[i % 3] + x[j % 3])
    agrees(lambda x: paths(x, 4, 4))


def test_a_shadowed_builtin_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    proof = proof_of(minor)
    monkeypatch.setitem(globals(), "len", lambda columns: 1)
    assert proof is not None
    assert not proof.holds()
    assert proof_of(minor) is not None  # a function of this module, which only computes


# --- what is not, as it may change ----------------------------------------------------------------


def test_arrays_that_are_written_into_in_between(kept: Any) -> None:
    def function(x: Any) -> Any:
        x = x.copy()
        total = paths(x, 4, 4)
        x[1] = 2 * x[1] * x[0]
        total = total * paths(x, 4, 4)
        middle = x[1:]
        middle *= 0.5
        return total + paths(x, 4, 4)

    agrees(function)
    assert kept() > 0


def test_views_are_run_again(kept: Any) -> None:
    def function(x: Any) -> Any:
        y = np.concatenate([x, x])
        view = y[:3]
        total = paths(view, 3, 3)
        y[0] = 3 * x[1]
        return total + paths(view, 3, 3)

    agrees(function)


def test_arrays_that_were_filled(kept: Any) -> None:
    def function(x: Any) -> Any:
        y, total = np.zeros(3), 0.0
        for k in range(3):
            y[k] = x[k] ** 2
            total = total + paths(y, 3, 3)
        return total

    agrees(function)


def test_globals_that_change_in_between(kept: Any) -> None:
    def function(x: Any) -> Any:
        global FACTOR
        FACTOR = 1.0
        total = paths(x, 4, 4)
        FACTOR = 2.0
        total = total + paths(x, 4, 4)
        FACTOR = 1.0
        return total + 3 * paths(x, 4, 4)

    agrees(function)


def scaled(x: Any, n: int, c: Any) -> Any:
    if n == 0:
        return x[0] * c
    return scaled(x, n - 1, c) * x[1] + scaled(x, n - 1, c) * n * c


def from_globals(x: Any) -> Any:
    total = scaled(x, 3, FIRST) + 2.0 * scaled(x, 3, SECOND)
    return total + scaled(x, COUNT, FIRST) * scaled(x, OTHER, COUNT) * scaled(x, 2, OTHER)


@pytest.mark.parametrize("way", [ad.grad, lambda f: ad.jit(ad.grad(f))], ids=["grad", "jit"])
def test_equal_data_that_differ_later(kept: Any, monkeypatch: pytest.MonkeyPatch, way: Any) -> None:
    gradient = way(from_globals)
    same, other = FIRST, float(str(FIRST))
    data = [
        *(dict(FIRST=same, SECOND=same, COUNT=3, OTHER=3), dict(SECOND=0.5), dict(SECOND=0.25)),
        *(dict(SECOND=other), dict(FIRST=2.5), dict(OTHER=2), dict(OTHER=4), dict(COUNT=4)),
        *(dict(COUNT=3, OTHER=3), dict(FIRST=0.1, SECOND=0.1), dict(FIRST=0.2), dict(FIRST=0.1)),
    ]
    for names in data:
        for name, value in names.items():
            monkeypatch.setitem(globals(), name, value)
        for point in (X, X, 1.2 * X):
            expected = slope_by_differences(from_globals, point)
            np.testing.assert_allclose(gradient(point), expected, rtol=1e-5, atol=1e-7)
    assert kept() > 0


def test_equal_data_of_a_closure_that_differ_later(kept: Any) -> None:
    data = [1.5, 1.5, 3, 3]

    def function(x: Any) -> Any:
        a, b, m, n = data
        return scaled(x, 3, a) * scaled(x, 3, b) + scaled(x, 2, m) * scaled(x, 2, n)

    gradient = ad.grad(function)
    for changed in ((0, 2.0), (1, 2.5), (0, 2.5), (1, 1.0), (2, 4), (3, 5), (2, 5), (0, 1.0)):
        for point in (X, X, 1.2 * X):
            expected = slope_by_differences(function, point)
            np.testing.assert_allclose(gradient(point), expected, rtol=1e-5, atol=1e-7)
        place, value = changed
        data[place] = value
    assert kept() > 0


def copied_sign(x: Any, s: Any) -> Any:
    if s > 5:
        return copied_sign(x, s - 10)
    return x[0] * np.copysign(1.0, s) + x[1] / (1.0 + s * s)


@pytest.mark.parametrize("pair", [(-0.0, 0.0), (0, -0.0), (True, 1), (1, 1.0), (False, 0)])
def test_equal_numbers_of_other_kinds(kept: Any, pair: tuple[Any, Any]) -> None:
    def function(x: Any) -> Any:
        total = paths(x, 4, 4)
        for s in (*pair, *pair):
            total = total + copied_sign(x, s) * x[2]
        return total

    agrees(function)


def typed(x: Any, n: Any) -> Any:
    if n > 5:
        return typed(x, n - 6) + typed(x, n - 5)
    return x[0] * np.arctan(n) + x[1] / (2 + n)  # which is float16 of a truth value


def test_integers_are_no_floats(kept: Any) -> None:
    def function(x: Any) -> Any:
        total = 0.0
        for n in (1, 1.0, True, 3, 3.0, 1, 1.0, True, 3, 3.0):
            total = total + typed(x, n) * x[2]
        return total

    agrees(function)
    assert kept() > 0


def deep(x: Any, n: int) -> Any:
    if n == 0:
        return x[0]
    if n > 8:
        return 0.5 * deep(x, n - 1)
    return 0.5 * deep(x, n - 1) + 0.25 * x[1] * deep(x, n - 1)


def test_what_is_remembered_takes_no_depth_from_recursions() -> None:
    # As deep as it goes without: near the limit, the call is made once more without a memory.
    x = np.array([0.5, 1.5, 2.5])
    most = sys.getrecursionlimit() - len(inspect.stack()) - 60
    np.testing.assert_allclose(ad.jit(lambda x: deep(x, most))(x), deep(x, most), rtol=1e-12)


# --- modules and functions that are others in between ---------------------------------------------


def waves(x: Any, n: int) -> Any:
    if n < 2:
        return x[n] * np.pi
    return waves(x, n - 1) * 0.5 + waves(x, n - 2) * np.sin(x[2]) * math.cos(n)


def patched(module: Any, name: str, value: Any, first: bool) -> Callable[..., Any]:
    """A function that assigns to a module between calls, or before the first, and takes it back."""

    def function(x: Any) -> Any:
        total = x[0] if first else waves(x, 6)
        before = getattr(module, name)
        setattr(module, name, value)
        try:
            total = total + 2.0 * waves(x, 6)
        finally:
            setattr(module, name, before)
        return total + 3.0 * waves(x, 6)

    return function


@pytest.fixture
def as_they_were() -> Iterator[None]:
    """The stand-ins of modules have afterwards what they had."""
    modules = [vars(shadow_of(module)) for module in (np, math)]
    before = [dict(names) for names in modules]
    yield
    for names, own in zip(modules, before, strict=True):
        names.clear()
        names.update(own)


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("change", [(np, "sin", np.cos), (np, "pi", 3.0), (math, "cos", math.sin)])
def test_modules_that_are_assigned_to(
    kept: Any, as_they_were: None, change: tuple[Any, str, Any], first: bool
) -> None:
    agrees(patched(*change, first))


def test_a_module_that_is_assigned_to_by_its_own_name(kept: Any, as_they_were: None) -> None:
    sine = np.sin

    def function(x: Any) -> Any:
        total = waves(x, 6)
        np.sin = np.tanh  # type: ignore[misc]
        try:
            total = total + 2.0 * waves(x, 6)
        finally:
            np.sin = sine  # type: ignore[misc]
        return total

    agrees(function)
    assert kept() > 0  # before it was assigned to


def weight() -> float:
    return 1.0


def weighted(x: Any, n: int) -> Any:
    if n < 2:
        return x[n] * 1.5
    scale: Any = weight
    return weighted(x, n - 1) * scale.size + weighted(x, n - 2)


def weighted_itself(x: Any, n: int) -> Any:
    own: Any = weighted_itself
    return x[n] * 1.5 if n < 2 else weighted_itself(x, n - 1) * own.size + weighted_itself(x, n - 2)


@pytest.mark.parametrize(
    ("recursion", "owner"), [(weighted, weight), (weighted_itself, weighted_itself)]
)
def test_attributes_of_functions_that_change_in_between(
    kept: Any, recursion: Any, owner: Any
) -> None:
    def function(x: Any) -> Any:
        owner.size = 0.5
        total = recursion(x, 6)
        owner.size = 0.75
        return total + 2.0 * recursion(x, 6)

    agrees(function)
