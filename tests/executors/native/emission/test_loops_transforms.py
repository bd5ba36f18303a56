"""Derivatives and batches of loops and branches as machine code, against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from adjoint.optimise import simplify
from adjoint.primitives.expression import bind
from adjoint.primitives.structure.gathering import GATHER, GATHER_SET
from adjoint.program import Program
from adjoint.transforms import jvp, vjp, vmap
from tests.executors.native.comparing import compare, is_lowerable
from tests.executors.native.loop_programs import (
    INDEX,
    NUMBER,
    alone,
    array,
    checkpoint,
    mixed_switch,
    numbers,
    program,
    repeat,
    scan,
    time_warping,
    within,
)
from tests.sampling import one_in

SIZE = 3


def _scan(size: int) -> tuple[Program, list[Any]]:
    vector = array(size)
    body = program(
        lambda a, b, x, s, row, z: (np.sin(a * x) + row * b, s * 0.5 + z, x * row, s * s),
        *(vector, NUMBER, vector, NUMBER, vector, NUMBER),
    )
    made = scan(body, 2, 2, 5)
    return made, numbers(1, made.input_types, 5)


def _while(size: int) -> tuple[Program, list[Any]]:
    vector = array(size)
    test = program(lambda a, x, s: s < 4.0, vector, vector, NUMBER)
    body = program(lambda a, x, s: (np.sin(a * x), s * 1.25 + 0.2), vector, vector, NUMBER)
    made = repeat(test, body, 1)
    return made, numbers(2, made.input_types)


def _newton(size: int) -> tuple[Program, list[Any]]:
    """A loop that ends at other rounds for other numbers."""
    test = program(lambda x, y: np.absolute(x * x - y) > 1e-9, NUMBER, NUMBER)
    body = program(lambda x, y: ((x + y / x) * 0.5, y), NUMBER, NUMBER)
    return repeat(test, body), [np.float64(3.0), np.float64(2.0)]


def _switch(size: int) -> tuple[Program, list[Any]]:
    made = mixed_switch(3, size)
    return made, numbers(3, made.input_types, 1)


def _checkpoint(size: int) -> tuple[Program, list[Any]]:
    vector = array(size)
    made = checkpoint(program(lambda x, s: (np.sin(x) * s, np.exp(x) * x), vector, NUMBER))
    return made, numbers(4, made.input_types)


def _nested(size: int) -> tuple[Program, list[Any]]:
    vector = array(size)
    test = program(lambda k, x: k > 0, INDEX, vector)
    inner = repeat(test, program(lambda k, x: (k - 1, np.sin(x) * 1.1), INDEX, vector))

    def outer(x: Any, k: Any) -> Any:
        _, _, x = within(x.builder, inner, k, x)
        return x * 0.9, k + 1, x * x

    made = scan(program(outer, vector, INDEX), 0, 2, 4)
    return made, numbers(5, made.input_types, 4)


def _in_place(size: int) -> tuple[Program, list[Any]]:
    """Each entry from the one before."""

    def entry(a: Any, x: Any, i: Any) -> Any:
        before = bind(GATHER, x, i - 1)
        return bind(GATHER_SET, x, np.sin(before) * a, i), i + 1

    made = scan(program(entry, NUMBER, array(size + 20), INDEX), 1)
    arguments = numbers(6, made.input_types, size + 18)
    arguments[-1] = np.int64(1)
    return made, arguments


def _table(size: int) -> tuple[Program, list[Any]]:
    made = time_warping(4, 5)
    table = np.full((5, 6), 1e3)
    table[0, 0] = 0.0
    generator = np.random.default_rng(7)
    return made, [np.int64(4), generator.random(4), generator.random(5), table, np.int64(1)]


FORMS = (_scan, _while, _newton, _switch, _checkpoint, _nested, _in_place, _table)
forms = pytest.mark.parametrize("form", FORMS, ids=[form.__name__[1:] for form in FORMS])
sizes = pytest.mark.parametrize("size", one_in(2, [SIZE, 150]))


def marked(made: Program) -> tuple[bool, ...]:
    return tuple(type_.inexact for type_ in made.input_types)


def agree(made: Program, arguments: list[Any]) -> None:
    simple = simplify(made)
    assert is_lowerable(simple), simple
    compare(simple, arguments, exact=False)


def more(made: Program, arguments: list[Any], seed: int = 9) -> list[Any]:
    """The arguments, and others for what a derivative takes besides."""
    return [*arguments, *numbers(seed, made.input_types[len(arguments) :])]


@sizes
@forms
@pytest.mark.parametrize("transform", [jvp, vjp], ids=["forward", "reverse"])
def test_derivatives(transform: Any, form: Callable[..., Any], size: int) -> None:
    made, arguments = form(size)
    derived = transform(made, marked(made))
    agree(derived, more(derived, arguments))


@forms
@pytest.mark.parametrize("modes", ["ff", "fr", "rf", "rr"])
def test_second_derivatives(modes: str, form: Callable[..., Any]) -> None:
    made, arguments = form(SIZE)
    for mode in reversed(modes):
        made = simplify((jvp if mode == "f" else vjp)(made, marked(made)))
        arguments = more(made, arguments, len(made.inputs))
    agree(made, arguments)


@forms
def test_batches(form: Callable[..., Any]) -> None:
    made, arguments = form(SIZE)
    size = 4
    batched = vmap(made, [type_.inexact for type_ in made.input_types], size)
    many = [
        np.stack([np.asarray(each) * (1 + k / 8) for k in range(size)]) if type_.inexact else each
        for each, type_ in zip(arguments, made.input_types, strict=True)
    ]
    agree(batched, many)


@forms
def test_batches_of_gradients(form: Callable[..., Any]) -> None:
    made, arguments = form(SIZE)
    made = simplify(vjp(made, marked(made)))
    arguments = more(made, arguments)
    batched = vmap(made, marked(made), 3)
    many = [
        np.stack([np.asarray(each) * (1 + k / 8) for k in range(3)]) if type_.inexact else each
        for each, type_ in zip(arguments, made.input_types, strict=True)
    ]
    agree(batched, many)


def test_a_branch_for_each_example() -> None:
    made = mixed_switch(2, SIZE)
    batched = vmap(made, (True,) * 3, 4)
    x = np.random.default_rng(1).random((4, SIZE))
    agree(batched, [np.array([0, 1, 1, 0]), x, np.arange(4.0)])


def test_rounds_for_each_example() -> None:
    from adjoint.loops.declared import SCAN

    body = program(lambda x: np.sin(x) * 1.5, array(SIZE))
    params = {"constants": 0, "carried": 1, "length": None, "reverse": False}
    made = alone(SCAN, [INDEX, array(SIZE)], body=body, **params)
    batched = vmap(made, (True, True), 4)
    agree(batched, [np.array([0, 3, 1, 5]), np.random.default_rng(1).random((4, SIZE))])
