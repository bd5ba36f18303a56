"""The lecture's recurrences for the four compositions, evaluated with arrays J_k and H_kj."""

from __future__ import annotations

from functools import reduce

import numpy as np
import pytest

import adjoint as ad
from adjoint.calculus.jacobians.planning.operations import program_operations

RNG = np.random.default_rng(8)
W1, W2 = RNG.normal(size=(3, 4)), RNG.normal(size=(5, 3))
FUNCTIONS = [
    lambda x: np.tanh(W1 @ x),
    lambda s: np.sin(W2 @ s) * s[0],
    lambda s: np.sum(np.exp(s)) ** 2 * np.ones(1),
]
N = len(FUNCTIONS)
X = RNG.normal(size=4)


def f(x):
    return reduce(lambda s, step: step(s), FUNCTIONS, x)[0]


S = [X]
for _step in FUNCTIONS:
    S.append(_step(S[-1]))
# J[k] = ∂f_k(s_{k-1}), of shape d_k x d_{k-1}; T[k] = ∂²f_k(s_{k-1}), d_k x d_{k-1} x d_{k-1}.
J = [None, *(ad.jacobian(step)(s) for step, s in zip(FUNCTIONS, S, strict=False))]
T = [None, *(ad.second_derivative(step, s).array() for step, s in zip(FUNCTIONS, S, strict=False))]
E = np.eye(4)
HESSIAN = ad.hessian(f)(X)


def product(last, first, shape):
    """J_last ... J_first, of the identity of this size where there is none."""
    found = np.eye(shape)
    for k in range(first, last + 1):
        found = J[k] @ found
    return found


def ds(k, j):
    """∂s_k/∂x_j."""
    return product(k, 1, 4) @ E[j]


def h(k, j):
    """H_kj = ∂²f_k · ∂s_{k-1}/∂x_j."""
    return T[k] @ ds(k - 1, j)


def below(k, j):
    """∂/∂x_j of J_n ... J_{k+1}."""
    total = np.zeros((1, S[k].size))
    for m in range(k + 1, N + 1):
        after = product(N, m + 1, S[m].size)
        total = total + after @ h(m, j) @ product(m - 1, k + 1, S[k].size)
    return total


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


def test_second_order_chain_rule():
    """Lecture: ∂²(f₂∘f₁)/∂x_i∂x_j = H_2j ∂f₁/∂x_i + J₂ ∂²f₁/∂x_i∂x_j."""
    both = ad.second_derivative(lambda x: FUNCTIONS[1](FUNCTIONS[0](x)), X)
    for i in range(4):
        for j in range(4):
            close(both(E[i], E[j]), h(2, j) @ ds(1, i) + J[2] @ (T[1] @ E[j] @ E[i]))


@pytest.mark.parametrize("i", range(4))
@pytest.mark.parametrize("j", range(4))
def test_forward_on_forward(i, j):
    """t_k = Dual(J_k t_1, J_k t_2 + H_kj t_1), and its closed form."""
    t = (E[i], np.zeros(4))
    for k in range(1, N + 1):
        t = (J[k] @ t[0], J[k] @ t[1] + h(k, j) @ t[0])
        closed = sum(product(k, m + 1, S[m].size) @ h(m, j) @ ds(m - 1, i) for m in range(1, k + 1))
        close(t[0], ds(k, i))
        close(t[1], closed)
    close(t[1], HESSIAN[i, j])


@pytest.mark.parametrize("j", range(4))
def test_forward_on_reverse(j):
    """r_{k-1} = Dual(r_1 J_k, r_2 J_k + r_1 H_kj); solved by J_n ... J_{k+1} and its derivative."""
    r = (np.eye(1), np.zeros((1, 1)))
    for k in range(N, 0, -1):
        r = (r[0] @ J[k], r[1] @ J[k] + r[0] @ h(k, j))
        close(r[0], product(N, k, S[k - 1].size))
        close(r[1], below(k - 1, j))
    close(r[0][0], ad.grad(f)(X))
    close(r[1][0], HESSIAN[j])
    close(r[1][0], ad.hvp(f, X, E[j], composition=ad.Composition.FORWARD_ON_REVERSE))


@pytest.mark.parametrize("i", range(4))
def test_reverse_on_forward(i):
    """(r_{k-1})_1 = (r_k)_1 J_k + (r_k)_2 H_ki: forward on reverse with its two parts swapped."""
    r = (np.zeros((1, 1)), np.eye(1))
    for k in range(N, 0, -1):
        r = (r[0] @ J[k] + r[1] @ h(k, i), r[1] @ J[k])
        close(r[0], below(k - 1, i))
        close(r[1], product(N, k, S[k - 1].size))
    close(r[0][0], HESSIAN[i])
    close(r[0][0], ad.hvp(f, X, E[i], composition=ad.Composition.REVERSE_ON_FORWARD))


@pytest.mark.parametrize("j", range(4))
def test_reverse_on_reverse(j):
    """The second-order tangents: of r_k it is ∂s_k/∂x_j, of s_k that of forward on reverse."""
    r = [product(N, k + 1, S[k].size)[0] for k in range(N + 1)]
    r_dot = [E[j]]
    for k in range(1, N + 1):
        r_dot.append(J[k] @ r_dot[-1])
        close(r_dot[k], ds(k, j))
    s_dot = np.zeros(1)
    for k in range(N, 0, -1):
        curved = np.einsum("l,lij->ij", r[k], T[k])
        close(curved, curved.T)
        s_dot = curved @ r_dot[k - 1] + s_dot @ J[k]
        close(s_dot, below(k - 1, j)[0])
    close(s_dot, HESSIAN[j])
    close(s_dot, ad.hvp(f, X, E[j], composition=ad.Composition.REVERSE_ON_REVERSE))


@pytest.mark.parametrize("size", [4, 16, 64])
@pytest.mark.parametrize("composition", list(ad.Composition)[2:])
def test_a_product_costs_a_constant_times_the_function(size, composition):
    """After E.1.79: the cost of a Hessian-vector product is a constant overhead, whatever n is."""
    weights = RNG.normal(size=(3, size, size))

    def network(x):
        for weight in weights:
            x = np.tanh(weight @ x)
        return np.sum(x**2)

    x = np.ones(size)
    itself = program_operations(ad.program(network, x).program)
    whole = ad.program(lambda x, u: ad.hvp(network, x, u, composition=composition), x, x)
    assert program_operations(whole.simplified().program) <= 5 * itself
