"""A determinant by expansion of minors: a recursion in Python over the entries of a matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

import adjoint as ad
from benchmarks.compiled import SCALAR, by_hand
from benchmarks.machine import limit
from benchmarks.measure import Thunk
from benchmarks.peers import agreeing_medians
from benchmarks.table import Table, compared

N = 9
VALUE = "C++ by hand, the value alone"


def minor(a: Any, row: int, columns: tuple[int, ...]) -> Any:
    """The determinant of the rows from this one on, in these columns."""
    if len(columns) == 1:
        return a[row, columns[0]]
    total, sign = 0.0, 1.0
    for place, column in enumerate(columns):
        rest = columns[:place] + columns[place + 1 :]
        total = total + sign * a[row, column] * minor(a, row + 1, rest)
        sign = -sign
    return total


def determinant(a: Any) -> Any:
    """The same work again and again: no minor is kept."""
    return minor(a, 0, tuple(range(len(a))))


def run() -> list[Table]:
    a = np.random.default_rng(0).standard_normal((N, N))
    jitted = ad.jit(ad.grad(determinant))
    expected = np.linalg.det(a) * np.linalg.inv(a).T
    candidates: dict[str, Thunk] = {
        "by NumPy's det and inv": lambda: np.linalg.det(a) * np.linalg.inv(a).T,
        "adjoint with ad.jit": lambda: jitted(a),
    }
    primal = by_hand("minors", [a, N], [()])
    others = {VALUE: primal[SCALAR]} if primal else {}
    times = agreeing_medians(candidates, expected, 1e-10, seconds=3.0, others=others)
    # Each of the 2^N minors is computed once; a product and a sum for each of its columns.
    bound = limit(flops=3 * N * 2**N, moved=16 * N * N)
    unit = VALUE if VALUE in times else "by NumPy's det and inv"
    return [compared(times, unit, bound, title=f"{N} × {N}")]
