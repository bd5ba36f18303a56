"""Second derivatives: E.1.76 to E.1.79, the lecture's four compositions, implicit functions."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import adjoint as ad
from adjoint.maps import BilinearMap
from adjoint.spaces import Euclidean, Weighted

RNG = np.random.default_rng(21)
A = RNG.normal(size=(3, 4))
X, U, V = (RNG.normal(size=4) for _ in range(3))


def f(x):
    return np.sum(np.exp(np.sin(A @ x))) + x[0] * x[1] * x[2]


def g(x):
    return np.tanh(A @ x) * x[0]


def close(found, expected, rtol=1e-11):
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=1e-12)


def second(function, x):
    """∂²f(x) as a bilinear map: the derivative of ∂f(x)[u] in the direction u'."""

    def along(u, v):
        return ad.jvp(lambda x: ad.jvp(function, (x,), (u,))[1], (x,), (v,))[1]

    space, codomain = Euclidean(x.shape), ad.derivative(function, x).codomain
    return BilinearMap(space, space, codomain, along)


# --- the second derivative as a bilinear map ------------------------------------------------------


@pytest.mark.parametrize("function", [f, g])
def test_second_derivative_as_a_limit(function):
    """E.1.76: ‖∂f(x + u')[u] - ∂f(x)[u] - ∂²f(x)[u, u']‖ / ‖u'‖ tends to 0, linearly."""
    bilinear, steps, ratios = second(function, X), 10.0 ** -np.arange(1, 5), []
    for h in steps:
        moved = ad.jvp(function, (X + h * V,), (U,))[1] - ad.jvp(function, (X,), (U,))[1]
        ratios.append(np.linalg.norm(moved - bilinear(U, h * V)) / h)
    assert np.polyfit(np.log(steps), np.log(ratios), 1)[0] == pytest.approx(1, abs=0.1)


@pytest.mark.parametrize("function", [f, g])
def test_second_derivative_is_bilinear_and_symmetric(function):
    """E.1.77: linear in u and in u'; and ∂²f(x)[u, u'] = ∂²f(x)[u', u]."""
    bilinear = second(function, X)
    close(bilinear(2 * U - V, V), 2 * bilinear(U, V) - bilinear(V, V))
    close(bilinear(U, 3 * V + U), 3 * bilinear(U, V) + bilinear(U, U))
    close(bilinear(U, V), bilinear(V, U))


def test_materialisation_of_a_second_derivative():
    """E.1.78: the array T over all pairs of basis vectors is the Jacobian of the Jacobian."""
    tensor = second(g, X).array()
    assert tensor.shape == (3, 4, 4)
    close(tensor, ad.jacobian(ad.jacobian(g))(X))
    close(np.einsum("kij,i,j->k", tensor, U, V), second(g, X)(U, V))


@pytest.mark.parametrize(
    "space", [Euclidean(4), Weighted(Euclidean(4), np.diag([1.0, 2, 3, 4]) + 0.5)], ids=repr
)
def test_hessian_vector_product_represents_the_second_derivative(space):
    """E.1.79: ∂²f(x)[u, u'] = ⟨u', ∇²f(x)[u]⟩, in the inner product of the space."""
    product = ad.hvp(f, X, U, space=space)
    assert space.inner(V, product) == pytest.approx(second(f, X)(U, V), rel=1e-12)


def test_hessian_matrix():
    """After E.1.79: for E = ℝⁿ, ∇²f(x)[u] = Hu, with H symmetric."""
    hessian = ad.hessian(f)(X)
    close(hessian, hessian.T)
    close(ad.hvp(f, X, U), hessian @ U)


# --- forward and reverse mode, twice --------------------------------------------------------------


def forward(function):
    """The gradient by forward mode: ∂f(x)[e_i] for every i."""
    return lambda x: ad.vmap(lambda e: ad.jvp(function, (x,), (e,))[1])(np.eye(4))


def forward_product(gradient):
    return ad.jvp(gradient, (X,), (U,))[1]


def reverse_product(gradient):
    return ad.vjp(gradient, X)[1](U)[0]  # Hᵀu = Hu


@pytest.mark.parametrize("inner", [forward, ad.grad], ids=["on forward", "on reverse"])
@pytest.mark.parametrize("outer", [forward_product, reverse_product], ids=["forward", "reverse"])
def test_the_four_compositions_agree(inner, outer):
    """E.1.79 and lecture: forward or reverse, on forward or reverse, compute the same Hu."""
    close(outer(inner(f)), ad.hessian(f)(X) @ U)


@pytest.mark.parametrize("inner", [ad.Mode.FORWARD, ad.Mode.REVERSE])
@pytest.mark.parametrize("outer", [ad.Mode.FORWARD, ad.Mode.REVERSE])
def test_hessian_as_the_jacobian_of_a_jacobian(inner, outer):
    """Lecture, "does the AD need to be the same for the gradient and the Jacobian?": no."""
    close(ad.jacobian(ad.jacobian(f, mode=inner), mode=outer)(X), ad.hessian(f)(X))


def test_second_order_chain_rule():
    """Lecture: ∂²(f₂∘f₁)[u, v] = ∂²f₂[∂f₁[u], ∂f₁[v]] + ∂f₂[∂²f₁[u, v]]."""

    def outer(y):
        return np.exp(y) * np.sum(y)

    whole = second(lambda x: outer(g(x)), X)(U, V)
    first = ad.derivative(g, X)
    curved = second(outer, g(X))(first(U), first(V))
    close(whole, curved + ad.derivative(outer, g(X))(second(g, X)(U, V)))


def test_hessian_of_the_lagrangian():
    """Lecture: ∇²ₓL(x, λ) = ∇²f(x) - Σ λᵢ ∇²gᵢ(x)."""

    def constraints(x):
        return np.array([np.sum(x**2) - 1, np.prod(x), np.sin(x[0] * x[3])])

    def lagrangian(x, multipliers):
        return f(x) - multipliers @ constraints(x)

    multipliers = np.array([0.5, -2.0, 1.5])
    expected = ad.hessian(f)(X) - np.tensordot(
        multipliers, ad.jacobian(ad.jacobian(constraints))(X), axes=1
    )
    close(ad.hessian(lagrangian)(X, multipliers), expected)
    _, cross = ad.hessian(lagrangian, argnums=(0, 1))(X, multipliers)[0]
    close(cross, -ad.jacobian(constraints)(X).T)


def test_third_derivative():
    """After E.1.79: a trilinear map, materialised as a 4-D array of f : ℝⁿ → ℝᵐ."""
    third = ad.jacobian(ad.jacobian(ad.jacobian(g)))(X)
    assert third.shape == (3, 4, 4, 4)
    for order in itertools.permutations((1, 2, 3)):
        close(third, third.transpose(0, *order))


# --- implicit functions ---------------------------------------------------------------------------

M = 0.2 * RNG.normal(size=(3, 3))
N = RNG.normal(size=(3, 4))


def step(x, y):
    return np.tanh(M @ y + N @ x)


def fixed_point(x):
    y = np.zeros(3)
    while np.max(np.abs(step(x, y) - y)) > 1e-15:
        y = step(x, y)
    return y


def test_derivative_of_a_fixed_point():
    """E.1.70 to E.1.72: through all iterations, ∂y(x) = -(∂_y f)⁻¹ ∂_x f for f = g(x, y) - y."""
    y = fixed_point(X)
    to_x, to_y = ad.jacobian(step, argnums=(0, 1))(X, y)
    expected = np.linalg.solve(np.eye(3) - to_y, to_x)
    close(ad.jacobian(fixed_point)(X), expected, rtol=1e-9)


def test_vjp_of_a_fixed_point_is_a_second_fixed_point():
    """E.1.73 to E.1.75: solve t = A*[t] + v, then ∂y(x)*[v] = ∂_x g(x, y)*[t]."""
    v = RNG.normal(size=3)
    _, pullback = ad.vjp(step, X, fixed_point(X))
    t = v
    for _ in range(80):
        t = pullback(t)[1] + v
    close(pullback(t)[0], ad.vjp(fixed_point, X)[1](v)[0], rtol=1e-9)


# --- tensors --------------------------------------------------------------------------------------


def test_bilinear_functional_as_a_linear_one_on_the_tensor_product():
    """E.1.81, E.1.82: l[x, y] = xᵀWy = ⟨W, x ⊗ y⟩, so W is both ∂²l and a gradient."""
    w = RNG.normal(size=(4, 4))
    blocks = ad.hessian(lambda x, y: x @ w @ y, argnums=(0, 1))(X, U)
    close(blocks[0][1], w)
    close(blocks[0][0], np.zeros((4, 4)))
    close(ad.grad(lambda product: np.sum(w * product))(np.outer(X, U)), w)
