"""Spaces of functions: gradients that do not depend on the mesh."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import MembershipError
from adjoint.maps import adjoint_error, diagonal, embedding, space_error
from adjoint.spaces import (
    Boundary,
    ConjugateGradient,
    Euclidean,
    Functions,
    OrthonormalCoordinates,
    Product,
)

X = np.linspace(0.0, 1.0, 6) ** 2
NODES, WEIGHTS = np.polynomial.legendre.leggauss(4)
SPACES = [
    Functions.grid(X),
    Functions.grid(X, lumped=True),
    Functions.grid(X, scale=0.2, dtype=complex),
    Functions.grid(X, scale=0.2, lumped=True, boundary=Boundary.ZERO),
    Functions.grid(X, X + 1, scale=0.1, boundary=(Boundary.PERIODIC, Boundary.FREE)),
    Functions.grid(X[:3], X[:4], X[:3]),
    Functions.gauss_legendre(-1, 2, 5),
    Functions.quadrature(NODES, WEIGHTS, dtype=np.float32),
    Functions.expansion([np.ones_like, np.sin, np.exp], NODES, WEIGHTS),
    Functions.grid(X).under(np.eye(6)),
]


def graded(n):
    """A mesh on [0, 1] whose cells grow eightfold."""
    return np.expm1(np.linspace(0, np.log(8), n + 1)) / 7


@pytest.mark.parametrize("space", SPACES, ids=repr)
def test_laws(space):
    """E.1.27 is an inner product: the laws, bases, duals, the identity map's adjoint (E.1.52)."""
    tolerance = 1e-5 if space._real_dtype == np.float32 else 1e-12
    assert space_error(space) < tolerance
    assert space_error(space.dual) < tolerance
    assert adjoint_error(embedding(space)) < tolerance
    assert adjoint_error(diagonal(2.0, space)) < tolerance
    basis = list(space.basis())
    expected = [[float(space.inner(x, y)) for y in basis] for x in basis]
    np.testing.assert_allclose(space.gram(), expected, rtol=10 * tolerance, atol=tolerance)
    pair = Product({"f": space, "a": Euclidean(2)})
    assert space_error(pair) < tolerance


@pytest.mark.parametrize("space", [*SPACES[:8], SPACES[9]], ids=repr)
def test_equality_copies_and_pickles(space):
    twin = pickle.loads(pickle.dumps(space))
    assert twin == space
    assert hash(twin) == hash(space)
    space.represent(space.riesz(space.random(0)))  # what it has found by now is no part of it
    assert copy.deepcopy(space) == space
    assert len({*SPACES, space}) == len(SPACES)


@pytest.mark.parametrize("space", SPACES, ids=repr)
def test_gradients_in_every_space(space):
    """E.1.37: <grad f(u), v> = df(u)[v]; alone, batched and compiled."""

    def f(u):
        return np.sum(np.abs(u) ** 2 * np.real(u + 1))

    u, v = space.random(0), space.random(1)
    gradient = ad.grad(f, space=space)
    tolerance = 1e-4 if space._real_dtype == np.float32 else 1e-10
    _, along = ad.jvp(f, (u,), (v,))
    np.testing.assert_allclose(space.inner(gradient(u), v), along, rtol=tolerance)
    batch = ad.vmap(gradient)(np.stack([u, v]))
    np.testing.assert_allclose(batch[0], gradient(u), rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(ad.jit(gradient)(v), batch[1], rtol=tolerance, atol=tolerance)
    slope = ad.derivative(lambda u: u * u, u, domain=space, codomain=space)
    assert adjoint_error(slope) < tolerance


def test_l2_gradients_converge_to_one_function_and_arrays_of_partials_to_zero():
    """f(u) = integral of cos u has the gradient -sin u in L2, on every mesh."""

    def at(n, lumped):
        space = Functions.grid(graded(n), lumped=lumped)
        u = space.interpolate(lambda x: np.exp(-x))

        def f(u):
            return space.integrate(np.cos(u))

        error = ad.grad(f, space=space)(u) + np.sin(u)
        return np.sqrt(space.integrate(error**2)), np.max(np.abs(ad.grad(f)(u)))

    for lumped in (False, True):
        errors, sizes = zip(*(at(n, lumped) for n in (20, 40, 80, 160)), strict=True)
        ratios = np.divide(sizes[:-1], sizes[1:])
        np.testing.assert_allclose(ratios, 2.0, rtol=0.1)  # as the width of the cells
        if lumped:
            assert max(errors) < 1e-14  # the rule that integrates is the one of the inner product
        else:
            orders = np.log2(np.divide(errors[:-1], errors[1:]))
            assert np.all(orders > 1.3)


def test_squared_distance_has_the_same_gradient_on_every_mesh():
    """f(u) = integral of (u - g)^2 = |u - g|^2 has the gradient 2 (u - g), exactly."""
    for space in SPACES[:7]:
        u, g = space.random(0), space.random(1)
        gradient = ad.grad(lambda u, space=space, g=g: space.inner(u - g, u - g), space=space)
        np.testing.assert_allclose(gradient(u), 2 * (u - g), rtol=1e-9, atol=1e-11)


def test_h1_gradients_solve_a_boundary_value_problem():
    """f(u) = integral of g u: the gradient w solves w - s^2 w'' = g, w' = 0 at both ends.

    For g = cos(pi x) it is cos(pi x)/(1 + s^2 pi^2); and for Dirichlet boundaries and
    g = sin(pi x), sin(pi x)/(1 + s^2 pi^2).
    """
    s = 0.3
    for boundary, g in ((Boundary.FREE, np.cos), (Boundary.ZERO, np.sin)):
        errors = []
        for n in (20, 40, 80):
            flat = Functions.grid(graded(n), boundary=boundary)
            space = Functions.grid(graded(n), scale=s, boundary=boundary)
            right = flat.interpolate(lambda x, g=g: g(np.pi * x))
            w = ad.grad(lambda u, f=flat, r=right: f.inner(r, u), space=space)(space.zero())
            errors.append(np.max(np.abs(w - right / (1 + s**2 * np.pi**2))))
            system = flat.mass + s**2 * flat.stiffness
            np.testing.assert_allclose(system @ w, flat.mass @ right, rtol=1e-9, atol=1e-13)
        orders = np.log2(np.divide(errors[:-1], errors[1:]))
        assert np.all(orders > 1.8)


def test_h1_gradients_in_two_variables():
    """w - s^2 (w_xx + w_yy) = cos(pi x) cos(pi y) is met by the same over 1 + 2 s^2 pi^2."""
    s, errors = 0.2, []
    for n in (8, 16, 32):
        flat = Functions.grid(graded(n), np.linspace(0, 1, n + 1))
        space = flat.under(flat.mass + s**2 * flat.stiffness)
        right = flat.interpolate(lambda x, y: np.cos(np.pi * x) * np.cos(np.pi * y))
        w = ad.grad(lambda u, f=flat, r=right: f.inner(r, u), space=space)(space.zero())
        errors.append(np.max(np.abs(w - right / (1 + 2 * s**2 * np.pi**2))))
    assert errors[2] < errors[0] / 10


def test_the_second_derivative_is_self_adjoint():
    """The derivative of the gradient is its own adjoint in the space whose gradient it is."""
    space = Functions.grid(X, scale=0.3)
    u = space.interpolate(np.sin)
    gradient = ad.grad(lambda u: space.integrate(np.exp(u) * u), space=space)
    hessian = ad.derivative(gradient, u, domain=space, codomain=space)
    x, y = space.random(0), space.random(1)
    np.testing.assert_allclose(space.inner(hessian(x), y), space.inner(x, hessian(y)), rtol=1e-11)
    np.testing.assert_allclose(hessian.H(x), hessian(x), rtol=1e-10, atol=1e-12)


def test_conjugate_gradients_in_the_place_of_a_factorisation():
    """The same gradient on a grid of three variables, without any matrix being factorised."""
    axis = np.linspace(0, 1, 8)
    direct = Functions.grid(axis, axis, axis, scale=0.1)
    operator = direct.mass + 0.01 * direct.stiffness
    diagonal_part = np.reshape(operator.diagonal(), direct.base.shape)
    solver = ConjugateGradient(direct.base, operator, lambda r: r / diagonal_part)
    iterative = direct.under(solver)
    u = direct.interpolate(lambda x, y, z: x * y + z)

    def f(u):
        return direct.integrate(u**3)

    expected = ad.grad(f, space=direct)(u)
    np.testing.assert_allclose(ad.grad(f, space=iterative)(u), expected, rtol=1e-7, atol=1e-9)
    assert iterative != direct
    np.testing.assert_array_equal(iterative.points, direct.points)


@pytest.mark.parametrize("space", SPACES[:6], ids=repr)
def test_the_dirichlet_form(space):
    """The H1 inner product less that of L2, over s^2; with its derivatives."""
    f, g = space.random(0), space.random(1)
    l2 = space.under(space.mass)
    h1 = space.under(space.mass + space.stiffness)
    np.testing.assert_allclose(
        space.dirichlet_form(f, g), h1.inner(f, g) - l2.inner(f, g), rtol=1e-9, atol=1e-11
    )
    np.testing.assert_allclose(space.dirichlet_form(g, f), space.dirichlet_form(f, g), rtol=1e-11)
    ad.testing.check(space.dirichlet_form, f, g)


def test_descent_in_the_energy_takes_one_step():
    """E.1.43: in the inner product of the energy the gradient of 1/2 |u'|^2 - l[u] is u - solution.

    Here -u'' = pi^2 sin(pi x), whose solution is sin(pi x).
    """
    flat = Functions.grid(graded(80), boundary=Boundary.ZERO)
    space = flat.under(flat.stiffness)
    load = flat.interpolate(lambda x: np.pi**2 * np.sin(np.pi * x))

    def energy(u):
        return flat.dirichlet_form(u, u) / 2 - flat.inner(load, u)

    u = flat.random(0)
    for _ in range(2):
        u = u - ad.grad(energy, space=space)(u)
        assert np.max(np.abs(u - np.sin(np.pi * flat.points))) < 1e-3
    np.testing.assert_allclose(ad.grad(energy, space=space)(u), 0, atol=1e-9)


def test_parameters_of_functions_have_derivatives():
    """d/dt of the integral of sin(t x)^2 on [0, 1] is that of 2 x sin(t x) cos(t x)."""
    space = Functions.gauss_legendre(0, 1, 20)

    def f(t):
        return space.integrate(space.interpolate(lambda x: np.sin(t * x)) ** 2)

    expected = space.integrate(space.points * np.sin(4 * space.points))
    np.testing.assert_allclose(ad.grad(f)(2.0), expected, rtol=1e-12)


def test_complex_values():
    """The gradient of the integral of |u|^2 is 2 u under Re of the integral of conj(f) g."""
    space = Functions.grid(X, lumped=True, dtype=complex)
    u = space.random(0)
    np.testing.assert_allclose(
        ad.grad(lambda u: space.integrate(np.abs(u) ** 2), space=space)(u), 2 * u, rtol=1e-12
    )
    np.testing.assert_allclose(space.inner(u, 1j * u), 0, atol=1e-14)


def test_orthonormal_coordinates():
    space = Functions.grid(X, scale=0.3)
    frame = OrthonormalCoordinates(space)
    u, v = space.random(0), space.random(1)
    np.testing.assert_allclose(frame.of(u) @ frame.of(v), space.inner(u, v), rtol=1e-11)


def test_membership_names_the_space():
    with pytest.raises(
        MembershipError, match=r"element of Functions\(a lumped grid of 6, diagonal \(6,\)\)"
    ):
        Functions.grid(X, lumped=True).integrate(np.ones(3))
    with pytest.raises(MembershipError, match="element must be an element of Functions"):
        Functions.grid(X).evaluate(np.ones(3), 0.5)


def test_repr():
    found = [repr(space) for space in SPACES]
    assert found[0] == "Functions(a grid of 6, sparse 6x6)"
    assert found[6] == "Functions(5 quadrature nodes, diagonal (5,))"
    assert found[8] == "Functions(an expansion in 3 functions, dense 3x3)"
