"""The transforms, on the worked examples of the source documents, and in their structure."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from adjoint.base.arrays import array_type
from adjoint.base.errors import NotLinearError
from adjoint.primitives import bind
from adjoint.primitives.calls.linear import LINEAR_CALL, LinearFunction
from adjoint.primitives.structure.contraction import contract
from adjoint.primitives.structure.moving import broadcast_to, permute, sum_axes
from adjoint.primitives.structure.slicing import take
from adjoint.program import check_linear, check_program
from adjoint.transforms import jvp, linearize, tangent_type, transpose, vjp, vmap
from tests.building import f8, names, program_at, program_of, run

RNG = np.random.default_rng(7)
A, X, U, V = (RNG.normal(size=(3, 3)) for _ in range(4))


def matmul(a: Any, b: Any) -> Any:
    return contract(a, b, "ij,jk->ik")


def pushed(function: Any, x: Any, u: Any) -> Any:
    return run(jvp(program_at(function, x), (True,)), x, u)[1]


def pulled(function: Any, x: Any, v: Any) -> Any:
    return run(vjp(program_at(function, x), (True,)), x, v)[1]


def close(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-14)


# --- the worked examples -------------------------------------------------------------------------


def test_an_elementwise_function_scales_the_tangent() -> None:
    """E.1.16: df(x)[u] = f'(x) * u, and it is its own adjoint."""
    close(pushed(np.sin, X, U), np.cos(X) * U)
    close(pulled(np.sin, X, V), np.cos(X) * V)


def test_the_square_of_a_matrix() -> None:
    """E.1.20: f(X) = X^2 has the derivative U -> U X + X U, whose adjoint is V -> V X^T + X^T V."""

    def square(x: Any) -> Any:
        return matmul(x, x)

    close(pushed(square, X, U), U @ X + X @ U)
    close(pulled(square, X, V), V @ X.T + X.T @ V)


def test_the_gram_matrix() -> None:
    """f(X) = X^T X: the pullback of V is X (V + V^T)."""

    def gram(x: Any) -> Any:
        return matmul(permute(x, (1, 0)), x)

    close(pushed(gram, X, U), U.T @ X + X.T @ U)
    close(pulled(gram, X, V), X @ (V + V.T))


def test_a_product_of_matrices_in_either_factor() -> None:
    """A X is linear in each: the pullbacks are R X^T and A^T R."""
    program = program_at(matmul, A, X)
    _, in_a = run(vjp(program, (True, False)), A, X, V)
    _, in_x = run(vjp(program, (False, True)), A, X, V)
    close(in_a, V @ X.T)
    close(in_x, A.T @ V)
    _, both = run(jvp(program, (True, True)), A, X, U, V)
    close(both, U @ X + A @ V)


def test_a_sum_over_an_axis_and_its_adjoint() -> None:
    """E.1.45, E.1.51: a sum is linear, and its adjoint repeats along the axis."""
    x, u, v = RNG.normal(size=(2, 3)), RNG.normal(size=(2, 3)), RNG.normal(size=2)
    close(pushed(lambda a: sum_axes(a, (1,)), x, u), u.sum(1))
    close(pulled(lambda a: sum_axes(a, (1,)), x, v), np.repeat(v[:, None], 3, 1))
    close(pulled(lambda a: broadcast_to(a, (4, 2, 3)), x, np.ones((4, 2, 3))), np.full((2, 3), 4))


def test_a_value_used_twice_gathers_both_cotangents() -> None:
    """E.1.68: where a value fans out, its cotangent is the sum over its uses."""

    def function(x: Any) -> Any:
        y = np.exp(x)
        return y * np.sin(x) + y

    y = np.exp(X)
    close(pulled(function, X, V), V * y * (np.cos(X) + np.sin(X) + 1))


def test_a_cotangent_is_complete_before_it_is_passed_on() -> None:
    """A chain of squarings x -> x + x costs one addition a step backwards, not one a path."""

    def doubled(x: Any) -> Any:
        for _ in range(10):
            x = x + x
        return x

    program = vjp(program_at(doubled, X), (True,))
    assert names(program).count("add") == 20
    close(run(program, X, V)[1], 1024 * V)


def test_chains_compose() -> None:
    def function(x: Any) -> Any:
        return np.exp(np.sin(np.square(x)))

    slope = np.exp(np.sin(X**2)) * np.cos(X**2) * 2 * X
    close(pushed(function, X, U), slope * U)
    close(pulled(function, X, V), slope * V)


# --- structure -----------------------------------------------------------------------------------


def test_structural_zeros_record_nothing() -> None:
    program = program_of(lambda x, y: np.sin(x) + np.exp(np.cos(y)), f8(3), f8(3))
    only_x = names(jvp(program, (True, False)))
    assert only_x.count("scale") == 1
    assert only_x.count("exp") == 1
    reverse = names(vjp(program, (True, False)))
    assert reverse.count("scale") == 1


def test_an_output_that_stands_still_has_a_zero_tangent() -> None:
    program = program_of(lambda x, y: (np.sin(x), np.exp(y)), f8(3), f8(3))
    x, y, u = np.ones(3), np.zeros(3), np.full(3, 2.0)
    _, _, moving, still = run(jvp(program, (True, False)), x, y, u)
    close(moving, np.cos(1) * u)
    np.testing.assert_array_equal(still, np.zeros(3))
    assert linearize(program, (True, False)).varying == (True, False)
    *_, unused = run(vjp(program, (False, True), (True, False)), x, y, u)
    np.testing.assert_array_equal(unused, np.zeros(3))


def test_integers_have_no_tangents() -> None:
    integers = array_type((3,), np.dtype(int))
    program = program_of(lambda x, n: (np.greater(x, 0.0), x * n), f8(3), integers)
    forward = check_program(jvp(program, (True, False)))
    assert [str(t) for t in forward.output_types] == ["b1[3]", "f8[3]", "f8[3]"]
    reverse = check_program(vjp(program, (True, False)))
    assert [str(t) for t in reverse.input_types] == ["f8[3]", "i8[3]", "f8[3]"]


def test_a_python_float_has_an_array_of_no_axes_as_tangent() -> None:
    weak = array_type((), np.dtype(float), weak=True)
    assert tangent_type(weak) is f8()
    assert tangent_type(f8(2)) is f8(2)
    f4 = array_type((2,), np.dtype(np.float32))
    x, t = np.array([1, 2], np.float32), 3.0
    split = linearize(program_of(lambda x, t: x * t, f4, weak), (True, True))
    value, *residuals = run(split.primal, x, t)
    assert value.dtype == np.float32
    slope = run(split.linear, *residuals, np.ones(2, np.float32), np.float64(1))
    assert slope.dtype == np.float32
    np.testing.assert_array_equal(slope, [4, 5])


def test_a_linear_map_applied_again_repeats_none_of_the_work() -> None:
    """The linear program of a network holds products and sums only: no exp, no tanh."""

    def network(w: Any, x: Any) -> Any:
        for _ in range(3):
            x = np.tanh(contract(w, x, "ij,j->i")) * np.exp(-np.square(x))
        return x

    program = program_of(network, f8(3, 3), f8(3))
    split = linearize(program, (True, True))
    check_linear(split.linear, split.linear.inputs[split.residuals :])
    linear = {"contract", "scale", "add", "negative", "subtract", "cast", "broadcast", "hard"}
    assert set(names(split.linear)) <= linear
    back = transpose(split.linear, split.residuals)
    assert set(names(back)) <= linear
    assert len(back) <= 2 * len(split.linear)
    assert names(split.primal).count("tanh") == 3


def test_slices_transpose_in_place() -> None:
    """n reads of single entries transpose to n increments of one array."""
    n = 50

    def function(x: Any) -> Any:
        total = take(x, (0,)) * 1.5
        for i in range(1, n):
            total = total + np.sin(take(x, (i,)))
        return total

    program = vjp(program_of(function, f8(n)), (True,))
    found = names(program)
    assert found.count("increment") == n
    assert found.count("fill") == 1
    assert len(found) < 7 * n
    x = RNG.normal(size=n)
    _, gradient = run(program, x, np.float64(1))
    close(gradient, np.concatenate([[1.5], np.cos(x[1:])]))


def test_a_function_that_is_not_linear_has_no_transpose() -> None:
    with pytest.raises(NotLinearError, match="sin is applied to what depends on the argument"):
        transpose(program_of(np.sin, f8(2)), 0)
    with pytest.raises(NotLinearError, match="multiply"):
        transpose(program_of(lambda x: x * x, f8(2)), 0)


def test_the_transpose_of_a_transpose_is_the_map() -> None:
    program = program_of(lambda a, x: contract(a, x - 2.0 * x, "ij,j->i"), f8(3, 3), f8(3))
    split = linearize(program, (False, True))
    twice = transpose(transpose(split.linear, split.residuals), split.residuals)
    _, *residuals = run(split.primal, A, X[0])
    close(run(twice, *residuals, U[0]), run(split.linear, *residuals, U[0]))
    close(run(twice, *residuals, U[0]), -A @ U[0])


def test_origins_and_marks() -> None:
    """Derived equations name the operation that gave rise to them, through all transforms."""
    program = program_of(lambda x: np.exp(np.sin(x)), f8(3))
    twice = vjp(jvp(program, (True,)), (True, False))
    for transformed in (jvp(program, (True,)), vjp(program, (True,)), twice):
        own = [e for e in transformed.equations if not e.derived]
        assert [e.primitive.name for e in own] == ["sin", "exp"]
        assert [e.origin for e in own] == [0, 1]
        assert {e.origin for e in transformed.equations if e.primitive.name == "cos"} == {0}
    batch = vmap(vjp(program, (True,)), (True, True), 4)
    assert {e.derived for e in batch.equations} == {True, False}


# --- batching ------------------------------------------------------------------------------------


def test_what_does_not_vary_is_computed_once() -> None:
    program = program_of(lambda x, y: np.sin(x) * y, f8(3), f8(3))
    batch = check_program(vmap(program, (False, True), 5))
    (sine,) = [e for e in batch.equations if e.primitive.name == "sin"]
    assert sine.outputs[0].type is f8(3)


def test_outputs_that_do_not_vary_are_repeated() -> None:
    program = program_of(lambda x, y: (np.sin(x), y), f8(3), f8())
    x, y = np.arange(3.0), np.arange(4.0)
    first, second = run(vmap(program, (False, True), 4), x, y)
    np.testing.assert_array_equal(first, np.tile(np.sin(x), (4, 1)))
    np.testing.assert_array_equal(second, y)
    assert first.flags.writeable


def test_batches_of_batches() -> None:
    program = program_at(lambda a, x: contract(a, np.sin(x), "ij,j->i"), A, X[0])
    twice = vmap(vmap(program, (False, True), 3), (True, True), 2)
    a, x = RNG.normal(size=(2, 3, 3)), RNG.normal(size=(2, 3, 3))
    close(run(twice, a, x), np.einsum("bij,bnj->bni", a, np.sin(x)))


def test_a_jacobian_is_a_batch_of_pushforwards() -> None:
    def function(x: Any) -> Any:
        return np.sin(x) * sum_axes(np.square(x), (0,))

    x = X[0]
    program = jvp(program_at(function, x), (True,))
    _, columns = run(vmap(program, (False, True), 3), x, np.eye(3))
    expected = np.diag(np.cos(x)) * (x @ x) + np.outer(np.sin(x), 2 * x)
    close(columns.T, expected)
    pull = vjp(program_at(function, x), (True,))
    _, rows = run(vmap(pull, (False, True), 3), x, np.eye(3))
    close(rows, expected)


def test_a_linear_call_with_several_results_of_which_one_is_used() -> None:
    """The cotangents that nobody sends are zero."""
    matrix = RNG.normal(size=(2, 3))
    function = LinearFunction(
        lambda x: (matrix @ x, x[::-1].copy()),
        lambda v, w: (matrix.T @ v + w[::-1],),
        [f8(3)],
        [f8(2), f8(3)],
        "both",
    )

    def first(x: Any) -> Any:
        one, _ = bind(LINEAR_CALL, np.sin(x), function=function, transposed=False)
        return one

    x, v = RNG.normal(size=3), RNG.normal(size=2)
    close(pulled(first, x, v), np.cos(x) * (matrix.T @ v))
    close(pushed(first, x, np.ones(3)), matrix @ np.cos(x))
    batch = vmap(vjp(program_at(first, x), (True,)), (True, False), 2)
    _, rows = run(batch, np.stack([x, x + 1]), v)
    close(rows[1], np.cos(x + 1) * (matrix.T @ v))
