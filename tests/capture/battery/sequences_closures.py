"""Closures, defaults and code of functions that change between calls."""

from __future__ import annotations

import functools

import numpy as np

from tests.capture.battery.registry import sequence

ROW = np.array([0.7, 1.3])


@sequence
def a_cell():
    scale = 1.0

    def f(x):
        return np.sum(scale * x**2)

    for scale in (1.0, 1.0, 2.0, 2.0, 1.0, -1.0):
        yield f, ROW


@sequence
def a_cell_by_nonlocal():
    scale = 1.0

    def set_scale(value):
        nonlocal scale
        scale = value

    def f(x):
        return np.sum(scale * x**2)

    for value in (1.0, 1.0, 2.0, 1.0):
        set_scale(value)
        yield f, ROW


@sequence
def a_cell_by_its_contents():
    scale = 1.0

    def f(x):
        return np.sum(scale * x**2)

    for value in (1.0, 1.0, 2.0, 1.0):
        f.__closure__[0].cell_contents = value
        yield f, ROW


@sequence
def a_cell_of_a_cell():
    def make():
        inner = 1.0

        def set_inner(value):
            nonlocal inner
            inner = value

        return (lambda v: inner * v), set_inner

    helper, set_inner = make()

    def f(x):
        return np.sum(helper(x) ** 2)

    for value in (1.0, 1.0, 3.0, 1.0):
        set_inner(value)
        yield f, ROW


@sequence
def an_array_in_a_cell_written():
    data = np.array([1.0, 2.0])

    def f(x):
        return np.sum(data * x**2)

    for value in (1.0, 1.0, 5.0, 1.0):
        data[0] = value
        yield f, ROW


@sequence
def an_array_in_a_cell_bound_anew():
    data = np.ones(2)

    def f(x):
        return np.sum((x - data) ** 2)

    for n in (1, 1, 3, 2):
        data = np.full((n, 2), 0.5) * np.arange(1, n + 1)[:, None]
        yield f, ROW


@sequence
def a_default():
    def helper(x, scale=2.0):
        return scale * x

    def f(x):
        return np.sum(helper(x) ** 2)

    for value in (2.0, 2.0, 5.0, 2.0):
        helper.__defaults__ = (value,)
        yield f, ROW
        yield f, ROW


@sequence
def a_default_of_the_function_itself():
    def f(x, scale=2.0):
        return np.sum(scale * x**2)

    for value in (2.0, 2.0, 5.0, 2.0):
        f.__defaults__ = (value,)
        yield f, ROW


@sequence
def a_keyword_default():
    def helper(x, *, scale=2.0):
        return scale * x

    def f(x):
        return np.sum(helper(x) ** 2)

    for value in (2.0, 2.0, 5.0, 2.0):
        helper.__kwdefaults__ = {"scale": value}
        yield f, ROW


@sequence
def a_keyword_default_in_place():
    def helper(x, *, scale=2.0):
        return scale * x

    def f(x):
        return np.sum(helper(x) ** 2)

    for value in (2.0, 2.0, 5.0, 2.0):
        helper.__kwdefaults__["scale"] = value
        yield f, ROW


@sequence
def defaults_that_go():
    def helper(x, scale=2.0):
        return scale * x

    def f(x):
        return np.sum(helper(x) ** 2)

    yield f, ROW
    helper.__defaults__ = None
    yield f, ROW
    helper.__defaults__ = (3.0,)
    yield f, ROW


@sequence
def a_mutable_default():
    def helper(x, seen=[1.0]):  # noqa: B006
        return x * sum(seen)

    def f(x):
        return np.sum(helper(x) ** 2)

    for value in (1.0, 2.0, 3.0):
        yield f, ROW
        yield f, ROW
        helper.__defaults__[0].append(value)


@sequence
def a_mutable_default_that_remembers():
    def f(x, seen=[]):  # noqa: B006
        seen.append(1)
        return np.sum(x) * len(seen)

    for _ in range(5):
        yield f, ROW


@sequence
def an_array_as_default():
    def f(x, weights=np.array([1.0, 2.0])):  # noqa: B008
        return np.sum(weights * x**2)

    for value in (1.0, 1.0, 4.0, 1.0):
        f.__defaults__[0][0] = value
        yield f, ROW


@sequence
def the_code_of_a_helper():
    def helper(v):
        return v**2

    def other(v):
        return v**3

    first, second = helper.__code__, other.__code__

    def f(x):
        return np.sum(helper(x))

    for code in (first, first, second, second, first):
        helper.__code__ = code
        yield f, ROW


@sequence
def the_code_of_the_function_itself():
    def f(x):
        return np.sum(x**2)

    def other(x):
        return np.sum(x**3)

    first, second = f.__code__, other.__code__
    for code in (first, first, second, first):
        f.__code__ = code
        yield f, ROW


@sequence
def a_constant_of_the_code():
    def f(x):
        return np.sum(x * 2.5)

    first = f.__code__
    for value in (2.5, 2.5, 7.5, 2.5):
        f.__code__ = first.replace(
            co_consts=tuple(value if c == 2.5 else c for c in first.co_consts)
        )
        yield f, ROW


@sequence
def an_attribute_of_the_function():
    def f(x):
        return np.sum(x**2) * f.scale

    for f.scale in (1.0, 1.0, 2.0, 1.0):
        yield f, ROW


@sequence
def an_attribute_of_a_helper():
    def helper(v):
        return v * helper.scale

    def f(x):
        return np.sum(helper(x))

    for helper.scale in (1.0, 1.0, 2.0, np.array([1.0, 5.0]), 1.0):
        yield f, ROW


@sequence
def counters_of_calls():
    def f(x):
        f.calls += 1
        return np.sum(x) * f.calls

    f.calls = 0
    for _ in range(4):
        yield f, ROW
    f.calls = 0
    yield f, ROW


@sequence
def a_counter_in_a_cell():
    calls = 0

    def f(x):
        nonlocal calls
        calls += 1
        return np.sum(x) * calls

    for point in (ROW, ROW, ROW * 2, ROW):
        yield f, point


@sequence
def partial_with_other_arguments():
    def base(scale, x):
        return np.sum(scale * x**2)

    for scale in (1.0, 1.0, 2.0, 1.0):
        yield functools.partial(base, scale), ROW


@sequence
def partial_with_other_keywords():
    def base(x, power=2):
        return np.sum(x**power)

    f = functools.partial(base, power=2)
    for power in (2, 2, 3, 2):
        f.keywords["power"] = power
        yield f, ROW
