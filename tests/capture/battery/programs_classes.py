"""Classes in all forms: operators, properties, dataclasses, descriptors, enumerations."""

from __future__ import annotations

import functools

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
    one, other = Vector(*x), Vector(*x)
    return np.sum(x) * (2 if one == other else 3) * (5 if one in [other] else 7)


@program(ROW)
def vectors_formatted(x):
    return np.sum(x) * len(f"{Vector(*x):.2f}")


@program(ROW)
def dual_numbers_by_hand(x):
    class Dual:
        def __init__(self, value, slope=0.0):
            self.value, self.slope = value, slope

        def __mul__(self, other):
            slope = self.value * other.slope + self.slope * other.value
            return Dual(self.value * other.value, slope)

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
