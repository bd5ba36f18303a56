"""Strong zeros: what is exactly zero stays zero against an infinite or undefined factor.

The fast compilation makes NaN in exactly the same places, so that whoever runs it can see that the
strong one is needed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from adjoint.primitives.contraction import contract
from adjoint.primitives.expression import bind
from adjoint.primitives.gathering import GATHER_SET
from adjoint.primitives.selection import select
from adjoint.primitives.structure import sum_axes
from adjoint.transforms import jvp, vjp
from tests.building import program_at, run

X = np.array([0.0, 4.0])
INFINITE = np.array([np.inf, 2.0])


def guarded(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function where x > 0, and 0 elsewhere."""
    return lambda x, *rest: select(np.greater(x, 0), function(x, *rest), 0.0)


ROWS: dict[str, tuple[Callable[..., Any], tuple[Any, ...], list[float]]] = {
    # function, arguments, its gradient in the first, summed over the results
    "log": (guarded(np.log), (X,), [0, 0.25]),
    "sqrt": (guarded(np.sqrt), (X,), [0, 0.25]),
    "divide": (guarded(lambda x: 1.0 / x), (X,), [0, -1 / 16]),
    "reciprocal": (guarded(np.reciprocal), (X,), [0, -1 / 16]),
    "power": (guarded(lambda x: np.power(x, -1.0)), (X,), [0, -1 / 16]),
    "multiply": (guarded(np.multiply), (X, INFINITE), [0, 2]),
    "log of log": (guarded(lambda x: np.log(np.log(x + 1.0))), (X,), [0, 0.2 / np.log(5)]),
    "norm": (lambda x: np.sqrt(sum_axes(np.square(x), (0,))), (np.zeros(2),), [0, 0]),
}


@pytest.mark.parametrize("name", ROWS)
def test_gradients_are_finite_and_right(name: str) -> None:
    function, arguments, expected = ROWS[name]
    program = program_at(function, *arguments)
    active = (True,) + (False,) * (len(arguments) - 1)
    with np.errstate(all="ignore"):  # the function's own warnings
        weights = np.ones(program.output_types[0].shape)[()]
        pulled = vjp(program, active)
        *_, strong = run(pulled, *arguments, weights, strong=True)
        *_, fast = run(pulled, *arguments, weights, strong=False)
        directions = np.eye(2)
        forward = [
            np.sum(run(jvp(program, active), *arguments, u, strong=True)[-1]) for u in directions
        ]
    np.testing.assert_allclose(strong, expected, rtol=1e-15, atol=1e-16)
    np.testing.assert_allclose(forward, expected, rtol=1e-15, atol=1e-16)
    assert np.isnan(fast).any()
    np.testing.assert_array_equal(fast[~np.isnan(fast)], strong[~np.isnan(fast)])


def test_products_of_matrices() -> None:
    """A row that is infinite meets a cotangent that is zero."""
    a = np.array([[np.inf, -np.inf, np.nan], [1.0, 2.0, 3.0]])
    b = np.array([[1.0, 1.0], [2.0, 0.5], [3.0, 0.0]])
    mask = np.array([False, True])

    def function(a: Any, b: Any, mask: Any) -> Any:
        return select(mask, contract(b, a, "jk,ij->ki"), 0.0)

    program = program_at(function, a, b, mask)
    pulled = vjp(program, (True, True, False))
    with np.errstate(all="ignore"):
        _, d_a, d_b = run(pulled, a, b, mask, np.ones((2, 2)), strong=True)
        _, fast_a, fast_b = run(pulled, a, b, mask, np.ones((2, 2)), strong=False)
    np.testing.assert_array_equal(d_a, [[0, 0, 0], [2, 2.5, 3]])
    np.testing.assert_array_equal(d_b, [[1, 1], [2, 2], [3, 3]])
    np.testing.assert_array_equal(fast_a, d_a)
    assert np.isnan(fast_b).all()


def test_what_is_truly_infinite_or_undefined_stays_so() -> None:
    x = np.array([0.0, -1.0, np.nan])
    program = program_at(np.sqrt, x)
    with np.errstate(all="ignore"):
        _, gradient = run(vjp(program, (True,)), x, np.ones(3), strong=True)
    np.testing.assert_array_equal(gradient, [np.inf, np.nan, np.nan])
    a, b = np.array([[np.inf, 1.0], [np.nan, 0.0]]), np.array([1.0, 1.0])
    program = program_at(lambda a, b: contract(a, b, "ij,j->i"), a, b)
    _, slope = run(jvp(program, (False, True)), a, b, np.array([0.0, 2.0]), strong=True)
    np.testing.assert_array_equal(slope, [2.0, 0.0])
    _, slope = run(jvp(program, (False, True)), a, b, np.array([1.0, 2.0]), strong=True)
    np.testing.assert_array_equal(slope, [np.inf, np.nan])


def test_the_users_own_products_are_numpys() -> None:
    """Strong zeros are for derivatives: 0 * inf in the function itself is NaN."""
    x, y = np.zeros((2, 2)), np.full((2, 2), np.inf)
    program = program_at(lambda x, y: (x * y, contract(x, y, "ij,jk->ik")), x, y)
    with np.errstate(invalid="ignore"):
        for result in run(program, x, y, strong=True):
            assert np.isnan(result).all()


def test_a_repeated_write_meets_infinity() -> None:

    x, value, index = np.zeros(3), np.array([1.0, 2.0]), np.array([1, 1])
    program = program_at(lambda x, v, i: bind(GATHER_SET, x, v, i), x, value, index)
    cotangent = np.array([1.0, np.inf, 2.0])
    _, d_x, d_value = run(vjp(program, (True, True, False)), x, value, index, cotangent)
    np.testing.assert_array_equal(d_x, [1, 0, 2])
    np.testing.assert_array_equal(d_value, [0, np.inf])
