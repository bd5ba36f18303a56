"""Divergences, against the traces of Jacobians."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import ArgumentTypeError, NotDifferentiableError, ShapeError
from tests.calculus.operators.functions import FUNCTIONS, LINE, SQUARE, WEIGHTS, reversed_only


@pytest.mark.parametrize(("function", "x"), FUNCTIONS, ids=lambda v: getattr(v, "__name__", ""))
def test_of_a_gradient_it_is_the_laplacian(function: Any, x: Any) -> None:
    found = ad.divergence(ad.grad(function))(x)
    np.testing.assert_allclose(found, ad.laplacian(function)(x), rtol=1e-11)


FIELDS = [
    lambda x: x * np.sum(x**2),
    lambda x: np.sin(x),
    lambda x: np.tanh(x @ WEIGHTS[0]) @ WEIGHTS[0].T,
    lambda x: x[::-1] * x,
    lambda x: np.cumsum(x, axis=0) ** 2,
    lambda x: np.ones_like(x),
]


@pytest.mark.parametrize("x", [LINE, SQUARE], ids=["line", "square"])
@pytest.mark.parametrize("field", FIELDS, ids=range(len(FIELDS)))
def test_it_is_the_trace_of_the_jacobian(field: Any, x: Any) -> None:
    divergence = ad.divergence(field)
    jacobian = ad.jacobian(field)
    for step in range(5):
        point = x + step
        expected = np.trace(np.reshape(jacobian(point), (x.size, x.size)))
        np.testing.assert_allclose(divergence(point), expected, rtol=1e-11, atol=1e-12)


def test_axes_that_change_places() -> None:
    x = np.random.default_rng(0).normal(size=(3, 3))
    field = lambda x: x.T * x + np.swapaxes(np.sin(x), 0, 1) @ x  # noqa: E731
    expected = np.trace(np.reshape(ad.jacobian(field)(x), (9, 9)))
    np.testing.assert_allclose(ad.divergence(field)(x), expected)


def test_of_trees_and_of_several_arguments() -> None:
    def field(q: Any, p: Any) -> Any:
        return {"r": p * q["r"] ** 2}, np.sum(q["r"]) * p**3

    q, p = {"r": LINE}, np.abs(LINE)
    found = ad.divergence(field, argnums=(0, 1))(q, p)
    np.testing.assert_allclose(found, np.sum(2 * p * LINE) + np.sum(LINE) * np.sum(3 * p**2))


def test_a_hamiltonian_flow_has_none() -> None:
    def flow(z: Any) -> Any:
        slope = ad.grad(lambda z: np.sum(np.cos(z[0])) + np.sum(z[1] ** 2 * z[0]))(z)
        return np.stack([slope[1], -slope[0]])

    assert abs(ad.divergence(flow)(np.stack([LINE, LINE + 1]))) < 1e-12


def test_compositions() -> None:
    field = lambda x: x**3  # noqa: E731
    divergence = ad.divergence(field)
    np.testing.assert_allclose(ad.grad(divergence)(LINE), 6 * LINE)
    np.testing.assert_allclose(ad.vmap(divergence)(SQUARE), 3 * np.sum(SQUARE**2, axis=1))
    np.testing.assert_allclose(ad.jit(divergence)(LINE), 3 * np.sum(LINE**2))


def test_a_field_with_a_rule_for_reverse_mode_alone() -> None:
    np.testing.assert_allclose(ad.divergence(reversed_only)(LINE), np.sum(np.cos(LINE)))


def test_what_is_refused() -> None:
    with pytest.raises(ShapeError, match=r"has shape \(\); expected \(4,\)"):
        ad.divergence(lambda x: np.sum(x))(LINE)
    with pytest.raises(ArgumentTypeError, match="a vector field"):
        ad.divergence(lambda x: (x, x))(LINE)
    with pytest.raises(NotDifferentiableError, match="real"):
        ad.divergence(lambda x: x * 1j)(LINE)
    with pytest.raises(NotDifferentiableError, match="which is c16"):
        ad.divergence(lambda x: x)(LINE * 1j)
    with pytest.raises(NotDifferentiableError, match="Integers"):
        ad.divergence(lambda x: x)(np.arange(3))
    with pytest.raises(ArgumentTypeError, match="takes a function first"):
        ad.divergence(3)


def test_of_no_numbers_it_is_zero() -> None:
    assert ad.divergence(lambda tree: tree)({}) == 0
    assert ad.divergence(lambda x: (), argnums=())(np.ones(2)) == 0
