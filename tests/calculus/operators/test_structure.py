"""Known zeros of slopes: they are not multiplied, and leave nothing out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.calculus.higher_order.operators.frames import STANDARD
from adjoint.calculus.higher_order.operators.programs import OperatorKind, operator_program
from adjoint.calculus.inputs.arguments import Chosen
from adjoint.optimise import simplify
from tests.calculus.operators.functions import flat_hessian

RANDOM = np.random.default_rng(3)
FIRST, SECOND, PAIRED = (RANDOM.normal(size=shape) for shape in ((3, 8), (8, 8), (4, 8)))
PARTICLES = RANDOM.normal(size=(5, 3))


def one_by_one(x: Any) -> Any:
    return np.sum(np.tanh(np.tanh(x @ FIRST) @ SECOND) ** 2)


def with_means(x: Any) -> Any:
    hidden = np.tanh(x @ FIRST)
    return np.sum(np.tanh(hidden @ SECOND + np.mean(hidden, axis=0)))


def pairs(x: Any) -> Any:
    gaps = x[:, None, :] - x[None, :, :]
    square = np.sum(gaps**2, axis=-1, keepdims=True)
    features = np.concatenate([gaps, np.sqrt(1 + square)], axis=-1)
    hidden = np.tanh(np.tanh(features @ PAIRED) @ SECOND)
    return np.sum(np.sin(np.sum(hidden, axis=1)) * (x @ FIRST))


def products_of_pairs(x: Any) -> Any:
    both = np.exp(x[:, None, :] * x[None, :, :] / 4)
    return np.sum(both * np.swapaxes(both, 0, 1) * x) + np.sum(np.log1p(both**2))


def triples(x: Any) -> Any:
    sides = x[:, None, None] * x[None, :, None] + x[None, None, :]
    return np.sum(np.cos(sides) * sides)


def transposed(x: Any) -> Any:
    square = x[:3] @ x[:3].T
    return np.sum(np.exp(x[:3] * x[:3].T) * np.sin(square + square.T)) + np.sum(x * x.sum(axis=0))


def reshaped(x: Any) -> Any:
    flat = np.reshape(np.sin(x), (-1,))
    blocks = np.reshape(x, (5, 1, 3))
    return np.sum(flat**2 * np.cos(x).ravel()[::-1]) + np.sum(np.tanh(blocks * blocks[..., ::-1]))


def centred(x: Any) -> Any:
    rest = x - np.mean(x, axis=0) + x[:1] * np.max(x, axis=1, keepdims=True)
    return np.sum(np.where(rest > 0, rest**3, np.sin(rest)) * np.stack([x, rest])[1])


def in_steps(x: Any) -> Any:
    def step(state: Any, time: Any) -> Any:
        x, v = state
        v = v - 0.1 * (np.tanh(x @ FIRST) @ FIRST.T + time * x)
        return (x + 0.1 * v, v), np.sum(x * v, axis=1)

    (x, v), rows = ad.scan(step, (x, np.zeros_like(x)), np.linspace(0, 1, 6))
    return np.sum(x**2 * v) + np.sum(np.sin(rows))


def along_particles(x: Any) -> Any:
    def step(sums: Any, row: Any) -> Any:
        return np.sin(sums + row), sums * row**2

    last, rows = ad.scan(step, x[0] * 0.5, np.cos(x) * x)
    return np.sum(last**3) + np.sum(rows * x)


def in_loops_within(x: Any) -> Any:
    inner = lambda _, y: ad.cond(np.sum(y) > 0, np.sin, lambda y: y**2, y + 0.1)  # noqa: E731
    outer = lambda k, y: ad.fori_loop(0, 3, inner, y * 1.1) + k * x  # noqa: E731
    return np.sum(ad.checkpoint(lambda x: np.exp(-(ad.fori_loop(0, 4, outer, x) ** 2)))(x))


def until(x: Any) -> Any:
    def round_(state: Any) -> Any:
        y, total = state
        return y * 1.5 + np.sin(x), total + np.sum(y**2) * np.mean(x)

    y, total = ad.while_loop(lambda s: np.sum(s[0] ** 2) < 500, round_, (x, 0.0))
    return np.sum(np.cos(y)) * total


def rolled(x: Any) -> Any:
    y = x
    for number in range(30):
        y = y + 0.1 * np.tanh(y @ FIRST) @ FIRST.T / (1 + number)
    return np.sum(y**3)


FUNCTIONS: list[Callable[[Any], Any]] = [
    *(one_by_one, with_means, pairs, products_of_pairs, triples, transposed, reshaped, centred),
    *(in_steps, along_particles, in_loops_within, until, rolled),
]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_nothing_is_left_out(function: Any) -> None:
    x = PARTICLES
    expected = np.trace(flat_hessian(function, x))
    value, gradient, laplacian = ad.value_grad_laplacian(function)(x)
    np.testing.assert_allclose(laplacian, expected, rtol=1e-11)
    np.testing.assert_allclose(gradient, ad.grad(function)(x), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(value, function(x))
    np.testing.assert_allclose(ad.divergence(ad.grad(function))(x), expected, rtol=1e-11)
    field = lambda x: np.sin(x) * ad.grad(function)(x)  # noqa: E731
    matrix = np.reshape(ad.jacobian(field)(x), (x.size, x.size))
    np.testing.assert_allclose(ad.divergence(field)(x), np.trace(matrix), rtol=1e-10)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: (FIRST[:, :3] @ x)[None] * np.sin(x),
        lambda x: np.cumsum(x.T, axis=1)[:, None] * np.exp(x.T),
        lambda x: np.arctan2(np.sin(x), np.cumsum(x, axis=0)[:, None]),
    ],
)
def test_slopes_of_fewer_axes_beside_counted_ones(function: Any) -> None:
    square = PARTICLES[:3] + 2.0
    wide = lambda x: np.sum(function(x) ** 2)  # noqa: E731
    expected = np.trace(flat_hessian(wide, square))
    np.testing.assert_allclose(ad.laplacian(wide)(square), expected, rtol=1e-11)
    entries = ad.jacobian(ad.jacobian(function))(square)
    expected = np.einsum("abcijij->abc", entries)
    np.testing.assert_allclose(ad.laplacian(function)(square), expected, rtol=1e-11)


@pytest.mark.parametrize("shape", [(1, 1), (1, 1, 1), (0, 3, 3)])
def test_axes_that_a_reshape_lays_on_one(shape: tuple[int, ...]) -> None:
    x = np.full(shape, 0.7)
    function = lambda x: np.sum(np.sin(x.reshape(-1) if x.size else x.reshape(3, 0, 3)))  # noqa: E731
    value, gradient, laplacian = ad.value_grad_laplacian(function)(x)
    np.testing.assert_allclose(laplacian, -np.sum(np.sin(x)))
    np.testing.assert_allclose(gradient, np.cos(x))
    np.testing.assert_allclose(value, np.sum(np.sin(x)))


def sizes(function: Any, x: Any) -> list[int]:
    """The sizes of all arrays in the program of a Laplacian."""
    captured = Chosen(0, (x,), {}).capture(function)
    kind = OperatorKind("laplacian", 1, STANDARD.families)
    program = simplify(operator_program(captured.program(), kind)[0])
    return [variable.type.size for equation in program.equations for variable in equation.outputs]


def test_particles_one_by_one_have_the_slopes_of_their_own_numbers() -> None:
    x = RANDOM.normal(size=(50, 3))
    assert max(sizes(one_by_one, x)) == 3 * 50 * 8
    assert max(sizes(with_means, x)) == 3 * 50 * 50 * 8  # all move all, from the mean on


def test_pairs_have_the_slopes_of_two_particles() -> None:
    x = RANDOM.normal(size=(30, 3))

    def energy(x: Any) -> Any:
        gaps = x[:, None, :] - x[None, :, :]
        return np.sum(np.tanh(np.tanh(np.sum(gaps**2, -1, keepdims=True) * PAIRED[0]) @ SECOND))

    assert max(sizes(energy, x)) == 3 * 30 * 30 * 8


def test_loops_keep_particles_apart() -> None:
    x = RANDOM.normal(size=(40, 3))
    captured = Chosen(0, (x,), {}).capture(in_steps)
    kind = OperatorKind("laplacian", 1, STANDARD.families)
    program = simplify(operator_program(captured.program(), kind)[0])
    (loop,) = (e for e in program.equations if e.primitive.name == "scan")
    body = loop.params["body"]
    arrays = [variable.type.size for equation in body.equations for variable in equation.outputs]
    assert max(arrays) == 3 * 40 * 8


def test_what_is_linear_costs_no_second_derivative() -> None:
    captured = Chosen(0, (PARTICLES,), {}).capture(lambda x: np.cumsum(x @ FIRST, axis=0)[::2])
    kind = OperatorKind("laplacian", 1, STANDARD.families)
    program = simplify(operator_program(captured.program(), kind)[0])
    assert [equation.primitive.name for equation in program.equations] == ["fill"]
