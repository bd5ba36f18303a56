"""Each rewrite does what it says, and changes no value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from adjoint.base.arrays import array_type
from adjoint.executors import NumpyExecutor
from adjoint.loops.declared import SCAN
from adjoint.optimise import simplify
from adjoint.primitives.elementwise.declaring import scale
from adjoint.primitives.elementwise.selection import select
from adjoint.primitives.expression import bind
from adjoint.primitives.structure.contraction import contract
from adjoint.primitives.structure.moving import TRANSPOSE, broadcast_to, permute, reshape, sum_axes
from adjoint.primitives.structure.slicing import SLICE, UPDATE, concatenate, stack, take
from adjoint.program import Equation, Program, check_program
from tests.building import f8, names, program_of

RNG = np.random.default_rng(3)
M, N, ROW = f8(2, 3), f8(3, 2), f8(3)

ROWS: dict[str, tuple[Callable[..., Any], tuple[Any, ...], list[str]]] = {
    # function, types, the primitives that remain
    "a common subexpression": (lambda x: np.sin(x) + np.sin(x), (M,), ["sin", "add"]),
    "literals that are equal": (lambda x: (x * 2.0) / (x * 2.0), (M,), ["multiply", "divide"]),
    "literals that differ": (
        lambda x: (x * 2.0) - (x * 3.0),
        (M,),
        ["multiply"] * 2 + ["subtract"],
    ),
    "rows of an array that are stacked": (
        lambda x: stack([take(x, (0, (0, 2, 1))), take(x, (2, (0, 2, 1)))], 0),
        (N,),
        ["slice"],
    ),
    "numbers of an array in another order": (
        lambda x: stack([take(x, (k,)) for k in (0, 2, 1)], 0),
        (ROW,),
        ["slice"] * 3 + ["stack"],
    ),
    "a product without numbers": (
        lambda x: (
            contract(take(x, ((0, 0, 1), 0)), take(x, ((0, 0, 1), 1)), "a,a->") + take(x, (0, 0))
        ),
        (N,),
        ["fill", "slice", "add"],
    ),
    "a sum without numbers": (
        lambda x: x + sum_axes(take(x, ((0, 0, 1), (0, 2, 1))), (0,)),
        (N,),
        ["fill", "add"],
    ),
    "nothing joined to something": (
        lambda x: concatenate([np.sin(take(x, ((0, 0, 1), (0, 2, 1)))), x, np.cos(x)], 0),
        (N,),
        ["cos", "concatenate"],
    ),
    "a write of nothing": (
        lambda x, r: bind(UPDATE, x, take(r, ((0, 0, 1),)), index=((1, 1, 1), 0)) + 1.0,
        (N, ROW),
        ["add"],
    ),
    "dead code": (lambda x: (np.exp(np.cos(x)), np.sin(x))[1], (M,), ["sin"]),
    "multiplication by one": (lambda x: np.sin(x * 1.0), (M,), ["sin"]),
    "scaling by one": (lambda x: np.sin(scale(1.0, x)), (M,), ["sin"]),
    "division by one": (lambda x: np.sin(x / 1.0), (M,), ["sin"]),
    "double negation": (lambda x: np.sin(np.negative(np.negative(x))), (M,), ["sin"]),
    "a broadcast operand": (lambda x, r: x * broadcast_to(r, (2, 3)), (M, ROW), ["multiply"]),
    "a scaled broadcast": (lambda x, r: scale(broadcast_to(r, (2, 3)), x), (M, ROW), ["scale"]),
    "a broadcast that gives the shape is made last": (
        lambda r: np.sin(broadcast_to(r, (2, 3))),
        (ROW,),
        ["sin", "broadcast"],
    ),
    "numbers and broadcasts": (
        lambda r: np.sin(broadcast_to(r, (2, 3))) * 2.0 + 1.0,
        (ROW,),
        ["sin", "multiply", "add", "broadcast"],
    ),
    "a broadcast of a broadcast": (
        lambda r: broadcast_to(broadcast_to(r, (1, 3)), (2, 3)),
        (ROW,),
        ["broadcast"],
    ),
    "leading axes of length one": (lambda x, r: x + reshape(r, (1, 3)), (M, ROW), ["add"]),
    "a broadcast choice": (
        lambda x, r: select(np.greater(x, 0.0), x, broadcast_to(r, (2, 3))),
        (M, ROW),
        ["greater", "select"],
    ),
    "two transposes that cancel": (
        lambda x: np.sin(permute(permute(x, (1, 0)), (1, 0))),
        (M,),
        ["sin"],
    ),
    "two transposes that do not": (
        lambda x: permute(permute(x, (1, 2, 0)), (1, 2, 0)),
        (f8(2, 3, 4),),
        ["transpose"],
    ),
    "two reshapes": (lambda x: np.sin(reshape(reshape(x, (6,)), (3, 2))), (M,), ["reshape", "sin"]),
    "a reshape and back": (lambda x: np.sin(reshape(reshape(x, (6,)), (2, 3))), (M,), ["sin"]),
    "the product with a transpose on the left": (
        lambda x, y: contract(permute(x, (1, 0)), y, "ij,jk->ik"),
        (N, N),
        ["contract"],
    ),
    "the product with a transpose on the right": (
        lambda x, y: contract(x, permute(y, (1, 0)), "ij,jk->ik"),
        (M, M),
        ["contract"],
    ),
    "both": (
        lambda x, y: contract(permute(x, (1, 0)), permute(y, (1, 0)), "ij,jk->ik"),
        (N, M),
        ["contract"],
    ),
}


@pytest.mark.parametrize("name", ROWS)
def test_rewrites(name: str) -> None:
    function, types, remaining = ROWS[name]
    program = program_of(function, *types)
    simple = check_program(simplify(program))
    assert names(simple) == remaining
    assert simplify(simple) == simple
    arguments = [RNG.normal(size=t.shape) for t in types]
    executor = NumpyExecutor()
    before = executor.compile(program).run(*arguments)
    after = executor.compile(simple).run(*arguments)
    for one, other in zip(before, after, strict=True):
        np.testing.assert_array_equal(one, other)
        assert one.dtype == other.dtype


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x * np.float64(1) * 1.5,  # one, but not the only factor
        lambda x: x * -1.0,
        lambda x: x / 2.0,
        lambda x: x + 0.0,  # changes -0.0
        lambda x: x - x,  # NaN for infinity
        lambda x: x * 0.0,
    ],
)
def test_what_would_change_a_value_is_left(function: Callable[..., Any]) -> None:
    program = program_of(function, M)
    x = np.array([[np.inf, -0.0, np.nan], [1.0, -2.0, 0.5]])
    with np.errstate(invalid="ignore"):
        (before,) = NumpyExecutor().compile(program).run(x)
        (after,) = NumpyExecutor().compile(simplify(program)).run(x)
    np.testing.assert_array_equal(before, after)
    np.testing.assert_array_equal(np.signbit(before), np.signbit(after))


def test_one_that_widens_is_left() -> None:
    """x * np.float64(1) is of double precision, whatever x was."""
    single = array_type((3,), np.dtype(np.float32))
    program = program_of(lambda x: x * np.float64(1), single)
    assert names(simplify(program)) == ["multiply"]
    assert names(simplify(program_of(lambda x: x * 1.0, single))) == []


def test_results_that_are_inputs_or_alike() -> None:
    program = simplify(
        program_of(lambda x: (x * 1.0, np.negative(np.negative(x)), np.sin(x), np.sin(x)), M)
    )
    assert str(program).splitlines()[-2] == "  return a, a, b, b"


def test_what_the_user_wrote_keeps_its_warnings() -> None:
    """The user's 1 / x, met after a derived one, is the one that is kept."""
    program = program_of(lambda x: (1.0 / x, np.log(1.0 / x)), f8())
    first, second, third = program.equations
    derived = Equation(first.operation, first.inputs, first.outputs, 3, True)
    mixed = Program(program.inputs, [derived, second, third], program.outputs)
    kept, _ = simplify(mixed).equations
    assert not kept.derived
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        NumpyExecutor().compile(simplify(mixed)).run(np.float64(0))


def test_gradients_of_broadcasts_sum_first() -> None:
    program = program_of(lambda x, y: sum_axes(x * y, (0, 1)), M, ROW)
    assert names(simplify(program)) == ["multiply", "sum"]


def test_a_loop_without_results_goes() -> None:
    empty = program_of(lambda x: (), f8())
    params = {"body": empty, "constants": 1, "carried": 0, "length": None, "reverse": False}

    def function(count: Any, x: Any) -> Any:
        assert bind(SCAN, count, x, **params) == ()
        return x

    program = program_of(function, array_type((), np.dtype(np.int64)), f8())
    assert names(program) == ["scan"]
    assert names(simplify(program)) == []


def test_single_numbers_are_joined() -> None:
    """A number without axes has no rows, though it may be sliced."""

    def function(x: Any) -> Any:
        one = reshape(bind(SLICE, x, index=()), (1,))
        return concatenate([one, one], 0)

    program = program_of(function, f8())
    (found,) = NumpyExecutor().compile(check_program(simplify(program))).run(np.array(2.0))
    np.testing.assert_array_equal(found, [2.0, 2.0])


def test_a_transpose_alone_stays() -> None:
    program = program_of(lambda x: bind(TRANSPOSE, x, axes=(1, 0)), M)
    assert simplify(program) == program
