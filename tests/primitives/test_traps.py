"""The traps of automatic differentiation: each has one documented value (docs/semantics.md).

Untaken branches, points where formulas divide by zero, ties, constants and infinities, in forward
and reverse mode, twice, under vmap and jit, and on both executors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy import special

import adjoint as ad

INF, NAN = np.inf, np.nan


class Trap(NamedTuple):
    """A function of one array, a point, the gradient of its sum there, and that sum's Hessian.

    hessian: None where the second derivative is not asked for.
    """

    function: Callable[..., Any]
    point: Any
    gradient: Any
    hessian: Any = None


def _variance_of(x: Any) -> Any:
    return np.var(x)


def _log_sum_exp(x: Any) -> Any:
    top = np.max(x)
    top = np.where(np.isfinite(top), top, 0.0)
    return top + np.log(np.sum(np.exp(x - top)))


def _softmax(x: Any) -> Any:
    e = np.exp(x - np.max(x))
    return (e / np.sum(e))[0]


LOG2 = np.log(2)
ZERO2 = [[0.0, 0.0], [0.0, 0.0]]
TRAPS: dict[str, Trap] = {
    # --- branches that were not taken
    "where log": Trap(
        lambda x: np.where(x > 0, np.log(x), 0),
        [0.0, 2.0, -1.0],
        [0, 0.5, 0],
        np.diag([0, -0.25, 0]),
    ),
    "where sqrt": Trap(
        lambda x: np.where(x > 0, np.sqrt(x), 0), [0.0, 4.0], [0, 0.25], np.diag([0, -1 / 32])
    ),
    "where division": Trap(
        lambda x: np.where(x == 0, 1.0, np.sin(x) / x), [0.0, np.pi], [0, -1 / np.pi]
    ),
    "where 0/0 on both sides": Trap(
        lambda x: np.where(x != 0, x**2 / x, 0), [0.0, 3.0], [0, 1], ZERO2
    ),
    "where power": Trap(
        lambda x: np.where(x > 0, x**-0.5, 0.0), [0.0, 1.0], [0, -0.5], np.diag([0, 0.75])
    ),
    "where arccos": Trap(
        lambda x: np.where(np.abs(x) < 1, np.arccos(x), 0),
        [1.0, -1.0, 0.0],
        [0, 0, -1],
        np.zeros((3, 3)),
    ),
    "where exp overflows": Trap(
        lambda x: np.where(x > 0, x, np.exp(x)), [800.0, 0.0], [1, 1], [[0, 0], [0, 1]]
    ),
    "where log1p": Trap(
        lambda x: np.where(x > -1, np.log1p(x), 0), [-1.0, 0.0], [0, 1], [[0, 0], [0, -1]]
    ),
    "where norm": Trap(
        lambda x: np.where(np.any(x != 0), np.linalg.norm(x), 0), [0.0, 0.0], [0, 0], ZERO2
    ),
    "masked log": Trap(
        lambda x: np.log(x, out=np.zeros(2), where=x > 0), [0.0, 2.0], [0, 0.5], np.diag([0, -0.25])
    ),
    "sum where log": Trap(
        lambda x: np.sum(np.log(x), where=x > 0), [0.0, 2.0], [0, 0.5], np.diag([0, -0.25])
    ),
    "mean where": Trap(
        lambda x: np.mean(1 / x, where=x > 0), [0.0, 2.0], [0, -0.25], np.diag([0, 0.25])
    ),
    "select": Trap(
        lambda x: np.select([x > 1, x > 0], [np.log(x - 1), x], 0), [1.0, 3.0, -1.0], [1, 0.5, 0]
    ),
    "in place under a mask": Trap(
        lambda x: _masked_in_place(x), [0.0, 4.0], [0, 0.25], np.diag([0, -1 / 32])
    ),
    # --- norms and roots at zero
    "norm": Trap(np.linalg.norm, [0.0, 0.0], [0, 0], np.full((2, 2), NAN)),
    "norm of order 3": Trap(
        lambda x: np.linalg.norm(x, 3), [0.0, 0.0], [0, 0], np.full((2, 2), NAN)
    ),
    "norm of order 2.5": Trap(
        lambda x: np.linalg.norm(x, 2.5), [0.0, 0.0], [0, 0], np.full((2, 2), NAN)
    ),
    "norm of order 4 along an axis": Trap(
        lambda x: np.linalg.norm(np.stack([x, 0 * x]), 4, axis=0),
        [0.0, 2.0],
        [0, 1],
        np.diag([NAN, 0]),
    ),
    "norm by a quadratic form": Trap(
        lambda x: np.sqrt(x @ np.array([[2.0, 0.5], [0.5, 1.0]]) @ x), [0.0, 0.0], [NAN, NAN]
    ),
    "norm away": Trap(np.linalg.norm, [3.0, 4.0], [0.6, 0.8], [[0.128, -0.096], [-0.096, 0.072]]),
    "norm squared": Trap(lambda x: np.linalg.norm(x) ** 2, [0.0, 0.0], [0, 0], [[2, 0], [0, 2]]),
    "norm squared away": Trap(
        lambda x: np.linalg.norm(x) ** 2, [3.0, 4.0], [6, 8], [[2, 0], [0, 2]]
    ),
    "norm along an axis": Trap(
        lambda x: np.linalg.norm(np.stack([x, 0 * x]), axis=0),
        [0.0, 2.0],
        [0, 1],
        np.diag([NAN, 0]),
    ),
    "square of abs": Trap(lambda x: np.abs(x) ** 2, [0.0, -3.0], [0, -6], [[2, 0], [0, 2]]),
    "product of two abs": Trap(
        lambda x: np.abs(x) * np.abs(x), [0.0, -3.0], [0, -6], [[2, 0], [0, 2]]
    ),
    "square of hypot": Trap(
        lambda x: np.hypot(x[0], x[1]) ** 2, [0.0, 0.0], [0, 0], [[2, 0], [0, 2]]
    ),
    "norm to the 2.0": Trap(
        lambda x: np.linalg.norm(x) ** 2.0, [0.0, 0.0], [0, 0], [[2, 0], [0, 2]]
    ),
    "sqrt of a sum of squares": Trap(lambda x: np.sqrt(np.sum(x * x)), [0.0, 0.0], [0, 0]),
    "sqrt of a square": Trap(lambda x: np.sqrt(np.square(x)), [0.0, -3.0], [0, -1]),
    "sqrt of a product": Trap(lambda x: np.sqrt(x * x), [0.0, 3.0], [0, 1]),
    "hypot": Trap(lambda x: np.hypot(x[0], x[1]), [0.0, 0.0], [0, 0], np.full((2, 2), NAN)),
    "sqrt itself": Trap(np.sqrt, [0.0, 1.0], [INF, 0.5]),
    "cbrt of a cube": Trap(lambda x: np.cbrt(x**3), [0.0, 2.0], [NAN, 1]),
    "root of a sum of fourth powers": Trap(
        lambda x: np.sqrt(np.sum(x**4)), [0.0, 0.0], [0, 0], np.full((2, 2), NAN)
    ),
    "weighted norm": Trap(
        lambda x: np.sqrt(np.sum(np.array([1.0, 2.0]) * x * x)), [0.0, 0.0], [NAN, NAN]
    ),
    "abs to the 1.5": Trap(lambda x: np.abs(x) ** 1.5, [0.0], [0], [[NAN]]),
    "root of abs": Trap(lambda x: np.sqrt(np.abs(x)), [0.0, -4.0], [NAN, -0.25]),
    "exp of log": Trap(lambda x: np.exp(np.log(x)), [0.0, 2.0], [NAN, 1]),
    # --- values that are infinite
    "log of a sum of exponentials": Trap(
        lambda x: np.log(np.sum(np.exp(x))), [1000.0, 1001.0], [NAN, NAN]
    ),
    "softplus by hand": Trap(lambda x: np.log(1 + np.exp(x)), [710.0, 0.0], [1, 0.5]),
    "log of cosh": Trap(lambda x: np.log(np.cosh(x)), [711.0, 0.0], [1, 0], [[0, 0], [0, 1]]),
    # --- powers
    "x**y": Trap(lambda x: x[0] ** x[1], [2.0, 0.0], [0, np.log(2)], [[0, 0.5], [0.5, LOG2**2]]),
    "(1 + x)**x": Trap(lambda x: (1 + x) ** x, [0.0], [0], [[2]]),
    "x**0": Trap(lambda x: x**0, [0.0, -1.0, 2.0], [0, 0, 0], np.zeros((3, 3))),
    "x**0.0": Trap(lambda x: x**0.0, [0.0, 2.0], [0, 0], ZERO2),
    "x**1": Trap(lambda x: x**1, [0.0, -2.0], [1, 1], ZERO2),
    "x**2.0": Trap(lambda x: x**2.0, [0.0, -3.0], [0, -6], [[2, 0], [0, 2]]),
    "x**3 of an array exponent": Trap(
        lambda x: x ** np.array([3.0, 3.0]), [0.0, -2.0], [0, 12], [[0, 0], [0, -12]]
    ),
    "x**0.5": Trap(lambda x: x**0.5, [0.0, 4.0], [INF, 0.25]),
    "0**x": Trap(lambda x: 0.0**x, [1.0, 2.0, 0.0], [0, 0, 0]),
    "2**x": Trap(lambda x: 2.0**x, [0.0], [np.log(2)], [[np.log(2) ** 2]]),
    "negative base": Trap(lambda x: np.power(x, 2.0), [-1.5], [-3.0], [[2.0]]),
    "integer exponent of an array": Trap(
        lambda x: x ** np.array([0, 1, 2]), [0.0, 0.0, 0.0], [0, 1, 0], np.diag([0, 0, 2])
    ),
    # --- logarithms and entropies
    "xlogy": Trap(lambda x: special.xlogy(x, x), [0.0, 1.0], [-INF, 1]),
    "xlogy with a zero factor": Trap(lambda x: special.xlogy(0.0, x), [0.0, 2.0], [0, 0], ZERO2),
    "xlogy of two": Trap(
        lambda x: special.xlogy(x[0], x[1]), [0.0, 2.0], [LOG2, 0], [[0, 0.5], [0.5, 0]]
    ),
    "x log x under where": Trap(
        lambda x: np.where(x > 0, x * np.log(x), 0), [0.0, 1.0], [0, 1], [[0, 0], [0, 1]]
    ),
    "log1p at -1": Trap(np.log1p, [-1.0, 0.0], [INF, 1]),
    "log of a sum with zeros": Trap(
        lambda x: np.log(np.sum(x)), [0.0, 2.0], [0.5, 0.5], [[-0.25] * 2] * 2
    ),
    "logaddexp of infinities": Trap(lambda x: np.logaddexp(x[0], x[1]), [-INF, 1.0], [0, 1], ZERO2),
    "logaddexp of two": Trap(lambda x: np.logaddexp(x[0], x[1]), [-INF, -INF], [0, 0]),
    "logaddexp of a tie": Trap(
        lambda x: np.logaddexp(x[0], x[1]), [1.0, 1.0], [0.5, 0.5], [[0.25, -0.25], [-0.25, 0.25]]
    ),
    "logsumexp with -inf": Trap(special.logsumexp, [-INF, 0.0, 0.0], [0, 0.5, 0.5]),
    "logsumexp of -inf alone": Trap(special.logsumexp, [-INF, -INF], [0, 0]),
    "logsumexp by hand": Trap(_log_sum_exp, [-INF, 0.0, 0.0], [0, 0.5, 0.5]),
    "logaddexp.reduce": Trap(np.logaddexp.reduce, [-INF, 0.0, 0.0], [0, 0.5, 0.5]),
    "softmax with -inf": Trap(_softmax, [0.0, -INF, 0.0], [0.25, 0, -0.25]),
    "scipy softmax with -inf": Trap(
        lambda x: special.softmax(x)[0], [0.0, -INF, 0.0], [0.25, 0, -0.25]
    ),
    "log_softmax": Trap(lambda x: special.log_softmax(x)[0], [0.0, 0.0], [0.5, -0.5]),
    # --- angles
    "arctan2(0, 0)": Trap(lambda x: np.arctan2(x[0], x[1]), [0.0, 0.0], [0, 0], ZERO2),
    "arctan2": Trap(lambda x: np.arctan2(x[0], x[1]), [0.0, 2.0], [0.5, 0]),
    "sinc at 0": Trap(np.sinc, [0.0, 1.0], [0, -1], [[-(np.pi**2) / 3, 0], [0, 2]]),
    # --- kinks and ties
    "abs": Trap(np.abs, [0.0, -2.0], [0, -1], ZERO2),
    "sign": Trap(np.sign, [0.0, 2.0], [0, 0], ZERO2),
    "relu": Trap(lambda x: np.maximum(x, 0), [0.0, 1.0, -1.0], [0.5, 1, 0], np.zeros((3, 3))),
    "clip at its edges": Trap(
        lambda x: np.clip(x, 0, 1), [0.0, 1.0, 0.5, 2.0], [0.5, 0.5, 1, 0], np.zeros((4, 4))
    ),
    "clip to one value": Trap(lambda x: np.clip(x, 1, 1), [0.0, 1.0, 2.0], [0, 0.25, 0]),
    "max ties": Trap(np.max, [1.0, 1.0, 0.0], [0.5, 0.5, 0], np.zeros((3, 3))),
    "max of all": Trap(np.max, [2.0, 2.0, 2.0, 2.0], [0.25] * 4),
    "min ties": Trap(np.min, [1.0, 1.0, 3.0], [0.5, 0.5, 0]),
    "maximum ties": Trap(lambda x: np.maximum(x[0], x[1]), [1.0, 1.0], [0.5, 0.5]),
    "ptp of a constant": Trap(np.ptp, [1.0, 1.0], [0, 0]),
    "fmax with NaN": Trap(lambda x: np.fmax(x, np.array([NAN, 1.0])), [1.0, 0.0], [1, 0]),
    "sort ties": Trap(lambda x: np.sort(x) @ np.array([1.0, 2.0, 3.0]), [1.0, 1.0, 0.0], [2, 3, 1]),
    "median ties": Trap(np.median, [1.0, 1.0, 1.0], [0, 1, 0]),
    "median of four": Trap(np.median, [3.0, 1.0, 2.0, 2.0], [0, 0, 0.5, 0.5]),
    "floor at a step": Trap(lambda x: np.floor(x) * x, [1.0, 1.5], [1, 1], ZERO2),
    "remainder at a step": Trap(lambda x: x % 1.0, [1.0, 0.5], [1, 1], ZERO2),
    "copysign": Trap(lambda x: np.copysign(x, -1.0), [2.0, -2.0], [-1, 1]),
    # --- products with zeros
    "prod with one zero": Trap(
        np.prod, [0.0, 2.0, 3.0], [6, 0, 0], [[0, 3, 2], [3, 0, 0], [2, 0, 0]]
    ),
    "prod with two zeros": Trap(
        np.prod, [0.0, 0.0, 3.0], [0, 0, 0], [[0, 3, 0], [3, 0, 0], [0, 0, 0]]
    ),
    "prod with three zeros": Trap(np.prod, [0.0, 0.0, 0.0], [0, 0, 0], np.zeros((3, 3))),
    "prod along an axis": Trap(
        lambda x: np.prod(np.stack([x, x + 1]), axis=0), [0.0, -1.0], [1, -1], [[2, 0], [0, 2]]
    ),
    "cumprod with a zero": Trap(
        np.cumprod, [2.0, 0.0, 3.0], [1, 8, 0], [[0, 4, 0], [4, 0, 2], [0, 2, 0]]
    ),
    "det of zeros": Trap(
        lambda x: np.linalg.det(x.reshape(2, 2)), [0.0, 0.0, 0.0, 0.0], [0, 0, 0, 0]
    ),
    # --- constants
    "std of a constant": Trap(np.std, [2.0, 2.0], [0, 0]),
    "std along an axis": Trap(lambda x: np.std(np.stack([x, x]), axis=0), [1.0, 2.0], [0, 0]),
    "var of a constant": Trap(_variance_of, [2.0, 2.0], [0, 0], [[0.5, -0.5], [-0.5, 0.5]]),
    "corrcoef of itself": Trap(lambda x: np.corrcoef(x, x)[0, 1], [1.0, 2.0, 4.0], [0, 0, 0]),
    # --- NaN and infinities that take no part
    "nansum": Trap(np.nansum, [1.0, NAN], [1, 0], ZERO2),
    "nanmean": Trap(np.nanmean, [1.0, NAN, 3.0], [0.5, 0, 0.5]),
    "nanmax": Trap(np.nanmax, [1.0, NAN, 3.0], [0, 0, 1]),
    "nanprod": Trap(np.nanprod, [2.0, NAN, 0.0], [0, 0, 2]),
    "nan_to_num": Trap(
        lambda x: np.nan_to_num(1 / x, posinf=5.0), [0.0, 2.0], [0, -0.25], [[0, 0], [0, 0.25]]
    ),
    "0 * inf of a constant": Trap(
        lambda x: np.where(x > 0, x * np.array([INF, 2.0]), 0), [0.0, 1.0], [0, 2], ZERO2
    ),
    "division 0/0": Trap(lambda x: np.where(x > 0, x / x, 0), [0.0, 1.0], [0, 0], ZERO2),
}


def _masked_in_place(x: Any) -> Any:
    y = np.zeros(2)
    y[x > 0] = np.sqrt(x[x > 0])
    return y


def total(function: Callable[..., Any]) -> Callable[..., Any]:
    """The sum of a function's values."""
    return lambda x: np.sum(function(x))


def same(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(found, np.asarray(expected, float), rtol=1e-12, atol=1e-14)


@pytest.fixture(autouse=True)
def quiet() -> Any:
    """The functions warn where they divide by zero themselves; of that is nothing said here."""
    with np.errstate(all="ignore"):
        yield


@pytest.mark.parametrize("name", TRAPS)
def test_reverse_and_forward(name: str) -> None:
    trap = TRAPS[name]
    x, function = np.array(trap.point), total(trap.function)
    with ad.config(native=False):
        same(ad.grad(function)(x), trap.gradient)
        same([ad.jvp(function, (x,), (u,))[1] for u in np.eye(x.size)], trap.gradient)
        same(ad.jit(ad.grad(function))(x), trap.gradient)


@pytest.mark.parametrize("name", [name for name, trap in TRAPS.items() if trap.hessian is not None])
def test_second_order_in_every_composition(name: str) -> None:
    trap = TRAPS[name]
    x, function = np.array(trap.point), total(trap.function)
    directions = np.eye(x.size)

    def along(u: Any) -> Callable[..., Any]:
        return lambda y: ad.jvp(function, (y,), (u,))[1]

    with ad.config(native=False):
        slope = ad.grad(function)
        same([ad.jvp(slope, (x,), (u,))[1] for u in directions], trap.hessian)
        same([ad.grad(along(u))(x) for u in directions], trap.hessian)
        same(
            [[ad.jvp(along(u), (x,), (v,))[1] for v in directions] for u in directions],
            trap.hessian,
        )
        same([ad.vjp(slope, x)[1](u)[0] for u in directions], trap.hessian)


@pytest.mark.parametrize("name", TRAPS)
def test_many_at_once(name: str) -> None:
    trap = TRAPS[name]
    x, function = np.array(trap.point), total(trap.function)
    with ad.config(native=False):
        try:
            found = ad.vmap(ad.grad(function))(np.stack([x, x]))
        except ad.errors.ValueNeededError:
            assert name == "in place under a mask"
            return
    same(found, [trap.gradient] * 2)


@pytest.mark.parametrize("name", TRAPS)
def test_in_machine_code(name: str) -> None:
    trap = TRAPS[name]
    x, function = np.array(trap.point), total(trap.function)
    with ad.config(native=True):
        same(ad.grad(function)(x), trap.gradient)
        same(ad.jit(ad.grad(function))(x), trap.gradient)


# --- complex numbers ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "point", "gradient"),
    [
        (np.abs, 0j, 0),
        (np.abs, 3 + 4j, 0.6 + 0.8j),
        (lambda z: np.abs(z) ** 2, 0j, 0),
        (lambda z: np.abs(z) ** 2, 3 + 4j, 6 + 8j),
        (np.angle, 0j, 0),
        (np.angle, 2j, -0.5),
        (lambda z: np.sqrt(np.real(z * np.conj(z))), 0j, 0),
        (lambda z: np.hypot(z.real, z.imag), 0j, 0),
        (lambda z: np.linalg.norm(z * np.ones(2)), 0j, 0),
        (lambda z: np.real(z**2), 0j, 0),
        (lambda z: np.real(z**0), 0j, 0),
        (lambda z: np.where(np.abs(z) > 0, np.real(np.log(z)), 0), 0j, 0),
        (lambda z: np.sum(np.abs(np.stack([z, 2 * z]))), 1j, 3j),
    ],
)
def test_complex(function: Any, point: complex, gradient: complex) -> None:
    with ad.config(native=False):
        np.testing.assert_allclose(ad.grad(function)(point), gradient, atol=1e-15)
        for u in (1.0, 1j):
            slope = ad.jvp(function, (point,), (u,))[1]
            np.testing.assert_allclose(slope, (np.conj(gradient) * u).real, atol=1e-15)


def test_the_square_of_a_complex_modulus_is_smooth_at_zero() -> None:
    product = ad.hvp(lambda z: np.abs(z) ** 2, 0j, 1 + 2j)
    np.testing.assert_allclose(product, 2 + 4j, atol=1e-15)


# --- all orders, and what is truly undefined ------------------------------------------------------


def test_sinc_has_every_derivative_at_zero() -> None:
    function: Any = np.sinc
    for order in range(1, 6):
        function = ad.grad(function)
        expected = 0.0 if order % 2 else (-1) ** (order // 2) * np.pi**order / (order + 1)
        np.testing.assert_allclose(function(0.0), expected, rtol=1e-12, atol=1e-12)


def test_a_nan_that_takes_part_is_kept() -> None:
    data = np.array([1.0, NAN])
    same(ad.grad(lambda w: np.sum(w * data))(np.ones(2)), [1, NAN])
    assert np.isnan(ad.grad(lambda x: np.log(x) * np.sqrt(x))(-1.0))


@pytest.mark.parametrize("share", [0.0, 0.25, 1.0])
def test_the_share_at_a_kink_is_a_setting(share: float) -> None:
    with ad.config(kink=share, native=False):
        assert ad.grad(np.abs)(0.0) == 2 * share - 1
        assert ad.grad(lambda x: np.maximum(x, 0))(0.0) == share
        assert ad.grad(lambda x: np.clip(x, 0, 1))(0.0) == share
        assert ad.grad(lambda x: np.clip(x, 0, 1))(1.0) == 1 - share


def test_without_strong_zeros_the_chain_rule_is_bare() -> None:
    with ad.config(strong_zeros=False, native=False):
        found = ad.grad(lambda x: np.sum(np.where(x > 0, np.log(x), 0)))(np.array([2.0, 0.0]))
    same(found, [0.5, NAN])
