"""The order of axes in memory: any order gives the same numbers, and loops get theirs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import adjoint as ad
from adjoint.executors.interface import Needs
from adjoint.executors.native.lowering.lower import lowered
from adjoint.executors.native.schedule.memory_order import MemoryOrders
from benchmarks.gradbench import inputs
from benchmarks.gradbench.learning import GMM, log_posterior
from benchmarks.kmeans import by_differences, direction_of
from tests.executors.native.random_programs import random_program
from tests.sampling import one_in

BLOCK = 12


@pytest.fixture
def shuffled(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Arrays lie in random orders, and inputs are copied; the list says how many did."""
    random = np.random.default_rng(0)
    turned: list[int] = []

    def chosen(self: MemoryOrders) -> dict[Any, Any]:
        free = [v for v in self.held if v not in self.fixed and v.type.ndim > 1]
        orders = {v: tuple(random.permutation(v.type.ndim).tolist()) for v in free}
        turned.append(sum(order != tuple(sorted(order)) for order in orders.values()))
        return orders

    def copied(self: MemoryOrders) -> dict[Any, Any]:
        wide = [v for v in self.graph.program.inputs if v in self.walks and v.type.ndim > 1]
        return {v: tuple(random.permutation(v.type.ndim).tolist()) for v in wide}

    monkeypatch.setattr(MemoryOrders, "chosen", chosen)
    monkeypatch.setattr(MemoryOrders, "copied", copied)
    with ad.config(cache=False):
        yield turned


def _step(one: int, other: int, axis: int, choice: int, known: list[Any], rows: Any) -> Any:
    """One more array of three axes, of those that are known."""
    x, y = known[one], known[other]
    if choice == 0:
        return np.swapaxes(np.swapaxes(x, 0, axis) * 1.5, 0, axis)
    if choice == 1:
        return x - np.max(x, axis, keepdims=True)
    if choice == 2:
        return x * np.sum(y, axis, keepdims=True)
    if choice == 3:
        return np.exp(-np.abs(x)) + y
    if choice == 4:
        return x @ np.swapaxes(y, 1, 2) @ np.tanh(x)
    if choice == 5:
        return np.einsum("abc,adc->abd", x, y) @ x
    if choice == 6:
        return np.concatenate([x, y], axis).take(np.arange(x.shape[axis]) + 1, axis)
    if choice == 7:
        return x[rows] + y
    return np.stack([x, y], axis).sum(axis) * 0.5


def _function(seed: int) -> Any:
    """Products of matrices, sums along axes, joins and lookups, in a random order."""

    random = np.random.default_rng(seed)
    steps = [tuple(random.integers((k, k, 3, 9)).tolist()) for k in range(2, 8)]

    def function(x: Any, y: Any, rows: Any) -> Any:
        known = [x, y]
        for chosen in steps:
            step = _step(*chosen, known, rows)
            known.append(step / (1.0 + np.max(np.abs(step))))
        return known[-1] + known[-2]

    return function


def _arguments(seed: int) -> tuple[Any, ...]:
    random = np.random.default_rng([seed, 1])
    shape = tuple(int(n) for n in random.choice([2, 3, 5, 8, 11, 17, 24], 3))
    return *random.normal(size=(2, *shape)), random.integers(0, shape[0], shape[0])


@pytest.mark.parametrize("block", one_in(8, range(16)))
def test_any_order_gives_the_same_numbers(shuffled: list[int], block: int) -> None:
    for seed in range(block * BLOCK, (block + 1) * BLOCK):
        function, arguments = _function(seed), _arguments(seed)
        gradient = ad.grad(lambda *given, f=function: np.sum(np.sin(f(*given))))
        for each in (function, gradient):
            with ad.config(native=False):
                expected = each(*arguments)
            got = ad.jit(each)(*arguments)
            scale = np.max(np.abs(expected), initial=0.0)
            np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-9 * scale, err_msg=seed)
    assert sum(shuffled) > BLOCK


def _mixture() -> tuple[Any, tuple[Any, ...]]:
    given = inputs.gmm(np.random.default_rng(0), 10, 25, 1000)
    return ad.grad(log_posterior), GMM["jacobian"].read(given)


def _text(function: Any, *arguments: Any) -> str:
    text = lowered(ad.program(function, *arguments).program, Needs())
    assert text is not None
    return text.text


def test_points_are_last_in_memory_where_lanes_run_along_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The mixture of GradBench in 10 dimensions: 792 us without this, 325 with it (Zen 5)."""
    gradient, arguments = _mixture()
    turned: dict[tuple[int, ...], list[tuple[int, ...]]] = {}

    def watch(name: str) -> None:
        choose = getattr(MemoryOrders, name)

        def chosen(self: MemoryOrders) -> dict[Any, Any]:
            orders: dict[Any, Any] = choose(self)
            for variable, order in orders.items():
                turned.setdefault(variable.type.shape, []).append(order)
            return orders

        monkeypatch.setattr(MemoryOrders, name, chosen)

    for name in ("chosen", "realigned", "copied"):
        watch(name)
    with ad.config(cache=False):
        ad.jit(gradient)(*arguments)
    # The differences, their products with the factors, and the derivative of those.
    assert turned[25, 1000, 10] == 3 * [(0, 2, 1)]
    assert turned[1000, 10] == [(1, 0)]  # the points, which all components read


def test_lanes_do_not_run_across_what_is_summed_in_every_round_for_a_copy() -> None:
    """Of k-means: 0.76 ms with lanes along the points, 1.1 along the copied centroids (Zen 5)."""
    random = np.random.default_rng(0)
    centroids, points = random.normal(size=(100, 8)), random.normal(size=(10_000, 8))
    copied: list[Any] = []
    copies = MemoryOrders.copied

    def watched(self: MemoryOrders) -> dict[Any, Any]:
        orders = copies(self)
        copied.extend(orders)
        return orders

    with pytest.MonkeyPatch.context() as patch, ad.config(cache=False):
        patch.setattr(MemoryOrders, "copied", watched)
        ad.jit(direction_of(by_differences))(centroids, points)
    assert not copied


def test_an_index_that_counts_is_no_index() -> None:
    """`vmap` of a lookup indexes by the number of the copy, which is the axis itself."""
    random = np.random.default_rng(0)
    values, places = random.normal(size=(9, 50)), random.integers(0, 50, size=13)
    many = ad.jit(ad.vmap(lambda row: row[places] * 2.0))
    np.testing.assert_array_equal(many(values), 2.0 * values[:, places])
    one = ad.jit(lambda x: x[np.arange(3), np.arange(3)])
    np.testing.assert_array_equal(one(values), values[np.arange(3), np.arange(3)])


def test_joined_pieces_are_not_read_under_masks() -> None:
    random = np.random.default_rng(0)
    pieces = [random.normal(size=(26, 4, 4)) for _ in range(22)]

    def joined(*pieces: Any) -> Any:
        return np.stack(pieces, axis=1)

    assert _text(joined, *pieces).count("masked") == 0
    np.testing.assert_array_equal(ad.jit(joined)(*pieces), joined(*pieces))


def test_the_order_does_not_depend_on_where_objects_lie() -> None:
    """Two orders of an array are as good here, and sets come in the order of addresses."""
    program, _ = random_program(738, False)
    held: list[Any] = []  # so that what comes next lies elsewhere
    texts = set()
    for number in range(12):
        held.append([object() for _ in range(7 * number)])
        code = lowered(program, Needs())
        assert code is not None
        held.append(code)
        texts.add(code.text)
    assert len(texts) == 1
