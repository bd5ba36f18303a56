"""NumPy functions in JAX code: values and derivatives beside JAX's own, and JAX's own checks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import ArgumentError, ArgumentTypeError, UnknownResultError
from tests.interop.foreign import ENTERED, Scaled, entered_functions

jax = pytest.importorskip("jax", reason="bridges to JAX are not tested: jax is not installed")
jnp = import_module("jax.numpy")
check_grads = import_module("jax.test_util").check_grads

MODES = ("reverse", "forward", "matrix")
X = np.array([0.3, 0.5, 1.2])
Y = np.array([1.0, 2.0, 0.1])


@contextmanager
def double(on: bool) -> Iterator[None]:
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", on)
    try:
        yield
    finally:
        jax.config.update("jax_enable_x64", before)


@pytest.fixture(params=[False, True], ids=["single", "double"])
def tolerance(request: Any) -> Iterator[float]:
    with double(request.param):
        yield 1e-11 if request.param else 1e-4


@pytest.fixture
def doubled() -> Iterator[None]:
    with double(True):
        yield


def pair(np: Any) -> Any:
    def function(x: Any, y: Any) -> Any:
        return np.sum(np.sin(x) * y), x * np.exp(y)

    return function


def total(function: Any) -> Any:
    def energy(x: Any, y: Any) -> Any:
        one, two = function(x, y)
        return one**2 + jnp.sum(two**2)

    return energy


THEIRS = pair(jnp)


@pytest.mark.parametrize("kind", ENTERED)
@pytest.mark.parametrize("mode", MODES)
def test_functions_are_entered_and_their_state_is_that_of_the_call(
    kind: str, mode: Any, doubled: None
) -> None:
    scaled = Scaled(1.0)
    ours = ad.interop.jax(entered_functions(scaled)[kind], mode=mode)
    jacobian = jax.jacfwd if mode == "forward" else jax.jacrev
    calls = jax.jit(ours), jax.jit(jacobian(ours)), jax.jit(jax.vmap(ours))
    second = jax.jit(jacobian(jacobian(lambda x: jnp.sum(ours(x)))))
    rows = jnp.stack([X, Y])
    for scale in (2.0, 3.0, 3.0, 2.0):
        scaled.scale = scale
        np.testing.assert_allclose(calls[0](X), scale * np.sin(X))
        np.testing.assert_allclose(calls[1](X), np.diag(scale * np.cos(X)))
        np.testing.assert_allclose(calls[2](rows), scale * np.sin(rows))
        np.testing.assert_allclose(second(X), np.diag(-scale * np.sin(X)), atol=1e-15)


@pytest.mark.parametrize("mode", MODES)
def test_results_that_are_constants(mode: Any, doubled: None) -> None:
    ours = ad.interop.jax(lambda x: (np.ones(2), 2.5, 3, True, x * 2), mode=mode)
    whole = lambda x: jnp.sum(ours(x)[0]) + ours(x)[1] * ours(x)[2] * jnp.sum(ours(x)[4])  # noqa: E731
    slope = (jax.jacfwd if mode == "forward" else jax.grad)(whole)
    np.testing.assert_allclose(slope(X), [15.0] * 3)
    np.testing.assert_allclose(jax.vmap(slope)(jnp.stack([X, Y])), [[15.0] * 3] * 2)


@pytest.mark.parametrize("mode", MODES)
def test_random_numbers_of_a_value_are_not_drawn_again(mode: Any) -> None:
    generator = np.random.default_rng(0)
    ours = ad.interop.jax(lambda x: np.sum(generator.random(3) * x), mode=mode)
    x = jnp.asarray(X)
    for _ in range(2):
        ours(x)
        with pytest.raises(Exception, match="draws random numbers"):  # an error of JAX's
            jax.block_until_ready(
                jax.jvp(ours, (x,), (x,)) if mode == "forward" else jax.grad(ours)(x)
            )


@pytest.mark.parametrize("mode", MODES)
def test_values_have_the_dtypes_of_jax(mode: Any, tolerance: float) -> None:
    ours = ad.interop.jax(pair(np), mode=mode)
    for call in (ours, jax.jit(ours)):
        for found, expected in zip(call(X, Y), THEIRS(jnp.asarray(X), jnp.asarray(Y)), strict=True):
            assert found.dtype == expected.dtype
            np.testing.assert_allclose(found, expected, rtol=tolerance)


@pytest.mark.parametrize("mode", MODES)
def test_jax_checks_derivatives_of_two_orders(mode: Any, tolerance: float) -> None:
    ours = ad.interop.jax(pair(np), mode=mode)
    both = {"reverse": ["rev"], "forward": ["fwd"], "matrix": ["fwd", "rev"]}[mode]
    check_grads(ours, (jnp.asarray(X), jnp.asarray(Y)), order=2, modes=both)


@pytest.mark.parametrize("mode", ["reverse", "matrix"])
def test_gradients_of_gradients(mode: Any, tolerance: float) -> None:
    ours = ad.interop.jax(pair(np), mode=mode)

    def slope(function: Any) -> Any:
        first = jax.grad(total(function))
        return jax.grad(lambda x: jnp.sum(first(x, jnp.asarray(Y)) ** 2))

    x = jnp.asarray(X)
    np.testing.assert_allclose(jax.jit(slope(ours))(x), slope(THEIRS)(x), rtol=10 * tolerance)
    rows = jnp.stack([x, x + 1, x - 1])
    found = jax.jit(jax.vmap(slope(ours)))(rows)
    np.testing.assert_allclose(found, jax.vmap(slope(THEIRS))(rows), rtol=30 * tolerance)


def test_a_hessian_by_both_modes(tolerance: float) -> None:
    ours = ad.interop.jax(pair(np), mode="matrix")
    x, y = jnp.asarray(X), jnp.asarray(Y)
    found = jax.jit(jax.hessian(total(ours), argnums=(0, 1)))(x, y)
    expected = jax.hessian(total(THEIRS), argnums=(0, 1))(x, y)
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(one, other, rtol=10 * tolerance, atol=10 * tolerance)


def test_nested_batches(tolerance: float) -> None:
    ours = ad.interop.jax(pair(np))

    def table(function: Any) -> Any:
        inner = jax.vmap(lambda x, y: function(x, y)[1], (None, 0))
        return jax.vmap(inner, (0, None))

    rows = jnp.stack([jnp.asarray(X), jnp.asarray(Y)])
    found = jax.jit(table(ours))(rows, rows[::-1])
    np.testing.assert_allclose(found, table(THEIRS)(rows, rows[::-1]), rtol=tolerance)


def test_a_batch_of_a_function_that_asks_for_values(tolerance: float) -> None:
    def bent(x: Any) -> Any:
        return np.sum(x**2) if x[0] > 0 else np.sum(3 * x)

    ours = ad.interop.jax(bent, result=np.empty(()))
    rows = jnp.asarray([[1.0, 2.0], [-1.0, 2.0]])
    np.testing.assert_allclose(jax.vmap(ours)(rows), [5.0, 3.0], rtol=tolerance)
    slopes = jax.jit(jax.vmap(jax.grad(ours)))(rows)
    np.testing.assert_allclose(slopes, [[2.0, 4.0], [3.0, 3.0]], rtol=tolerance)


def test_trees_integers_keywords_and_static_leaves(tolerance: float) -> None:
    def loss(weights: Any, places: Any, kind: str, *, scale: Any) -> Any:
        rows = weights["a"][places] * weights["b"]
        value = np.sum(rows) if kind == "sum" else np.sum(rows**2)
        return {"loss": scale * value, "count": np.int64(len(places)), "places": places + 1}

    def theirs(weights: Any, places: Any, scale: Any) -> Any:
        return scale * jnp.sum((weights["a"][places] * weights["b"]) ** 2)

    ours = ad.interop.jax(loss)
    weights = {"a": jnp.asarray(X), "b": jnp.asarray(2.0)}
    places = jnp.asarray([0, 2, 2])
    found = ours(weights, places, "squares", scale=3.0)
    assert found["count"] == 3
    np.testing.assert_array_equal(found["places"], [1, 3, 3])
    assert found["places"].dtype == places.dtype
    slope = jax.jit(jax.grad(lambda w: ours(w, places, "squares", scale=3.0)["loss"]))(weights)
    expected = jax.grad(theirs)(weights, places, 3.0)
    for name in weights:
        np.testing.assert_allclose(slope[name], expected[name], rtol=tolerance)


@pytest.mark.parametrize("mode", ["reverse", "forward"])
def test_complex_numbers_by_jaxs_convention(mode: Any, tolerance: float) -> None:
    def curve(np: Any) -> Any:
        return lambda z: np.exp(1j * z) * np.conj(z) + np.imag(z) ** 2

    z = jnp.asarray(X + 1j * Y)
    ours, theirs = ad.interop.jax(curve(np), mode=mode), curve(jnp)
    np.testing.assert_allclose(ours(z), theirs(z), rtol=tolerance)
    direction = jnp.asarray(Y - 2j * X)
    if mode == "forward":
        found, expected = (jax.jvp(f, (z,), (direction,))[1] for f in (ours, theirs))
    else:
        found, expected = (jax.vjp(f, z)[1](direction.astype(z.dtype))[0] for f in (ours, theirs))
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=tolerance)


def test_numbers_of_64_bits_keep_their_digits(doubled: None) -> None:
    ours = ad.interop.jax(lambda x, n: (x + 2.0**-40, n + 1))
    for call in (ours, jax.jit(ours), jax.vmap(ours)):
        x, n = call(jnp.ones(3), jnp.full(3, 2**40))
        np.testing.assert_array_equal(x, 1 + 2.0**-40)
        np.testing.assert_array_equal(n, 2**40 + 1)


def test_large_arrays(doubled: None) -> None:
    ours = jax.jit(ad.interop.jax(lambda x: np.sum(x * x)))
    x = jnp.arange(1 << 21, dtype=float)
    assert ours(x) == pytest.approx(float(jnp.sum(x * x)))


def test_settings_in_force_hold_on_the_host(tolerance: float) -> None:
    ours = ad.interop.jax(lambda x: np.sum(np.abs(x)))
    with ad.config(kink=1.0):
        slope = jax.jit(jax.grad(ours))(jnp.zeros(2))
    np.testing.assert_array_equal(slope, [1.0, 1.0])


def test_an_error_of_the_function_reaches_the_user() -> None:
    def picky(x: Any) -> Any:
        if x[0] < 0:
            raise ValueError("the first entry must not be negative")
        return np.sum(x)

    ours = ad.interop.jax(picky, result=np.empty(()))
    assert ours(jnp.ones(2)) == 2
    for call in (ours, jax.jit(ours)):
        with pytest.raises(Exception, match="the first entry must not be negative"):
            call(-jnp.ones(2)).block_until_ready()


def test_what_is_asked_of_values_needs_a_result() -> None:
    def bent(x: Any) -> Any:
        return np.sum(x) if x[0] > 0 else np.sum(x**2)

    ours = ad.interop.jax(bent)
    assert ours(jnp.ones(2)) == 2  # values are at hand
    with pytest.raises(UnknownResultError, match="Declare its result"):
        jax.jit(ours)(jnp.ones(3))


def test_a_shape_that_was_not_declared() -> None:
    ours = ad.interop.jax(lambda x: x[:2], result=lambda x: x)
    with pytest.raises(Exception, match=r"shape \(2,\), and one of shape \(3,\) was expected"):
        ours(jnp.ones(3))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: ad.interop.jax(3), ArgumentTypeError, "interop.jax"),  # type: ignore[arg-type]
        (lambda: ad.interop.jax(np.sum, mode="both"), ArgumentError, "mode must be one of"),
        (lambda: ad.interop.jax(np.sum)(jnp.ones(2), {1}), ArgumentTypeError, "hashed"),
        (
            lambda: ad.interop.jax(np.sum, mode="matrix")(jnp.ones(2) * 1j),
            ArgumentTypeError,
            "complex numbers",
        ),
    ],
)
def test_wrong_use_is_named(call: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_other_modes_than_the_one_that_was_chosen_are_refused() -> None:
    x, y = jnp.asarray(X), jnp.asarray(Y)
    with pytest.raises(TypeError):
        jax.jvp(ad.interop.jax(pair(np)), (x, y), (x, y))
    with pytest.raises(Exception):  # noqa: B017 - JAX says so in words of its own
        jax.grad(total(ad.interop.jax(pair(np), mode="forward")))(x, y)
