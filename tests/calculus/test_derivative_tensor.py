"""Derivative tensors of any order: against nested Jacobians, in bases, and what is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import errors
from adjoint.calculus.higher_order.derivative_tensor import _plan
from adjoint.spaces import Euclidean, Weighted
from adjoint.tensors import InBasis

RNG = np.random.default_rng(3)
A = RNG.normal(size=(4, 4))
X = RNG.normal(size=4)


def f(x: Any) -> Any:
    return np.sin(A @ x) @ np.exp(0.3 * x[::-1])


def g(x: Any) -> Any:
    return np.stack([np.sin(x[0] * x[1]), np.exp(x[2] * x[3]), x[0] ** 3 * x[3]])


def nested(function: Any, order: int) -> Any:
    for _ in range(order):
        function = ad.jacobian(function, mode=ad.Mode.FORWARD)
    return function


@pytest.mark.parametrize("function", [f, g])
@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_against_nested_jacobians(function: Any, order: int) -> None:
    found = ad.derivative_tensor(function, X, order)
    expected = nested(function, order)(X)
    assert found.type == (order, expected.ndim - order)
    np.testing.assert_allclose(found.components, expected, rtol=1e-10, atol=1e-12)


def test_only_the_different_entries_are_computed() -> None:
    """C(n + k - 1, k) directions, and weights that lose few digits."""
    for dimension, order in ((4, 5), (10, 3), (2, 8)):
        plan = _plan(dimension, order)
        assert len(plan.directions) == math.comb(dimension + order - 1, order)
        assert np.abs(plan.weights).sum(1).max() < 10


def test_high_order_of_a_product() -> None:
    """d^6 of x^3 y^2 z in three variables: 12 wherever the exponents fit."""
    found = ad.derivative_tensor(lambda p: p[0] ** 3 * p[1] ** 2 * p[2], np.array([1.0, 2, 3]), 6)
    for index in np.ndindex(found.components.shape):
        counts = tuple(index.count(axis) for axis in range(3))
        expected = 12.0 if counts == (3, 2, 1) else 0.0
        assert abs(found.components[index] - expected) < 1e-10


def test_it_is_the_multilinear_map() -> None:
    """By the tensor, and by nested JVPs."""
    vectors = list(RNG.normal(size=(4, 4)))
    nested_g: Any = g

    def along(function: Any, direction: Any) -> Any:
        return lambda x: ad.jvp(function, (x,), (direction,))[1]

    for order, direction in enumerate(vectors, 1):
        nested_g = along(nested_g, direction)
        found = ad.derivative_tensor(g, X, order)(*vectors[:order])
        np.testing.assert_allclose(found, nested_g(X), rtol=1e-10, atol=1e-12)


def test_under_transforms() -> None:
    u, v = RNG.normal(size=(2, 4))

    def bilinear(x: Any) -> Any:
        return ad.derivative_tensor(f, x, 2)(u, v)

    np.testing.assert_allclose(ad.jit(bilinear)(X), u @ ad.hessian(f)(X) @ v, rtol=1e-10)
    third = ad.grad(bilinear)(X)
    expected = np.einsum("ijk,i,j->k", ad.derivative_tensor(f, X, 3).components, u, v)
    np.testing.assert_allclose(third, expected, rtol=1e-9)


def test_a_value_without_numbers_has_an_output_of_dimension_zero() -> None:
    for function in (lambda x: x[:0], lambda x: None, lambda x: {}):
        found = ad.derivative_tensor(function, X, 2)
        assert found.type == (2, 1)
        assert found.components.shape == (0, 4, 4)


def test_in_another_basis_it_transforms_as_a_tensor() -> None:
    """E.1.80: each input index gets C, each output index C^-1."""
    C = RNG.normal(size=(4, 4))
    D = np.array([[1.0, 2.0, 0.0], [0.0, 1.0, 1.0], [1.0, 0.0, 3.0]])
    domain, codomain = InBasis(Euclidean(4), C), InBasis(Euclidean(3), D)
    found = ad.derivative_tensor(g, X, 2, domain=domain, codomain=codomain)
    plain = ad.derivative_tensor(g, X, 2)
    expected = plain.change_of_basis({Euclidean(4): C, Euclidean(3): D})
    np.testing.assert_allclose(found.components, expected.components, rtol=1e-9, atol=1e-11)


def test_spaces_are_those_of_the_tensor() -> None:
    space = Weighted(Euclidean(4), np.array([1.0, 2.0, 3.0, 4.0]))
    found = ad.derivative_tensor(f, X, 2, domain=space)
    assert found.inputs == (space, space)
    assert found.outputs == ()
    np.testing.assert_allclose(found.components, ad.hessian(f)(X), rtol=1e-10)


def test_trees_complex_numbers_and_constants() -> None:
    found = ad.derivative_tensor(lambda p: p["a"] * p["b"][0], {"a": 2.0, "b": np.ones(2)}, 2)
    np.testing.assert_allclose(found.components, [[0, 1, 0], [1, 0, 0], [0, 0, 0]], atol=1e-14)
    z = np.array([1 + 1j])
    found = ad.derivative_tensor(lambda z: z**3, z, 2)
    assert found.components.shape == (2, 2, 2)
    np.testing.assert_allclose(found(np.array([1 + 0j]), np.array([1j])), 6 * z * 1j, rtol=1e-12)
    assert not ad.derivative_tensor(lambda x: 3.0, X, 2).components.any()
    number = ad.derivative_tensor(lambda x: x**5, 2.0, 4)
    np.testing.assert_allclose(number.components, np.full((1, 1, 1, 1), 240.0), rtol=1e-12)


def test_single_precision_stays() -> None:
    found = ad.derivative_tensor(lambda x: x**3, np.array([1.0, 2.0], np.float32), 2)
    assert found.components.dtype == np.float32


def test_under_jit_and_grad() -> None:
    def corner(x: Any) -> Any:
        return ad.derivative_tensor(f, x, 3).components[0, 1, 2]

    np.testing.assert_allclose(ad.jit(corner)(X), corner(X), rtol=1e-10)
    fourth = ad.derivative_tensor(f, X, 4).components[0, 1, 2]
    np.testing.assert_allclose(ad.grad(corner)(X), fourth, rtol=1e-9)


@pytest.mark.parametrize(
    ("arguments", "options", "error", "text"),
    [
        ((f, X, 0), {}, errors.ArgumentError, "order of at least 1"),
        ((f, X, 2.0), {}, errors.ArgumentTypeError, "order as an integer"),
        ((f, X, 1), {"domain": 3}, errors.ArgumentTypeError, "a space as its domain, got a int"),
        ((f, X, 1), {"codomain": "R"}, errors.ArgumentTypeError, "a space as its codomain"),
        ((f, X, 1), {"domain": Euclidean(3)}, errors.MembershipError, "the point"),
        ((g, X, 1), {"codomain": Euclidean(4)}, errors.MembershipError, "the function's value"),
        ((lambda x: 3, X, 1), {}, errors.NotDifferentiableError, "integer"),
        ((np.sum, np.zeros(0), 1), {}, errors.ArgumentError, "dimension 0"),
        ((2.0, X, 1), {}, errors.ArgumentTypeError, "takes a function first"),
    ],
)
def test_what_is_refused(arguments: Any, options: Any, error: Any, text: str) -> None:
    with pytest.raises(error, match=text):
        ad.derivative_tensor(*arguments, **options)
