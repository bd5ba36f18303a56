"""Spaces of polynomials: L2 inner products, gradients that are polynomials (E.1.27, E.1.37)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.polynomial import Chebyshev, Hermite, Legendre, Polynomial

import adjoint as ad
from adjoint.base.errors import (
    ArgumentError,
    ArgumentTypeError,
    MembershipError,
    NotDifferentiableError,
    NotPositiveDefiniteError,
    SpaceMismatchError,
)
from adjoint.maps import adjoint_error, linearity_error, space_error
from adjoint.spaces import (
    Euclidean,
    PolynomialCoefficients,
    Polynomials,
    Product,
    Weighted,
    infer,
)
from tests.spaces.strategies import positive_matrix

KINDS = [Polynomial, Legendre, Chebyshev]
kinds = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
A, B = 0.5, 2.0  # the interval of most tests
POINTS = np.linspace(A, B, 40)


def space_of(kind, degree=4):
    return Polynomials(degree, (A, B), kind)


def in_all_bases(p):
    """One polynomial in the three bases, each with its space."""
    return [
        (p.convert(domain=(A, B), kind=kind, window=kind.window), space_of(kind, p.degree()))
        for kind in KINDS
    ]


def integral(p):
    antiderivative = p.integ()
    return antiderivative(B) - antiderivative(A)


# --- the space ------------------------------------------------------------------------------------


@kinds
def test_laws(kind):
    for space in (
        space_of(kind),
        Polynomials(3, basis=kind),
        Polynomials(0, (0, 1), kind),
        Polynomials(3, (0, 1), kind, domain=(-1, 1)),
        Polynomials(3, basis=kind, rule=np.polynomial.chebyshev.chebgauss(4)),
        PolynomialCoefficients(3, kind),
        Weighted(PolynomialCoefficients(3, kind), positive_matrix(4, 0)),
    ):
        assert space_error(space) < 1e-11
        assert space.contains(space.random(0))
        assert isinstance(space.zero(), kind)


@kinds
def test_the_inner_product_is_the_integral_of_the_product(kind):
    """(E.1.27), against NumPy's own antiderivatives."""
    space = space_of(kind)
    p, q = space.random(0), space.random(1)
    antiderivative = (p * q).integ()
    np.testing.assert_allclose(space.inner(p, q), antiderivative(B) - antiderivative(A))
    np.testing.assert_allclose(space.gram(), space.gram().T, atol=1e-14)


def test_legendre_and_chebyshev_polynomials_are_orthogonal():
    gram = Polynomials(5).gram()
    np.testing.assert_allclose(gram, np.diag(2 / (2 * np.arange(6) + 1)), atol=1e-14)
    rule = np.polynomial.chebyshev.chebgauss(6)
    gram = Polynomials(5, basis=Chebyshev, rule=rule).gram()
    np.testing.assert_allclose(gram, np.pi * np.diag([1, 0.5, 0.5, 0.5, 0.5, 0.5]), atol=1e-14)


def test_equality_and_words():
    assert Polynomials(3) == Polynomials(3, (-1, 1), Legendre)
    assert Polynomials(3) != Polynomials(3, basis=Chebyshev)
    assert Polynomials(3) != Polynomials(3, rule=np.polynomial.legendre.leggauss(4))
    assert hash(Polynomials(3)) == hash(Polynomials(3))
    assert repr(space_of(Legendre)) == "Polynomials(4, (0.5, 2.0), Legendre)"
    rule = np.polynomial.legendre.leggauss(4)
    assert repr(Polynomials(3, rule=rule)).endswith("Legendre, rule of 4 nodes)")
    assert Polynomials(3).ambient == PolynomialCoefficients(3)


@kinds
def test_membership(kind):
    space = space_of(kind)
    p = space.random(0)
    with pytest.raises(MembershipError, match="must have 5"):
        space.check(p.truncate(3))
    with pytest.raises(MembershipError, match="Its domain is"):
        space.check(kind(p.coef))
    with pytest.raises(MembershipError, match="objects of degree 4"):
        space.check(Hermite(p.coef))
    with pytest.raises(MembershipError, match="objects of degree 4"):
        space.check(p.coef)
    with pytest.raises(MembershipError, match="real numbers"):
        space.check(kind(p.coef + 0j, domain=p.domain))
    with pytest.raises(SpaceMismatchError):
        space.check(space.riesz(p))
    with pytest.raises(MembershipError):
        ad.grad(lambda p: p(1.0), space=space)(kind([1.0, 2.0], domain=p.domain))


# --- gradients ------------------------------------------------------------------------------------


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**16), st.integers(0, 5))
def test_gradients_are_the_same_polynomial_in_every_basis(seed, degree):
    """A basis is needed to compute, and does not matter (E.1.37)."""
    generator = np.random.default_rng(seed)
    origin = Legendre(generator.standard_normal(degree + 1), domain=(A, B))
    x = generator.uniform(A, B)

    def f(p):
        return np.sin(p(x)) + integral(p**2 * p.deriv()) + np.sum(p(POINTS) ** 3)

    values = []
    for p, space in in_all_bases(origin):
        gradient = ad.grad(f, space=space)(p)
        assert type(gradient) is type(p)
        np.testing.assert_array_equal(gradient.domain, p.domain)
        np.testing.assert_array_equal(gradient.window, p.window)
        values.append(gradient(POINTS))
    scale = np.max(np.abs(values[1]))
    np.testing.assert_allclose(values[0], values[1], atol=1e-7 * scale)
    np.testing.assert_allclose(values[2], values[1], atol=1e-10 * scale)


@kinds
def test_the_gradient_of_the_squared_norm(kind):
    """grad of the integral of p^2 is 2p."""
    space = space_of(kind)
    p = space.random(0)
    gradient = ad.grad(lambda p: integral(p**2), space=space)(p)
    np.testing.assert_allclose(gradient.coef, 2 * p.coef, atol=1e-9)
    value, gradient = ad.value_and_grad(lambda p: space._inner(p, p), space=space)(p)
    np.testing.assert_allclose(value, space.inner(p, p))
    np.testing.assert_allclose(gradient.coef, 2 * p.coef, atol=1e-9)


@kinds
def test_the_gradient_of_evaluation_is_the_reproducing_kernel(kind):
    """k(x, .) with <k(x, .), p> = p(x): sum_k (2k+1)/(b-a) P_k(x) P_k (E.1.30)."""
    space = space_of(kind)
    p, x = space.random(0), 0.7
    kernel = ad.grad(lambda p: p(x), space=space)(p)
    np.testing.assert_allclose(space.inner(kernel, p), p(x), rtol=1e-10)
    legendre = [Legendre.basis(k, domain=(A, B)) for k in range(5)]
    expected = sum((2 * k + 1) / (B - A) * P(x) * P for k, P in enumerate(legendre))
    np.testing.assert_allclose(kernel(POINTS), expected(POINTS), rtol=1e-8)
    # Without a space it holds the partial derivatives by the coefficients, and depends on them.
    partial = ad.grad(lambda p: p(x))(p)
    np.testing.assert_allclose(partial.coef, [kind.basis(k, domain=(A, B))(x) for k in range(5)])


@kinds
def test_the_gradient_of_a_distance_is_twice_the_error_of_the_projection(kind):
    """grad of the integral of (p - g)^2 is 2 (p - Pg), g of a higher degree."""
    space = space_of(kind)
    p = space.random(0)
    g = Legendre(np.random.default_rng(1).standard_normal(9), domain=(A, B))
    data = g.convert(domain=(A, B), kind=kind, window=kind.window)
    projected = space.project(g)
    for f in (lambda p: integral((p - data) ** 2), lambda p: integral((data - p) ** 2)):
        gradient = ad.grad(f, space=space)(p)
        np.testing.assert_allclose(gradient.coef, 2 * (p - projected).coef, atol=1e-7)
    assert space.norm(ad.grad(lambda p: integral((p - data) ** 2), space=space)(projected)) < 1e-7


@kinds
def test_a_step_against_the_gradient_descends_to_the_projection(kind):
    """In L2 one step of length 1/2 solves the least-squares problem, in every basis."""
    space = space_of(kind)

    def distance(p):
        return np.sum(WEIGHTS * (p(NODES) - np.exp(NODES)) ** 2)

    nodes, weights = np.polynomial.legendre.leggauss(30)
    NODES, WEIGHTS = (A + B) / 2 + (B - A) / 2 * nodes, weights * (B - A) / 2
    p = space.random(0)
    nearest = p - ad.grad(distance, space=space)(p) / 2
    np.testing.assert_allclose(nearest(POINTS), space.project(np.exp)(POINTS), rtol=1e-8)


@kinds
def test_second_derivatives_and_descent(kind):
    """(E.1.77) on polynomials; one step of steepest descent, whichever the basis."""
    space = space_of(kind, 3)
    p, u, v = space.random(0), space.random(1), space.random(2)

    def f(p):
        return integral(p**3) + np.sin(p(0.7))

    expected = 6 * integral(p * u * v) - np.sin(p(0.7)) * u(0.7) * v(0.7)
    np.testing.assert_allclose(ad.second_derivative(f, p, domain=space)(u, v), expected)
    np.testing.assert_allclose(space.inner(ad.hvp(f, p, u, space=space), v), expected, rtol=1e-8)
    found = ad.optimize.descend(lambda p: space._inner(p - u, p - u), p, space=space)
    assert found.iterations == 1
    np.testing.assert_allclose(found.x(POINTS), u(POINTS), rtol=1e-6, atol=1e-8)


@kinds
def test_audits_of_functionals_of_polynomials_pass(kind):
    space = space_of(kind, 3)
    assert ad.testing.check_space(space).passed
    report = ad.testing.check(
        lambda p: integral(p**2) * p(0.7), space.random(0), spaces=(space, None)
    )
    assert report.passed


@kinds
def test_another_weight_function(kind):
    """Under the weight of Chebyshev the gradient of the weighted integral is still 2p."""
    nodes, weights = np.polynomial.chebyshev.chebgauss(6)
    space = Polynomials(4, basis=kind, rule=(nodes, weights))
    p = space.random(0)
    gradient = ad.grad(lambda p: np.sum(weights * p(nodes) ** 2), space=space)(p)
    np.testing.assert_allclose(gradient.coef, 2 * p.coef, atol=1e-10)
    assert (
        np.max(np.abs((ad.grad(lambda p: np.sum(weights * p(nodes) ** 2))(p) - 2 * p).coef)) > 0.1
    )


# --- other derivatives ----------------------------------------------------------------------------


@kinds
def test_derivatives_are_maps_on_polynomials(kind):
    space, image = space_of(kind), Polynomials(8, (A, B), kind)
    p, u = space.random(0), space.random(1)
    D = ad.derivative(lambda p: p**2, p, domain=space, codomain=image)
    np.testing.assert_allclose(D(u)(POINTS), 2 * p(POINTS) * u(POINTS), rtol=1e-9)
    assert isinstance(D(u), kind)
    assert adjoint_error(D) < 1e-10
    assert linearity_error(D) < 1e-13
    assert D.matrix().shape == (9, 5)
    covector = image.covector(image.random(2))
    np.testing.assert_allclose(D.T(covector)(u), covector(D(u)))
    v = image.random(3)
    np.testing.assert_allclose(space.inner(D.H(v), u), image.inner(v, D(u)), rtol=1e-9)


@kinds
def test_differentiation_is_linear_and_its_adjoint_integrates_by_parts(kind):
    """<p', q> + <p, q'> = p(b) q(b) - p(a) q(a): D + D.H is what the boundary leaves."""
    space = space_of(kind)
    target = space_of(kind, 3)
    D = ad.derivative(lambda p: p.deriv(), space.zero(), domain=space, codomain=target)
    p, q = space.random(0), target.random(1)
    np.testing.assert_allclose(D(p)(POINTS), p.deriv()(POINTS), rtol=1e-10)
    boundary = p(B) * q(B) - p(A) * q(A) - integral(p * _lifted(q.deriv(), kind))
    np.testing.assert_allclose(space.inner(D.H(q), p), boundary, rtol=1e-9)


def _lifted(p, kind):
    return kind(p.coef, domain=p.domain)


@kinds
def test_jvp_vjp_hvp_vmap_and_jit(kind):
    space = space_of(kind)
    p, u = space.random(0), space.random(1)

    def f(p):
        return p(0.7) ** 2

    value, slope = ad.jvp(f, (p,), (u,))
    np.testing.assert_allclose([value, slope], [p(0.7) ** 2, 2 * p(0.7) * u(0.7)])
    _, pullback = ad.vjp(f, p)
    (cotangent,) = pullback(1.0)
    assert isinstance(cotangent, kind)
    np.testing.assert_allclose(np.sum(cotangent.coef * u.coef), slope)
    second = ad.hvp(f, p, u)
    assert isinstance(second, kind)
    np.testing.assert_allclose(np.sum(second.coef * u.coef), 2 * u(0.7) ** 2)
    squared = ad.jit(lambda p, x: p(x) * p**2)(p, 0.7)
    assert isinstance(squared, kind)
    np.testing.assert_allclose(squared(POINTS), p(0.7) * p(POINTS) ** 2, rtol=1e-9)
    gradients = ad.vmap(lambda x: ad.grad(lambda p: p(x), space=space)(p))(POINTS[:3])
    assert np.shape(gradients.coef) == (3, 5)
    for x, coef in zip(POINTS, gradients.coef, strict=False):
        kernel = ad.grad(lambda p, x=x: p(x), space=space)(p)
        np.testing.assert_allclose(coef, kernel.coef, rtol=1e-10)


@kinds
def test_nested_derivatives(kind):
    """The point of evaluation and the polynomial, one inside the other."""
    space = space_of(kind)
    p, u = space.random(0), space.random(1)

    def sensitivity(x):
        return ad.grad(lambda p: p(x) ** 2, space=space)(p)(x)

    kernel = Legendre  # d/dx of 2 p(x) k(x, x)
    basis = [kernel.basis(k, domain=(A, B)) for k in range(5)]
    diagonal = sum((2 * k + 1) / (B - A) * P**2 for k, P in enumerate(basis))
    expected = 2 * (p.deriv()(0.7) * diagonal(0.7) + p(0.7) * diagonal.deriv()(0.7))
    np.testing.assert_allclose(ad.grad(sensitivity)(0.7), expected, rtol=1e-8)
    slope = ad.grad(lambda p: ad.jvp(lambda p: p(0.7) ** 2, (p,), (u,))[1], space=space)(p)
    np.testing.assert_allclose(space.inner(slope, u), 2 * u(0.7) ** 2, rtol=1e-9)
    slope = ad.grad(lambda t: ad.jvp(lambda p: p(0.7) ** 2, (u,), (t * u,))[1])(1.0)
    np.testing.assert_allclose(slope, 2 * u(0.7) ** 2)


@kinds
def test_products_with_other_spaces(kind):
    space = Product({"p": space_of(kind), "shift": Euclidean(())})
    point = space.random(0)

    def f(point):
        return integral((point["p"] + point["shift"]) ** 2)

    gradient = ad.grad(f, space=space)(point)
    p = point["p"]
    np.testing.assert_allclose(
        gradient["p"](POINTS), 2 * (p(POINTS) + point["shift"]), rtol=1e-8, atol=1e-9
    )
    np.testing.assert_allclose(gradient["shift"], 2 * integral(p) + 2 * 1.5 * point["shift"])


def test_descent_through_a_list_of_polynomials():
    p, q = Legendre([1.0, 2.0]), Chebyshev([3.0, 4.0])
    gradient = ad.grad(lambda pair: pair[0](0.5) * pair[1](0.5))([p, q])
    assert [type(part) for part in gradient] == [Legendre, Chebyshev]
    np.testing.assert_allclose(gradient[0].coef, q(0.5) * np.array([1, 0.5]))


# --- inference ------------------------------------------------------------------------------------


@kinds
def test_the_inferred_space_is_euclidean_in_the_coefficients(kind):
    p = kind([1.0, 2.0, 3.0], domain=(0, 1))
    assert infer(p) == PolynomialCoefficients(2, kind, (0, 1))
    assert infer({"p": p, "x": 1.0}) == Product({"p": infer(p), "x": Euclidean(())})
    np.testing.assert_allclose(infer(p).norm(p), np.sqrt(14))
    assert infer(p).gram().tolist() == np.eye(3).tolist()
    covector = ad.differential(lambda p: p(0.3), p)
    np.testing.assert_allclose(covector(p), p(0.3))
    with pytest.raises(ArgumentTypeError, match="one row of real floating numbers"):
        infer(kind([1j]))


def test_other_polynomials_are_no_elements():
    with pytest.raises(NotDifferentiableError, match="Hermite"):
        ad.grad(lambda p: p(0.3))(Hermite([1.0, 2.0]))


# --- projection and faults ------------------------------------------------------------------------


@kinds
def test_projection(kind):
    space = space_of(kind)
    p = space.random(0)
    np.testing.assert_allclose(space.project(p).coef, p.coef, atol=1e-10)
    other = Chebyshev([1.0, 2.0, 3.0])
    np.testing.assert_allclose(space.project(other)(POINTS), other(POINTS), rtol=1e-10)
    projected = space.project(np.exp)
    for q in space.basis():
        residual = np.exp(POINTS) - projected(POINTS)
        assert np.max(np.abs(residual)) < 2e-3
        nodes, weights = space._nodes(40)
        np.testing.assert_allclose(
            np.sum(weights * q(nodes) * (np.exp(nodes) - projected(nodes))), 0, atol=1e-12
        )
    with pytest.raises(ArgumentTypeError, match="a polynomial or a function"):
        space.project(3.0)
    with pytest.raises(ArgumentError, match="at least 5 nodes"):
        space.project(np.exp, nodes=4)
    with pytest.raises(ArgumentError, match="one real number for each of"):
        space.project(lambda x: 1.0)


def test_faults():
    with pytest.raises(ArgumentTypeError, match="the class itself"):
        Polynomials(3, basis=Hermite)
    with pytest.raises(ArgumentTypeError, match="the class itself"):
        PolynomialCoefficients(3, basis="legendre")
    with pytest.raises(ArgumentError, match="must not be negative"):
        Polynomials(-1)
    with pytest.raises(ArgumentTypeError, match="must be an integer"):
        Polynomials(2.5)
    with pytest.raises(ArgumentError, match="with a < b"):
        Polynomials(2, (1, 0))
    with pytest.raises(ArgumentTypeError, match="a pair"):
        Polynomials(2, 3.0)
    with pytest.raises(ArgumentTypeError, match="equally long rows"):
        Polynomials(2, rule=3.0)
    with pytest.raises(ArgumentError, match="must lie in the interval"):
        Polynomials(2, (0, 1), rule=np.polynomial.legendre.leggauss(3))
    with pytest.raises(NotPositiveDefiniteError, match="Got 2 nodes"):
        Polynomials(2, rule=np.polynomial.legendre.leggauss(2))
    with pytest.raises(NotPositiveDefiniteError, match="positive weights"):
        Polynomials(1, rule=(np.array([-0.5, 0.5]), np.array([1.0, -1.0])))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("interval", [(0.0, 1e-3), (1e3, 1e3 + 1), (0, 2e5)])
@pytest.mark.parametrize("degree", [0, 1, 5, 20])
def test_gradients_on_intervals_of_any_size(kind, interval, degree):
    """The gradient of an evaluation (E.1.30) is the kernel, whatever the interval."""
    a, b = interval
    space = Polynomials(degree, interval, kind)
    x0, x = a + 0.3 * (b - a), np.linspace(a, b, 7)
    found = ad.grad(lambda p: p(x0), space=space)(space.zero())
    basis = [Legendre.basis(k, domain=interval) for k in range(degree + 1)]
    expected = sum((2 * k + 1) / (b - a) * P(x0) * P(x) for k, P in enumerate(basis))
    np.testing.assert_allclose(found(x), expected, atol=1e-7 * np.max(np.abs(expected)))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("interval", [(1e3, 1e3 + 1), (-3.0, 7.0)])
def test_a_basis_that_is_dependent_up_to_rounding_is_refused(kind, interval):
    assert Polynomials(1, interval, kind, domain=(-1, 1)).dimension == 2
    with pytest.raises(NotPositiveDefiniteError, match="nearly dependent"):
        Polynomials(30, interval, kind, domain=(-1, 1))


def test_projections_are_differentiated():
    space = space_of(Legendre, 2)
    p = Legendre([1.0, 2.0, 3.0], domain=(A, B))
    D = ad.derivative(lambda p: space.project(p * p), p, domain=space, codomain=space)
    u = space.random(0)
    np.testing.assert_allclose(D(u).coef, space.project(2 * p * u).coef)
    found = ad.grad(lambda s: space.project(lambda x: np.exp(s * x))(0.7))(1.0)
    expected = space.project(lambda x: x * np.exp(x))(0.7)
    np.testing.assert_allclose(found, expected)
