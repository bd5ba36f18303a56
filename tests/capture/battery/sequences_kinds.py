"""Arguments of other kinds: objects, functions, words, whole numbers, call by call."""

from __future__ import annotations

import types
from typing import NamedTuple

import numpy as np

from tests.capture.battery.registry import sequence

ROW = np.array([0.7, 1.3])


class Pair(NamedTuple):
    """A tuple with names."""

    first: float
    second: float


@sequence
def tuples_with_and_without_names():
    def f(p):
        return p[0] * p[1] ** 2 * (2 if hasattr(p, "first") else 3)

    for p in (Pair(0.7, 1.3), (0.7, 1.3), Pair(0.7, 1.3), (0.7, 1.3)):
        yield f, p


@sequence
def an_object_that_changes():
    thing = types.SimpleNamespace(scale=1.0)

    def f(x, thing):
        return np.sum(x**2) * thing.scale

    for thing.scale in (1.0, 1.0, 2.0, 1.0):
        yield f, ROW, thing
    yield f, ROW, types.SimpleNamespace(scale=7.0)


@sequence
def an_object_of_a_class():
    class Model:
        def __init__(self, scale):
            self.scale = scale

        def apply(self, x):
            return np.sum(x**2) * self.scale

    def f(x, model):
        return model.apply(x)

    model = Model(1.0)
    yield f, ROW, model
    yield f, ROW, model
    model.scale = 3.0
    yield f, ROW, model
    yield f, ROW, Model(5.0)
    yield f, ROW, model


@sequence
def an_object_that_equals_another():
    class Size:
        def __init__(self, n):
            self.n = n

        def __eq__(self, other):
            return isinstance(other, Size)

        def __hash__(self):
            return 1

    def f(x, size):
        return np.sum(x**2) * size.n

    for size in (Size(1), Size(1), Size(2), Size(1)):
        yield f, ROW, size


@sequence
def a_set_as_argument():
    names = {"a"}

    def f(x, names):
        return np.sum(x**2) * len(names)

    yield f, ROW, names
    yield f, ROW, names
    names.add("b")
    yield f, ROW, names
    yield f, ROW, frozenset(names)


@sequence
def a_list_of_words_as_argument():
    names = ["a"]

    def f(x, names):
        return np.sum(x**2) * len("".join(names))

    yield f, ROW, names
    names.append("bcd")
    yield f, ROW, names
    names[0] = "ef"
    yield f, ROW, names


@sequence
def functions_as_arguments():
    def f(x, act):
        return np.sum(act(x))

    scale = 1.0

    def scaled(v):
        return scale * v

    for act in (np.sin, np.cos, np.sin, scaled, lambda v: v**2, scaled):
        yield f, ROW, act
        scale += 1.0
    yield f, ROW, scaled


@sequence
def integer_arrays():
    def f(x, n):
        return np.sum(x[n] ** 2) * n.dtype.itemsize

    for n in ([0, 1], [1, 1], [0], np.array([0, 1], np.int8), [True, False], [0, 1]):
        yield f, ROW, np.asarray(n)


@sequence
def lists_of_whole_numbers():
    def f(x, n):
        return sum(x[k] ** 2 for k in n)

    n = [0, 1]
    yield f, ROW, n
    n[0] = 1
    yield f, ROW, n
    n.append(0)
    yield f, ROW, n
    yield f, ROW, (1, 1, 0)


@sequence
def the_same_array_changed_in_place():
    x = ROW.copy()

    def f(x):
        return np.sum(x**2) if x[0] > 0 else np.sum(np.exp(x))

    for x[0] in (0.7, 0.7, -0.7, 0.7, 2.0):
        yield f, x


@sequence
def an_inactive_array_changed_in_place():
    mask = np.array([1, 0])

    def f(x, mask):
        return np.sum(x**2 * mask) + x[mask[0]]

    for mask[0] in (1, 1, 0, 1):
        yield f, ROW, mask


@sequence
def the_same_array_twice():
    def f(x, y):
        return np.sum(x * y) * (2.0 if x is y else 3.0)

    one, other = ROW.copy(), ROW.copy()
    for y in (other, other):
        yield f, one, y


@sequence
def questions_with_both_answers():
    def f(x):
        return np.sum(x**2) if np.sum(x) > 1 else np.sum(np.sin(x))

    for scale in (1.0, 0.1, 1.0, 0.1, 2.0, 0.2, -1.0):
        yield f, ROW * scale


@sequence
def loops_of_other_lengths():
    def f(x):
        rounds = 0
        while x > 1:
            x, rounds = x / 2, rounds + 1
        return x * (1 + rounds)

    for x in (0.7, 1.7, 3.5, 0.7, 100.0, 1.7, 3.4):
        yield f, x


@sequence
def whole_numbers_as_lengths():
    def f(x, n):
        y = np.zeros(n)
        for k in range(n):
            y[k] = x**k
        return np.sum(y)

    for n in (3, 3, 4, 0, 3, 1):
        yield f, 0.7, n


@sequence
def orders_of_sorting():
    def f(x):
        return np.sum(np.sort(x) * np.arange(3)) + x[np.argmax(x)] * 10

    for x in ([1.0, 2.0, 3.0], [3.0, 2.0, 1.0], [1.0, 2.0, 3.0], [2.0, 9.0, 1.0]):
        yield f, np.array(x)


@sequence
def looked_up_places():
    table = {0: 2.0, 1: 3.0, 2: 5.0}

    def f(x):
        return table[int(np.argmax(x))] * np.sum(x)

    for k in (0, 1, 0, 2, 1):
        yield f, np.where(np.arange(3) == k, 2.0, 1.0)


@sequence
def sets_of_entries():
    def f(x):
        return len({float(v) for v in x}) * x[-1]

    for x in ([1.0, 2.0, 3.0], [1.0, 2.0, 3.5], [4.0, 2.0, 3.0], [1.0, 5.0, 3.0]):
        yield f, np.array(x)


@sequence
def keyword_only_by_partial():
    import functools

    def base(x, *, power, scale=1.0):
        return scale * np.sum(x**power)

    for keywords in ({"power": 2}, {"power": 3}, {"power": 2, "scale": 2.0}, {"power": 2.0}):
        yield functools.partial(base, **keywords), ROW


@sequence
def errors_and_good_calls_by_turns():
    def f(x):
        if len(x) != 2:
            raise ValueError("two are needed")
        return x[0] * x[1]

    for x in (ROW, np.ones(3), ROW, np.ones(1), ROW * 2):
        yield f, x


@sequence
def singular_matrices_by_turns():
    def f(a):
        try:
            return np.sum(np.linalg.cholesky(a))
        except np.linalg.LinAlgError:
            return np.trace(a)

    good, bad = np.array([[2.0, 0.3], [0.3, 1.0]]), np.array([[1.0, 2.0], [2.0, 1.0]])
    for a in (good, good, bad, good, bad):
        yield f, a


@sequence
def python_numbers_in_lists():
    def f(p):
        return p[0] ** 2 * p[1] * (2 if isinstance(p[1], np.floating) else 3)

    for p in ([0.7, 1.3], [0.7, np.float64(1.3)], [0.7, 1.3], [np.float64(0.7), 1.3]):
        yield f, p
