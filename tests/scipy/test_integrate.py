"""`scipy.integrate` under capture."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import integrate
from scipy.integrate import odeint, quad, quad_vec, solve_ivp

import adjoint as ad
from tests.scipy.comparing import agrees, agrees_in_all_modes

RNG = np.random.default_rng(0)
Y, X = RNG.standard_normal((3, 6)), np.cumsum(RNG.random(6) + 0.1)
TIMES = np.linspace(0.0, 3.0, 5)

Cases = dict[str, tuple[Callable[..., Any], tuple[Any, ...]]]
QUADRATURE: Cases = {
    "closure": (lambda p: quad(lambda t: np.exp(-p * t * t) * np.cos(p * t), 0.0, 1.0)[0], (1.3,)),
    "ends": (
        lambda p, a, b: quad(lambda t, q: math.sin(q * t) ** 2 * p, a, b, args=(p,))[0],
        (1.3, 0.2, 2.0),
    ),
    "line": (lambda p: quad(lambda t: np.exp(-p * t * t), -np.inf, np.inf)[0], (1.3,)),
    "half line": (lambda p: quad(lambda t: np.exp(-p * t * t), 0, np.inf)[0], (1.3,)),
    "points": (lambda p: quad(lambda t: p * np.abs(t - 0.3), 0, 1, points=[0.3])[0], (1.3,)),
    "vector": (lambda p: quad_vec(lambda t: np.sin(p * t), 0, 2.0)[0], (np.array([1.0, 2.0]),)),
    "fixed": (lambda a, b: integrate.fixed_quad(lambda t: np.sin(t * a), a, b, n=4)[0], (0.3, 1.2)),
}
SUMS: Cases = {
    f"{name} {count}": (function, (Y[:, :count], X[:count]))
    for count in (6, 5, 2)
    for name, function in {
        "simpson": lambda y, x: integrate.simpson(y, x=x),
        "simpson even": lambda y, x: integrate.simpson(y, dx=0.3) * x[0],
        "trapezoid": lambda y, x: integrate.trapezoid(y, x),
        "cumulative": lambda y, x: integrate.cumulative_trapezoid(y, x, initial=0),
    }.items()
}
CASES: Cases = {**QUADRATURE, **SUMS}


@pytest.mark.parametrize("name", CASES)
def test_value_and_derivatives(name: str) -> None:
    function, args = CASES[name]
    agrees(function, *args)


def test_integrals_in_all_modes() -> None:
    agrees_in_all_modes(lambda x: quad(lambda t: np.sin(x[0] * t) * x[1] ** 2, 0, x[1])[0], X[:2])
    agrees_in_all_modes(lambda p: quad(lambda t: np.exp(-p[0] * t * t), 0, 1.0)[0], X[:1])


def test_what_integrals_refuse() -> None:
    with pytest.raises(ad.errors.ValueNeededError, match=r"np\.where"):
        ad.grad(lambda p: quad(lambda t: p * t if t > 0.5 else 0.0, 0, 1)[0])(1.0)
    with pytest.raises(ad.errors.UnsupportedFunctionError, match="weight"):
        ad.grad(lambda p: quad(lambda t: p * t, 0, 1, weight="cos", wvar=1.0)[0])(1.0)
    with pytest.raises(ad.errors.UnsupportedFunctionError, match="nest quad"):
        ad.grad(lambda p: integrate.nquad(lambda s, t: p * t, [(0, 1), (0, 1)])[0])(1.0)


def area(p: Any) -> Any:
    return integrate.dblquad(
        lambda y, x, c: c * np.exp(-p[0] * x) * y, 0, 1 + p[0], 0.0, lambda x: x * p[1], (p[1],)
    )[0]


def volume(p: Any) -> Any:
    below, above = (lambda x: x), (lambda x, y: x + p[1] * y)
    return integrate.tplquad(lambda z, y, x: p[0] * x * y + z, 0, 1, 0, below, 0, above)[0]


@pytest.mark.parametrize("integral", [area, volume])
def test_integrals_over_two_and_three_variables(integral: Any) -> None:
    point, step = np.array([0.4, 0.7]), 1e-5
    value, gradient = ad.value_and_grad(integral)(point)
    assert value == pytest.approx(integral(point))
    for place, e in enumerate(np.eye(2)):
        ends = [integral(point + s * e) for s in (step, -step)]
        assert gradient[place] == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-7)
        assert ad.jvp(integral, (point,), (e,))[1] == pytest.approx(gradient[place])


# --- differential equations -----------------------------------------------------------------------


def prey(t: Any, y: Any, a: Any, b: Any) -> Any:
    return np.array([a * y[0] - b * y[0] * y[1], b * y[0] * y[1] - y[1]])


@pytest.mark.parametrize("method", ["RK45", "DOP853"])
def test_a_system(method: str) -> None:
    def solution(a: Any, b: Any, y0: Any) -> Any:
        tight = {"rtol": 1e-9, "atol": 1e-11}
        found = solve_ivp(prey, (0, 3.0), y0, method, t_eval=TIMES, args=(a, b), **tight)
        return found.y

    args, u = (1.1, 0.4, np.array([1.0, 2.0])), (1.0, 0.5, np.array([0.3, 0.2]))
    value, slope = ad.jvp(solution, args, u)
    np.testing.assert_allclose(value, solution(*args), rtol=1e-7)
    step = 1e-4
    ahead, behind = (
        solution(*(x + s * d for x, d in zip(args, u, strict=True))) for s in (step, -step)
    )
    np.testing.assert_allclose(slope, (ahead - behind) / (2 * step), rtol=1e-5, atol=1e-5)


def decay(a: Any, end: Any) -> Any:
    found = solve_ivp(lambda t, y: [-a * y[0] * t], (0.0, end), [1.0], rtol=1e-9, atol=1e-11)
    return found.y[0, -1]


def test_the_end_of_a_solution() -> None:
    exact = math.exp(-0.7 * 1.5**2 / 2)
    assert math.isclose(ad.grad(decay)(0.7, 1.5), -(1.5**2) / 2 * exact, rel_tol=1e-7)
    assert math.isclose(ad.grad(decay, argnums=1)(0.7, 1.5), -0.7 * 1.5 * exact, rel_tol=1e-7)


def test_solutions_in_all_modes() -> None:
    def ends(a: Any) -> Any:
        found = solve_ivp(lambda t, y: -a * y, (0.0, 2.0), np.ones(2), t_eval=[1.0, 2.0])
        return np.sum(found.y[:, -1] ** 2)

    agrees_in_all_modes(ends, np.array([0.7, 0.2]), tolerance=1e-4)


def test_odeint() -> None:
    _, slope = ad.jvp(lambda a: odeint(lambda y, t: -a * y, 1.0, TIMES), (0.7,), (1.0,))
    np.testing.assert_allclose(slope[:, 0], -TIMES * np.exp(-0.7 * TIMES), atol=1e-7)


def test_what_equations_refuse() -> None:
    with pytest.raises(ad.errors.UnsupportedFunctionError, match="stiff"):
        ad.grad(lambda a: solve_ivp(lambda t, y: -a * y, (0, 1), [1.0], "BDF").y[0, -1])(1.0)
    with pytest.raises(ad.errors.ValueNeededError, match=r"np\.where"):
        ad.grad(lambda a: solve_ivp(lambda t, y: -a * y if t > 0.5 else y, (0, 1), [1.0]).y[0, -1])(
            1.0
        )
