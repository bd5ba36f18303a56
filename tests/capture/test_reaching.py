"""What is found through objects runs as a clone, and means what it means in Python."""

from __future__ import annotations

import contextlib
import copy
import functools
import math
import operator
import traceback
from collections import namedtuple
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, Generic, TypeVar

import numpy as np
import pytest

import adjoint as ad
from tests.capture.comparing import captured_value, same_derivative, same_values

T = TypeVar("T")


def check(function: Any, *args: Any) -> None:
    args = args or (0.7,)
    same_values(captured_value(function, *args), function(*args))
    same_derivative(function, args)


def filled(t: Any) -> Any:
    out = np.zeros(2)
    out[0] = math.sin(t)
    return out


class Base:
    factor = 2.0

    def __init__(self, t: Any) -> None:
        self.values = np.zeros(3)
        self.values[1] = t

    def total(self) -> Any:
        out = np.ones(2)
        out[1] = self.values.sum() * self.factor
        return out

    @property
    def doubled(self) -> Any:
        return math.exp(self.values[1]) * 2

    @functools.cached_property
    def kept(self) -> Any:
        return filled(self.values[1])

    @classmethod
    def of(cls, t: Any) -> Any:
        out = np.zeros(1)
        out[0] = t * cls.factor
        return cls(out[0])

    @staticmethod
    def helper(t: Any) -> Any:
        return math.cos(t) * filled(t)

    def __call__(self, t: Any) -> Any:
        return filled(t) @ filled(self.values[1])

    def __getitem__(self, k: int) -> Any:
        return filled(self.values[k])

    def __iter__(self) -> Any:
        for value in self.values:
            out = np.zeros(1)
            out[0] = value
            yield out

    def __matmul__(self, other: Any) -> Any:
        return filled(self.values[1]) * other.values.sum()

    def __neg__(self) -> Any:
        return -filled(self.values[1])


class Derived(Base):
    factor = 3.0

    def __init__(self, t: Any, extra: float = 1.0) -> None:
        super().__init__(t)
        self.extra = np.zeros(1)
        self.extra[0] = extra * t

    def total(self) -> Any:
        return super().total() * math.tan(self.extra[0])

    @property
    def doubled(self) -> Any:
        return super().doubled + math.log(self.extra[0])


class Dynamic:
    def __init__(self, **names: Any) -> None:
        self.names = names

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name not in self.names:
            raise AttributeError(name)
        return math.sqrt(self.names[name])


@dataclass
class Settings:
    rate: Any
    buffer: Any = field(default_factory=lambda: np.zeros(2))

    def __post_init__(self) -> None:
        self.buffer[0] = math.exp(self.rate)


class Slotted:
    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = math.sinh(value)

    def half(self) -> Any:
        return math.cosh(self.value) / 2


Pair = namedtuple("Pair", "first second")


class Point(Pair):
    def norm(self) -> Any:
        return math.hypot(self.first, self.second)


class Container(Generic[T]):
    def __init__(self, item: T) -> None:
        self.item = item

    def apply(self) -> Any:
        return filled(self.item)


class Meta(type):
    def __call__(cls, *args: Any) -> Any:
        return super().__call__(*args)


class Special(metaclass=Meta):
    def __init__(self, t: Any) -> None:
        self.t = t

    def value(self) -> Any:
        return filled(self.t)


class Fluent:
    def __init__(self) -> None:
        self.sum = np.zeros(2)

    def plus(self, t: Any) -> Any:
        self.sum += filled(t)
        return self


class Manager:
    def __enter__(self) -> Any:
        return filled

    def __exit__(self, *error: Any) -> bool:
        return False


class Memo:
    def __init__(self, t: Any) -> None:
        self.t, self.calls = t, 0

    @functools.cache  # noqa: B019  # what people write
    def term(self, n: int) -> Any:
        self.calls += 1
        return math.sin(self.t) if n == 0 else self.term(n - 1) * self.t


TABLE = {"fill": filled, "sin": math.sin, "kind": Derived, "np": np.tanh}


def swapped(t: Any) -> Any:
    kind = Derived if t > 0 else Base
    return kind(t).total()


def methods_as_callbacks(t: Any) -> Any:
    model = Base(t)
    rows = list(map(model.helper, [t, 2 * t]))
    best = max(rows, key=lambda row: float(row[0]))
    return best + sorted(rows, key=operator.itemgetter(0))[0] + functools.reduce(np.add, rows)


def nested_class(t: Any) -> Any:
    class Local(Base):
        def __init__(self) -> None:
            super().__init__(t)

        def __add__(self, other: Any) -> Any:
            return math.erf(self.values[1]) * filled(other)

    return Local() + t


def memoised_method(t: Any) -> Any:
    memo = Memo(t)
    result = memo.term(30) + memo.term(2)
    assert memo.calls == 31
    return result


def stars(t: Any) -> Any:
    args, options = (t,), {"extra": 2.0}
    model = TABLE["kind"](*args, **options)
    return getattr(model, "total")(*(), **{}) + getattr(model, "absent", filled)(t)  # noqa: B009


def manager(t: Any) -> Any:
    with Manager() as fill, contextlib.suppress(KeyError):
        return fill(t)


def in_comprehensions(t: Any) -> Any:
    models = [Base(t * k) for k in (1, 2)]
    table = {k: m.total() for k, m in enumerate(models)}
    return sum(m(t) for m in models) + sum(table.values()) + len({m.factor for m in models})


def deep(t: Any) -> Any:
    holder = SimpleNamespace(a=SimpleNamespace(model=Derived(t), call=filled))
    return holder.a.model.total() + holder.a.call(t) + copy.copy(holder.a.model).total()


FUNCTIONS = [
    lambda t: Base(t).total(),
    lambda t: Derived(t).total(),
    lambda t: Base(t).doubled,
    lambda t: Derived(t).doubled,
    lambda t: Base(t).kept,
    lambda t: Derived.of(t).total(),
    lambda t: Base.helper(t) + Base(t).helper(t),
    lambda t: Base(1.0)(t) + Base(t)(2.0),
    lambda t: Base(t)[1],
    lambda t: sum(Base(t)),
    lambda t: Base(t) @ Derived(2 * t),
    lambda t: -Base(t),
    lambda t: Dynamic(speed=t).speed,
    lambda t: Settings(t).buffer,
    lambda t: Slotted(t).half(),
    lambda t: Point(t, 2.0).norm(),
    lambda t: Container(t).apply(),
    lambda t: Container[float](t).apply(),
    lambda t: Special(t).value(),
    lambda t: Fluent().plus(t).plus(2 * t).sum,
    lambda t: TABLE["fill"](t) * TABLE["sin"](t) + TABLE["np"](t),
    lambda t: [filled, np.cos][0](t) + (filled if t > 0 else np.sin)(t),
    lambda t: Base.total(Base(t)),
    lambda t: operator.methodcaller("total")(SimpleNamespace(total=lambda: filled(t))),
    swapped,
    methods_as_callbacks,
    nested_class,
    memoised_method,
    stars,
    manager,
    in_comprehensions,
    deep,
]


@pytest.mark.parametrize("number", range(len(FUNCTIONS)))
def test_found_through_objects(number: int) -> None:
    check(FUNCTIONS[number])


MODEL = Derived(0.9)
FLUENT = SimpleNamespace(model=MODEL, layers=[Base(0.3), Derived(0.4)])


@pytest.mark.parametrize(
    "function",
    [
        lambda t: MODEL.total() * t + MODEL(t),
        lambda t: FLUENT.model.helper(t),
        lambda t: sum(layer(t) for layer in FLUENT.layers),
        lambda t: [layer.helper for layer in FLUENT.layers][1](t),
        MODEL.helper,
        functools.partial(Base.__call__, MODEL),
    ],
)
def test_objects_that_were_made_before(function: Any) -> None:
    check(function)
    assert type(MODEL) is Derived
    assert "total" not in vars(MODEL)
    assert type(MODEL.values) is np.ndarray


def test_nothing_is_patched() -> None:
    before = [dict(vars(kind)) for kind in (Base, Derived, Settings)]
    code = Derived.total.__code__
    ad.grad(lambda t: Derived(t).total().sum())(0.7)
    assert before == [dict(vars(kind)) for kind in (Base, Derived, Settings)]
    assert Derived.total.__code__ is code


def test_python_decides_what_is_found() -> None:
    def function(t: Any) -> Any:
        model = Derived(t)
        assert type(model) is Derived
        assert isinstance(model, Base)
        assert Derived.__mro__[1] is Base
        model.total = lambda: filled(t)  # the instance goes before the class
        assert model.total() is not None
        assert not hasattr(model, "absent")
        with pytest.raises(AttributeError, match="has no attribute 'absent'"):
            model.absent()
        with pytest.raises(TypeError, match="missing 1 required positional argument: 't'"):
            Derived()
        with pytest.raises(TypeError, match="not callable"):
            model.values()
        return model.total()

    check(function)


def fails(t: Any) -> Any:
    return Failing().method(t, lambda: None)


class Failing:
    def method(self, t: Any, unused: Any) -> Any:
        value = np.zeros(2)
        value[0] = t
        raise LookupError("here")  # the line


def test_tracebacks_show_the_users_lines() -> None:
    with pytest.raises(LookupError) as caught:
        ad.grad(fails)(1.0)
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert 'raise LookupError("here")' in str(frames[-1].line)
    mine = [frame for frame in frames if frame.filename == __file__][1:]
    assert [frame.name for frame in mine] == ["fails", "method"]
    plain = None
    try:
        fails(1.0)
    except LookupError as error:
        plain = traceback.extract_tb(error.__traceback__)[1:]
    assert plain is not None
    for one, other in zip(mine, plain, strict=True):
        assert one.lineno == other.lineno
        assert (one.colno, one.end_colno) == (other.colno, other.end_colno)


def test_recursion_through_methods_uses_no_more_of_the_stack() -> None:
    class Deep:
        def down(self, t: Any, n: int) -> Any:
            return t if n == 0 else self.down(t, n - 1) * 1.0

    assert ad.grad(lambda t: Deep().down(t, 700))(2.0) == 1.0


def test_closures_that_refer_to_each_other() -> None:
    def even(t: Any, n: int) -> Any:
        return filled(t) if n == 0 else odd(t, n - 1)

    def odd(t: Any, n: int) -> Any:
        return filled(t) * 0 if n == 0 else even(t * 2, n - 1)

    check(lambda t: even(t, 2))

    @functools.cache
    def power(n: int) -> Any:
        return np.ones(2) if n == 0 else power(n - 1) * 2

    check(lambda t: power(3) * t)


def test_methods_of_installed_packages_are_not_entered() -> None:
    from scipy.interpolate import CubicSpline

    spline = CubicSpline([0.0, 1.0, 2.0, 3.0], [0.0, 1.0, 0.0, 2.0])
    call = spline.__call__
    with pytest.raises(ad.errors.AdjointError):
        ad.grad(lambda t: call(t))(0.5)


def test_a_cache_keeps_no_traced_values() -> None:
    @functools.cache
    def scaled(n: int) -> Any:
        return n * LEVEL[0]

    LEVEL: list[Any] = [1.0]

    def function(t: Any) -> Any:
        LEVEL[0] = t
        scaled.cache_clear()
        return scaled(2) + scaled(2)

    assert [ad.grad(function)(x) for x in (1.0, 2.0)] == [4.0, 4.0]
    assert scaled.cache_info().currsize == 0
    LEVEL[0] = 0.0


@contextlib.contextmanager
def sine_of(t: Any, log: list[str]) -> Any:
    log.append("entered")
    try:
        yield filled(t) * LEVELS["sine"]
    except ValueError:
        log.append("caught")
    finally:
        log.append("left")


LEVELS = {"sine": 2.0}


class Scope:
    @contextlib.contextmanager
    def squared(self, t: Any) -> Any:
        out = np.zeros(2)
        out[1] = math.exp(t) * self.factor
        yield out

    factor = 3.0


def test_context_managers_made_of_generators() -> None:
    def function(t: Any) -> Any:
        log: list[str] = []
        with sine_of(t, log) as out, Scope().squared(t) as other:
            out += other
            raise ValueError
        return out * len(log)

    def nested(t: Any) -> Any:
        scale = 2.0

        @contextlib.contextmanager
        def inner(value: Any) -> Any:
            yield math.cos(value) * scale

        with contextlib.ExitStack() as stack:
            first = stack.enter_context(inner(t))
            scale = 3.0
            return first * stack.enter_context(inner(t * t))

    other, table = sine_of, {sine_of: 2.0}
    check(lambda t: table[sine_of] * t * (other is sine_of) * (sine_of in [other]))
    check(function)
    check(nested)
    check(sine_of(0.5, [])(lambda t: t**2))
    gradient = ad.grad(lambda t: function(t).sum())
    before = [gradient(0.7) for _ in range(5)]
    LEVELS["sine"], after = 4.0, []
    try:
        after = [gradient(0.7) for _ in range(2)]
    finally:
        LEVELS["sine"] = 2.0
    expected = [3 * (k * math.cos(0.7) + 3 * math.exp(0.7)) for k in (2.0, 4.0)]
    np.testing.assert_allclose(before, expected[0])
    np.testing.assert_allclose(after, expected[1])
