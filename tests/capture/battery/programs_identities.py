"""Which object is which: the same array twice, foreign classes, subclasses of arrays."""

from __future__ import annotations

import copy
import warnings

import numpy as np

from tests.capture.battery.registry import fresh, program

ROW = np.array([0.7, 1.3])


@program(ROW)
def the_same_array_twice(x):
    def product(a, b):
        return np.sum(a * b) if a is b else np.sum(a + b)

    return product(x, x) + product(x, x.copy())


@program(ROW)
def two_views_are_two_objects(x):
    return np.sum(x) * (2 if x[:1] is x[:1] else 3)


@program(ROW)
def asarray_is_the_same_object(x):
    return np.sum(x) * (2 if np.asarray(x) is x else 3)


@program(ROW)
def array_is_another_object(x):
    return np.sum(x) * (2 if np.array(x) is x else 3)


@program(ROW)
def asanyarray_and_ascontiguousarray(x):
    same = np.asanyarray(x) is x and np.ascontiguousarray(x) is x
    return np.sum(x) * (2 if same else 3)


@program(ROW)
def astype_without_a_copy(x):
    return np.sum(x) * (2 if x.astype(float, copy=False) is x else 3)


@program(ROW)
def transpose_of_a_vector_is_a_view(x):
    y = x.copy()
    y.T[0] = 5.0
    return np.sum(y) * (2 if y.T is y else 3)


@program(ROW)
def in_place_keeps_the_object(x):
    y = x * 2
    z = y
    y += 1
    return np.sum(z) * (2 if y is z else 3)


@program(ROW)
def out_is_returned(x):
    out = np.zeros(2)
    y = np.add(x, 1, out=out)
    return np.sum(y * out) * (2 if y is out else 3)


@program(ROW)
def bases_of_views(x):
    y = x * 2
    part = y[:1]
    return np.sum(x) * (2 if part.base is y and y.base is None else 3)


@program(ROW)
def shared_memory(x):
    y = x * 2
    shared = np.shares_memory(y, y[1:]) and not np.shares_memory(y[:1], y[1:])
    return np.sum(x) * (2 if shared else 3)


@program(ROW)
def may_share_memory(x):
    y = x * 2
    return np.sum(x) * (2 if np.may_share_memory(y, y.reshape(2, 1)) else 3)


@program(ROW)
def identity_in_a_list(x):
    y, z = x * 2, x * 2
    return np.sum(x) * next(k for k, each in enumerate([y, z]) if each is z)


@program(ROW)
def identity_by_id(x):
    seen = {id(x): 2.0}
    return np.sum(x) * seen.get(id(x), 3.0)


@program(ROW)
def copies_by_copy(x):
    y = copy.copy(x)
    y += 1
    z = copy.deepcopy({"a": x, "b": [x]})
    z["a"] *= 2
    return np.sum(x * y) + np.sum(z["a"] * z["b"][0])


@program(ROW)
def deep_copies_keep_aliases(x):
    y = x * 2
    z = copy.deepcopy([y, y])
    z[0] += 1
    return np.sum(z[1]) * (2 if z[0] is z[1] else 3)


@program(ROW)
def swapped_names(x):
    a, b = x * 2, x * 3
    a, b = b, a
    a += 1
    return np.sum(a * b * b)


@program(ROW)
def a_slot_of_a_list_is_not_the_name(x):
    rows = [x * 2]
    y = rows[0]
    y = y + 1
    return np.sum(rows[0] * y)


class Length:
    """A number with a unit, which wants to be asked before arrays."""

    __array_priority__ = 1000

    def __init__(self, value):
        self.value = value

    def __radd__(self, other):
        return 10 * (other + self.value)

    def __add__(self, other):
        return 100 * (other + self.value)

    def __rmul__(self, other):
        return Length(other * self.value)

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return NotImplemented


class Quiet:
    """Says no to ufuncs by None, and has reflected operators."""

    __array_ufunc__ = None

    def __radd__(self, other):
        return other * 7

    def __rmatmul__(self, other):
        return other * 3

    def __rsub__(self, other):
        return other**2

    def __rtruediv__(self, other):
        return other / 4

    def __gt__(self, other):
        return "less" if isinstance(other, np.ndarray) else "none"


class Priority:
    """Of the old protocol alone."""

    __array_priority__ = 100.0

    def __radd__(self, other):
        return other * 5

    def __rmul__(self, other):
        return other * 6


@program(ROW)
def a_class_with_priority_adds_from_the_right(x):
    return np.sum(x + Priority()) + np.sum(x * Priority())


@program(ROW)
def a_class_with_ufunc_none_adds_from_the_right(x):
    return np.sum(x + Quiet()) + np.sum(x @ Quiet()) + np.sum(x - Quiet()) + np.sum(x / Quiet())


@program(ROW)
def a_class_with_ufunc_none_compares(x):
    return np.sum(x) * (2 if (x < Quiet()) == "less" else 3)


@program(ROW)
def a_unit_adds_from_both_sides(x):
    return np.sum(Length(2.0) + x) + (x[0] * Length(3.0)).value


@fresh(ROW)
def a_unit_made_outside():
    unit, quiet, priority = Length(2.0), Quiet(), Priority()

    def f(x):
        return np.sum(unit + x) + np.sum(x + quiet) + np.sum(x + priority)

    return f


@fresh(0.7)
def a_unit_and_a_python_number():
    class Metre:
        def __init__(self, value):
            self.value = value

        def __rmul__(self, other):
            return Metre(other * self.value)

        def __add__(self, other):
            return Metre(self.value + other.value)

    metre = Metre(1.0)
    return lambda x: (x * metre + x**2 * metre).value


class Swapped(np.ndarray):
    """Adds where it is multiplied."""

    def __mul__(self, other):
        return np.asarray(self) + other

    def __rmul__(self, other):
        return np.asarray(self) + other


class Tagged(np.ndarray):
    """An array with a name, which results inherit."""

    def __array_finalize__(self, other):
        self.tag = getattr(other, "tag", "none")


class Logged(np.ndarray):
    """Counts the ufuncs that it takes part in."""

    calls = 0

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        Logged.calls += 1
        plain = [np.asarray(each) if isinstance(each, Logged) else each for each in inputs]
        return getattr(ufunc, method)(*plain, **kwargs)


@fresh(ROW)
def a_subclass_that_overrides_multiplication():
    data = np.array([2.0, 3.0]).view(Swapped)
    return lambda x: np.sum(x * data) + np.sum(data * x)


@fresh(ROW)
def a_subclass_with_a_tag():
    data = np.array([2.0, 3.0]).view(Tagged)
    data.tag = "data"
    return lambda x: np.sum(np.asarray(x * data)) * len((data * 2).tag)


@fresh(ROW)
def a_subclass_that_counts():
    data = np.array([2.0, 3.0]).view(Logged)
    Logged.calls = 0

    def f(x):
        y = np.sum(x * data)
        return y * Logged.calls

    return f, lambda: Logged.calls


@program(ROW)
def a_view_as_a_subclass(x):
    y = x.view(Tagged)
    return np.sum(np.asarray(y) ** 2)


@fresh(ROW)
def a_matrix_multiplies_as_matrices():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the name
        data = np.matrix([[1.0, 2.0], [3.0, 4.0]])
    return lambda x: float((data * data)[0, 1]) * np.sum(x)


@fresh(ROW)
def a_masked_array_sums_what_is_not_masked():
    data = np.ma.array([1.0, 100.0], mask=[False, True])
    return lambda x: float(data.sum()) * np.sum(x)


@fresh(ROW)
def a_class_with_the_array_protocol():
    class Table:
        def __array__(self, dtype=None, copy=None):
            return np.array([2.0, 5.0])

    table = Table()
    return lambda x: np.sum(x * np.asarray(table)) + np.sum(np.multiply(x, table))


@fresh(ROW)
def a_class_with_the_function_protocol():
    class Diagonal:
        def __init__(self, value):
            self.value = value

        def __array_function__(self, function, types, args, kwargs):
            return self.value * 10 if function is np.sum else NotImplemented

    diagonal = Diagonal(3.0)
    return lambda x: np.sum(x) * np.sum(diagonal)


@fresh(ROW)
def a_class_with_the_function_protocol_beside_the_point():
    class Stacker:
        def __array_function__(self, function, types, args, kwargs):
            return np.ones(2) * 4

    stacker = Stacker()
    return lambda x: np.sum(x * np.concatenate([x, stacker]))


@program(ROW)
def operators_of_lists_and_tuples(x):
    return np.sum(x + [1.0, 2.0]) + np.sum((3.0, 4.0) * x) + np.sum([1, 2] @ x)


@program(ROW)
def comparison_with_none(x):
    return np.sum(x) * (2 if x is not None and not (x == None).any() else 3)  # noqa: E711


@program(ROW)
def comparison_with_a_word(x):
    return np.sum(x) * (2 if np.all(x != "word") else 3)


@program(ROW)
def types_of_results(x):
    types = [type(each).__name__ for each in (x, x[0], x.sum(), x > 1, x[0] > 1, x.shape, x.size)]
    return np.sum(x) * len("".join(types))


@program(ROW)
def isinstance_checks(x):
    count = isinstance(x, np.ndarray) + 2 * isinstance(x, (list, tuple)) + 4 * callable(x)
    return np.sum(x) * count + x[0] * isinstance(x[0], (np.floating, float))


@program(ROW)
def subclass_checks(x):
    return np.sum(x) * (2 if issubclass(type(x), np.ndarray) else 3)


@program(ROW)
def duck_typing(x):
    def total(v):
        if hasattr(v, "__len__") and hasattr(v, "dtype"):
            return v.sum() * 2
        return v

    return total(x) + total(x[0])


@program(ROW)
def class_pattern(x):
    match x:
        case np.ndarray(shape=(2,)):
            return np.sum(x) * 2
        case _:
            return np.sum(x) * 3


@program([0.7, 1.3])
def sequence_pattern(x):
    match x:
        case [first, second]:
            return first * second
        case _:
            return x[0]


@program({"kind": 0.7, "size": 1.3})
def mapping_pattern(x):
    match x:
        case {"kind": kind, **rest}:
            return kind * len(rest) + rest["size"] ** 2
        case _:
            return 0.0


@program(0.7)
def value_pattern_with_a_guard(x):
    match x:
        case 0.5:
            return x
        case float(y) if y > 0.6:
            return y**2
        case _:
            return x**3
