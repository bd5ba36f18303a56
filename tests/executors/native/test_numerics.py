"""Sums as accurate as NumPy's; NaN, infinities, signed zeros and wrapping in all reductions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import adjoint as ad
from adjoint.base.arrays import type_of
from adjoint.executors import NumpyExecutor
from adjoint.primitives import PRIMITIVES
from adjoint.program import Builder, Program, operation
from tests.executors.native.comparing import compiled, run_native
from tests.sampling import one_in

NAN, INF = np.nan, np.inf
Array = Any


def program(name: str, *arguments: Array, **params: Any) -> Program:
    builder = Builder()
    inputs = [builder.input(type_of(x)) for x in arguments]
    return builder.build(builder.emit(operation(PRIMITIVES[name], **params), inputs))


def reduced(name: str, x: Array, axes: tuple[int, ...]) -> Array:
    results = run_native(program(name, x, axes=axes), [x])
    assert results is not None
    return results[0]


def on_numpy(name: str, *arguments: Array, **params: Any) -> Array:
    run = program(name, *arguments, **params)
    return NumpyExecutor().compile(run).run(*arguments)[0]


def exact_sum(x: Array, axes: tuple[int, ...]) -> Array:
    """The sums in double precision, each rounded once."""
    kept = [axis for axis in range(x.ndim) if axis not in axes]
    rows = x.transpose(*kept, *axes).reshape(math.prod(x.shape[a] for a in kept), -1)
    found = [math.fsum(row.tolist()) for row in rows]
    return np.array(found).reshape([x.shape[axis] for axis in kept])


def drawn(kind: str, shape: tuple[int, ...], dtype: str, seed: int) -> Array:
    random = np.random.default_rng(seed)
    if kind == "positive":
        return random.uniform(0, 1, shape).astype(dtype)
    x = random.normal(size=shape)
    if kind == "wide":
        x *= 10.0 ** random.integers(-6, 7, shape)
    return x.astype(dtype)


def error(found: Array, exact: Array, scale: Array) -> float:
    """The root of the mean square of the errors, in roundings of the sum of all magnitudes."""
    return float(np.sqrt(np.mean((np.asarray(found, float) - exact) ** 2 / scale**2)))


# --- sums -----------------------------------------------------------------------------------------

SUMS: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
    *(((n,), (0,)) for n in (10, 17, 33, 100, 129, 500, 1000, 1025, 5000, 10**5, 10**6)),
    ((100_000, 7), (0, 1)),
    ((20_000, 17), (0, 1)),
    ((7, 20_000), (0, 1)),
    ((300, 300), (0, 1)),
    ((300, 1000), (1,)),
    ((3, 50_000), (1,)),
    ((1000, 4, 64), (0, 1, 2)),
    ((50, 60, 70), (0, 2)),
    ((20, 30, 1000), (0, 2)),
    ((6, 40, 3000), (0, 2)),
    ((10, 20, 5, 300), (0, 2)),
    ((10, 20, 15, 30), (1, 3)),
    ((1000, 300), (0,)),
    ((20_000, 8), (0,)),
    ((30, 40, 50), (1,)),
    ((40, 2, 500), (0, 1)),
]


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize(("shape", "axes"), SUMS)
def test_sums_are_as_accurate_as_those_of_numpy(
    shape: tuple[int, ...], axes: tuple[int, ...], dtype: str
) -> None:
    """Relative to the sum of the magnitudes, and never worse than one rounding if NumPy is not."""
    run = compiled(program("sum", drawn("positive", shape, dtype, 0), axes=axes))
    ours, theirs = [], []
    for kind in ("positive", "normal", "wide"):
        for seed in range(1 if math.prod(shape) > 50_000 else 3):
            x = drawn(kind, shape, dtype, seed)
            results = run(x)
            assert results is not None
            exact, scale = exact_sum(x, axes), exact_sum(np.abs(x), axes) * np.finfo(dtype).eps
            ours.append(error(results[0], exact, scale))
            theirs.append(error(np.sum(x, axis=axes), exact, scale))
    assert max(ours) <= max(1.0, 1.05 * max(theirs))
    assert np.mean(ours) <= max(0.6, 1.2 * np.mean(theirs))


@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_the_error_of_a_long_sum_does_not_grow_with_its_length(dtype: str) -> None:
    for length in (1000, 10**5, 3 * 10**6):
        x = np.full(length, 0.1, dtype)
        exact = math.fsum(x.tolist())
        found = float(reduced("sum", x, (0,)))
        assert abs(found - exact) <= 3 * np.finfo(dtype).eps * exact  # equal errors do not cancel


@pytest.mark.parametrize("dtype", ["f8", "f4", "c16", "c8"])
def test_inner_products_are_as_accurate_as_those_of_numpy(dtype: str) -> None:
    random = np.random.default_rng(0)
    for length in (3, 40, 1000, 10**5):
        x, y = (random.uniform(0, 1, length).astype(dtype) for _ in range(2))
        (found,) = run_native(program("contract", x, y, spec="a,a->"), [x, y]) or ()
        exact = math.fsum((x.real.astype(float) * y.real).tolist())
        bound = max(1.01 * np.finfo(dtype).eps * exact, abs(complex(np.dot(x, y)) - exact))
        assert abs(complex(found) - exact) <= bound


# --- which loops there are must not matter --------------------------------------------------------

DTYPES = ("f8", "f4", "c16", "i8", "i2", "u1", "?")


@pytest.mark.parametrize("seed", one_in(3, range(24)))
def test_reductions_over_arbitrary_axes(seed: int) -> None:
    """Whole numbers, so that no sum is rounded; axes that are reduced and kept in any order."""
    random = np.random.default_rng(seed)
    builder = Builder()
    lengths = (2, 3, 17, 18, 33, 40, 70, 300)
    shape = tuple(int(n) for n in random.choice(lengths, random.integers(2, 5)))
    while math.prod(shape) > 60_000:
        shape = shape[1:]
    dtype = np.dtype(str(random.choice(DTYPES)))
    x = random.integers(-9, 10, shape).astype(dtype)
    source = builder.input(type_of(x))
    outputs, expected = [], []
    for _ in range(3):
        axes = tuple(axis for axis in range(len(shape)) if random.random() < 0.6)
        names = ("sum", "max", "min") if dtype.kind not in "cb" else ("sum",)
        name = str(random.choice(names))
        outputs += builder.emit(operation(PRIMITIVES[name], axes=axes), [source])
        expected.append(on_numpy(name, x, axes=axes))
    run = builder.build(outputs)
    for found, wanted in zip(run_native(run, [x]) or (), expected, strict=True):
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted)


# --- special numbers ------------------------------------------------------------------------------

SHAPES = [((3,), (0,)), ((37,), (0,)), ((5000,), (0,)), ((300, 5), (0,)), ((5, 300), (1,))]
ROLLED: tuple[tuple[int, ...], tuple[int, ...]] = ((20, 30, 40), (0, 2))


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize(("shape", "axes"), [*SHAPES, ROLLED])
def test_special_numbers(shape: tuple[int, ...], axes: tuple[int, ...], dtype: str) -> None:
    base = np.linspace(-1, 1, math.prod(shape)).astype(dtype)
    for name in ("sum", "max", "min"):
        run = compiled(program(name, base.reshape(shape), axes=axes))
        for bad in (NAN, INF, -INF):
            for place in (0, base.size // 2, base.size - 1):
                x = base.copy()
                x[place] = bad
                x = x.reshape(shape)
                results = run(x)
                if results is not None:  # else NumPy runs it
                    wanted = getattr(np, name)(x, axis=axes)
                    np.testing.assert_allclose(results[0], wanted, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize(("shape", "axes"), [*SHAPES, ROLLED, ((5, 4), (1,)), ((4, 3, 4), (0, 2))])
def test_signed_zeros(shape: tuple[int, ...], axes: tuple[int, ...], dtype: str) -> None:
    """Sums of negative zeros are 0 (NumPy's start from it); the largest of them is -0."""
    x = np.full(shape, -0.0, dtype)
    for name in ("sum", "max", "min"):
        found, wanted = reduced(name, x, axes), getattr(np, name)(x, axis=axes)
        np.testing.assert_array_equal(np.signbit(found), np.signbit(wanted), name)
    small = np.ones(shape, dtype)
    if len(shape) == 1:
        for spec, y in (("a,a->", x), ("a,->a", x[0]), ("a,b->ab", x[:40])):
            (found,) = run_native(program("contract", small, y, spec=spec), [small, y]) or ()
            wanted = on_numpy("contract", small, y, spec=spec)
            np.testing.assert_array_equal(np.signbit(found), np.signbit(wanted), spec)


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "?"])
def test_integers_wrap(dtype: str) -> None:
    top = 1 if dtype == "?" else np.iinfo(dtype).max
    infix = ("add", "multiply") if dtype == "?" else ("add", "multiply", "subtract")
    for shape, axes in (*SHAPES, ROLLED):
        x = np.full(shape, top, dtype)
        y = np.arange(x.size).reshape(shape).astype(dtype)
        builder = Builder()
        sources = [builder.input(type_of(x)), builder.input(type_of(y))]
        outputs = [builder.emit(operation(PRIMITIVES[name]), sources)[0] for name in infix]
        for name in ("sum", "max", "min"):
            outputs += builder.emit(operation(PRIMITIVES[name], axes=axes), sources[:1])
        run = builder.build(outputs)
        wanted = NumpyExecutor().compile(run).run(x, y)
        for one, other in zip(run_native(run, [x, y]) or (), wanted, strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "i4", "u8", "f4", "f8", "c8", "c16"])
def test_dtypes_of_functions(dtype: str) -> None:
    """Of what NumPy's own functions become."""
    x = (np.arange(1200) % 5).reshape(40, 30).astype(dtype)
    functions = [np.sum, np.prod, np.mean, np.any, np.all, np.std, np.cumsum]
    functions += [np.max, np.min, np.argmax] if np.dtype(dtype).kind != "c" else []

    def everything(x: Any) -> list[Any]:
        return [each(x, axis=axis) for each in functions for axis in (None, 0, 1)]

    with ad.config(native=True):
        results = ad.jit(everything)(x)
    for found, wanted in zip(results, everything(x), strict=True):
        assert (type(found), found.dtype) == (type(wanted), wanted.dtype)
        np.testing.assert_allclose(found, wanted, rtol=1e-5)


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_the_greater_of_two_zeros_has_the_sign_that_numpy_gives(dtype: str, native: bool) -> None:
    choices: list[Any] = [
        *(np.fmin, np.fmax, np.minimum, np.maximum),
        lambda x, y: np.clip(x, y, None),
    ]
    zeros = np.array([0.0, -0.0], dtype)
    with ad.config(native=native):
        for place, choice in enumerate(choices):
            jitted = ad.jit(choice)
            for x, y in ((zeros[0], zeros[1]), (zeros[1], zeros[0])):
                operands = [(x, y)]
                if place > 1:  # of arrays np.fmin takes one or the other, by the place
                    operands += [(np.full(n, x), y) for n in (1, 3, 20)]
                for one, other in operands:
                    expected, actual = choice(one, other), jitted(one, other)
                    np.testing.assert_array_equal(np.signbit(actual), np.signbit(expected))


def test_the_largest_number_of_a_loop_is_the_largest_in_its_derivative() -> None:
    """Computed again from the tape, with another rounding, no entry was equal to the maximum."""

    def scaled(x: Any) -> Any:
        return x / (1.0 + np.max(np.abs(x)))

    def loss(start: Any, rows: Any) -> Any:
        def step(carried: Any, row: Any) -> Any:
            return 0.9 * np.sin(carried), scaled(scaled(scaled(carried).T)) + row

        return np.sum(np.sin(ad.scan(step, start, rows)[1][:, :2]))

    random = np.random.default_rng(0)
    gradient = ad.grad(loss)
    for size in (4, 8, 8, 8, 9, 24):
        start, rows = random.normal(size=(size, size)), random.normal(size=(3, size, size))
        with ad.config(native=False):
            expected = gradient(start, rows)
        np.testing.assert_allclose(ad.jit(gradient)(start, rows), expected, rtol=1e-10, atol=1e-13)
