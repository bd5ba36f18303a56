"""Attributes, classes and methods that change between calls."""

from __future__ import annotations

import dataclasses
import enum
import functools
import types
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
def an_attribute():
    model = Spring()
    for model.stiffness in (1.0, 1.0, 2.0, 1.0, 5.0):
        yield model.energy, ROW


@sequence
def an_attribute_of_a_held_method():
    model = Spring()
    energy = model.energy
    for model.stiffness in (1.0, 1.0, 2.0, 1.0):
        yield energy, ROW


@sequence
def an_attribute_read_in_a_closure():
    model = Spring()

    def f(x):
        return np.sum(x**2) * model.stiffness

    for model.stiffness in (1.0, 1.0, 2.0, 1.0):
        yield f, ROW


@sequence
def an_array_attribute_written():
    model = Spring()
    for value in (1.0, 1.0, 5.0, 1.0):
        model.weights[0] = value
        yield model.energy, ROW


@sequence
def an_array_attribute_bound_anew():
    model = Spring()
    for weights in (np.ones(2), np.ones(2), np.array([2.0, 3.0]), np.ones(()), np.ones((3, 1))):
        model.weights = weights
        yield model.energy, ROW


@sequence
def a_class_attribute_seen_through_an_instance():
    class Own(Spring):
        pass

    model = Own()
    for Own.unit in (1.0, 1.0, 2.0):
        yield model.energy, ROW
    del Own.unit
    yield model.energy, ROW


@sequence
def an_instance_attribute_hides_the_class():
    model = Spring()
    yield model.energy, ROW
    yield model.energy, ROW
    model.unit = 3.0
    yield model.energy, ROW
    del model.unit
    yield model.energy, ROW


@sequence
def another_instance():
    models = [Spring(1.0), Spring(2.0), Spring(1.0)]

    def f(x):
        return model.energy(x)

    for model in (*models, *reversed(models), *models):
        yield f, ROW
        yield model.energy, ROW


@sequence
def a_method_that_is_patched():
    class Own(Spring):
        pass

    model = Own()
    yield model.energy, ROW
    yield model.energy, ROW
    Own.force = lambda self, x: self.stiffness * np.sin(x)
    yield model.energy, ROW
    del Own.force
    yield model.energy, ROW


@sequence
def a_method_of_one_instance_is_patched():
    model, other = Spring(), Spring()
    yield model.energy, ROW
    model.force = lambda x: x**3
    yield model.energy, ROW
    yield other.energy, ROW
    model.force = types.MethodType(lambda self, x: self.stiffness + x, model)
    yield model.energy, ROW
    del model.force
    yield model.energy, ROW


@sequence
def another_class():
    class Linear:
        def apply(self, x):
            return 2.0 * x

    class Cubic:
        def apply(self, x):
            return x**3

    thing = Linear()

    def f(x):
        return np.sum(thing.apply(x))

    for kind in (Linear, Linear, Cubic, Linear):
        thing.__class__ = kind
        yield f, ROW


@sequence
def other_base_classes():
    class First:
        def apply(self, x):
            return 2.0 * x

    class Second:
        def apply(self, x):
            return x**3

    class Derived(First):
        pass

    thing = Derived()

    def f(x):
        return np.sum(thing.apply(x))

    for base in (First, First, Second, First):
        Derived.__bases__ = (base,)
        yield f, ROW


@sequence
def a_subclass_that_overrides():
    class Stiff(Spring):
        def force(self, x):
            return 10 * super().force(x)

    for model in (Spring(), Spring(), Stiff(), Spring(), Stiff(2.0)):
        yield model.energy, ROW


@sequence
def an_override_in_the_middle_of_the_line():
    class Middle(Spring):
        pass

    class Last(Middle):
        pass

    model = Last()
    yield model.energy, ROW
    Middle.force = lambda self, x: x**2
    yield model.energy, ROW
    Last.force = lambda self, x: np.exp(x)
    yield model.energy, ROW
    del Middle.force
    yield model.energy, ROW
    del Last.force
    yield model.energy, ROW


@sequence
def a_property_of_another_attribute():
    class Disc:
        def __init__(self, radius):
            self.radius = radius

        @property
        def area(self):
            return np.pi * self.radius**2

    disc = Disc(1.0)

    def f(x):
        return np.sum(x**2) * disc.area

    for disc.radius in (1.0, 1.0, 2.0, 1.0):
        yield f, ROW


@sequence
def a_property_that_is_replaced():
    class Disc:
        area = property(lambda self: 2.0)

    disc = Disc()

    def f(x):
        return np.sum(x**2) * disc.area

    yield f, ROW
    yield f, ROW
    Disc.area = property(lambda self: 3.0)
    yield f, ROW
    Disc.area = 4.0
    yield f, ROW


@sequence
def a_cached_property_forgotten():
    class Grid:
        n = 3

        @functools.cached_property
        def nodes(self):
            return np.linspace(0, 1, self.n)

    grid = Grid()

    def f(x):
        return np.sum(x[0] * grid.nodes) + x[1]

    yield f, ROW
    yield f, ROW
    grid.n = 5
    yield f, ROW
    del grid.nodes
    yield f, ROW
    yield f, ROW


@sequence
def getattr_with_a_default():
    thing = types.SimpleNamespace()

    def f(x):
        return np.sum(x**2) * getattr(thing, "scale", 1.0)

    yield f, ROW
    yield f, ROW
    thing.scale = 2.0
    yield f, ROW
    del thing.scale
    yield f, ROW


@sequence
def hasattr_asked():
    thing = types.SimpleNamespace()

    def f(x):
        return np.sum(x**2) if hasattr(thing, "squared") else np.sum(x)

    yield f, ROW
    yield f, ROW
    thing.squared = None
    yield f, ROW
    del thing.squared
    yield f, ROW


@sequence
def dunder_getattr():
    class Settings:
        def __init__(self):
            self._values = {"rate": 1.0}

        def __getattr__(self, name):
            try:
                return self.__dict__["_values"][name]
            except KeyError:
                raise AttributeError(name) from None

    settings = Settings()

    def f(x):
        return np.sum(x**2) * settings.rate

    for rate in (1.0, 1.0, 2.0, 1.0):
        settings._values["rate"] = rate
        yield f, ROW
    settings.rate = 7.0
    yield f, ROW


@sequence
def dunder_getattribute():
    class Counting:
        value = 2.0
        reads = 0

        def __getattribute__(self, name):
            if name == "value":
                Counting.reads += 1
            return object.__getattribute__(self, name)

    thing = Counting()

    def f(x):
        return np.sum(x) * thing.value + Counting.reads

    for _ in range(3):
        yield f, ROW


@sequence
def a_descriptor():
    class Doubled:
        factor = 2.0

        def __set_name__(self, owner, name):
            self.name = "_" + name

        def __get__(self, instance, owner):
            return self.factor * getattr(instance, self.name)

        def __set__(self, instance, value):
            setattr(instance, self.name, value)

    class Model:
        rate = Doubled()

    model = Model()
    model.rate = 1.0

    def f(x):
        return np.sum(x**2) * model.rate

    yield f, ROW
    yield f, ROW
    model.rate = 3.0
    yield f, ROW
    Doubled.factor = 5.0
    yield f, ROW


@sequence
def slots():
    class Point:
        __slots__ = ("scale", "shift")

    point = Point()
    point.scale, point.shift = 1.0, 0.0

    def f(x):
        return np.sum(point.scale * x**2 + point.shift)

    for point.scale in (1.0, 1.0, 2.0):
        yield f, ROW
    point.shift = 4.0
    yield f, ROW
    del point.shift
    yield f, ROW


@sequence
def a_dataclass():
    @dataclasses.dataclass
    class Settings:
        rate: float = 1.0
        layers: list = dataclasses.field(default_factory=lambda: [1.0])

    settings = Settings()

    def f(x):
        return np.sum(x**2) * settings.rate + sum(settings.layers) * x[0]

    for settings.rate in (1.0, 1.0, 2.0):
        yield f, ROW
    settings.layers.append(5.0)
    yield f, ROW
    settings = dataclasses.replace(settings, rate=7.0)
    yield f, ROW


@sequence
def a_frozen_dataclass():
    @dataclasses.dataclass(frozen=True)
    class Settings:
        rate: float = 1.0

    def f(x):
        return np.sum(x**2) * settings.rate

    for settings in (Settings(), Settings(), Settings(2.0), Settings(2), Settings(True)):
        yield f, ROW
    object.__setattr__(settings, "rate", 9.0)
    yield f, ROW


@sequence
def a_named_tuple():
    class Pair(NamedTuple):
        first: float
        second: float

    def f(x):
        return pair.first * x[0] ** 2 + pair.second * x[1] ** 2

    for pair in (Pair(1.0, 2.0), Pair(1.0, 2.0), Pair(2.0, 1.0), Pair(1.0, 2.0)._replace(first=4.0)):
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
