"""Linear maps: application, duality, algebra, matrices."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
import scipy.sparse.linalg as sparse_linalg
from hypothesis import given, settings
from hypothesis import strategies as st

from adjoint.base.errors import (
    ArgumentError,
    ArgumentTypeError,
    MembershipError,
    MissingInverseError,
    MissingTransposeError,
    SpaceMismatchError,
)
from adjoint.maps import LinearMap, MatrixBy, adjoint_error, from_matrix, identity, linearity_error
from adjoint.spaces import Covector, Euclidean, Product, Symmetric, Weighted
from tests.spaces.duck import Duck
from tests.spaces.strategies import positive_matrix, spaces

A = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
X, Y = Euclidean(3), Euclidean(2)
MAP = LinearMap(X, Y, lambda u: A @ u, lambda c: A.T @ c, name="A")
ONE_WAY = LinearMap(X, Y, lambda u: A @ u)


def random_map(domain, codomain, seed):
    shape = codomain.dimension, domain.dimension
    return from_matrix(np.random.default_rng(seed).standard_normal(shape), domain, codomain)


@st.composite
def maps(draw):
    return random_map(draw(spaces()), draw(spaces()), draw(st.integers(0, 999)))


# --- duality --------------------------------------------------------------------------------------


@given(maps(), st.integers(0, 99))
@settings(max_examples=150, deadline=None)
def test_adjoint_in_random_spaces(linear_map, seed):
    """E.1.52: <D u, v>_Y = <u, D.H v>_X."""
    assert adjoint_error(linear_map, seed) < 1e-12
    assert adjoint_error(linear_map.H, seed) < 1e-12
    assert adjoint_error(linear_map.T, seed) < 1e-12
    assert adjoint_error(linear_map.T.H, seed) < 1e-12
    assert linearity_error(linear_map.H, seed) < 1e-12


@given(maps(), st.integers(0, 99))
@settings(max_examples=100, deadline=None)
def test_pullback_is_composition_with_the_covector(linear_map, seed):
    """(D.T w)(u) = w(D u), for every inner product."""
    domain, codomain = linear_map.domain, linear_map.codomain
    u, w = domain.random(seed), codomain.dual.random(seed + 1)
    pulled = codomain.dual  # the domain of D.T
    assert linear_map.T.domain == pulled
    image = linear_map(u)
    left = domain._pair(domain._components_of(linear_map.T(w)), u)
    right = codomain._pair(codomain._components_of(w), image)
    scale = np.linalg.norm(domain._coordinates(u)) * np.linalg.norm(codomain._coordinates(image))
    assert abs(left - right) <= 1e-12 * (1 + scale * np.linalg.norm(pulled._coordinates(w)))


@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 999))
@settings(max_examples=60, deadline=None)
def test_weighted_adjoint_of_a_matrix(n, m, seed):
    """The footnote to E.1.53: A* = W^-1 A' W; with two weights, V^-1 A' W."""
    v, w = positive_matrix(n, seed), positive_matrix(m, seed + 1)
    matrix = np.random.default_rng(seed).standard_normal((m, n))
    found = from_matrix(matrix, Weighted(Euclidean(n), v), Weighted(Euclidean(m), w)).H.matrix()
    expected = np.linalg.solve(v, matrix.T @ w)
    assert np.linalg.norm(found - expected) <= 1e-12 * np.linalg.norm(expected)


def test_euclidean_adjoint_is_the_transposed_matrix():
    """E.1.53: <A u, v> = <u, A'v>."""
    assert np.array_equal(MAP.H.matrix(), A.T)
    assert np.array_equal(MAP.T.matrix(), A.T)
    assert list(MAP.H(np.array([1.0, 0.0]))) == [1, 2, 3]


def test_transpose_does_not_see_inner_products_and_the_adjoint_does():
    weighted = LinearMap(X, Weighted(Y, np.array([1.0, 10.0])), MAP._apply, MAP._transpose)
    w = weighted.codomain.covector(np.array([0.0, 1.0]))
    assert list(weighted.T(w).components) == [4, 5, 6]
    assert list(weighted.H(np.array([0.0, 1.0]))) == [40, 50, 60]


def test_transpose_acts_on_covectors_of_the_dual_spaces():
    pulled = MAP.T(Y.covector(np.array([1.0, 1.0])))
    assert isinstance(pulled, Covector)
    assert pulled.space == X
    assert list(pulled.components) == [5, 7, 9]
    assert MAP.T.domain == Y.dual
    assert MAP.T.codomain == X.dual


def test_twice_is_the_original():
    assert MAP.T.T is MAP
    assert MAP.H.H is MAP
    assert np.array_equal(MAP.T.H.matrix(), A)


def test_double_transpose_computed_anew_agrees():
    weighted = random_map(Weighted(X, positive_matrix(3, 0)), Weighted(Y, positive_matrix(2, 1)), 2)
    adjoint = weighted.H
    again = LinearMap(adjoint.domain, adjoint.codomain, adjoint._apply, adjoint._transpose).H
    np.testing.assert_allclose(again.matrix(), weighted.matrix(), rtol=1e-13)


def test_maps_are_freed_without_the_garbage_collector():
    """A derivative holds large arrays: using it must leave no reference cycles."""

    class Residual:
        pass

    residual = Residual()
    alive = weakref.ref(residual)
    linear_map = LinearMap(
        X, X, lambda u, _=residual: 2 * u, lambda c: 2 * c, inverse=lambda v: v / 2
    )
    gc.collect()
    gc.disable()
    try:
        used = [linear_map.H, linear_map.T, 2 * linear_map, linear_map @ linear_map]
        used += [linear_map.inverse, used[2].inverse, used[3].inverse, linear_map.H.H]
        del linear_map, used, residual
        assert alive() is None
    finally:
        gc.enable()


# --- application ----------------------------------------------------------------------------------


def test_application_checks_the_argument():
    assert list(MAP(np.ones(3))) == [6, 15]
    assert list(MAP @ np.ones(3)) == [6, 15]
    with pytest.raises(MembershipError, match=r"u must be an element of Euclidean\(\(3,\)\)"):
        MAP(np.ones(2))
    with pytest.raises(
        SpaceMismatchError, match=r"A covector is not a vector.*map\.T takes covectors"
    ):
        MAP(X.covector(np.ones(3)))
    with pytest.raises(
        SpaceMismatchError, match=r"A vector is not a covector.*map\.H takes vectors"
    ):
        MAP.T(np.ones(2))
    with pytest.raises(SpaceMismatchError, match=r"Pull it back with map\.T"):
        MAP.T(X.covector(np.ones(3)))


def test_application_checks_the_result():
    wrong = LinearMap(X, Y, lambda u: u, name="wrong")
    with pytest.raises(
        MembershipError, match=r"The result of LinearMap\(wrong: .*given as `apply`"
    ):
        wrong(np.ones(3))


def test_spaces_are_checked():
    with pytest.raises(ArgumentTypeError, match=r"a space as its domain. Got an array"):
        LinearMap(np.ones(3), Y, abs)
    with pytest.raises(ArgumentTypeError, match="a space as its codomain"):
        LinearMap(X, 2, abs)


def test_traced_arguments():
    weighted = random_map(Weighted(X, positive_matrix(3, 0)), Weighted(Y, 2.0), 0)
    u, v = np.ones(3), np.ones(2)
    for linear_map in (weighted, 2 * weighted + weighted, weighted @ identity(weighted.domain)):
        np.testing.assert_array_equal(linear_map(Duck(u)).hidden, linear_map(u))
        np.testing.assert_allclose(linear_map.H(Duck(v)).hidden, linear_map.H(v), rtol=1e-12)
        w = linear_map.codomain.covector(v)
        traced_w = linear_map.codomain.covector(Duck(v))
        np.testing.assert_array_equal(
            linear_map.T(traced_w).components.hidden, linear_map.T(w).components
        )


def test_a_transpose_into_a_subspace_may_return_any_ambient_components():
    """f(S) = sum(C * S) on symmetric matrices: the pullback of 1 is the symmetric part of C."""
    components = np.array([[1.0, 4.0], [0.0, 2.0]])
    trace = LinearMap(
        Symmetric(2), Euclidean(()), lambda s: np.sum(components * s), lambda c: c * components
    )
    assert trace.H(1.0).tolist() == [[1, 2], [2, 2]]
    assert adjoint_error(trace) < 1e-15


# --- missing parts --------------------------------------------------------------------------------


def test_missing_transpose_and_the_way_out():
    for attempt in (lambda: ONE_WAY.T, lambda: ONE_WAY.H, lambda: ONE_WAY.matrix(MatrixBy.ROWS)):
        with pytest.raises(
            MissingTransposeError, match=r"Give it as .*transpose=.*materialised\(\)"
        ):
            attempt()
    assert np.array_equal(ONE_WAY.materialised().H.matrix(), A.T)


def test_combinations_with_a_missing_transpose_lack_it_too():
    for combined in (ONE_WAY + MAP, MAP + ONE_WAY, 2 * ONE_WAY, identity(Y) @ ONE_WAY):
        with pytest.raises(MissingTransposeError):
            combined.T
    with pytest.raises(MissingTransposeError):
        (ONE_WAY @ identity(X)).H


def test_missing_inverse_and_the_way_out():
    square = LinearMap(X, X, lambda u: 2 * u, lambda c: 2 * c)
    for attempt in (square, square @ identity(X), identity(X) @ square, square + square, square.H):
        with pytest.raises(MissingInverseError, match=r"built without one.*map\.materialised\(\)"):
            attempt.inverse
    assert list(square.materialised().inverse(np.ones(3))) == [0.5] * 3
    with pytest.raises(MissingInverseError):
        MAP.materialised().inverse  # not square


def test_inverse_given_as_a_function_or_a_map():
    halve = LinearMap(X, X, lambda u: u / 2, lambda c: c / 2)
    for inverse in (halve, halve._apply):
        double = LinearMap(X, X, lambda u: 2 * u, lambda c: 2 * c, inverse=inverse)
        assert list(double.inverse(np.ones(3))) == [0.5] * 3
    double = LinearMap(X, X, lambda u: 2 * u, inverse=lambda v: v / 2)
    assert double.inverse.inverse is double
    with pytest.raises(SpaceMismatchError, match="must map its codomain to its domain"):
        LinearMap(X, X, lambda u: u, inverse=MAP).inverse


@given(st.integers(1, 4), st.integers(0, 99))
@settings(max_examples=30, deadline=None)
def test_inverses_of_combinations(n, seed):
    space = Weighted(Euclidean(n), positive_matrix(n, seed))
    one, two = (from_matrix(positive_matrix(n, seed + k), space, space) for k in (1, 2))
    for invertible in (one, one @ two, 3 * one, -one, one / 2, one.H, one.T, (one @ two).H.T):
        product = (invertible @ invertible.inverse).matrix()
        np.testing.assert_allclose(product, np.eye(n), atol=1e-11)
        product = (invertible.inverse.H @ invertible.H).matrix()
        np.testing.assert_allclose(product, np.eye(n), atol=1e-11)


def test_zero_times_a_map_has_no_inverse():
    with pytest.raises(MissingInverseError, match="It has none: it is zero times a map"):
        (0 * identity(X)).inverse


# --- algebra --------------------------------------------------------------------------------------


@given(maps(), st.integers(0, 99))
@settings(max_examples=60, deadline=None)
def test_algebra_is_that_of_matrices(one, seed):
    two = random_map(one.domain, one.codomain, seed + 1000)
    three = random_map(one.codomain, Weighted(Euclidean(2), 3.0), seed)
    a, b, c = one.matrix(), two.matrix(), three.matrix()
    for combined, expected in (
        (one + two, a + b),
        (one - two, a - b),
        (-one, -a),
        (2 * one, 2 * a),
        (np.float64(2) * one, 2 * a),
        (one * 2, 2 * a),
        (one / 2, a / 2),
        (three @ one, c @ a),
    ):
        np.testing.assert_allclose(combined.matrix(MatrixBy.COLUMNS), expected, atol=1e-13)
        np.testing.assert_allclose(combined.matrix(MatrixBy.ROWS), expected, atol=1e-13)
        assert adjoint_error(combined, seed) < 1e-12


def test_adjoint_of_a_composition_turns_it_around():
    inner = random_map(Weighted(X, positive_matrix(3, 1)), Y, 0)
    outer = random_map(Y, Weighted(Euclidean(4), positive_matrix(4, 2)), 1)
    np.testing.assert_allclose(
        (outer @ inner).H.matrix(), (inner.H @ outer.H).matrix(), rtol=1e-12, atol=1e-14
    )
    np.testing.assert_allclose((outer @ inner).T.matrix(), (inner.T @ outer.T).matrix(), rtol=1e-13)


def test_complex_factors():
    """w(a D u): the transpose meets the conjugate factor, and the inverse the reciprocal."""
    space = Euclidean(2, complex)
    conjugation = LinearMap(space, space, np.conj, np.conj, inverse=np.conj)
    turned = 1j * conjugation  # real-linear, not complex-linear
    assert adjoint_error(turned) < 1e-15
    u = np.array([1 + 2j, 3.0])
    np.testing.assert_allclose(turned.inverse(turned(u)), u)
    np.testing.assert_allclose(turned.matrix(MatrixBy.ROWS), turned.matrix(MatrixBy.COLUMNS))
    with pytest.raises(ArgumentTypeError, match="scalar factors that its elements take"):
        1j * MAP


def test_only_maps_and_scalars_combine():
    with pytest.raises(SpaceMismatchError, match=r"A @ B needs the codomain of B"):
        MAP @ MAP
    weighted = LinearMap(X, Weighted(Y, 2.0), MAP._apply)
    with pytest.raises(SpaceMismatchError, match="A sum needs two maps between the same spaces"):
        MAP + weighted
    for attempt in (lambda: MAP * "2", lambda: MAP * A, lambda: A * MAP, lambda: MAP / None):
        with pytest.raises(ArgumentTypeError, match="scalar factors"):
            attempt()
    for attempt in (
        lambda: MAP + 1,
        lambda: 1 - MAP,
        lambda: MAP - A,
        lambda: A + MAP,
        lambda: A @ MAP,
    ):
        with pytest.raises(ArgumentTypeError, match="with a linear map needs another linear map"):
            attempt()


def test_float32_stays_float32():
    space = Weighted(Euclidean(2, np.float32), positive_matrix(2, 0))
    doubled = np.float64(2) * identity(space)
    x = space.random(0)
    assert doubled(x).dtype == doubled.H(x).dtype == doubled.inverse(x).dtype == np.float32
    assert doubled.matrix().dtype == np.float32


# --- matrices -------------------------------------------------------------------------------------


@given(maps())
@settings(max_examples=60, deadline=None)
def test_materialisation_by_columns_and_rows(linear_map):
    """E.1.36: columns by applying to e_j, rows by pulling back the dual basis."""
    columns, rows = (linear_map.matrix(by) for by in MatrixBy)
    assert columns.shape == (linear_map.codomain.dimension, linear_map.domain.dimension)
    np.testing.assert_allclose(columns, rows, rtol=1e-13, atol=1e-14)
    for index, vector in enumerate(linear_map.domain.basis()):
        image = linear_map.codomain.coordinates(linear_map(vector))
        np.testing.assert_allclose(columns[:, index], image, rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize(
    ("m", "n", "applied", "pulled"), [(2, 5, 0, 2), (5, 2, 2, 0), (3, 3, 3, 0)]
)
def test_the_cheaper_side_is_chosen(m, n, applied, pulled):
    counts, matrix = [0, 0], np.ones((m, n))

    def apply(u):
        counts[0] += 1
        return matrix @ u

    def transpose(c):
        counts[1] += 1
        return matrix.T @ c

    LinearMap(Euclidean(n), Euclidean(m), apply, transpose).matrix()
    assert counts == [applied, pulled]


def test_matrix_options_are_an_enum():
    with pytest.raises(ArgumentTypeError, match=r"by must be MatrixBy\.COLUMNS or MatrixBy\.ROWS"):
        MAP.matrix(by="rows")


def test_matrix_in_other_bases():
    """D b_j = sum_i M_ij c_i."""
    generator = np.random.default_rng(0)
    b, c = generator.standard_normal((3, 3)), generator.standard_normal((2, 2))
    found = MAP.matrix_in(list(b.T), list(c.T))
    np.testing.assert_allclose(c @ found, A @ b, rtol=1e-12)
    assert np.array_equal(MAP.matrix_in(X.basis(), Y.basis()), A)
    with pytest.raises(ArgumentError, match=r"Got 1 elements, 1 of them independent. It takes 2"):
        MAP.matrix_in(X.basis(), [np.ones(2)])
    with pytest.raises(ArgumentError, match="Got 2 elements, 1 of them independent"):
        MAP.matrix_in(X.basis(), [np.ones(2), np.ones(2)])
    with pytest.raises(ArgumentError, match="domain_basis must be a basis"):
        MAP.matrix_in([np.ones(3)] * 3, Y.basis())
    with pytest.raises(MembershipError, match=r"domain_basis\[0\] must be"):
        MAP.matrix_in([np.ones(2)], Y.basis())


def test_as_scipy_acts_on_coordinates():
    space = Product({"s": Symmetric(2), "z": Euclidean(1, complex)})
    linear_map = random_map(space, Weighted(Y, 5.0), 0)
    operator, matrix = linear_map.as_scipy(), linear_map.matrix()
    assert isinstance(operator, sparse_linalg.LinearOperator)
    assert operator.shape == (2, 5)
    assert operator.dtype == np.float64
    np.testing.assert_allclose(operator @ np.eye(5), matrix, atol=1e-14)
    np.testing.assert_allclose(operator.T @ np.eye(2), matrix.T, atol=1e-14)
    np.testing.assert_allclose(operator.matmat(np.ones((5, 1)))[:, 0], matrix.sum(1), atol=1e-14)
    with pytest.raises(NotImplementedError):
        ONE_WAY.as_scipy().rmatvec(np.ones(2))


def test_scipy_solvers_take_maps():
    matrix = positive_matrix(5, 0)
    operator = from_matrix(matrix, Euclidean(5), Euclidean(5)).as_scipy()
    found, status = sparse_linalg.cg(operator, np.ones(5), rtol=1e-12)
    assert status == 0
    np.testing.assert_allclose(matrix @ found, np.ones(5), rtol=1e-9)


def test_repr():
    assert repr(MAP) == "LinearMap(A: Euclidean((3,)) -> Euclidean((2,)))"
    assert repr(MAP.H) == "LinearMap((A).H: Euclidean((2,)) -> Euclidean((3,)))"
    assert repr(2 * MAP + MAP).startswith("LinearMap((2 * (A) + A): ")
    assert repr(ONE_WAY) == "LinearMap(Euclidean((3,)) -> Euclidean((2,)))"
