"""The chain rule, forward and reverse mode, and graphs: E.1.55 to E.1.68, and the lecture."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad

RNG = np.random.default_rng(8)
A, B = RNG.normal(size=(3, 4)), RNG.normal(size=(2, 3))
X, U, V = RNG.normal(size=4), RNG.normal(size=4), RNG.normal(size=2)


def f1(x):
    return np.tanh(A @ x)


def f2(h):
    return np.sin(B @ h) * np.sum(h)


def whole(x):
    return f2(f1(x))


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


def test_chain_rule_on_maps():
    """E.1.55: ∂(f∘g)(x)[u] = ∂f(g(x))[∂g(x)[u]]."""
    composed = ad.derivative(f2, f1(X)) @ ad.derivative(f1, X)
    close(ad.derivative(whole, X)(U), composed(U))
    close(ad.derivative(whole, X).H(V), composed.H(V))  # E.1.73: (l₁l₂)* = l₂*l₁*


def test_value_jvp_and_vjp():
    """E.1.56: (x, u, v) ↦ (f(x), ∂f(x)[u], ∂f(x)*[v]), the last two adjoint to each other."""
    value, pushed = ad.jvp(whole, (X,), (U,))
    again, pullback = ad.vjp(whole, X)
    close(value, whole(X))
    close(again, whole(X))
    assert pushed @ V == pytest.approx(U @ pullback(V)[0], rel=1e-12)


def test_forward_mode_is_a_chain_of_jvps():
    """E.1.57 to E.1.60: the pair (x, u) goes through f₁, then through f₂."""
    pair = ad.jvp(f2, *zip(ad.jvp(f1, (X,), (U,)), strict=True))
    for one, other in zip(ad.jvp(whole, (X,), (U,)), pair, strict=True):
        close(one, other)


def test_reverse_mode_is_a_chain_of_vjps():
    """E.1.61 to E.1.63: v goes back through ∂f₂(h)*, then through ∂f₁(x)*."""
    h, back_1 = ad.vjp(f1, X)
    _, back_2 = ad.vjp(f2, h)
    close(ad.vjp(whole, X)[1](V)[0], back_1(back_2(V)[0])[0])


def test_materialisation_by_forward_and_by_reverse_mode():
    """Lecture: the Jacobian by columns e_i, forwards, or by rows, backwards."""
    columns = np.stack([ad.jvp(whole, (X,), (e,))[1] for e in np.eye(4)], axis=1)
    _, pullback = ad.vjp(whole, X)
    close(columns, np.stack([pullback(e)[0] for e in np.eye(2)]))
    close(columns, ad.jacobian(whole)(X))


# --- nodes with several inputs --------------------------------------------------------------------


def test_two_inputs():
    """E.1.64 to E.1.66: one seed, a pullback for each argument; f(x, W) = Wx."""
    _, pullback = ad.vjp(lambda x, w: w @ x, X, A)
    v = RNG.normal(size=3)
    to_x, to_w = pullback(v)
    close(to_x, A.T @ v)
    close(to_w, np.outer(v, X))
    for number, pulled in enumerate((to_x, to_w)):
        fixed = (lambda x: A @ x, X) if number == 0 else (lambda w: w @ X, A)
        close(pulled, ad.vjp(*fixed)[1](v)[0])


def test_tangents_of_two_inputs_add():
    """Lecture, forward: t₃ = ∂₁f₃ t₁ + ∂₂f₃ t₂."""
    t1, t2 = 0.3, -1.7
    s1, s2 = 1.2, 0.4
    slopes = ad.grad(lambda s1, s2: np.exp(s1) * np.sin(s2), argnums=(0, 1))(s1, s2)
    pushed = ad.jvp(lambda s1, s2: np.exp(s1) * np.sin(s2), (s1, s2), (t1, t2))[1]
    assert pushed == pytest.approx(slopes[0] * t1 + slopes[1] * t2)


# --- fan-out --------------------------------------------------------------------------------------


def test_fan_out_accumulates():
    """E.1.67, E.1.68: for y₁ = y₂ = f(x), v = ∂f(x)*[v₁] + ∂f(x)*[v₂]."""

    def twice(x):
        y = f1(x)
        return y, y

    v1, v2 = RNG.normal(size=(2, 3))
    _, single = ad.vjp(f1, X)
    _, double = ad.vjp(twice, X)
    close(double((v1, v2))[0], single(v1)[0] + single(v2)[0])


def test_covectors_are_summed_before_they_are_propagated():
    """E.1.68: w = f(v₁) + f(v₂); a shared node is pulled back once, in topological order."""

    def shared(x):
        h = np.exp(x)  # used three times
        return np.sum(h * h + np.sin(h))

    h = np.exp(X)
    close(ad.grad(shared)(X), (2 * h + np.cos(h)) * h)
    names = [e.primitive.name for e in ad.program(shared, X).transpose().program.equations]
    assert names.count("scale") + names.count("multiply") <= 3  # one for each edge into h at most


@pytest.mark.parametrize("depth", [1, 10, 60])
def test_work_is_linear_in_the_graph_and_not_in_its_paths(depth):
    """E.1.68: x ↦ x + x, repeated, has 2^depth paths and derivative 2^depth."""

    def doubled(x):
        for _ in range(depth):
            x = x + x
        return x

    assert ad.grad(doubled)(1.0) == 2.0**depth
    assert len(ad.program(doubled, 1.0).vjp()) <= 3 * depth + 2


def test_residual_connection_and_shared_weights():
    """After E.1.67: a residual connection, and one weight used in two layers."""
    w = RNG.normal(size=(4, 4))

    def network(w, x):
        return np.sum(x + np.tanh(w @ np.tanh(w @ x)))

    def apart(w1, w2):
        return np.sum(X + np.tanh(w2 @ np.tanh(w1 @ X)))

    first, second = ad.grad(apart, argnums=(0, 1))(w, w)
    close(ad.grad(network)(w, X), first + second)


def test_sum_of_x_and_its_square_at_three():
    """Lecture: s₃ = s₁ + s₂ with s₁ = x and s₂ = x², at 3: the value 12, the derivative 1 + 6."""

    def s3(x):
        return x + x**2

    assert ad.jvp(s3, (3.0,), (1.0,)) == (12.0, 7.0)
    value, pullback = ad.vjp(s3, 3.0)
    assert (value, pullback(1.0)[0]) == (12.0, 7.0)


def test_duplication_and_sum_are_adjoint():
    """Lecture, "why is ∂dup* a sum?": ⟨(u, u), (v, w)⟩ = ⟨u, v + w⟩."""
    dup = ad.derivative(lambda x: (x, x), X)
    v, w = RNG.normal(size=(2, 4))
    close(dup.H((v, w)), v + w)


# --- dual numbers ---------------------------------------------------------------------------------


def test_product_of_dual_numbers():
    """Lecture: -Dual(1, 2) * Dual(3, 4) = Dual(-3, -10), as one function and as f₂ ∘ f₁."""
    expected = (-3.0, -10.0)
    assert ad.jvp(lambda x, y: -x * y, (1.0, 3.0), (2.0, 4.0)) == expected
    first = ad.jvp(lambda x, y: x * y, (1.0, 3.0), (2.0, 4.0))
    assert first == (3.0, 10.0)
    assert ad.jvp(lambda s: -s, (first[0],), (first[1],)) == expected


@pytest.mark.parametrize("x", [0.3, -1.2])
def test_chain_of_three(x):
    """Lecture: f'(x) = f₃'(s₂) f₂'(s₁) f₁'(s₀), multiplied from either end."""
    chain = [np.sin, np.exp, np.tanh]
    states = [x]
    for f in chain:
        states.append(f(states[-1]))
    forward = 1.0  # t₀
    for f, s in zip(chain, states, strict=False):
        forward = ad.grad(f)(s) * forward
    reverse = 1.0  # r₃
    for f, s in zip(reversed(chain), states[-2::-1], strict=True):
        reverse = reverse * ad.grad(f)(s)
    slope = ad.grad(lambda x: np.tanh(np.exp(np.sin(x))))(x)
    assert slope == pytest.approx(forward, rel=1e-14)
    assert slope == pytest.approx(reverse, rel=1e-14)
