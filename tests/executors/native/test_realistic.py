"""Functions such as people write: their derivatives and batches as machine code and on NumPy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import adjoint as ad
from adjoint.executors import Attempt
from tests.executors.native import realistic as given
from tests.executors.native.realistic import layers, normal
from tests.sampling import one_in

RNG = np.random.default_rng(11)
POSITIVE = np.abs(normal(60, 2)) + 0.5
CAMERAS = normal(11) * 0.1 + np.array([0, 0, 0, 0, 0, -4, 500, 0, 0, 0, 0])
SEEN = (CAMERAS, normal(3), 1.3, normal(2))
MIXTURE = (normal(5), normal(5, 4), normal(5, 4) * 0.3, normal(200, 4))
ENDS = RNG.integers(0, 40, (90, 2))
ENDS[:, 1] = (ENDS[:, 0] + 1 + ENDS[:, 1] % 39) % 40

Case = tuple[str, Callable[..., Any], tuple[Any, ...]]

SCALAR: list[Case] = [
    ("perceptron", given.perceptron, (layers(7, 33, 20, 1), normal(150, 7), normal(150, 1))),
    (
        "perceptron f4",
        given.perceptron,
        (layers(11, 16, 1, dtype="f4"), normal(99, 11, dtype="f4"), normal(99, 1, dtype="f4")),
    ),
    ("convolution", given.convolution, (normal(4, 3, 3), normal(6, 20, 20))),
    ("attention", given.attention, (normal(3, 25, 8), normal(3, 30, 8), normal(3, 30, 8))),
    ("cross entropy", given.cross_entropy, (normal(130, 10), RNG.integers(0, 10, 130))),
    ("logistic", given.logistic, (normal(19), normal(300, 19), np.sign(normal(300)))),
    ("embedding", given.embedding, (normal(50, 12), RNG.integers(-50, 50, (40, 7)))),
    ("layer norm", given.layer_norm, (normal(90, 21), normal(21))),
    ("energy", partial(given.energy, steps=20), (POSITIVE, 1.2)),
    ("heat", given.heat, (normal(40, 37),)),
    ("heat in place", given.heat_in_place, (normal(40, 37),)),
    ("upwind", given.upwind, (normal(1500),)),
    ("surface", given.minimal_surface, (normal(50, 33),)),
    ("prefix", given.prefix, (normal(200, 20),)),
    ("mixture", given.mixture, MIXTURE),
    ("clusters", given.clusters, (normal(12, 5), normal(400, 5))),
    ("gaussian", given.gaussian, (normal(6), normal(6, 6) * 0.3, normal(300, 6))),
    ("robust", given.robust, (np.array([2.0, 0.7, 0.1]), normal(1200) ** 2, normal(1200))),
    ("horner", given.horner, (normal(12), normal(700) * 0.5)),
    ("masked", given.masked, (normal(70, 31), normal(70, 31) > 0.3)),
    ("counted", given.counted, (normal(1300), RNG.integers(0, 17, 1300))),
    ("kernel", given.kernel_matrix, (0.8, normal(50, 4))),
    ("springs", given.springs, (normal(40, 3), ENDS, np.abs(normal(90)))),
    ("newton", given.newton, (normal(1200),)),
    ("resonance", given.resonance, (np.abs(normal(9)) + 0.2, np.linspace(0.1, 3, 150))),
    ("gate", given.gate, (normal(200, 6), normal(6, 4))),
]
IDS = [name for name, _, _ in SCALAR]


@pytest.fixture(autouse=True)
def misses(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The programs that machine code gave up."""
    found: list[str] = []
    run_conforming = Attempt.run_conforming

    def noted(attempt: Attempt, arguments: Any) -> Any:
        results = run_conforming(attempt, arguments)
        if results is None:
            found.append(str(attempt.types))
        return results

    monkeypatch.setattr(Attempt, "run_conforming", noted)
    ad.cache_clear()
    yield found
    ad.cache_clear()


def leaves(value: Any) -> list[Any]:
    if isinstance(value, list | tuple):
        return [leaf for each in value for leaf in leaves(each)]
    if isinstance(value, dict):
        return [leaf for key in value for leaf in leaves(value[key])]
    return [value]


def narrow(value: Any) -> bool:
    return any(np.asarray(x).dtype in (np.dtype("f4"), np.dtype("c8")) for x in leaves(value))


def agree(found: Any, expected: Any, tolerance: float = 1e-10) -> None:
    """Equal up to rounding, relative to the largest number of the array."""
    for x, y in zip(leaves(found), leaves(expected), strict=True):
        assert type(x) is type(y)
        assert (x.shape, x.dtype) == (y.shape, y.dtype)
        scale = float(np.max(np.abs(y), initial=0))
        bound = max(tolerance, 2e-4 if narrow(y) else 0.0) * scale
        np.testing.assert_allclose(x, y, rtol=0, atol=bound + 1e-300)


def both_ways(function: Callable[..., Any], *arguments: Any) -> None:
    with ad.config(native=False):
        expected = function(*arguments)
    with ad.config(native=True):
        agree(function(*arguments), expected, 2e-4 if narrow(arguments) else 1e-10)


@pytest.mark.parametrize(("name", "function", "arguments"), one_in(2, SCALAR), ids=IDS)
def test_gradients(
    name: str, function: Callable[..., Any], arguments: tuple[Any, ...], misses: list[str]
) -> None:
    both_ways(ad.jit(ad.value_and_grad(function)), *arguments)
    assert misses == []


def direction(tree: Any) -> Any:
    if isinstance(tree, list | tuple):
        return type(tree)(direction(each) for each in tree)
    tree = np.asarray(tree)
    drawn = np.random.default_rng(5).normal(size=tree.shape).astype(tree.dtype)
    return drawn if tree.ndim else float(drawn)


@pytest.mark.parametrize(("name", "function", "arguments"), one_in(3, SCALAR), ids=IDS)
def test_tangents_of_gradients(
    name: str, function: Callable[..., Any], arguments: tuple[Any, ...], misses: list[str]
) -> None:
    first, *rest = arguments
    if name == "energy":
        function = partial(given.energy, steps=4)
    tangent = direction(first)

    def curvature(x: Any, v: Any) -> Any:
        return ad.jvp(ad.grad(lambda x: function(x, *rest)), (x,), (v,))

    both_ways(ad.jit(curvature), first, tangent)
    assert misses == []


# --- matrices of derivatives, batches -------------------------------------------------------------

BATCHES: list[Case] = [
    ("errors", given.reprojection, tuple(np.stack([np.asarray(x)] * 1000) for x in SEEN)),
    ("flow", partial(given.runge_kutta, steps=5), (
        np.abs(normal(1000, 2)) + 0.5, np.abs(normal(1000)) + 0.5,
    )),
    ("robust", given.robust, (normal(1000, 3), normal(1000, 5) ** 2, normal(1000, 5))),
    ("horner", given.horner, (normal(1000, 6), normal(1000, 4) * 0.5)),
    ("mixture", given.mixture, tuple(normal(1000, *s) for s in [(3,), (3, 2), (3, 2), (4, 2)])),
    ("logistic", given.logistic, (normal(1000, 4), normal(1000, 5, 4), np.sign(normal(1000, 5)))),
    ("prefix", given.prefix, (normal(1000, 7),)),
    ("softmax", given.softmax, (normal(1000, 6),)),
    ("heat", given.heat, (normal(1000, 6, 6),)),
    ("springs", given.springs, (
        normal(1000, 40, 3), np.stack([ENDS[:7]] * 1000), np.stack([normal(7)] * 1000),
    )),
    ("perceptron", given.perceptron, (
        [(normal(1000, 3, 4), normal(1000, 4)), (normal(1000, 4, 2), normal(1000, 2))],
        normal(1000, 5, 3), normal(1000, 5, 2),
    )),
    ("resonance", given.resonance, (np.abs(normal(1000, 2)) + 0.5, normal(1000, 6))),
]  # fmt: skip
BATCHES[0][2][0][:] += normal(1000, 11) * 0.01


@pytest.mark.parametrize(
    ("name", "function", "arguments"), one_in(2, BATCHES), ids=[c[0] for c in BATCHES]
)
def test_batches_of_jacobians(
    name: str, function: Callable[..., Any], arguments: tuple[Any, ...], misses: list[str]
) -> None:
    both_ways(ad.jit(ad.vmap(function)), *arguments)
    both_ways(ad.jit(ad.vmap(ad.jacobian(function))), *arguments)
    assert misses == []


HESSIANS: list[Case] = [
    ("robust", given.robust, (np.array([2.0, 0.7, 0.1]), normal(120) ** 2, normal(120))),
    ("horner", given.horner, (normal(9), normal(50) * 0.5)),
    ("logistic", given.logistic, (normal(9), normal(80, 9), np.sign(normal(80)))),
    ("mixture", given.mixture, (normal(5), normal(5, 3), normal(5, 3) * 0.3, normal(70, 3))),
    ("layer norm", given.layer_norm, (normal(6, 5), normal(5))),
    ("upwind", given.upwind, (normal(40),)),
    ("heat in place", given.heat_in_place, (normal(6, 5),)),
    ("surface", given.minimal_surface, (normal(8, 7),)),
    ("clusters", given.clusters, (normal(4, 5), normal(100, 5))),
    ("gaussian", given.gaussian, (normal(6), normal(6, 6) * 0.3, normal(90, 6))),
    ("newton", given.newton, (normal(20),)),
]


@pytest.mark.parametrize(
    ("name", "function", "arguments"), one_in(3, HESSIANS), ids=[c[0] for c in HESSIANS]
)
def test_hessians(
    name: str, function: Callable[..., Any], arguments: tuple[Any, ...], misses: list[str]
) -> None:
    both_ways(ad.jit(ad.hessian(function)), *arguments)
    everything = tuple(
        place for place, x in enumerate(arguments) if np.asarray(x).dtype.kind == "f"
    )
    both_ways(ad.jit(ad.jacobian(ad.grad(function), everything)), *arguments)
    assert misses == []


def test_pullbacks_and_linear_maps(misses: list[str]) -> None:
    q, k = normal(3, 25, 8), normal(3, 30, 8)

    def scores(q: Any, k: Any) -> Any:
        return given.softmax(np.einsum("hid,hjd->hij", q, k))

    def pulled(q: Any, k: Any, c: Any) -> Any:
        value, pullback = ad.vjp(scores, q, k)
        return value, pullback(c)

    both_ways(ad.jit(pulled), q, k, normal(3, 25, 30))

    def applied(x: Any, v: Any) -> Any:
        value, linear = ad.linearize(given.heat_field, x)
        return value, linear(v), linear.H(v)

    both_ways(applied, normal(40, 30), normal(40, 30))
    assert misses == []


# --- arguments of many kinds ----------------------------------------------------------------------


def layouts(x: Any) -> list[Any]:
    """The same numbers: as they are, by columns, with gaps, backwards, aside, read-only."""
    gaps = np.empty((2 * x.shape[0], 3 * x.shape[1]), x.dtype)
    gaps[::2, ::3] = x
    aside = np.empty(x.nbytes + 1, np.uint8)[1:].view(x.dtype).reshape(x.shape)
    aside[...] = x
    frozen = x.copy()
    frozen.flags.writeable = False
    backwards = x[::-1, ::-1].copy()[::-1, ::-1]
    return [x, np.asfortranarray(x), gaps[::2, ::3], backwards, aside, frozen, x.T.copy().T]


def test_layouts() -> None:
    x, scale = normal(40, 37), normal(37)

    def function(x: Any, scale: Any) -> Any:
        return given.heat_in_place(x) + np.sum(np.tanh(x @ scale) ** 2)

    with ad.config(native=False):
        expected = ad.value_and_grad(function)(x, scale)
    jitted = ad.jit(ad.value_and_grad(function))
    with ad.config(native=True):
        for array in layouts(x):
            copy = array.copy()
            agree(jitted(array, scale), expected)
            agree(jitted(array, np.repeat(scale, 2)[::2]), expected)
            assert np.array_equal(array, copy)


def test_one_function_at_several_shapes_and_dtypes() -> None:
    jitted = ad.jit(ad.value_and_grad(given.robust))
    plain = ad.value_and_grad(given.robust)
    for dtype in ("f4", "f8", "f4"):
        for shape in ((), (1,), (5,), (700,), (30, 50), (2, 3, 400)):
            parameters = np.array([2.0, 0.7, 0.1], dtype)
            arguments = parameters, normal(*shape, dtype=dtype) ** 2, normal(*shape, dtype=dtype)
            with ad.config(native=False):
                expected = plain(*arguments)
            with ad.config(native=True):
                agree(jitted(*arguments), expected)


def test_numbers_of_many_kinds() -> None:
    x = normal(300)

    def function(s: Any, x: Any) -> Any:
        return np.sum(np.sin(s * x) ** 2) * s

    for number in (0.5, np.float64(0.5), np.float32(0.5), np.array(0.5), np.array(0.5, "f4")):
        for array in (x, x.astype("f4")):
            both_ways(ad.jit(function), number, array)
            both_ways(ad.jit(ad.grad(function)), number, array)
    wholes: tuple[Any, ...] = (
        3,
        True,
        np.int64(3),
        np.int8(3),
        np.bool_(1),
        np.array(3),
        np.uint8(200),
    )
    for whole in wholes:
        for array in (x, x.astype("f4"), np.arange(30), np.arange(30, dtype="i2")):
            both_ways(ad.jit(function), whole, array)
    for rotation in (0.5 + 2j, np.complex64(0.5 + 2j)):
        both_ways(ad.jit(function), rotation, x)


def test_a_loop_that_asks_for_values_meets_another_count() -> None:
    jitted = ad.jit(ad.value_and_grad(given.newton))
    for scale in (1e-3, 1.0, 1e3, 0.5, 1e-3):
        x = scale * normal(300)
        with ad.config(native=False):
            expected = ad.value_and_grad(given.newton)(x)
        with ad.config(native=True):
            agree(jitted(x), expected)
