"""What Python and NumPy call by themselves: methods behind operators, callbacks of builtins."""

from __future__ import annotations

import collections
import functools
import itertools
import operator
import re
import types

import numpy as np

from tests.capture.battery.registry import sequence

ROW = np.array([0.7, 1.3])


class Answer:
    """Answers by whatever stands in its attribute."""

    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return bool(self.value == other)

    def __lt__(self, other):
        return self.value < other.value

    def __hash__(self):
        return int(self.value)

    def __str__(self):
        return "s" * int(self.value)

    def __repr__(self):
        return "r" * int(self.value)

    def __format__(self, code):
        return "f" * int(self.value)

    def __len__(self):
        return int(self.value)

    def __bool__(self):
        return self.value > 1

    def __float__(self):
        return float(self.value)

    def __int__(self):
        return int(self.value)

    def __index__(self):
        return int(self.value)

    def __iter__(self):
        return iter([self.value, self.value])

    def __contains__(self, item):
        return item < self.value

    def __array__(self, dtype=None, copy=None):
        return np.array([self.value, 1.0], dtype)

    def __abs__(self):
        return self.value

    def __round__(self, digits=None):
        return self.value

    def __reversed__(self):
        return iter([self.value, 3.0])

    def __call__(self, v):
        return v * self.value

    def __getitem__(self, k):
        if k > 2:
            raise IndexError
        return self.value + k

    def __rmul__(self, other):
        return other * self.value

    def __divmod__(self, other):
        return self.value, other

    def __enter__(self):
        return self.value

    def __exit__(self, *error):
        return None


ASKED = {
    "equality": lambda x, thing: np.sum(x**2) if thing == 2.0 else np.sum(x),
    "inequality": lambda x, thing: np.sum(x**2) if thing != 2.0 else np.sum(x),
    "order_by_sorting": lambda x, thing: x[0] * sorted([Answer(1.5), thing])[0].value,
    "order_by_max": lambda x, thing: x[0] * max(Answer(1.5), thing).value,
    "hashing": lambda x, thing: x[0] * hash(thing),
    "a_key": lambda x, thing: x[0] * {2.0: 5.0}.get(thing, 7.0),
    "membership_in_a_list": lambda x, thing: x[0] * (2.0 if thing in [2.0, 5.0] else 3.0),
    "text": lambda x, thing: x[0] * len(str(thing)),
    "representation": lambda x, thing: x[0] * len(repr([thing])),
    "formatting": lambda x, thing: x[0] * len(f"{thing}"),
    "formatting_by_percent": lambda x, thing: x[0] * len("%s" % (thing,)),
    "length": lambda x, thing: x[0] * len(thing),
    "truth": lambda x, thing: x[0] if thing else x[1],
    "truth_by_not": lambda x, thing: x[0] if not thing else x[1],
    "truth_by_all": lambda x, thing: x[0] if all([thing, 1]) else x[1],
    "a_float": lambda x, thing: x[0] * float(thing),
    "an_int": lambda x, thing: x[0] * int(thing),
    "an_index": lambda x, thing: np.append(x, [3.0, 4.0])[thing] * x[0],
    "an_index_of_a_list": lambda x, thing: [1.0, 2.0, 3.0, 4.0][thing] * x[0],
    "a_range": lambda x, thing: sum(x[0] ** k for k in range(thing)),
    "iteration": lambda x, thing: sum(v * x[0] for v in thing),
    "iteration_by_sum": lambda x, thing: x[0] * sum(thing),
    "iteration_by_list": lambda x, thing: x[0] * list(thing)[1],
    "unpacking": lambda x, thing: (lambda a, b: x[0] * a + x[1] * b)(*thing),
    "iteration_by_zip": lambda x, thing: sum(a * b for a, b in zip(thing, x, strict=True)),
    "iteration_backwards": lambda x, thing: sum(v * x[0] for v in reversed(thing)),
    "membership": lambda x, thing: x[0] if 1.7 in thing else x[1],
    "an_array": lambda x, thing: np.sum(np.asarray(thing) * x),
    "an_array_in_a_ufunc": lambda x, thing: np.sum(np.add(np.ones(2), thing)) * x[0],
    "an_array_in_a_product": lambda x, thing: np.sum(np.multiply(x, thing)),
    "absolute_value": lambda x, thing: x[0] * abs(thing),
    "rounding": lambda x, thing: x[0] * round(thing),
    "reflected_product": lambda x, thing: x[0].item() * thing,
    "division_with_rest": lambda x, thing: x[0] * divmod(thing, 1)[0],
    "a_call_by_map": lambda x, thing: sum(map(thing, x)),
    "a_call_by_sorting": lambda x, thing: sorted(x, key=lambda v: -thing(v))[0] * thing.value,
    "a_call_by_reduce": lambda x, thing: functools.reduce(lambda a, v: a + thing(v), x, 0.0),
    "a_call_by_accumulate": lambda x, thing: list(
        itertools.accumulate(x, lambda a, b: a + thing(b))
    )[-1],
    "a_call_by_starmap": lambda x, thing: sum(itertools.starmap(thing, zip(x, strict=True))),
    "a_call_by_substitution": lambda x, thing: (
        x[0] * len(re.sub("a", lambda match: "b" * int(thing.value), "aa"))
    ),
    "a_call_by_a_default": lambda x, thing: (
        collections.defaultdict(lambda: thing.value)["a"] * x[0]
    ),
    "a_call_by_iter": lambda x, thing: x[0] * next(iter(lambda: thing.value, None)),
    "an_item_by_getter": lambda x, thing: x[0] * operator.itemgetter(1)(thing),
    "an_attribute_by_getter": lambda x, thing: x[0] * operator.attrgetter("value")(thing),
    "an_attribute_by_vars": lambda x, thing: x[0] * vars(thing)["value"],
    "a_context": lambda x, thing: _in_context(x, thing),
    "a_callback_of_vectorize": lambda x, thing: (
        x[0] * np.sum(np.vectorize(lambda k: k * thing.value)(np.arange(3.0)))
    ),
    "a_callback_of_fromfunction": lambda x, thing: (
        x[0] * np.sum(np.fromfunction(lambda k: k * thing.value, (3,)))
    ),
    "a_callback_along_an_axis": lambda x, thing: np.sum(
        np.apply_along_axis(lambda v: v * thing.value, 0, x)
    ),
    "a_callback_of_piecewise": lambda x, thing: np.sum(
        np.piecewise(x, [x > 1], [lambda v: v * thing.value, 0.5])
    ),
}


def _in_context(x, thing):
    with thing as value:
        return x[0] * value


def _asked(name, ask):
    """A closure asks an object, whose answer changes."""

    def steps():
        thing = Answer(1.0)

        def f(x):
            return ask(x, thing)

        for thing.value in (1.0, 1.0, 2.0, 1.0, 3.0):
            yield f, ROW

    steps.__name__ = name
    sequence(steps)


for _name, _ask in ASKED.items():
    _asked(_name, _ask)


@sequence
def an_object_behind_a_module():
    module = types.ModuleType("lazy")
    module.__getattr__ = lambda name: settings[name]
    settings = {"rate": 1.0}

    def f(x):
        return np.sum(x**2) * module.rate

    for settings["rate"] in (1.0, 1.0, 2.0):
        yield f, ROW


@sequence
def a_class_made_at_each_call():
    def f(x):
        class Own:
            scale = outer

            def apply(self, v):
                return v * self.scale

        return np.sum(Own().apply(x) ** 2)

    for outer in (1.0, 1.0, 2.0):
        yield f, ROW


@sequence
def an_object_that_counts_how_often_it_is_asked():
    class Counting:
        asked = 0

        def __float__(self):
            Counting.asked += 1
            return float(Counting.asked)

        def __eq__(self, other):
            Counting.asked += 1
            return Counting.asked % 2 == 0

        __hash__ = None

    thing = Counting()

    def f(x):
        return np.sum(x) * float(thing) + (x[0] if thing == 1 else x[1])

    for _ in range(4):
        yield f, ROW


@sequence
def an_argument_that_is_changed_by_the_call():
    model = types.SimpleNamespace(calls=0, last=None)

    def f(x, model):
        model.calls += 1
        model.last = float(np.sum(x))
        return np.sum(x**2) * model.calls

    for _ in range(3):
        yield f, ROW, model
    model.calls = 10
    yield f, ROW, model


@sequence
def an_iterator_as_argument():
    numbers = iter([1.0, 2.0, 3.0, 4.0])

    def f(x, numbers):
        return np.sum(x**2) * next(numbers)

    for _ in range(3):
        yield f, ROW, numbers


@sequence
def a_stack_that_is_left_as_it_was():
    stack = [2.0]

    def f(x):
        stack.append(len(stack))
        y = np.sum(x) * stack[0] * len(stack)
        stack.pop()
        return y

    yield f, ROW
    yield f, ROW
    stack[0] = 5.0
    yield f, ROW
    stack.append(1.0)
    yield f, ROW
