"""Maps from matrices and from SciPy's operators."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sparse
import scipy.sparse.linalg as sparse_linalg

import adjoint as ad
from adjoint.base.errors import (
    ArgumentError,
    ArgumentTypeError,
    MissingInverseError,
    MissingTransposeError,
)
from adjoint.maps import adjoint_error, from_matrix, from_scipy, linearity_error
from adjoint.spaces import Euclidean, Product, Symmetric, Weighted
from tests.spaces.strategies import positive_matrix

GENERATOR = np.random.default_rng(0)
COMPLEX = GENERATOR.standard_normal((2, 3)) + 1j * GENERATOR.standard_normal((2, 3))


def test_adjoint_of_a_complex_matrix_is_its_conjugate_transpose():
    found = from_matrix(COMPLEX, Euclidean(3, complex), Euclidean(2, complex))
    v = np.array([1 + 2j, 3 - 1j])
    np.testing.assert_allclose(found.H(v), COMPLEX.conj().T @ v, rtol=1e-14)
    blocks = np.block([[COMPLEX.real, -COMPLEX.imag], [COMPLEX.imag, COMPLEX.real]])
    np.testing.assert_allclose(found.matrix(), blocks, atol=1e-15)
    assert adjoint_error(found) < 1e-15


def test_complex_weighted_adjoint():
    """V^-1 A^H W with Hermitian weights."""
    v, w = positive_matrix(3, 1, complex), positive_matrix(2, 2, complex)
    domain, codomain = Weighted(Euclidean(3, complex), v), Weighted(Euclidean(2, complex), w)
    found = from_matrix(COMPLEX, domain, codomain)
    y = np.array([1 + 2j, 3 - 1j])
    expected = np.linalg.solve(v, COMPLEX.conj().T @ w @ y)
    np.testing.assert_allclose(found.H(y), expected, rtol=1e-12)
    assert adjoint_error(found) < 1e-14


@pytest.mark.parametrize(
    ("matrix", "domain", "codomain"),
    [
        (COMPLEX, Euclidean(3), Euclidean(2, complex)),
        (COMPLEX.real, Euclidean(3, complex), Euclidean(2, complex)),
        (np.ones((4, 3)), Euclidean(3), Euclidean(2, complex)),
        (np.ones((2, 6)), Euclidean(3, complex), Euclidean(2)),
        (np.ones((4, 6)), Euclidean((3, 2)), Euclidean((2, 2))),
        (np.ones((1, 3)), Symmetric(2), Euclidean(())),
        (np.ones((3, 3)), Product([Euclidean(2), Euclidean(())]), Symmetric(2)),
        (sparse.csr_array(np.eye(3)), Euclidean(3), Weighted(Euclidean(3), 2.0)),
        (sparse.csr_array(COMPLEX), Euclidean(3, complex), Euclidean(2, complex)),
        (np.ones((2, 3), int), Euclidean(3), Euclidean(2)),
    ],
)
def test_matrices_of_every_kind(matrix, domain, codomain):
    found = from_matrix(matrix, domain, codomain)
    assert adjoint_error(found) < 1e-15
    assert linearity_error(found) < 1e-15
    again = from_matrix(found.matrix(), domain, codomain)
    np.testing.assert_allclose(
        codomain.coordinates(again(domain.random(0))), codomain.coordinates(found(domain.random(0)))
    )


def test_real_domain_of_a_complex_matrix():
    """On a real domain the adjoint is Re(A^H v)."""
    found = from_matrix(COMPLEX, Euclidean(3), Euclidean(2, complex))
    v = np.array([1 + 2j, 3 - 1j])
    np.testing.assert_allclose(found.H(v), (COMPLEX.conj().T @ v).real, rtol=1e-14)


def test_square_matrices_have_inverses():
    for dtype in (float, complex):
        matrix, space = positive_matrix(3, 0, dtype), Euclidean(3, dtype)
        found = from_matrix(matrix, space, space)
        np.testing.assert_allclose(
            (found @ found.inverse).matrix(), np.eye(space.dimension), atol=1e-14
        )
        np.testing.assert_allclose(
            (found.inverse.H @ found.H).matrix(), np.eye(space.dimension), atol=1e-14
        )
        with pytest.raises(MissingInverseError, match="It has none: its matrix is singular"):
            from_matrix(0 * matrix, space, space).inverse


def test_matrices_are_copied():
    matrix = np.eye(2)
    found = from_matrix(matrix, Euclidean(2), Euclidean(2))
    matrix[0, 0] = 100.0
    assert list(found(np.ones(2))) == [1, 1]
    given_sparse = sparse.csr_array(np.eye(2))
    found = from_matrix(given_sparse, Euclidean(2), Euclidean(2))
    given_sparse.data[:] = 100.0
    assert list(found(np.ones(2))) == [1, 1]


@pytest.mark.parametrize("make", [from_matrix, from_scipy])
def test_what_scipy_multiplies_stands_in_differentiated_code(make):
    """SciPy's products take no traced arrays; the map is one operation there, in every mode."""
    matrix = sparse.csr_array(GENERATOR.standard_normal((2, 3)))
    given = matrix if make is from_matrix else sparse_linalg.aslinearoperator(matrix)
    found, dense = make(given, Euclidean(3), Euclidean(2)), matrix.toarray()
    x, w = GENERATOR.standard_normal(3), GENERATOR.standard_normal(2)

    def through_map(x):
        return np.sum(np.sin(found(x)))

    def through_array(x):
        return np.sum(np.sin(dense @ x))

    for transform in (ad.grad, ad.hessian, lambda f: ad.vmap(ad.grad(f))):
        point = x if transform in (ad.grad, ad.hessian) else np.stack([x, 2 * x])
        expected = transform(through_array)(point)
        np.testing.assert_allclose(transform(through_map)(point), expected, rtol=1e-12)
    back = ad.grad(lambda w: np.sum(found.H(w) ** 2))(w)
    np.testing.assert_allclose(back, 2 * dense @ (dense.T @ w), rtol=1e-12)


def test_complex_and_structured_sparse_matrices_in_differentiated_code():
    entries = sparse.csr_array(COMPLEX)
    for domain in (Euclidean(3), Euclidean(3, complex)):
        found = from_matrix(entries, domain, Euclidean(2, complex))
        x = domain.random(0)
        expected = 2 * COMPLEX.conj().T @ (COMPLEX @ x)
        expected = expected if np.iscomplexobj(x) else expected.real
        gradient = ad.grad(lambda x, found=found: np.sum(np.abs(found(x)) ** 2))(x)
        np.testing.assert_allclose(gradient, expected, rtol=1e-12)
    space, dense = Symmetric(2), GENERATOR.standard_normal((2, 3))
    maps = [from_matrix(each, space, Euclidean(2)) for each in (sparse.csr_array(dense), dense)]
    one, other = (
        ad.grad(lambda X, found=found: np.sum(found(X) ** 2), space=space)(space.random(0))
        for found in maps
    )
    np.testing.assert_allclose(one, other, rtol=1e-12)


def test_matrix_errors():
    with pytest.raises(ArgumentError, match=r"must be real of shape \(2, 3\)"):
        from_matrix(np.ones((3, 2)), Euclidean(3), Euclidean(2))
    with pytest.raises(ArgumentError, match="does not map Symmetric"):
        from_matrix(np.ones((1, 4)), Symmetric(2), Euclidean(1))
    for matrix in (np.ones(3), "matrix", [["a"]]):
        with pytest.raises(ArgumentTypeError, match="takes a two-dimensional array of numbers"):
            from_matrix(matrix, Euclidean(3), Euclidean(1))
    with pytest.raises(ArgumentTypeError, match="needs a complex codomain"):
        from_matrix(COMPLEX, Euclidean(3), Euclidean(2))
    with pytest.raises(ArgumentTypeError, match="needs a complex codomain"):
        from_matrix(COMPLEX.real, Euclidean(3, complex), Euclidean(2))


def test_from_scipy_goes_round():
    domain = Product([Symmetric(2), Euclidean(1, complex)])
    codomain = Weighted(Euclidean(2), positive_matrix(2, 0))
    found = from_matrix(GENERATOR.standard_normal((2, 5)), domain, codomain)
    again = from_scipy(found.as_scipy(), domain, codomain)
    np.testing.assert_allclose(again.matrix(), found.matrix(), rtol=1e-14)
    np.testing.assert_allclose(again.H.matrix(), found.H.matrix(), rtol=1e-13)


def test_from_scipy_without_a_transpose():
    operator = sparse_linalg.LinearOperator((2, 3), matvec=lambda u: u[:2], dtype=float)
    found = from_scipy(operator, Euclidean(3), Euclidean(2))
    assert list(found(np.array([1.0, 2.0, 3.0]))) == [1, 2]
    with pytest.raises(MissingTransposeError):
        found.T


def test_from_scipy_errors():
    with pytest.raises(ArgumentTypeError, match=r"takes a scipy.sparse.linalg.LinearOperator"):
        from_scipy(np.eye(2), Euclidean(2), Euclidean(2))
    with pytest.raises(ArgumentTypeError, match="takes a real operator"):
        from_scipy(sparse_linalg.aslinearoperator(COMPLEX), Euclidean(3), Euclidean(2))
    with pytest.raises(ArgumentError, match=r"Its shape is \(2, 2\)\. It must be \(2, 3\)"):
        from_scipy(sparse_linalg.aslinearoperator(np.eye(2)), Euclidean(3), Euclidean(2))
