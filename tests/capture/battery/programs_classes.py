"""Classes in all forms: operators, properties, dataclasses, descriptors, containers, enumerations."""

from __future__ import annotations

import abc
import collections
import dataclasses
import enum
import functools
import types
import typing

import numpy as np

from tests.capture.battery.registry import fresh, program

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
def vectors_with_operators(x):
    a, b = Vector(*x), Vector(x[1], 2.0)
    return (a + 2 * b - a * x[0]) @ b + abs(a)


@program(ROW)
def vectors_in_sums(x):
    vectors = [Vector(x[0], k) for k in range(3)]
    total = functools.reduce(lambda a, b: a + b, vectors)
    return abs(total)


@program(ROW)
def vectors_compared_and_sorted(x):
    vectors = sorted([Vector(x[1], 1.0), Vector(x[0], 0.0), Vector(3.0, x[0])])
    return vectors[0].x + 10 * vectors[1].x + 100 * max(vectors).y


@program(ROW)
def vectors_in_a_set(x):
    return len({Vector(*x), Vector(*x), Vector(x[1], x[0])}) * np.sum(x)


@program(ROW)
def vectors_unpacked_and_indexed(x):
    a, b = Vector(*x)
    return a * b + Vector(*x)[1] * len(Vector(*x)) + sum(Vector(*x))


@program(ROW)
def vectors_as_truths(x):
    return np.sum(x) * (2 if Vector(0.0, 0.0) or Vector(*x) else 3)


@program(ROW)
def vectors_equal(x):
    return np.sum(x) * (2 if Vector(*x) == Vector(*x) else 3) * (5 if Vector(*x) in [Vector(*x)] else 7)


@program(ROW)
def vectors_formatted(x):
    return np.sum(x) * len(f"{Vector(*x):.2f}")


@program(ROW)
def dual_numbers_by_hand(x):
    class Dual:
        def __init__(self, value, slope=0.0):
            self.value, self.slope = value, slope

        def __mul__(self, other):
            return Dual(self.value * other.value, self.value * other.slope + self.slope * other.value)

        def __add__(self, other):
            return Dual(self.value + other.value, self.slope + other.slope)

        def sin(self):
            return Dual(np.sin(self.value), np.cos(self.value) * self.slope)

    a = Dual(x[0], 1.0)
    b = Dual(x[1])
    return (a * b + a.sin() * a).slope


@program(ROW)
def an_expression_tree(x):
    class Node:
        def __add__(self, other):
            return Op(np.add, self, other)

        def __mul__(self, other):
            return Op(np.multiply, self, other)

    class Leaf(Node):
        def __init__(self, name):
            self.name = name

        def value(self, names):
            return names[self.name]

    class Op(Node):
        def __init__(self, function, *parts):
            self.function, self.parts = function, parts

        def value(self, names):
            return self.function(*(part.value(names) for part in self.parts))

    a, b = Leaf("a"), Leaf("b")
    return ((a + b) * a + b * b).value({"a": x[0], "b": x[1]})


@program(ROW)
def reverse_mode_by_hand(x):
    class Value:
        def __init__(self, data, parents=()):
            self.data, self.parents, self.grad = data, parents, 0.0

        def __mul__(self, other):
            return Value(self.data * other.data, ((self, other.data), (other, self.data)))

        def __add__(self, other):
            return Value(self.data + other.data, ((self, 1.0), (other, 1.0)))

        def backward(self):
            order, seen = [], set()

            def visit(node):
                if node not in seen:
                    seen.add(node)
                    for parent, _ in node.parents:
                        visit(parent)
                    order.append(node)

            visit(self)
            self.grad = 1.0
            for node in reversed(order):
                for parent, slope in node.parents:
                    parent.grad = parent.grad + slope * node.grad

    a, b = Value(x[0]), Value(x[1])
    (a * b + a * a * b).backward()
    return a.grad * b.grad


@program(ROW)
def properties_and_setters(x):
    class Celsius:
        def __init__(self, degrees):
            self.degrees = degrees

        @property
        def fahrenheit(self):
            return self.degrees * 9 / 5 + 32

        @fahrenheit.setter
        def fahrenheit(self, value):
            self.degrees = (value - 32) * 5 / 9

    thermometer = Celsius(x[0])
    thermometer.fahrenheit = thermometer.fahrenheit + x[1]
    return thermometer.degrees**2


@program(ROW)
def a_property_that_checks(x):
    class Rate:
        @property
        def value(self):
            return self._value

        @value.setter
        def value(self, new):
            if not 0 < new < 1:
                raise ValueError("not a rate")
            self._value = new

    rate = Rate()
    rate.value = x[0]
    try:
        rate.value = x[1]
    except ValueError:
        return rate.value * 3
    return rate.value


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


@program(ROW)
def descriptors(x):
    class Positive:
        def __set_name__(self, owner, name):
            self.name = name

        def __get__(self, instance, owner):
            return instance.__dict__[self.name] * 2 if instance is not None else self

        def __set__(self, instance, value):
            if value <= 0:
                raise ValueError(self.name)
            instance.__dict__[self.name] = value

    class Model:
        rate = Positive()

    model = Model()
    model.rate = x[0]
    try:
        model.rate = -x[1]
    except ValueError as error:
        return model.rate * len(str(error))
    return model.rate


@program(ROW)
def containers_of_ones_own(x):
    class Series:
        def __init__(self, values):
            self.values = list(values)

        def __getitem__(self, k):
            return Series(self.values[k]) if isinstance(k, slice) else self.values[k]

        def __setitem__(self, k, value):
            self.values[k] = value

        def __len__(self):
            return len(self.values)

        def __contains__(self, value):
            return any(value == each for each in self.values)

        def __reversed__(self):
            return reversed(self.values)

    series = Series([*x, x[0] * x[1]])
    series[0] = series[1] ** 2
    return sum(series[1:]) + len(series) * series[-1] + (2.0 if x[1] in series else 3.0) * sum(
        k * v for k, v in enumerate(reversed(series))
    )


@program(ROW)
def an_iterator_class(x):
    class Countdown:
        def __init__(self, value, n):
            self.value, self.n = value, n

        def __iter__(self):
            return self

        def __next__(self):
            if self.n == 0:
                raise StopIteration
            self.n -= 1
            self.value = self.value * 0.9
            return self.value

    return sum(Countdown(x[0], 4)) + max(Countdown(x[1], 3))


@program(ROW)
def a_context_manager_class(x):
    class Scaled:
        def __init__(self, by):
            self.by, self.log = by, []

        def __enter__(self):
            self.log.append("in")
            return self.by * 2

        def __exit__(self, kind, error, trace):
            self.log.append("out")
            return kind is ValueError

    scaled = Scaled(x[0])
    with scaled as twice:
        y = twice * x[1]
        raise ValueError("swallowed")
    return y * len(scaled.log)


@program(ROW)
def callable_objects_with_state(x):
    class Adam:
        def __init__(self):
            self.m = self.v = 0.0

        def __call__(self, g):
            self.m = 0.9 * self.m + 0.1 * g
            self.v = 0.99 * self.v + 0.01 * g**2
            return self.m / (np.sqrt(self.v) + 1e-3)

    step = Adam()
    y = x
    for _ in range(5):
        y = y - 0.1 * step(2 * y)
    return np.sum(y**2)


@program(ROW)
def a_linked_list(x):
    class Cell:
        def __init__(self, value, rest=None):
            self.value, self.rest = value, rest

        def __iter__(self):
            yield self.value
            if self.rest:
                yield from self.rest

    cells = Cell(x[0], Cell(x[1], Cell(x[0] * x[1])))
    return sum(k * v for k, v in enumerate(cells, 1))


@program(ROW)
def a_binary_tree(x):
    class Tree:
        def __init__(self):
            self.key = self.left = self.right = None

        def insert(self, key):
            if self.key is None:
                self.key, self.left, self.right = key, Tree(), Tree()
            elif key < self.key:
                self.left.insert(key)
            else:
                self.right.insert(key)

        def walk(self):
            if self.key is not None:
                yield from self.left.walk()
                yield self.key
                yield from self.right.walk()

    tree = Tree()
    for v in (x[1], x[0], x[0] + x[1], x[1] / 2):
        tree.insert(v)
    return sum(10**k * v for k, v in enumerate(tree.walk()))


@program(ROW)
def class_attributes_and_instances(x):
    class Counter:
        count = 0

        def __init__(self, value):
            Counter.count += 1
            self.value = value

    made = [Counter(v) for v in x]
    return sum(each.value * each.count for each in made)


@program(ROW)
def simple_name_spaces(x):
    space = types.SimpleNamespace(a=x[0])
    space.b = space.a * x[1]
    setattr(space, "c", getattr(space, "b") ** 2)
    return sum(vars(space).values()) + len(dir(space)) * 0


@program(ROW)
def a_metaclass(x):
    class Registry(type):
        made: typing.ClassVar[list] = []

        def __new__(mcs, name, bases, space):
            cls = super().__new__(mcs, name, bases, space)
            Registry.made.append(name)
            return cls

        def __call__(cls, *args):
            return super().__call__(*(2 * a for a in args))

    class Model(metaclass=Registry):
        def __init__(self, value):
            self.value = value

    return Model(x[0]).value * len(Registry.made) + x[1]


@program(ROW)
def dunder_new_and_init_subclass(x):
    class Base:
        kinds: typing.ClassVar[dict] = {}

        def __init_subclass__(cls, scale=1.0, **kwargs):
            super().__init_subclass__(**kwargs)
            Base.kinds[cls.__name__] = scale

        def __new__(cls, value):
            self = super().__new__(cls)
            self.doubled = value * 2
            return self

    class Own(Base, scale=3.0):
        pass

    return Own(x[0]).doubled * Base.kinds["Own"] + x[1]


@program(ROW)
def a_chain_of_methods(x):
    class Builder:
        def __init__(self, value):
            self.value = value

        def add(self, other):
            self.value = self.value + other
            return self

        def scale(self, by):
            self.value = self.value * by
            return self

    return Builder(x[0]).add(x[1]).scale(x[0]).add(1).value


@program(ROW)
def private_names_and_slots(x):
    class Model:
        __slots__ = ("__rate", "_shift")

        def __init__(self, rate, shift):
            self.__rate, self._shift = rate, shift

        def apply(self, v):
            return v * self.__rate + self._shift

    model = Model(x[0], x[1])
    try:
        model.other = 1
    except AttributeError:
        return model.apply(x[0]) * 2
    return model.apply(x[0])


@program(ROW)
def a_singleton(x):
    class Settings:
        instance = None

        def __new__(cls):
            if cls.instance is None:
                cls.instance = super().__new__(cls)
                cls.instance.calls = 0
            cls.instance.calls += 1
            return cls.instance

    return np.sum(x) * Settings().calls + x[0] * Settings().calls


@program(ROW)
def generic_classes(x):
    T = typing.TypeVar("T")

    class Box(typing.Generic[T]):
        def __init__(self, item: T):
            self.item = item

        def map(self, function):
            return Box(function(self.item))

    return np.sum(Box[np.ndarray](x).map(np.sin).map(lambda v: v * 2).item)


@program(ROW)
def augmented_operators(x):
    class Total:
        def __init__(self):
            self.value, self.n = 0.0, 0

        def __iadd__(self, other):
            self.value = self.value + other
            self.n += 1
            return self

        def __imul__(self, other):
            self.value = self.value * other
            return self

    total = other = Total()
    total += x[0]
    total *= x[1]
    total += 1
    return other.value * other.n


@fresh(ROW)
def a_model_of_layers():
    class Layer:
        def __init__(self, n, m, seed):
            self.weights = np.random.default_rng(seed).normal(size=(n, m))
            self.calls = 0

        def __call__(self, v):
            self.calls += 1
            return np.tanh(self.weights @ v)

    class Model:
        def __init__(self):
            self.layers = [Layer(3, 2, 0), Layer(2, 3, 1)]

        def __call__(self, x):
            for layer in self.layers:
                x = layer(x)
            return np.sum(x)

    model = Model()
    return model, lambda: [layer.calls for layer in model.layers]


@fresh(ROW)
def a_bank_account():
    class Account:
        def __init__(self):
            self.balance, self.history = 100.0, []

        def withdraw(self, amount):
            if amount > self.balance:
                raise ValueError("too much")
            self.balance -= amount
            self.history.append("withdraw")

    account = Account()

    def f(x):
        account.withdraw(30.0)
        try:
            account.withdraw(60.0)
        except ValueError:
            account.history.append("refused")
        return np.sum(x) * account.balance

    return f, lambda: [account.balance, account.history]
