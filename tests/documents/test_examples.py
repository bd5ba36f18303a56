"""Worked examples: tangents and cotangents, |x| at 0, and the network of the wine example.

Essay: "What is going on?" and "Of derivatives and differentials". Lecture: "Automatic
Differentiation" (B. Legat).
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import adjoint as ad
from adjoint.datasets import load_wine
from adjoint.spaces import Euclidean

# --- z(a(x, y), b(x, y)) = xy + cos x -------------------------------------------------------------


def alpha(x, y):
    return x * y, np.cos(x)


def z(a, b):
    return a + b


@pytest.mark.parametrize(("x", "y"), [(0.5, -1.25), (2.0, 3.0)])
def test_gradient_from_a_single_seed(x, y):
    """Essay: d(z∘α)ᵗ = dαᵗ dzᵗ, fed with the one basis vector 1 of ℝ.

    The essay prints y + cos x for the first entry. The derivative of cos x is -sin x, and this
    tests the true gradient (y - sin x, x).
    """
    a, back_alpha = ad.vjp(alpha, x, y)
    _, back_z = ad.vjp(z, *a)
    seeds = back_z(1.0)
    assert seeds == (1.0, 1.0)
    expected = (y - np.sin(x), x)
    np.testing.assert_allclose(back_alpha(seeds), expected, rtol=1e-15)
    gradient = ad.grad(lambda x, y: z(*alpha(x, y)), argnums=(0, 1))(x, y)
    np.testing.assert_allclose(gradient, expected, rtol=1e-15)


def test_matrix_of_the_inner_map():
    """Essay: dα has the rows (y, x) and (-sin x, 0); dz is (1, 1)."""
    x, y = 0.5, -1.25
    matrix = ad.derivative(alpha, x, y).matrix()
    np.testing.assert_allclose(matrix, [[y, x], [-np.sin(x), 0.0]], rtol=1e-15)
    assert np.array_equal(ad.derivative(z, 1.0, 2.0).matrix(), [[1.0, 1.0]])


def test_forward_mode_needs_a_run_for_each_basis_vector():
    """Essay: forwards, each e_i gives one component; backwards, the 1 of ℝ gives them all."""
    derivative = ad.derivative(lambda x, y: z(*alpha(x, y)), 0.5, -1.25)
    basis = [(np.float64(1), np.float64(0)), (np.float64(0), np.float64(1))]
    components = [derivative(e) for e in basis]
    np.testing.assert_allclose(derivative.H(np.float64(1.0)), components, rtol=1e-15)


# --- tangent and cotangent vectors ----------------------------------------------------------------


def f(p):
    return p[0] ** 2 * p[1] + np.exp(p[1])


P = np.array([1.5, -0.5])


@pytest.mark.parametrize(("a", "b"), [(1.0, 0.0), (0.0, 1.0), (2.0, -3.0)])
def test_a_form_on_a_vector_is_the_vector_on_the_function(a, b):
    """Essay: df(v) = v(f) for v = a ∂/∂x + b ∂/∂y."""
    v = np.array([a, b])
    vector_on_function = ad.jvp(f, (P,), (v,))[1]
    form = ad.differential(f, P)
    assert form(v) == pytest.approx(vector_on_function, rel=1e-15)
    partial_x, partial_y = 2 * P[0] * P[1], P[0] ** 2 + np.exp(P[1])
    assert form(v) == pytest.approx(a * partial_x + b * partial_y, rel=1e-14)


def test_coordinate_forms_are_the_dual_basis():
    """Essay: dx_i(∂/∂x_j) = δ_ij, and df = ∂f/∂x dx + ∂f/∂y dy."""
    dx, dy = (ad.differential(lambda p, i=i: p[i], P) for i in range(2))
    basis = list(Euclidean(2).basis())
    assert [[form(e) for e in basis] for form in (dx, dy)] == [[1, 0], [0, 1]]
    df = ad.differential(f, P)
    combined = float(df.components[0]) * dx + float(df.components[1]) * dy
    np.testing.assert_allclose(combined.components, df.components)


def test_forms_and_vectors_are_of_different_types():
    """Essay: "really strictly not conflating vector spaces we know are isomorphic"."""
    form = ad.differential(f, P)
    with pytest.raises(ad.errors.SpaceMismatchError, match="covector"):
        form + P
    with pytest.raises(ad.errors.SpaceMismatchError, match="covector"):
        ad.jvp(f, (P,), (form,))
    ket = Euclidean(2).represent(form)  # a dot product turns the bra into a ket
    assert Euclidean(2).riesz(ket)(P) == pytest.approx(form(P))


def test_chain_rule_by_pushing_vectors_and_pulling_forms():
    """Essay: d(g∘f)_p = dg_f(p) ∘ df_p, so (df.T w)(v) = w(df v)."""
    inner = ad.derivative(lambda p: np.array([p[0] * p[1], np.cos(p[0]), p[1]]), P)
    form = ad.differential(lambda q: q @ q, np.array([1.0, 2.0, 3.0]))
    v = np.array([0.3, 0.7])
    assert inner.T(form)(v) == pytest.approx(form(inner(v)), rel=1e-15)


# --- discontinuity of the derivative --------------------------------------------------------------


def abs_if(x):
    return -x if x < 0 else x


def abs_bis_if(x):
    return x if x > 0 else -x


def abs_where(x):
    return np.where(x < 0, -x, x)


def abs_bis_where(x):
    return np.where(x > 0, x, -x)


@pytest.mark.parametrize(
    ("program", "at_zero"),
    [(abs_if, 1.0), (abs_where, 1.0), (abs_bis_if, -1.0), (abs_bis_where, -1.0)],
)
def test_two_programs_of_the_absolute_value(program, at_zero):
    """Lecture: abs(Dual(0, 1)) = Dual(0, 1), but abs_bis(Dual(0, 1)) = Dual(0, -1)."""
    assert ad.jvp(program, (0.0,), (1.0,)) == (0.0, at_zero)
    assert ad.grad(program)(0.0) == at_zero
    assert ad.jit(ad.grad(program))(0.0) == at_zero
    assert [ad.grad(program)(x) for x in (-2.0, 2.0)] == [-1.0, 1.0]


@pytest.mark.parametrize("weight", [0.0, 0.25, 0.5, 1.0])
def test_convex_combination_of_the_one_sided_derivatives(weight):
    """Lecture: "a convex combination of the derivative from the left and right?"."""
    with ad.config(kink=weight):
        assert ad.grad(np.abs)(0.0) == -(1 - weight) + weight


# --- the network ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def wine():
    rng = np.random.default_rng(0)
    x, y = load_wine().network_data(np.float64)  # (13, 178) and (1, 178), as in the lecture
    return [rng.random((16, 13)), rng.random((1, 16))], x, y


def right_to_left(w, x, y):
    """S₁ = W₁X, S₂ = tanh S₁, S₃ = W₂S₂, and the mean square error."""
    return np.sum((w[1] @ np.tanh(w[0] @ x) - y) ** 2) / y.shape[1]


def left_to_right(w, x, y):
    """The same with samples in rows: S₁ = XW₁, and so on."""
    return np.sum((np.tanh(x @ w[0]) @ w[1] - y) ** 2) / y.shape[0]


def forward_pass(w, x, y):
    hidden = np.tanh(w[0] @ x)
    return hidden, 1 - hidden**2, 2 * (w[1] @ hidden - y) / y.shape[1]


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


def test_reverse_mode_of_the_network_by_hand(wine):
    """Lecture, reverse_diff: (J₁ ⊙ (W₂ᵀ J₂)) Xᵀ; and J₂ S₂ᵀ for the second weights."""
    w, x, y = wine
    hidden, j1, j2 = forward_pass(w, x, y)
    first, second = ad.grad(right_to_left)(w, x, y)
    close(first, (j1 * (w[1].T @ j2)) @ x.T)
    close(second, j2 @ hidden.T)


def test_forward_mode_of_the_network_by_hand(wine):
    """Lecture, forward_diff: W₂ (J₁ ⊙ (T X)) J₂ᵀ for the one-hot tangents T."""
    w, x, y = wine
    _, j1, j2 = forward_pass(w, x, y)
    for j, k in itertools.product((0, 7, 15), (0, 5, 12)):
        tangent = np.zeros((16, 13))
        tangent[j, k] = 1
        by_hand = ((w[1] @ (j1 * (tangent @ x))) @ j2.T).item()
        pushed = ad.jvp(lambda w1: right_to_left([w1, w[1]], x, y), (w[0],), (tangent,))[1]
        assert pushed == pytest.approx(by_hand, rel=1e-10)


def test_forward_and_reverse_mode_agree_on_every_weight(wine):
    w, x, y = wine

    def loss(w1):
        return right_to_left([w1, w[1]], x, y)

    forward = ad.jacobian(loss, mode=ad.Mode.FORWARD)(w[0])
    close(forward, ad.jacobian(loss, mode=ad.Mode.REVERSE)(w[0]))
    close(forward, ad.grad(loss)(w[0]))


def test_left_to_right_form_gives_the_transposed_gradient(wine):
    """Lecture: two equivalent approaches, samples in columns or in rows."""
    w, x, y = wine
    rows = ad.grad(left_to_right)([w[0].T, w[1].T], x.T, y.T)
    for one, other in zip(rows, ad.grad(right_to_left)(w, x, y), strict=True):
        close(one, other.T)


def test_biases_broadcast_as_an_outer_product_with_ones(wine):
    """Lecture: W S + b 1ᵀ, whose adjoint with respect to b sums over the samples."""
    w, x, _ = wine
    b = np.full((16, 1), 0.1)

    def broadcast(b):
        return np.sum(np.tanh(w[0] @ x + b) ** 2)

    def outer(b):
        return np.sum(np.tanh(w[0] @ x + b @ np.ones((1, 178))) ** 2)

    close(ad.grad(broadcast)(b), ad.grad(outer)(b))


def test_product_of_jacobians_in_either_order(wine):
    """Lecture: J_n ... J_1 may be bracketed from either side: the maps compose to the same one."""
    w, x, _ = wine
    sample = x[:, 0]
    maps = [ad.derivative(lambda s: w[0] @ s, sample)]
    maps.append(ad.derivative(np.tanh, w[0] @ sample))
    maps.append(ad.derivative(lambda s: w[1] @ s, np.tanh(w[0] @ sample)))
    right = (maps[2] @ maps[1]) @ maps[0]
    left = maps[2] @ (maps[1] @ maps[0])
    whole = ad.jacobian(lambda s: w[1] @ np.tanh(w[0] @ s))(sample)
    close(right.matrix(), whole)
    close(left.matrix(), whole)
