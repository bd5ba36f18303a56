"""Classes asked about, globals, iterators and operators mean in a clone what they do in Python."""

from __future__ import annotations

import functools
import warnings
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from tests.capture.comparing import captured_value, same_derivative, same_values

COUNT = 0
TABLE = {float: 3.0, np.float64: 4.0}


def check(function: Any) -> None:
    same_values(captured_value(function, 0.7), function(0.7))
    same_derivative(function, (0.7,))


@functools.singledispatch
def dispatched(value: Any) -> Any:
    return value


@dispatched.register(float)
@dispatched.register(np.floating)
def _(value: Any) -> Any:
    out = np.zeros(2)
    out[1] = value
    return out.sum() * 2


class Methods:
    @functools.singledispatchmethod
    def of(self, value: Any) -> Any:
        return 1.0

    @of.register
    def _(self, value: float) -> Any:
        return value * 5


def by_pattern(x: Any) -> Any:
    match x:
        case int(v):
            return v * 2
        case float(v):
            return v * 3
    return x


def subclass_inside(x: Any) -> Any:
    class Twice(float):
        def twice(self) -> float:
            return 2 * float(self)

    return x * Twice(3.0).twice() * isinstance(Twice(1.0), float)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x * (type(x) is float) + x * (float is float) * 3,
        lambda x: x * (x.__class__ is float) + x * (np.float64 is not float),
        lambda x: x * TABLE[type(x)] + TABLE[type(np.sin(x))],
        lambda x: x * isinstance(x, float | int) + isinstance(x, np.floating) * 5 * x,
        lambda x: x * issubclass(type(x), (int, float)) + type(x)(3.0) * x,
        lambda x: dispatched(x) + dispatched(np.sin(x)),
        lambda x: Methods().of(x) * Methods().of("a"),
        by_pattern,
        subclass_inside,
        lambda x: x * x.is_integer() + x * (2.0).is_integer(),
    ],
)
def test_a_traced_number_answers_as_the_class_that_it_stands_for(function: Any) -> None:
    same_values(captured_value(function, 0.7), function(0.7))
    same_values(ad.value_and_grad(function)(0.7)[0], np.float64(function(0.7)))


def nested_globals(x: Any) -> Any:
    global COUNT
    COUNT = 1

    def more() -> None:
        global COUNT
        COUNT += 10

    more()
    globals()["COUNT"] += 100
    return x * COUNT


def test_globals_are_those_of_the_module_at_once() -> None:
    assert ad.grad(nested_globals)(0.7) == 111.0
    assert COUNT == 111


def test_names_of_the_module_are_found_in_the_body_of_a_class() -> None:
    def made(x: Any) -> Any:
        class Local:
            table = TABLE
            root = np.sqrt(4.0)

        assert Local.__module__ == __name__ == made.__module__
        return x * Local.table[float] * Local.root

    check(made)


class Steps:
    def __init__(self, x: Any) -> None:
        self.x, self.n = x, 0

    def __iter__(self) -> Steps:
        return self

    def __next__(self) -> Any:
        self.n += 1
        if self.n > 3:
            raise StopIteration
        out = np.zeros(2)
        out[0] = self.x * self.n
        return out.sum()


def over_steps(x: Any) -> Any:
    steps = Steps(x)
    assert iter(steps) is steps
    total = next(steps)
    for value in steps:
        total = total + value
    return total + next(steps, 0.0) + sum(Steps(x))


def test_an_iterator_of_the_users_is_a_clone_too() -> None:
    check(over_steps)


class NoIterator:
    def __iter__(self) -> Any:
        return [1.0]


def test_what_is_no_iterator_raises_as_in_python() -> None:
    with pytest.raises(TypeError, match=r"iter.. returned non-iterator of type 'list'"):
        ad.grad(lambda x: [x for _ in NoIterator()])(1.0)


LOG: list[str] = []


class Left:
    def __init__(self, v: Any) -> None:
        self.v = v

    def __add__(self, other: Any) -> Any:
        LOG.append("add")
        return self.v

    def __radd__(self, other: Any) -> Any:
        LOG.append("radd")
        return self.v * 2

    def __mul__(self, other: Any) -> Any:
        LOG.append("mul")
        return NotImplemented


class Same(Left):
    pass


class Refined(Left):
    def __radd__(self, other: Any) -> Any:
        LOG.append("refined")
        return self.v * 3


@pytest.mark.parametrize(
    ("function", "order"),
    [
        (lambda x: Left(x) + Same(x), ["add"]),
        (lambda x: Left(x) + Refined(x), ["refined"]),
        (lambda x: [1] + Left(x), ["radd"]),  # noqa: RUF005
    ],
)
def test_operators_are_asked_in_the_order_of_python(function: Any, order: Any) -> None:
    LOG.clear()
    expected = ad.grad(function)(0.7)
    assert order == LOG
    LOG.clear()
    assert function(0.7) == pytest.approx(0.7 * expected)
    assert order == LOG


def test_an_operator_that_is_not_implemented_is_asked_once() -> None:
    LOG.clear()
    with pytest.raises(TypeError, match=r"unsupported operand type.* 'Left' and 'float'"):
        ad.grad(lambda x: Left(x) * 2.0)(0.7)
    assert LOG == ["mul"]


class Meta(type):
    def __getattr__(cls, name: str) -> float:
        return 100.0

    def __iter__(cls) -> Any:
        return iter([1.0, 2.0])


class WithAttribute(metaclass=Meta):
    inherited = 2.0


class Inheriting(WithAttribute):
    pass


def test_a_metaclass_is_asked_after_the_classes() -> None:
    check(lambda x: x * Inheriting.inherited * Inheriting.other * sum(v for v in Inheriting))


def test_warnings_name_the_module() -> None:
    def warns(x: Any) -> Any:
        warnings.warn("something", stacklevel=1)
        return x

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.filterwarnings("always", module=__name__)
        ad.grad(warns)(1.0)
    assert [str(each.message) for each in caught] == ["something"]


def test_text_is_formatted_beside_classes_that_overload() -> None:
    check(lambda x: x * len("%.2f" % x))  # noqa: UP031


def test_a_comprehension_puts_back_a_name_that_was_not_bound() -> None:
    def values(x: Any) -> Any:
        found = [np.sin(i) for i in [x, 2 * x]]
        return found[0] + found[1]

    check(values)


def test_an_array_of_no_axes_is_an_array() -> None:
    def f(x: Any) -> Any:
        t = np.array(x)
        assert isinstance(t, np.ndarray)
        assert not isinstance(t * 1.0, np.ndarray)
        t[...] += 1.0
        return t * x

    assert ad.grad(f)(np.float64(3.0)) == 7.0
    assert ad.grad(f)(3.0) == 7.0
