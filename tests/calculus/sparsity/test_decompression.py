"""Entries of sparse Jacobians: chosen where rows have one number of entries, else looked up."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint as ad

X = np.random.default_rng(5).normal(size=60)


def around(width: int) -> Any:
    return lambda x: sum((k + 1) * np.roll(x, k) ** 2 for k in range(width))


def entries_of(function: Any, *args: Any) -> str:
    """How the entries are taken in the program of a sparse Jacobian."""
    program = str(ad.program(lambda *args: ad.jacobian(function, sparse=True)(*args).data, *args))
    return "gathered" if "gather" in program else "chosen"


@pytest.mark.parametrize("width", [1, 2, 3, 4, 5, 8])
@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_even_rows(width: int, native: bool, dtype: Any) -> None:
    x = X.astype(dtype)
    with ad.config(native=native):
        found = ad.jacobian(around(width), sparse=True)(x)
        expected = ad.jacobian(around(width), mode="forward")(x)
    assert found.dtype == dtype
    assert found.nnz == 60 * width
    np.testing.assert_array_equal(found.toarray(), expected)


@pytest.mark.parametrize(
    ("function", "way"),
    [
        (around(1), "chosen"),
        (around(4), "chosen"),
        (around(9), "gathered"),  # too many choices
        (lambda x: np.concatenate([x[:1], x[1:] * x[:-1]]), "gathered"),  # one row has fewer
        (lambda x: np.concatenate([around(2)(x), np.ones(2)]), "gathered"),  # two rows have none
        (
            lambda x: np.sum(x.reshape(20, 3) ** 2, axis=1),
            "gathered",
        ),  # rows, which take one product
    ],
)
def test_which_way(function: Any, way: str) -> None:
    assert entries_of(function, X) == way
    found = ad.jacobian(function, sparse=True)(X)
    np.testing.assert_allclose(found.toarray(), ad.jacobian(function)(X), rtol=1e-14)


def test_blocks_of_several_arguments_and_results() -> None:
    def function(x: Any, y: Any) -> Any:
        return {"even": x * y, "uneven": np.append(x[:2], x[2:] * y[:-2]), "of one": np.sin(y)}

    found = ad.jacobian(function, argnums=(0, 1), sparse=True)(X, X[::-1])
    expected = ad.jacobian(function, argnums=(0, 1))(X, X[::-1])
    for name, blocks in expected.items():
        for k, block in enumerate(blocks):
            np.testing.assert_allclose(found[name][k].toarray(), block, rtol=1e-14)


@pytest.mark.parametrize("native", [False, True])
def test_infinite_and_undefined_slopes_stay_in_their_places(native: bool) -> None:
    def function(x: Any) -> Any:
        return np.sqrt(x[1:]) * np.where(x[:-1] > 0, np.log(x[:-1]), x[:-1])

    x = np.array([1.0, 0.0, 2.0, -0.0, 3.0, np.nan, 4.0, np.inf, 5.0])
    with ad.config(native=native), np.errstate(all="ignore"):
        found = ad.jacobian(function, sparse=True)(x).toarray()
        expected = ad.jacobian(function, mode="forward")(x)
    assert np.isinf(expected).any()
    assert np.isnan(expected).any()
    np.testing.assert_array_equal(found, expected)


def test_what_is_made_of_the_entries_is_differentiated() -> None:
    def energy(x: Any) -> Any:
        return np.sum(ad.jacobian(around(3), sparse=True)(x).data ** 2)

    # The slopes of (k + 1) x² are 2 (k + 1) x.
    np.testing.assert_allclose(ad.grad(energy)(X), 8 * (1 + 4 + 9) * X, rtol=1e-13)
    batch = np.stack([X, 2 * X])
    slopes = ad.vmap(lambda x: ad.jacobian(around(2), sparse=True)(x).data)(batch)
    one = ad.jacobian(around(2), sparse=True)(X).data
    np.testing.assert_allclose(slopes, [one, 2 * one], rtol=1e-14)


def test_columns_are_coloured_by_groups_of_rows() -> None:
    """More entries, and more empty rows, than are looked at in one step."""

    def function(x: Any) -> Any:
        return np.concatenate([np.zeros(70_000), x[1:] * x[:-1], np.zeros(5), x[:1] * x[-1:]])

    report = ad.colouring(function, np.ones(40_000))
    assert (report.products, report.entries) == (2, 2 * 40_000)
    report = ad.colouring(function, np.ones(40_001))  # the last and the first have one parity
    assert (report.products, report.entries) == (3, 2 * 40_001)
