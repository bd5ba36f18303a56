"""Dataclasses, named tuples, enumerations, descriptors, containers and metaclasses."""

from __future__ import annotations

import abc
import collections
import dataclasses
import enum
import typing

import numpy as np

from tests.capture.battery.registry import program

ROW = np.array([0.7, 1.3])


class Vector:
    """Two numbers with operators."""

    def __init__(self, x, y):
        self.x, self.y = x, y

    def __add__(self, other):
        return Vector(self.x + other.x, self.y + other.y)

    def __mul__(self, scale):
        return Vector(self.x * scale, self.y * scale)

    __rmul__ = __mul__

    def __neg__(self):
        return self * -1

    def __sub__(self, other):
        return self + -other

    def __matmul__(self, other):
        return self.x * other.x + self.y * other.y

    def __abs__(self):
        return np.sqrt(self @ self)

    def __iter__(self):
        yield self.x
        yield self.y

    def __eq__(self, other):
        return self.x == other.x and self.y == other.y

    def __lt__(self, other):
        return abs(self) < abs(other)

    def __hash__(self):
        return hash((self.x, self.y))

    def __bool__(self):
        return bool(self.x or self.y)

    def __getitem__(self, k):
        return (self.x, self.y)[k]

    def __len__(self):
        return 2

    def __round__(self, digits=0):
        return Vector(round(self.x, digits), round(self.y, digits))

    def __format__(self, code):
        return f"({self.x:{code}}, {self.y:{code}})"


@program(ROW)
def dataclasses_with_arrays(x):
    @dataclasses.dataclass
    class State:
        position: np.ndarray
        velocity: np.ndarray
        time: float = 0.0

        def step(self, dt):
            return dataclasses.replace(
                self,
                position=self.position + dt * self.velocity,
                velocity=self.velocity - dt * self.position,
                time=self.time + dt,
            )

    state = State(x, x * 0.1)
    for _ in range(5):
        state = state.step(0.1)
    return np.sum(state.position**2) + state.time * np.sum(dataclasses.astuple(state)[1])


@program(ROW)
def dataclasses_compared(x):
    @dataclasses.dataclass(order=True, frozen=True)
    class Item:
        cost: float
        name: str = "a"

    items = sorted([Item(x[1]), Item(x[0], "b"), Item(x[0], "a")])
    return items[0].cost * 2 + items[2].cost + len({Item(x[0]), Item(x[0])})


@program(ROW)
def dataclasses_with_defaults(x):
    @dataclasses.dataclass
    class Config:
        rates: list = dataclasses.field(default_factory=list)
        scale: float = dataclasses.field(init=False)

        def __post_init__(self):
            self.scale = 1.0 + len(self.rates)

    one, other = Config(), Config([x[0]])
    one.rates.append(x[1])
    return one.scale * one.rates[0] + other.scale * other.rates[0]


@program(ROW)
def a_frozen_dataclass_raises(x):
    @dataclasses.dataclass(frozen=True)
    class Point:
        value: float

    point = Point(x[0])
    try:
        point.value = x[1]
    except dataclasses.FrozenInstanceError:
        return point.value * 4
    return point.value


@program(ROW)
def named_tuples(x):
    Pair = collections.namedtuple("Pair", "first second")
    pair = Pair(*x)
    pair = pair._replace(first=pair.first * 2)
    a, b = pair
    return a * b + pair.first * pair[1] + sum(pair._asdict().values())


@program(ROW)
def typed_named_tuples(x):
    class Pair(typing.NamedTuple):
        first: float
        second: float = 2.0

        @property
        def product(self):
            return self.first * self.second

    return Pair(x[0]).product + Pair(*x).product


@program(ROW)
def enumerations(x):
    class Kind(enum.Enum):
        SQUARE = enum.auto()
        CUBE = enum.auto()

        def apply(self, v):
            return v**2 if self is Kind.SQUARE else v**3

    return sum(np.sum(kind.apply(x)) * kind.value for kind in Kind) + len(Kind["CUBE"].name)


@program(ROW)
def enumerations_of_whole_numbers(x):
    class Axis(enum.IntEnum):
        X = 0
        Y = 1

    class Option(enum.Flag):
        SCALE = enum.auto()
        SHIFT = enum.auto()

    options = Option.SCALE | Option.SHIFT
    return x[Axis.X] * 2 + x[Axis.Y] ** 2 + (x[0] if Option.SCALE in options else 0.0)


@program(ROW)
def abstract_classes(x):
    class Kernel(abc.ABC):
        @abc.abstractmethod
        def value(self, a, b): ...

        def __call__(self, a, b):
            return self.value(a, b) * 2

    class Gaussian(Kernel):
        def value(self, a, b):
            return np.exp(-((a - b) ** 2))

    try:
        Kernel()
    except TypeError:
        return Gaussian()(x[0], x[1])
    return x[0]


@program(ROW)
def several_inheritance(x):
    class Base:
        def apply(self, v):
            return v

    class Doubled(Base):
        def apply(self, v):
            return super().apply(v) * 2

    class Shifted(Base):
        def apply(self, v):
            return super().apply(v) + 1

    class Both(Doubled, Shifted):
        pass

    return np.sum(Both().apply(x) ** 2)


@program(ROW)
def dunder_getattr_and_setattr(x):
    class Bag:
        def __init__(self):
            object.__setattr__(self, "items", {})

        def __getattr__(self, name):
            try:
                return self.items[name]
            except KeyError:
                raise AttributeError(name) from None

        def __setattr__(self, name, value):
            self.items[name] = value * 2

        def __delattr__(self, name):
            del self.items[name]

    bag = Bag()
    bag.a, bag.b = x
    del bag.b
    return bag.a + (5.0 if hasattr(bag, "b") else x[1])
