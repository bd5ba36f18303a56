"""Piecewise linear functions on grids: matrices, boundaries, values between the points."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adjoint as ad
from adjoint.base.errors import ArgumentError, ArgumentTypeError
from adjoint.spaces import Boundary, Functions

X = np.array([0.0, 0.1, 0.35, 0.6, 1.0])
Y = np.array([-1.0, 0.0, 0.5, 2.0])
T = np.linspace(0.0, 2.0, 7)


def exact_integral(x, f):
    """Of a function that is a cubic on every cell, by two Gauss nodes a cell."""
    nodes, weights = np.polynomial.legendre.leggauss(2)
    middle, half = (x[1:] + x[:-1]) / 2, np.diff(x) / 2
    return np.sum(half[:, None] * weights * f(middle[:, None] + half[:, None] * nodes))


@given(st.integers(2, 8), st.integers(0, 999))
@settings(max_examples=25, deadline=None)
def test_the_inner_product_is_the_integral(n, seed):
    """E.1.27, exactly, for piecewise linear functions on any grid; H1 adds s^2 f' g'."""
    generator = np.random.default_rng(seed)
    x = np.cumsum(generator.uniform(0.1, 1, n))
    space = Functions.grid(x)
    u, v = space.random(generator), space.random(generator)
    expected = exact_integral(x, lambda p: np.interp(p, x, u) * np.interp(p, x, v))
    np.testing.assert_allclose(space.inner(u, v), expected, rtol=1e-11, atol=1e-12)
    slopes = np.sum(np.diff(u) * np.diff(v) / np.diff(x))
    h1 = Functions.grid(x, scale=0.5)
    np.testing.assert_allclose(h1.inner(u, v), expected + 0.25 * slopes, rtol=1e-11, atol=1e-11)
    trapezoid = np.trapezoid(u * v, x)
    np.testing.assert_allclose(Functions.grid(x, lumped=True).inner(u, v), trapezoid, atol=1e-12)
    np.testing.assert_allclose(space.integrate(u), np.trapezoid(u, x), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("lumped", [False, True])
def test_tensor_grids_integrate_products_of_functions(lumped):
    """The inner product of f(x) p(y) and g(x) q(y) is the product of those of the axes."""
    one, two = Functions.grid(X, lumped=lumped), Functions.grid(Y, lumped=lumped)
    both = Functions.grid(X, Y, lumped=lumped)
    f, g, p, q = one.random(0), one.random(1), two.random(2), two.random(3)
    np.testing.assert_allclose(
        both.inner(np.outer(f, p), np.outer(g, q)), one.inner(f, g) * two.inner(p, q), rtol=1e-11
    )
    h1 = Functions.grid(X, Y, lumped=lumped, scale=0.3)
    slopes = f @ one.stiffness @ g * two.inner(p, q) + one.inner(f, g) * (p @ two.stiffness @ q)
    np.testing.assert_allclose(
        h1.inner(np.outer(f, p), np.outer(g, q)),
        one.inner(f, g) * two.inner(p, q) + 0.09 * slopes,
        rtol=1e-11,
    )
    np.testing.assert_allclose(
        both.integrate(np.outer(f, p)), one.integrate(f) * two.integrate(p), rtol=1e-11
    )


def test_boundaries():
    free = Functions.grid(X)
    zero, periodic = (Functions.grid(X, boundary=kind) for kind in list(Boundary)[1:])
    assert (free.base.shape, zero.base.shape, periodic.base.shape) == ((5,), (3,), (4,))
    np.testing.assert_array_equal(zero.points, X[1:-1])
    np.testing.assert_array_equal(periodic.points, X[:-1])
    u, v = zero.random(0), zero.random(1)
    padded = np.pad(u, 1), np.pad(v, 1)
    np.testing.assert_allclose(zero.inner(u, v), free.inner(*padded), rtol=1e-12)
    np.testing.assert_allclose(zero.integrate(u), free.integrate(padded[0]), rtol=1e-12)
    u, v = periodic.random(0), periodic.random(1)
    wrapped = np.append(u, u[0]), np.append(v, v[0])
    np.testing.assert_allclose(periodic.inner(u, v), free.inner(*wrapped), rtol=1e-12)
    np.testing.assert_allclose(periodic.integrate(u), free.integrate(wrapped[0]), rtol=1e-12)
    np.testing.assert_allclose(periodic.stiffness @ np.ones(4), np.zeros(4), atol=1e-13)


def test_each_axis_has_its_boundary():
    space = Functions.grid(X, Y, boundary=(Boundary.PERIODIC, Boundary.ZERO), scale=0.2)
    assert space.base.shape == (4, 2)
    assert space.points.shape == (2, 4, 2)
    u = space.random(0)
    whole = np.pad(np.concatenate([u, u[:1]]), ((0, 0), (1, 1)))
    free = Functions.grid(X, Y, scale=0.2)
    np.testing.assert_allclose(space.norm(u), free.norm(whole), rtol=1e-12)


@pytest.mark.parametrize("kind", Boundary)
def test_values_in_one_variable(kind):
    space = Functions.grid(X, boundary=kind)
    u = space.random(0)
    ends = {Boundary.FREE: u, Boundary.ZERO: np.pad(u, 1), Boundary.PERIODIC: np.append(u, u[0])}
    points = np.array([[0.0, 0.05, 0.35], [0.6, 0.99, 1.0]])
    np.testing.assert_allclose(space.evaluate(u, points), np.interp(points, X, ends[kind]))
    np.testing.assert_allclose(space.evaluate(u, space.points), u, atol=1e-14)
    assert float(space.evaluate(u, 0.2)) == pytest.approx(np.interp(0.2, X, ends[kind]))


def test_periodic_functions_have_values_everywhere():
    space = Functions.grid(T, boundary=Boundary.PERIODIC)
    u = space.random(0)
    points = np.array([0.3, 1.7])
    np.testing.assert_allclose(space.evaluate(u, points - 4), space.evaluate(u, points))


def test_values_in_two_variables():
    """Bilinear functions are met exactly."""
    space = Functions.grid(X, Y)
    u = space.interpolate(lambda x, y: 1 + 2 * x - y + 3 * x * y)
    generator = np.random.default_rng(0)
    x, y = generator.uniform(0, 1, (4, 3)), generator.uniform(-1, 2, (4, 3))
    found = space.evaluate(u, np.stack([x, y]))
    np.testing.assert_allclose(found, 1 + 2 * x - y + 3 * x * y, rtol=1e-12)


def test_values_have_derivatives_in_the_function_and_in_the_points():
    space = Functions.grid(X, Y)
    u, p = space.random(0), np.array([[0.2, 0.7], [0.1, 1.1]])
    ad.testing.check(lambda u, p: np.sum(space.evaluate(u, p) ** 2), u, p)
    line = Functions.grid(X, boundary=Boundary.PERIODIC)
    ad.testing.check(lambda u, p: np.sum(line.evaluate(u, p) ** 2), line.random(0), 3.2 + p[0])
    many = np.stack([space.random(1), space.random(2)])
    np.testing.assert_allclose(
        ad.vmap(lambda u: space.evaluate(u, p))(many), [space.evaluate(u, p) for u in many]
    )
    compiled = ad.jit(lambda p: space.evaluate(u, p))
    for points in (p, p / 2):  # other cells
        np.testing.assert_allclose(compiled(points), space.evaluate(u, points))


def test_points_outside_are_refused():
    space = Functions.grid(X, Y)
    u = space.random(0)
    for points in (np.array([[1.1], [0.0]]), np.array([[0.5], [-1.5]])):
        with pytest.raises(ArgumentError, match="points must lie on the grid, between"):
            space.evaluate(u, points)
        with pytest.raises(ArgumentError, match="points must lie on the grid, between"):
            ad.grad(lambda p: np.sum(space.evaluate(u, p)))(points)
    with pytest.raises(ArgumentError, match="points must have 2 coordinates each"):
        space.evaluate(u, np.array([0.5]))


@pytest.mark.parametrize(
    ("axes", "options", "message"),
    [
        ((), {}, "one vector for each variable. Got none"),
        ((np.array([0.0, 0.0, 1.0]),), {}, r"axes\[0\] must increase. Got a step of 0"),
        ((X, X[::-1]), {}, r"axes\[1\] must increase"),
        ((np.array([0.0]),), {}, "a vector of 2 points or more"),
        ((np.array([0.0, 1.0]),), {"boundary": Boundary.ZERO}, "3 points or more .ZERO boundary"),
        ((np.ones((2, 2)),), {}, r"Got shape \(2, 2\)"),
        ((X, Y), {"boundary": (Boundary.ZERO,)}, "one for each of the 2 axes. Got 1"),
        ((X,), {"scale": -1.0}, "a number that is not negative. Got -1.0"),
        ((X,), {"scale": np.nan}, "a number that is not negative. Got nan"),
        ((X,), {"scale": "large", "lumped": True}, "a number that is not negative. Got 'large'"),
    ],
)
def test_what_is_no_grid(axes, options, message):
    with pytest.raises(ArgumentError, match=message):
        Functions.grid(*axes, **options)


def test_other_types():
    with pytest.raises(ValueError, match="read-only"):
        Functions.grid(X).mass.data[0] = 1.0
    with pytest.raises(ArgumentTypeError, match="boundary must be one of Boundary"):
        Functions.grid(X, boundary="periodic")
    with pytest.raises(ArgumentTypeError, match=r"axes\[0\] must be finite real numbers"):
        Functions.grid(np.array([0.0, np.inf]))
    with pytest.raises(ArgumentTypeError, match="floating dtype"):
        Functions.grid(X, dtype=int)
