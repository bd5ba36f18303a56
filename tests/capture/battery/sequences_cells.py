"""Cells, functions in containers, caches and star arguments that change between calls."""

from __future__ import annotations

import functools
import operator
import types

import numpy as np

from tests.capture.battery.registry import sequence

ROW = np.array([0.7, 1.3])


@sequence
def lambdas_made_in_a_loop():
    for k in range(4):
        yield (lambda x, k=k: np.sum(x**2) * k), ROW
        yield (lambda x: np.sum(x**2) * k), ROW


@sequence
def lambdas_that_share_a_cell():
    functions = [lambda x: np.sum(x**2) * k for k in range(3)]
    for f in functions:
        yield f, ROW


@sequence
def functions_from_one_factory():
    def make(n):
        def f(x):
            return np.sum(x**n)

        return f

    functions = [make(n) for n in (1, 2, 3)]
    for f in (*functions, *functions, *reversed(functions)):
        yield f, ROW


@sequence
def a_function_in_a_cell():
    def f(x):
        return np.sum(inner(x))

    for inner in (np.sin, np.sin, np.cos, np.sin, lambda v: v**2, np.square):
        yield f, ROW


@sequence
def a_function_in_a_list():
    steps = [np.sin]

    def f(x):
        for step in steps:
            x = step(x)
        return np.sum(x)

    yield f, ROW
    yield f, ROW
    steps.append(np.exp)
    yield f, ROW
    steps.reverse()
    yield f, ROW
    steps[:] = [np.tanh]
    yield f, ROW


@sequence
def a_method_in_a_cell():
    class Scale:
        def __init__(self, value):
            self.value = value

        def apply(self, v):
            return v * self.value

    scale = Scale(2.0)
    apply = scale.apply

    def f(x):
        return np.sum(apply(x) ** 2)

    for value in (2.0, 2.0, 3.0):
        scale.value = value
        yield f, ROW
    apply = Scale(5.0).apply
    yield f, ROW


@sequence
def a_decorated_function():
    log = []

    def scaled(by):
        def decorate(function):
            @functools.wraps(function)
            def wrapper(*args):
                log.append(by)
                return by * function(*args)

            return wrapper

        return decorate

    def base(x):
        return np.sum(x**2)

    for by in (2.0, 2.0, 3.0, 2.0):
        yield scaled(by)(base), ROW


@sequence
def wrapped_function_bound_anew():
    def wrapper(x):
        return wrapper.__wrapped__(x) * 2

    for wrapper.__wrapped__ in (np.sum, np.sum, np.prod, np.sum):
        yield wrapper, ROW


@sequence
def recursion_through_a_cell():
    def power(v, n):
        return 1.0 if n == 0 else v * power(v, n - 1)

    def f(x):
        return np.sum(power(x, depth))

    for depth in (2, 2, 4, 0, 2):
        yield f, ROW


@sequence
def recursion_that_is_bound_anew():
    def power(v, n):
        return 1.0 if n == 0 else v * power(v, n - 1)

    def f(x):
        return np.sum(power(x, 3))

    kept = power
    yield f, ROW
    yield f, ROW

    def power(v, n):
        return v**n + 1.0

    yield f, ROW
    power = kept
    yield f, ROW


@sequence
def an_unbound_cell():
    def f(x):
        return np.sum(later * x)

    yield f, ROW
    later = 2.0
    yield f, ROW
    del later
    yield f, ROW
    later = 3.0
    yield f, ROW


@sequence
def a_function_built_by_types():
    template = eval("lambda x: np.sum(level * x**2)").__code__
    for level in (1.0, 1.0, 2.0, 1.0):
        yield types.FunctionType(template, {"np": np, "level": level}), ROW


@sequence
def one_code_in_two_globals():
    source = compile("def f(x):\n    return np.sum(scale * x**2)", "somewhere", "exec")
    spaces = [{"np": np, "scale": 1.0}, {"np": np, "scale": 2.0}]
    for space in spaces:
        exec(source, space)
    for k in (0, 1, 0, 1):
        yield spaces[k]["f"], ROW
    spaces[0]["scale"] = 7.0
    yield spaces[0]["f"], ROW
    yield spaces[1]["f"], ROW


@sequence
def an_itemgetter_and_its_place():
    def f(x):
        return get(x) ** 2

    for get in (operator.itemgetter(0), operator.itemgetter(0), operator.itemgetter(1)):
        yield f, ROW


@sequence
def a_generator_in_a_cell():
    def f(x):
        return np.sum(x) * next(numbers)

    numbers = iter([1.0, 2.0, 3.0, 4.0, 5.0])
    for _ in range(4):
        yield f, ROW


@sequence
def an_iterator_that_ends():
    def f(x):
        return np.sum(x) * next(numbers, 10.0)

    numbers = iter([1.0, 2.0])
    for _ in range(4):
        yield f, ROW


@sequence
def a_cache_that_is_cleared():
    @functools.cache
    def weights(n):
        return base * np.arange(1.0, n + 1)

    def f(x):
        return np.sum(weights(2) * x**2)

    base = 1.0
    yield f, ROW
    yield f, ROW
    base = 2.0
    yield f, ROW  # the cache has the old weights
    weights.cache_clear()
    yield f, ROW
    yield f, ROW


@sequence
def a_memo_that_is_filled_by_the_function():
    memo = {}

    def f(x):
        if "scale" not in memo:
            memo["scale"] = start
        return np.sum(x**2) * memo["scale"]

    start = 2.0
    yield f, ROW
    start = 5.0
    yield f, ROW
    memo.clear()
    yield f, ROW
    yield f, ROW


@sequence
def the_closure_of_an_inner_function():
    def f(x):
        def inner(v):
            return v * scale

        return sum(inner(v) ** 2 for v in x)

    for scale in (1.0, 1.0, 2.0, 1.0):
        yield f, ROW


@sequence
def a_comprehension_over_a_cell():
    def f(x):
        return sum([w * v for w, v in zip(weights, x, strict=False)])

    for weights in ([1.0, 2.0], [1.0, 2.0], (1.0, 2.0), [2.0, 1.0], [3.0], {5.0: 1, 6.0: 2}):
        yield f, ROW


@sequence
def star_arguments_in_a_cell():
    def base(x, a, b=1.0):
        return np.sum(a * x**2) + b * x[0]

    def f(x):
        return base(x, *args, **kwargs)

    args, kwargs = (1.0,), {}
    yield f, ROW
    yield f, ROW
    args = (2.0,)
    yield f, ROW
    kwargs = {"b": 4.0}
    yield f, ROW
    kwargs["b"] = 5.0
    yield f, ROW
    args, kwargs = (1.0,), {}
    yield f, ROW
