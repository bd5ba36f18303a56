"""Inner products, functionals, gradients and adjoints in them: E.1.23 to E.1.43, and E.1.80.

"Blog" is "On the choice of inner product for reverse-mode autodiff".
"""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad
from adjoint.maps import rank_one
from adjoint.spaces import Euclidean, Product, Skew, Symmetric, Weighted

RNG = np.random.default_rng(3)


def positive(n, seed):
    matrix = np.random.default_rng(seed).normal(size=(n, n))
    return matrix @ matrix.T + n * np.eye(n)


A = RNG.normal(size=(3, 3))
W = positive(3, 1)
X, U = RNG.normal(size=3), RNG.normal(size=3)
WEIGHTED = Weighted(Euclidean(3), W)


def close(found, expected, rtol=1e-12):
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=1e-13)


# --- inner products -------------------------------------------------------------------------------


def test_weighted_inner_product():
    """E.1.25: ⟨x, y⟩ = xᵀWy."""
    assert WEIGHTED.inner(X, U) == pytest.approx(X @ W @ U, rel=1e-14)


def test_frobenius_inner_product():
    """E.1.26: ⟨X, Y⟩ = vec(X)ᵀ vec(Y) = tr(XᵀY)."""
    x, y = RNG.normal(size=(2, 3, 4))
    inner = Euclidean((3, 4)).inner(x, y)
    assert inner == pytest.approx(x.ravel() @ y.ravel(), rel=1e-14)
    assert inner == pytest.approx(np.trace(x.T @ y), rel=1e-14)


def test_inner_product_of_functions_on_a_grid():
    """E.1.27: quadrature weights make ⟨f, g⟩ = ∫ f g dx, and gradients those of functionals.

    F(f) = ∫ f³ dx has the functional gradient 3f², whatever the grid.
    """
    points, weights = np.polynomial.legendre.leggauss(8)
    points, weights = (points + 1) / 2, weights / 2
    space = Weighted(Euclidean(8), weights)
    assert space.inner(points, points**2) == pytest.approx(1 / 4, rel=1e-14)
    gradient = ad.grad(lambda f: np.sum(weights * f**3), space=space)(np.sin(points))
    close(gradient, 3 * np.sin(points) ** 2)


def test_inner_product_of_pairs():
    """E.1.28: the inner products of the factors add up."""
    space = Product((Euclidean(2), WEIGHTED))
    x, y = space.random(0), space.random(1)
    assert space.inner(x, y) == pytest.approx(x[0] @ y[0] + x[1] @ W @ y[1])


@pytest.mark.parametrize("space", [Euclidean(3), WEIGHTED, Symmetric(3)], ids=repr)
def test_norm(space):
    """E.1.29: ‖x‖ = √⟨x, x⟩, and Cauchy-Schwarz."""
    x, y = space.random(0), space.random(1)
    assert space.norm(x) == pytest.approx(np.sqrt(space.inner(x, x)))
    assert abs(space.inner(x, y)) <= space.norm(x) * space.norm(y)


# --- functionals and maps -------------------------------------------------------------------------


@pytest.mark.parametrize("space", [Euclidean(3), WEIGHTED, Symmetric(3), Skew(3)], ids=repr)
def test_riesz_representation(space):
    """E.1.30: every functional is ⟨y, ·⟩ for one y."""
    functional = ad.differential(lambda x: np.sum(np.sin(x) * x), space.random(0), space=space)
    y, u = space.represent(functional), space.random(1)
    assert functional(u) == pytest.approx(space.inner(y, u), rel=1e-12)
    assert space.riesz(y)(u) == pytest.approx(functional(u), rel=1e-12)


def test_functional_on_matrices():
    """E.1.31: l[A] = tr(BᵀA), so that B is the gradient."""
    b = RNG.normal(size=(2, 3))
    functional = ad.differential(lambda a: np.trace(b.T @ a), np.ones((2, 3)))
    direction = RNG.normal(size=(2, 3))
    assert functional(direction) == pytest.approx(np.trace(b.T @ direction))
    close(Euclidean((2, 3)).represent(functional), b)


def test_rank_one_map():
    """E.1.32: f[x] = l[x] y, differentiated, is the same map."""
    functional, y = WEIGHTED.riesz(U), np.array([1.0, -2.0])
    derivative = ad.derivative(lambda x: WEIGHTED.inner(U, x) * y, X)
    close(derivative.matrix(), rank_one(functional, y).matrix())
    close(derivative(X), functional(X) * y)


def test_map_as_a_sum_of_rank_one_maps():
    """E.1.33, and its exercise: U ↦ UX + XU is a sum of ⟨V_i, U⟩ Y_i, with V_i = E_kj."""
    derivative = ad.derivative(lambda x: x @ x, A)
    space = derivative.domain
    terms = [rank_one(space.riesz(e), derivative(e)) for e in space.basis()]
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    direction = RNG.normal(size=(3, 3))
    close(total(direction), direction @ A + A @ direction)


# --- derivatives and gradients --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "space"),
    [
        (lambda x: x @ x, Euclidean((3, 3))),
        (lambda x: x @ A @ x, WEIGHTED),
        (lambda x: np.exp(x) @ x, Symmetric(3)),
        (lambda p: p["a"] * np.sum(p["b"] ** 3), Product({"a": Euclidean(()), "b": WEIGHTED})),
    ],
    ids=["square", "form", "symmetric", "product"],
)
def test_frechet_limit(function, space):
    """E.1.34: ‖f(x + u) - f(x) - ∂f(x)[u]‖ / ‖u‖ tends to 0, linearly in ‖u‖."""
    x, u = space.random(0), space.random(1)
    derivative = ad.derivative(function, x, domain=space)
    codomain, steps, ratios = derivative.codomain, 10.0 ** -np.arange(1, 5), []
    for h in steps:
        small = space._scale(h, u)
        real = codomain._add(function(space._add(x, small)), codomain._scale(-1, function(x)))
        rest = codomain._add(real, codomain._scale(-1, derivative(small)))
        ratios.append(codomain.norm(rest) / space.norm(small))
    assert np.polyfit(np.log(steps), np.log(ratios), 1)[0] == pytest.approx(1, abs=0.1)


def test_derivative_is_a_function_of_the_point_that_gives_a_map():
    """E.1.35: ∂f : E → (E → F)."""
    derivative = ad.derivative(lambda x: x @ x, A)
    assert isinstance(derivative, ad.LinearMap)
    assert derivative.domain == derivative.codomain == Euclidean((3, 3))


@pytest.mark.parametrize("space", [Euclidean(3), WEIGHTED, Weighted(Euclidean(3), [1.0, 2.0, 4.0])])
def test_gradient_is_paired_with_the_derivative(space):
    """E.1.37: ∂f(x)[u] = ⟨∇f(x), u⟩ in the inner product that was chosen."""

    def f(x):
        return np.sum(np.tanh(A @ x)) * x[0]

    assert space.inner(ad.grad(f, space=space)(X), U) == pytest.approx(ad.jvp(f, (X,), (U,))[1])


@pytest.mark.parametrize("seed", range(8))
def test_gradient_of_a_quadratic_form_to_rounding(seed):
    """E.1.38, E.1.39: ∇(xᵀAx) = W⁻¹(A + Aᵀ)x under ⟨x, y⟩ = xᵀWy."""
    rng, weight = np.random.default_rng(seed), positive(5, seed)
    a, x = rng.normal(size=(5, 5)), rng.normal(size=5)
    gradient = ad.grad(lambda x: x @ a @ x, space=Weighted(Euclidean(5), weight))(x)
    expected = np.linalg.solve(weight, (a + a.T) @ x)
    # Both solve with W: they agree to its condition number times the unit roundoff.
    tolerance = 8 * np.linalg.cond(weight) * np.finfo(float).eps
    assert np.linalg.norm(gradient - expected) <= tolerance * np.linalg.norm(expected)


def test_preconditioned_gradient_descent():
    """E.1.41 to E.1.43: the minimiser of the surrogate is x₀ - W⁻¹∇f(x₀) / (2η)."""
    sharpness = 0.7

    def f(x):
        return np.sum(np.cosh(x)) + x @ A @ x

    def surrogate(x):
        linear = f(X) + ad.differential(f, X)(x - X)
        return linear + sharpness * WEIGHTED.inner(x - X, x - X)

    step = X - ad.grad(f, space=WEIGHTED)(X) / (2 * sharpness)
    close(step, X - np.linalg.solve(W, ad.grad(f)(X)) / (2 * sharpness))
    close(ad.grad(surrogate)(step), np.zeros(3), rtol=0)


def test_natural_gradient_of_a_gaussian():
    """After E.1.43: in the Fisher metric, ∇ of a function of the mean is Σ times the plain one."""
    covariance = positive(3, 9)
    fisher = Weighted(Euclidean(3), np.linalg.inv(covariance))
    gradient = ad.grad(lambda mean: np.sum(np.sin(mean)), space=fisher)(X)
    close(gradient, covariance @ np.cos(X), rtol=1e-11)


# --- adjoints in other inner products -------------------------------------------------------------


def test_weighted_adjoint():
    """Footnote to E.1.53, with W on both sides: A* = W⁻¹AᵀW."""
    derivative = ad.derivative(lambda x: A @ x, X, domain=WEIGHTED, codomain=WEIGHTED)
    close(derivative.H.matrix(), np.linalg.solve(W, A.T @ W))
    close(derivative.H(U), np.linalg.solve(W, A.T @ W @ U))


def test_adjoint_between_two_weighted_spaces():
    """E.1.52 with weights V on the domain and W on the codomain: V⁻¹AᵀW; the transpose has none."""
    b, v = RNG.normal(size=(3, 2)), positive(2, 4)
    derivative = ad.derivative(
        lambda x: b @ x, X[:2], domain=Weighted(Euclidean(2), v), codomain=WEIGHTED
    )
    close(derivative.H.matrix(), np.linalg.solve(v, b.T @ W))
    close(derivative.T(WEIGHTED.covector(U)).components, b.T @ U)


@pytest.mark.parametrize("seed", range(5))
def test_reverse_mode_recovers_the_derivative_whatever_the_inner_product(seed):
    """Blog, eq. 1 to 3: ⟨∂f(x)*(ȳ), ẋ⟩_X = ⟨ȳ, ∂f(x)(ẋ)⟩_Y, and W cancels out of the derivative."""
    x_space = Weighted(Euclidean(3), positive(3, seed))
    y_space = Weighted(Euclidean(2), positive(2, seed + 50))
    b = RNG.normal(size=(2, 3))

    def f(x):
        return np.tanh(b @ x)

    derivative = ad.derivative(f, X, domain=x_space, codomain=y_space)
    true = ad.jvp(f, (X,), (U,))[1]
    seeds = np.eye(2)
    left = [x_space.inner(derivative.H(e), U) for e in seeds]
    right = [y_space.inner(e, true) for e in seeds]
    close(left, right)
    # The inner product of Y is used once more to read off the components of ∂f(x)(ẋ).
    close(np.linalg.solve(y_space.gram(), left), true)


@pytest.mark.parametrize("seed", range(5))
def test_gradient_components_are_independent_of_the_inner_product(seed):
    """Blog, eq. 2 and 3: ⟨∂f(x)*(1), e_i⟩ = ∂f(x)(e_i), though ∂f(x)*(1) itself does change."""
    space = Weighted(Euclidean(3), positive(3, seed))

    def f(x):
        return np.sum(np.sin(A @ x))

    adjoint = ad.derivative(f, X, domain=space).H(np.float64(1.0))
    recovered = [space.inner(adjoint, e) for e in np.eye(3)]
    close(recovered, [ad.jvp(f, (X,), (e,))[1] for e in np.eye(3)])
    assert not np.allclose(adjoint, recovered)


# --- changes of basis -----------------------------------------------------------------------------


def test_how_materialised_tensors_change_with_the_basis():
    """E.1.80: u goes by C⁻¹, a functional by Cᵀ, a map by C⁻¹AC, an inner product by CᵀWC.

    The new basis vectors are the columns of C.
    """
    c = positive(3, 2) + A
    basis = list(c.T)
    derivative = ad.derivative(lambda x: np.sin(A @ x), X)
    matrix = derivative.matrix()
    close(derivative.matrix_in(basis, basis), np.linalg.solve(c, matrix @ c))
    functional = ad.differential(lambda x: np.sum(np.sin(x)), X)
    close([functional(b) for b in basis], c.T @ functional.components)
    gram = [[WEIGHTED.inner(b, d) for d in basis] for b in basis]
    close(gram, c.T @ W @ c)
