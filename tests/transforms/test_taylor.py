"""Taylor mode: against known series and nested derivatives, and in the size of its programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given as drawn
from hypothesis import strategies as st
from scipy import special

import adjoint as ad
from adjoint.base.errors import MissingRuleError
from adjoint.optimise import simplify
from adjoint.primitives import EmptySlot, bind, find_special
from adjoint.primitives.elementwise.comparison import ARGMAX
from adjoint.primitives.structure.contraction import contract
from adjoint.primitives.structure.moving import sum_axes
from adjoint.program import Program, check_program
from adjoint.transforms import jvp, taylor, vmap
from tests.building import f8, names, program_of, run
from tests.checker import derivatives_along
from tests.transforms.test_random_programs import INDEX, N, programs, quickly
from tests.transforms.test_random_programs import run as run_all

mpmath.mp.dps = 40
CURVE = (1.0, 0.5, -0.25)  # x(t) = x + t + t^2 / 2 - t^3 / 4


# --- known series ---------------------------------------------------------------------------------

KNOWN: list[tuple[Any, Callable[[Any], Any], float]] = [
    (np.exp, mpmath.exp, 0.7),
    (np.exp2, lambda x: 2**x, 0.7),
    (np.expm1, mpmath.expm1, 1e-3),
    (np.log, mpmath.log, 0.7),
    (np.log1p, mpmath.log1p, 1e-3),
    (np.sqrt, mpmath.sqrt, 0.7),
    (np.cbrt, mpmath.cbrt, 0.7),
    (np.reciprocal, lambda x: 1 / x, 0.7),
    (np.sin, mpmath.sin, 0.7),
    (np.cos, mpmath.cos, 0.7),
    (np.tan, mpmath.tan, 0.7),
    (np.tanh, mpmath.tanh, 0.7),
    (np.arcsin, mpmath.asin, 0.5),
    (np.arctan, mpmath.atan, 0.7),
    (np.arccosh, mpmath.acosh, 1.7),
    (np.arctanh, mpmath.atanh, 0.5),
    (lambda x: np.arctan2(x, 1 + x), lambda x: mpmath.atan(x / (1 + x)), 0.3),
    (lambda x: np.hypot(x, 1 + x), lambda x: mpmath.sqrt(x**2 + (1 + x) ** 2), 0.3),
    (lambda x: np.power(x, 2.5), lambda x: x ** mpmath.mpf(2.5), 0.7),
    (lambda x: np.power(x, x), lambda x: x**x, 0.7),
    (lambda x: x / (1 + np.square(x)), lambda x: x / (1 + x**2), 0.7),
    (special.erf, mpmath.erf, 0.7),
    (special.expit, lambda x: 1 / (1 + mpmath.exp(-x)), 0.7),
    (special.exprel, lambda x: mpmath.expm1(x) / x, 0.2),
    (special.gamma, mpmath.gamma, 1.7),
    (special.psi, lambda x: mpmath.psi(0, x), 1.7),
    (special.j1, lambda x: mpmath.besselj(1, x), 1.7),
    # Where a quotient would cancel:
    (special.j0, lambda x: mpmath.besselj(0, x), 1e-3),
    (special.j1, lambda x: mpmath.besselj(1, x), 1e-3),
    (special.i1, lambda x: mpmath.besseli(1, x), 1e-3),
    (special.i1e, lambda x: mpmath.besseli(1, x) * mpmath.exp(-x), 1e-3),
    (np.sinc, lambda x: mpmath.sinc(mpmath.pi * x), 1e-3),
    (np.sinc, lambda x: mpmath.sinc(mpmath.pi * x), 0.0),
    (special.ndtri, lambda p: mpmath.sqrt(2) * mpmath.erfinv(2 * p - 1), 0.3),
]


@pytest.mark.parametrize(("function", "exact", "x"), KNOWN, ids=range(len(KNOWN)))
def test_order_eight_is_right_to_rounding(function: Any, exact: Any, x: float) -> None:
    found = ad.taylor(function, np.array(x), [np.array(c) for c in CURVE], 8)

    def along(t: Any) -> Any:
        return exact(mpmath.mpf(x) + sum(c * t**k for k, c in enumerate(CURVE, 1)))

    expected = [float(c) for c in mpmath.taylor(along, 0, 8)]
    # A recurrence passes on the rounding of smaller coefficients to larger ones.
    scale = np.maximum.accumulate(np.abs(expected))
    assert np.max(np.abs(np.array(found) - expected) / scale) < 1e-13


@pytest.mark.parametrize("exponent", [-7, -3, -1, 0, 1, 2, 3, 4, 7, 10])
@pytest.mark.parametrize("x", [0.0, 0.7, -1.3])
def test_integer_powers_also_at_zero(exponent: int, x: float) -> None:
    if exponent < 0 and x == 0:
        return
    found = ad.taylor(lambda x: x**exponent, np.array(x), [np.array(c) for c in CURVE], 8)

    def along(t: Any) -> Any:
        return (mpmath.mpf(x) + sum(c * t**k for k, c in enumerate(CURVE, 1))) ** exponent

    expected = mpmath.taylor(along, 0, 8)
    np.testing.assert_allclose(found, [float(c) for c in expected], rtol=1e-12, atol=1e-14)


# --- against nested derivatives -------------------------------------------------------------------


def test_at_order_one_it_is_forward_mode() -> None:
    program = program_of(lambda x, y: (np.sin(x) * y, np.exp(x)), f8(3), f8(3))
    rng = np.random.default_rng(0)
    x, y, u, v = rng.normal(size=(4, 3))
    found = run(taylor(program, 1, [(True,), (True,)]), x, y, u, v)
    expected = run(jvp(program, (True, True)), x, y, u, v)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


SPECIAL_POINTS: list[tuple[Any, Any]] = [
    (lambda x: np.power(x, 2.0), 0.0),
    (lambda x: np.power(x, 3.0), 0.0),
    (lambda x: np.power(x, 0.0), 0.0),
    (lambda x: np.power(x, 2.5), 0.0),
    (lambda x: np.power(x, 3.0), -1.5),
    (np.sqrt, 0.0),
    (np.cbrt, 0.0),
    (np.log, 0.0),
    (np.reciprocal, 0.0),
    (np.arcsin, 1.0),
    (np.absolute, 0.0),
    (lambda x: np.absolute(x) * x, 0.0),
    (lambda x: np.maximum(x, 0.0) * x, 0.0),
    (lambda x: np.hypot(x, 2 * x), 0.0),
    (lambda x: np.where(x > 0, np.log(x), 0.0), 0.0),
    (lambda x: np.where(x > 0, np.sqrt(x), x), -1.0),
    (lambda x: np.floor(x) * x, 1.5),
    (lambda x: np.remainder(x * x, 1.3), 1.5),
    (np.tanh, 50.0),
    (np.exp, 800.0),
    (lambda x: np.logaddexp(x, -x), 0.0),
    (special.xlogy, (0.0, 1.0)),
]


@pytest.mark.parametrize(("function", "x"), SPECIAL_POINTS, ids=range(len(SPECIAL_POINTS)))
@pytest.mark.parametrize("direction", [1.0, 0.0])
@pytest.mark.filterwarnings("ignore")
def test_special_points_are_those_of_nested_derivatives(
    function: Any, x: Any, direction: float
) -> None:
    """Finite where they are finite, and the same NaN and infinities elsewhere."""
    x = np.array(x)

    def at(x: Any) -> Any:
        return function(x[0], x[1]) if x.ndim else function(x)

    u = np.full(x.shape, direction)
    found = np.array(ad.taylor(at, x, u, 3))
    nested, expected, factorial = at, [at(x)], 1.0
    for k in range(1, 4):
        factorial *= k

        def nested(x: Any, before: Any = nested) -> Any:
            return ad.jvp(before, (x,), (u,))[1]

        expected.append(nested(x) / factorial)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


def test_a_whole_program_against_nested_forward_mode() -> None:
    def f(x: Any, y: Any) -> Any:
        z = contract(np.tanh(x), np.exp(x * 0.3), "ij,jk->ik")
        return sum_axes(z / (1 + np.square(x)), (0,)) * np.sin(y), bind(ARGMAX, y, axes=(0,))

    program = program_of(f, f8(3, 3), f8(3))
    rng = np.random.default_rng(1)
    x, a, b = rng.normal(size=(3, 3, 3))
    y, c, d = rng.normal(size=(3, 3))
    found = run(taylor(program, 4, [(True, True), (True, True)]), x, y, a, b, c, d)
    chain = derivatives_along(program, (True, True), 4)
    zero = [np.zeros((3, 3)), np.zeros(3)]
    rates = [a, c, 2 * b, 2 * d, *zero, *zero]
    factorial = 1.0
    for k in range(1, 5):
        factorial *= k
        expected = run(chain[k], x, y, *rates[: 2 * k])[0] / factorial
        np.testing.assert_allclose(found[1 + k], expected, rtol=1e-11)


@quickly
@drawn(programs(), st.lists(st.booleans(), min_size=4, max_size=4), st.integers(0, 2**32 - 1))
def test_random_programs_against_nested_forward_mode(
    program: Program, marks: list[bool], seed: int
) -> None:
    """Each of the coefficients x_1, x_2, y_1, y_2 of the curve may be zero."""
    rng = np.random.default_rng(seed)
    x, y = rng.uniform(-1, 1, (2, N, N))
    curve = [rng.uniform(-1, 1, (N, N)) * mark for mark in marks]
    given = [tuple(marks[:2]), tuple(marks[2:]), ()]
    kept = [c for c, mark in zip(curve, marks, strict=True) if mark]
    found = run_all(taylor(program, 3, given), x, y, INDEX, *kept)
    chain = derivatives_along(program, (True, True, False), 3)
    a, b, c, d = curve
    rates = [a, c, 2 * b, 2 * d, np.zeros((N, N)), np.zeros((N, N))]
    width = len(program.outputs)
    for k, factorial in ((0, 1.0), (1, 1.0), (2, 2.0), (3, 6.0)):
        expected = run_all(chain[k], x, y, INDEX, *rates[: 2 * k])
        for one, other in zip(found[k * width :], expected, strict=False):
            np.testing.assert_allclose(one, other / factorial, rtol=1e-9, atol=1e-9)


# --- the program ----------------------------------------------------------------------------------


def size(program: Program, order: int, given: int) -> int:
    marks = [(True,) * given] * len(program.inputs)
    return len(simplify(check_program(taylor(program, order, marks))))


OPERATIONS: dict[str, Any] = {
    "sin": (np.sin, 1),
    "exp": (np.exp, 1),
    "tanh": (np.tanh, 1),
    "log": (np.log, 1),
    "sqrt": (np.sqrt, 1),
    "arctan": (np.arctan, 1),
    "hypot": (np.hypot, 2),
    "multiply": (np.multiply, 2),
    "divide": (np.divide, 2),
    "product": (lambda a, b: contract(a, b, "ij,jk->ik"), 2),
    "seventh power": (lambda x: x * np.square(x * np.square(x)), 1),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_the_size_grows_with_the_square_of_the_order(name: str) -> None:
    function, count = OPERATIONS[name]
    program = program_of(function, *[f8(3, 3)] * count)
    sizes = [size(program, order, order) for order in (8, 16, 32)]
    assert sizes[2] - 2 * sizes[1] + sizes[0] > 0  # convex
    assert sizes[1] < 4.2 * sizes[0]
    assert sizes[2] < 4.2 * sizes[1]
    assert sizes[2] <= 5 * 32**2


def test_zero_coefficients_cost_nothing() -> None:
    """Along a line x + u t, an affine map has one coefficient, and a product of two lines two."""
    affine = program_of(lambda x: sum_axes(3 * x, (0,)) - 1, f8(3))
    zeros = 1  # of the higher coefficients, written out once
    assert size(affine, 9, 1) == size(affine, 1, 1) + zeros
    product = program_of(lambda x, y: x * y, f8(3), f8(3))
    assert size(product, 9, 1) == size(product, 2, 1) + zeros


def test_sine_and_cosine_go_up_together() -> None:
    both = program_of(lambda x: (np.sin(x), np.cos(x)), f8(3))
    found = names(simplify(taylor(both, 8, [(True,) * 8])))
    assert found.count("sin") == found.count("cos") == 1
    # Of the cosine only the last coefficient is not needed by the sine.
    assert size(both, 8, 8) < 1.2 * size(program_of(np.sin, f8(3)), 8, 8)


def test_a_linear_system_is_solved_once_an_order() -> None:
    """A_0 x_k = b_k - sum_{j<k} A_{k-j} x_j, for an operator that moves in several places."""
    rng = np.random.default_rng(3)
    A = rng.normal(size=(4, 4)) + 4 * np.eye(4)
    x, u, w = rng.normal(size=(3, 4))

    def by_operator(x: Any) -> Any:
        return ad.implicit.linear_solve(
            lambda y: A @ y + x * x * y + np.sin(x) * (x @ y), np.cos(x)
        )

    def by_matrix(x: Any) -> Any:
        return np.linalg.solve(A + np.diag(x * x) + np.outer(np.sin(x), x), np.cos(x))

    found, expected = (ad.taylor(each, x, [u, w], 8) for each in (by_operator, by_matrix))
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)
    for order in (8, 16):

        def along(x: Any, order: int = order) -> Any:
            return ad.taylor(by_operator, x, u, order)

        program = ad.program(along, x).program
        assert names(program).count("linear_solve") == order + 1
        assert len(program) < 5 * order**2 + 20 * order
    rates = ad.grad(lambda x: np.sum(ad.taylor(by_operator, x, u, 2)[2]))(x)
    np.testing.assert_allclose(
        rates, ad.grad(lambda x: np.sum(ad.taylor(by_matrix, x, u, 2)[2]))(x), rtol=1e-10
    )


def test_long_programs_do_not_recurse() -> None:
    """More equations than Python allows frames, also in the derivative of a single one."""

    def chain(x: Any) -> Any:
        for _ in range(3000):
            x = np.sin(x) + x
        return x

    program = program_of(chain, f8())
    whole = check_program(taylor(program, 3, [(True,)]))
    assert len(whole) > 3 * len(program)
    slow = ad.primitive(lambda x: np.asarray(x) * 1.0)

    @slow.jvp
    def rule(primals: Any, tangents: Any) -> Any:
        y = primals[0]
        for _ in range(1500):
            y = y * 0.9 + 0.1
        return slow(primals[0]), tangents[0] * y

    assert rule is not None
    found = ad.taylor(slow, np.array([1.0]), np.array([1.0]), 2)
    np.testing.assert_allclose(found[1:], [[1.0], [0.0]], atol=1e-12)


def test_high_orders_do_not_recurse() -> None:
    found = ad.taylor(lambda x: np.power(x, 1.5) * np.exp(x), np.array(1.0), np.array(1.0), 24)
    exact = mpmath.taylor(lambda x: x ** mpmath.mpf(1.5) * mpmath.exp(x), 1, 24)
    np.testing.assert_allclose(found, [float(c) for c in exact], rtol=1e-11)
    last = ad.taylor(np.exp, np.array(0.0), np.array(1.0), 150)[150]
    np.testing.assert_allclose(last, float(1 / mpmath.factorial(150)), rtol=1e-12)


def test_it_batches_like_any_program() -> None:
    program = program_of(lambda x: np.tanh(x) * np.sin(x), f8(3))
    whole = taylor(program, 3, [(True, False, True)])
    rng = np.random.default_rng(2)
    x, u, w = rng.normal(size=(3, 4, 3))
    found = run(vmap(whole, (True, True, True), 4), x, u, w)
    for n in range(4):
        for batch, single in zip(found, run(whole, x[n], u[n], w[n]), strict=True):
            np.testing.assert_allclose(batch[n], single, rtol=1e-13)


def test_a_curve_that_starts_with_its_second_coefficient() -> None:
    """exp(t^2) = 1 + t^2 + t^4 / 2."""
    program = taylor(program_of(np.exp, f8()), 4, [(False, True)])
    np.testing.assert_allclose(run(program, 0.0, 1.0), [1, 0, 1, 0, 0.5], atol=1e-15)


def test_a_primitive_without_a_rule_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    erf = find_special(special.erf)
    assert erf is not None
    monkeypatch.setattr(erf, "taylor", EmptySlot("nobody wrote it"))
    with pytest.raises(MissingRuleError, match="'erf' has no taylor rule: nobody wrote it"):
        ad.taylor(special.erf, np.array(0.5), np.array(1.0), 2)
