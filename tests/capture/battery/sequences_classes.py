"""Classes, descriptors, operators and networks of objects that change between calls."""

from __future__ import annotations

import enum
from typing import ClassVar, NamedTuple

import numpy as np

from tests.capture.battery.registry import sequence

ROW = np.array([0.7, 1.3])


class Spring:
    """A model with a number, an array and a method."""

    unit = 1.0

    def __init__(self, stiffness=1.0):
        self.stiffness = stiffness
        self.weights = np.array([1.0, 2.0])

    def force(self, x):
        return self.stiffness * x

    def energy(self, x):
        return np.sum(self.weights * self.force(x) ** 2) * self.unit


@sequence
def a_named_tuple():
    class Pair(NamedTuple):
        first: float
        second: float

    def f(x):
        return pair.first * x[0] ** 2 + pair.second * x[1] ** 2

    for pair in (
        Pair(1.0, 2.0),
        Pair(1.0, 2.0),
        Pair(2.0, 1.0),
        Pair(1.0, 2.0)._replace(first=4.0),
    ):
        yield f, ROW


@sequence
def an_enumeration():
    class Kind(enum.Enum):
        SQUARE = 2
        CUBE = 3

    def f(x):
        return np.sum(x**kind.value) if kind is Kind.SQUARE else 2 * np.sum(x**kind.value)

    for kind in (Kind.SQUARE, Kind.SQUARE, Kind.CUBE, Kind.SQUARE):
        yield f, ROW


@sequence
def class_state_shared_by_instances():
    class Counter:
        total = 0
        log: ClassVar[list] = []

        def __call__(self, x):
            Counter.total += 1
            self.log.append(Counter.total)
            return np.sum(x) * Counter.total

    for counter in (Counter(), Counter(), Counter()):
        yield counter, ROW
        yield counter, ROW


@sequence
def an_instance_that_counts():
    class Optimiser:
        steps = 0

        def loss(self, x):
            self.steps += 1
            return np.sum(x**2) / self.steps

    optimiser = Optimiser()
    for _ in range(5):
        yield optimiser.loss, ROW
    optimiser.steps = 0
    yield optimiser.loss, ROW


@sequence
def a_callable_object():
    class Polynomial:
        def __init__(self, *coefficients):
            self.coefficients = coefficients

        def __call__(self, x):
            return np.sum(sum(c * x**k for k, c in enumerate(self.coefficients)))

    polynomial = Polynomial(1.0, 2.0)
    yield polynomial, ROW
    yield polynomial, ROW
    polynomial.coefficients = (1.0, 2.0, 3.0)
    yield polynomial, ROW
    yield Polynomial(0.0, 5.0), ROW
    yield polynomial, ROW


@sequence
def dunder_call_that_is_replaced():
    class Model:
        def __call__(self, x):
            return np.sum(x**2)

    model = Model()
    yield model, ROW
    yield model, ROW
    Model.__call__ = lambda self, x: np.sum(x**3)
    yield model, ROW


@sequence
def operators_that_are_replaced():
    class Vector:
        def __init__(self, entries):
            self.entries = entries

        def __add__(self, other):
            return Vector(self.entries + other.entries)

    def f(x):
        return np.sum((Vector(x) + Vector(x**2)).entries)

    yield f, ROW
    yield f, ROW
    Vector.__add__ = lambda self, other: Vector(self.entries * other.entries)
    yield f, ROW


@sequence
def containers_of_ones_own():
    class Bag:
        def __init__(self, *items):
            self.items = list(items)

        def __getitem__(self, k):
            return self.items[k]

        def __len__(self):
            return len(self.items)

        def __iter__(self):
            return iter(self.items)

        def __contains__(self, item):
            return item in self.items

        def __bool__(self):
            return bool(self.items)

    bag = Bag(1.0, 2.0)

    def f(x):
        total = bag[0] * x[0] + len(bag) * x[1] + sum(bag) * x[0] ** 2 if bag else x[0]
        return total + (x[1] ** 2 if 3.0 in bag else 0.0)

    yield f, ROW
    yield f, ROW
    bag.items.append(3.0)
    yield f, ROW
    bag.items[0] = 9.0
    yield f, ROW
    bag.items.clear()
    yield f, ROW


@sequence
def a_tree_of_objects():
    class Node:
        def __init__(self, weight, *children):
            self.weight, self.children = weight, list(children)

        def total(self, x):
            return self.weight * x + sum(child.total(x**2) for child in self.children)

    tree = Node(1.0, Node(2.0), Node(3.0, Node(4.0)))
    yield tree.total, 0.7
    yield tree.total, 0.7
    tree.children[1].children[0].weight = 7.0
    yield tree.total, 0.7
    tree.children.pop()
    yield tree.total, 0.7
    tree.children[0].children.append(Node(1.0))
    yield tree.total, 0.7


@sequence
def layers_of_a_network():
    class Layer:
        def __init__(self, matrix, kind="tanh"):
            self.matrix, self.kind = matrix, kind

        def __call__(self, x):
            y = self.matrix @ x
            return np.tanh(y) if self.kind == "tanh" else np.maximum(y, 0)

    layers = [Layer(np.array([[1.0, 0.5], [0.2, 1.0]])), Layer(np.eye(2))]

    def f(x):
        for layer in layers:
            x = layer(x)
        return np.sum(x)

    yield f, ROW
    yield f, ROW
    layers[0].kind = "relu"
    yield f, ROW
    layers[1].matrix = 2 * np.eye(2)
    yield f, ROW
    layers[1].matrix[0, 1] = 3.0
    yield f, ROW
    layers.pop(0)
    yield f, ROW
    layers.append(Layer(np.ones((3, 2))))
    yield f, ROW


@sequence
def a_switch_between_training_and_testing():
    class Model:
        training = True

        def loss(self, x):
            return np.sum(x**2) * (0.5 if self.training else 1.0)

    model = Model()
    for model.training in (True, True, False, True, False):
        yield model.loss, ROW


@sequence
def class_methods_and_static_methods():
    class Model:
        rate = 1.0

        @classmethod
        def make(cls, x):
            return cls.rate * x

        @staticmethod
        def square(x):
            return x**2

        def loss(self, x):
            return np.sum(self.square(self.make(x)))

    class Derived(Model):
        rate = 3.0

    model = Model()
    yield model.loss, ROW
    yield Derived().loss, ROW
    Model.rate = 2.0
    yield model.loss, ROW
    Model.square = staticmethod(lambda x: x**3)
    yield model.loss, ROW
    model.__class__ = Derived
    yield model.loss, ROW


@sequence
def an_attribute_of_a_module_level_class_by_name():
    model = Spring()

    def f(x):
        return np.sum(x) * getattr(model, name)

    for name in ("stiffness", "stiffness", "unit", "stiffness"):
        yield f, ROW
    model.unit = 8.0
    name = "unit"
    yield f, ROW


@sequence
def the_dictionary_of_an_instance():
    model = Spring()
    yield model.energy, ROW
    model.__dict__["stiffness"] = 4.0
    yield model.energy, ROW
    model.__dict__.update(weights=np.array([0.0, 1.0]))
    yield model.energy, ROW
    vars(model).clear()
    yield model.energy, ROW


@sequence
def a_metaclass_attribute():
    class Meta(type):
        scale = 1.0

    class Model(metaclass=Meta):
        pass

    def f(x):
        return np.sum(x**2) * Model.scale

    for Meta.scale in (1.0, 1.0, 2.0):
        yield f, ROW
    Model.scale = 5.0
    yield f, ROW


@sequence
def isinstance_and_a_registered_class():
    import collections.abc

    class Sized:
        pass

    thing = Sized()

    def f(x):
        return np.sum(x**2) if isinstance(thing, collections.abc.Sized) else np.sum(x)

    yield f, ROW
    yield f, ROW
    collections.abc.Sized.register(Sized)
    yield f, ROW


@sequence
def an_object_that_compares():
    class Version:
        number = 1

        def __eq__(self, other):
            return self.number == other

        def __lt__(self, other):
            return self.number < other

        __hash__ = None

    version = Version()

    def f(x):
        return np.sum(x**2) if version < 2 else np.sum(x**3) if version == 2 else np.sum(x)

    for version.number in (1, 1, 2, 3, 1):
        yield f, ROW


@sequence
def a_context_manager_that_remembers():
    class Scope:
        depth = 0
        entered = 0

        def __enter__(self):
            self.depth += 1
            self.entered += 1
            return self

        def __exit__(self, *exception):
            self.depth -= 1

    scope = Scope()

    def f(x):
        with scope as inner:
            return np.sum(x) * inner.depth + inner.entered

    for _ in range(3):
        yield f, ROW
    scope.depth = 4
    yield f, ROW


@sequence
def state_that_evolves_with_the_calls():
    class Filter:
        def __init__(self):
            self.mean = 0.0

        def update(self, x):
            self.mean = 0.9 * self.mean + 0.1
            return np.sum(x) * self.mean

    filter_ = Filter()
    for _ in range(5):
        yield filter_.update, ROW


@sequence
def a_running_mean_of_a_layer():
    class Norm:
        def __init__(self):
            self.running, self.training = np.zeros(2), True

        def __call__(self, x):
            if self.training:
                self.running = 0.5 * self.running + 0.5 * np.array([1.0, 2.0])
            return np.sum((x - self.running) ** 2)

    norm = Norm()
    for norm.training in (True, True, False, False, True):
        yield norm, ROW
