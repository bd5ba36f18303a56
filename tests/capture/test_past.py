"""Values that an earlier call at the same point has left: no derivative is lost unsaid."""

from __future__ import annotations

import types
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import DroppedDerivativeError, StaleValueWarning

X = np.array([0.7, 1.3, 2.1])


def by_equality() -> Callable[[Any], Any]:
    kept = types.SimpleNamespace(key=None)

    def features(x: Any) -> Any:
        if kept.key is None or not np.array_equal(kept.key, x):
            kept.key, kept.value = x.copy(), np.sin(x)
        return kept.value

    return features


def by(key_of: Callable[[Any], Any]) -> Callable[[], Callable[[Any], Any]]:
    def make() -> Callable[[Any], Any]:
        memo: dict[Any, Any] = {}

        def features(x: Any) -> Any:
            key = key_of(x)
            if key not in memo:
                memo[key] = np.sin(x)
            return memo[key]

        return features

    return make


def of_tuples() -> Callable[[Any], Any]:
    memo: dict[Any, Any] = {}

    def features(x: Any) -> Any:
        key = x.tobytes()
        if key not in memo:
            memo[key] = ("sine", np.sin(x), [np.cos(x)])
        return memo[key][1] + 0.0 * memo[key][2][0]

    return features


def of_slots() -> Callable[[Any], Any]:
    class Cache:
        __slots__ = ("key", "value")

    cache = Cache()
    cache.key = None

    def features(x: Any) -> Any:
        if cache.key != x.tolist():
            cache.key, cache.value = x.tolist(), np.sin(x)
        return cache.value

    return features


CACHES = {
    "equality": by_equality,
    "bytes": by(lambda x: x.tobytes()),
    "tuple": by(lambda x: tuple(x.tolist())),
    "text": by(str),
    "rounding": by(lambda x: tuple(round(float(v), 6) for v in x)),
    "tuples": of_tuples,
    "slots": of_slots,
}


def gradient(function: Any, x: Any) -> Any:
    return ad.grad(function)(x)


def forward(function: Any, x: Any) -> Any:
    return np.array([ad.jvp(function, (x,), (row,))[1] for row in np.eye(len(x))])


def jitted(function: Any, x: Any) -> Any:
    return ad.jit(ad.grad(function))(x)


@pytest.fixture(params=CACHES)
def loss(request: pytest.FixtureRequest) -> Callable[[Any], Any]:
    features = CACHES[request.param]()

    def loss(x: Any) -> Any:
        return np.sum(features(x) * 0.9 * x)

    return loss


SLOPE = 0.9 * (np.sin(X) + X * np.cos(X))


@pytest.mark.parametrize("way", [gradient, jitted])
def test_plain_numpy_works_on_a_hit_before_it_meets_a_traced_array(loss: Any, way: Any) -> None:
    np.testing.assert_allclose(way(loss, X), SLOPE)
    for _ in range(3):
        with pytest.raises(DroppedDerivativeError, match="at the same point"):
            way(loss, X)
    np.testing.assert_allclose(way(loss, 2 * X), 0.9 * (np.sin(2 * X) + 2 * X * np.cos(2 * X)))


def test_forward_mode_at_one_point(loss: Any) -> None:
    ad.jvp(loss, (X,), (np.ones(3),))
    for row in np.eye(3):  # the tangents are no part of the point
        with pytest.raises(DroppedDerivativeError, match="at the same point"):
            ad.jvp(loss, (X,), (row,))


def test_another_batch_at_one_point() -> None:
    features = by_equality()

    def loss(x: Any, batch: Any) -> Any:
        return np.sum(features(x) * 0.9 * batch)

    ad.grad(loss)(X, np.ones(3))
    with pytest.raises(DroppedDerivativeError, match="at the same point"):
        ad.grad(loss)(X, np.zeros(3))


def test_the_error_names_the_line() -> None:
    features = by_equality()

    def loss(x: Any) -> Any:
        scaled = features(x) * 0.9
        return np.sum(scaled * x)  # here

    ad.grad(loss)(X)
    with pytest.raises(DroppedDerivativeError) as caught:
        ad.grad(loss)(X)
    line = loss.__code__.co_firstlineno + 2
    assert f"{__file__}:{line}" in caught.value.__notes__[0]


def test_values_that_are_kept_and_compared_are_no_matter() -> None:
    history: list[float] = []
    best = types.SimpleNamespace(loss=np.inf, point=None)

    def loss(x: Any) -> Any:
        value = np.sum(np.sin(x))
        if value < best.loss or (history and value == history[-1]):
            best.loss, best.point = value, x.copy()
        history.append(float(value))
        if np.mean(history) < 1.0 or len(set(history)) > 1:
            value = value * 2
        return value

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(5):
            np.testing.assert_allclose(ad.grad(loss)(X), np.cos(X))
    assert [type(each) for each in history] == [float] * 5
    assert len(set(history)) == 1
    assert type(best.point) is np.ndarray


def test_stop_gradient_says_that_none_is_wanted() -> None:
    features = by_equality()

    def loss(x: Any) -> Any:
        return np.sum(ad.stop_gradient(features(x) * 0.9) * x)

    for _ in range(3):
        np.testing.assert_allclose(ad.grad(loss)(X), 0.9 * np.sin(X))


def test_what_was_left_is_the_same_object_afterwards() -> None:
    state = types.SimpleNamespace(value=None, others=[])

    def loss(x: Any) -> Any:
        if state.value is None:
            state.value = np.sin(x)
            state.others = [state.value, (state.value, 2.0 * x[0])]
        return np.sum(x)

    ad.grad(loss)(X)
    value, number = state.value, state.others[1][1]
    ad.grad(loss)(X)
    assert state.value is value is state.others[0] is state.others[1][0]
    assert state.others[1][1] is number


def test_what_was_left_is_written_into() -> None:
    state = types.SimpleNamespace(value=None)

    def loss(x: Any) -> Any:
        if state.value is None:
            state.value = np.sin(x)
        state.value[0] = x[1] * 2
        state.value[1] += 1.0
        return np.sum(x)

    ad.grad(loss)(X)
    value = state.value
    ad.grad(loss)(X)
    assert state.value is value
    np.testing.assert_allclose(value, [2 * X[1], np.sin(X[1]) + 2, np.sin(X[2])])


def test_what_follows_from_it_is_numpys_and_remembered() -> None:
    state = types.SimpleNamespace(value=None)

    def loss(x: Any) -> Any:
        state.value = np.sin(x) if state.value is None else state.value * 0.5
        return np.sum(x)

    ad.grad(loss)(X)
    ad.grad(loss)(X)
    assert type(state.value) is np.ndarray
    np.testing.assert_allclose(state.value, np.sin(X) / 2)
    with pytest.raises(DroppedDerivativeError, match="at the same point"):
        ad.grad(lambda x: np.sum(state.value * 2.0 * x) if x[0] > 0 else x[0])(X)


def test_a_cache_in_arrays_that_are_written_into() -> None:
    cache = types.SimpleNamespace(key=np.zeros(3), value=np.zeros(3))

    def loss(x: Any) -> Any:
        if not np.array_equal(cache.key, x):
            cache.key[:] = x
            cache.value[:] = np.sin(x)
        return np.sum(cache.value * 0.9 * x)

    np.testing.assert_allclose(ad.grad(loss)(X), SLOPE)
    for _ in range(2):
        with pytest.raises(DroppedDerivativeError, match="at the same point"):
            ad.grad(loss)(X)


def test_steps_in_time_at_one_point() -> None:
    class Oscillator:
        def __init__(self) -> None:
            self.state = np.array([1.0, 0.0])

        def advance(self, stiffness: Any) -> Any:
            self.state[1] -= 0.1 * stiffness * self.state[0]
            self.state[0] += 0.1 * self.state[1]
            return self.state[0]

    ours, plain = Oscillator(), Oscillator()
    for _ in range(4):
        slope = -0.01 * plain.state[0]
        plain.advance(2.0)
        np.testing.assert_allclose(ad.grad(ours.advance)(2.0), slope)
        np.testing.assert_allclose(ours.state, plain.state)


def test_where_nothing_is_asked_nothing_is_found_by_the_point() -> None:
    state = types.SimpleNamespace(mean=None)

    def loss(x: Any) -> Any:
        state.mean = np.sin(x) if state.mean is None else 0.5 * state.mean + 0.5 * np.sin(x)
        return np.sum(state.mean * x)

    ad.grad(loss)(X)
    for _ in range(3):
        before = state.mean
        with pytest.warns(StaleValueWarning, match="an earlier call"):
            found = ad.grad(loss)(X)
        mean = 0.5 * before + 0.5 * np.sin(X)
        np.testing.assert_allclose(found, mean + 0.5 * X * np.cos(X))
        np.testing.assert_allclose(state.mean, mean)


def test_a_warning_is_said_at_each_call() -> None:
    kept: list[Any] = []
    ad.grad(lambda x: kept.append(2 * x) or x)(3.0)
    gradient = ad.grad(lambda y: y * kept[0])
    for _ in range(5):
        with pytest.warns(StaleValueWarning, match="an earlier call"):
            assert gradient(1.0) == 6
