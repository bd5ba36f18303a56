"""Arrays that products need in memory, and that loops compute again where they read them."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.executors.native.schedule.order import Scheduler
from adjoint.program import Variable

COUNT, CENTRES, WIDTH = 300, 40, 16  # 1.5 MB of differences


def likelihood(x: Any, centres: Any, factors: Any) -> Any:
    differences = x - centres[:, None]
    return np.sum((differences @ factors + differences) ** 2, 2)


def returned(x: Any, centres: Any, factors: Any) -> Any:
    differences = x - centres[:, None]
    return differences, np.sum((differences @ factors - 2 * differences) ** 2, 1)


def of_a_result(x: Any, centres: Any, factors: Any) -> Any:
    nearer, scales = np.sin(x), np.exp(centres)
    products = nearer * scales[:, None]
    return nearer, scales, np.sum((products @ factors) * products, 2)


def transposed(x: Any, centres: Any, factors: Any) -> Any:
    differences = x - centres[:, None]
    return np.swapaxes(differences, 1, 2)[:, ::-1] * np.sum(differences @ factors, 2)[:, None]


def shifted(x: Any, centres: Any, factors: Any) -> Any:
    differences = x - centres[:, None]
    return (differences @ factors)[:, 1:] * differences[:, :-1]


FUNCTIONS = (likelihood, returned, of_a_result, transposed, shifted)


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[Variable]:
    """What loops compute again."""
    again: list[Variable] = []
    compute = Scheduler.compute

    def noted(self: Scheduler, variables: Collection[Variable]) -> None:
        again.extend(variables)
        compute(self, variables)

    monkeypatch.setattr(Scheduler, "compute", noted)
    return again


def _arguments(dtype: Any = float) -> tuple[Any, ...]:
    random = np.random.default_rng(0)
    shapes = (COUNT, WIDTH), (CENTRES, WIDTH), (CENTRES, WIDTH, WIDTH)
    return tuple(random.normal(size=shape).astype(dtype) for shape in shapes)


def _compare(function: Callable[..., Any], *arguments: Any, rtol: float = 1e-12) -> None:
    with ad.config(native=False):
        expected = function(*arguments)
    got = ad.jit(function)(*arguments)
    several = isinstance(expected, tuple)
    for one, other in zip(
        got if several else [got], expected if several else [expected], strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=rtol, atol=rtol * np.max(np.abs(other)))


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("dtype", [float, np.float32, complex])
def test_wide_arrays_are_computed_where_loops_read_them(
    function: Callable[..., Any], dtype: Any, computed: list[Variable]
) -> None:
    with ad.config(cache=False):
        arguments = _arguments(dtype)
        _compare(function, *arguments, rtol=1e-4 if dtype is np.float32 else 1e-12)
    assert bool(computed) == (dtype is float)  # the others are small, or no routine reads them


def test_gradients(computed: list[Variable]) -> None:
    with ad.config(cache=False):
        _compare(ad.grad(lambda *given: np.sum(np.log1p(likelihood(*given)))), *_arguments())
    assert computed


def test_what_is_written_over_is_not_read_again(computed: list[Variable]) -> None:
    """Of the points that a loop carries, the next ones are written over these."""

    def steps(x: Any, centres: Any, factors: Any) -> Any:
        def body(i: Any, x: Any) -> Any:
            differences = x - centres[:, None]
            moved = x * 0.5
            shares = np.sum((differences @ factors) * differences, 0) / 1000
            return np.tanh(moved + shares)

        return ad.fori_loop(0, 5, body, x)

    with ad.config(cache=False):
        _compare(steps, *_arguments())
        _compare(ad.grad(lambda *given: np.sum(steps(*given))), *_arguments())


def test_a_write_copies_no_memory_that_is_given_out_again(computed: list[Variable]) -> None:
    """Of differences that are written into, the old ones are needed for the derivative.

    They are computed again, and by then later products lie where they were.
    """
    rows = np.random.default_rng(2).integers(0, COUNT, 60)  # more than are written out
    _, _, factors = _arguments()

    def written(x: Any, centres: Any) -> Any:
        differences = x - centres[:, None]
        products = differences @ factors @ factors @ factors @ factors
        value = np.sum(differences**2 * products)
        differences[rows % CENTRES, rows, rows % WIDTH] = np.sum(products, 2).ravel()[:60]
        return value + np.sum((differences @ factors) * products)

    with ad.config(cache=False):
        _compare(ad.grad(written, argnums=(0, 1)), *_arguments()[:2])
    assert computed


def test_small_arrays_are_read(computed: list[Variable]) -> None:
    x, centres, factors = _arguments()
    with ad.config(cache=False):
        _compare(likelihood, x[:50], centres, factors)
    assert not computed


def test_what_is_as_wide_as_its_sources_is_read(computed: list[Variable]) -> None:
    x, _, factors = _arguments()
    wide = np.random.default_rng(1).normal(size=(CENTRES, COUNT, WIDTH))

    def function(wide: Any, x: Any, factors: Any) -> Any:
        differences = x - wide
        return np.sum((differences @ factors + differences) ** 2, 2)

    with ad.config(cache=False):
        _compare(function, wide, x, factors)
    assert not computed
