"""Arguments of other types, orders, layouts and contents, call by call."""

from __future__ import annotations

import collections
from decimal import Decimal
from fractions import Fraction

import numpy as np

from tests.capture.battery.registry import sequence

ROW = np.array([0.7, 1.3])


@sequence
def whole_numbers_of_python_and_numpy():
    def f(x, n):
        return np.sum(x * n)

    for n in (2, 2, np.int64(2), True, 2, np.int8(2), np.uint8(2), np.bool_(True), 3):
        yield f, ROW, n


@sequence
def a_narrow_array_and_a_number():
    narrow = np.array([100], np.int8)

    def f(x, n):
        return x * np.sum(n + narrow)

    for n in (2, 2, np.int64(100), np.int16(100), True, np.int64(2), 2):
        yield f, 0.7, n


@sequence
def a_narrow_array_as_argument():
    def f(x, n, narrow):
        return x * np.sum((n * narrow).astype(float))

    for n in (2, np.int64(2), 2, np.int64(2)):
        yield f, 0.7, n, np.array([100], np.int8)


@sequence
def a_number_that_does_not_fit():
    def f(x, n):
        return x * np.sum(np.array([1, 2], np.uint8) + n)

    for n in (1, 300, -1, 1):
        yield f, 0.7, n


@sequence(single=True)
def floats_of_python_and_numpy():
    single = np.array([0.7, 1.3], np.float32)

    def f(x, y):
        return np.sum(single * x) * y

    for x in (2.0, 2.0, np.float64(2.0), np.float32(2.0), 2.0, np.array(2.0)):
        yield f, x, 1.5


@sequence
def type_of_a_float():
    def f(x):
        return x * 2 if type(x) is float else x * 3

    for x in (0.7, 0.7, np.float64(0.7), np.array(0.7), 0.7, np.float64(0.8)):
        yield f, x


@sequence
def numbers_and_arrays():
    def f(x):
        return np.sum(x * np.array([1.0, 2.0]))

    for x in (0.7, ROW, 0.7, np.array(0.7), np.array([0.7]), np.ones((3, 2)), ROW, np.float64(1.0)):
        yield f, x


@sequence
def shapes():
    def f(x):
        return np.sum(x**2) * x.ndim + len(x)

    for shape in (3, 3, 4, (2, 2), (1, 3), 3, (0,), (2, 0)):
        yield f, np.arange(1.0, 1 + np.prod(shape)).reshape(shape)


@sequence(single=True)
def dtypes():
    def f(x):
        return np.sum(x**2) + x.dtype.itemsize

    for dtype in (float, float, np.float32, np.float64, complex, np.float32):
        yield (lambda x: f(x).real), np.array([0.7, 1.3], dtype)


@sequence
def layouts():
    x = np.arange(1.0, 7.0).reshape(2, 3)

    def f(x):
        return x.ravel("K")[1] * x[0, 2] + x.flags.c_contiguous

    for y in (x, x, np.asfortranarray(x), x[:, ::-1], x, x.T):
        yield (lambda x: f(x) if x.shape == (2, 3) else x.ravel("K")[1]), y


@sequence
def strides():
    def f(x):
        return np.sum(x * np.arange(3.0)) * x.strides[0]

    base = np.arange(1.0, 13.0)
    for x in (base[:3], base[:3], base[:6:2], base[2::-1], base[::5]):
        yield f, x


@sequence
def writing_into_arguments():
    def f(x):
        x[0] = 5.0
        return np.sum(x**2)

    for x in (ROW.copy(), ROW.copy(), np.ones(3), ROW.copy()):
        yield f, x


@sequence
def writing_into_read_only_arguments():
    frozen = ROW.copy()
    frozen.flags.writeable = False

    def f(x):
        x = x if x.flags.writeable else x.copy()
        x += 1
        return np.sum(x**2)

    for x in (ROW.copy(), frozen, ROW.copy(), frozen):
        yield f, x


@sequence
def in_place_on_read_only_arguments():
    frozen = ROW.copy()
    frozen.flags.writeable = False

    def f(x, y):
        y += 1.0
        return np.sum(x * y)

    for y in ([1, 2], [3, 4], [1, 2]):
        yield f, ROW, Buffer(y)


class Buffer:
    """Something with += of its own."""

    def __init__(self, entries):
        self.entries = np.array(entries, float)

    def __iadd__(self, other):
        return Buffer(self.entries + other)

    def __rmul__(self, other):
        return other * self.entries

    __array_ufunc__ = None


@sequence
def the_order_of_a_dictionary():
    def f(p):
        first, second = p.values()
        return first * second**2

    for p in (
        {"a": 0.7, "b": 1.3},
        {"a": 0.7, "b": 1.3},
        {"b": 1.3, "a": 0.7},
        {"a": 0.7, "b": 1.3},
    ):
        yield f, p


@sequence
def the_order_of_an_ordered_dictionary():
    def f(p):
        return sum(v**k for k, v in enumerate(p.values(), 1))

    first = collections.OrderedDict([("a", 0.7), ("b", 1.3)])
    second = collections.OrderedDict([("b", 1.3), ("a", 0.7)])
    for p in (first, first, second, first, second):
        yield f, p


@sequence
def an_ordered_dictionary_that_is_moved():
    p = collections.OrderedDict([("a", 0.7), ("b", 1.3)])

    def f(p):
        return sum(v**k for k, v in enumerate(p.values(), 1))

    yield f, p
    yield f, p
    p.move_to_end("a")
    yield f, p
    p["c"] = 2.0
    yield f, p


@sequence
def keys_of_a_dictionary():
    def f(p):
        return p.get("scale", 2.0) * p["x"] ** 2

    for p in ({"x": 0.7}, {"x": 0.7, "scale": 3.0}, {"x": 0.7}, {"scale": 1.0, "x": 0.7}):
        yield f, p


@sequence
def equal_but_different_keys():
    def f(x, p):
        return x * p[1] * {int: 2.0, bool: 3.0, float: 5.0, Fraction: 7.0}[type(next(iter(p)))]

    for key in (1, 1, True, 1.0, Fraction(1), 1, True):
        yield f, 0.7, {key: 1.5}


@sequence
def equal_but_different_numbers():
    def f(x, n):
        return x * float(n) * {int: 2, bool: 3, float: 5, Fraction: 7, Decimal: 9}[type(n)]

    for n in (1, True, Fraction(1), Decimal(1), 1, True, Fraction(1), Decimal(2)):
        yield f, 0.7, n


@sequence(smooth=False)
def zeros_of_both_signs():
    def f(x, z):
        return x * (2.0 if np.copysign(1.0, z) > 0 else 3.0)

    for z in (0.0, -0.0, 0.0, -0.0):
        yield f, 0.7, z


@sequence
def words():
    def f(x, kind):
        return np.sum(x**2) if kind == "square" else np.sum(x) * len(kind)

    for kind in ("square", "square", "other", "longer", "square", np.str_("square"), b"square"):
        yield f, ROW, kind


@sequence
def none_and_numbers():
    def f(x, scale=None):
        return np.sum(x**2) if scale is None else np.sum(x) * scale

    for scale in (None, None, 2, None, 0, False, None):
        yield f, ROW, scale


@sequence
def more_arguments():
    def f(x, *rest):
        return np.sum(x) * (1 + len(rest)) + sum(rest)

    for rest in ((), (1,), (), (1, 2), (2, 1), (1, True)):
        yield f, ROW, *rest


@sequence
def trees_of_other_structure():
    def f(p):
        if isinstance(p, dict):
            return p["a"] * 2
        if isinstance(p, tuple):
            return p[0] * p[1] * 3
        return p[0] + 4 * p[-1]

    for p in ({"a": 0.7}, (0.7, 1.3), [0.7, 1.3], [0.7, 1.3, 2.0], (0.7, 1.3), [0.7], {"a": 0.7}):
        yield f, p
