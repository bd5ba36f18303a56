"""Replay: state that lies elsewhere than in names and attributes is as it is at the call."""

from __future__ import annotations

import abc
import contextlib
import enum
import functools
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.calculus.jit import replay
from tests.calculus.replaying import X, by_differences, in_sequence


@pytest.fixture(autouse=True)
def nothing_kept() -> Iterator[None]:
    """Each test begins with nothing kept, and runs on NumPy."""
    replay.forget_all()
    with ad.config(native=False):
        yield


@pytest.mark.parametrize("size", [None, 4])
def test_what_a_cache_has_given_away(size: int | None) -> None:
    @functools.lru_cache(size)
    def table(kind: str) -> Any:
        return {"array": np.arange(3.0), "list": [1.0], "object": SimpleNamespace(scale=1.0)}[kind]

    @functools.lru_cache(size)
    def nested() -> Any:
        return 1, {"weights": np.ones(3)}

    def loss(x: Any) -> Any:
        scale = table("list")[0] * table("object").scale
        return np.sum(x**2 * table("array") * nested()[1]["weights"]) * scale

    in_sequence(
        loss,
        lambda: table("array").__setitem__(1, 5.0),
        lambda: table("list").append(2.0),
        lambda: table("list").__setitem__(0, 3.0),
        lambda: setattr(table("object"), "scale", 0.5),
        lambda: nested()[1]["weights"].__setitem__(0, 7.0),
        lambda: nested()[1].update(weights=np.arange(3.0) + 1),
    )


def test_a_cache_is_replayed() -> None:
    @functools.lru_cache(None)
    def table() -> Any:
        return np.arange(3.0)

    table()
    assert ad.explain(lambda x: np.sum(x * table()), X).replayed


weight = 2.0


def test_names_of_the_module_by_their_dictionary() -> None:
    in_sequence(
        lambda x: np.sum(x**2) * globals()["weight"],
        lambda: globals().update(weight=3.0),
        lambda: globals().update(weight=2.0),
    )


def test_a_class_comes_to_count_as_an_abstract_one() -> None:
    class Smooth(abc.ABC):
        @abc.abstractmethod
        def width(self) -> float:
            """How wide it is."""

    class Kernel:
        """Counts as smooth later."""

    kernel = Kernel()
    in_sequence(
        lambda x: np.sum(x**2) if isinstance(kernel, Smooth) else np.sum(x**3),
        lambda: Smooth.register(Kernel),
    )


def test_what_a_member_of_an_enumeration_holds() -> None:
    class Kind(enum.Enum):
        NARROW = ([1.0],)
        WIDE = ([2.0],)

        def __init__(self, _: Any) -> None:
            self.shift = 0.0

    chosen = SimpleNamespace(kind=Kind.NARROW)
    in_sequence(
        lambda x: np.sum(x**2) * chosen.kind.value[0][0] + chosen.kind.shift,
        lambda: Kind.NARROW.value[0].__setitem__(0, 3.0),
        lambda: setattr(chosen, "kind", Kind.WIDE),
        lambda: setattr(Kind.WIDE, "shift", 4.0),
    )


def test_flags_and_bases_of_arrays() -> None:
    held = SimpleNamespace(array=np.ones((4, 3)))

    def loss(x: Any) -> Any:
        fixed = 1 if held.array.flags.writeable else 2
        return np.sum(x**2) * fixed * (3 if held.array.base is None else 5)

    in_sequence(
        loss,
        lambda: held.array.setflags(write=False),
        lambda: setattr(held, "array", np.ones((5, 3))[:4]),
    )


def test_memory_that_is_shared() -> None:
    one = np.ones(3)
    held = SimpleNamespace(one=one, other=one[:])
    in_sequence(
        lambda x: np.sum(x**2) * (2 if np.shares_memory(held.one, held.other) else 3),
        lambda: setattr(held, "other", one.copy()),
        lambda: setattr(held, "other", one[:2]),
    )


def test_objects_that_answer_to_any_name_or_have_no_hash() -> None:
    class Table:
        def __init__(self) -> None:
            self.names = {"scale": 2.0}

        def __getattr__(self, name: str) -> Any:
            if name == "names":
                raise AttributeError(name)
            return self.names[name]

    class Unhashable:
        scale = 3.0

        def __hash__(self) -> int:
            raise RuntimeError("no hash")

    table, other, memory = Table(), Unhashable(), memoryview(np.arange(3.0))
    in_sequence(
        lambda x: np.sum(x**2) * table.scale * other.scale * memory[1],
        lambda: table.names.update(scale=5.0),
        lambda: setattr(other, "scale", 0.5),
    )


# --- errors that come of values -------------------------------------------------------------------


def _answers(function: Any, points: list[Any], capsys: pytest.CaptureFixture[str]) -> list[Any]:
    """What comes of calls: whether there is an error, and what is printed."""
    found = []
    for point in points:
        error = ""
        try:
            function(point)
        except np.linalg.LinAlgError as raised:
            error = str(raised)
        found.append((error, capsys.readouterr().out))
    return found


_REGULAR, _SINGULAR = np.array([2.0, 0.5, 2.0]), np.ones(3)
_WAYS = {
    "grad": ad.grad,
    "value_and_grad": ad.value_and_grad,
    "jvp": lambda f: lambda x: ad.jvp(f, (x,), (x,)),
    "vjp": lambda f: lambda x: ad.vjp(f, x),
    "linearize": lambda f: lambda x: ad.linearize(f, x),
    "hessian": ad.hessian,
    "jit": ad.jit,
    "jit of grad": lambda f: ad.jit(ad.grad(f)),
}


@pytest.mark.parametrize("way", _WAYS)
def test_an_error_comes_of_what_nobody_needs(way: str, capsys: pytest.CaptureFixture[str]) -> None:
    def unneeded(x: Any) -> Any:
        np.linalg.inv(np.array([[x[0], x[1]], [x[1], x[2]]]))
        return np.sum(x**2)

    points = [*[_REGULAR] * 5, _SINGULAR, _REGULAR, _SINGULAR, _SINGULAR, _REGULAR]
    expected = _answers(unneeded, points, capsys)
    assert _answers(_WAYS[way](unneeded), points, capsys) == expected


@pytest.mark.parametrize("way", _WAYS)
def test_an_error_comes_between_what_is_drawn_and_printed(
    way: str, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(0)

    def loss(x: Any) -> Any:
        first = rng.normal()
        print("before")
        inverse = np.linalg.inv(np.array([[x[0], x[1]], [x[1], x[2]]]))
        print("after", f"{rng.normal():.3f}")
        return np.sum(inverse) * first

    points = [*[_REGULAR] * 5, _SINGULAR, _REGULAR, _SINGULAR, _SINGULAR, _REGULAR]
    expected, rng = _answers(loss, points, capsys), np.random.default_rng(0)
    assert _answers(_WAYS[way](loss), points, capsys) == expected


def test_what_is_needed_is_no_question() -> None:
    def loss(x: Any) -> Any:
        return np.sum(np.linalg.solve(np.diag(x), x**2))

    assert not ad.explain(ad.grad(loss), _REGULAR).questions


def test_an_error_that_a_context_suppresses() -> None:
    def loss(x: Any) -> Any:
        total = np.sum(x**2)
        with contextlib.suppress(np.linalg.LinAlgError):
            total = total + np.linalg.inv(np.array([[x[0], x[1]], [x[1], x[2]]])).sum()
        return total

    gradient, jitted = ad.value_and_grad(loss), ad.jit(ad.value_and_grad(loss))
    for point in [*[_REGULAR] * 4, _SINGULAR, _REGULAR, *[_SINGULAR] * 4, _REGULAR]:
        slopes = 2 * point if point is _SINGULAR else by_differences(loss, point)
        for found in (gradient(point), jitted(point)):
            assert np.isclose(found[0], loss(point))
            np.testing.assert_allclose(found[1], slopes, rtol=1e-5)


# --- objects that are arguments -------------------------------------------------------------------


class _Scale:
    def __init__(self, scale: float) -> None:
        self.scale = scale

    def times(self, x: Any) -> Any:
        return self.scale * x


class _Slot:
    __slots__ = ("scale",)

    def __init__(self, scale: float) -> None:
        self.scale = scale


class _List(list[float]):
    """A list of a class of its own."""


class _Dict(dict[str, float]):
    """A dict of a class of its own."""


@pytest.mark.parametrize(
    ("make", "scale_of"),
    [
        (_Scale, lambda given: given.scale),
        (_Slot, lambda given: given.scale),
        (lambda scale: SimpleNamespace(scale=scale), lambda given: given.scale),
        (lambda scale: {"inside": _Scale(scale)}, lambda given: given["inside"].scale),
        (lambda scale: [_Scale(scale)], lambda given: given[0].scale),
        (lambda scale: _Scale(scale).times, lambda given: given(1.0)),
        (lambda scale: _List([scale]), lambda given: given[0]),
        (lambda scale: _Dict(scale=scale), lambda given: given["scale"]),
        (lambda scale: {scale}, lambda given: next(iter(given))),
    ],
)
def test_what_an_object_among_the_arguments_holds_is_no_input(make: Any, scale_of: Any) -> None:
    def loss(x: Any, given: Any) -> Any:
        return np.sum(x**2) * scale_of(given)

    jitted, gradient = ad.jit(loss), ad.jit(ad.grad(loss))
    for scale in (1.0, 2.0, 1.0, 3.0, 2.0):
        given = make(scale)
        assert np.isclose(jitted(X, given), loss(X, given))
        np.testing.assert_allclose(gradient(X, given), 2 * scale * X)
