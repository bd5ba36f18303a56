"""Lists, dictionaries and sets that change between calls."""

from __future__ import annotations

import collections
import types
from decimal import Decimal
from fractions import Fraction

import numpy as np

from tests.capture.battery.registry import sequence

ROW = np.array([0.7, 1.3])


@sequence
def an_entry_of_a_list():
    weights = [1.0, 2.0]

    def f(x):
        return weights[0] * x[0] ** 2 + weights[1] * x[1]

    for weights[0] in (1.0, 1.0, 3.0, 1.0):
        yield f, ROW


@sequence
def the_length_of_a_list():
    weights = [1.0]

    def f(x):
        return sum(w * x[0] ** k for k, w in enumerate(weights)) * x[1]

    for k in range(4):
        yield f, ROW
        yield f, ROW
        weights.append(float(k))
    del weights[1:]
    yield f, ROW


@sequence
def the_order_of_a_list():
    weights = [3.0, 1.0, 2.0]

    def f(x):
        return sum(w * x[0] ** k for k, w in enumerate(weights)) * x[1]

    yield f, ROW
    weights.sort()
    yield f, ROW
    weights.reverse()
    yield f, ROW
    weights.sort()
    yield f, ROW


@sequence
def a_list_in_a_list():
    rows = [[1.0, 2.0], [3.0]]

    def f(x):
        return sum(np.sum(x) * w for row in rows for w in row) + len(rows[1]) * x[0]

    yield f, ROW
    yield f, ROW
    rows[1].append(4.0)
    yield f, ROW
    rows[0][0] = 9.0
    yield f, ROW
    rows[1] = rows[0]
    yield f, ROW


@sequence
def the_order_of_a_dictionary():
    table = {"a": 1.0, "b": 2.0}

    def f(x):
        return sum(w * x[0] ** k for k, w in enumerate(table.values(), 1)) * x[1]

    yield f, ROW
    yield f, ROW
    table["a"] = table.pop("a")
    yield f, ROW
    table = {"a": 1.0, "b": 2.0}
    yield f, ROW


@sequence
def the_order_of_an_ordered_dictionary():
    table = collections.OrderedDict(a=1.0, b=2.0, c=3.0)

    def f(x):
        return sum(w * x[0] ** k for k, w in enumerate(table.values(), 1)) * x[1]

    yield f, ROW
    yield f, ROW
    table.move_to_end("a")
    yield f, ROW
    table.move_to_end("a", last=False)
    yield f, ROW
    table.popitem()
    yield f, ROW


@sequence
def keys_of_a_dictionary():
    table = {"first": 1.0}

    def f(x):
        return np.sum(x**2) * sum(len(key) for key in table)

    yield f, ROW
    table["second"] = 2.0
    yield f, ROW
    del table["first"]
    yield f, ROW
    table["first"] = 1.0
    yield f, ROW


@sequence
def a_missing_key():
    table = {}

    def f(x):
        return np.sum(x**2) * table.get("scale", 1.0)

    yield f, ROW
    yield f, ROW
    table["scale"] = 4.0
    yield f, ROW
    del table["scale"]
    yield f, ROW


@sequence
def a_key_that_raises():
    table = {}

    def f(x):
        try:
            return np.sum(x**2) * table["scale"]
        except KeyError:
            return np.sum(x)

    yield f, ROW
    table["scale"] = 4.0
    yield f, ROW
    table.clear()
    yield f, ROW


@sequence
def a_default_dictionary():
    table = collections.defaultdict(lambda: 3.0)

    def f(x):
        return np.sum(x**2) * table["scale"] + len(table) * x[0]

    yield f, ROW
    yield f, ROW
    table["scale"] = 5.0
    yield f, ROW
    table.default_factory = lambda: 7.0
    table.clear()
    yield f, ROW


@sequence
def a_chain_of_dictionaries():
    base, own = {"rate": 1.0}, {}
    chain = collections.ChainMap(own, base)

    def f(x):
        return np.sum(x**2) * chain["rate"]

    yield f, ROW
    yield f, ROW
    base["rate"] = 2.0
    yield f, ROW
    own["rate"] = 3.0
    yield f, ROW
    chain.maps.pop(0)
    yield f, ROW


@sequence
def a_view_of_a_dictionary():
    table = {"rate": 1.0}
    proxy = types.MappingProxyType(table)
    values = table.values()

    def f(x):
        return np.sum(x**2) * proxy["rate"] + sum(values) * x[0]

    for table["rate"] in (1.0, 1.0, 2.0):
        yield f, ROW
    table["other"] = 5.0
    yield f, ROW


@sequence
def a_set():
    names = {"square"}

    def f(x):
        total = np.sum(x**2) if "square" in names else np.sum(x)
        return total * len(names)

    yield f, ROW
    yield f, ROW
    names.add("other")
    yield f, ROW
    names.remove("square")
    yield f, ROW
    names.add("square")
    yield f, ROW


@sequence
def a_frozenset():
    def f(x):
        return np.sum(x**2) if 2 in numbers else np.sum(x)

    for numbers in (frozenset({1, 2}), frozenset({2, 1}), frozenset({1}), frozenset({2.0})):
        yield f, ROW


@sequence
def a_deque():
    window = collections.deque([1.0, 2.0], maxlen=2)

    def f(x):
        return sum(w * x[0] ** k for k, w in enumerate(window)) * x[1]

    for value in (1.0, 2.0, 5.0, 2.0):
        yield f, ROW
        window.append(value)
    window.rotate(1)
    yield f, ROW


@sequence
def a_counter():
    counts = collections.Counter("abca")

    def f(x):
        return np.sum(x**2) * counts["a"] + x[0] * counts["missing"]

    yield f, ROW
    counts.update("aa")
    yield f, ROW
    counts["missing"] = 4
    yield f, ROW


@sequence
def equal_but_different_keys():
    def f(x):
        key = next(iter(table))
        return x * {int: 2.0, bool: 3.0, float: 5.0, Fraction: 7.0, Decimal: 9.0}[type(key)]

    for key in (1, 1, True, 1.0, Fraction(1), Decimal(1), 1, True):
        table = {key: "one"}
        yield f, 0.7


@sequence
def equal_but_different_entries():
    def f(x):
        return x * {int: 2.0, bool: 3.0, float: 5.0, Fraction: 7.0, np.float64: 8.0}[type(row[0])]

    row = [1]
    for row[0] in (1, 1, True, 1.0, Fraction(1), np.float64(1.0), 1, True):
        yield f, 0.7


@sequence
def equal_but_different_tuples():
    def f(x):
        return np.sum(x * row[0]) + (x[0] if isinstance(row[0], float) else x[1])

    for row in ((1,), (1,), (1.0,), (True,), (1,), (1.0,)):
        yield f, ROW


@sequence
def a_dictionary_that_becomes_a_list():
    def f(x):
        return np.sum(x * table[0])

    for table in ({0: 2.0}, [2.0], (2.0,), {0: 3.0}, np.array([4.0]), "7"):
        yield (lambda x: f(x) if table != "7" else np.sum(x) * float(table[0])), ROW
