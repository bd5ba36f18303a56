"""Arrays that offer their memory by DLPack alone, as those of CuPy do, as arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.base import pytrees
from adjoint.base.dlpack import from_dlpack
from adjoint.base.errors import ArgumentTypeError, NotDifferentiableError

X = np.linspace(0.1, 1.5, 6)


class Tensor:
    """An array of another library, which NumPy cannot take otherwise."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def __dlpack__(self, **kwargs: Any) -> Any:
        return self._array.__dlpack__(**kwargs)

    def __dlpack_device__(self) -> Any:
        return self._array.__dlpack_device__()


class OnGpu(Tensor):
    """The same in the memory of a device (CUDA is number 2)."""

    def __dlpack_device__(self) -> Any:
        return (2, 0)


class Strange(Tensor):
    """One of a kind of number that NumPy has not."""

    def __dlpack__(self, **_: Any) -> Any:
        raise BufferError("bfloat16 is no type of NumPy's")


def wave(x: Any) -> Any:
    return np.sin(x) * np.cumsum(x)


def total(x: Any) -> Any:
    return np.sum(wave(x))


def loss(w: Any, x: Any) -> Any:
    return np.sum(np.tanh(x["rows"] * w))


DERIVATIVES: dict[str, Callable[[Any], Any]] = {
    "grad": lambda x: ad.grad(total)(x),
    "grad in a tree": lambda x: ad.grad(lambda t: total(t["x"]))({"x": x}),
    "grad of data": lambda x: ad.grad(loss)(np.ones(6), {"rows": x}),
    "value_and_grad": lambda x: ad.value_and_grad(total)(x),
    "jacobian": lambda x: ad.jacobian(wave)(x),
    "hessian": lambda x: ad.hessian(total)(x),
    "hvp": lambda x: ad.hvp(total, x, x),
    "jvp": lambda x: ad.jvp(wave, (x,), (x,)),
    "vjp": lambda x: ad.vjp(wave, x)[1](x),
    "linearize": lambda x: ad.linearize(wave, x)[0],
    "derivative": lambda x: ad.derivative(wave, x)(X),
    "vmap": lambda x: ad.vmap(np.sin)(x),
    "vmap of a gradient": lambda x: ad.vmap(ad.grad(np.sin))(x),
    "vmap beside": lambda x: ad.vmap(lambda i, y: i * np.sum(y), in_axes=(0, None))(X, x),
    "taylor": lambda x: ad.taylor(wave, x, [x, None, X], 3),
    "laplacian": lambda x: ad.laplacian(total)(x),
    "minimize": lambda x: ad.optimize.minimize(lambda y: np.sum((y - X) ** 2), x).x,
    "descend": lambda x: ad.optimize.descend(lambda y: np.sum((y - 2 * X) ** 2), x).x,
    "jit": ad.jit(wave),
    "jit of a gradient": ad.jit(ad.grad(total)),
    "jit of data": lambda x: ad.jit(ad.grad(loss))(X, {"rows": x}),
}


@pytest.mark.parametrize("name", DERIVATIVES)
def test_every_derivative_takes_them(name: str) -> None:
    call = DERIVATIVES[name]
    expected = call(X)
    for _ in range(4):
        pairs = zip(pytrees.leaves(call(Tensor(X))), pytrees.leaves(expected), strict=True)
        for x, y in pairs:
            assert type(x) is type(y)
            np.testing.assert_allclose(x, y, rtol=1e-12)
    with ad.config(replay=False):
        call(Tensor(X))


def test_memory_is_shared() -> None:
    assert np.shares_memory(from_dlpack(Tensor(X)), X)


@pytest.mark.parametrize("derive", [ad.grad(total), ad.jit(total), ad.vmap(np.sin), ad.vjp])
def test_what_numpy_cannot_read_is_refused(derive: Any) -> None:
    call = (lambda x: ad.vjp(total, x)) if derive is ad.vjp else derive
    with pytest.raises(ArgumentTypeError, match=r"on a device, whose memory.*ad\.device_put"):
        call(OnGpu(X))
    with pytest.raises(ArgumentTypeError, match="NumPy cannot take the Strange: bfloat16"):
        call(Strange(X))


def test_integers_carry_no_derivative() -> None:
    with pytest.raises(NotDifferentiableError, match="argument 0 has dtype int64"):
        ad.grad(total)(Tensor(np.arange(3)))


def test_other_libraries_arrays_in_batches_and_as_tangents() -> None:
    jax = pytest.importorskip("jax", reason="JAX's arrays are not tested: it is no package here")
    x = jax.numpy.asarray(X, dtype=np.float32)
    near = np.asarray(x)
    np.testing.assert_array_equal(ad.vmap(np.sin)(x), np.sin(near))
    np.testing.assert_array_equal(ad.vmap(np.sin, in_axes=1)(x[None]), np.sin(near)[:, None])
    _, tangent = ad.jvp(wave, (X,), (x,))
    np.testing.assert_array_equal(tangent, ad.jvp(wave, (X,), (near.astype(float),))[1])
    with pytest.raises(ArgumentTypeError, match="the cotangent is a str"):
        ad.vjp(total, X)[1]("text")


def test_they_are_put_on_devices() -> None:
    pytest.importorskip("jax", reason="XLA is not tested: jax is not installed (extra `xla`)")
    there = ad.device_put({"x": Tensor(X)}, "cpu")["x"]
    assert type(there) is ad.DeviceArray
    assert there.dtype == np.float64
    np.testing.assert_array_equal(np.from_dlpack(there), X)
    slope = ad.jit(ad.grad(total), device="cpu")
    for _ in range(3):
        found = slope(Tensor(X))
        assert type(found) is np.ndarray
        np.testing.assert_allclose(found, ad.grad(total)(X), rtol=1e-12)
    assert type(slope(there)) is ad.DeviceArray


# --- beside rows ----------------------------------------------------------------------------------

ROWS = np.linspace(-1.0, 1.0, 240).reshape(60, 4)
WEIGHTS = np.linspace(0.5, 1.5, 4)


def squares(w: Any, x: Any) -> Any:
    return np.mean(np.tanh(x @ w) ** 2)


def over(read: Any) -> Callable[..., Any]:
    return lambda w: squares(w, read)


BESIDE: dict[str, Callable[[Any, Any], Any]] = {
    "grad": ad.grad(squares),
    "value_and_grad": lambda w, x: ad.value_and_grad(squares)(w, x)[1],
    "grad in a tree": lambda w, x: ad.grad(lambda t, x: squares(t["w"], x))({"w": w}, x)["w"],
    "jit": ad.jit(squares),
    "jit of a gradient": ad.jit(ad.grad(squares)),
    "vjp": lambda w, x: ad.vjp(over(x), w)[1](1.0)[0],
    "jvp": lambda w, x: ad.jvp(over(x), (w,), (w,))[1],
    "jacobian of a closure": lambda w, x: ad.jacobian(over(x))(w),
    "jit of a closure": lambda w, x: ad.jit(ad.grad(over(x)))(w),
    "vmap of a closure": lambda w, x: ad.vmap(ad.grad(over(x)))(np.stack([w, w]))[1],
}


ON_A_DEVICE = ("grad", "jit of a gradient", "vjp", "jit of a closure")  # each is compiled by XLA
CASES = [
    *((name, "DLPack", True) for name in BESIDE if "vmap" not in name),
    *((name, "a device", True) for name in ON_A_DEVICE),
    *(("grad", place, False) for place in ("DLPack", "a device")),
]


@pytest.mark.parametrize(("name", "place", "replay"), CASES)
def test_beside_rows(name: str, place: str, replay: bool) -> None:
    w: Any = Tensor(WEIGHTS)
    if place == "a device":
        pytest.importorskip("jax", reason="XLA is not tested: jax is not installed (extra `xla`)")
        w = ad.device_put(WEIGHTS, "cpu")
    expected = BESIDE[name](WEIGHTS, ROWS)
    with ad.config(replay=replay):
        for _ in range(2):
            found = BESIDE[name](w, ad.rows(ROWS, chunk=17))
            np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-9, atol=1e-12)


def test_rows_of_such_arrays() -> None:
    whole = ad.grad(squares)(WEIGHTS, ROWS)
    for source in (Tensor(ROWS), [Tensor(ROWS[:25]), ROWS[25:]]):
        found = ad.grad(squares)(WEIGHTS, ad.rows(source, chunk=17))
        np.testing.assert_allclose(found, whole, rtol=1e-12)
    with pytest.raises(ArgumentTypeError, match="rows must be of an array"):
        ad.rows(OnGpu(ROWS))


def test_a_batch_beside_rows_of_a_closure() -> None:
    x = ad.rows(ROWS, chunk=17)
    found = BESIDE["vmap of a closure"](WEIGHTS, x)
    np.testing.assert_allclose(found, ad.grad(squares)(WEIGHTS, ROWS), rtol=1e-12)
