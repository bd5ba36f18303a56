"""Rolling: loops in which a name is bound to something else in some rounds only."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

import adjoint as ad
from adjoint import pipeline
from adjoint.base import pytrees
from adjoint.calculus.inspecting.programs import capture_whole
from adjoint.loops.bodies import interpreted
from adjoint.optimise import roll
from adjoint.program import Program, check_program

X = np.linspace(0.1, 1.1, 4)


@pytest.fixture(autouse=True)
def nothing_known() -> Iterator[None]:
    ad.cache_clear()
    yield
    ad.cache_clear()


def rolled(function: Callable[[Any], Any], x: Any = X) -> tuple[Program, Program]:
    """The program of a function and the rolled one; both compute what NumPy does, to the bit."""
    found = capture_whole(function, (x,), {}, "program")
    program, values = found.program(), [x, *found.constants]
    made = check_program(roll(program))
    expected = pytrees.flatten(function(x))[0]
    for each in (program, made):
        for one, other in zip(interpreted(each)(*values), expected, strict=True):
            np.testing.assert_array_equal(one, other)
    return program, made


def scalar(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: sum(np.sum(np.sin(each)) for each in pytrees.flatten(function(x))[0])


MAKERS: dict[str, Callable[[Any], Any]] = {
    "empty_like": np.empty_like,
    "empty": lambda y: np.empty(y.shape),
    "zeros": lambda y: np.zeros(4),
    "full": lambda y: np.full(y.size, 2.0),
}


@pytest.mark.parametrize("name", MAKERS)
def test_an_array_that_is_made_in_each_round_is_part_of_the_round(name: str) -> None:
    make = MAKERS[name]

    def function(y: Any) -> Any:
        for _ in range(60):
            z = make(y)
            z[0] = y[0] * 0.9
            z[1:] = y[1:] * 0.9 + y[:-1] * 0.1
            y = z
        return y

    program, made = rolled(function)
    assert len(made) < len(program) / 10
    slope = ad.grad(scalar(function))(X)
    difference = [
        (scalar(function)(X + h) - scalar(function)(X - h)) / 2e-6 for h in 1e-6 * np.eye(4)
    ]
    np.testing.assert_allclose(slope, difference, rtol=1e-6)


def test_arrays_that_differ_from_round_to_round_are_not_taken_for_one() -> None:
    def function(y: Any) -> Any:
        for k in range(60):
            z = np.full(4, float(k % 3))
            z[0] = y[0]
            y = 0.5 * y + 0.1 * z
        return y

    rolled(function)
    value = ad.jit(function)(X)
    np.testing.assert_allclose(value, function(X))


# --- as they are written --------------------------------------------------------------------------


def bound_now_and_then(x: Any) -> Any:
    y, before = x, x * 2.0
    for k in range(300):
        if k % 10 == 0:
            before = y
        y = y * 0.97
        y = y + 0.1 * np.sin(before)
    return y, before


def bound_otherwise_once(x: Any) -> Any:
    """In one round the value of that round, else that of the round before."""
    y, before = x, x * 2.0
    for k in range(300):
        if k == 3:
            before = y
        y = y * 0.87 + 0.1 * before
        if k != 2:
            before = y
    return y, before


def two_rounds_before(x: Any) -> Any:
    """The second round reads what the first has made, all others what two rounds before have."""
    y, last, before_last = x, x * 2.0, x * 3.0
    for k in range(200):
        z = np.sin(y)
        w = before_last if k != 1 else z
        before_last, last = last, y * 0.5
        y = y * 0.9 + w * 0.1
    return y, last


def swapped(x: Any) -> Any:
    a, b = x, x * 2.0
    for k in range(300):
        if k % 5 == 0:
            a, b = b, a
        a = np.sin(a) * 0.9 + b * 0.1
        b = b * 0.97 + 0.1
    return a, b


def window(x: Any) -> Any:
    last, y = [x, x * 2.0, x * 3.0], x
    for k in range(300):
        y = y * 0.9 + sum(last) * 0.01
        if k % 3 == 0:
            last = [*last[1:], y]
    return y, last


def wanted_of_some_rounds(x: Any) -> Any:
    """What is the same in all rounds, and of some of them part of the result."""
    kept = []
    for k in range(300):
        y = np.cos(x * 0.5) + x
        if k % 7 == 0:
            kept.append(y)
    return kept[3:5], y


def others_at_both_ends(x: Any) -> Any:
    first, middle, last = x * 0.5, x * 0.25, x * 0.75
    y = z = x
    for k in range(100):
        z = y * (first if k == 0 else last if k == 99 else middle)
        y = np.sin(y) + x
    return y, z


WRITTEN = [
    bound_now_and_then,
    bound_otherwise_once,
    two_rounds_before,
    swapped,
    window,
    wanted_of_some_rounds,
    others_at_both_ends,
]


@pytest.mark.parametrize("function", WRITTEN, ids=lambda each: each.__name__)
@pytest.mark.parametrize("x", [X, 0.7], ids=["array", "number"])
def test_names_bound_in_some_rounds(function: Callable[[Any], Any], x: Any) -> None:
    program, made = rolled(function, x)
    assert 2 * len(made) < len(program) or len(program) < 20  # nobody wants the other rounds


@pytest.mark.parametrize("function", WRITTEN, ids=lambda each: each.__name__)
@pytest.mark.parametrize("x", [X, 0.7], ids=["array", "number"])
def test_their_gradients(function: Callable[[Any], Any], x: Any) -> None:
    with ad.config(native=False):
        expected = ad.grad(scalar(function))(x)
    for native in (None, True):
        with ad.config(native=native):
            found = ad.grad(scalar(function))(x)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


# --- random ones ----------------------------------------------------------------------------------


class Step(NamedTuple):
    """A statement of the loop: what it does, to which names, and in which rounds."""

    kind: int
    one: int
    other: int
    when: str
    phase: int

    def runs(self, k: int) -> bool:
        """Whether round k has it."""
        if self.when == "once":
            return k == self.phase
        if self.when == "after":
            return k >= self.phase
        if self.when == "until":
            return k <= self.phase
        return k % int(self.when) == self.phase % int(self.when)


_TIMES = ("1", "1", "1", "1", "1", "2", "3", "4", "once", "once", "after", "after", "until")


def random_names(seed: int) -> Callable[[Any], Any]:
    """A loop whose names are bound, swapped, kept and looked back at, some in some rounds only."""
    rng = np.random.default_rng(seed)
    names, rounds, size = (int(rng.integers(*ends)) for ends in ((2, 5), (40, 160), (1, 5)))
    numbers = rng.uniform(0.2, 0.9, size=rounds).tolist()
    steps = [
        Step(
            int(rng.integers(0, 9)),
            int(rng.integers(0, names)),
            int(rng.integers(0, names)),
            str(rng.choice(_TIMES)),
            int(rng.integers(0, 6)),
        )
        for _ in range(int(rng.integers(2, 7)))
    ]

    def function(x: Any) -> Any:
        value = [x * (0.5 + k) for k in range(names)]
        last, kept = [value[0]] * size, []
        entries = x if np.ndim(x) else [x] * 4
        for k in range(rounds):
            for kind, one, other, *_ in (step for step in steps if step.runs(k)):
                if kind == 0:
                    value[one] = value[other]
                elif kind == 1:
                    value[one], value[other] = value[other], value[one]
                elif kind == 2:
                    value[one] = np.sin(value[one]) + 0.1 * value[other]
                elif kind == 3:
                    value[one] = value[one] * 0.97
                elif kind == 4:
                    last = [*last[1:], value[one]]
                elif kind == 5:
                    value[one] = value[one] * 0.5 + last[other % size]
                elif kind == 6:
                    value[one] = np.tanh(value[other] * numbers[k])
                elif kind == 7:
                    kept.append(value[one] * value[other])
                else:
                    value[one] = value[one] - np.cos(last[0]) * entries[k % 4]
        return (*value, *last, functools.reduce(operator.add, kept, 0.0), kept[-3:])

    return function


@pytest.mark.parametrize("seed", range(60))
def test_random_names(seed: int) -> None:
    rolled(random_names(seed))
    rolled(random_names(seed), 0.7)


@pytest.mark.parametrize("seed", range(12))
def test_gradients_of_random_names(seed: int) -> None:
    function = scalar(random_names(seed))
    with ad.config(native=False):
        expected = ad.grad(function)(X)
    found = ad.grad(function)(X)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12 * np.abs(expected).max())


def test_pythons_numbers_are_carried_and_stacked() -> None:
    """What the function works with is a Python number in each round, and after the loop."""

    def function(x: Any) -> Any:
        y, kept = x, []
        for k in range(200):
            y = y * (0.5 + 0.001 * k) + x
            kept.append(y)
        return y * np.ones(2, np.float32), kept[7] * np.ones(2, np.float32), np.array(kept)

    program, made = rolled(function, 0.7)
    assert 5 * len(made) < len(program)
    assert [atom.type.dtype.name for atom in made.outputs] == ["float32", "float32", "float64"]


def test_pythons_integers_are_not_carried() -> None:
    def function(n: Any) -> Any:
        y = 1
        for _ in range(150):
            y = y * n + n
        return y

    program = capture_whole(function, (1,), {}, "program").program()
    assert roll(program) is program


def test_many_of_them_are_rolled() -> None:
    programs = [rolled(random_names(seed)) for seed in range(60)]
    assert sum(made is not program for program, made in programs) >= 20


def test_the_longest_programs_are_rolled_for_numpy_too(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bool] = []

    def spied(program: Program) -> Program:
        made = roll(program)
        seen.append(made is not program)
        return made

    monkeypatch.setattr(pipeline, "roll", spied)
    function = scalar(bound_now_and_then)
    with ad.config(native=False):
        expected = ad.grad(function)(X)
        assert not seen
        ad.cache_clear()
        monkeypatch.setattr(pipeline, "_ENDLESS", 500)
        np.testing.assert_allclose(ad.grad(function)(X), expected, rtol=1e-12)
    assert seen == [True]
