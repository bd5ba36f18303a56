"""Matrices with structure: each a subspace under the Frobenius product, with its projection."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import ArgumentTypeError, MembershipError
from adjoint.maps import adjoint_error, embedding, space_error
from adjoint.spaces import (
    Diagonal,
    Euclidean,
    Hermitian,
    LowerTriangular,
    Product,
    Skew,
    SkewHermitian,
    Symmetric,
    TraceFree,
    UpperTriangular,
    Weighted,
)
from tests.spaces.strategies import positive_matrix

# family, its projection, its dimension for real entries
REAL = [
    (Symmetric, lambda x: (x + x.T) / 2, lambda n: n * (n + 1) // 2),
    (Skew, lambda x: (x - x.T) / 2, lambda n: n * (n - 1) // 2),
    (Diagonal, lambda x: np.diag(np.diag(x)), lambda n: n),
    (LowerTriangular, np.tril, lambda n: n * (n + 1) // 2),
    (UpperTriangular, np.triu, lambda n: n * (n + 1) // 2),
    (TraceFree, lambda x: x - np.trace(x) / len(x) * np.eye(len(x)), lambda n: n * n - 1),
]
STRICT = [
    (LowerTriangular(4, strict=True), lambda x: np.tril(x, -1)),
    (UpperTriangular(4, strict=True), lambda x: np.triu(x, 1)),
]
CONJUGATE = [
    (Hermitian(4), lambda x: (x + x.conj().T) / 2),
    (SkewHermitian(4), lambda x: (x - x.conj().T) / 2),
]
ALL = [
    *((family(4, dtype), project) for family, project, _ in REAL for dtype in (float, complex)),
    *STRICT,
    *CONJUGATE,
]
NAMES = [repr(space) for space, _ in ALL]


@pytest.mark.parametrize("dtype", [float, complex, np.float32])
@pytest.mark.parametrize(("family", "project", "count"), REAL)
@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_basis_spans_the_subspace(family, project, count, n, dtype):
    space = family(n, dtype)
    factor = 2 if np.dtype(dtype).kind == "c" else 1
    assert space.dimension == max(count(n), 0) * factor
    rounding = 8 * np.finfo(dtype).eps
    for element in (*space.basis(), space.random(0), space.zero()):
        if n:
            np.testing.assert_allclose(element, project(element), atol=rounding)
        assert element.dtype == dtype
        assert space.contains(element)
    np.testing.assert_allclose(space.gram(), np.eye(space.dimension), atol=rounding)


@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_hermitian_matrices_have_real_dimension_n_squared(n):
    for space, sign in ((Hermitian(n), 1), (SkewHermitian(n, np.complex64), -1)):
        assert space.dimension == n * n
        for element in (*space.basis(), space.random(0), space.zero()):
            assert np.array_equal(element, sign * element.conj().T)
            assert space.contains(element)
            assert element.dtype == space.dtype
    assert not Hermitian(2).contains(1j * np.eye(2))
    assert SkewHermitian(2).contains(1j * np.eye(2))
    assert Hermitian(2).contains(np.eye(2))  # a real array is an element of a complex space


@pytest.mark.parametrize(("space", "project"), ALL, ids=NAMES)
def test_restrict_is_the_orthogonal_projection(space, project):
    """Idempotent, self-adjoint, onto the subspace; the transpose of the embedding."""
    ambient = space.ambient
    c, d = ambient.random(0), ambient.random(1)
    found = space.restrict(c)
    np.testing.assert_allclose(found, project(c), rtol=1e-14, atol=1e-15)
    assert space.contains(found)
    np.testing.assert_allclose(space.restrict(found), found, rtol=1e-14, atol=1e-15)
    np.testing.assert_allclose(
        ambient.inner(found, d), ambient.inner(c, space.restrict(d)), rtol=1e-13
    )
    for x in space.basis():
        np.testing.assert_allclose(ambient.covector(c)(x), space.covector(c)(x), atol=2e-15)


@pytest.mark.parametrize(("space", "project"), ALL, ids=NAMES)
def test_embedding_and_its_adjoint(space, project):
    """E.1.52: the adjoint of the inclusion is the orthogonal projection."""
    include = embedding(space)
    assert adjoint_error(include) < 1e-15
    x = space.ambient.random(2)
    np.testing.assert_allclose(include.H(x), project(x), rtol=1e-14, atol=1e-15)
    np.testing.assert_allclose((include.H @ include).matrix(), np.eye(space.dimension), atol=2e-15)


@pytest.mark.parametrize(("space", "project"), ALL, ids=NAMES)
def test_gradients_lie_in_the_space(space, project):
    """E.1.37: <grad f(x), u> = df(x)[u] for all u in the space, and under a weight."""
    target = space.ambient.random(3)

    def f(x):
        return np.sum(np.abs(x @ x - target) ** 2)

    x, u = space.random(4), space.random(5)
    for inner in (space, Weighted(space, positive_matrix(space.dimension, 6))):
        gradient = ad.grad(f, space=inner)(x)
        assert inner.contains(gradient)
        _, along = ad.jvp(f, (x,), (u,))
        np.testing.assert_allclose(inner.inner(gradient, u), along, rtol=1e-10)
    slope = ad.derivative(lambda x: x @ x, x, domain=space)
    assert adjoint_error(slope) < 1e-13


@pytest.mark.parametrize("space", [space for space, _ in ALL], ids=repr)
def test_weights_and_products_of_them(space):
    weighted = Weighted(space, positive_matrix(space.dimension, 1))
    assert space_error(weighted) < 1e-13
    pair = Product({"a": weighted, "b": space})
    assert space_error(pair) < 1e-13
    assert adjoint_error(embedding(pair)) < 1e-14
    assert space_error(Weighted(Product([space, Euclidean(2)]), 2.0)) < 1e-13


@pytest.mark.parametrize(
    ("space", "x", "message"),
    [
        (Symmetric(2), [[1, 2], [0, 1]], r"It is not symmetric: \(x \+ x\.T\) / 2 is"),
        (Skew(2), np.eye(2), r"It is not skew-symmetric: \(x - x\.T\) / 2 is"),
        (Diagonal(2), [[1, 2], [0, 1]], r"It is not diagonal: np\.diag\(np\.diag\(x\)\) is"),
        (LowerTriangular(2), [[1, 2], [0, 1]], r"not lower triangular: np\.tril\(x\) is"),
        (LowerTriangular(2, strict=True), np.eye(2), r"strictly lower .*: np\.tril\(x, -1\) is"),
        (UpperTriangular(2), [[1, 0], [2, 1]], r"not upper triangular: np\.triu\(x\) is"),
        (UpperTriangular(2, strict=True), np.eye(2), r"strictly upper .*: np\.triu\(x, 1\) is"),
        (TraceFree(2), np.eye(2), r"not trace-free: x - np\.trace\(x\) / len\(x\)"),
        (Hermitian(2), 1j * np.eye(2), r"It is not Hermitian: \(x \+ x\.conj\(\)\.T\) / 2"),
        (SkewHermitian(2), np.eye(2), r"It is not skew-Hermitian: \(x - x\.conj\(\)\.T\) / 2"),
    ],
)
def test_errors_say_what_has_the_structure(space, x, message):
    with pytest.raises(MembershipError, match=message):
        space.check(np.array(x, space.dtype))


def test_arguments_are_checked():
    with pytest.raises(MembershipError, match=r"Its shape must be \(2, 2\)"):
        Symmetric(2).check(np.ones((3, 3)))
    with pytest.raises(ArgumentTypeError, match="shape must be an integer"):
        Symmetric("two")
    with pytest.raises(ArgumentTypeError, match="floating dtype"):
        Skew(2, int)
    for family in (Hermitian, SkewHermitian):
        with pytest.raises(ArgumentTypeError, match=r"matrices are complex\. Got dtype float64"):
            family(2, float)


def test_repr_and_equality():
    assert repr(Symmetric(3)) == "Symmetric(3)"
    assert repr(Skew(3, complex)) == "Skew(3, complex128)"
    assert repr(UpperTriangular(3, strict=True)) == "UpperTriangular(3, strict=True)"
    assert repr(Hermitian(3)) == "Hermitian(3, complex128)"
    different = [space for space, _ in ALL]
    assert len(set(different)) == len(different)
    assert LowerTriangular(4) != LowerTriangular(4, strict=True)


def test_coordinates_of_symmetric_matrices_are_not_the_half_vectorisation():
    """The entries off the diagonal stand in X twice, so their coordinates take a sqrt(2)."""
    space = Symmetric(2)
    x = np.array([[1.0, 2.0], [2.0, 5.0]])
    np.testing.assert_allclose(space.coordinates(x), [1.0, 2.0 * np.sqrt(2), 5.0])
    np.testing.assert_allclose(space.coordinates(x) @ space.coordinates(x), np.sum(x * x))


def test_frobenius_inner_product_is_the_trace():
    """E.1.26, Re Tr(X^H Y) in a complex space, on every structure."""
    for space, _ in ALL:
        x, y = space.random(0), space.random(1)
        expected = np.trace(x.conj().T @ y).real
        np.testing.assert_allclose(space.inner(x, y), expected, rtol=1e-12, atol=1e-12)


# --- the gradient of log det ----------------------------------------------------------------------


def log_determinant(x):
    """By elimination, from operations that every version of NumPy dispatches."""
    total = 0.0
    for _ in range(x.shape[0]):
        total = total + np.log(x[0, 0])
        x = x[1:, 1:] - x[1:, :1] * x[:1, 1:] / x[0, 0]
    return total


def test_gradient_of_log_det_on_symmetric_matrices_is_the_inverse():
    """X^-1, and not 2 X^-1 - diag(X^-1), which is no gradient under the Frobenius product."""
    x = positive_matrix(4, 0)
    inverse = np.linalg.inv(x)
    for function in (log_determinant, lambda x: np.linalg.slogdet(x)[1]):
        gradient = ad.grad(function, space=Symmetric(4))(x)
        np.testing.assert_allclose(gradient, inverse, rtol=1e-12)
        u = Symmetric(4).random(1)
        _, along = ad.jvp(function, (x,), (u,))
        np.testing.assert_allclose(Symmetric(4).inner(gradient, u), along, rtol=1e-12)
    wrong = 2 * inverse - np.diag(np.diag(inverse))
    assert abs(Symmetric(4).inner(wrong, u) - along) > 1e-3 * abs(along)
    # It is the gradient in the half-vectorisation under the plain dot product of those entries.
    rows, columns = np.triu_indices(4)

    def of_vech(entries):
        half = np.zeros((4, 4))
        half[rows, columns] = entries
        return log_determinant(half + half.T - np.diag(np.diag(half)))

    np.testing.assert_allclose(ad.grad(of_vech)(x[rows, columns]), wrong[rows, columns], rtol=1e-12)


def test_gradient_of_log_det_on_hermitian_and_diagonal_matrices():
    x = positive_matrix(3, 1, complex)

    def f(x):
        return np.real(log_determinant(x))

    gradient = ad.grad(f, space=Hermitian(3))(x)
    np.testing.assert_allclose(gradient, np.linalg.inv(x), rtol=1e-12, atol=1e-14)
    d = np.diag([1.0, 2.0, 4.0])
    found = ad.grad(log_determinant, space=Diagonal(3))(d)
    np.testing.assert_allclose(found, np.linalg.inv(d), rtol=1e-14)
