"""Descriptors, iterators, trees, metaclasses and models made of objects."""

from __future__ import annotations

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
    return (
        sum(series[1:])
        + len(series) * series[-1]
        + (2.0 if x[1] in series else 3.0) * sum(k * v for k, v in enumerate(reversed(series)))
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
