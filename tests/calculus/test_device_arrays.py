"""Arrays on devices as arguments of every derivative: computed where they lie."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.base import pytrees
from adjoint.base.errors import ArgumentTypeError, DTypeError
from tests.executors.xla.simulated import run_on_devices

jax = pytest.importorskip("jax", reason="XLA is not tested: jax is not installed (extra `xla`)")

X = np.linspace(0.1, 1.5, 6)


def wave(x: Any) -> Any:
    return np.sin(x) * np.cumsum(x)


def total(x: Any) -> Any:
    return np.sum(wave(x))


def pulled_back(x: Any) -> Any:
    value, pullback = ad.vjp(wave, x)
    return value, pullback(x), pullback(np.ones(6))


DERIVATIVES: dict[str, Callable[[Any], Any]] = {
    "grad": lambda x: ad.grad(total)(x),
    "value_and_grad": lambda x: ad.value_and_grad(total)(x),
    "jacobian": lambda x: ad.jacobian(wave)(x),
    "hessian": lambda x: ad.hessian(total)(x),
    "hvp": lambda x: ad.hvp(total, x, x),
    "jvp": lambda x: ad.jvp(wave, (x,), (x,)),
    "vjp": pulled_back,
    "vjp with an auxiliary": lambda x: ad.vjp(lambda x: (total(x), x), x, has_aux=True)[2],
    "vmap": lambda x: ad.vmap(lambda y, whole: total(y * whole), in_axes=(0, None))(x, x),
    "vmap of a later axis": lambda x: ad.vmap(total, in_axes=1)(x.T[None] * np.ones((4, 1))),
    "vmap of a gradient": lambda x: ad.vmap(ad.grad(np.sin))(x),
    "taylor": lambda x: ad.taylor(wave, x, [x, None, np.ones(6)], 3),
    "laplacian": lambda x: ad.laplacian(total)(x),
    "jit": ad.jit(wave),
    "jit of a gradient": ad.jit(ad.grad(total)),
}


def close(found: Any, expected: Any) -> None:
    pairs = zip(pytrees.leaves(found), pytrees.leaves(expected), strict=True)
    for x, y in pairs:
        # What has axes stays there; numbers are NumPy's.
        assert type(x) is (ad.DeviceArray if np.ndim(y) else type(y))
        np.testing.assert_allclose(np.asarray(x), y, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("name", DERIVATIVES)
def test_every_derivative_takes_them(name: str) -> None:
    call, x = DERIVATIVES[name], ad.device_put(X, "cpu")
    expected = call(X)
    for _ in range(4):
        close(call(x), expected)
    with ad.config(replay=False):
        close(call(x), expected)
    with ad.config(device="cpu"):
        for _ in range(3):
            close(call(x), expected)


def test_they_stay_there_without_a_device_being_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once a function has been captured, nothing is copied to the host."""
    copied, before = [], ad.DeviceArray.__array__

    def noted(self: Any, *given: Any, **named: Any) -> Any:
        copied.append(self)
        return before(self, *given, **named)

    monkeypatch.setattr(ad.DeviceArray, "__array__", noted)
    x, u = ad.device_put((X, 2 * X), "cpu")
    jitted, (_, pullback) = ad.jit(wave), ad.vjp(wave, x)
    with ad.config(debug=False):  # which compares with captures
        for _ in range(3):
            jitted(x)
            pullback(u)
        del copied[:]
        assert type(jitted(x)) is type(pullback(u)[0]) is ad.DeviceArray
    assert not copied


def test_what_fails_there_is_numpys() -> None:
    x = ad.device_put(np.zeros(3), "cpu")
    value, pullback = ad.vjp(np.sqrt, x + 1)
    with pytest.warns(RuntimeWarning):
        assert not np.isfinite(np.asarray(ad.vjp(np.log, x)[0])).any()
    np.testing.assert_allclose(np.asarray(pullback(value)[0]), 0.5)
    with pytest.raises(IndexError):
        ad.vmap(lambda x: X[np.array([9])] * x)(x)


WEIGHTED = ad.spaces.Weighted(ad.spaces.Euclidean(6), np.arange(1.0, 7.0))
MAPS: dict[str, Callable[[ad.LinearMap, Any], Any]] = {
    "a product": lambda D, u: D(u),
    "the adjoint": lambda D, u: D.H(u),
    "the transpose": lambda D, u: D.T(D.codomain.riesz(u)).components,
    "a composition": lambda D, u: (2 * D.H @ D + D.H @ D)(u),
    "the inner product": lambda D, u: D.codomain.inner(D(u), u),
    "a pickle": lambda D, u: pickle.loads(pickle.dumps(D))(u),
    "by columns": lambda D, u: D.matrix(by=ad.maps.MatrixBy.COLUMNS),
    "by rows": lambda D, u: D.matrix(by=ad.maps.MatrixBy.ROWS),
}


@pytest.mark.parametrize("name", MAPS)
def test_maps_between_spaces_stay_there(name: str) -> None:
    x, use = ad.device_put(X, "cpu"), MAPS[name]
    spaces: list[dict[str, Any]] = [{}, {"domain": WEIGHTED}, {"codomain": WEIGHTED}]
    for chosen in spaces:
        expected = use(ad.derivative(wave, X, **chosen), X[::-1].copy())
        there = ad.derivative(wave, x, **chosen)
        for u in (ad.device_put(X[::-1].copy(), "cpu"), X[::-1].copy()):
            close(use(there, u), expected)


def test_linearised_there() -> None:
    x, u = ad.device_put((X, 2 * X), "cpu")
    value, D, aux = ad.linearize(lambda x: (wave(x), x[0]), x, has_aux=True)
    close((value, aux), (wave(X), X[0]))
    close(D(u), ad.jvp(wave, (X,), (2 * X,))[1])
    _, product = ad.linearize(lambda x, y: x * y, x, 3 * X)  # one of them lies there
    close(product((u, X)), 6 * X**2 + X**2)
    symmetric = ad.derivative(lambda A: A @ A, ad.device_put(np.eye(2), "cpu"))
    close(symmetric.H(np.ones((2, 2))), 2 * np.ones((2, 2)))
    np.testing.assert_allclose(
        ad.linearize(wave, x)[1].matrix(sparse=True).toarray(), ad.jacobian(wave)(X)
    )
    jitted = ad.jit(lambda x, u: ad.derivative(wave, x)(u))
    for _ in range(3):
        close(jitted(x, x), ad.jvp(wave, (X,), (X,))[1])


def test_a_cotangent_on_a_device_belongs_to_a_value_there() -> None:
    _, pullback = ad.vjp(wave, X)
    with pytest.raises(ArgumentTypeError, match="the cotangent lies on a device, and what"):
        pullback(ad.device_put(X, "cpu"))
    _, there = ad.vjp(wave, ad.device_put(X, "cpu"))
    for wrong in (X[:2], "text", ad.device_put(X[:2], "cpu")):
        with pytest.raises((ad.errors.ShapeError, ArgumentTypeError)):
            there(wrong)
    narrow = ad.device_put(X.astype(np.float32), "cpu")
    np.testing.assert_allclose(np.asarray(there(narrow)[0]), pullback(X)[0], rtol=1e-6)


DIVIDED = """
import numpy as np, adjoint as ad

x = ad.device_put(np.arange(8.0), "cpu", shard=0)
assert len(x.devices) == count
value, pullback = ad.vjp(np.sin, x)
for result in (value, pullback(x)[0], ad.vmap(np.sin)(x), *ad.taylor(np.sin, x, x, 2)):
    assert type(result) is ad.DeviceArray
    assert len(result.devices) == count, result
jitted = ad.jit(np.sin)
for _ in range(3):
    np.testing.assert_allclose(np.asarray(jitted(x)), np.sin(np.arange(8.0)), rtol=1e-14)
assert len(jitted(x).devices) == count
"""


@pytest.mark.parametrize(
    "array",
    [
        np.array([None]),
        np.array(["a"]),
        np.array(["2020"], "M8[D]"),
        np.ones(2, np.longdouble),
        np.zeros(2, [("a", float)]),
        np.ma.array([1.0, 2.0], mask=[False, True]),
    ],
    ids=lambda array: str(array.dtype),
)
def test_what_a_device_has_no_numbers_of(array: Any) -> None:
    with pytest.raises(DTypeError, match="a device"):
        ad.device_put({"x": array}, "cpu")


@pytest.mark.parametrize(
    "layout", [lambda x: x.astype(">f8"), lambda x: x[::-1], np.asfortranarray]
)
def test_layouts_of_arrays_that_are_put_there(layout: Any) -> None:
    x = layout(np.arange(6.0).reshape(3, 2))
    there = ad.device_put(x, "cpu")
    assert there.dtype == np.float64
    np.testing.assert_array_equal(np.asarray(there), x)


def test_divided_arrays_stay_divided() -> None:
    run_on_devices(DIVIDED, 4)
