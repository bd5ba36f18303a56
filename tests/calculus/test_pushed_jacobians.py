"""Jacobians in forward mode: columns go through loops with the values, and units pick numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import optree
import pytest

import adjoint as ad
from adjoint.calculus.jacobians.planning.jacobians import jacobian_program
from adjoint.calculus.jacobians.planning.units import without_units
from adjoint.optimise import simplify
from adjoint.program import Program, check_program

RNG = np.random.default_rng(17)
A = RNG.normal(size=(3, 4))
X = RNG.normal(size=4)


def scanned(x: Any) -> Any:
    def body(state: Any, row: Any) -> Any:
        state = np.sin(state) + row * x
        return state, state[:2] * row

    state, rows = ad.scan(body, x * 1.0, np.linspace(0.0, 1.0, 7))
    return {"last": state, "rows": rows, "still": np.ones(2)}


def counted(x: Any) -> Any:
    return ad.while_loop(
        lambda s: s[1] < 6.0,
        lambda s: (np.tanh(A @ s[0])[[0, 1, 2, 0]] + x, s[1] + 0.5 * np.cos(s[0][0]) ** 2 + 0.1),
        (x, np.sum(x) * 0.0),
    )


def rolled(x: Any) -> Any:
    y = x
    for k in range(40):
        y = y * 0.9 + np.sin(y * k) * x
    return y


def within(x: Any) -> Any:
    def outer(k: Any, y: Any) -> Any:
        z = ad.fori_loop(0, 3, lambda j, z: z * y + j, y)
        return np.cos(z) + np.linalg.norm(z) * 0.1

    return ad.fori_loop(0, 4, outer, x)


@pytest.mark.parametrize("function", [scanned, counted, rolled, within])
@pytest.mark.parametrize("x", [X, X.astype(np.float32)], ids=["f8", "f4"])
def test_columns_through_loops(function: Any, x: Any) -> None:
    forward, reverse = (ad.jacobian(function, mode=mode)(x) for mode in ("forward", "reverse"))
    tolerance = 1e-11 if x.dtype == np.float64 else 2e-4
    for one, other in zip(optree.tree_leaves(forward), optree.tree_leaves(reverse), strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


def test_a_number_and_what_comes_with_it() -> None:
    def function(w: Any) -> Any:
        y = ad.fori_loop(0, 9, lambda k, y: np.sin(y * w) + k, w)
        return y, (y > 0, 3, y * 2)

    slope, (positive, three, twice) = ad.jacobian(function, mode="forward", has_aux=True)(0.7)
    value, (_, _, expected) = function(0.7)
    np.testing.assert_allclose(slope, ad.grad(lambda w: function(w)[0])(0.7), rtol=1e-12)
    assert (positive, three) == (value > 0, 3)
    np.testing.assert_allclose(twice, expected, rtol=1e-15)


def test_nothing_is_stored_for_the_columns() -> None:
    captured = ad.program(lambda x: ad.fori_loop(0, 1000, lambda k, y: np.sin(y) * x, x), X)
    whole, _, _ = jacobian_program(captured.program, ("jacobian", 1, 1, ad.Mode.FORWARD))
    (loop,) = (e for e in simplify(check_program(whole)).equations if e.primitive.name == "scan")
    assert {x.type.shape for x in loop.outputs} == {(4,), (4, 4)}, "and no rows"


def test_second_derivatives_through_loops() -> None:
    def value(x: Any) -> Any:
        return np.sum(rolled(x))

    gradient = ad.jacobian(value, mode="forward")
    for outer in ("forward", "reverse"):
        found = ad.jacobian(gradient, mode=outer)(X)
        np.testing.assert_allclose(found, ad.hessian(value)(X), rtol=1e-8, atol=1e-8)


# --- units ----------------------------------------------------------------------------------------


def _forward(function: Any, x: Any) -> Program:
    program = ad.program(function, x).program
    return simplify(jacobian_program(program, ("jacobian", 1, 1, ad.Mode.FORWARD))[0])


@pytest.mark.parametrize(
    ("function", "products"),
    [
        (lambda x: A @ x, 0),
        (lambda x: np.tanh(A @ x), 1),  # of the value
        (lambda x: x @ A.T, 0),
        (lambda x: np.sum((x - A) ** 2, axis=1), 0),
        (lambda x: np.sum((x - A) * (A[:, ::-1] + x), axis=1), 0),
        (lambda x: np.sum(np.stack([x * x, 3 * x]), axis=1), 0),
        (lambda x: np.stack([x, x])[:, :, None] * np.ones(5), 0),
    ],
)
def test_units_pick_numbers(function: Any, products: int) -> None:
    program = _forward(function, X)
    names = [equation.primitive.name for equation in program.equations]
    assert names.count("contract") == products
    found = ad.jacobian(function, mode="forward")(X)
    expected = ad.jacobian(function, mode="reverse")(X)
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-13)


def test_zeros_of_units_are_hard() -> None:
    a = np.array([[1.0, np.inf], [np.nan, 2.0]])
    found = ad.jacobian(lambda x: a @ x, mode="forward")(np.array([1.0, 0.5]))
    np.testing.assert_array_equal(found, a)


def test_programs_without_units_stay_themselves() -> None:
    program = ad.program(lambda x: A @ x, X).program
    assert without_units(program) is program
