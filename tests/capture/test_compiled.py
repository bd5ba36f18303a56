"""Functions that numba has compiled: their source is entered, if it gives what they give."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from tests.counting import counting

numba = pytest.importorskip("numba", reason="numba is not installed")
REFUSED = ad.errors.UnsupportedFunctionError


@numba.njit
def smooth(x: float) -> float:
    return math.sin(x) * x


@numba.njit
def twice(x: float) -> float:
    return 2 * smooth(x) if x > 0 else 3 * x


@numba.njit
def total(row: Any) -> float:
    out = 0.0
    for k in range(len(row)):
        out += (k + 1) * row[k] ** 2
    return out


@numba.njit
def fill(out: Any, x: float) -> None:
    for k in range(len(out)):
        out[k] = k * x


@numba.njit
def pair(x: float) -> tuple[float, float]:
    return np.exp(x), x + 1


SCALE = 2.0


@numba.njit
def scaled(x: float) -> float:
    return SCALE * x


@numba.njit
def wraps(x: float, n: int) -> float:
    return x * (n * n)  # of 64 bits, there


SLOPE = math.cos(2.0) * 2 + math.sin(2.0)


class Model:
    def __init__(self) -> None:
        self.activation = smooth

    def value(self, x: Any) -> Any:
        return self.activation(x)


def _filled(x: Any) -> Any:
    out = np.zeros(3)
    fill(out, x)
    return out.sum()


def _in_a_list(x: Any) -> Any:
    return [smooth][0](x)


CASES: dict[str, Any] = {
    "global": (lambda x: smooth(x), SLOPE),
    "itself": (smooth, SLOPE),
    "nested": (lambda x: twice(x), 2 * SLOPE),
    "array": (lambda x: total(np.array([x, x])), 12.0),
    "writing": (_filled, 3.0),
    "several": (lambda x: pair(x)[0] + pair(x)[1], math.exp(2.0) + 1),
    "attribute": (Model().value, SLOPE),
    "list": (_in_a_list, SLOPE),
    "map": (lambda x: sum(map(smooth, [x, x])), 2 * SLOPE),
    "keyword": (lambda x: smooth(x=x), SLOPE),
    "float": (lambda x: x if isinstance(smooth(x), float) else 7.0, 1.0),
    "identity": (lambda x: x if smooth in {smooth} else 7.0, 1.0),
}


@pytest.mark.parametrize("name", CASES)
def test_the_source_is_entered(name: str) -> None:
    function, slope = CASES[name]
    for derivative in (ad.value_and_grad(function), ad.jit(ad.value_and_grad(function))):
        for _ in range(2):
            value, gradient = derivative(2.0)
            np.testing.assert_allclose(value, function(2.0), rtol=1e-14)
            np.testing.assert_allclose(gradient, slope, rtol=1e-12)


def test_values_that_are_not_traced_are_the_compiled_functions() -> None:
    assert ad.grad(lambda x: x * smooth(0.5))(2.0) == smooth(0.5)
    assert ad.grad(lambda x: x * wraps(1.0, 2**40))(2.0) == 0.0


def test_it_is_replayed() -> None:
    function, ran = counting(lambda x: smooth(x))
    gradient = ad.grad(function)
    for _ in range(10):
        gradient(2.0)
    before = len(ran)
    for x in (2.0, 0.5):
        np.testing.assert_allclose(gradient(x), math.cos(x) * x + math.sin(x))
    assert len(ran) == before


def test_other_values_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(REFUSED, match=r"wraps, compiled by numba, gives other values .*primitive"):
        ad.grad(lambda x: wraps(x, 2**40))(2.0)
    gradient = ad.jit(ad.grad(lambda x: scaled(x)))
    assert gradient(1.0) == 2
    monkeypatch.setitem(globals(), "SCALE", 3.0)  # which the compiled function does not see
    with pytest.raises(REFUSED, match="gives other values"):
        gradient(1.0)


def test_a_refusal_is_not_swallowed() -> None:
    def function(x: Any) -> Any:
        try:
            return wraps(x, 2**40)
        except Exception:
            return x

    with pytest.raises(REFUSED, match="gives other values"):
        ad.grad(function)(2.0)


def test_many_values_at_once() -> None:
    """They are asked of one of them; where there is none, that is refused."""
    x = np.array([1.0, 2.0])
    np.testing.assert_allclose(ad.vmap(lambda x: smooth(x))(x), np.sin(x) * x)
    with pytest.raises(REFUSED, match=r"stands for many values .*py_func"):
        ad.while_loop(lambda x: x < 3, lambda x: smooth(x) + 5, 1.0)


def test_an_error_of_its_own_is_its_own() -> None:
    @numba.njit
    def fails(x: float) -> float:
        if x > 0:
            raise ValueError("too large")
        return x

    def caught(x: Any) -> Any:
        try:
            return fails(x)
        except ValueError:
            return 5 * x

    assert ad.grad(caught)(2.0) == 5
    assert ad.grad(caught)(-2.0) == 1
