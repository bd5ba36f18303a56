"""Attributes, classes and methods that change between calls."""

from __future__ import annotations

import dataclasses
import functools
import types

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
