"""Lists that are shuffled and drawn from: they are the lists that the caller has."""

from __future__ import annotations

import random

import numpy as np

from tests.capture.battery.registry import sequence

X = np.array([0.7, 1.3])
CALLS = 6


@sequence
def a_list_of_an_outer_name_is_shuffled():
    order, generator = [0, 1, 2], random.Random(3)

    def loss(x):
        generator.shuffle(order)
        return x.sum() * order[0] + x[0] * order[1]

    for _ in range(CALLS):
        yield loss, X


@sequence
def a_list_made_inside_is_shuffled():
    generator = random.Random(1)

    def loss(x):
        order = list(range(4))
        generator.shuffle(order)
        return sum((place + 1) * x[k % 2] for place, k in enumerate(order))

    for _ in range(CALLS):
        yield loss, X


@sequence
def batches_in_an_order_that_numpy_shuffles():
    generator, rows = np.random.default_rng(2), np.arange(12.0).reshape(6, 2)

    def loss(x):
        order = list(range(6))
        generator.shuffle(order)
        return sum((rows[k] @ x) ** 2 * place for place, k in enumerate(order[:3]))

    for _ in range(CALLS):
        yield loss, X


@sequence
def a_seed_and_a_list_that_the_module_shuffles():
    def loss(x):
        random.seed(4)
        np.random.seed(3)
        one, other = [1.0, 2.0, 3.0], [5.0, 6.0, 7.0]
        random.shuffle(one)
        np.random.shuffle(other)
        return x @ one[:2] + x @ other[1:]

    for _ in range(CALLS):
        yield loss, X


@sequence
def traced_numbers_are_shuffled_in_a_list():
    generator, other = random.Random(1), np.random.default_rng(5)

    def loss(x):
        one, more = [x[0], x[1], x[0] * x[1], 2.0], [x[0] ** 2, x[1], x.sum(), 1.0]
        generator.shuffle(one)
        other.shuffle(more)
        return sum((k + 1) * (v + 2 * w) for k, (v, w) in enumerate(zip(one, more, strict=True)))

    for _ in range(CALLS):
        yield loss, X


@sequence
def objects_are_shuffled():
    generator = random.Random(4)

    def loss(x):
        objects = [x * 2, [x[0]], {"a": x[1]}, "word"]
        generator.shuffle(objects)
        total = 0.0
        for place, each in enumerate(objects):
            if isinstance(each, dict):
                total = total + each["a"] * place
            elif not isinstance(each, str):
                total = total + np.sum(each) * place
        return total

    for _ in range(CALLS):
        yield loss, X


@sequence
def a_row_that_was_chosen_is_written_into():
    rows, generator = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], random.Random(5)

    def loss(x):
        row = generator.choice(rows)
        row[0] += 1.0
        return x @ row

    for _ in range(CALLS):
        yield loss, X


@sequence
def a_row_chosen_from_a_list_made_inside_is_written_into():
    generator = random.Random(5)

    def loss(x):
        rows = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
        row = generator.choice(rows)
        row[0] = 50.0
        for each in generator.sample(rows, 2) + generator.choices(rows, k=2):
            each[1] += 1.0
        return sum(x @ each * (place + 1) for place, each in enumerate(rows))

    for _ in range(CALLS):
        yield loss, X


@sequence
def an_array_that_was_chosen_is_written_into():
    generator = random.Random(6)

    def loss(x):
        arrays = [np.ones(2), np.full(2, 3.0)]
        chosen = generator.choice(arrays)
        chosen[0] = 7.0
        return x @ arrays[0] + 2 * (x @ arrays[1])

    for _ in range(CALLS):
        yield loss, X


@sequence
def a_row_of_a_matrix_that_was_chosen_is_a_view():
    generator = random.Random(6)

    def loss(x):
        matrix = np.arange(4.0).reshape(2, 2)
        row = generator.choice(matrix)
        row[0] = 9.0
        return (matrix @ x) @ np.array([1.0, 3.0])

    def traced(x):
        matrix = np.outer(x, x)
        row = generator.choice(matrix)
        row[0] = 9.0
        return (matrix @ x) @ np.array([1.0, 3.0])

    for _ in range(CALLS):
        yield loss, X
        yield traced, X


@sequence
def the_very_object_is_chosen():
    generator = random.Random(7)

    def loss(x):
        lists = [[x[0]], [x[1], 1.0]]
        chosen = generator.choice(lists)
        return x.sum() * (2.0 if chosen is lists[0] else 3.0) * len(chosen)

    for _ in range(CALLS):
        yield loss, X
