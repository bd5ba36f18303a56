"""What a survey finds: a check that fails after each change that a function could see."""

from __future__ import annotations

import abc
import collections
import contextlib
import dataclasses
import decimal
import enum
import fractions
import functools
import operator
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from adjoint.capture.facts.survey import Survey


def survey(function: Any, *args: Any, **kwargs: Any) -> Survey:
    found = Survey(function, args, kwargs, frozenset())
    assert not found.hindrances, found.hindrances
    assert found.check(function, args, kwargs) is None
    return found


def notices(function: Any, change: Callable[[], Any], *args: Any) -> None:
    """The check fails after a change."""
    found = survey(function, *args)
    change()
    assert found.check(function, args, {}) is not None


def overlooks(function: Any, change: Callable[[], Any], *args: Any) -> None:
    """The check does not fail after a change that the function cannot see."""
    found = survey(function, *args)
    change()
    assert found.check(function, args, {}) is None


def refuses(function: Any, *args: Any) -> str:
    """Why the function cannot be replayed."""
    found = Survey(function, args, {}, frozenset())
    assert found.hindrances
    return "; ".join(each.text for each in found.hindrances)


# --- values ---------------------------------------------------------------------------------------

VALUES: list[tuple[Any, Any]] = [
    (1, True),
    (1, 1.0),
    (1.0, np.float64(1.0)),
    (0.0, -0.0),
    (1, np.int64(1)),
    (2j, complex(-0.0, 2.0)),
    ("a", b"a"),
    (None, 0),
    (fractions.Fraction(1, 2), decimal.Decimal("0.5")),
    (decimal.Decimal("1.0"), decimal.Decimal("1.00")),
    (slice(0, 2), slice(0, 2.0)),
    (range(3), range(0, 3, 2)),
    (np.float32(1.0), np.float64(1.0)),
    (np.dtype("f4"), np.dtype(">f4")),
    (np.sin, np.cos),
    (len, abs),
    (int, float),
    ([1, 2], (1, 2)),
    ([1, 2], [1, 2.0]),
    ([1, [2, [3]]], [1, [2, [4]]]),
    ([], [0]),
    ({"a": 1}, {"a": True}),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    ({1: "a"}, {True: "a"}),
    ({(1, 2): [3]}, {(1, 2): [4]}),
    ({}, {"a": 1}),
    ({1, 2}, {1, 3}),
    ({1, 2}, frozenset({1, 2})),
    (collections.deque([1]), collections.deque([1], 5)),
    (collections.OrderedDict(a=1), {"a": 1}),
    (collections.defaultdict(list), collections.defaultdict(dict)),
    (np.array([1.0, 2.0]), np.array([1.0, 3.0])),
    (np.array([1.0, 2.0]), np.array([1, 2])),
    (np.array([0.0]), np.array([-0.0])),
    (np.array([1.0]), np.array([[1.0]])),
    (np.ones((2, 2)), np.ones((2, 2), order="F")),
    (np.arange(6.0)[::2], np.arange(0.0, 6.0, 2.0)),
    (np.array(["a", "b"]), np.array(["a", "c"])),
    (np.array([1], "M8[s]"), np.array([2], "M8[s]")),
    (np.array(1.0), np.float64(1.0)),
    (functools.partial(pow, 2), functools.partial(pow, 3)),
    (operator.itemgetter(0), operator.itemgetter(1)),
    ("".join, "a".join),
    ([1].index, [2].index),
    (sparse.eye_array(3).tocsr(), (2 * sparse.eye_array(3)).tocsr()),
    (np.polynomial.Polynomial([1, 2]), np.polynomial.Polynomial([1, 3])),
    (types.SimpleNamespace(a=1), types.SimpleNamespace(a=2)),
]


@pytest.mark.parametrize(("value", "other"), VALUES, ids=[repr(one)[:20] for one, _ in VALUES])
def test_values_are_told_apart(value: Any, other: Any) -> None:
    box = [value]
    notices(lambda: box, lambda: box.__setitem__(0, other))
    notices(lambda: box, lambda: box.__setitem__(0, value))
    for one, another in ((value, other), (other, value)):
        found = survey(attribute, one)
        assert found.check(attribute, (another,), {}) is not None


def attribute(x: Any) -> Any:
    return x.a


def test_equal_contents_are_as_good() -> None:
    held = {"a": [np.arange(3.0), (1, "x")], "b": types.SimpleNamespace(c={2})}

    def change() -> None:
        nonlocal held
        held = {"a": [np.arange(3.0), (1, "x")], "b": types.SimpleNamespace(c={2})}

    overlooks(lambda: held["b"].c, change)  # type: ignore[attr-defined]


def test_nan_is_itself() -> None:
    held = [float("nan"), np.array([np.nan])]
    overlooks(lambda: held, lambda: held.__setitem__(0, float("nan")))


# --- what is called -------------------------------------------------------------------------------


class Base:
    rate = 1.0

    def helper(self) -> Any:
        return 1.0

    @property
    def twice(self) -> Any:
        return 2 * self.rate

    @staticmethod
    def still() -> Any:
        return 1.0

    @classmethod
    def made(cls) -> Any:
        return cls.rate


class Thing(Base):
    def __init__(self) -> None:
        self.used: Any = [1.0]
        self.unused: Any = [1.0]

    def run(self) -> Any:
        return self.helper(), self.twice, self.still(), self.made(), self.used

    def __len__(self) -> int:
        return LENGTH

    def by_name(self, name: str) -> Any:
        return getattr(self, name)

    def size(self) -> Any:
        return len(self)


LENGTH = 3


@pytest.mark.parametrize(
    "change",
    [
        lambda m, thing: m.setattr(Base, "helper", lambda self: 2.0),
        lambda m, thing: m.setattr(Base.helper, "__code__", (lambda self: 2.0).__code__),
        lambda m, thing: m.setattr(Base, "twice", property(lambda self: 5.0)),
        lambda m, thing: m.setattr(Base, "still", staticmethod(lambda: 5.0)),
        lambda m, thing: m.setattr(Base, "made", classmethod(lambda cls: 5.0)),
        lambda m, thing: m.setattr(Base, "rate", 2.0),
        lambda m, thing: m.setattr(Thing, "rate", 2.0, raising=False),
        lambda m, thing: m.setattr(thing, "rate", 2.0, raising=False),
        lambda m, thing: m.setattr(thing, "used", [2.0]),
        lambda m, thing: thing.used.append(2.0),
        lambda m, thing: m.setattr(thing, "helper", lambda: 2.0, raising=False),
        lambda m, thing: m.setattr(thing, "__class__", type("Other", (Thing,), {})),
    ],
)
def test_methods_and_attributes(
    change: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    thing = Thing()
    notices(thing.run, lambda: change(monkeypatch, thing))


def test_special_methods_are_entered(monkeypatch: pytest.MonkeyPatch) -> None:
    notices(Thing().size, lambda: monkeypatch.setitem(globals(), "LENGTH", 4))


def test_attributes_that_no_code_names() -> None:
    thing = Thing()
    overlooks(thing.run, lambda: thing.unused.append(2.0))
    notices(functools.partial(thing.by_name, "unused"), lambda: thing.unused.append(2.0))


@dataclasses.dataclass
class Data:
    a: Any
    b: Any


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Shape(abc.ABC):
    @abc.abstractmethod
    def area(self) -> Any: ...


class Square(Shape):
    __slots__ = ("side",)

    def __init__(self, side: Any) -> None:
        self.side = side

    def area(self) -> Any:
        return self.side**2


class Counts(collections.UserDict[str, Any]):
    pass


class Row(list[Any]):
    pass


def test_classes_of_other_kinds() -> None:
    data = Data(1.0, [2.0])
    notices(lambda: data == Data(1.0, [2.0]), lambda: data.b.append(1.0))
    square = Square(2.0)
    notices(lambda: square.area(), lambda: setattr(square, "side", 3.0))
    colours = [Colour.RED]
    notices(lambda: colours[0], lambda: colours.__setitem__(0, Colour.BLUE))
    counts = Counts(a=1)
    notices(lambda: counts["a"], lambda: counts.__setitem__("a", 2))
    row = Row([1.0])
    notices(lambda: row[0], lambda: row.append(2.0))
    notices(lambda: Data(1, 2).a, lambda: setattr(Data, "a", 5))
    del Data.a


def test_functions_within_others() -> None:
    inner = [2.0]

    def deep(x: Any) -> Any:
        return inner[0] * x

    functions: dict[str, Any] = {"deep": deep}
    for function in (
        lambda x: functions["deep"](x),
        lambda x: (lambda y: functools.reduce(deep, [y]))(x),
        functools.partial(lambda f, x: f(x), deep),
        functools.lru_cache(deep),
        lambda x, f=deep: f(x),
        lambda x, *, f=deep: f(x),
        np.vectorize(deep),
    ):
        notices(function, lambda: inner.__setitem__(0, inner[0] + 1.0))


@contextlib.contextmanager
def within() -> Any:
    yield LENGTH


def test_context_managers(monkeypatch: pytest.MonkeyPatch) -> None:
    def function() -> Any:
        with within() as length:
            return length

    notices(function, lambda: monkeypatch.setitem(globals(), "LENGTH", 5))


def test_a_method_of_an_object_in_a_container(monkeypatch: pytest.MonkeyPatch) -> None:
    layers = [Square(1.0)]
    notices(
        lambda: [layer.area() for layer in layers],
        lambda: monkeypatch.setattr(Square, "area", lambda self: 7.0),
    )


def test_functions_that_refer_to_each_other() -> None:
    limit = [3]

    def even(n: int) -> bool:
        return n == 0 or odd(n - 1)

    def odd(n: int) -> bool:
        return n != 0 and n < limit[0] and even(n - 1)

    notices(even, lambda: limit.append(1))


# --- what cannot be compared ----------------------------------------------------------------------


def test_what_cannot_be_compared() -> None:
    generator, numbers = (n for n in (1, 2)), iter([1])
    assert "generator" in refuses(lambda: generator)
    assert "list_iterator" in refuses(lambda: numbers)
    large = np.zeros(1 << 22)
    assert "MiB" in refuses(lambda: large)
    objects = np.array([None, 1])
    assert "array of objects" in refuses(lambda: objects)
    with open(__file__, encoding="utf-8") as file:
        assert "TextIOWrapper" in refuses(lambda: file)
    many = [[n] for n in range(20_000)]
    assert "too many" in refuses(lambda: many)


def test_nothing_is_kept_alive() -> None:
    import gc
    import weakref

    thing = Thing()
    thing.used = np.ones(3)
    found = survey(thing.run)
    references = [weakref.ref(thing), weakref.ref(thing.used)]
    del thing
    gc.collect()
    assert [each() for each in references] == [None, None]
    assert found.check(Thing().run, (), {}) is not None
