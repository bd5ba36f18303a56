"""Functions of JAX's within NumPy code."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import ArgumentTypeError
from tests.interop.foreign import TRANSFORMS, X, Y, assert_same, check_complex, curve, energy, pair

jax = pytest.importorskip("jax", reason="bridges to JAX are not tested: jax is not installed")
jnp = import_module("jax.numpy")


@pytest.mark.parametrize("name", TRANSFORMS)
def test_derivatives_are_those_of_numpy(name: str) -> None:
    transform = TRANSFORMS[name]
    ours = energy(ad.interop.from_jax(pair(jnp)))
    assert_same(transform(ours)(X, Y), transform(energy(pair(np)))(X, Y))


def test_complex_numbers() -> None:
    check_complex(ad.interop.from_jax(curve(jnp)))


def test_the_audit_of_derivatives_finds_nothing() -> None:
    assert ad.testing.check(energy(ad.interop.from_jax(pair(jnp))), X, Y).passed


def test_dtypes_are_kept_and_numbers_of_python_are_weak() -> None:
    scaled = ad.interop.from_jax(lambda x, s: x * s)
    for dtype in (np.float32, np.float64, np.complex64):
        x = np.ones(2, dtype)
        assert scaled(x, 2.0).dtype == dtype
        assert ad.jvp(scaled, (x, 2.0), (x, 1.0))[1].dtype == dtype
    assert scaled(np.float64(1 + 2.0**-40), 1.0) == 1 + 2.0**-40
    assert not jax.config.jax_enable_x64


def test_trees_integers_and_static_arguments() -> None:
    def loss(weights: Any, places: Any, power: int, *, kind: str) -> Any:
        rows = weights["a"][places] ** power
        return {"sum": jnp.sum(rows), "count": rows.size, kind: places}

    ours = ad.interop.from_jax(loss)
    weights, places = {"a": X}, np.array([0, 2, 2])
    found = ours(weights, places, 2, kind="places")
    assert found["sum"] == pytest.approx(X[0] ** 2 + 2 * X[2] ** 2)
    assert found["count"] == 3
    assert found["places"].dtype == places.dtype
    slope = ad.grad(lambda w: ours(w, places, 2, kind="places")["sum"])(weights)
    np.testing.assert_allclose(slope["a"], [2 * X[0], 0, 4 * X[2]])


def test_a_batch_needs_no_values() -> None:
    ours = ad.interop.from_jax(lambda x: (jnp.sum(x), jnp.sort(x)))
    total, ordered = ad.vmap(ours)(np.stack([X, Y]))
    np.testing.assert_allclose(total, [X.sum(), Y.sum()])
    np.testing.assert_array_equal(ordered, np.sort([X, Y], axis=1))


def test_there_and_back_again() -> None:
    back = ad.interop.from_jax(ad.interop.jax(pair(np)))
    assert_same(ad.grad(energy(back))(X, Y), ad.grad(energy(pair(np)))(X, Y))


def test_errors_of_the_function_are_its_own() -> None:
    def picky(x: Any) -> Any:
        raise ValueError("never right")

    with pytest.raises(ValueError, match="never right"):
        ad.grad(ad.interop.from_jax(picky))(X)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ad.interop.from_jax(3), "interop.from_jax"),
        (lambda: ad.interop.from_jax(lambda x: "text")(X), "which is no array of JAX"),
        (lambda: ad.interop.from_jax(jnp.sin)(X, {1}), "cannot be hashed"),
        (lambda: ad.interop.from_jax(jnp.sin).jvp(np.sin), "rules of your own"),
    ],
)
def test_wrong_use_is_named(call: Any, message: str) -> None:
    with pytest.raises(ArgumentTypeError, match=message):
        call()
