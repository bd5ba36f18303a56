"""Caches of `functools`, whose functions depend on more than their arguments."""

from __future__ import annotations

import functools

import numpy as np

from tests.capture.battery.registry import sequence

ROW = np.array([0.7, 1.3])


@sequence
def a_cached_method_of_an_object_that_changes():
    class Model:
        scale = 2.0

        @functools.lru_cache(maxsize=8)  # noqa: B019
        def table(self, n):
            return np.arange(1.0, n + 1) * self.scale

        def loss(self, x):
            return np.sum(self.table(2) * x**2)

    model = Model()
    for scale in (2.0, 3.0, 3.0, 5.0):
        model.scale = scale
        yield model.loss, ROW
    Model.table.cache_clear()
    yield model.loss, ROW
    yield model.loss, 2 * ROW


@sequence
def a_cached_function_that_counts_its_runs():
    runs = []

    @functools.cache
    def nodes(n):
        runs.append(n)
        return np.linspace(0, 1, n)

    def f(x):
        return np.sum(np.outer(x, nodes(3))) + len(runs)

    for _ in range(4):
        yield f, ROW
    yield (lambda x: f(x) + np.sum(nodes(4)[1:3] * x)), ROW
    nodes.cache_clear()
    yield f, ROW


@sequence
def a_cached_function_is_called_by_numpy_alone_first():
    state = {"scale": 2.0}

    @functools.lru_cache
    def weights(n, power=1):
        return tuple(state["scale"] * k**power for k in range(1, n + 1))

    def f(x):
        return weights(2)[0] * x[0] ** 2 + weights(2, power=2)[1] * x[1]

    weights(2)
    state["scale"] = 4.0
    yield f, ROW
    state["scale"] = 5.0
    yield f, ROW
    weights.cache_clear()
    yield f, ROW
    yield f, ROW


@sequence(smooth=False)
def a_cached_helper_of_traced_numbers_whose_object_changes():
    class Law:
        exponent = 2

        @functools.lru_cache(None)  # noqa: B019
        def power(self, v):
            return v**self.exponent

        def loss(self, x):
            return self.power(x[0]) * x[1] + self.power(x[0])

    law = Law()
    yield law.loss, ROW
    yield law.loss, ROW
    law.exponent = 3
    yield law.loss, ROW
    yield law.loss, 2 * ROW


@sequence
def a_cached_method_of_what_is_differentiated():
    class Model:
        @functools.cache  # noqa: B019
        def features(self):
            return np.sin(self.x)

        def loss(self, x):
            self.x = x
            return np.sum(self.features() * x)

    model = Model()
    for point in (ROW, ROW, 2 * ROW):
        yield model.loss, point
    for point in (ROW, ROW, 2 * ROW, ROW):
        yield (lambda x: Model().loss(x)), point


@sequence
def a_bounded_cache_forgets():
    runs = []

    @functools.lru_cache(maxsize=2)
    def factor(n):
        runs.append(n)
        return float(n)

    def f(x):
        return sum(factor(n) * x[n % 2] for n in (1, 2, 1, 3, 2)) + len(runs)

    for _ in range(4):
        yield f, ROW


@sequence
def a_cached_function_that_raises():
    tried = []

    @functools.cache
    def root(n):
        tried.append(n)
        if len(tried) < 3:
            raise ValueError(n)
        return np.sqrt(n)

    def f(x):
        try:
            return root(2) * np.sum(x)
        except ValueError:
            return np.sum(x) * len(tried)

    for _ in range(5):
        yield f, ROW
