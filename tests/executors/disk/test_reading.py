"""Programs that are read again are those that were written, to the last bit and the last mark."""

from __future__ import annotations

import signal
from contextlib import suppress
from enum import Enum
from typing import Any

import numpy as np
import pytest

from adjoint.calculus.jacobians.planning.mode import Mode
from adjoint.executors.disk.contents import UnknownContentError, program_digest, whole_content
from adjoint.executors.disk.reading import UnreadableError, read
from adjoint.optimise import bare
from adjoint.primitives.calls.custom import Constant
from adjoint.program import Equation, Literal, Program, all_equations, check_program, operation
from tests.executors.disk.test_contents import NEAR, X, every_program, held, mutants, program


def marks(whole: Program) -> list[tuple[Any, ...]]:
    """What a content tells of equations, but for the values of parameters."""
    return [(e.origin, e.derived, e.primitive, *e.params) for e in whole.equations]


def assert_read_again(whole: Program) -> None:
    content = whole_content(whole)
    again = read(content)
    assert marks(again) == marks(whole)
    if all(map(is_interned, all_equations(whole))):
        assert again == whole or held_arrays(whole)
        assert str(again) == str(whole)
        assert program_digest(again) == program_digest(whole)
        assert whole_content(again) == content


def held_arrays(whole: Program) -> bool:
    """Whether it holds arrays, which are compared by identity."""
    values = [x for equation in all_equations(whole) for x in equation.params.values()]
    return any(type(value) is Constant for value in values)


def is_interned(equation: Equation) -> bool:
    """Not of parameters that are equal to those of another operation, as 1 is to True."""
    return operation(equation.primitive, **equation.params) is equation.operation


def test_every_program() -> None:
    count = 0
    for whole in every_program():
        try:
            whole_content(whole)
        except UnknownContentError:
            continue
        assert_read_again(whole)
        check_program(read(whole_content(whole)))
        count += 1
    assert count > 1500


def test_what_is_nearly_equal_stays_different() -> None:
    for programs in NEAR.values():
        for whole in programs:
            assert_read_again(whole)
    small = [whole for whole in map(bare, every_program()) if len(whole) < 4][:200]
    for whole in small:
        for mutant in mutants(whole):
            with suppress(UnknownContentError):
                assert_read_again(mutant)


def test_where_equations_come_from_is_read_again() -> None:
    (sine,) = program(np.sin, X).equations
    for origin in (None, 0, 7, 2**40):
        for derived in (False, True, 2):
            equation = Equation(sine.operation, sine.inputs, sine.outputs, origin, derived)
            whole = Program(sine.inputs, [equation], sine.outputs)
            (again,) = read(whole_content(whole)).equations
            assert (again.origin, again.derived) == (origin, derived)
            assert type(again.derived) is type(derived)
            assert again.operation is sine.operation


VALUES: list[Any] = [
    None, True, False, 0, -1, 255, -256, 2**70, 0.1, -0.0, np.inf, 1 - 0j, "", "ä\ud800", (), ((),),
    (1, (2.0, "x")), np.float32(0.1), np.int8(-3), np.bool_(True), np.complex64(1j),
    np.dtype(">f4"), np.dtype("q"), np.dtype("l"), np.dtype(bool),
    X, Mode.FORWARD, (Mode.REVERSE, X),
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=[f"value {n}" for n in range(len(VALUES))])
def test_values(value: Any) -> None:
    again = read(whole_content(value))
    assert type(again) is type(value)
    assert again == value
    assert repr(again) == repr(value)
    if isinstance(value, np.dtype):
        assert again.char == value.char


def test_numbers_that_a_program_holds() -> None:
    for numbers in (np.zeros((2, 0)), np.array(3.0), np.arange(6.0).reshape(2, 3).T):
        again = read(whole_content(Constant(numbers)))
        assert again.type is Constant(numbers).type
        np.testing.assert_array_equal(again.value, numbers)
        assert again.value.flags.writeable
    assert_read_again(held(np.array([1, 2], ">i8")))


class Another(Enum):
    """An enumeration of the user's."""

    ONE = 1


def test_what_is_the_users_has_no_content() -> None:
    for value in (Another.ONE, signal.SIGINT, object(), [1], {1: 2}, np.array([1.0]), Literal(1.0)):
        with pytest.raises(UnknownContentError):
            whole_content(value)


def test_what_is_cut_short_or_changed_is_not_read() -> None:
    content = whole_content((held(np.array([1.0, 2.0])), Mode.FORWARD, "text", np.float64(2)))
    for length in range(len(content)):
        with pytest.raises(UnreadableError):
            read(content[:length])
    for place in range(len(content)):
        for value in (0, 1, 255, content[place] ^ 32):
            changed = content[:place] + bytes([value]) + content[place + 1 :]
            with suppress(UnreadableError):
                read(changed)


@pytest.mark.parametrize(
    "names",
    [
        ("os", "environ", "x"),
        ("adjoint.transforms", "jvp", "x"),
        ("adjoint.none", "Mode", "FORWARD"),
    ],
)
def test_only_members_of_the_packages_enumerations_are_read(names: tuple[str, ...]) -> None:
    content = whole_content(names)
    frame = b"e" + len(content).to_bytes(8, "little") + content
    with pytest.raises(UnreadableError):
        read(frame)
