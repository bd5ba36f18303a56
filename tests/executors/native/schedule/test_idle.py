"""Rounds that add nothing but noughts, and contractions of few terms that loops compute."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.executors.native.graph import masks
from adjoint.executors.native.graph.indices import Access
from adjoint.executors.native.schedule import planning, recomputing
from adjoint.executors.native.schedule.layout import Layout
from tests.executors.native.comparing import compare

Objective = Callable[[Any, Any], Any]


def by_differences(centres: Any, points: Any) -> Any:
    return np.sum(np.min(np.sum((points[:, None, :] - centres) ** 2, axis=2), axis=1))


def by_products(centres: Any, points: Any) -> Any:
    squares = np.sum(points**2, axis=1)[:, None] + np.sum(centres**2, axis=1)
    return np.sum(np.min(squares - 2 * points @ centres.T, axis=1))


def support(centres: Any, points: Any) -> Any:
    return np.sum(np.sin(np.max(points @ centres.T, axis=1)))


def distances(centres: Any, points: Any) -> Any:
    return np.sum(np.min(np.sum(np.abs(points[:, None, :] - centres), axis=2), axis=1))


def rescaled(centres: Any, points: Any) -> Any:
    # The factor exp(100 c) overflows where c is large, and its product with a false mask is NaN.
    return np.sum(np.min(points[:, :1] * np.exp(100 * centres[:, 0]), axis=1))


OBJECTIVES = (by_differences, by_products, support, distances, rescaled)


def _layouts(monkeypatch: pytest.MonkeyPatch) -> list[Layout]:
    layouts: list[Layout] = []

    def noted(*args: Any, **options: Any) -> Layout:
        layouts.append(Layout(*args, **options))
        return layouts[-1]

    monkeypatch.setattr(planning, "Layout", noted)
    return layouts


@pytest.fixture(autouse=True)
def _nothing_kept() -> Any:
    with ad.config(cache=False):
        yield


def _operations(layout: Layout) -> list[str]:
    return [node.operation for node in layout.scheduler.graph.nodes]


@cache
def _derivatives(objective: Objective) -> Callable[[Any, Any], Any]:
    def derivatives(centres: Any, points: Any) -> Any:
        gradient = ad.grad(objective)
        ones = np.ones(centres.shape, centres.dtype)
        product = ad.jvp(lambda x: gradient(x, points), (centres,), (ones,))[1]
        return gradient(centres, points), product

    return derivatives


@cache
def _jitted(objective: Objective) -> Callable[[Any, Any], Any]:
    return ad.jit(_derivatives(objective))


def _assert_like_numpy(objective: Objective, centres: Any, points: Any) -> None:
    derivatives = _derivatives(objective)
    with np.errstate(all="ignore"):
        with ad.config(native=False):
            expected = derivatives(centres, points)
        got = _jitted(objective)(centres, points)
    tolerance = 1e-3 if centres.dtype == np.float32 else 1e-10
    for one, other in zip(got, expected, strict=True):
        largest = np.max(np.abs(other), where=np.isfinite(other), initial=0)
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance * largest)


@pytest.mark.parametrize("objective", [by_differences, by_products])
def test_most_rounds_of_a_minimum_are_left_out(
    objective: Objective, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = np.random.default_rng(0)
    layouts = _layouts(monkeypatch)
    centres, points = random.normal(size=(100, 5)), random.normal(size=(1000, 5))
    ad.jit(_derivatives(objective))(centres, points)
    assert any(layout.idle for layout in layouts)


def test_rounds_of_masks_that_are_often_true_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    layouts = _layouts(monkeypatch)
    points = np.random.default_rng(0).normal(size=(1000, 5))
    few = np.random.default_rng(1).normal(size=(4, 5))
    ad.jit(ad.grad(by_differences))(few, points)
    ad.jit(ad.grad(lambda c, x: np.sum(np.maximum(x @ c.T, 0))))(few, points)
    assert layouts
    assert not any(layout.idle for layout in layouts)


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize(("count", "terms"), [(100, 5), (97, 3), (33, 8), (64, 12)])
def test_gradients_of_extremes(objective: Objective, count: int, terms: int) -> None:
    random = np.random.default_rng(count)
    for rows in (8, 333):
        centres, points = random.normal(size=(count, terms)), random.normal(size=(rows, terms))
        _assert_like_numpy(objective, centres, points)
        _assert_like_numpy(objective, np.round(centres), np.round(points))  # with ties
    _assert_like_numpy(objective, centres.astype(np.float32), points.astype(np.float32))


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf, 1e200, 0.0])
def test_what_is_not_finite_is_not_left_out(objective: Objective, number: float) -> None:
    random = np.random.default_rng(3)
    for changed in range(2):
        arrays = [random.normal(size=(50, 4)), random.normal(size=(300, 4))]
        for place in ((0, 0), (7, 2), (49, 3)):
            given = [array.copy() for array in arrays]
            given[changed][place] = number
            _assert_like_numpy(objective, *given)


def _masked_differences(centres: Any, points: Any) -> Any:
    differences = points[:, None, :] - centres
    squares = np.sum(differences**2, axis=2)
    mask = (squares == np.min(squares, axis=1, keepdims=True)).astype(points.dtype)
    return mask[:, :, None] * differences


@pytest.mark.parametrize(("rows", "count", "terms"), [(200, 100, 5), (8, 40, 2), (33, 64, 8)])
def test_sums_that_are_stored_and_not_added_to_are_not_left_out(
    rows: int, count: int, terms: int
) -> None:
    random = np.random.default_rng(rows)
    centres, points = random.normal(size=(count, terms)), random.normal(size=(rows, terms))

    def both(centres: Any, points: Any) -> Any:
        masked = _masked_differences(centres, points)
        return np.sum(masked, axis=2), np.sum(masked, axis=0)

    def stored(centres: Any, points: Any) -> Any:
        return np.sum(_masked_differences(centres, points), axis=2)

    for given in (points, points + 1):  # the second finds the numbers of the first in memory
        np.testing.assert_allclose(ad.jit(stored)(centres, given), stored(centres, given))
        pairs = zip(ad.jit(both)(centres, given), both(centres, given), strict=True)
        for one, other in pairs:
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


def test_large_products_of_few_terms_are_computed_where_loops_read_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    layouts = _layouts(monkeypatch)
    random = np.random.default_rng(0)
    x, y = random.normal(size=(500, 6)), random.normal(size=(300, 6))
    product = ad.jit(lambda x, y: np.sum(np.exp(x @ y.T), axis=1))
    np.testing.assert_allclose(product(x, y), np.sum(np.exp(x @ y.T), axis=1), rtol=1e-13)
    own = [layout for layout in layouts if "exp" in _operations(layout)]
    assert own
    assert not any(layout.routines for layout in own)
    np.testing.assert_allclose(ad.jit(np.matmul)(x, y.T), x @ y.T, rtol=1e-12, atol=1e-13)
    assert any(layout.routines for layout in layouts)  # what is returned is a product of matrices


def counts(centres: Any, points: Any) -> Any:
    distances = (points[:, None, :2] - centres[:, :2]) ** 2
    nearest = distances == np.min(distances, axis=1, keepdims=True)
    return np.sum(nearest.astype(centres.dtype), axis=0) * centres[:, :2]


def nearest_in_any_column(centres: Any, points: Any) -> Any:
    distances = (points[:, None, :2] - centres[:, :2]) ** 2
    nearest = distances == np.min(distances, axis=1, keepdims=True)
    return np.einsum("nkd,n->k", nearest.astype(centres.dtype), points[:, 3])


@pytest.mark.parametrize("function", [counts, nearest_in_any_column])
def test_rounds_whose_mask_has_several_columns_are_asked_for_all(function: Objective) -> None:
    random = np.random.default_rng(0)
    centres, points = random.normal(size=(100, 4)), random.normal(size=(333, 4))
    for given in ((centres, points), (np.round(centres), points)):
        got = ad.jit(function)(*given)
        np.testing.assert_allclose(got, function(*given), rtol=1e-12, atol=1e-12)


def test_what_loops_would_have_to_store_is_a_product(monkeypatch: pytest.MonkeyPatch) -> None:
    layouts = _layouts(monkeypatch)
    random = np.random.default_rng(0)
    x, y = random.normal(size=(200, 8)), random.normal(size=(200, 8))

    def stencil(x: Any, y: Any) -> Any:
        p = x @ y.T
        around = p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2]
        return np.sum(np.abs(4 * p[1:-1, 1:-1] - around))

    def narrow(x: Any, y: Any) -> Any:
        return np.sum(np.exp(x @ y.T), axis=1)

    np.testing.assert_allclose(ad.jit(stencil)(x, y), stencil(x, y), rtol=1e-12)
    long = random.normal(size=(20_000, 8))
    np.testing.assert_allclose(ad.jit(narrow)(y[:10], long), narrow(y[:10], long), rtol=1e-12)
    assert len(layouts) >= 2
    assert all(layout.routines for layout in layouts)


def test_factors_that_meet_in_many_ways_are_looked_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked_at: list[Access] = []
    before = masks.producer_of

    def noted(graph: Any, access: Access, kind: Any) -> Any:
        looked_at.append(access)
        return before(graph, access, kind)

    monkeypatch.setattr(masks, "producer_of", noted)

    def powers(x: Any, y: Any) -> Any:
        for step in range(16):  # 65 536 ways to the first of the factors
            y = y * (y * 0.5) if step % 2 else y * y * 1.5
        return np.sum(np.exp(x @ y.T))

    x, y = np.ones((500, 3)), np.full((70, 3), 0.5)
    np.testing.assert_allclose(ad.jit(powers)(x, y), powers(x, y))
    assert len(looked_at) < 5000


def test_steps_that_read_the_one_before_twice_are_not_computed_where_they_are_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    layouts = _layouts(monkeypatch)

    def steps(centres: Any, points: Any) -> Any:
        distances = np.sum((points[:, None, :] - centres) ** 2, axis=2)
        for step in range(14):
            more = distances + 1 if step % 2 else distances - 1
            distances = distances - 0.01 * distances * more
        return np.sum(np.min(distances, axis=1))

    random = np.random.default_rng(0)
    centres, points = random.normal(size=(64, 4)), random.normal(size=(500, 4))
    ad.jit(ad.grad(steps))(centres, points)
    for layout in layouts:
        scheduler = layout.scheduler
        inlined = [scheduler.graph.producers[variable] for variable in scheduler.inlined]
        assert all(len(scheduler.reads(n)) <= recomputing.MOST_READ_AGAIN for n in inlined)


@pytest.mark.parametrize("shape", [(40, 16), (33, 30), (100, 9)])
def test_a_mask_that_another_loop_has_in_registers_is_not_asked(shape: tuple[int, int]) -> None:
    """Of a program as it is derived, where the loop of the sums reads the mask as numbers."""
    random = np.random.default_rng(0)
    centres, points = random.normal(size=(shape[0], 2)), random.normal(size=(shape[1], 2))

    def nearest(centres: Any, points: Any) -> Any:
        return np.sum(np.max(points[:, :1] * np.exp(centres[:, 0]), 1))

    compare(ad.program(ad.grad(nearest), centres, points).program, [centres, points], False)
