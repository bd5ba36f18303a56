"""NumPy's iterators, views of other classes, random draws of arguments, and `out=` an argument."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ad

X = np.array([0.5, 1.25, -0.75])
WEIGHTS = np.arange(3.0)


class Labelled(np.ndarray):
    """A subclass without rules."""


def _shuffled(x: Any) -> Any:
    y = x * x
    np.random.default_rng(0).shuffle(y)
    return (y * WEIGHTS).sum()


def _numbered(x: Any) -> Any:
    return sum((place + 1) * value * value for (place,), value in np.ndenumerate(x))


WORKING: dict[str, Callable[[Any], Any]] = {
    "ndenumerate": _numbered,
    "ndindex": lambda x: sum((i + 1) * x[i] ** 2 for (i,) in np.ndindex(x.shape)),
    "flat": lambda x: sum(v * v for v in x.flat),
    "view()": lambda x: (x.view() ** 2).sum(),
    "view(ndarray)": lambda x: (x.view(np.ndarray) ** 2).sum(),
    "view(type=ndarray)": lambda x: (x.view(type=np.ndarray) ** 2).sum(),
    "permutation": lambda x: (np.random.default_rng(0).permutation(x) * WEIGHTS) @ x,
    "permuted": lambda x: (np.random.default_rng(0).permuted(x) * WEIGHTS) @ x,
    "shuffle": _shuffled,
    "choice": lambda x: (np.random.default_rng(0).choice(x, 4) ** 2).sum(),
    "normal": lambda x: (np.random.default_rng(0).normal(x, np.exp(x)) ** 2).sum(),
    "uniform": lambda x: (np.random.default_rng(0).uniform(x, 2.0) ** 2).sum(),
    "exponential": lambda x: (np.random.default_rng(0).exponential(np.exp(x)) ** 2).sum(),
}


@pytest.mark.parametrize("name", WORKING)
def test_as_numpy_with_its_derivative(name: str) -> None:
    f = WORKING[name]
    value, gradient = ad.value_and_grad(f)(X)
    assert value == pytest.approx(float(f(X)), rel=1e-13)
    step = 1e-6
    rows = [(float(f(X + step * e)) - float(f(X - step * e))) / (2 * step) for e in np.eye(3)]
    np.testing.assert_allclose(gradient, rows, rtol=1e-6, atol=1e-7)
    replayed, slope = ad.jit(f), ad.jit(ad.grad(f))
    for _ in range(3):
        assert replayed(X) == pytest.approx(value, rel=1e-13)
        np.testing.assert_allclose(slope(X), gradient, rtol=1e-13)


REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "nditer": (lambda x: sum(v * v for v in np.nditer(x)), r"numpy\.nditer .*numpy\.ndenumerate"),
    "view(subclass)": (lambda x: x.view(Labelled).sum(), r"x\.view\(.*Labelled\)"),
    "view(type=subclass)": (lambda x: x.view(type=Labelled).sum(), r"x\.view\(.*Labelled\)"),
    "view(matrix)": (lambda x: x.view(np.matrix).sum(), r"x\.view\(numpy\.matrix\)"),
    "view(recarray)": (lambda x: x.view(np.recarray).sum(), r"x\.view\(.*recarray\)"),
    "view(dtype)": (lambda x: x.view(np.int64).sum(), r"write x\.astype\(dtype\)"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_by_a_sentence(name: str) -> None:
    f, message = REFUSED[name]
    for run in (ad.grad(f), ad.jit(f)):
        with pytest.raises(ad.errors.UnsupportedFunctionError, match=message):
            run(X)


def test_draws_without_a_derivative_are_refused() -> None:
    with pytest.raises(ad.errors.DroppedDerivativeError, match=r"rng\.standard_normal"):
        ad.grad(lambda x: np.random.default_rng(0).gamma(np.exp(x)).sum())(X)


def test_an_output_that_is_an_argument() -> None:
    """Under jit all arguments are traced, and elsewhere those that are differentiated."""

    def f(x: Any, b: Any) -> Any:
        return np.sum(np.exp(x, out=b) * x)

    expected = np.exp(X) * (1.0 + X)
    np.testing.assert_allclose(ad.jit(ad.grad(f))(X, np.zeros(3)), expected)
    gradients = ad.grad(f, argnums=(0, 1))(X, np.zeros(3))
    np.testing.assert_allclose(gradients, [expected, np.zeros(3)])
    with pytest.raises(ad.errors.UnsupportedFunctionError, match=r"outside of the function \(out="):
        ad.grad(f)(X, np.zeros(3))
