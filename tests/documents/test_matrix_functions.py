"""Functions of matrices and arrays: the documents' worked examples, with their adjoints.

E.n: "Advanced automatic differentiation". Q&A: the question on four-dimensional Jacobians, and its
answer. Lecture: "Automatic Differentiation" (B. Legat).
"""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad
from adjoint.maps import adjoint_error, from_matrix

RNG = np.random.default_rng(5)
A = RNG.normal(size=(3, 4))
X = RNG.normal(size=(4, 2))
S, U, V = (RNG.normal(size=(3, 3)) for _ in range(3))


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)


def square(x):
    return x @ x


# --- the square of a matrix -----------------------------------------------------------------------


def test_square_of_a_matrix():
    """E.1.17, E.1.20, E.1.48: ∂f(X)[U] = UX + XU; its adjoint is V ↦ VXᵀ + XᵀV."""
    derivative = ad.derivative(square, S)
    close(derivative(U), U @ S + S @ U)
    close(derivative.H(V), V @ S.T + S.T @ V)


def test_square_of_a_matrix_from_its_definition():
    """E.1.47: (X + U)² - X² - (XU + UX) is U², exactly of second order."""
    remainder = square(S + U) - square(S) - ad.jvp(square, (S,), (U,))[1]
    close(remainder, U @ U)


def unit(k, j):
    matrix = np.zeros((3, 3))
    matrix[k, j] = 1
    return matrix


def test_basis_of_one_hot_matrices():
    """E.1.22: the basis of the space of matrices is E_kj, and X = Σ X_kj E_kj."""
    basis = list(ad.spaces.Euclidean((3, 3)).basis())
    assert np.array_equal(basis, [unit(k, j) for k in range(3) for j in range(3)])
    assert np.array_equal(sum(S[k, j] * unit(k, j) for k in range(3) for j in range(3)), S)


@pytest.mark.parametrize("mode", list(ad.Mode))
def test_materialisation_over_one_hot_matrices(mode):
    """E.1.22, E.1.36: stitching ∂f(X)[E_kj] together gives the array T of E.1.18."""
    tensor = ad.jacobian(square, mode=mode)(S)
    assert tensor.shape == (3, 3, 3, 3)
    for k in range(3):
        for j in range(3):
            close(tensor[:, :, k, j], ad.jvp(square, (S,), (unit(k, j),))[1])
    close(np.einsum("abkj,kj->ab", tensor, U), U @ S + S @ U)  # E.1.18


def test_vectorised_function_has_the_same_derivative():
    """E.1.19: f'(vec X) = vec f(X) has an (n², n²) Jacobian, the map in the basis E_kj."""
    flat = ad.jacobian(lambda x: square(x.reshape(3, 3)).ravel())(S.ravel())
    close(flat, ad.derivative(square, S).matrix())
    close(flat @ U.ravel(), (U @ S + S @ U).ravel())


# --- products of matrices -------------------------------------------------------------------------


def test_product_with_respect_to_the_right_factor():
    """Q&A: f(X) = AX has derivative U ↦ AU and pullback V ↦ AᵀV."""
    derivative = ad.derivative(lambda x: A @ x, X)
    direction, covector = RNG.normal(size=(4, 2)), RNG.normal(size=(3, 2))
    close(derivative(direction), A @ direction)
    close(derivative.H(covector), A.T @ covector)


def test_product_with_respect_to_the_left_factor():
    """Q&A: g(A) = AX has derivative U ↦ UX and pullback V ↦ VXᵀ."""
    derivative = ad.derivative(lambda a: a @ X, A)
    direction, covector = RNG.normal(size=(3, 4)), RNG.normal(size=(3, 2))
    close(derivative(direction), direction @ X)
    close(derivative.H(covector), covector @ X.T)


def test_product_rule():
    """Q&A: dF = (dA) X + A (dX), and a pullback for each factor (E.1.65, E.1.66)."""
    derivative = ad.derivative(np.matmul, A, X)
    to_a, to_x, covector = RNG.normal(size=(3, 4)), RNG.normal(size=(4, 2)), RNG.normal(size=(3, 2))
    close(derivative((to_a, to_x)), to_a @ X + A @ to_x)
    pulled = derivative.H(covector)
    close(pulled[0], covector @ X.T)
    close(pulled[1], A.T @ covector)


def test_gram_matrix():
    """Q&A: f(X) = XᵀX has derivative WᵀX + XᵀW and pullback X (V + Vᵀ)."""
    derivative = ad.derivative(lambda x: x.T @ x, A)
    direction, covector = RNG.normal(size=(3, 4)), RNG.normal(size=(4, 4))
    close(derivative(direction), direction.T @ A + A.T @ direction)
    close(derivative.H(covector), A @ (covector + covector.T))


def vec(matrix):
    """Columns one under the other, as in the lecture."""
    return matrix.T.ravel()


def test_vec_identity():
    """Lecture: vec(AXB) = (Bᵀ ⊗ A) vec(X), and so is the derivative with respect to X."""
    b = RNG.normal(size=(2, 5))
    identity = np.kron(b.T, A)
    close(vec(A @ X @ b), identity @ vec(X))
    derivative, direction = ad.derivative(lambda x: A @ x @ b, X), RNG.normal(size=(4, 2))
    close(vec(derivative(direction)), identity @ vec(direction))
    covector = RNG.normal(size=(3, 5))
    close(vec(derivative.H(covector)), identity.T @ vec(covector))
    jacobian = ad.jacobian(lambda x: vec(A @ x.reshape(2, 4).T))(vec(X))
    close(jacobian, np.kron(np.eye(2), A))  # J_G = I ⊗ A


def test_matrix_adjoint_in_the_trace_inner_product():
    """Lecture: ⟨AT, R⟩ = ⟨T, AᵀR⟩ for ⟨X, Y⟩ = tr(XYᵀ)."""
    t, r = RNG.normal(size=(4, 2)), RNG.normal(size=(3, 2))
    derivative = ad.derivative(lambda x: A @ x, X)
    assert np.trace(derivative(t) @ r.T) == pytest.approx(np.trace(t @ derivative.H(r).T))


def test_broadcast_function_is_its_own_adjoint():
    """Lecture: ⟨f'.(X) ⊙ T, R⟩ = ⟨T, f'.(X) ⊙ R⟩; and B ⊙ X is its own adjoint."""
    slopes = 1 - np.tanh(S) ** 2
    for function, mask in ((np.tanh, slopes), (lambda x: x * V, V)):
        derivative = ad.derivative(function, S)
        close(derivative(U), mask * U)
        close(derivative.H(U), mask * U)


# --- four-dimensional Jacobians -------------------------------------------------------------------


def test_four_dimensional_jacobians_multiply_over_two_index_pairs():
    """Q&A: (p, q, n, m) times (n, m, k, l), summed over n and m, is the chain rule."""

    def inner(x):  # (4, 2) -> (3, 2)
        return np.sin(A @ x)

    def outer(y):  # (3, 2) -> (2, 2)
        return y.T @ y

    first, second = ad.jacobian(inner)(X), ad.jacobian(outer)(inner(X))
    assert second.shape == (2, 2, 3, 2)
    assert first.shape == (3, 2, 4, 2)
    whole = ad.jacobian(lambda x: outer(inner(x)))(X)
    close(np.tensordot(second, first, axes=2), whole)
    # The asker's way: each pair of indices as one, in row-major order, and a matrix product.
    close((second.reshape(4, 6) @ first.reshape(6, 8)).reshape(2, 2, 4, 2), whole)


# --- sums over an axis ----------------------------------------------------------------------------


@pytest.mark.parametrize("axis", [0, 1, 2, -1, (0, 2), None])
@pytest.mark.parametrize("keepdims", [False, True])
def test_sum_over_an_axis(axis, keepdims):
    """E.1.44, E.1.45: the JVP sums the direction; E.1.51: the adjoint broadcasts the covector."""
    x, direction = RNG.normal(size=(2, 3, 4)), RNG.normal(size=(2, 3, 4))
    derivative = ad.derivative(lambda x: x.sum(axis=axis, keepdims=keepdims), x)
    close(derivative(direction), direction.sum(axis=axis, keepdims=keepdims))
    covector = np.asarray(RNG.normal(size=np.sum(x, axis=axis, keepdims=keepdims).shape))[()]
    kept = np.reshape(covector, np.sum(x, axis=axis, keepdims=True).shape)
    close(derivative.H(covector), np.broadcast_to(kept, x.shape))
    assert adjoint_error(derivative, 0) < 1e-14


def test_jacobian_of_a_sum_over_an_axis_holds_zeros_and_ones():
    """Before E.1.45: J_{o1 o2 i1 i2 i3} = 1 if o1 = i1 and o2 = i3, else 0."""
    jacobian = ad.jacobian(lambda x: x.sum(axis=1))(np.ones((2, 3, 4)))
    expected = np.zeros((2, 4, 2, 3, 4))
    for o1, o2, i2 in np.ndindex(2, 4, 3):
        expected[o1, o2, o1, i2, o2] = 1
    assert np.array_equal(jacobian, expected)


def test_sum_over_an_axis_builds_no_jacobian():
    """After E.1.45: the program of the JVP is a sum, that of the adjoint a broadcast."""
    view = ad.program(lambda x: x.sum(axis=1), np.ones((20, 30, 40)))
    for program in (view.linearize().program, view.transpose().program):
        assert all(v.type.size <= 24_000 for e in program.equations for v in e.outputs)
    assert [e.primitive.name for e in view.linearize().program.equations] == ["sum"]


# --- adjoints -------------------------------------------------------------------------------------


def test_transposed_jacobian():
    """E.1.49, E.1.53: under the standard inner products the adjoint of A is Aᵀ."""
    derivative = ad.derivative(lambda x: A @ x, X[:, 0])
    covector = RNG.normal(size=3)
    close(derivative.matrix(), A)
    close(derivative.H.matrix(), A.T)
    close(derivative.H(covector), A.T @ covector)


@pytest.mark.parametrize(
    "function", [lambda x: np.sin(A @ x), lambda x: (A @ x)[::-1, :1], lambda x: np.outer(x, x[0])]
)
def test_adjoint_by_its_definition(function):
    """E.1.52: ⟨l[u], v⟩ = ⟨u, l*[v]⟩."""
    derivative = ad.derivative(function, X)
    u, v = derivative.domain.random(1), derivative.codomain.random(2)
    left = derivative.codomain.inner(derivative(u), v)
    assert left == pytest.approx(derivative.domain.inner(u, derivative.H(v)), rel=1e-12)


def test_pullback_of_a_linear_function_from_the_function_alone():
    """E.1.54 and the note on automatic linear transposition: a linear map gives its own VJP."""
    covector = RNG.normal(size=(3, 2))
    transposed = ad.linear_transpose(lambda x: A @ x, X)
    close(transposed(covector)[0], A.T @ covector)
    close(ad.vjp(lambda x: A @ x, X)[1](covector)[0], A.T @ covector)
    back = ad.linear_transpose(lambda c: transposed(c)[0], covector)
    close(back(X)[0], A @ X)  # and the JVP is the adjoint of the VJP


def test_vjp_of_a_real_function_is_the_gradient_times_the_seed():
    """After E.1.62: ∂F(x)*[a] = a ∇F(x)."""
    _, pullback = ad.vjp(lambda x: np.sum(np.sin(x) ** 2), S)
    gradient = ad.grad(lambda x: np.sum(np.sin(x) ** 2))(S)
    close(pullback(1.0)[0], gradient)
    close(pullback(-2.5)[0], -2.5 * gradient)


def test_jacobian_by_columns_or_by_rows():
    """After D.1.9: n calls of the JVP, or m calls of the VJP, give the same matrix."""
    derivative = ad.derivative(lambda x: np.tanh(A @ x), X[:, 0])
    columns = np.stack([derivative(e) for e in derivative.domain.basis()], axis=1)
    rows = np.stack([derivative.H(e) for e in derivative.codomain.basis()])
    close(columns, rows)
    close(derivative.matrix(), rows)
    assert adjoint_error(from_matrix(rows, derivative.domain, derivative.codomain), 3) < 1e-13
