"""Weighted spaces: every kind of weight, and every weight that is refused."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from adjoint.base.errors import (
    ArgumentError,
    ArgumentTypeError,
    MembershipError,
    MissingInverseError,
    NotPositiveDefiniteError,
    SpaceMismatchError,
)
from adjoint.maps import LinearMap, from_matrix, space_error
from adjoint.spaces import Euclidean, Product, Skew, Symmetric, Weighted
from tests.spaces.strategies import positive_matrix, weighted_spaces


def laplacian(n):
    off = -np.ones(n - 1)
    return sparse.diags_array([off, 2.5 * np.ones(n), off], offsets=[-1, 0, 1])


@given(st.integers(1, 6), st.integers(0, 999))
@settings(max_examples=50, deadline=None)
def test_weighted_inner_product(n, seed):
    """E.1.25: <x, y> = x' W y; R = W and R^-1 = W^-1."""
    weight = positive_matrix(n, seed)
    space = Weighted(Euclidean(n), weight)
    x, y = np.random.default_rng(seed).standard_normal((2, n))
    scale = np.linalg.norm(x) * np.linalg.norm(weight) * np.linalg.norm(y)
    assert abs(space.inner(x, y) - x @ weight @ y) <= 1e-13 * scale
    np.testing.assert_allclose(space.riesz(x).components, weight @ x, rtol=1e-12, atol=1e-13)
    solved = space.represent(space.covector(x))
    np.testing.assert_allclose(weight @ solved, x, rtol=1e-12, atol=1e-12)


def test_hermitian_weight():
    """Re x^H W y on a complex space, symmetric over the reals."""
    weight = positive_matrix(3, 4, complex)
    space = Weighted(Euclidean(3, complex), weight)
    x, y = space.random(0), space.random(1)
    np.testing.assert_allclose(space.inner(x, y), (x.conj() @ weight @ y).real, rtol=1e-13)
    np.testing.assert_allclose(space.inner(y, x), space.inner(x, y), rtol=1e-13)


def test_real_coordinates_weight_on_a_complex_space():
    """A real 2n x 2n weight may treat real and imaginary parts differently."""
    weight = np.diag([1.0, 4.0])
    space = Weighted(Euclidean(1, complex), weight)
    assert float(space.norm(np.array([0 + 1j]))) == 2.0
    assert float(space.norm(np.array([1 + 0j]))) == 1.0
    assert space_error(space) < 1e-14


def test_integrals_by_quadrature_weights():
    """E.1.27: <f, g> = integral of f g, exact on polynomials under Gauss-Legendre weights."""
    nodes, weights = np.polynomial.legendre.leggauss(5)
    nodes, weights = (nodes + 1) / 2, weights / 2  # on [0, 1]
    space = Weighted(Euclidean(5), weights)
    np.testing.assert_allclose(space.inner(nodes**3, nodes**4), 1 / 8, rtol=1e-14)


@pytest.mark.parametrize(
    "base", [Euclidean((2, 3)), Euclidean((2, 3), complex), Symmetric(3), Skew(4)], ids=repr
)
def test_dense_sparse_and_map_weights_agree(base):
    n = base.size if isinstance(base, Euclidean) else base.dimension
    matrix = laplacian(n)
    dense = Weighted(base, matrix.toarray())
    same = [Weighted(base, kind(matrix)) for kind in (sparse.csr_array, sparse.coo_matrix)]
    if not base._complex:
        same.append(Weighted(base, from_matrix(matrix.toarray(), base, base)))
    x, y = base.random(0), base.random(1)
    for space in (dense, *same):
        assert space_error(space) < 1e-13
        np.testing.assert_allclose(space.inner(x, y), dense.inner(x, y), rtol=1e-13)
        np.testing.assert_allclose(
            space.represent(space.covector(x)), dense.represent(dense.covector(x)), rtol=1e-12
        )


def test_diagonal_and_scalar_weights_agree_with_dense_ones():
    x, y = np.random.default_rng(0).standard_normal((2, 2, 2))
    weights = np.array([[1.0, 2.0], [3.0, 4.0]])
    elementwise = Weighted(Euclidean((2, 2)), weights)
    dense = Weighted(Euclidean((2, 2)), np.diag(weights.ravel()))
    np.testing.assert_allclose(elementwise.inner(x, y), dense.inner(x, y), rtol=1e-14)
    scalar = Weighted(Euclidean((2, 2)), 3)
    np.testing.assert_allclose(scalar.inner(x, y), 3 * np.sum(x * y), rtol=1e-14)


def test_weights_on_products_refer_to_coordinates():
    base = Product({"a": Euclidean(()), "b": Euclidean(2)})
    space = Weighted(base, np.array([1.0, 10.0, 100.0]))
    ones = {"a": 1.0, "b": np.ones(2)}
    assert float(space.inner(ones, ones)) == 111.0
    assert space_error(Weighted(base, positive_matrix(3, 0))) < 1e-14
    assert space_error(Weighted(base, 2.0)) < 1e-14


def test_weighted_scalars():
    space = Weighted(Euclidean(()), np.array([[4.0]]))
    assert float(space.norm(3.0)) == 6.0
    assert float(space.represent(space.covector(8.0))) == 2.0
    assert float(Weighted(Euclidean(()), 4).norm(3.0)) == 6.0


@given(weighted_spaces())
@settings(max_examples=60, deadline=None)
def test_random_weights_obey_the_laws(space):
    assert space_error(space) < 1e-13


@pytest.mark.parametrize("weight", [2.0, np.array([1.0, 2.0]), positive_matrix(2, 0), laplacian(2)])
def test_float32_stays_float32(weight):
    space = Weighted(Euclidean(2, np.float32), weight)
    x = space.random(0)
    assert space.riesz(x).components.dtype == np.float32
    assert space.represent(space.riesz(x)).dtype == np.float32
    assert space.norm(x).dtype == np.float32


def test_weights_are_copied_and_read_only():
    given_weight = np.array([1.0, 2.0])
    space = Weighted(Euclidean(2), given_weight)
    given_weight[0] = 100.0
    assert space.weight[0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        space.weight[0] = 5.0
    given_sparse = laplacian(3).tocsc()
    sparse_space = Weighted(Euclidean(3), given_sparse)
    given_sparse.data[:] = 0
    assert float(sparse_space.inner(np.ones(3), np.ones(3))) == 3.5
    with pytest.raises(ValueError, match="read-only"):
        sparse_space.weight.data[0] = 5.0
    assert sparse_space == Weighted(Euclidean(3), laplacian(3))
    assert hash(sparse_space) == hash(Weighted(Euclidean(3), laplacian(3)))
    assert sparse_space != Weighted(Euclidean(3), 2 * laplacian(3))


def test_sparse_weights_are_factorised_once_and_late(monkeypatch):
    import scipy.sparse.linalg as sparse_linalg

    calls, real_splu = [], sparse_linalg.splu
    monkeypatch.setattr(
        sparse_linalg,
        "splu",
        lambda *args, **options: calls.append(1) or real_splu(*args, **options),
    )
    space = Weighted(Euclidean(5), laplacian(5))
    space.norm(np.ones(5))
    assert not calls
    for _ in range(3):
        space.represent(space.covector(np.ones(5)))
    assert len(calls) == 1


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("weight", "reason"),
    [
        (np.array([[1.0, 2.0], [0.0, 1.0]]), "not symmetric: .* by up to 2"),
        (np.array([[1.0, 2.0], [2.0, 1.0]]), "smallest eigenvalue is -1"),
        (np.array([[1.0, np.nan], [np.nan, 1.0]]), "holds NaN or infinity"),
        (np.array([[np.inf, 0.0], [0.0, 1.0]]), "holds NaN or infinity"),
        (np.array([1.0, 0.0]), "must be positive and finite.*Got 0.0"),
        (np.array([1.0, np.nan]), "must be positive and finite"),
        (np.array([1.0, np.inf]), "must be positive and finite"),
        (-1.0, "must be positive and finite.*Got -1.0"),
        (sparse.csr_array([[1.0, 2.0], [0.0, 1.0]]), "not symmetric"),
        (sparse.csr_array([[1.0, 0.5], [0.5, -1.0]]), "its diagonal holds -1"),
        (sparse.csr_array([[1.0, np.nan], [np.nan, 1.0]]), "holds NaN or infinity"),
    ],
)
def test_weights_that_define_no_inner_product(weight, reason):
    with pytest.raises(NotPositiveDefiniteError, match=reason):
        Weighted(Euclidean(2), weight)


@pytest.mark.parametrize(
    ("weight", "reason"),
    [
        ([[1.0, 2.0], [2.0, 1.0]], "smallest pivot is -3"),
        ([[1.0, 1.0], [1.0, 1.0]], "singular|pivot"),
    ],
)
def test_indefinite_sparse_weights_are_found_when_factorised(weight, reason):
    space = Weighted(Euclidean(2), sparse.csr_array(weight))
    for _ in range(2):
        with pytest.raises(NotPositiveDefiniteError, match=reason):
            space.represent(space.covector(np.ones(2)))


@pytest.mark.parametrize(
    ("base", "weight", "message"),
    [
        (Euclidean(2), np.ones(3), r"real of shape \(2, 2\), or diagonal of shape \(2,\)"),
        (Euclidean(2), positive_matrix(3, 0), r"does not fit Euclidean\(\(2,\)\)"),
        (Euclidean(2), positive_matrix(2, 0, complex), "does not fit"),
        (Euclidean(2, complex), np.eye(3), r"Hermitian of shape \(2, 2\)"),
        (Symmetric(2), np.ones((2, 2)), r"real of shape \(3, 3\), or diagonal of shape \(3,\)"),
        (Weighted(Euclidean(2), 2.0), 3.0, "base whose basis is orthonormal"),
        (Product([Weighted(Euclidean(2), 2.0)]), 3.0, "base whose basis is orthonormal"),
    ],
)
def test_weights_that_do_not_fit(base, weight, message):
    with pytest.raises(ArgumentError, match=message):
        Weighted(base, weight)


def test_weights_of_other_types():
    with pytest.raises(ArgumentTypeError, match="A weight is a positive scalar"):
        Weighted(Euclidean(2), "heavy")
    with pytest.raises(ArgumentTypeError, match="must be callable, and so must its `inverse`"):
        Weighted(Euclidean(2), lambda x: x)
    with pytest.raises(ArgumentTypeError, match="takes a space and a weight"):
        Weighted(3, 1.0)


def test_maps_that_define_no_inner_product():
    space = Euclidean(2)

    def as_weight(matrix, inverse):
        return LinearMap(space, space, lambda u: matrix @ u, inverse=lambda v: inverse @ v)

    good = np.array([[2.0, 1.0], [1.0, 2.0]])
    assert space_error(Weighted(space, as_weight(good, np.linalg.inv(good)))) < 1e-14
    skewed = np.array([[1.0, 2.0], [0.0, 1.0]])
    for matrix, inverse, reason in (
        (skewed, np.linalg.inv(skewed), "<W x, y> and <x, W y> differ"),
        (-good, np.linalg.inv(-good), "<W x, x> is not positive"),
        (good, good, "its inverse does not undo it"),
    ):
        with pytest.raises(NotPositiveDefiniteError, match=reason):
            Weighted(space, as_weight(matrix, inverse))
    with pytest.raises(SpaceMismatchError, match=r"must map that space to itself. Its domain is"):
        Weighted(Euclidean(3), as_weight(good, good))
    with pytest.raises(MissingInverseError):
        Weighted(space, LinearMap(space, space, lambda u: 2 * u))


def test_map_weights_are_equal_by_identity():
    weight = from_matrix(positive_matrix(2, 0), Euclidean(2), Euclidean(2))
    assert Weighted(Euclidean(2), weight) == Weighted(Euclidean(2), weight)
    assert hash(Weighted(Euclidean(2), weight)) == hash(Weighted(Euclidean(2), weight))
    assert Weighted(Euclidean(2), weight) != Weighted(Euclidean(2), 1 * weight)
    assert repr(Weighted(Euclidean(2), weight)) == (
        "Weighted(Euclidean((2,)), LinearMap(Euclidean((2,)) -> Euclidean((2,))))"
    )


def test_membership_names_the_weighted_space():
    with pytest.raises(MembershipError, match=r"element of Weighted\(Euclidean\(\(2,\)\), 2.0\)"):
        Weighted(Euclidean(2), 2.0).norm(np.ones(3))
    space = Weighted(Product([Euclidean(2)]), 2.0)
    with pytest.raises(MembershipError, match=r"x\[0\] must be an element of Euclidean"):
        space.norm([np.ones(3)])


def test_repr():
    space = Weighted(Euclidean(2), positive_matrix(2, 0))
    assert repr(space) == "Weighted(Euclidean((2,)), dense 2x2)"
    assert repr(Weighted(Euclidean(3), laplacian(3))) == "Weighted(Euclidean((3,)), sparse 3x3)"


def singular(n, seed):
    """The stiffness matrix of an uneven grid, free at its ends: it has the constants as kernel."""
    widths = np.diff(np.sort(np.random.default_rng(seed).uniform(size=n)))
    diagonal = np.append(1 / widths, 0) + np.append(0, 1 / widths)
    return sparse.diags_array([-1 / widths, diagonal, -1 / widths], offsets=[-1, 0, 1])


@pytest.mark.parametrize("n", [5, 50, 500])
@pytest.mark.parametrize("seed", range(6))
def test_singular_weights_are_refused_however_they_round(n, seed):
    """The factorisation of such a matrix passes half of the time, with a solution of rounding."""
    matrix = singular(n, seed)
    with pytest.raises(NotPositiveDefiniteError, match=r"singular|eigenvalue"):
        Weighted(Euclidean(n), matrix.toarray())
    space = Weighted(Euclidean(n), matrix)  # whose factors are found when they are needed
    balanced = space.covector(np.eye(n)[0] - np.eye(n)[1])
    with pytest.raises(NotPositiveDefiniteError, match=r"singular|pivot"):
        space.represent(balanced)


def test_weights_that_are_far_from_singular_but_badly_scaled():
    scales = np.array([1e-150, 1e-20, 1.0, 1e20, 1e150])
    small = laplacian(5).toarray()
    matrix = np.outer(scales, scales) * small
    for weight in (matrix, sparse.csc_array(matrix)):
        space = Weighted(Euclidean(5), weight)
        found = space.represent(space.covector(scales))
        np.testing.assert_allclose(scales * found, np.linalg.solve(small, np.ones(5)), rtol=1e-12)


def test_a_sparse_weight_of_no_coordinates():
    space = Weighted(Euclidean(0), sparse.csc_array((0, 0)))
    assert space.represent(space.covector(np.zeros(0))).shape == (0,)


def test_a_map_weight_returns_elements():
    class Broadcast:
        """Returns a number, which would broadcast."""

        def __call__(self, x):
            return np.sum(x)

        def inverse(self, x):
            return x

    with pytest.raises(MembershipError, match="the weight applied"):
        Weighted(Euclidean(3), Broadcast())


@pytest.mark.parametrize("bad", [0.0, -2.0, np.inf, np.nan])
def test_the_message_names_the_diagonal_weight_that_is_none(bad):
    with pytest.raises(NotPositiveDefiniteError, match=f"Got {bad} among"):
        Weighted(Euclidean(2), np.array([1.0, bad]))
