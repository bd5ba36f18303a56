"""Loops over rounds as loops over blocks of the arrays that these go through."""

from __future__ import annotations

from typing import Any

import numpy as np
import optree
import pytest

import adjoint as ad
from adjoint.executors.native.preparation.blocks import in_blocks
from adjoint.optimise import simplify
from adjoint.program import Program, all_equations, check_program

RNG = np.random.default_rng(5)


def horner(c: Any, t: Any) -> Any:
    y = t * 0.0
    for k in range(len(c) - 1, -1, -1):
        y = y * t + c[k]
    return y


def misses(c: Any, t: Any) -> Any:
    return np.sum((horner(c, t) - np.sign(t)) ** 2)


def counted(c: Any, t: Any) -> Any:
    """A loop that also carries numbers, and returns them."""

    def body(k: Any, state: Any) -> Any:
        y, z, total = state
        return np.where(y > 0, y * t, z) + c[k] * 0.1, y - 0.5 * z, total * 0.5 + c[k]

    return ad.fori_loop(0, len(c), body, (t, 0.5 * t, np.sum(c)))


def summed(c: Any, t: Any) -> Any:
    def body(y: Any, row: Any) -> Any:
        y = np.sin(y) * row
        return y, (np.sum(y), y @ t)

    return ad.scan(body, t, c)


def shifted(c: Any, t: Any) -> Any:
    return ad.fori_loop(0, len(c), lambda k, y: np.roll(y, 1) * c[k] + t, t)


def steered(c: Any, t: Any) -> Any:
    return ad.fori_loop(0, len(c), lambda k, y: y / (1.0 + np.sum(y * y)) + c[k], t)


def fed_back(c: Any, t: Any) -> Any:
    return ad.fori_loop(
        0, len(c), lambda k, s: (s[0] * c[k] + s[1], 1e-4 * np.sum(s[0])), (t, np.sum(t) * 0.0)
    )


FUNCTIONS = [horner, misses, counted, summed, shifted, steered, fed_back]


def arguments(size: int, dtype: Any = float) -> tuple[Any, Any]:
    return RNG.uniform(-1, 1, 20).astype(dtype), RNG.uniform(-1, 1, size).astype(dtype)


def loops(program: Program) -> int:
    return sum(equation.primitive.name == "scan" for equation in all_equations(program))


@pytest.mark.parametrize(
    ("function", "cut"),
    [*((each, True) for each in FUNCTIONS[:4]), *((each, False) for each in FUNCTIONS[4:])],
)
@pytest.mark.parametrize("size", [4096, 2600])
def test_loops_are_cut_where_numbers_stay_in_place(function: Any, cut: bool, size: int) -> None:
    program = simplify(ad.program(function, *arguments(size)).rolled().program)
    made = check_program(in_blocks(program))
    assert loops(program) == 1
    assert loops(made) == (1 if not cut else 2 if size == 4096 else 3)


def test_matrices_are_left() -> None:
    def function(x: Any) -> Any:
        return ad.fori_loop(0, 20, lambda k, y: np.sin(y) + x, x)

    program = simplify(ad.program(function, RNG.uniform(size=(64, 64))).program)
    assert in_blocks(program) is program


@pytest.mark.parametrize("size", [100, 1 << 16])
def test_small_arrays_and_those_that_threads_share_are_left(size: int) -> None:
    program = simplify(ad.program(horner, *arguments(size)).rolled().program)
    assert in_blocks(program) is program


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("size", [4096, 2600, 30_000])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_results_are_those_of_numpy(function: Any, size: int, dtype: Any) -> None:
    args = arguments(size, dtype)

    def total(c: Any, t: Any) -> Any:
        return sum(np.sum(leaf * leaf) for leaf in optree.tree_leaves(function(c, t)))

    for derived in (function, ad.grad(total, argnums=(0, 1))):
        with ad.config(native=False):
            expected = derived(*args)
        with ad.config(native=True):
            found = ad.jit(derived)(*args)
        _close(found, expected, 1e-11 if dtype is np.float64 else 2e-3)


def _close(found: Any, expected: Any, tolerance: float) -> None:
    if isinstance(expected, tuple | list):
        for one, other in zip(found, expected, strict=True):
            _close(one, other, tolerance)
        return
    assert found.dtype == expected.dtype
    scale = float(np.max(np.abs(expected), initial=1.0))
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * scale)


def test_bits_do_not_depend_on_threads() -> None:
    args = arguments(2600)
    bits = []
    for threads in (1, 2):
        with ad.config(threads=threads, native=True, cache=False):
            bits.append(ad.jit(ad.grad(misses, argnums=(0, 1)))(*args))
    for one, other in zip(*bits, strict=True):
        np.testing.assert_array_equal(one, other)


def test_errors_are_noted_in_blocks_too() -> None:
    c, t = arguments(4096)
    t[4000] = 1e30
    with ad.config(native=True), pytest.warns(RuntimeWarning, match="overflow"):
        ad.jit(horner)(c, t)
