"""Divided loops: the same bits for any number of threads, in programs and in bodies of loops."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.executors.native.machine import pool
from adjoint.executors.native.schedule import regions

pytestmark = pytest.mark.skipif(not pool.has_pool(), reason="this system has no pool")

RANDOM = np.random.default_rng(0)
LONG = RANDOM.normal(size=200_003)
COMPLEX = LONG + 1j * LONG[::-1]
WIDE = RANDOM.normal(size=(501, 403))
TALL = RANDOM.normal(size=(30_001, 21))
ROWS = RANDOM.normal(size=403)
SQUARE = RANDOM.normal(size=(300, 300)) / 20
LARGE = RANDOM.normal(size=(600, 600)) / 25


def steps(a: Any, x: Any) -> Any:
    return ad.fori_loop(0, 5, lambda k, s: np.tanh(a @ s) + np.sum(np.cos(s)) * 0.001, x)


def softmax_rows(a: Any) -> Any:
    e = np.exp(a - np.max(a, axis=1, keepdims=True))
    return e / np.sum(e, axis=1, keepdims=True)


def logistic(w: Any, x: Any) -> Any:
    z = x @ w
    return np.mean(np.logaddexp(0, z) - z * (x[:, 0] > 0))


def scanned(x: Any) -> Any:
    def body(k: Any, s: Any) -> Any:
        return s * 0.5 + np.sin(s * k) * np.max(s), np.sum(s), np.min(s * s)

    return ad.fori_loop(0, 4, lambda k, s: body(k, s[0]), (x, 0.0, 0.0))


PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "elementwise": (lambda x: np.exp(x) * np.sin(x), (LONG,)),
    "sums": (lambda x: (np.sum(np.exp(x)), np.max(x), np.min(x), np.any(x > 4)), (LONG,)),
    "a complex sum": (lambda z: np.sum(z * z), (COMPLEX,)),
    "single precision": (lambda x: np.sum(np.exp(x)), (LONG.astype(np.float32),)),
    "integers": (lambda x: np.sum(x * 3), (np.arange(200_000),)),
    "over the first axis": (lambda a: np.sum(a * a, axis=0), (WIDE,)),
    "over the last axis": (lambda a: np.sum(np.exp(a), axis=1), (WIDE,)),
    "softmax": (softmax_rows, (WIDE,)),
    "a vector times a matrix": (lambda a, x: x @ a, (WIDE.T.copy(), ROWS)),
    "a matrix times a vector": (lambda a, x: a @ x, (WIDE, ROWS)),
    "products": (lambda a: np.tanh(a @ a) @ a, (SQUARE,)),
    "thin rows": (ad.value_and_grad(logistic), (TALL[0] * 0.1, TALL)),
    "within a loop": (steps, (LARGE, LARGE[0])),
    "the gradient of a loop": (ad.grad(lambda a, x: np.sum(steps(a, x))), (LARGE, LARGE[0])),
    "numbers of a loop": (scanned, (LONG,)),
    "products within a loop": (
        lambda a: ad.fori_loop(0, 3, lambda k, s: np.tanh(s @ a), a),
        (SQUARE,),
    ),
}


def bits(tree: Any) -> list[bytes]:
    return [np.asarray(leaf).tobytes() for leaf in (tree if isinstance(tree, tuple) else (tree,))]


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_bits_do_not_depend_on_the_threads(name: str) -> None:
    function, arguments = PROGRAMS[name]
    with ad.config(native=False):
        expected = ad.jit(function)(*arguments)
    results = []
    for threads in (1, 2, 3, 7):
        with ad.config(native=True, threads=threads):
            results.append(ad.jit(function)(*arguments))
    assert all(bits(result) == bits(results[0]) for result in results)
    pairs = zip(*(x if isinstance(x, tuple) else (x,) for x in (results[0], expected)), strict=True)
    for one, other in pairs:
        rounding = 1e-4 if np.asarray(other).dtype == np.float32 else 1e-9
        np.testing.assert_allclose(one, other, rtol=rounding, atol=rounding)


@pytest.mark.parametrize("name", [*PROGRAMS])
def test_work_is_shared_where_there_are_threads(name: str) -> None:
    function, arguments = PROGRAMS[name]
    for threads in (1, 2):
        with ad.config(native=True, threads=threads):
            code = ad.program(function, *arguments).native()
            assert ("@pool.run(" in code.ir()) == (threads > 1)


def test_short_loops_are_not_shared() -> None:
    with ad.config(native=True, threads=2):
        code = ad.program(lambda x: np.exp(x) * 2, np.zeros(2000)).native()
        assert "pool.run" not in code.ir()


@pytest.mark.parametrize("place", [0, 100_000, 200_002])
def test_errors_within_loops_count(place: int) -> None:
    def function(x: Any) -> Any:
        return ad.fori_loop(0, 3, lambda k, s: np.log(s) + 2.0, x)

    x = np.full(200_003, 2.0)
    with ad.config(native=True, threads=3):
        jitted = ad.jit(function)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            jitted(x)
        x[place] = -1.0
        with pytest.warns(RuntimeWarning, match="invalid"):
            assert np.isnan(jitted(x)[place])


def test_gathered_sums_are_as_exact_as_ever() -> None:
    x = RANDOM.normal(size=1_000_000) * 10.0 ** RANDOM.integers(-8, 8, 1_000_000)
    exact = float(np.sum(x.astype(np.longdouble)))
    with ad.config(native=True, threads=2):
        found = ad.jit(np.sum)(x)
    assert abs(found - exact) <= 4 * np.spacing(np.abs(x).sum())


@pytest.mark.parametrize("columns", [93, 100, 103])
def test_a_round_that_starts_early_keeps_to_its_part(
    columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It adds zeros to sums in memory that are those of the round before."""
    monkeypatch.setattr(regions, "SHARED_TIME", 0.0)
    monkeypatch.setattr(regions, "PART_TIME", 0.01)
    left, right = RANDOM.integers(-9, 9, (31, 17)), RANDOM.integers(-9, 9, (columns, 31, 17))
    x, y = left.astype(float), right.astype(float)
    ad.cache_clear()
    with ad.config(native=True, threads=2, cache=False):
        jitted = ad.jit(lambda x, y: np.einsum("ab,cab->bc", x, y))
        for _ in range(200):
            np.testing.assert_array_equal(jitted(x, y), np.einsum("ab,cab->bc", x, y))
