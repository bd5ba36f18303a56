"""Answers about arrays: they ask for values only where they must."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint as ad

X = np.array([0.5, np.inf, -np.inf, np.nan])


@pytest.mark.parametrize(
    "function",
    [
        np.isposinf,
        np.isneginf,
        np.iscomplex,
        lambda x: np.isclose(x, x),
        lambda x: np.isclose(x, 0.5, equal_nan=True),
        lambda x: np.isclose(x, x, equal_nan=True),
        lambda x: np.isclose(x, [0.5 + 1e-9, np.inf, np.inf, 1.0]),
    ],
)
def test_answers_for_many(function: Any) -> None:
    many = np.stack([X, X[::-1]])
    np.testing.assert_array_equal(ad.jit(function)(X), function(X))
    np.testing.assert_array_equal(ad.vmap(function)(many), [function(X), function(X[::-1])])


def test_shapes_are_asked_of_no_value() -> None:
    def shaped(x: Any) -> Any:
        assert np.common_type(x) == np.float64
        assert np.can_cast(x.dtype, complex)
        assert np.iterable(x)
        assert np.isscalar(x[0, 0])
        assert not np.isscalar(x)
        return x[np.tril_indices_from(x)]

    many = np.arange(8.0).reshape(2, 2, 2)
    np.testing.assert_array_equal(ad.vmap(shaped)(many), many[:, [0, 1, 1], [0, 0, 1]])


def test_infinity_has_no_sign_in_the_complex_plane() -> None:
    with pytest.raises(TypeError, match="complex"):
        ad.jit(np.isposinf)(X + 1j)


def test_text_shows_values() -> None:
    seen = []

    def shown(x: Any) -> Any:
        seen.append((np.array2string(x), np.array_repr(x), np.format_float_positional(x[0])))
        return x

    ad.jit(shown)(X)
    assert seen == [(np.array2string(X), np.array_repr(X), "0.5")]
