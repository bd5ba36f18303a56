"""Functions that take functions: where they were made, and what they refuse."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import adjoint as ad

X = np.array([0.5, 2.0, -1.0])


@np.vectorize
def hinge(u: Any) -> Any:
    """Made before any capture, with a branch."""
    return u * u if u > 0 else -u


POWER = np.vectorize(lambda u, r=2.0: u**r, otypes=[float])


class Model:
    """Vectorised functions in a class and in an object."""

    sine = staticmethod(np.vectorize(lambda u: np.sin(u)))

    def __init__(self) -> None:
        self.cube = np.vectorize(lambda u: u**3)

    def value(self, x: Any) -> Any:
        return np.sum(self.cube(x) + self.sine(x))


def test_what_was_vectorised_before() -> None:
    np.testing.assert_allclose(ad.grad(lambda x: hinge(x).sum())(X), [1.0, 4.0, -1.0])
    np.testing.assert_allclose(ad.grad(lambda x: POWER(x, r=3.0).sum())(X), 3 * X**2)
    np.testing.assert_allclose(ad.grad(Model().value)(X), 3 * X**2 + np.cos(X))


def test_the_function_is_called_once_for_every_entry() -> None:
    calls = []

    def count(u: Any) -> Any:
        calls.append(1)
        return u * u

    ad.grad(lambda x: np.vectorize(count)(x).sum())(X)
    assert len(calls) == 3


def test_outputs_take_the_dtype_of_the_first() -> None:
    def mixed(x: Any) -> Any:
        return np.vectorize(lambda u: u if u > 1 else 0)(x)

    found = ad.jit(mixed)(X)
    np.testing.assert_array_equal(found, mixed(X))
    assert found.dtype == mixed(X).dtype


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.vectorize(np.dot, signature="(k),(k)->()")(x),
        lambda x: np.vectorize(np.dot, signature="(k),(k)->()")(x, x[:2]),
        lambda x: np.vectorize(np.sum, signature="(k)->()")(x[0]),
        lambda x: np.vectorize(lambda u: u)(x[:0]),
        lambda x: np.piecewise(x, [x > 0], [1.0, 2.0, 3.0]),
        lambda x: np.apply_along_axis(np.sum, 0, np.zeros((2, 0)) + x[0]),
        lambda x: np.apply_over_axes(lambda a, axis: np.sum(a, keepdims=True)[None], x, 0),
        lambda x: np.apply_over_axes(lambda a, axis: a[None, None], x, 0),
    ],
)
def test_what_numpy_refuses(function: Any) -> None:
    with pytest.raises((ValueError, TypeError)) as expected:
        function(X)
    with pytest.raises((ValueError, TypeError)) as found:
        ad.jit(function)(X)
    assert isinstance(found.value, ValueError) == isinstance(expected.value, ValueError)


def test_nothing_to_call_with_types_given() -> None:
    found = ad.jit(lambda x: np.vectorize(lambda u: u, otypes=[float])(x[:0]))(X)
    assert found.shape == (0,)


def test_pieces_warn_of_nothing_that_was_not_asked() -> None:
    def pieces(x: Any) -> Any:
        return np.piecewise(x, [x > 0], [np.log, lambda u: u])

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_allclose(ad.jit(pieces)(X), pieces(X))
        np.testing.assert_allclose(ad.grad(lambda x: pieces(x).sum())(X), [2.0, 0.5, 1.0])
        np.testing.assert_allclose(ad.vmap(pieces)(X[:, None])[:, 0], pieces(X))


def test_pieces_of_whole_numbers_and_of_one_number() -> None:
    def halves(n: Any) -> Any:
        return np.piecewise(n, [n > 1, n <= 1], [lambda u: u / 2, 0])

    whole = np.array([1, 2, 3])
    np.testing.assert_array_equal(ad.jit(halves)(whole), halves(whole))
    for number in (0.3, 3.0):
        found = ad.jit(halves)(number)
        assert found == halves(number)
        assert np.shape(found) == ()

    def first(x: Any) -> Any:
        return np.piecewise(x, [x > 1, x <= 1], [lambda u: u[0] * u, lambda u: u.sum()])

    for number in (0.3, 3.0):
        assert ad.jit(first)(number) == first(number)
    np.testing.assert_allclose(ad.grad(first)(3.0), 6.0)


def test_pieces_with_constants_come_in_batches() -> None:
    def pieces(x: Any) -> Any:
        return np.piecewise(x, [x > 1.0], [lambda u: 2.0 * u + 1.0, lambda u: u / 4])

    np.testing.assert_array_equal(ad.vmap(pieces)(np.stack([X, 2 * X])), [pieces(X), pieces(2 * X)])


def test_a_function_of_all_entries_gets_those_of_its_piece() -> None:
    def pieces(x: Any) -> Any:
        return np.piecewise(x, [x > 0], [lambda u: u - u.mean(), 0.0])

    np.testing.assert_allclose(ad.jit(pieces)(X), pieces(X))
    np.testing.assert_allclose(ad.grad(lambda x: pieces(x)[0])(X), [0.5, -0.5, 0.0])


def test_a_ufunc_made_of_python() -> None:
    def product(x: Any) -> Any:
        return np.frompyfunc(lambda u, r: u * r, 2, 1)(x, 2.0).astype(float).sum()

    np.testing.assert_array_equal(ad.grad(product)(X), 2.0)
    with pytest.raises(ad.errors.UnsupportedFunctionError, match="reduce"):
        ad.jit(lambda x: np.frompyfunc(lambda u, r: u * r, 2, 1).reduce(x))(X)


def test_constants_of_any_kind() -> None:
    """What is not traced is as in NumPy: text, Python's own numbers, the dtype of the first."""
    seen: list[Any] = []

    def looked(x: Any) -> Any:
        words = np.vectorize(lambda word: word.upper())(np.array(["a", "bcd"]))
        kinds = np.vectorize(lambda n: type(n).__name__, otypes=[object])(np.arange(2))
        single = np.vectorize(lambda u: u / 2)(np.ones(2, np.float32))
        seen.append((words.tolist(), kinds.tolist(), single.dtype.name))
        return np.vectorize(lambda u: u * x[0])(np.arange(3.0)).sum()

    gradient = ad.grad(looked)(X)
    np.testing.assert_array_equal(gradient, [3.0, 0.0, 0.0])
    looked(X)
    assert seen[0] == seen[1]


def test_outside_of_a_capture_all_is_numpys() -> None:
    assert isinstance(np.frompyfunc(abs, 1, 1), np.ufunc)
    np.testing.assert_array_equal(hinge(X), [0.25, 4.0, 1.0])
