"""Constant factors of derivatives: where they go, and that they change no value but by rounding."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from adjoint.base.arrays import ArrayType, array_type
from adjoint.executors import Needs, NumpyExecutor
from adjoint.optimise import bare, simplify
from adjoint.optimise.factors import move_factors
from adjoint.primitives.elementwise.declaring import scale
from adjoint.primitives.structure.contraction import contract
from adjoint.primitives.structure.moving import sum_axes
from adjoint.program import Equation, Literal, Program
from adjoint.transforms import jvp, vjp
from tests.building import f8, names, program_of, run


def derived(function: Any, *types: Any) -> Program:
    """The simplified program of the tangent alone."""
    program = program_of(function, *types)
    whole = jvp(program, [True] * len(types))
    count = len(program.outputs)
    return bare(simplify(Program(whole.inputs, whole.equations, whole.outputs[count:])))


def test_two_factors_are_one() -> None:
    found = names(derived(lambda x: np.square(np.negative(np.square(x))), f8(4)))
    assert found.count("multiply") <= 2, found


def test_a_factor_leaves_a_sum() -> None:
    """d sum(x^2)[u] = 2 <x, u>: one contraction, and a product of numbers."""
    program = derived(lambda x: sum_axes(np.square(x), (0,)), f8(4))
    assert names(program) == ["contract", "multiply"]
    x, u = np.arange(4.0), np.array([1.0, -1.0, 2.0, 0.5])
    assert run(program, x, u) == pytest.approx(2 * x @ u, rel=1e-15)


def test_a_sum_of_a_sum_is_one() -> None:
    """d sum_j sum_i x_ij^2 [u] = 2 <x, u>, whichever axis was summed first."""
    for first in ((0,), (1,), (1, 2), (0, 2)):

        def function(x: Any, first: tuple[int, ...] = first) -> Any:
            inner = sum_axes(np.square(x), first)
            return sum_axes(inner * 3.0, tuple(range(3 - len(first))))

        program = derived(function, f8(2, 3, 4))
        assert names(program) == ["contract", "multiply"]
        x, u = np.random.default_rng(0).normal(size=(2, 2, 3, 4))
        assert run(program, x, u) == pytest.approx(6 * np.vdot(x, u), rel=1e-14)
    program = derived(lambda x: sum_axes(sum_axes(np.sin(x), (1,)), (1,)), f8(2, 3, 4))
    assert [e.params["axes"] for e in program.equations if e.primitive.name == "sum"] == [(1, 2)]


def test_single_numbers_leave_a_sum() -> None:
    """The derivative of a mean of squares: the division by n is one of a number."""

    def function(x: Any, n: Any) -> Any:
        return sum_axes(sum_axes(np.square(x), (0,)) / n, (0,))

    program = program_of(function, f8(4, 5), f8())
    whole = jvp(program, [True, False])
    tangent = bare(simplify(Program(whole.inputs, whole.equations, whole.outputs[1:])))
    assert "sum" not in names(tangent)
    assert all(e.outputs[0].type.ndim == 0 for e in tangent.equations)
    x, u = np.random.default_rng(0).normal(size=(2, 4, 5))
    assert run(tangent, x, 20.0, u) == pytest.approx(np.vdot(x, u) / 10, rel=1e-14)


def test_a_common_sign_is_taken_out_of_a_sum() -> None:
    program = derived(lambda x, y: np.negative(x) - y, f8(3), f8(3))
    assert names(program) == ["add", "negative"]
    program = derived(lambda x, y: np.negative(x) + y, f8(3), f8(3))
    assert names(program) == ["subtract"]


def test_a_factor_goes_into_the_smaller_operand() -> None:
    """In reverse, the 2 of a square multiplies the one number that comes through the sum."""
    program = program_of(lambda x: sum_axes(np.square(x), (0,)), f8(4))
    reverse = simplify(vjp(program, [True]))
    types = {str(e.outputs[0].type) for e in reverse.equations if e.primitive.name == "multiply"}
    assert types == {"f8[]"}


def test_what_the_user_wrote_is_left_alone() -> None:
    program = program_of(lambda x: sum_axes(2.0 * np.negative(x) * x, (0,)), f8(4))
    assert move_factors(program) is program
    assert names(simplify(program)) == ["negative", "multiply", "multiply", "sum"]


def test_factors_of_zero_and_infinity_stay_where_they_are() -> None:
    program = derived(lambda x: x * 0.0 + x * np.inf, f8(2))
    with np.errstate(all="ignore"):
        assert np.isnan(run(program, np.ones(2), np.zeros(2))).all()


def test_a_factor_goes_into_several_products_once() -> None:
    """(2 x u) y, (2 x u) y^2, (2 x u) sin y: one product with 2, not one for each of them."""

    def function(x: Any, y: Any) -> tuple[Any, ...]:
        square = np.square(x)
        return square * y, square * np.square(y), square * np.sin(y)

    program = program_of(function, f8(4), f8(4))
    whole = jvp(program, [True, False])
    slopes = simplify(Program(whole.inputs, whole.equations, whole.outputs[3:]))
    numbers = [
        equation
        for equation in slopes.equations
        if any(isinstance(atom, Literal) for atom in equation.inputs)
    ]
    assert len(numbers) == 1
    x, y, u = np.random.default_rng(0).normal(size=(3, 4))
    expected = [2 * x * u * factor for factor in (y, y**2, np.sin(y))]
    for one, other in zip(run(slopes, x, y, u), expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-14)


def product(x: Any, a: Any) -> Any:
    return contract(x, a, "ab,bc->ac")


def _batch(x: Any, a: Any) -> Any:
    return sum_axes(contract(x, a, "abc,acd->abd"), (0, 1))


# Functions of arrays, and the most numbers that a product in their slopes has.
SUMS_OF_PRODUCTS: dict[str, tuple[Callable[..., Any], tuple[ArrayType, ...], int]] = {
    "rows": (lambda x, a: sum_axes(product(np.sin(x), a), (0,)), (f8(50, 3), f8(3, 4)), 4),
    "all": (lambda x, a: sum_axes(product(np.sin(x), np.cos(a)), (0, 1)), (f8(50, 3), f8(3, 9)), 1),
    "a batch": (_batch, (f8(5, 7, 3), f8(5, 3, 4)), 4),
    "terms": (
        lambda x, a: sum_axes(product(np.sin(x), a) - product(np.cos(x), a) + np.exp(x), (0,)),
        (f8(50, 3), f8(3, 3)),
        3,
    ),
}


@pytest.mark.parametrize("name", SUMS_OF_PRODUCTS)
def test_rows_of_a_product_that_are_added_up_are_added_up_before_it(name: str) -> None:
    function, types, most = SUMS_OF_PRODUCTS[name]
    program = program_of(function, *types)
    whole = jvp(program, [True] * len(types))
    slope = derived(function, *types)
    sizes = [e.outputs[0].type.size for e in slope.equations if e.primitive.name == "contract"]
    assert sizes
    assert max(sizes) <= most, slope
    random = np.random.default_rng(0)
    values = [random.normal(size=type_.shape) for type_ in 2 * types]
    _, expected = NumpyExecutor().compile(whole, Needs()).run(*values)
    np.testing.assert_allclose(run(slope, *values), expected, rtol=1e-12, atol=1e-12)


def test_a_product_that_something_else_reads_stays_whole() -> None:
    def function(x: Any, a: Any) -> tuple[Any, Any]:
        rows = product(np.sin(x), a)
        return sum_axes(rows, (0,)), np.square(rows)

    program = program_of(function, f8(50, 3), f8(3, 4))
    whole = jvp(program, [True, False])
    slopes = bare(simplify(Program(whole.inputs, whole.equations, whole.outputs[2:])))
    shapes = [e.outputs[0].type.shape for e in slopes.equations if e.primitive.name == "contract"]
    assert shapes == [(50, 4), (50, 4)]  # the value, which the square needs, and its slope


def test_a_product_of_two_widths_is_summed_in_the_wider() -> None:
    """In float32, 2**24 + 1 is 2**24: such factors are not added up themselves."""
    narrow = array_type((3, 1), np.dtype(np.float32))
    program = derived(lambda x, a: sum_axes(product(x, a), (0,)), narrow, f8(1, 1))
    x, a = np.ones((3, 1), np.float32), np.ones((1, 1))
    u = np.array([[2.0**24], [1.0], [1.0]], np.float32)
    assert run(program, x, a, u, 0 * a) == 2.0**24 + 2


def test_sums_go_through_any_number_of_products() -> None:
    def function(x: Any, *factors: Any) -> Any:
        for factor in factors:
            x = product(x, factor)
        return sum_axes(x, (0,))

    count = 1500
    program = program_of(function, f8(50, 2), *[f8(2, 2)] * count)
    whole = jvp(program, [True, *[False] * count])
    slope = bare(simplify(Program(whole.inputs, whole.equations, whole.outputs[1:])))
    assert len(slope) == count + 1
    assert slope.equations[-1].outputs[0].type.shape == (2,)


def all_derived(function: Any, *types: ArrayType) -> Program:
    """The program of a function, as if a transform had written all of it."""
    program = program_of(function, *types)
    equations = [Equation(e.operation, e.inputs, e.outputs, None, True) for e in program.equations]
    return Program(program.inputs, equations, program.outputs)


def _read_twice(s: Any, x: Any, a: Any) -> Any:
    """Steps each of which reads the one before twice, by way of products with a number."""
    for _ in range(200):
        y = scale(s, x)
        x = product(y, a) + product(scale(s, y), a)
    return sum_axes(x, (0,))


def _summed_at_each_step(s: Any, x: Any, a: Any) -> Any:
    sums = []
    for _ in range(200):
        x = scale(s, product(x, a))
        sums.append(sum_axes(x, (0,)))
    return (*sums, x)


def _scaled(s: Any, x: Any, a: Any) -> Any:
    """More products with a number than calls of Python may be deep."""
    for _ in range(3000):
        x = scale(s, x)
    return sum_axes(x, (0,))


@pytest.mark.parametrize("function", [_read_twice, _summed_at_each_step, _scaled])
def test_long_chains_that_are_summed_grow_with_their_length_alone(function: Any) -> None:
    program = all_derived(function, f8(), f8(50, 2), f8(2, 2))
    simple = simplify(program)
    assert len(simple) <= 1.5 * len(program)
    values = (
        0.999,
        np.random.default_rng(0).normal(size=(50, 2)),
        np.array([[0.4, 0.5], [0.3, 0.6]]),
    )
    expected = NumpyExecutor().compile(program, Needs()).run(*values)
    found = NumpyExecutor().compile(simple, Needs()).run(*values)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-11)


def test_half_precision_is_added_up_after_what_makes_it_small() -> None:
    """Of 60 slopes of 2000 the sum is beyond 65 504, and times 0 in a product no number."""
    half = np.dtype(np.float16)
    types = array_type((60, 2), half), array_type((2, 2), half)
    x, a = np.full((60, 2), 2000, half), np.diag(np.full(2, 1e-3, half))
    program = all_derived(lambda x, a: sum_axes(product(x, a), (0,)), *types)
    np.testing.assert_allclose(run(program, x, a), [120, 120], rtol=1e-2)
    program = all_derived(lambda x, a: sum_axes(1e-3 * x, (0,)), *types)
    np.testing.assert_allclose(run(program, x, a), [120, 120], rtol=1e-2)
