"""Functions by values at quadrature nodes, and by coefficients in a basis."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import (
    ArgumentError,
    ArgumentTypeError,
    MembershipError,
    MissingStructureError,
    NotPositiveDefiniteError,
    ShapeError,
)
from adjoint.spaces import Functions

NODES, WEIGHTS = np.polynomial.legendre.leggauss(8)
FOURIER = [np.ones_like, *(lambda x, k=k: np.cos(np.pi * k * x) for k in (1, 2))]


@pytest.mark.parametrize(("a", "b"), [(0.0, 1.0), (-2.0, 3.0)])
def test_gauss_legendre_is_exact_on_polynomials(a, b):
    """E.1.27 for polynomials f and g, on any interval."""
    space = Functions.gauss_legendre(a, b, 4)
    for i in range(4):
        for j in range(4):
            f, g = space.interpolate(lambda x, i=i: x**i), space.interpolate(lambda x, j=j: x**j)
            expected = (b ** (i + j + 1) - a ** (i + j + 1)) / (i + j + 1)
            np.testing.assert_allclose(space.inner(f, g), expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(space.integrate(space.points**7), (b**8 - a**8) / 8, rtol=1e-12)


def test_the_integral_is_represented_by_the_constant_one():
    """E.1.30: the functional f -> integral of f is <1, f>."""
    for space in (Functions.gauss_legendre(0, 2, 5), Functions.grid(np.linspace(0, 2, 5) ** 2)):
        gradient = ad.grad(space.integrate, space=space)(space.zero())
        np.testing.assert_allclose(gradient, np.ones(5), rtol=1e-12)


def test_quadrature_in_two_variables():
    x, y = np.meshgrid(NODES, NODES[:3], indexing="ij")
    weights = np.multiply.outer(WEIGHTS, np.polynomial.legendre.leggauss(3)[1])
    space = Functions.quadrature(np.stack([x, y]), weights)
    assert space.base.shape == (8, 3)
    assert space.points.shape == (2, 8, 3)
    found = space.integrate(space.interpolate(lambda x, y: x**2))
    np.testing.assert_allclose(found, 4 / 3, rtol=0.1)
    np.testing.assert_allclose(space.mass.diagonal(), weights.ravel())


def test_expansions():
    """Coefficients in any basis: cosines on [-1, 1] are orthogonal, and met by projection."""
    nodes, weights = np.polynomial.legendre.leggauss(16)
    space = Functions.expansion(FOURIER, nodes, weights)
    np.testing.assert_allclose(space.gram(), np.diag([2, 1, 1]), atol=1e-6)
    np.testing.assert_allclose(space.mass, space.gram(), rtol=1e-12, atol=1e-14)
    u = np.array([0.5, -1.0, 2.0])

    def f(x):
        return 0.5 - np.cos(np.pi * x) + 2 * np.cos(2 * np.pi * x)

    np.testing.assert_allclose(space.interpolate(f), u, rtol=1e-10)
    points = np.linspace(-1, 1, 7)
    np.testing.assert_allclose(space.evaluate(u, points), f(points), rtol=1e-12)
    np.testing.assert_allclose(space.integrate(u), 1.0, atol=1e-4)
    np.testing.assert_array_equal(space.points, nodes)
    ad.testing.check(lambda u, p: np.sum(space.evaluate(u, p) ** 3), u, points + 0.01)
    np.testing.assert_allclose(
        ad.grad(lambda t: space.norm(space.interpolate(lambda x: t * f(x))))(2.0),
        space.norm(u),
        rtol=1e-10,
    )


def test_expansions_in_two_variables():
    x, y = (grid.ravel() for grid in np.meshgrid(NODES, NODES))
    weights = np.multiply.outer(WEIGHTS, WEIGHTS).ravel()
    space = Functions.expansion([lambda x, y: x, lambda x, y: x * y], np.stack([x, y]), weights)
    np.testing.assert_allclose(space.gram(), np.diag([4 / 3, 4 / 9]), atol=1e-13)
    found = space.evaluate(np.array([1.0, 2.0]), np.array([[0.5], [0.25]]))
    np.testing.assert_allclose(found, [0.75])
    with pytest.raises(ArgumentError, match="points must have 2 coordinates each"):
        space.evaluate(np.ones(2), np.ones(3))


def test_what_is_not_known():
    nodal = Functions.gauss_legendre(0, 1, 3)
    with pytest.raises(MissingStructureError, match="The value between the nodes was asked of"):
        nodal.evaluate(np.ones(3), 0.5)
    for space in (nodal, Functions.expansion(FOURIER, NODES, WEIGHTS)):
        with pytest.raises(MissingStructureError, match="The stiffness matrix was asked of"):
            space.stiffness


def test_arguments():
    with pytest.raises(ArgumentError, match="nodes must have the shape of weights"):
        Functions.quadrature(np.ones(3), np.ones(2))
    with pytest.raises(ArgumentTypeError, match="nodes must be finite real numbers"):
        Functions.quadrature(np.array([0.0, np.nan]), np.ones(2))
    with pytest.raises(ArgumentTypeError, match="weights must be finite real numbers"):
        Functions.quadrature(np.ones(2), np.ones(2) * 1j)
    with pytest.raises(NotPositiveDefiniteError, match="must be positive"):
        Functions.quadrature(np.array([0.0, 1.0]), np.array([1.0, 0.0]))
    for a, b, n in ((1, 0, 3), (0, 1, 0)):
        with pytest.raises(ArgumentError, match="an interval a < b and one node or more"):
            Functions.gauss_legendre(a, b, n)
    with pytest.raises(ArgumentTypeError, match=r"functions\[1\] must be a function of the coord"):
        Functions.expansion([np.cos, 3.0], NODES, WEIGHTS)
    with pytest.raises(ArgumentTypeError, match="functions must have real values"):
        Functions.expansion([lambda x: np.exp(1j * x)], NODES, WEIGHTS)
    with pytest.raises(ArgumentError, match="functions must be one function or more"):
        Functions.expansion([], NODES, WEIGHTS)
    with pytest.raises(NotPositiveDefiniteError):
        Functions.expansion([np.cos, np.cos], NODES, WEIGHTS)
    with pytest.raises(MembershipError, match="the interpolated function must be an element"):
        Functions.gauss_legendre(0, 1, 3).interpolate(lambda x: x * 1j)


def test_dependent_functions_are_refused():
    """Their matrix passes a factorisation by Cholesky, with a pivot of rounding."""
    with pytest.raises(NotPositiveDefiniteError):
        Functions.expansion([np.sin, np.sin], NODES, WEIGHTS)
    with pytest.raises(NotPositiveDefiniteError):
        Functions.expansion([np.ones_like, lambda x: x, lambda x: 2 + 3 * x], NODES, WEIGHTS)


def test_a_basis_function_may_return_a_number():
    space = Functions.expansion([lambda x: 1.0], NODES, WEIGHTS)
    found = space.evaluate(np.array([3.0]), np.zeros((2, 4)))
    np.testing.assert_array_equal(found, np.full((2, 4), 3.0))
    assert space.evaluate(np.array([3.0]), 0.5) == 3.0


@pytest.mark.parametrize(
    "space",
    [
        Functions.grid(np.linspace(0, 1, 8), dtype=np.float32),
        Functions.expansion(FOURIER, NODES, WEIGHTS, dtype=np.float32),
    ],
    ids=repr,
)
def test_interpolation_rounds_to_the_precision_of_the_space(space):
    found = space.interpolate(np.sin)
    assert found.dtype == np.float32
    assert space.contains(found)


@pytest.mark.parametrize(
    ("function", "error", "words"),
    [
        (3, ArgumentTypeError, "takes a function"),
        (lambda x: None, ArgumentTypeError, "must return numbers"),
        (lambda x: np.ones(3), ShapeError, "the shape of the coordinates"),
        (lambda x: np.ones((2, 8)), ShapeError, "the shape of the coordinates"),
        (lambda x: 1j * x, MembershipError, "The space is real"),
    ],
)
def test_what_cannot_be_interpolated(function, error, words):
    for space in (
        Functions.grid(np.linspace(0, 1, 8)),
        Functions.expansion(FOURIER, NODES, WEIGHTS),
    ):
        with pytest.raises(error, match=words):
            space.interpolate(function)


def test_intervals_of_gauss_legendre():
    for arguments in ((0.0, np.inf, 3), (np.nan, 1.0, 3), (1.0, 0.0, 3), (0.0, 1.0, 0)):
        with pytest.raises(ArgumentError, match="interval"):
            Functions.gauss_legendre(*arguments)
    for arguments in (("a", "b", 3), (0.0, 1.0, 3.5), (np.zeros(2), 1.0, 3)):
        with pytest.raises(ArgumentTypeError, match="two numbers"):
            Functions.gauss_legendre(*arguments)


def test_points_with_too_few_coordinates():
    space = Functions.grid(np.linspace(0, 1, 3), np.linspace(0, 1, 4))
    for points in (0.5, np.zeros((3, 2)), np.zeros(1), [0.1, 0.2, 0.3]):
        with pytest.raises(ArgumentError, match="2 coordinates"):
            space.evaluate(space.zero(), points)
