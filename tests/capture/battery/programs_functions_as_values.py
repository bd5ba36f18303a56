"""Functions as keys, in containers and compared: a function is the object that it is outside."""

from __future__ import annotations

import contextlib
import functools
import heapq
import itertools
import weakref
from collections import Counter, defaultdict, deque

import numpy as np

from tests.capture.battery.registry import fresh, program

ROW = np.array([0.7, 1.3])


def double(v):
    return v * 2


def square(v):
    return v * v


def filled(v):
    out = np.zeros(2)  # which takes traced values in a clone alone
    for k in range(2):
        out[k] = v[k] ** 2
    return out


def entry(v):
    out = np.zeros(1)
    out[0] = v * v
    return out[0]


REGISTRY = {}
HANDLERS = {}


def register(weight):
    def keep(function):
        REGISTRY[function.__name__] = function
        HANDLERS[function] = weight
        return function

    return keep


@register(3.0)
def first_handler(v):
    return v.sum()


@register(5.0)
def second_handler(v):
    return (v**2).sum()


WEIGHTS = {double: 3.0, square: 7.0}
SAME = double
CALLBACKS = [double, square, filled]
ALL = {double, square}
WEAKLY = weakref.WeakKeyDictionary({double: 11.0})


@program(ROW)
def keys_of_a_table_made_outside(x):
    return double(x).sum() * WEIGHTS.get(double, 100.0) + square(x).sum() * WEIGHTS[square]


@program(ROW)
def identity_with_another_name(x):
    total = double(x).sum() * (1 if SAME is double else 5)
    return total * (1 if square is not SAME else 7) * (2 if SAME == double else 11)


@program(ROW)
def members_of_containers_made_outside(x):
    found = (double in CALLBACKS) + 2 * (double in ALL) + 4 * (filled not in ALL)
    return double(x).sum() * found * (1.0 if square in list(WEIGHTS) else 13.0)


@program(ROW)
def places_and_counts(x):
    place, count = CALLBACKS.index(square), CALLBACKS.count(double)
    return CALLBACKS[place](x).sum() * (place + 1) * (count + 1)


@program(ROW)
def a_registry_that_decorators_fill(x):
    total = first_handler(x) * HANDLERS[first_handler]
    for name, function in REGISTRY.items():
        total = total + function(x) * HANDLERS[function]
        total = total * (1 if function is globals_of_handlers()[name] else 17)
    return total


def globals_of_handlers():
    return {"first_handler": first_handler, "second_handler": second_handler}


@program(ROW)
def every_function_but_one(x):
    return sum(each(x).sum() for each in CALLBACKS if each is not double)


@program(ROW)
def functions_that_were_visited(x):
    visited, total = set(), 0.0
    for each in [double, *CALLBACKS, SAME, square]:
        if each in visited:
            continue
        visited.add(each)
        total = total + each(x).sum()
    return total * len(visited | ALL)


@program(ROW)
def a_table_made_inside(x):
    table = {double: 2.0, square: 3.0}
    return sum(table[each] * each(x).sum() for each in CALLBACKS if each in table)


@program(ROW)
def a_default_compared_with_a_global(x):
    def apply(v, function=double):
        return function(v).sum() * (2 if function is double else 3)

    return apply(x) + apply(x, square) + applied(x) + applied(x, function=square)


def applied(v, *, function=double):
    return function(v).sum() * (5 if function is double else 7)


class Model:
    """With handlers that are methods of its own."""

    def __init__(self, scale):
        self.scale = scale
        self.weights = {self.step: 2.0, self.leap: 3.0}
        self.active = [self.leap]
        self.activation = filled

    def step(self, v):
        return v.sum() * self.scale

    def leap(self, v):
        return (filled(v) * self.scale).sum()

    def total(self, v):
        found = self.step(v) * self.weights[self.step] + self.leap(v) * self.weights[self.leap]
        return (
            found
            * (2 if self.leap in self.active else 3)
            * (1 if self.active[0] == self.leap else 5)
        )


MODEL = Model(1.5)


@program(ROW)
def bound_methods_as_keys(x):
    return MODEL.total(x) + Model(x[0]).total(x) * MODEL.weights.get(MODEL.step, 100.0)


@program(ROW)
def functions_of_objects_and_classes(x):
    same = MODEL.activation is filled and Model.step is type(MODEL).step
    activation = MODEL.activation
    return activation(x).sum() * (2 if same else 3) * (1 if activation in CALLBACKS else 5)


@program(ROW)
def a_cache_of_functions(x):
    @functools.lru_cache
    def weight(function):
        return 2.0 if function is double else 3.0

    return double(x).sum() * weight(double) * weight(SAME) * weight(square)


@functools.lru_cache
def rank(function):
    return CALLBACKS.index(function) + 2.0


@program(ROW)
def a_cache_made_outside(x):
    table = {rank: 3.0}
    return double(x).sum() * rank(double) * rank(square) * table[rank]


@program(ROW)
def functions_that_sort_and_choose(x):
    def along(each):
        return WEIGHTS.get(each, 1.0)

    order = sorted(CALLBACKS, key=along)
    best = max(ALL, key=along)
    values = [x[1], x[0]]
    values.sort(key=entry)
    return order[-1](x).sum() * (2 if best is square else 3) + values[0] * 7


@program(ROW)
def a_weak_table(x):
    own = weakref.WeakKeyDictionary()
    own[double] = 2.0
    reference = weakref.ref(double)
    found = own[SAME] * WEAKLY.get(double, 100.0)
    return double(x).sum() * found * (1 if reference() is double else 3)


@program(ROW)
def functions_handed_to_the_library(x):
    total = sum(map(entry, x)) + functools.reduce(product, x, 1.0)
    total = total + sum(itertools.starmap(product, [(x[0], x[1])]))
    total = total + list(itertools.accumulate(x, product))[-1] + max(x, key=entry)
    total = total + sum(filter(positive, x)) + min(x, key=entry) + sorted(x, key=entry)[0]
    return total + heapq.nlargest(1, x, key=entry)[0]


def product(a, b):
    out = np.ones(1)
    out[0] = a * b
    return out[0]


def positive(v):
    return entry(v) > 0


@program(ROW)
def functions_handed_to_numpy(x):
    rows = np.apply_along_axis(filled, 0, x)
    chosen = np.piecewise(x, [x > 1, x <= 1], [double, square])
    return np.sum(rows + chosen + np.vectorize(entry)(x))


@program(ROW)
def partial_applications(x):
    half = functools.partial(product, 0.5)
    table = {half: 3.0}
    return half(x[0]) * table[half] + sum(map(half, x)) * (2 if half.func is product else 5)


@program(ROW)
def other_containers(x):
    queue, counts, groups = deque([double]), Counter(CALLBACKS), defaultdict(list)
    queue.append(square)
    counts[double] += 1
    for each in CALLBACKS:
        groups[each].append(each)
    return queue.pop()(x).sum() * counts[double] * groups[SAME].count(double) * queue.count(SAME)


def doubled_after(function):
    @functools.wraps(function)
    def around(v):
        return function(v) * 2

    return around


@program(ROW)
def decorators_inside(x):
    @doubled_after
    @doubled_after
    def own(v):
        return filled(v)

    @made_of
    class Scaled:
        factor = 3.0

    return own(x).sum() * Scaled.factor + sum(Scaled.weight(each) for each in x)


def made_of(kind):
    kind.weight = staticmethod(entry)
    kind.same = kind.weight is entry
    return kind


@program(ROW)
def a_callback_of_a_stack(x):
    log = []

    def note(function, v):
        log.append(function(v))

    with contextlib.ExitStack() as stack:
        stack.callback(note, filled, x)
    return log[0].sum()


@fresh(ROW)
def what_is_stored_outside():
    kept, seen = [], {}

    def f(x):
        kept.append(double)
        seen[square] = 2.0
        seen.setdefault(double, 3.0)
        MODEL.chosen = filled
        return double(x).sum() * len(kept)

    def state():
        known = [each is double for each in kept]
        del kept[1:]
        return all(known), seen == {square: 2.0, double: 3.0}, MODEL.chosen is filled

    return f, state


@fresh(ROW)
def functions_of_a_closure():
    def shrink(v):
        return filled(v) / 2

    def grow(v):
        return v * 3

    def again(v, n):
        return v if n == 0 or calls[again] > 9 else again(grow(v), n - 1)

    table, chosen, calls = {shrink: 2.0, grow: 3.0}, grow, {again: 0}

    def f(x):
        total = shrink(x).sum() * table[shrink] + grow(x).sum() * table.get(grow, 50.0)
        return total * (1 if chosen is grow else 7) + again(x, 3).sum()

    return f


@program(ROW)
def by_type_and_by_function(x):
    dispatch = {float: double, np.ndarray: filled, double: square}
    return dispatch[type(x)](x).sum() * dispatch[dispatch[float]](x).sum()
