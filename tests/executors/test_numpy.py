"""The NumPy executor: its source, the memory of its results, warnings, in-place writes."""

from __future__ import annotations

import gc
import traceback
import tracemalloc
import warnings
from typing import Any

import numpy as np
import pytest

from adjoint.base.arrays import array_type
from adjoint.executors import Needs, NumpyExecutor
from adjoint.executors.numpy import NumpyExecutable
from adjoint.optimise import simplify
from adjoint.primitives.elementwise.accuracy.slopes import SECH_SQUARED
from adjoint.primitives.elementwise.arithmetic import MULTIPLY
from adjoint.primitives.elementwise.declaring import scale
from adjoint.primitives.expression import bind
from adjoint.primitives.structure.contraction import contract
from adjoint.primitives.structure.gathering import GATHER, GATHER_ADD
from adjoint.primitives.structure.moving import FILL, broadcast_to, permute, reshape, sum_axes
from adjoint.primitives.structure.slicing import increment, stack, take, update
from adjoint.program import Builder, Literal, Program
from adjoint.transforms import jvp, vjp
from tests.building import f8, program_at, program_of, run

F4 = np.dtype(np.float32)


def compiled(program: Program, strong: bool = False) -> NumpyExecutable:
    return NumpyExecutor().compile(program, Needs(hard=strong))


def source(function: Any, *types: Any) -> list[str]:
    """The generated lines of a function, without the first."""
    text = compiled(simplify(program_of(function, *types))).report().source
    return [line.strip() for line in text.splitlines()[1:]]


WINE = """\
def program(x0, x1, x2, x3, x4, x5):
    x4 = float(x4)
    v0 = matmul(x0, x2)
    v1 = tanh(v0)
    v2 = matmul(x1, v1)
    v3 = subtract(v2, x3, out=v2)
    with errstate(all='ignore'):
        v4 = sech_squared(v0, out=v0)
        v5 = int64.type(1) / x4
        v6 = v5.astype(float32)
        v7 = v6 * x5
        v8 = 2 * v7
        v9 = multiply(v3, v8, out=v3)
        v10 = multiply(x1.T, v9)
        v11 = matmul(v9, v1.T)
        v12 = multiply(v4, v10, out=v4)
        v13 = matmul(v12, x2.T)
    return (v13, v11,)
"""


def wine_gradient() -> Program:
    """The gradient of the mean square error of a network of one hidden layer, in its weights."""

    def loss(first: Any, second: Any, x: Any, y: Any, n: Any) -> Any:
        hidden = np.tanh(contract(first, x, "ij,jk->ik"))
        return sum_axes(np.square(contract(second, hidden, "ij,jk->ik") - y), (0, 1)) / n

    shapes = ((16, 13), (1, 16), (13, 178), (1, 178))
    types = [array_type(shape, F4) for shape in shapes]
    weak = array_type((), np.dtype(float), weak=True)
    program = vjp(program_of(loss, *types, weak), (True, True, False, False, False))
    return simplify(Program(program.inputs, program.equations, program.outputs[1:]))


def test_the_source_of_a_network() -> None:
    executable = compiled(wine_gradient())
    assert executable.report().source == WINE
    assert executable.run.__name__ == "program"


def test_the_network_in_single_precision() -> None:
    rng = np.random.default_rng(0)
    shapes = ((16, 13), (1, 16), (13, 178), (1, 178))
    a, b, x, y = (rng.normal(size=shape).astype(F4) for shape in shapes)
    first, second = compiled(wine_gradient()).run(a, b, x, y, 178.0, np.float32(1))
    hidden = np.tanh(a @ x)
    residual = 2 * (b @ hidden - y) / 178
    np.testing.assert_allclose(second, residual @ hidden.T, rtol=1e-4)
    np.testing.assert_allclose(
        first, (b.T @ residual * (1 - hidden**2)) @ x.T, rtol=1e-3, atol=1e-4
    )
    assert first.dtype == second.dtype == F4


# --- how it is written ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "types", "line"),
    [
        (lambda x, y: x + y, (f8(), f8()), "v0 = x0 + x1"),
        (lambda x, y: x + y, (f8(2), f8()), "v0 = add(x0, x1)"),
        (lambda x: -x, (f8(),), "v0 = -x0"),
        (lambda x: x * -2.0, (f8(2),), "v0 = multiply(x0, (-2.0))"),
        (lambda x: x * np.inf, (f8(2),), "v0 = multiply(x0, constant)"),
        (lambda x: take(x, (1, (0, 3, 2))), (f8(2, 3),), "v0 = x0[1, :3:2]"),
        (lambda x: take(x, ((2, -1, -1),)), (f8(3),), "v0 = x0[2::-1]"),
        (lambda x: permute(x, (1, 0)), (f8(2, 3),), "v0 = x0.T"),
        (lambda x: permute(x, (1, 0, 2)), (f8(2, 3, 4),), "v0 = x0.transpose((1, 0, 2))"),
        (lambda x: sum_axes(x, (0, 1)), (f8(2, 3),), "v0 = add.reduce(x0, None)"),
        (lambda x: sum_axes(x, (1,)), (f8(2, 3),), "v0 = add.reduce(x0, 1)"),
        (lambda x, y: contract(x, y, "i,i->"), (f8(3), f8(3)), "v0 = matmul(x0, x1)"),
        (lambda x, y: contract(x, y, "ij,jk->ik"), (f8(3, 1), f8(1, 2)), "v0 = multiply(x0, x1)"),
        (lambda x, y: contract(x, y, "i,j->ij"), (f8(2), f8(3)), "v0 = x0[:, None] * x1"),
        (lambda x, y: contract(x, y, "i,j->ji"), (f8(2), f8(3)), "v0 = x1[:, None] * x0"),
        (lambda x: scale(2.0, x), (f8(2),), "v0 = multiply(2.0, x0)"),
    ],
)
def test_lines(function: Any, types: Any, line: str) -> None:
    assert source(function, *types)[0] == line


SPECS = (
    "ij,jk->ik", "ij,kj->ik", "ij,ik->jk", "ij,ki->jk", "ij,jk->ki", "ij,kj->ki", "ij,ik->kj",
    "ij,ki->kj", "ij,j->i", "ij,i->j", "i,ij->j", "i,ji->j", "i,i->", "i,j->ij", "i,j->ji",
    "bij,bjk->bik", "bij,bjk->kib", "ij,ij->ij", "ij,ij->i", "ijk,kl->ijl", "ijk,jil->kl",
    ",i->i", "i,->i", ",->", "bi,bj->bij", "ij,klj->iklj",
)  # fmt: skip


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("dtype", [float, complex, int])
def test_every_form_of_product(spec: str, dtype: Any) -> None:
    lengths = dict(zip("bijkl", (2, 3, 4, 5, 6), strict=True))
    rng = np.random.default_rng(1)
    operands = spec.split("->")[0].split(",")
    arrays = [
        np.asarray(rng.integers(-4, 5, [lengths[label] for label in labels]), dtype)[()]
        for labels in operands
    ]
    program = program_at(lambda x, y: contract(x, y, spec), *arrays)
    expected = np.einsum(spec, *arrays)
    for strong in (False, True):
        result = run(program, *arrays, strong=strong)
        np.testing.assert_array_equal(result, expected)
        assert result.dtype == expected.dtype


def test_a_traceback_shows_the_generated_line() -> None:
    x, index = np.arange(3.0), np.array([7])
    executable = compiled(program_at(lambda x, i: bind(GATHER, x, i), x, index))
    with pytest.raises(IndexError) as caught:
        executable.run(x, index)
    assert "v0 = x0[x1]" in "".join(traceback.format_tb(caught.value.__traceback__))


# --- what comes out ------------------------------------------------------------------------------


def test_outputs_have_memory_of_their_own() -> None:
    """They alias neither inputs nor each other, and can be written to."""

    def function(x: Any) -> Any:
        s = np.sin(x)
        row = take(s, (1, (0, 3, 1)))
        return (
            x, x, s, s, row, reshape(s, (6,)), permute(s, (1, 0)), permute(x, (1, 0)),
            take(x, (0, (0, 3, 1))), broadcast_to(row, (2, 3)), update(x, 0.0, (0, 0)),
        )  # fmt: skip

    x = np.arange(6.0).reshape(2, 3)
    before = x.copy()
    results = run(program_of(function, f8(2, 3)), x)
    for number, result in enumerate(results):
        assert not np.shares_memory(result, x), number
        for other in results[:number]:
            assert not np.shares_memory(result, other)
        result[...] = 99  # also entry by entry: no two entries share memory
    np.testing.assert_array_equal(x, before)


def test_gathering_one_row_gives_a_copy() -> None:
    """NumPy returns a view for an index without axes."""
    x, i = np.arange(6.0).reshape(3, 2), np.intp(1)
    row = run(program_at(lambda x, i: bind(GATHER, x, i), x, i), x, i)
    assert not np.shares_memory(row, x)

    def function(x: Any, i: Any) -> Any:
        s = x * 2.0
        row = bind(GATHER, s, i)
        return increment(s, 100.0, ((0, 3, 1), (0, 2, 1))), row

    written, row = run(program_at(function, x, i), x, i)
    np.testing.assert_array_equal(row, [4, 6])
    np.testing.assert_array_equal(written, 2 * x + 100)


def test_scalars_are_numpys() -> None:
    weak = array_type((), np.dtype(float), weak=True)
    truth = array_type((), np.dtype(bool))
    builder = Builder()
    inputs = [builder.input(weak), builder.input(truth), builder.input(f8())]
    program = builder.build([*inputs, Literal(2), Literal(True), Literal(0.5)])
    results = compiled(program).run(1.5, True, np.array(2.5))
    expected = (np.float64(1.5), np.True_, np.float64(2.5), np.int64(2), np.True_, np.float64(0.5))
    assert [type(x) for x in results] == [type(x) for x in expected]
    assert results == expected


def test_python_scalars_divide_as_numpys() -> None:
    """1.0 / 0.0 is infinity with a warning, also between Python scalars and booleans."""
    program = program_at(lambda x, y: x / y, 1.0, 0.0)
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        assert run(program, 1.0, 0.0) == np.inf
    program = program_at(lambda x, y: x / y, True, 0.0)
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        assert run(program, True, 0.0) == np.inf


@pytest.mark.parametrize("value", [0, 1, -1, 1.5, np.inf, -np.inf, np.nan, np.float64(2)])
def test_constants(value: Any) -> None:
    builder = Builder()
    filled = bind(FILL, builder=builder, shape=(2,), dtype=np.dtype(float), value=value)
    (result,) = compiled(builder.build([filled.atom])).run()
    np.testing.assert_array_equal(result, np.full(2, value, float))
    x = np.ones(2)
    np.testing.assert_array_equal(run(program_at(lambda x: x * value, x), x), x * value)


def test_no_inputs_and_no_outputs() -> None:
    assert compiled(Program((), (), ())).run() == ()


# --- warnings ------------------------------------------------------------------------------------


def test_the_users_own_operations_warn_as_numpys_do() -> None:
    x = np.array([0.0, -1.0])
    with pytest.warns(RuntimeWarning) as found:
        run(program_at(np.log, x), x)
    assert {str(w.message) for w in found} == {
        "divide by zero encountered in log",
        "invalid value encountered in log",
    }
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        run(program_at(np.log, x[:1]), x[:1])


@pytest.mark.parametrize("strong", [False, True])
def test_what_a_transform_wrote_warns_of_nothing(strong: bool) -> None:
    x = np.array([0.0, 1.0])  # sqrt is fine at 0, its derivative is not
    program = program_at(np.sqrt, x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _, slope = run(jvp(program, (True,)), x, np.ones(2), strong=strong)
        _, gradient = run(vjp(program, (True,)), x, np.ones(2), strong=strong)
    np.testing.assert_array_equal(slope, [np.inf, 0.5])
    np.testing.assert_array_equal(gradient, [np.inf, 0.5])


def test_the_function_still_warns_beside_its_derivative() -> None:
    x = np.array([0.0])
    with pytest.warns(RuntimeWarning, match="divide by zero encountered in log"):
        run(vjp(program_at(np.log, x), (True,)), x, np.ones(1))


# --- memory --------------------------------------------------------------------------------------


def test_writing_n_entries_copies_once() -> None:
    n = 40

    def function(x: Any) -> Any:
        y = np.sin(x)
        for i in range(n):
            y = update(y, take(x, (i,)), (i,))
        return y

    lines = source(function, f8(n))
    assert sum("array(" in line for line in lines) == 0
    backward = vjp(program_of(lambda x: sum_axes(function(x), (0,)), f8(n)), (True,))
    text = compiled(simplify(backward)).report().source
    assert text.count("array(") <= 1
    assert text.count("zeros(") == 1


def test_a_write_into_an_input_copies_it_once() -> None:
    def function(x: Any, i: Any) -> Any:
        y = update(x, 1.0, (0,))
        y = increment(y, 2.0, (1,))
        return bind(GATHER_ADD, y, 3.0, i)

    x, i = np.zeros(4), np.array([2, 2])
    program = program_at(function, x, i)
    assert compiled(program).report().source.count("array(") == 1
    np.testing.assert_array_equal(run(program, x, i), [1, 2, 6, 0])
    np.testing.assert_array_equal(x, np.zeros(4))


def test_large_arrays_are_let_go_when_they_die() -> None:
    """Along a chain of reductions only a few arrays live at a time, whatever views they had."""
    side, steps = 512, 12

    def function(x: Any) -> Any:
        total = sum_axes(x, (0, 1))
        for k in range(steps):
            y = np.exp(np.sin(x * (1.0 + k)))
            total = total + sum_axes(reshape(permute(y, (1, 0)), (side * side,)), (0,))
        return total

    executable = compiled(simplify(program_of(function, f8(side, side))))
    x = np.zeros((side, side))
    gc.collect()
    tracemalloc.start()
    try:
        executable.run(x)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 4 * x.nbytes


def test_writing_rows_copies_no_array() -> None:
    """A recurrence y[i + 1] = f(y[i]) on rows: forwards and backwards no step copies the whole."""
    n = 30
    row = (0, 3, 1)

    def function(x: Any) -> Any:
        y = np.sin(x)
        for i in range(n - 1):
            y = update(y, np.sin(take(y, (i, row))), (i + 1, row))
        return y

    program = program_of(function, f8(n, 3))
    for transformed in (program, jvp(program, (True,)), vjp(program, (True,))):
        text = compiled(simplify(transformed)).report().source
        assert text.count("array(") <= 1, text
    x = np.random.default_rng(0).normal(size=(n, 3))
    expected = np.sin(x)
    for i in range(n - 1):
        expected[i + 1] = np.sin(expected[i])
    weights = np.ones((n, 3))
    value, gradient = run(vjp(program, (True,)), x, weights)
    np.testing.assert_array_equal(value, expected)
    factor = np.zeros(3)
    for i in range(n - 1, 0, -1):
        factor = (1 + factor) * np.cos(expected[i - 1])
    np.testing.assert_allclose(gradient[0], (1 + factor) * np.cos(x[0]), rtol=1e-12)
    np.testing.assert_array_equal(gradient[1:], np.zeros((n - 1, 3)))


def test_large_programs_run_in_the_order_that_needs_less_memory() -> None:
    """A chain carried forwards with its tangent: two arrays at a time, and not all of the chain."""

    def chain(x: Any) -> Any:
        for _ in range(6):
            x = np.sin(x)
        return sum_axes(x, (0,))

    program = simplify(jvp(program_of(chain, f8(5000)), [True]))
    executable = NumpyExecutor().compile(program)
    assert executable.report().source.splitlines()[0].count("w") <= 3
    x, u = np.linspace(0, 1, 5000), np.ones(5000)
    _, tangent = executable.run(x, u)
    step = 1e-6
    slope = (executable.run(x + step, u)[0] - executable.run(x - step, u)[0]) / (2 * step)
    assert tangent == pytest.approx(slope, rel=1e-7)


# --- very many inputs -----------------------------------------------------------------------------


def python_float() -> Any:
    return array_type((), np.dtype(float), True)


@pytest.mark.parametrize("count", [3, 2000])
def test_numbers_are_stacked_from_the_arguments_as_they_lie(count: int) -> None:
    def function(*numbers: Any) -> Any:
        odd, some = stack(list(numbers[1::2]), 0), stack([*numbers[1:3], numbers[1]], 0)
        return odd, some, bind(MULTIPLY, numbers[0], numbers[2])

    executable = compiled(program_of(function, *[python_float()] * count))
    values = np.linspace(0.5, 1.5, count).tolist()
    odd, some, product = executable.run(*values)
    np.testing.assert_array_equal(odd, values[1::2])
    np.testing.assert_array_equal(some, [*values[1:3], values[1]])
    assert product == values[0] * values[2]
    if count > 1000:
        assert f"array(x[1:{count}:2], float64)" in executable.report().source
        assert len(executable.report().source) < 500  # no line, and no name, for each number
    # Residuals are NumPy's own scalars.
    again = executable.run(*map(np.float64, values))
    np.testing.assert_array_equal(again[0], odd)
    assert type(again[2]) is type(product)


def test_many_inputs_and_a_workspace() -> None:
    def function(x: Any, *numbers: Any) -> Any:
        y = np.sin(x)
        for number in numbers[:3]:
            y = np.sin(y) * number
        return sum_axes(np.cos(y), (0,)), stack([numbers[5], numbers[3], numbers[4]], 0)

    executable = compiled(program_of(function, f8(6000), *[python_float()] * 700))
    numbers = np.linspace(0.5, 1.5, 700).tolist()
    x = np.linspace(-1, 1, 6000)
    y = np.sin(x)
    for number in numbers[:3]:
        y = np.sin(y) * number
    for _ in range(2):
        total, few = executable.run(x, *numbers)
        assert total == pytest.approx(np.cos(y).sum(), rel=1e-13)
        np.testing.assert_array_equal(few, [numbers[5], numbers[3], numbers[4]])


def test_equal_operations_are_one_function_of_the_source() -> None:
    def function(*numbers: Any) -> Any:
        return stack([reshape(x, (1,)) for x in numbers], 1)

    text = compiled(program_of(function, *[python_float()] * 40)).report().source
    assert "reshape(x39)" in text
    assert "reshape_2" not in text


@pytest.mark.parametrize("axis", [0, 1])
def test_stacks_of_arrays(axis: int) -> None:
    x, y = np.arange(3.0), np.arange(3, dtype=np.float32)
    found = run(program_at(lambda x, y: stack([x, y, x], axis), x, y), x, y)
    np.testing.assert_array_equal(found, np.stack([x, y, x], axis), strict=True)


def test_formulas_of_derivatives_turn_no_warnings_off_again() -> None:
    executable = compiled(wine_gradient())
    assert executable.run.__globals__["sech_squared"] is SECH_SQUARED.quiet
    x = np.array([1e308, 0.0])
    with np.errstate(all="raise"):
        np.testing.assert_array_equal(SECH_SQUARED(x), [0, 1])
        with pytest.raises(FloatingPointError):
            SECH_SQUARED.quiet(x)
