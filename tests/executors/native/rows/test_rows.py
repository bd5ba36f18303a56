"""Sorting and Fourier transforms in machine code: NumPy's functions, to the bit, along any axis."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import adjoint as ad
from adjoint.base.arrays import type_of
from adjoint.executors import NumpyExecutor
from adjoint.executors.native.machine import fourier, orders, symbols
from adjoint.primitives import PRIMITIVES
from adjoint.program import Builder, Program, operation
from tests.executors.native.comparing import run_native

SHAPES = [((1,), 0), ((2,), 0), ((3, 5), 1), ((17, 3), 0), ((2, 16, 3), 1), ((2, 1, 9), 2)]
SORTED = ["b1", "i1", "u2", "i4", "i8", "u8", "f4", "f8", "c8", "c16"]
GIVEN: list[tuple[Any, ...]] = [(), (("kind", "stable"),), (("stable", True),), (("kind", "m"),)]


def program(name: str, x: Any, **params: Any) -> Program:
    builder = Builder()
    inputs = [builder.input(type_of(x))]
    return builder.build(builder.emit(operation(PRIMITIVES[name], **params), inputs))


def has_the_bits_of_numpy(name: str, x: Any, **params: Any) -> None:
    whole = program(name, x, **params)
    (expected,) = NumpyExecutor().compile(whole).run(x)
    found = run_native(whole, [x])
    assert found is not None
    assert found[0].dtype == expected.dtype
    assert found[0].tobytes() == np.asarray(expected).tobytes(), (name, x.shape, params)


def numbers(shape: tuple[int, ...], dtype: str, odd: bool = False) -> Any:
    generator = np.random.default_rng(sum(shape))
    x = np.round(generator.normal(size=shape) * 4)
    if dtype[0] == "c":
        x = x + 1j * np.round(generator.normal(size=shape))
    x = (np.abs(x) if dtype[0] in "bu" else x).astype(dtype)
    if odd and dtype[0] in "fc" and x.size > 4:
        x.flat[[0, 2, 3, -1]] = np.nan, -np.inf, -0.0, np.nan
    return x


@pytest.mark.parametrize("dtype", SORTED)
def test_the_order_is_that_of_numpy(dtype: str) -> None:
    for shape, axis in SHAPES:
        for given in GIVEN[: 4 if len(shape) == 1 else 2]:
            has_the_bits_of_numpy("argsort", numbers(shape, dtype, True), axis=axis, given=given)
    has_the_bits_of_numpy("argsort", numbers((700,), dtype, True), axis=0, given=())


@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
@pytest.mark.parametrize("single", [False, True])
def test_transforms_are_those_of_numpy(norm: str, single: bool) -> None:
    real, wide = ("f4", "c8") if single else ("f8", "c16")
    for shape, axis in SHAPES:
        n = shape[axis]
        for inverse in (False, True):
            plain = "forward" if inverse else "backward"
            for dtype in (real, wide):
                if dtype == "f4" and norm != plain:
                    continue  # a factor of single precision in a loop of double is NumPy's
                params = {"axis": axis, "norm": norm, "inverse": inverse}
                has_the_bits_of_numpy("fft", numbers(shape, dtype), **params)
        for inner in (1.0, 2.0, 0.5):
            has_the_bits_of_numpy("rfft", numbers(shape, real), axis=axis, norm=norm, inner=inner)
            for length in {max(2 * n - 2, 1), 2 * n - 1}:
                if length // 2 + 1 == n:
                    params = {"n": length, "axis": axis, "norm": norm, "inner": inner}
                    has_the_bits_of_numpy("irfft", numbers(shape, wide), **params)


@pytest.mark.parametrize("name", ["argsort", "fft"])
def test_operands_that_lie_in_any_way(name: str) -> None:
    """Transposed, reversed, repeated and cut arrays: no step is taken outside of them."""
    sort: Any = np.sort if name == "argsort" else lambda x, axis: np.fft.rfft(x, axis=axis).real

    def function(x: Any) -> Any:
        turned = np.transpose(x, (1, 0))
        repeated = np.broadcast_to(x[1], (3, x.shape[1]))
        parts = [sort(turned, 0), sort(x[::-1, ::-2], 1).T, sort(x[:2, 1:4], 0).T]
        return np.concatenate([part[:3].ravel() for part in (*parts, sort(repeated, 1))])

    x = np.random.default_rng(0).normal(size=(4, 7))
    with ad.config(native=True):
        assert ad.program(function, x).native().left() == ()
        np.testing.assert_allclose(ad.jit(function)(x), function(x), rtol=1e-14)


def test_loops_with_them_are_machine_code() -> None:
    def smoothed(x: Any, order: Any) -> Any:
        def step(k: Any, y: Any) -> Any:
            wave = np.fft.irfft(np.fft.rfft(y) * 0.9, len(y))
            return 0.5 * np.sort(wave) + 0.5 * wave + 0.01 * np.median(y)

        return np.sum(ad.fori_loop(0, 7, step, x) * order)

    x, order = np.random.default_rng(1).normal(size=12), np.arange(12.0)
    gradient = ad.grad(smoothed)
    with ad.config(native=False):
        expected = gradient(x, order)
    assert ad.program(gradient, x, order).native().left() == ()
    with ad.config(native=True):
        np.testing.assert_allclose(ad.jit(gradient)(x, order), expected, rtol=1e-12)
        batch = np.stack([x, -x, np.sin(x)])
        rows = ad.jit(ad.vmap(lambda x: gradient(x, order)))(batch)
    np.testing.assert_allclose(rows, [gradient(row, order) for row in batch], rtol=1e-11)


def test_warnings_are_those_of_numpy() -> None:
    x = np.array([1.0, np.nan, np.inf, -np.inf])
    with ad.config(native=True):
        ordered = ad.jit(np.sort)
        np.testing.assert_array_equal(ordered(x), np.sort(x))  # comparing NaN raises nothing
        assert run_native(program("argsort", x, axis=0, given=()), [x]) is not None
        transformed = ad.jit(np.fft.fft)
        transformed(np.ones(4, complex))
        for _ in range(2):
            with pytest.warns(RuntimeWarning, match="invalid value encountered in fft"):
                transformed(np.array([1.0, np.inf, -np.inf, 2j]))


def test_symbols_are_provided_again(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [
        (orders, orders.argsort_function(np.dtype("f8"), "stable")),
        (fourier, fourier.fourier_loop("rfft_n_odd", np.dtype("f4"))),
    ]
    monkeypatch.setattr(symbols, "_defined", {})
    for library, name in names:
        assert name is not None
        library.provide(name)  # type: ignore[attr-defined]
        assert symbols.address_of(name) is not None
    for library, name in ((orders, "argsort.f2.quicksort"), (fourier, "fourier.nothing.d")):
        library.provide(name)
        assert symbols.address_of(name) is None


def test_another_numpy_is_not_called(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(symbols, "_defined", {})
    monkeypatch.setattr(orders, "_ABI", 0x03000000)
    for cached in (orders._interface, orders._address):
        cached.cache_clear()
    try:
        assert orders.argsort_function(np.dtype("f8"), "quicksort") is None
    finally:
        for cached in (orders._interface, orders._address):
            cached.cache_clear()
    monkeypatch.setattr(fourier, "_MODULE", "numpy.fft.elsewhere")
    assert fourier.fourier_loop("fft", np.dtype("c16")) is None
    assert fourier.loop_dtypes("fft", np.dtype("c16"), np.dtype("c16"), True) == ()
