"""Least squares on a polynomial by Horner's rule: the gradient by its coefficients."""

from __future__ import annotations

from typing import Any

import numpy as np

import adjoint as ad
from benchmarks.compiled import SCALAR, by_hand
from benchmarks.machine import limit
from benchmarks.measure import Thunk
from benchmarks.peers import LARGE, agreeing_medians, chosen, gradients
from benchmarks.table import Table, compared

DEGREE = 127
SAMPLES = 4096
BY_HAND = "NumPy by hand"


def half_squares(coefficients: Any, xp: Any, t: Any, y: Any) -> Any:
    """Half the sum of squares of the polynomial's misses."""
    value = xp.zeros_like(t)
    for degree in range(len(coefficients) - 1, -1, -1):
        value = value * t + coefficients[degree]
    miss = value - y
    return 0.5 * xp.sum(miss * miss)


def gradient_by_hand(coefficients: Any, t: Any, y: Any) -> Any:
    """The sums of the misses times the powers, in place where that saves memory."""
    power = np.zeros_like(t)
    for degree in range(DEGREE, -1, -1):
        power *= t
        power += coefficients[degree]
    power -= y
    gradient = np.empty_like(coefficients)
    for degree in range(DEGREE + 1):
        gradient[degree] = np.sum(power)
        power *= t
    return gradient


def run() -> list[Table]:
    random = np.random.default_rng(0)
    coefficients = random.standard_normal(DEGREE + 1)
    t = random.uniform(-1.0, 1.0, SAMPLES)
    y = np.sin(3 * t)

    def loss(c: Any) -> Any:
        return half_squares(c, np, t, y)

    jitted = ad.jit(ad.grad(loss))
    candidates: dict[str, Thunk] = {
        BY_HAND: lambda: gradient_by_hand(coefficients, t, y),
        **by_hand("polynomial", [coefficients, t, y, DEGREE + 1, SAMPLES], [(DEGREE + 1,)]),
        "adjoint, ad.grad(f)(c)": lambda: ad.grad(loss)(coefficients),
        "adjoint with ad.jit": lambda: jitted(coefficients),
        **chosen(gradients(half_squares, coefficients, (t, y)), LARGE),
    }
    expected = gradient_by_hand(coefficients, t, y)
    times = agreeing_medians(candidates, expected, 1e-10, seconds=6.0)
    # For each degree and sample a product and a sum; two products and a sum on the way back.
    bound = limit(flops=5 * DEGREE * SAMPLES, moved=16 * SAMPLES)
    title = f"degree {DEGREE}, n = {SAMPLES}"
    return [compared(times, BY_HAND, bound, [SCALAR, "JAX with jit"], title)]
