"""Known zeros of slopes: they are not multiplied, and leave nothing out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.calculus.arguments import Chosen
from adjoint.calculus.operators.frames import STANDARD
from adjoint.calculus.operators.programs import OperatorKind, operator_program
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


FUNCTIONS: list[Callable[[Any], Any]] = [
    *(one_by_one, with_means, pairs, products_of_pairs, triples, transposed, reshaped, centred)
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


def test_what_is_linear_costs_no_second_derivative() -> None:
    captured = Chosen(0, (PARTICLES,), {}).capture(lambda x: np.cumsum(x @ FIRST, axis=0)[::2])
    kind = OperatorKind("laplacian", 1, STANDARD.families)
    program = simplify(operator_program(captured.program(), kind)[0])
    assert [equation.primitive.name for equation in program.equations] == ["fill"]
