"""Stencils: neighbours are computed where they are read, out of joined and padded arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.executors.native.graph.nodes import ArrayNode
from adjoint.executors.native.schedule import planning
from adjoint.executors.native.schedule.recomputing import MOST_READ_AGAIN, scheduled

SIZES = (255, 256, 300, 1003)

Shift = Callable[[Any], Any]
SHIFTS: dict[str, Shift] = {
    "one before": lambda u: np.concatenate([np.ones(1), u[:-1]]),
    "the sum before": lambda u: np.concatenate([u[-1:] + u[:1], u[:-1]]),
    "one after": lambda u: np.concatenate([u[1:], np.zeros(1)]),
    "three before": lambda u: np.concatenate([np.full(3, 0.5), u[:-3]]),
    "rolled": lambda u: np.roll(u, -2),
    "padded": lambda u: np.pad(u[2:], (1, 1)),
    "in the middle": lambda u: np.concatenate([u[:5], u[7:], u[:2]]),
    "turned": lambda u: np.concatenate([u[:0:-1], u[:1]]),
    "halves": lambda u: np.concatenate([u[len(u) // 2 :], u[: len(u) // 2]]),
}


def program(seed: int) -> Callable[[Any, Any], Any]:
    """Some steps, each of two shifts of the values before; written out, or as a loop."""
    random = np.random.default_rng(seed)
    names = list(random.choice(list(SHIFTS), 3))
    scales = random.uniform(-0.4, 0.4, 3)
    steps = int(random.integers(1, 7))
    in_place = random.random() < 0.3

    def step(u: Any, x: Any) -> Any:
        first = x * SHIFTS[names[0]](u)
        second = np.sin(SHIFTS[names[1]](u + scales[0] * first))
        third = SHIFTS[names[2]](first * second)
        if in_place:
            out = np.empty_like(u)
            out[:4] = u[:4]
            out[4:] = u[4:] + scales[1] * third[4:] * x[:-4]
            return out
        return u + scales[1] * second + scales[2] * third

    def last(u: Any, x: Any) -> Any:
        for _ in range(steps):
            u = step(u, x)
        return np.sum(u * np.cos(u))

    return last


@pytest.mark.parametrize("seed", range(24))
def test_stencils_and_their_gradients(seed: int) -> None:
    function = program(seed)
    random = np.random.default_rng(seed)
    size = SIZES[seed % len(SIZES)]
    u, x = random.uniform(0.5, 1.5, (2, size))
    derivative = ad.value_and_grad(function, argnums=(0, 1))
    with ad.config(native=False):
        expected = ad.jit(derivative)(u, x)
    with ad.config(native=True):
        got = ad.jit(derivative)(u, x)
    np.testing.assert_allclose(got[0], expected[0], rtol=1e-12)
    for one, other in zip(got[1], expected[1], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-13 * size)


def test_infinities_stay_where_they_are() -> None:
    """What is computed again is no other number at the ends, where nothing is before."""
    u, x = np.ones(300), np.ones(300)
    u[[0, 7, 299]] = np.inf, np.nan, -np.inf

    def values(u: Any, x: Any) -> Any:
        first = x * SHIFTS["one before"](u)
        return u - SHIFTS["one after"](u + 0.5 * first)

    with ad.config(native=True), np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(ad.jit(values)(u, x), values(u, x))


@pytest.fixture
def inlined(monkeypatch: pytest.MonkeyPatch) -> list[ArrayNode]:
    """What is computed where it is read."""
    nodes: list[ArrayNode] = []

    def noted(graph: Any, takes: Any) -> Any:
        scheduler = scheduled(graph, takes)
        nodes.extend(graph.producers[variable] for variable in scheduler.inlined)
        read = [len(scheduler.reads(node)) for node in graph.nodes]
        assert max(read, default=0) <= 4 * MOST_READ_AGAIN
        return scheduler

    monkeypatch.setattr(planning, "scheduled", noted)
    return nodes


def test_neighbours_are_not_stored(inlined: list[ArrayNode]) -> None:
    def steps(u: Any, x: Any) -> Any:
        for _ in range(2):
            first = x * SHIFTS["one before"](u)
            second = x * SHIFTS["one before"](u + 0.5 * first)
            u = u + second
        return np.sum(u)

    with ad.config(native=True, cache=False):
        ad.jit(ad.grad(steps, argnums=(0, 1)))(np.ones(1000), np.ones(1000))
    assert {"concatenate", "increment"} <= {node.operation for node in inlined}


def test_sums_that_are_added_to_parts_are_stored(inlined: list[ArrayNode]) -> None:
    def heat(u: Any) -> Any:
        for _ in range(4):
            inner = u[1:-1] + 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2]) * u[1:-1]
            u = np.concatenate([np.zeros(1), inner, np.ones(1)])
        return np.sum(np.sin(u))

    with ad.config(native=True, cache=False):
        gradient = ad.jit(ad.grad(heat))(np.linspace(0, 1, 400))
    assert len(gradient) == 400
    assert inlined
    for node in inlined:
        wide = [access for access in node.accesses if access.source.type.ndim]
        assert node.operation != "increment" or len(wide) <= 1


def test_short_arrays_are_stored(inlined: list[ArrayNode]) -> None:
    with ad.config(native=True, cache=False):
        ad.jit(ad.grad(lambda u: np.sum(SHIFTS["one before"](2 * u) * u)))(np.ones(100))
    assert not inlined


STORED: dict[str, tuple[Callable[[Any], Any], tuple[int, ...]]] = {
    "in another shape": (
        lambda u: (lambda w: w[1:] * w[:-1])(np.stack([u, 2 * u], 1).reshape(-1)),
        (300,),
    ),
    "by each of many rows": (
        lambda u: np.max((u * np.sin(u))[:, None] - SHIFTS["one before"](u), 1),
        (300,),
    ),
    "short rows, by several": (
        lambda u: (lambda w: np.sum(w, 0) * np.max(w, 0) + np.sum(w[:-1] * w[1:], 0))(
            np.concatenate([u[:, 1:], u[:, :1]], 1)
        ),
        (17, 20),
    ),
}


@pytest.mark.parametrize(("function", "shape"), STORED.values(), ids=STORED)
def test_what_is_read_better_from_memory_is_stored(
    function: Any, shape: Any, inlined: list[ArrayNode]
) -> None:
    u = np.linspace(0.5, 1.5, int(np.prod(shape))).reshape(shape)
    with ad.config(native=True, cache=False):
        np.testing.assert_allclose(ad.jit(function)(u), function(u), rtol=1e-13)
    assert not [node for node in inlined if node.operation in ("concatenate", "increment")]


TURNED: dict[str, Shift] = {
    "behind others": lambda u: np.concatenate([np.zeros((3, 6, 16)), u[:, :3]], 1),
    "before others": lambda u: np.concatenate([u[:, 6:], np.zeros((3, 6, 16))], 1),
    "rolled": lambda u: np.roll(u, 4, axis=(0, 1)),
    "looked up": lambda u: u[:, np.array([8, 0, -3])],
}


@pytest.mark.parametrize("shift", TURNED.values(), ids=TURNED)
def test_what_is_turned_as_a_whole_and_moved(shift: Shift) -> None:
    """The rests of indices count from the lower multiple, where these are negative."""

    def moved(u: Any, index: Any) -> Any:
        whole = u.reshape(-1)[::-1].reshape(u.shape)
        return shift(whole), shift(whole)[:, ::-1, ::-1], shift(whole[:, :, ::-1])[:, index]

    u, index = np.arange(432.0).reshape(3, 9, 16), np.array([0, 2, 1])
    with ad.config(native=True):
        got = ad.jit(moved)(u, index)
    for one, other in zip(got, moved(u, index), strict=True):
        np.testing.assert_array_equal(one, other)


def test_what_is_written_into_is_copied_when_it_is_all_there() -> None:
    def step(u: Any, v: Any) -> Any:
        first = u.copy()
        first[:, 5:23:2] = -u[:, 5:23:2]
        second = first.copy()
        second[:, 35:37] += v[:, 38:40]
        return second, first

    u, v = np.random.default_rng(0).normal(size=(2, 40, 40))
    with ad.config(native=True):
        got = ad.jit(lambda u, v: ad.fori_loop(0, 1, lambda i, both: step(*both), (u, v)))(u, v)
    for one, other in zip(got, step(u, v), strict=True):
        np.testing.assert_array_equal(one, other)
