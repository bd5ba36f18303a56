"""Branches of the library against Python's own, in every mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from tests.calculus.control_flow.comparing import check_modes

X = np.array([0.7, -0.4])
Choose = Callable[..., Any]


def _python_cond(predicate: Any, if_true: Any, if_false: Any, *operands: Any) -> Any:
    return if_true(*operands) if predicate else if_false(*operands)


def _python_switch(index: Any, branches: Any, *operands: Any) -> Any:
    return branches[min(max(int(index), 0), len(branches) - 1)](*operands)


def sides(cond: Choose, switch: Choose, x: Any) -> Any:
    return cond(
        np.sum(x) > 0.2,
        lambda y: np.sum(np.sin(y) * y),
        lambda y: np.sum(y**3) + np.exp(x[0]),
        x,
    )


def residuals_of_many_types(cond: Choose, switch: Choose, x: Any) -> Any:
    branches = [
        lambda y, k: (np.sin(y) * np.cos(y[0]), k * y[0]),
        lambda y, k: (y * y * y, np.exp(k * y[1])),
        lambda y, k: (y, k),
    ]
    first, second = switch(np.sum(x * x > 0.3), branches, x, 2.0)
    return np.sum(first) * second + np.sum(first**2)


def inside_a_loop(cond: Choose, switch: Choose, x: Any) -> Any:
    def step(i: Any, s: Any) -> Any:
        return cond(s[0] > 0.5, lambda s: s * x * 0.5, lambda s: np.exp(0.3 * s) + x * i, s)

    if cond is ad.cond:
        return np.sum(ad.fori_loop(0, 5, step, x))
    for i in range(5):
        x_next = step(i, x if i == 0 else state)  # noqa: F821
        state = x_next
    return np.sum(state)


def nested(cond: Choose, switch: Choose, x: Any) -> Any:
    def inner(y: Any) -> Any:
        return cond(y[0] > y[1], lambda: y[0] * x[1], lambda: y[1] ** 2 * x[0])

    return cond(np.sum(x) > 0, lambda y: inner(y) * 2, lambda y: inner(y * 3) + 1, x)


PROGRAMS = [sides, residuals_of_many_types, inside_a_loop, nested]


@pytest.mark.parametrize("x", [X, -X, 2 * X], ids=str)
@pytest.mark.parametrize("program", PROGRAMS)
def test_every_mode_is_that_of_pythons_branch(program: Any, x: Any) -> None:
    check_modes(
        lambda x: program(ad.cond, ad.switch, x),
        lambda x: program(_python_cond, _python_switch, x),
        x,
    )


@pytest.mark.parametrize("program", PROGRAMS)
def test_taylor_coefficients_are_those_of_pythons_branch(program: Any) -> None:
    def line(cond: Any, switch: Any) -> Any:
        return lambda t: program(cond, switch, X + t * np.array([1.0, 0.5]))

    found = ad.taylor(line(ad.cond, ad.switch), 0.0, (1.0,), order=4)
    assert np.allclose(found, ad.taylor(line(_python_cond, _python_switch), 0.0, (1.0,), order=4))


def test_a_branch_that_is_not_taken_is_not_run() -> None:
    with np.errstate(all="raise"):
        assert ad.cond(False, np.log, lambda x: x * 2, 0.0) == 0.0
    assert ad.grad(lambda x: ad.cond(x > 0, np.sqrt, np.square, x))(0.0) == 0.0


def test_in_a_batch_untaken_branches_leave_no_nan_and_no_warning() -> None:
    def function(x: Any) -> Any:
        return ad.cond(x > 0, np.log, lambda x: x * x, x)

    x = np.array([2.0, -1.0, 0.0])
    assert np.allclose(ad.vmap(function)(x), [np.log(2.0), 1.0, 0.0])
    assert np.allclose(ad.vmap(ad.grad(function))(x), [0.5, -2.0, 0.0])


def test_a_branch_that_would_not_end_is_not_run_in_a_batch() -> None:
    def function(x: Any) -> Any:
        def halved(x: Any) -> Any:
            return ad.while_loop(lambda s: s > 1.0, lambda s: s * 0.5, x)

        return ad.cond(x < 1e300, halved, np.ones_like, x)

    x = np.array([5.0, np.inf, 0.3])
    assert np.allclose(ad.vmap(function)(x), [0.625, 1.0, 0.3])
    assert np.allclose(ad.vmap(ad.grad(function))(x), [0.125, 0.0, 1.0])


@pytest.mark.parametrize(("index", "expected"), [(-3, 0), (0, 0), (1, 1), (2, 2), (9, 2)])
def test_an_index_beyond_the_branches_means_the_nearest(index: int, expected: int) -> None:
    branches = [lambda x, n=n: x * n for n in range(3)]
    assert ad.switch(index, branches, 1.0) == expected
    assert ad.jit(lambda k: ad.switch(k, branches, 1.0))(index) == expected
    assert ad.vmap(lambda k: ad.switch(k, branches, 1.0))(np.array([index]))[0] == expected


def test_results_of_branches_meet_in_one_type() -> None:
    found = ad.cond(True, lambda: 1, lambda: 2.5)
    assert found == 1.0
    assert found.dtype == np.float64
    with pytest.raises(ad.errors.ShapeError, match=r"f8\[\].*f8\[2\]"):
        ad.cond(True, lambda: X, lambda: X[0])
    with pytest.raises(ad.errors.ArgumentTypeError, match="structure"):
        ad.cond(True, lambda: (X, X), lambda: X)


def test_arguments_are_checked() -> None:
    with pytest.raises(ad.errors.ArgumentTypeError, match="predicate must be a single boolean"):
        ad.cond(X > 0, np.sin, np.cos, X)
    with pytest.raises(ad.errors.ArgumentTypeError, match="index must be an integer"):
        ad.switch(1.0, [np.sin, np.cos], X)
    with pytest.raises(ad.errors.ArgumentError, match="a branch at least"):
        ad.switch(1, [], X)
    with pytest.raises(ad.errors.ArgumentTypeError, match="operands\\[0\\] is a str"):
        ad.cond(True, np.sin, np.cos, "text")


def test_a_branch_cannot_ask_for_a_value() -> None:
    with pytest.raises(ad.errors.ValueNeededError, match=r"ad\.cond"):
        ad.cond(True, lambda x: x if x > 0 else -x, np.sin, 1.0)


def test_a_predicate_may_be_a_number() -> None:
    assert ad.cond(2, lambda: 1.0, lambda: 0.0) == 1.0
    assert ad.jit(lambda n: ad.cond(n, lambda: 1.0, lambda: 0.0))(0) == 0.0
