"""The evals hello, llsq, lse, ode and det: real functions of one vector."""

from __future__ import annotations

from typing import Any

import numpy as np

import adjoint as ad
from benchmarks.gradbench.functions import Function, Input, Module, arrays, listed
from benchmarks.logsumexp import logsumexp
from benchmarks.minors import determinant
from benchmarks.polynomial import half_squares
from benchmarks.rk4 import solution


def square(x: Any) -> Any:
    return x * x


def misses(x: Any, n: int) -> Any:
    """Half the squares by which a polynomial misses the sign at n places between -1 and 1."""
    t = np.linspace(-1.0, 1.0, n)
    return half_squares(x, np, t, np.sign(t))


def last(x: Any, s: int) -> Any:
    """The last number of the solution after s steps."""
    return solution(x, s)[-1]


def _with(name: str) -> Any:
    """A reading of the vector x and a whole number."""
    return lambda given: (np.array(given["x"], dtype=float), int(given[name]))


def _matrix(given: Input) -> tuple[Any]:
    size = int(given["ell"])
    return (np.array(given["A"], dtype=float).reshape(size, size),)


def _number(given: Any) -> tuple[Any]:
    return (np.array(given, dtype=float),)


def _flat(matrix: Any) -> Any:
    return listed(np.ravel(matrix))


HELLO: Module = {
    "square": Function(_number, ad.jit(square), float, runs=False),
    "double": Function(_number, ad.jit(ad.grad(square)), float, runs=False),
}
LLSQ: Module = {
    "primal": Function(_with("n"), ad.jit(misses), float),
    "gradient": Function(_with("n"), ad.jit(ad.grad(misses)), listed),
}
LSE: Module = {
    "primal": Function(arrays("x"), ad.jit(logsumexp), float),
    "gradient": Function(arrays("x"), ad.jit(ad.grad(logsumexp)), listed),
}
ODE: Module = {
    "primal": Function(_with("s"), ad.jit(solution), listed),
    "gradient": Function(_with("s"), ad.jit(ad.grad(last)), listed),
}
DET: Module = {
    "primal": Function(_matrix, ad.jit(determinant), float),
    "gradient": Function(_matrix, ad.jit(ad.grad(determinant)), _flat),
}
