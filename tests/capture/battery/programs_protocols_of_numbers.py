"""Objects that are numbers by a method, methods that are not bound, and modules as dictionaries."""

from __future__ import annotations

import cmath
import math

import numpy as np

from tests.capture.battery.registry import program

ROW = np.array([0.7, 1.3])


class Length:
    """A number of metres, which is asked for."""

    def __init__(self, metres):
        self.metres = metres

    def __float__(self):
        return float(self.metres) * 2.0

    def __complex__(self):
        return complex(self.metres) * 1j


class Wrong:
    def __float__(self):
        return 1

    def __complex__(self):
        return "1j"


@program(ROW)
def an_object_as_a_float(x):
    found = np.array([float(Length(x[0])), np.float64(Length(x[1])) * 3])
    return found.sum() + float(Length(2)) + max(x, key=lambda v: float(Length(v)))


@program(ROW)
def an_object_of_a_local_class_as_a_float(x):
    class Offset:
        def __float__(self):
            return float(x[0] ** 2)

    return float(Offset()) * 3 + math.exp(Offset())


@program(ROW)
def an_object_given_to_math(x):
    one, other = Length(x[0]), Length(x[1])
    return math.sin(one) + math.hypot(one, other, 1.0) + math.atan2(other, 2) + math.log(one, 3)


@program(ROW)
def an_object_as_a_complex_number(x):
    return complex(Length(x[1])).imag + cmath.exp(Length(x[0])).real


@program(ROW)
def an_object_that_is_no_float_raises(x):
    return x.sum() * float(Wrong())


@program(ROW)
def an_object_that_is_no_complex_number_raises(x):
    return x.sum() * complex(Wrong())


@program(0.7)
def methods_of_floats_that_are_not_bound(t):
    add, power = float.__add__, float.__pow__
    found = add(t, 1.0) + power(t, 2) + float.__mul__(t, 3.0) + sum(map(float.__neg__, [t, 2 * t]))
    return found + float.__rsub__(t, 4.0) + float.conjugate(t) + float.__lt__(t, 1.0) * t


@program(0.7)
def methods_of_floats_with_the_number_second(t):
    found = float.__add__(2.0, t) + float.__sub__(5.0, t) + float.__rsub__(5.0, t)
    return found + float.__truediv__(1.0, t) + float.__gt__(1.0, t) * t + float.__le__(1.0, t)


@program(ROW)
def methods_of_scalars_that_are_not_bound(x):
    return np.float64.__mul__(x[0], 3.0) + sum(map(np.float64.__abs__, x)) + np.generic.sum(x[1])


@program(ROW)
def a_method_of_a_scalar_for_a_float_raises(x):
    return np.float64.__mul__(float(x[0]), 3.0)


@program(ROW)
def modules_as_dictionaries(x):
    own = vars(np)["tanh"](x) + np.__dict__["cosh"](x) + np.linalg.__dict__["norm"](x)
    return own.sum() + vars(math)["sin"](x[0]) + vars(np)["linalg"].norm(x) * len(vars()["x"])
