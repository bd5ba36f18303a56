"""Classes of the user's own as containers."""

from __future__ import annotations

import pickle
from collections import namedtuple
from dataclasses import dataclass
from typing import Any

import numpy as np
import optree
import pytest

import adjoint as ad
from adjoint.base import pytrees
from adjoint.base.errors import ArgumentError, ArgumentTypeError


class Signal:
    """Samples, at a rate, with a state that its constructor makes."""

    def __init__(self, samples: Any, rate: int) -> None:
        self.samples, self.rate = samples, rate

    def energy(self) -> Any:
        """The integral of the square."""
        return np.sum(self.samples**2) / self.rate

    def louder(self, factor: Any) -> Signal:
        """Another one."""
        return Signal(self.samples * factor, self.rate)


ad.register_container(
    Signal,
    split=lambda signal: ((signal.samples,), signal.rate),
    join=lambda rate, parts: Signal(parts[0], rate),
)


class Checked:
    """Whose constructor converts, and refuses what is no pair."""

    def __init__(self, pair: Any) -> None:
        self.pair = np.asarray(pair, float)
        if self.pair.shape != (2,):
            raise ValueError("a pair is needed")


def unchecked(rest: Any, parts: Any) -> Checked:
    instance = object.__new__(Checked)
    (instance.pair,) = parts
    return instance


ad.register_container(Checked, lambda checked: ((checked.pair,), None), unchecked)


SIGNAL = Signal(np.array([1.0, 2.0, -1.0]), 4)


def test_derivatives_take_and_return_objects() -> None:
    gradient = ad.grad(Signal.energy)(SIGNAL)
    assert type(gradient) is Signal
    assert gradient.rate == 4
    np.testing.assert_allclose(gradient.samples, SIGNAL.samples / 2)
    tangent = Signal(np.ones(3), 4)
    value, pushed = ad.jvp(Signal.energy, (SIGNAL,), (tangent,))
    np.testing.assert_allclose((value, pushed), (1.5, 1.0))
    louder, pull = ad.vjp(lambda signal: signal.louder(3.0), SIGNAL)
    assert type(louder) is Signal
    np.testing.assert_allclose(pull(tangent)[0].samples, 3.0)
    derivative = ad.derivative(lambda signal: signal.louder(2.0), SIGNAL)
    assert type(derivative(tangent)) is Signal
    np.testing.assert_allclose(derivative.matrix(), 2 * np.eye(3))


def test_second_order() -> None:
    hessian = ad.hessian(Signal.energy)(SIGNAL)
    assert type(hessian) is type(hessian.samples) is Signal
    np.testing.assert_allclose(hessian.samples.samples, np.eye(3) / 2)
    product = ad.hvp(Signal.energy, SIGNAL, Signal(np.arange(3.0), 4))
    np.testing.assert_allclose(product.samples, np.arange(3.0) / 2)


def test_compiled_and_batched() -> None:
    jitted = ad.jit(lambda signal, factor: signal.louder(factor))
    for factor in (2.0, 3.0, 4.0):
        louder = jitted(SIGNAL, factor)
        assert type(louder) is Signal
        np.testing.assert_allclose(louder.samples, factor * SIGNAL.samples)
    batch = Signal(np.arange(6.0).reshape(2, 3), 4)
    slopes = ad.vmap(ad.grad(Signal.energy))(batch)
    np.testing.assert_allclose(slopes.samples, batch.samples / 2)


def test_another_rate_is_another_function() -> None:
    """What is no part decides nothing silently: each object has its own."""
    jitted = ad.jit(ad.grad(Signal.energy))
    for rate in (1, 2, 5, 1, 2, 5):
        found = jitted(Signal(np.ones(2), rate))
        assert found.rate == rate
        np.testing.assert_allclose(found.samples, 2 / rate)


def test_the_function_meets_the_real_class() -> None:
    met = []

    def function(signal: Any) -> Any:
        met.append((type(signal) is Signal, isinstance(signal, Signal), signal.rate))
        return signal.louder(2.0).energy()

    ad.grad(function)(SIGNAL)
    assert met[0] == (True, True, 4)


def test_containers_of_containers() -> None:
    tree = {"a": [SIGNAL, Checked([1.0, 2.0])], "b": 3.0}
    gradient = ad.grad(lambda t: t["a"][0].energy() * t["b"] + np.prod(t["a"][1].pair))(tree)
    np.testing.assert_allclose(gradient["a"][1].pair, [2.0, 1.0])
    np.testing.assert_allclose(gradient["b"], 1.5)
    assert pytrees.paths(tree) == ["['a'][0].samples", "['a'][1].pair", "['b']"]


def test_spaces_of_objects() -> None:
    space = ad.spaces.infer(SIGNAL)
    assert type(space) is ad.spaces.Product
    assert space == pickle.loads(pickle.dumps(space))
    assert space.contains(SIGNAL)
    assert not space.contains(Signal(np.ones(3), 5))
    assert type(space.random(0)) is Signal


def test_an_error_names_the_part() -> None:
    with pytest.raises(
        ad.errors.NotDifferentiableError, match=r"argument 0\.samples has dtype int"
    ):
        ad.grad(Signal.energy)(Signal(np.arange(3), 4))


def test_parts_that_are_no_attributes_go_by_number() -> None:
    class Pair:
        def __init__(self, both: Any) -> None:
            self.both = both

    ad.register_container(
        Pair,
        lambda pair: ([pair.both[0], pair.both[1]], None),
        lambda rest, parts: Pair(list(parts)),
    )
    assert pytrees.paths(Pair([1.0, 2.0])) == ["[part 0]", "[part 1]"]
    assert ad.grad(lambda pair: pair.both[0] * pair.both[1])(Pair([2.0, 3.0])).both == [3.0, 2.0]


def test_a_subclass_is_registered_by_itself() -> None:
    class Louder(Signal):
        pass

    with pytest.raises(ad.errors.AdjointError):
        ad.grad(Signal.energy)(Louder(np.ones(2), 4))
    ad.register_container(
        Louder, lambda s: ((s.samples,), s.rate), lambda rate, parts: Louder(parts[0], rate)
    )
    assert type(ad.grad(Signal.energy)(Louder(np.ones(2), 4))) is Louder


def test_a_dataclass_with_its_own_split() -> None:
    """One that has fields which are no parts, registered before it is met."""

    @dataclass
    class Named:
        values: Any
        name: str

    ad.register_container(
        Named, lambda n: ((n.values,), n.name), lambda name, parts: Named(parts[0], name)
    )
    gradient = ad.grad(lambda n: np.sum(n.values**2))(Named(np.ones(2), "two"))
    assert gradient.name == "two"


# --- errors ---------------------------------------------------------------------------------------


@dataclass
class Point:
    """A dataclass, which is a container by itself."""

    x: Any


Tuple = namedtuple("Tuple", "x y")


def nothing(*_: Any) -> Any:
    return ()


@pytest.mark.parametrize(
    ("cls", "error", "words"),
    [
        (SIGNAL, ArgumentTypeError, "takes a class. Got an object of type Signal"),
        (Signal, ArgumentError, r"already, registered by register_container, with .*containers.py"),
        (dict, ArgumentError, "dict is a container already, registered by optree"),
        (list, ArgumentError, "already"),
        (np.ndarray, ArgumentError, "ndarray, whose objects are no containers"),
        (float, ArgumentError, "no containers"),
        (str, ArgumentError, "no containers"),
    ],
)
def test_what_is_no_class_for_it(cls: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        ad.register_container(cls, nothing, nothing)


def test_a_dataclass_that_was_met_is_registered() -> None:
    ad.grad(lambda point: point.x**2)(Point(2.0))
    with pytest.raises(ArgumentError, match="registered as a dataclass"):
        ad.register_container(Point, nothing, nothing)


def test_a_class_that_optree_knows_is_registered() -> None:
    class Foreign:
        pass

    optree.register_pytree_node(Foreign, nothing, nothing, namespace="adjoint")
    with pytest.raises(ArgumentError, match="by optree, adjoint or a package"):
        ad.register_container(Foreign, nothing, nothing)


def test_functions_are_asked_for() -> None:
    class New:
        pass

    with pytest.raises(ArgumentTypeError, match="Got int for split"):
        ad.register_container(New, 3, nothing)  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match="Got NoneType for join"):
        ad.register_container(New, nothing, None)  # type: ignore[arg-type]


class Held:
    """With one value."""

    def __init__(self, value: Any) -> None:
        self.value = value


def joined(rest: Any, parts: Any) -> Any:
    return Held(parts[0])


FAULTS: list[tuple[Any, Any, type[Exception], str]] = [
    (lambda h: h.value, joined, ArgumentTypeError, "must return a pair .* It returned ndarray"),
    (lambda h: (h.value,), joined, ArgumentTypeError, "It returned tuple of length 1"),
    (lambda h: (h.value, None), joined, ArgumentTypeError, "in a tuple or a list. Got ndarray"),
    (lambda h: ((h.value,), {}), joined, ArgumentTypeError, "rest that is hashable.* Got dict"),
    (
        lambda h: ((h.value,), np.ones(2)),
        joined,
        ArgumentTypeError,
        r"rest that is hashable.*test_containers.py:\d+",
    ),
    (
        lambda h: ((h.value,), None),
        lambda rest, parts: parts[0],
        ArgumentTypeError,
        r"join of .*New must return a .*New. It returned object",
    ),
    (
        lambda h: ((h.value,), None),
        lambda parts, rest: Held(np.asarray(parts[0])),
        ArgumentError,
        "raised TypeError",
    ),
    (
        lambda h: ((h.value,), None),
        lambda rest, parts: Held(np.asarray(parts[0], float)),
        ArgumentError,
        r"it raised TypeError: .*object.__new__",
    ),
    (
        lambda h: ((h.value,), None),
        lambda rest, parts: Held(np.asarray(parts[0])),
        ArgumentError,
        "put in something else, or in another order",
    ),
    (
        lambda h: ((h.value, h.value), None),
        joined,
        ArgumentError,
        "put in something else, or in another order",
    ),
]


@pytest.mark.parametrize(("split", "join", "error", "words"), FAULTS)
def test_a_wrong_function_is_told(
    split: Any, join: Any, error: type[Exception], words: str
) -> None:
    class New(Held):
        pass

    def of_the_class(rest: Any, parts: Any) -> Any:
        made = join(rest, parts)
        return New(made.value) if isinstance(made, Held) else made

    ad.register_container(New, split, of_the_class)
    with pytest.raises(error, match=words):
        ad.grad(lambda held: np.sum(held.value))(New(np.ones(2)))


def test_a_rest_that_changes_is_told() -> None:
    class Counted(Held):
        def __init__(self, value: Any, count: int) -> None:
            self.value, self.count = value, count

    ad.register_container(
        Counted, lambda c: ((c.value,), c.count), lambda count, parts: Counted(parts[0], count + 1)
    )
    with pytest.raises(ArgumentError, match="made the rest 1 to 2"):
        ad.grad(lambda c: np.sum(c.value))(Counted(np.ones(2), 1))


class Unregistered:
    """Which no one has registered."""

    def __init__(self, x: Any) -> None:
        self.x = x


@pytest.mark.parametrize(
    "use",
    [
        lambda a: ad.grad(lambda a: np.sum(a.x))(a),
        lambda a: ad.jvp(lambda a: np.sum(a.x), (a,), (a,)),
        lambda a: ad.derivative(Unregistered, np.ones(2)),
        lambda a: ad.vmap(lambda a: a.x)(a),
        lambda a: ad.spaces.infer(a),
    ],
)
def test_an_object_of_a_class_that_is_not_registered_says_how(use: Any) -> None:
    words = r"adjoint\.register_container\(Unregistered, split, join\) makes Unregistered"
    with pytest.raises(ad.errors.AdjointError, match=words):
        use(Unregistered(np.ones(2)))


def test_other_values_are_not_advised_so() -> None:
    for value in ("text", None.__class__, len, np.array(["a"])):
        with pytest.raises(ad.errors.AdjointError) as caught:
            ad.spaces.infer(value)
        assert "register_container" not in str(caught.value)
