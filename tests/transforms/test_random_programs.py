"""Random small programs: every transform and every way of running agrees on them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adjoint.base.arrays import array_type
from adjoint.executors import Needs, NumpyExecutor
from adjoint.optimise import simplify
from adjoint.primitives import Expression
from adjoint.primitives.elementwise.selection import select
from adjoint.primitives.expression import bind
from adjoint.primitives.structure.contraction import contract
from adjoint.primitives.structure.gathering import GATHER, GATHER_ADD
from adjoint.primitives.structure.moving import broadcast_to, permute, reshape, sum_axes
from adjoint.primitives.structure.reductions import cumulative_sum
from adjoint.primitives.structure.slicing import concatenate, increment, take, update
from adjoint.program import Builder, Program, check_linear, check_program
from adjoint.transforms import jvp, linearize, transpose, vjp, vmap
from tests.building import f8
from tests.vectors import differences, distance, pairing, run_wide

N = 3  # every value is a matrix of N rows and columns
INDEX = np.array([0, 2, 2])

# Smooth, and bounded on the numbers that occur, so that differences can be trusted.
OPERATIONS: dict[str, Callable[..., Any]] = {
    "sin": lambda x, y: np.sin(x),
    "tanh": lambda x, y: np.tanh(x),
    "negative": lambda x, y: -x,
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - y,
    "multiply": lambda x, y: np.sin(x) * np.cos(y),
    "divide": lambda x, y: x / (2.0 + np.square(y)),
    "power": lambda x, y: np.power(1.5 + np.sin(x), np.tanh(y)),
    "root": lambda x, y: np.sqrt(1.0 + np.square(x)),
    "contract": lambda x, y: contract(np.tanh(x), np.tanh(y), "ij,jk->ki"),
    "outer": lambda x, y: contract(
        take(x, (0, (0, N, 1))), np.sin(take(y, (1, (0, N, 1)))), "i,j->ij"
    ),
    "permute": lambda x, y: permute(x, (1, 0)),
    "reshape": lambda x, y: reshape(permute(reshape(x, (N * N,)), (0,)), (N, N)),
    "broadcast": lambda x, y: broadcast_to(take(x, ((0, N, 1), 1)), (N, N)) * y,
    "sum": lambda x, y: y + reshape(sum_axes(x, (1,)), (N, 1)),
    "cumulative sum": lambda x, y: cumulative_sum(np.sin(x), 1),
    "flip": lambda x, y: take(x, ((N - 1, -1, -1), (0, N, 1))),
    "update": lambda x, y: update(x, take(y, ((0, N, 1), 0)), (1, (0, N, 1))),
    "increment": lambda x, y: increment(
        x, take(x, ((0, N - 1, 1), (0, N, 1))), ((1, N, 1), (0, N, 1))
    ),
    "gather": lambda x, y, i: bind(GATHER, x, i),
    "gather add": lambda x, y, i: bind(GATHER_ADD, x, np.sin(y), i),
    # The mask is that of a constant, so that no kink is near.
    "select": lambda x, y: select(np.greater(np.square(y), -1.0), np.sin(x), y),
    "concatenate": lambda x, y: take(concatenate([x, y], 0), ((1, 2 * N, 2), (0, N, 1))),
}
INDEXED = frozenset({"gather", "gather add"})


@st.composite
def programs(draw: Any) -> Program:
    """(x, y, index) -> one or two matrices, in a few random steps on any of the values so far."""
    builder = Builder()
    values = [Expression(builder, builder.input(f8(N, N))) for _ in range(2)]
    index = Expression(builder, builder.input(array_type((N,), INDEX.dtype)))
    for _ in range(draw(st.integers(1, 7))):
        name = draw(st.sampled_from(sorted(OPERATIONS)))
        x, y = (values[draw(st.integers(0, len(values) - 1))] for _ in range(2))
        values.append(OPERATIONS[name](x, y, *((index,) if name in INDEXED else ())))
    outputs = values[-1:] if draw(st.booleans()) else [values[-1], draw(st.sampled_from(values))]
    return check_program(builder.build(value.atom for value in outputs))


def run(program: Program, *arguments: Any) -> tuple[Any, ...]:
    """Run as written, simplified, and with strong zeros: all must agree."""
    executor = NumpyExecutor()
    simple = check_program(simplify(check_program(program)))
    plain = executor.compile(program).run(*arguments)
    found = executor.compile(simple).run(*arguments)
    strong = executor.compile(simple, Needs(hard=True)).run(*arguments)
    for one, two, three in zip(plain, found, strong, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-13, atol=1e-13)
        np.testing.assert_allclose(two, three, rtol=1e-13, atol=1e-13)  # another order of summing
    return found


ACTIVE = (True, True, False)
quickly = settings(
    max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)


@quickly
@given(programs(), st.integers(0, 2**32 - 1))
def test_derivatives(program: Program, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, y, u, v = (rng.uniform(-1, 1, (N, N)) for _ in range(4))
    point, count = (x, y, INDEX), len(program.outputs)
    untouched = [array.copy() for array in (x, y, u, v)]
    values = run(program, *point)

    pushed = run(jvp(program, ACTIVE), *point, u, v)
    assert distance(pushed[:count], values) <= 1e-14
    slopes = pushed[count:]
    _, expected = differences(lambda h: run_wide(program, (x + h * u, y + h * v, INDEX)))
    assert distance(slopes, expected) <= 1e-9

    weights = [rng.uniform(-1, 1, (N, N)) for _ in range(count)]
    pulled = run(vjp(program, ACTIVE), *point, *weights)[count:]
    size = 1 + abs(pairing(weights, slopes)) + np.sum([np.abs(s).sum() for s in slopes])
    assert abs(pairing(weights, slopes) - pairing(pulled, (u, v))) <= 1e-12 * size

    split = linearize(program, ACTIVE)
    check_linear(split.linear, split.linear.inputs[split.residuals :])
    residuals = run(split.primal, *point)[count:]
    moving = [slope for slope, varies in zip(slopes, split.varying, strict=True) if varies]
    assert distance(run(split.linear, *residuals, u, v), moving) <= 1e-12
    some = [weight for weight, varies in zip(weights, split.varying, strict=True) if varies]
    back = run(transpose(split.linear, split.residuals), *residuals, *some)
    assert distance(back, pulled) <= 1e-12
    for array, before in zip((x, y, u, v), untouched, strict=True):
        np.testing.assert_array_equal(array, before)


@quickly
@given(
    programs(), st.tuples(st.booleans(), st.booleans(), st.booleans()), st.integers(0, 2**32 - 1)
)
def test_batches(program: Program, batched: tuple[bool, ...], seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = 4
    single = vjp(program, ACTIVE)
    weights = [rng.uniform(-1, 1, (size, N, N)) for _ in program.outputs]
    stacks = [rng.uniform(-1, 1, (size, N, N)) for _ in range(2)]
    stacks.append(rng.integers(-N, N, (size, N)))
    marks = (*batched, *(True for _ in weights))
    arguments = [s if mark else s[0] for s, mark in zip([*stacks, *weights], marks, strict=True)]
    found = run(vmap(single, marks, size), *arguments)
    loop = [
        run(single, *(s[n] if mark else s for s, mark in zip(arguments, marks, strict=True)))
        for n in range(size)
    ]
    for result, column in zip(found, zip(*loop, strict=True), strict=True):
        np.testing.assert_allclose(result, np.stack(column), rtol=1e-11, atol=1e-11)


@quickly
@given(programs(), st.integers(0, 2**32 - 1))
def test_second_derivatives_are_symmetric(program: Program, seed: int) -> None:
    """<w, d2f[u, v]> = <w, d2f[v, u]>, forward over reverse."""
    rng = np.random.default_rng(seed)
    x, y, a, b, c, d = (rng.uniform(-1, 1, (N, N)) for _ in range(6))
    weights = [rng.uniform(-1, 1, (N, N)) for _ in program.outputs]
    reverse = vjp(program, ACTIVE)
    still = (False,) * len(weights)
    hessian = jvp(reverse, (*ACTIVE, *still))
    first = run(hessian, x, y, INDEX, *weights, a, b)[-2:]
    second = run(hessian, x, y, INDEX, *weights, c, d)[-2:]
    left, right = pairing(first, (c, d)), pairing(second, (a, b))
    size = 1 + sum(float(np.abs(part).sum()) for part in (*first, *second))
    assert abs(left - right) <= 1e-12 * size
