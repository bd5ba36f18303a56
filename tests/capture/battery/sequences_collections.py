"""Arrays in containers, queues, words and subclasses of containers that change between calls."""

from __future__ import annotations

import array

import numpy as np

from tests.capture.battery.registry import sequence

ROW = np.array([0.7, 1.3])


@sequence
def arrays_in_a_list():
    arrays = [np.ones(2), np.array([1.0, 2.0])]

    def f(x):
        return sum(np.sum(a * x**2) for a in arrays)

    yield f, ROW
    yield f, ROW
    arrays[0][1] = 5.0
    yield f, ROW
    arrays.append(arrays[0])
    yield f, ROW
    arrays[0] = np.zeros((3, 2))
    yield f, ROW
    arrays.reverse()
    yield f, ROW


@sequence
def arrays_in_a_dictionary():
    parameters = {"w": np.array([1.0, 2.0]), "b": 0.5}

    def f(x):
        return np.sum(np.tanh(parameters["w"] * x + parameters["b"]))

    yield f, ROW
    yield f, ROW
    parameters["w"] *= 2
    yield f, ROW
    parameters["b"] = np.array([1.0, -1.0])
    yield f, ROW
    parameters["w"] = parameters["b"]
    yield f, ROW


@sequence
def an_array_of_the_standard_library():
    numbers = array.array("d", [1.0, 2.0])

    def f(x):
        return sum(n * v for n, v in zip(numbers, x, strict=False))

    for numbers[0] in (1.0, 1.0, 5.0):
        yield f, ROW


@sequence
def a_string_that_grows():
    def f(x):
        return np.sum(x) * len(text) + x[0] * text.count("a")

    for text in ("a", "a", "ab", "aa", "a"):
        yield f, ROW


@sequence
def bytes_and_bytearrays():
    data = bytearray(b"ab")

    def f(x):
        return np.sum(x) * data[0] + len(data)

    yield f, ROW
    yield f, ROW
    data[0] = 5
    yield f, ROW
    data.append(1)
    yield f, ROW


@sequence
def a_range():
    def f(x):
        return sum(x[0] ** k for k in numbers) + x[1]

    for numbers in (range(3), range(3), range(4), range(0), range(1, 6, 2), [0, 1, 2]):
        yield f, ROW


@sequence
def a_slice():
    x = np.linspace(0.5, 1.5, 6)

    def f(v):
        return np.sum(v[part] ** 2)

    for part in (
        slice(2),
        slice(2),
        slice(1, 5, 2),
        slice(None, None, -1),
        slice(2),
        3,
        [0, 0, 1],
        ...,
    ):
        yield f, x


@sequence
def a_mask():
    mask = np.array([True, False])

    def f(x):
        return np.sum(x[mask] ** 2)

    yield f, ROW
    yield f, ROW
    mask[1] = True
    yield f, ROW
    mask[:] = False
    yield f, ROW
    mask = np.array([1, 1, 0])
    yield f, ROW
    mask = mask.astype(float)
    yield f, ROW


@sequence
def an_array_of_indices():
    places = np.array([0, 1])

    def f(x):
        return np.sum(x[places] * [1.0, 10.0])

    for places[0] in (0, 0, 1, 5, -1, 0):
        yield f, ROW


@sequence
def a_queue_that_is_worked_off():
    queue = [1.0, 2.0, 3.0]

    def f(x):
        return np.sum(x**2) * (queue.pop() if queue else 10.0)

    for _ in range(5):
        yield f, ROW


@sequence
def a_log_of_the_calls():
    log = []

    def f(x):
        log.append("call")
        return np.sum(x) * len(log)

    for _ in range(4):
        yield f, ROW
    log.clear()
    yield f, ROW


@sequence
def a_dictionary_of_functions():
    functions = {"act": np.sin}

    def f(x):
        return np.sum(functions["act"](x))

    for functions["act"] in (np.sin, np.sin, np.cos, lambda v: v**2, np.sin):
        yield f, ROW


@sequence
def names_of_functions():
    def f(x):
        return np.sum(getattr(np, name)(x))

    for name in ("sin", "sin", "cos", "exp", "sin", "square"):
        yield f, ROW


@sequence
def a_tuple_of_many_kinds():
    def f(x):
        total = x[0]
        for entry in entries:
            if entry is None:
                continue
            total = total * (len(entry) if isinstance(entry, str) else entry)
        return total

    for entries in ((1, None), (1, "ab"), (1, None), (1.0, None), (True, "abc"), ()):
        yield f, ROW


@sequence
def a_list_that_contains_itself():
    row = [2.0]
    row.append(row)

    def f(x):
        return np.sum(x**2) * row[1][1][0]

    for row[0] in (2.0, 2.0, 3.0):
        yield f, ROW


@sequence
def a_long_list():
    numbers = [1.0] * 2000

    def f(x):
        return np.sum(x**2) * numbers[1500] + len(numbers)

    for numbers[1500] in (1.0, 1.0, 2.0, 1.0):
        yield f, ROW


@sequence
def a_long_list_of_which_all_is_used():
    numbers = [1.0] * 300

    def f(x):
        return np.sum(x**2) * sum(numbers)

    for numbers[150] in (1.0, 1.0, 2.0, 1.0):
        yield f, ROW


@sequence
def a_long_dictionary():
    table = {k: 1.0 for k in range(2000)}

    def f(x):
        return np.sum(x**2) * table[1999] + sum(table.values()) * x[0]

    for table[1999] in (1.0, 1.0, 2.0):
        yield f, ROW
    table[1000] = 5.0
    yield f, ROW


@sequence
def a_subclass_of_dict():
    class Config(dict):
        __getattr__ = dict.__getitem__

    config = Config(rate=1.0)

    def f(x):
        return np.sum(x**2) * config.rate

    for rate in (1.0, 1.0, 2.0):
        config["rate"] = rate
        yield f, ROW


@sequence
def a_subclass_of_list():
    class Stack(list):
        @property
        def top(self):
            return self[-1]

    stack = Stack([1.0])

    def f(x):
        return np.sum(x**2) * stack.top

    yield f, ROW
    yield f, ROW
    stack.append(4.0)
    yield f, ROW
    stack.pop()
    yield f, ROW
