"""The program cache: what it finds again, how it is bounded, and that threads may share it."""

from __future__ import annotations

import gc
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import adjoint as ad
from adjoint import pipeline

X = np.array([0.5, -1.0, 2.0])


@pytest.fixture(autouse=True)
def empty_cache():
    """An empty cache, which is asked at every call."""
    ad.cache_clear()
    with ad.config(replay=False):
        yield
    ad.cache_clear()


def misses(take):
    before = ad.cache_info().misses
    take()
    return ad.cache_info().misses - before


# --- what is found again --------------------------------------------------------------------------


def test_counts():
    gradient = ad.grad(lambda x: np.sum(np.sin(x)))
    for _ in range(3):
        gradient(X)
    info = ad.cache_info()
    assert (info.hits, info.misses, info.size) == (2, 1, 1)
    ad.cache_clear()
    assert ad.cache_info() == info._replace(hits=0, misses=0, size=0)


def test_programs_are_found_by_structure_and_not_by_function():
    def build(scale, data):
        return ad.grad(lambda x: np.sum(np.sin(x) * data) * scale)

    assert misses(lambda: build(2.0, X)(X)) == 1
    assert misses(lambda: build(3.0, X + 1)(2 * X)) == 0
    np.testing.assert_allclose(build(3.0, X + 1)(2 * X), 3 * (X + 1) * np.cos(2 * X))


@pytest.mark.parametrize(
    "other",
    [
        lambda: ad.grad(lambda x: np.sum(np.sin(x)))(X[:2]),
        lambda: ad.grad(lambda x: np.sum(np.sin(x)))(X.astype(np.float32)),
        lambda: ad.grad(lambda x: np.sum(np.cos(x)))(X),
        lambda: ad.grad(lambda x: np.sum(np.sin(x)[1:]))(X),
        lambda: ad.value_and_grad(lambda x: np.sum(np.sin(x)))(X),
        lambda: ad.linearize(lambda x: np.sum(np.sin(x)), X),
    ],
)
def test_what_differs_is_not_found(other):
    ad.grad(lambda x: np.sum(np.sin(x)))(X)
    assert misses(other) == 1


def test_values_of_constants_are_never_stale():
    data = X.copy()
    state = {"scale": 2.0}

    def function(x):
        return np.sum(x * data) * state["scale"]

    np.testing.assert_array_equal(ad.grad(function)(X), 2 * X)
    data[:] = 7
    state["scale"] = 3.0
    np.testing.assert_array_equal(ad.grad(function)(X), np.full(3, 21.0))


def test_branches_are_programs_of_their_own():
    gradient = ad.grad(lambda x: x**2 if x > 0 else -3 * x)
    assert [gradient(x) for x in (2.0, -2.0, 3.0, -1.0)] == [4, -3, 6, -3]
    assert ad.cache_info().size == 2


def test_the_kink_is_part_of_the_key():
    found = []
    for weight in (0.0, 1.0, 0.0):
        with ad.config(kink=weight):
            found.append(ad.grad(np.abs)(0.0))
    assert found == [-1, 1, -1]


def test_switching_strong_zeros_needs_no_new_program():
    gradient = ad.grad(lambda x: np.sum(np.where(x > 0, np.log(x), 0)))
    x = np.array([1.0, 0.0])
    for strong in (True, False, True):
        with ad.config(strong_zeros=strong), np.errstate(divide="ignore"):
            assert np.isnan(gradient(x)[1]) != strong
    assert ad.cache_info().size == 1


def test_the_cache_is_bounded(monkeypatch):
    monkeypatch.setattr(pipeline, "CACHE_LIMIT", 8)
    for n in range(30):
        ad.grad(lambda x: np.sum(np.sin(x)))(np.ones(n + 1))
        assert ad.cache_info().size <= 8
    assert ad.cache_info().limit == 8


def test_programs_in_use_stay_when_others_go(monkeypatch):
    monkeypatch.setattr(pipeline, "CACHE_LIMIT", 8)
    favourite = ad.grad(lambda x: np.sum(np.cos(x)))
    favourite(X)
    for n in range(30):
        ad.grad(lambda x: np.sum(np.sin(x)))(np.ones(n + 1))
        assert misses(lambda: favourite(X)) == 0


def test_the_cache_keeps_no_data_alive():
    def differentiate():
        data = np.ones(1 << 16)
        ad.grad(lambda x: np.sum(x * data))(np.ones(1 << 16))
        return weakref.ref(data)

    held = differentiate()
    gc.collect()
    assert held() is None


# --- threads --------------------------------------------------------------------------------------


def test_many_threads_and_many_functions():
    start = threading.Barrier(8)

    def work(seed):
        rng = np.random.default_rng(seed)
        start.wait()
        for _ in range(25):
            n, power, x = int(rng.integers(1, 6)), int(rng.integers(2, 6)), rng.normal(size=3)
            scale = rng.normal()

            def function(x, n=n, power=power, scale=scale):
                for _ in range(n):
                    x = x * scale
                return np.sum(x**power)

            expected = power * x ** (power - 1) * scale ** (n * power)
            np.testing.assert_allclose(ad.grad(function)(x), expected, rtol=1e-10)
            hessian = ad.hessian(function)(x)
            assert hessian.shape == (3, 3)
            np.testing.assert_allclose(np.diag(hessian) * x, (power - 1) * expected, rtol=1e-9)
        return True

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))


def test_one_jitted_function_in_many_threads():
    jitted = ad.jit(ad.grad(lambda x: np.sum(np.sin(x))))
    start = threading.Barrier(8)

    def work(seed):
        start.wait()
        for n in range(1, 20):
            x = np.full(n, float(seed))
            np.testing.assert_allclose(jitted(x), np.cos(x), rtol=1e-15)
        return True

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))


def test_one_linear_map_in_many_threads():
    _, linear = ad.linearize(np.sin, X)
    start = threading.Barrier(8)

    def work(seed):
        start.wait()
        u = np.full(3, float(seed))
        np.testing.assert_array_equal(linear(u), np.cos(X) * u)
        np.testing.assert_array_equal(linear.H(u), np.cos(X) * u)
        return True

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))


def test_settings_are_those_of_the_thread():
    def work():
        return ad.grad(np.abs)(0.0)

    with ad.config(kink=1.0), ThreadPoolExecutor(1) as pool:
        assert pool.submit(work).result() == 0  # a new thread has the defaults
        assert work() == 1


def test_functions_that_are_gone_keep_no_data_alive():
    class Model:
        def __init__(self):
            self.weights = np.ones(3)
            self.loss = lambda x: np.sum(self.weights * x)

    def recursive():
        data = np.ones(3)

        def again(x, n):
            return x * data if n == 0 else again(x * data, n - 1)

        ad.grad(lambda x: np.sum(again(x, 2)))(np.ones(3))
        return weakref.ref(data)

    def each_other():
        data = np.ones(3)

        def one(x, n):
            return x * data if n == 0 else other(x, n - 1)

        def other(x, n):
            return one(x + data, n)

        ad.grad(lambda x: np.sum(one(x, 2)))(np.ones(3))
        return weakref.ref(data)

    def in_an_object():
        model = Model()
        ad.grad(model.loss)(np.ones(3))
        ad.grad(lambda x: model.loss(x))(np.ones(3))
        return weakref.ref(model.weights)

    def in_a_container():
        data, steps = np.ones(3), {}
        steps["first"] = lambda x: np.sum(x * data) if steps else 0.0
        ad.grad(steps["first"])(np.ones(3))
        return weakref.ref(data)

    def by_default():
        model = Model()

        def loss(x, model=model):
            return np.sum(model.weights * x)

        model.loss = ad.jit(ad.grad(loss))
        model.loss(np.ones(3))
        return weakref.ref(model.weights)

    def by_default_of_a_name():
        model = Model()

        def loss(x, *, model=model):
            return np.sum(model.weights * x)

        model.loss = ad.jit(loss)
        model.loss(np.ones(3))
        return weakref.ref(model.weights)

    def as_an_attribute():
        data = np.ones(3)

        def loss(x):
            return np.sum(x * data)

        loss.gradient = ad.grad(loss)
        loss.gradient(np.ones(3))
        return weakref.ref(data)

    ways = (recursive, each_other, in_an_object, in_a_container)
    for differentiate in (*ways, by_default, by_default_of_a_name, as_an_attribute):
        held = differentiate()
        gc.collect()
        assert held() is None, differentiate.__name__
