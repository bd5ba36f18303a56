"""Laws that hold in every space, duals and bases included."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adjoint.base.errors import ArgumentError, ArgumentTypeError, SpaceMismatchError
from adjoint.maps import space_error
from adjoint.spaces import Covector, Dual, Euclidean, Product, Skew, Symmetric, Weighted
from tests.spaces.strategies import plain_spaces, positive_matrix, spaces


@given(spaces(), st.integers(0, 99))
@settings(max_examples=150, deadline=None)
def test_laws_of_an_inner_product_space(space, seed):
    """Symmetry, linearity, positivity (D.1.4), Riesz both ways (E.1.30)."""
    assert space_error(space, seed) < 1e-12


@given(spaces())
@settings(max_examples=100, deadline=None)
def test_the_basis_has_the_gram_matrix_that_gram_tells(space):
    basis = list(space.basis())
    assert len(basis) == len(space.basis()) == space.dimension
    expected = [[float(space.inner(x, y)) for y in basis] for x in basis]
    gram = space.gram()
    assert gram.shape == (space.dimension, space.dimension)
    np.testing.assert_allclose(gram, np.reshape(expected, gram.shape), rtol=1e-12, atol=1e-13)


@given(plain_spaces())
@settings(max_examples=50, deadline=None)
def test_the_basis_of_a_plain_space_is_orthonormal(space):
    np.testing.assert_allclose(space.gram(), np.eye(space.dimension), atol=2e-15)


@given(spaces(), st.integers(0, 99))
@settings(max_examples=100, deadline=None)
def test_coordinates_are_those_of_the_basis(space, seed):
    x = space.random(seed)
    coordinates = space.coordinates(x)
    assert coordinates.shape == (space.dimension,)
    total = space.zero()
    for number, vector in zip(coordinates, space.basis(), strict=True):
        total = space._add(total, space._scale(float(number), vector))
    np.testing.assert_allclose(space.coordinates(total), coordinates, rtol=1e-14, atol=1e-14)
    again = space.coordinates(space.from_coordinates(coordinates))
    np.testing.assert_allclose(again, coordinates, rtol=1e-14, atol=1e-14)


@given(spaces(), st.integers(0, 99))
@settings(max_examples=100, deadline=None)
def test_a_covector_pairs_with_the_basis_to_its_component_coordinates(space, seed):
    components = space._riesz(space.random(seed))
    paired = [space._pair(components, vector) for vector in space.basis()]
    coordinates = space._component_coordinates(components)
    np.testing.assert_allclose(coordinates, paired, rtol=1e-12, atol=1e-13)
    back = space._components_from_coordinates(coordinates)
    again = space._component_coordinates(back)
    np.testing.assert_allclose(again, coordinates, rtol=1e-13, atol=1e-13)


@given(spaces())
@settings(max_examples=50, deadline=None)
def test_spaces_are_equal_by_structure(space):
    twin = pickle.loads(pickle.dumps(space))
    assert twin == space
    assert hash(twin) == hash(space)
    assert copy.deepcopy(space) == space
    assert space.dual == twin.dual
    assert space.dual != space
    assert space != "a space"


def test_spaces_with_other_parameters_differ():
    weight = positive_matrix(2, 0)
    different = [
        Euclidean(2),
        Euclidean(3),
        Euclidean((2, 1)),
        Euclidean(2, complex),
        Euclidean(2, np.float32),
        Weighted(Euclidean(2), 2.0),
        Weighted(Euclidean(2), 3.0),
        Weighted(Euclidean(2), np.array([2.0, 2.0])),
        Weighted(Euclidean(2), weight),
        Weighted(Euclidean(2), weight + np.eye(2)),
        Symmetric(2),
        Skew(2),
        Symmetric(3),
        Product([Euclidean(2)]),
        Product((Euclidean(2),)),
        Product([Euclidean(3)]),
    ]
    assert len(set(different)) == len(different)
    assert Weighted(Euclidean(2), weight) == Weighted(Euclidean(2), weight.copy())


def test_dual_of_the_dual_is_the_space_itself():
    space = Weighted(Euclidean(2), np.array([1.0, 4.0]))
    assert space.dual.dual is space
    assert isinstance(space.dual, Dual)
    assert repr(space.dual) == "Dual(Weighted(Euclidean((2,)), diagonal (2,)))"


def test_inner_product_of_covectors_is_carried_over_by_riesz():
    """<Rx, Ry>' = <x, y>: for components c, d it is c' W^-1 d."""
    weight = positive_matrix(3, 1)
    space = Weighted(Euclidean(3), weight)
    c, d = np.array([1.0, 2.0, 3.0]), np.array([0.5, -1.0, 2.0])
    found = space.dual.inner(space.covector(c), space.covector(d))
    np.testing.assert_allclose(found, c @ np.linalg.inv(weight) @ d, rtol=1e-13)


def test_a_covector_on_covectors_is_a_vector():
    space = Weighted(Euclidean(2), np.array([1.0, 4.0]))
    w = space.covector(np.array([3.0, 8.0]))
    np.testing.assert_array_equal(space.dual.riesz(w), [3.0, 2.0])
    assert isinstance(space.dual.represent(np.array([3.0, 2.0])), Covector)
    made = space.dual.covector(np.array([3.0, 2.0]))
    made[0] = 5.0  # a plain vector: writeable
    assert space.contains(made)
    assert np.array_equal(space.dual.restrict(made), made)


def test_random_is_repeatable_and_takes_generators():
    space = Product([Euclidean(2), Symmetric(2)])
    assert np.array_equal(*(space.coordinates(space.random(7)) for _ in range(2)))
    generator = np.random.default_rng(7)
    first, second = space.random(generator), space.random(generator)
    assert np.array_equal(space.coordinates(first), space.coordinates(space.random(7)))
    assert not np.array_equal(space.coordinates(first), space.coordinates(second))


@pytest.mark.parametrize(
    "seed",
    [
        *(lambda: [1, 2], lambda: (5, 6), lambda: np.array([7, 8])),
        *(lambda: np.random.SeedSequence(3), lambda: np.random.PCG64(4)),
        lambda: np.uint64(2**63 + 1),
    ],
)
def test_random_takes_what_numpy_takes(seed):
    space, generator = Euclidean(3), np.random.default_rng(seed())
    assert np.array_equal(space.random(seed()), generator.standard_normal(3))
    assert space.contains(space.random(None))
    assert space_error(space, seed()) < 1e-12


def test_basis_is_a_sequence():
    basis = Euclidean(3).basis()
    assert [list(vector) for vector in basis[1:]] == [[0, 1, 0], [0, 0, 1]]
    assert list(basis[-1]) == [0, 0, 1]
    assert repr(basis) == "<basis of Euclidean((3,)): 3 elements>"
    with pytest.raises(IndexError):
        basis[3]


def test_norm_is_the_root_of_the_inner_product():
    """E.1.29."""
    space = Weighted(Euclidean(2), np.array([1.0, 4.0]))
    assert float(space.norm(np.array([3.0, 2.0]))) == 5.0


# --- copies ---------------------------------------------------------------------------------------


def test_riesz_and_covector_copy_so_that_covectors_do_not_change():
    space, x = Euclidean(2), np.array([1.0, 2.0])
    made, riesz = space.covector(x), space.riesz(x)
    x[0] = 100.0
    assert made.components[0] == riesz.components[0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        made.components[0] = 5.0


def test_represent_and_coordinates_give_arrays_of_their_own():
    space, x = Euclidean(2), np.array([1.0, 2.0])
    covector = space.riesz(x)
    vector, coordinates = space.represent(covector), space.coordinates(x)
    element = space.from_coordinates(coordinates)
    vector[0] = coordinates[1] = element[0] = 100.0
    assert covector.components[0] == 1.0
    assert list(x) == [1.0, 2.0]
    assert coordinates[0] == 1.0


# --- errors ---------------------------------------------------------------------------------------


def test_represent_wants_a_covector_on_this_space():
    with pytest.raises(SpaceMismatchError, match=r"covector must be an element of Dual\(Euclidean"):
        Euclidean(2).represent(np.ones(2))
    with pytest.raises(SpaceMismatchError, match=r"A vector is not a covector: space\.riesz\(x\)"):
        Euclidean(2).represent(np.ones(2))
    other = Weighted(Euclidean(2), 2.0).covector(np.ones(2))
    with pytest.raises(
        SpaceMismatchError, match=r"a Covector on Weighted.*Pull it back with map\.T"
    ):
        Euclidean(2).represent(other)


def test_inner_wants_vectors():
    space = Euclidean(2)
    with pytest.raises(SpaceMismatchError, match=r"y must be .*Got a Covector on Euclidean"):
        space.inner(np.ones(2), space.riesz(np.ones(2)))
    with pytest.raises(SpaceMismatchError, match="A covector is not a vector"):
        space.norm(space.riesz(np.ones(2)))


@pytest.mark.parametrize("coordinates", [np.array([1j, 2]), "ab", None, np.array([True, False])])
def test_coordinates_must_be_real_numbers(coordinates):
    with pytest.raises(ArgumentTypeError, match="coordinates must be real numbers"):
        Euclidean(2).from_coordinates(coordinates)


def test_coordinates_must_have_the_shape_of_the_dimension():
    with pytest.raises(
        ArgumentError, match=r"must have shape \(2,\)\. Got an array of shape \(3,\)"
    ):
        Euclidean(2).from_coordinates(np.ones(3))
    assert list(Euclidean(2).from_coordinates([1, 2])) == [1.0, 2.0]
